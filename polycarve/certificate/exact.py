"""The regions of a cell, carved by exact arithmetic alone: for what a list lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.certificate.forms import LayerForms, Stages, Sums
from polycarve.certificate.multipliers import Cell
from polycarve.certificate.places import Point, Row
from polycarve.errors import NumericalError

BitArray = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class _Part(NamedTuple):
    layer: LayerForms | None
    unknown: IntArray
    depth: int
    row: tuple[Row, FloatArray, int] | None
    sums: Sums
    bits: BitArray
    point: Point


def carve_exactly(
    stages: Stages,
    cell: Cell,
    layer: LayerForms | None,
    unknown: IntArray,
    sums: Sums,
    bits: BitArray,
) -> Iterator[tuple[BitArray, Point]]:
    """Yield the regions of a cell, with a point of each; none if the cell is empty.

    Parameters
    ----------
    stages, cell
        The cell's rows are added to, and taken away again.
    layer, unknown : LayerForms and (n,) int
        The layer in hand and those of its cuts that are not known yet; None before the first.
    sums : what later layers read, with the known bits set
    bits : (N,) uint8
        The pattern so far; what is unknown will be written over.

    Notes
    -----
    A point of the cell shows one side of every cut. That there is no other side is shown as
    always; if there is one, it comes with a point.
    """
    inner = cell.inner_point()
    if inner is None:
        return
    depth = len(cell.rows)
    stack = [_Part(layer, unknown, depth, None, sums, bits, cell.simplified(inner))]
    while stack:
        part = stack.pop()
        cell.cut_to(part.depth)
        if part.row is not None:
            cell.add(*part.row)
        layer, unknown, sums, bits = part.layer, part.unknown, part.sums, part.bits.copy()
        while True:
            if layer is not None:
                crossing, sums, beyond = _settle(stages, cell, layer, unknown, sums, bits, part)
                if crossing:
                    _split(stages, cell, layer, crossing, sums, bits, part.point, beyond, stack)
                    break
            layer, sums = stages.next_layer(-1 if layer is None else layer.k, sums)
            if layer is None:
                yield bits, part.point
                break
            unknown = np.arange(len(layer))
    cell.cut_to(depth)


def _settle(
    stages: Stages,
    cell: Cell,
    layer: LayerForms,
    unknown: IntArray,
    sums: Sums,
    bits: BitArray,
    part: _Part,
) -> tuple[list[int], Sums, dict[int, Point]]:
    """Write the bits that are decided; return the cuts that cross, and points beyond them."""
    crossing: list[int] = []
    beyond: dict[int, Point] = {}
    asked, active = [], []
    for cut in unknown.tolist():
        if layer.is_constant[cut]:
            bits[layer.start + cut] = layer.rows[cut][-1] > 0
            active += [cut] if layer.rows[cut][-1] > 0 else []
            continue
        value = part.point.value(layer.rows[cut])
        if value:
            asked.append((cut, value > 0))
        else:
            crossing.append(cut)
    if asked:
        rows, floats, exponents = zip(
            *(layer.side(cut, active=side) for cut, side in asked), strict=True
        )
        answers = cell.show(rows, np.array(floats), exponents, part.point.rounded())
        for (cut, side), answer in zip(asked, answers, strict=True):
            if isinstance(answer, Point):
                crossing.append(cut)
                beyond[cut] = cell.simplified(answer)
            else:
                bits[layer.start + cut] = side
                active += [cut] if side else []
    return sorted(crossing), stages.set(layer, sums, active), beyond


def _split(
    stages: Stages,
    cell: Cell,
    layer: LayerForms,
    crossing: list[int],
    sums: Sums,
    bits: BitArray,
    point: Point,
    beyond: dict[int, Point],
    stack: list[_Part],
) -> None:
    cut, *rest = crossing
    here = point.value(layer.rows[cut])
    for side in (1, 0):
        row = layer.side(cut, active=bool(side))
        inside: Point | None = point
        if here == 0:
            inside = cell.inner_point(goal=row[0])
        elif (here > 0) != side:
            inside = beyond[cut]
            if inside.value(row[0]) <= 0:  # simplified too much
                inside = cell.inner_point(goal=row[0])
        if inside is None:
            raise NumericalError("a cut crosses a cell and has nothing on one side: an error.")
        bits = bits.copy()
        bits[layer.start + cut] = side
        after = stages.set(layer, sums, [cut]) if side else sums
        left = np.array(rest, dtype=np.int64)
        stack.append(_Part(layer, left, len(cell.rows), row, after, bits, inside))
