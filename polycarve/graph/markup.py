"""GraphML and GEXF, written as text straight from columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from polycarve.graph.columns import Column

# Rows turned into text at a time.
_CHUNK = 1 << 14

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
_GRAPHML, _GEXF = "http://graphml.graphdrawing.org/xmlns", "http://www.gexf.net/1.2draft"


def kind_of(column: Column) -> str:
    """Return ``"boolean"``, ``"int"``, ``"double"`` or ``"string"``."""
    if not isinstance(column, np.ndarray):
        return "string"
    return {"b": "boolean", "i": "int", "u": "int", "f": "double"}[column.dtype.kind]


def texts(column: Column, around: Callable[[str], str]) -> list[str]:
    """Return each value as text put into its surroundings; nothing where it is not finite."""
    if not isinstance(column, np.ndarray):
        return [around(escape(value, {'"': "&quot;"})) for value in column]
    if column.dtype.kind == "b":
        words = (around("false"), around("true"))
        return [words[value] for value in column.tolist()]
    if column.dtype.kind == "f":
        finite = np.isfinite(column).tolist()
        rows = zip(column.tolist(), finite, strict=True)
        return [around(repr(value)) if known else "" for value, known in rows]
    return [around(str(value)) for value in column.tolist()]


def graphml(
    about: Mapping[str, Any],
    nodes: Mapping[str, Column],
    source: Column,
    target: Column,
    edges: Mapping[str, Column],
) -> Iterator[str]:
    """Iterate over the text of a GraphML file."""
    yield (
        f'{_HEAD}<graphml xmlns="{_GRAPHML}" {_XSI} xsi:schemaLocation="{_GRAPHML} '
        f'http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
    )
    whole = {name: _column_of(value) for name, value in about.items()}
    keys: dict[tuple[str, str], str] = {}
    for scope, columns in (("graph", whole), ("node", nodes), ("edge", edges)):
        for name, column in columns.items():
            key = keys[scope, name] = f"d{len(keys)}"
            kind = kind_of(column)
            # Whole numbers are declared as wide as they may become.
            kind = "long" if kind == "int" else kind
            yield (
                f'<key id="{key}" for="{scope}" attr.name={quoteattr(name)} attr.type="{kind}"/>\n'
            )
    yield '<graph edgedefault="undirected">\n'
    for name, column in whole.items():
        yield texts(column, _data(keys["graph", name]))[0] + "\n"
    cells = {name: (column, _data(keys["node", name])) for name, column in nodes.items()}
    n = len(next(iter(nodes.values())))
    for start in range(0, n, _CHUNK):
        rows = range(start, min(start + _CHUNK, n))
        ids = [f'<node id="{row}">' for row in rows]
        yield _lines([ids, *_cells(cells, rows), ["</node>\n"] * len(rows)])
    cells = {name: (column, _data(keys["edge", name])) for name, column in edges.items()}
    for rows, ends in _ends(source, target):
        heads = [f'<edge source="{i}" target="{j}">' for i, j in ends]
        yield _lines([heads, *_cells(cells, rows), ["</edge>\n"] * len(rows)])
    yield "</graph>\n</graphml>\n"


def gexf(
    about: str,
    nodes: Mapping[str, Column],
    source: Column,
    target: Column,
    edges: Mapping[str, Column],
) -> Iterator[str]:
    """Iterate over the text of a GEXF file; nodes are labelled by their codes.

    Ids are text, every attribute is declared, and what has no value is left out, as Gephi needs it.
    """
    yield (
        f'{_HEAD}<gexf xmlns="{_GEXF}" {_XSI} xsi:schemaLocation="{_GEXF} '
        f'http://www.gexf.net/1.2draft/gexf.xsd" version="1.2">\n'
        f"<meta><creator>polycarve</creator><description>{escape(about)}</description></meta>\n"
        f'<graph defaultedgetype="undirected" mode="static">\n'
    )
    keys: dict[tuple[str, str], str] = {}
    for scope, columns in (("node", nodes), ("edge", edges)):
        yield f'<attributes class="{scope}" mode="static">\n'
        for name, column in columns.items():
            key = keys[scope, name] = str(len(keys))
            kind = {"int": "integer"}.get(kind_of(column), kind_of(column))
            yield f'<attribute id="{key}" title={quoteattr(name)} type="{kind}"/>\n'
        yield "</attributes>\n"
    yield "<nodes>\n"
    cells = {name: (column, _attvalue(keys["node", name])) for name, column in nodes.items()}
    codes = nodes["code"]
    n = len(codes)
    for start in range(0, n, _CHUNK):
        rows = range(start, min(start + _CHUNK, n))
        ids = [f'<node id="{row}" label={quoteattr(codes[row])}><attvalues>' for row in rows]
        yield _lines([ids, *_cells(cells, rows), ["</attvalues></node>\n"] * len(rows)])
    yield "</nodes>\n<edges>\n"
    cells = {name: (column, _attvalue(keys["edge", name])) for name, column in edges.items()}
    for rows, ends in _ends(source, target):
        heads = [
            f'<edge id="{row}" source="{i}" target="{j}"><attvalues>'
            for row, (i, j) in zip(rows, ends, strict=True)
        ]
        yield _lines([heads, *_cells(cells, rows), ["</attvalues></edge>\n"] * len(rows)])
    yield "</edges>\n</graph>\n</gexf>\n"


def _column_of(value: Any) -> Column:
    return [value] if isinstance(value, str) else np.array([value])


def _data(key: str) -> Callable[[str], str]:
    head = f'<data key="{key}">'
    return lambda text: f"{head}{text}</data>"


def _attvalue(key: str) -> Callable[[str], str]:
    head = f'<attvalue for="{key}" value="'
    return lambda text: f'{head}{text}"/>'


def _cells(
    columns: Mapping[str, tuple[Column, Callable[[str], str]]], rows: range
) -> list[list[str]]:
    part = slice(rows.start, rows.stop)
    return [texts(column[part], around) for column, around in columns.values()]


def _lines(columns: list[list[str]]) -> str:
    return "".join(map("".join, zip(*columns, strict=True)))


def _ends(source: Any, target: Any) -> Iterator[tuple[range, list[tuple[int, int]]]]:
    """Iterate over pieces of the edges: their numbers, and the two ends of each."""
    for start in range(0, len(source), _CHUNK):
        part = slice(start, start + _CHUNK)
        ends = list(zip(source[part].tolist(), target[part].tolist(), strict=True))
        yield range(start, start + len(ends)), ends
