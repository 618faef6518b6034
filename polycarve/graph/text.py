"""The formats that are text: GraphML, GEXF, JSON, DOT and CSV, written piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from polycarve.adjacency import Adjacency
from polycarve.graph import markup
from polycarve.graph.columns import Column, Edges, about, edge_columns, node_columns

# Rows turned into text at a time.
_CHUNK = 1 << 14


def write_graphml(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    nodes, edges = node_columns(adjacency, attributes), edge_columns(adjacency)
    facts, table = about(adjacency.carving), _edge_table(edges)
    _pour(markup.graphml(facts, nodes, edges.source, edges.target, table), file)


def write_gexf(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    nodes, edges = node_columns(adjacency, attributes), edge_columns(adjacency)
    facts, table = json.dumps(about(adjacency.carving)), _edge_table(edges)
    _pour(markup.gexf(facts, nodes, edges.source, edges.target, table), file)


def write_json(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    carving = adjacency.carving
    nodes, edges = node_columns(adjacency, attributes), edge_columns(adjacency)
    groups = {"prefixes": "prefix", "point": "x", "centroid": "centroid"}
    lists = {
        name: [column for key, column in nodes.items() if key.rstrip("0123456789") == stem]
        for name, stem in groups.items()
    }
    spread = {key for key in nodes if key[-1].isdigit()}

    def node_texts() -> Iterator[str]:
        for start in range(0, len(carving), _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = range(len(carving))[part]
            held: dict[str, list[Any]] = {"id": list(rows)}
            held |= {k: _listed(v[part]) for k, v in nodes.items() if k not in spread}
            for name, columns in lists.items():
                if columns:
                    cells = zip(*(_listed(column[part]) for column in columns), strict=True)
                    held[name] = [None if None in cell else cell for cell in cells]
            yield _objects(held)

    def edge_texts() -> Iterator[str]:
        neurons = edges.neurons.tuples()
        for start in range(0, len(edges.source), _CHUNK):
            part = slice(start, start + _CHUNK)
            plain = ("source", "target", "neuron", "layer", "rank")
            held = {name: getattr(edges, name)[part].tolist() for name in plain}
            yield _objects(held | {"neurons": neurons[part]})

    head = json.dumps(about(carving))
    file.write(f'{{"directed": false, "multigraph": false, "graph": {head},\n"nodes": ['.encode())
    _pour(_joined(node_texts()), file)
    file.write(b'],\n"edges": [')
    _pour(_joined(edge_texts()), file)
    file.write(b"]}\n")


def _listed(column: Column) -> list[Any]:
    """Return plain values, None for what is not finite."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        finite = np.isfinite(column).tolist()
        rows = zip(column.tolist(), finite, strict=True)
        return [value if known else None for value, known in rows]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _objects(columns: dict[str, list[Any]]) -> str:
    """Return rows as JSON objects with commas between them; None is left out."""
    names = list(columns)
    rows = (
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*columns.values(), strict=True)
    )
    return json.dumps(list(rows), allow_nan=False)[1:-1]


def _joined(parts: Iterator[str]) -> Iterator[str]:
    for k, part in enumerate(parts):
        yield f",\n{part}" if k else part


def write_dot(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    nodes, edges = node_columns(adjacency, attributes), edge_columns(adjacency)

    def texts() -> Iterator[str]:
        facts = about(adjacency.carving).items()
        yield f"graph regions {{\ngraph [{', '.join(f'{k}={quoted(v)}' for k, v in facts)}];\n"
        for columns, heads in (
            (nodes, [str(row) for row in range(len(adjacency))]),
            (
                _edge_table(edges),
                [f"{i} -- {j}" for i, j in zip(edges.source, edges.target, strict=True)],
            ),
        ):
            for start in range(0, len(heads), _CHUNK):
                part = slice(start, start + _CHUNK)
                names = list(columns)
                rows = zip(*(_listed(column[part]) for column in columns.values()), strict=True)
                for head, row in zip(heads[part], rows, strict=True):
                    pairs = zip(names, row, strict=True)
                    held = ", ".join(f"{k}={quoted(v)}" for k, v in pairs if v is not None)
                    yield f"{head} [{held}];\n"
        yield "}\n"

    _pour(texts(), file)


def quoted(value: Any) -> str:
    """Return a value as a quoted string of the DOT language."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_csv(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    edges = edge_columns(adjacency)
    table = {"source": edges.source, "target": edges.target} | _edge_table(edges)
    file.write((",".join(table) + "\n").encode())
    for start in range(0, len(edges.source), _CHUNK):
        part = slice(start, start + _CHUNK)
        columns = [list(map(str, _listed(column[part]))) for column in table.values()]
        rows = map(",".join, zip(*columns, strict=True))
        file.write(("\n".join(rows) + "\n").encode())


def _edge_table(edges: Edges) -> dict[str, Column]:
    return {
        "neuron": edges.neuron,
        "neurons": edges.neurons.texts(),
        "layer": edges.layer,
        "rank": edges.rank,
    }


def _pour(texts: Iterable[str], file: IO[bytes]) -> None:
    for text in texts:
        file.write(text.encode())
