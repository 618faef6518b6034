"""A second referee, for the plane: polygons clipped with fractions, layer by layer.

No linear programs and nothing of the code under test: a cell is the list of its corners.
"""

from __future__ import annotations

from fractions import Fraction

from polycarve import Box, Network
from tests.oracles.exact import hidden_layers

Point = tuple[Fraction, Fraction]
Form = tuple[Fraction, Fraction, Fraction]
Polygon = list[Point]

_X: Form = (Fraction(1), Fraction(0), Fraction(0))
_Y: Form = (Fraction(0), Fraction(1), Fraction(0))


def cells(net: Network, box: Box) -> dict[tuple[int, ...], Polygon]:
    """The polygon of every pattern with an open set of inputs in the box."""
    (x0, y0), (x1, y1) = box.lo.fractions(), box.hi.fractions()
    square = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    found: list[tuple[tuple[int, ...], Polygon, list[Form]]] = [((), square, [_X, _Y])]
    for weights, biases in hidden_layers(net):
        finer = []
        for bits, polygon, values in found:
            forms = [_combined(row, b, values) for row, b in zip(weights, biases, strict=True)]
            parts: list[tuple[tuple[int, ...], Polygon]] = [((), polygon)]
            for form in forms:
                parts = [
                    ((*signs, on), side)
                    for signs, part in parts
                    for on, side in enumerate(_sides(part, form))
                    if side
                ]
            for signs, part in parts:
                after = [
                    form if on else (Fraction(0),) * 3
                    for form, on in zip(forms, signs, strict=True)
                ]
                finer.append(((*bits, *signs), part, after))
        found = finer
    return {bits: polygon for bits, polygon, _ in found}


def area(polygon: Polygon) -> Fraction:
    """By the shoelace formula; corners go round counterclockwise."""
    after = [*polygon[1:], polygon[0]]
    pairs = zip(polygon, after, strict=True)
    return sum((a[0] * b[1] - b[0] * a[1] for a, b in pairs), Fraction(0)) / 2


def _combined(row: list[Fraction], bias: Fraction, values: list[Form]) -> Form:
    a, b, c = (
        sum((w * value[j] for w, value in zip(row, values, strict=True)), Fraction(0))
        for j in range(3)
    )
    return a, b, c + bias


def _sides(polygon: Polygon, form: Form) -> tuple[Polygon, Polygon]:
    """The parts where the form is negative or zero, and positive; empty without an interior."""
    z = [form[0] * x + form[1] * y + form[2] for x, y in polygon]
    if all(v <= 0 for v in z):
        return polygon, []
    if all(v >= 0 for v in z):
        return [], polygon
    negative, positive = [], []
    for i, (point, here) in enumerate(zip(polygon, z, strict=True)):
        if here <= 0:
            negative.append(point)
        if here >= 0:
            positive.append(point)
        after, there = polygon[(i + 1) % len(polygon)], z[(i + 1) % len(polygon)]
        if here * there < 0:
            t = here / (here - there)
            crossing = (point[0] + t * (after[0] - point[0]), point[1] + t * (after[1] - point[1]))
            negative.append(crossing)
            positive.append(crossing)
    return negative, positive
