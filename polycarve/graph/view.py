"""The region graph as a `networkx.Graph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.graph.columns import about, check_attributes, edge_columns, node_columns

if TYPE_CHECKING:
    import networkx as nx

# Bytes of Python objects, measured and rounded up: for a node apart from its code and numbers, for
# each number, and for an edge.
_NODE, _NUMBER, _EDGE = 800, 40, 600


def to_networkx(
    carving: Carving, attributes: Sequence[str] = (), *, most_bytes: float = 2e9
) -> nx.Graph[int]:
    """See `Carving.graph`."""
    check_attributes(attributes)
    dim, numbers = carving.domain.dim, 2 + carving.domain.dim * (1 + ("centroid" in attributes))
    node = _NODE + _NUMBER * numbers + sum(carving.widths)
    _check_size(carving, len(carving) * node, most_bytes)  # before the neighbours are looked for
    adjacency = carving.adjacency()
    _check_size(carving, len(carving) * node + len(adjacency.edge_facets) * _EDGE, most_bytes)
    import networkx as nx

    columns, edges = node_columns(adjacency, attributes), edge_columns(adjacency)
    graph: nx.Graph[int] = nx.Graph(**about(carving))
    plain = {name: np.asarray(columns[name]).tolist() for name in _plain_names(columns)}
    plain["prefixes"] = _rows([columns[f"prefix{k}"] for k in range(1, carving.n_layers)], carving)
    plain["point"] = list(map(tuple, carving.points.tolist()))
    graph.add_nodes_from(
        (row, dict(zip(plain, values, strict=True)))
        for row, values in enumerate(zip(*plain.values(), strict=True))
    )
    if "centroid" in attributes:
        centroids = np.stack([np.asarray(columns[f"centroid{j + 1}"]) for j in range(dim)], axis=1)
        known = np.flatnonzero(np.isfinite(centroids).all(axis=1))
        for row, centre in zip(known.tolist(), centroids[known].tolist(), strict=True):
            graph.nodes[row]["centroid"] = tuple(centre)
    graph.add_edges_from(
        (i, j, {"neuron": neuron, "neurons": neurons, "layer": layer, "rank": rank})
        for i, j, neuron, neurons, layer, rank in zip(
            edges.source.tolist(),
            edges.target.tolist(),
            edges.neuron.tolist(),
            edges.neurons.tuples(),
            edges.layer.tolist(),
            edges.rank.tolist(),
            strict=True,
        )
    )
    return graph


def _plain_names(columns: dict[str, Any]) -> list[str]:
    whole = ("code", "bounded", "on_boundary", "unknown", "volume", "radius")
    return [name for name in whole if name in columns]


def _rows(columns: list[Any], carving: Carving) -> list[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * len(carving)


def _check_size(carving: Carving, size: float, most_bytes: float) -> None:
    if size > most_bytes:
        raise InputError(
            f"the graph of {len(carving):,} regions needs about {size / 1e9:.1f} GB as networkx "
            f"objects, and the limit is {most_bytes / 1e9:g} GB. Use carving.adjacency(), which "
            f"keeps columns, or polycarve.write_graph, or raise most_bytes."
        )
