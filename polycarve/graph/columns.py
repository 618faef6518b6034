"""The region graph as columns, one entry a node or an edge: what every format is written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.adjacency import BOUNDARY, UNKNOWN, Adjacency
from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.graph.jumps import jump_ranks
from polycarve.patterns import first_difference

IntArray = npt.NDArray[np.int64]

# What costs a computation of its own for every region.
ON_REQUEST = ("volume", "radius", "centroid")

Column = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Lists:
    """A column of lists of integers: entry i is ``values[offsets[i] : offsets[i + 1]]``."""

    offsets: IntArray
    values: IntArray

    def texts(self) -> list[str]:
        """Return the lists as text, with blanks between the numbers."""
        single = np.diff(self.offsets) == 1
        names = [str(v) for v in range(int(self.values.max(initial=-1)) + 1)]
        first = self.values[self.offsets[:-1]].tolist() if len(single) else []
        texts = [names[v] for v in first]
        for row in np.flatnonzero(~single):
            part = self.values[self.offsets[row] : self.offsets[row + 1]]
            texts[row] = " ".join(map(str, part.tolist()))
        return texts

    def tuples(self) -> list[tuple[int, ...]]:
        """Return the lists as tuples."""
        values, ends = self.values.tolist(), self.offsets.tolist()
        return [tuple(values[a:b]) for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of neighbours ``source < target``, sorted, and what is known of their facets.

    Attributes
    ----------
    facets : (E,) int64
        Rows of the adjacency: the facet as the earlier region has it.
    neurons : Lists
        All neurons whose pre-activation vanishes on the facet but not all around it.
    neuron, layer : (E,) int64
        The first of these, and its layer, counted from 1.
    rank : (E,) int8
        Of the change of the affine map: 0 or 1.
    """

    facets: IntArray
    source: IntArray
    target: IntArray
    neurons: Lists
    neuron: IntArray
    layer: IntArray
    rank: npt.NDArray[np.int8]


def check_attributes(attributes: Sequence[str]) -> None:
    """Refuse names of attributes that there are not."""
    if isinstance(attributes, str):
        raise InputError(f"attributes is {attributes!r}; give a list of names: [{attributes!r}].")
    unknown = [name for name in attributes if name not in ON_REQUEST]
    if unknown:
        raise InputError(
            f"no attribute {unknown[0]!r}. On request there are: {', '.join(ON_REQUEST)}."
        )


def about(carving: Carving) -> dict[str, Any]:
    """Return what is said of the graph as a whole."""
    facts = {
        "network": carving.network.digest,
        "domain": carving.domain.digest,
        "dimension": carving.domain.rank,
        "layers": carving.n_layers,
        "regions": len(carving),
        "n_doubtful": carving.n_doubtful,
        "complete": carving.complete,
    }
    return facts if carving.stop_reason is None else facts | {"stop_reason": carving.stop_reason}


def node_columns(adjacency: Adjacency, attributes: Sequence[str]) -> dict[str, Column]:
    """Return flat columns of the regions: text, whole numbers, float64 and truth values.

    Points and centroids are one column a coordinate, and so are the codes after each layer but the
    last. What a region does not have, such as a volume where it is unbounded, is not finite here.
    """
    carving = adjacency.carving
    dim = carving.domain.dim
    columns: dict[str, Column] = {"code": _codes(carving.patterns, carving.widths)}
    columns |= {f"prefix{k}": codes for k, codes in enumerate(prefixes(carving), start=1)}
    columns |= {f"x{j + 1}": carving.points[:, j] for j in range(dim)}
    columns["bounded"] = carving.bounded()
    columns["on_boundary"] = _count(adjacency, BOUNDARY) > 0
    columns["unknown"] = _count(adjacency, UNKNOWN)
    if "volume" in attributes:
        columns["volume"] = carving.volumes()
    if "radius" in attributes:
        columns["radius"] = carving.chebyshev()[1]
    if "centroid" in attributes:
        centroids = carving.centroids()
        columns |= {f"centroid{j + 1}": centroids[:, j] for j in range(dim)}
    return columns


def _count(adjacency: Adjacency, what: int) -> IntArray:
    return np.bincount(adjacency.region[adjacency.neighbor == what], minlength=len(adjacency))


def prefixes(carving: Carving) -> list[list[str]]:
    """Return the regions' codes after each layer but the last; equal ones are one string."""
    found = []
    bits, change = carving.patterns, first_difference(carving.packed)
    for layer in range(1, carving.n_layers):
        width = int(sum(carving.widths[:layer]))
        begins = np.concatenate([np.ones(min(1, len(bits)), np.bool_), change < width])
        codes = _codes(bits[begins, :width], carving.widths[:layer])
        found.append([codes[group] for group in (np.cumsum(begins) - 1).tolist()])
    return found


def _codes(bits: npt.NDArray[np.uint8], widths: Sequence[int]) -> list[str]:
    """Return the codes of many patterns."""
    if not widths:
        return [""] * len(bits)
    stops = np.cumsum(widths)
    letters = np.full((len(bits), int(stops[-1]) + len(widths) - 1), ord("|"), np.uint8)
    places = np.arange(int(stops[-1])) + np.repeat(np.arange(len(widths)), widths)
    letters[:, places] = np.where(bits == 1, ord("a"), ord("i"))
    text, width = letters.tobytes().decode(), letters.shape[1]
    return [text[at : at + width] for at in range(0, len(text), width)]


def edge_columns(adjacency: Adjacency) -> Edges:
    """Return the pairs of neighbours and what is known of their facets."""
    facets = adjacency.edge_facets
    source, target = adjacency.region[facets], adjacency.neighbor[facets]
    order = np.lexsort((target, source))
    facets = facets[order]
    neurons = _carriers(adjacency, facets)
    first = neurons.values[neurons.offsets[:-1]]
    stops = np.cumsum(adjacency.carving.widths)
    return Edges(
        facets,
        source[order],
        target[order],
        neurons,
        first,
        np.searchsorted(stops, first, side="right") + 1,
        jump_ranks(adjacency, facets),
    )


def _carriers(adjacency: Adjacency, facets: IntArray) -> Lists:
    """Return all neurons on facets; one may vanish all over one side, and show on the other."""
    n = max(1, sum(adjacency.carving.widths))
    keys = []
    for side in (facets, adjacency.mate[facets]):
        starts, stops = adjacency.carrier_offsets[side], adjacency.carrier_offsets[side + 1]
        counts = stops - starts
        edge = np.repeat(np.arange(len(side)), counts)
        within = np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)
        keys.append(edge * n + adjacency.carriers[np.repeat(starts, counts) + within])
    pairs = np.unique(np.concatenate(keys))
    counts = np.bincount(pairs // n, minlength=len(facets))
    return Lists(np.concatenate([[0], np.cumsum(counts)]), pairs % n)
