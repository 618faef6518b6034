"""Folds, and stacks of layers that apply them.

A layer whose units are shared out among the coordinates reads each of them off through a function
that runs over ``[0, 1]`` once a piece. So whatever later layers cut out of the unit cube is found
once in every piece of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from polycarve.networks import Network

Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Fold:
    """Units ``relu(slope x + offset)`` and the function read off them, with so many pieces."""

    slopes: list[int]
    offsets: list[Fraction]
    coefficients: list[Fraction]
    constant: Fraction
    pieces: int


def plain_fold(p: int) -> Fold:
    """A zigzag with ``p`` pieces on ``[0, 1]``, each onto ``[0, 1]``."""
    coefficients = [Fraction((-1) ** k * (2 * p if k else p)) for k in range(p)]
    return Fold([1] * p, [Fraction(-k, p) for k in range(p)], coefficients, Fraction(0), p)


def sharp_fold(p: int) -> Fold:
    """The same with one piece more, where ``p >= 3``: the third unit looks the other way."""
    if p < 3:
        return plain_fold(p)
    scale = 2 * p + 1
    breaks = [Fraction(2 * k - 1, scale) for k in range(1, p + 1)]
    slopes = [1, 1, -1, *[1] * (p - 3)]
    offsets = [-slope * at for slope, at in zip(slopes, breaks, strict=True)]
    coefficients = [Fraction((-1) ** k * scale) for k in range(1, p + 1)]
    coefficients[0] = Fraction(-3 * scale, 2)
    return Fold(slopes, offsets, coefficients, Fraction(5), p + 1)


@dataclass
class Stack:
    """Layers so far, and the values that the next one reads off the last, as an affine map."""

    matrix: Matrix
    constants: list[Fraction]
    weights: list[Matrix] = field(default_factory=list)
    biases: list[list[Fraction]] = field(default_factory=list)

    @classmethod
    def on_inputs(cls, dim: int) -> Stack:
        identity = [[Fraction(int(i == j)) for j in range(dim)] for i in range(dim)]
        return cls(identity, [Fraction(0)] * dim)

    def add(self, rows: Sequence[Sequence[int | Fraction]], offsets: Sequence[Fraction]) -> None:
        """Add units ``relu(row @ values + offset)``."""
        columns = list(zip(*self.matrix, strict=True))
        self.weights.append([[_dot(row, column) for column in columns] for row in rows])
        self.biases.append(
            [_dot(row, self.constants) + b for row, b in zip(rows, offsets, strict=True)]
        )

    def fold(self, folds: Sequence[Fold]) -> None:
        """Add a layer that folds each value, and read the folded values off it."""
        dim, units = len(folds), sum(len(fold.slopes) for fold in folds)
        rows = [
            [slope if i == j else 0 for j in range(dim)]
            for i, fold in enumerate(folds)
            for slope in fold.slopes
        ]
        self.add(rows, [offset for fold in folds for offset in fold.offsets])
        self.matrix, start = [], 0
        for fold in folds:
            end = start + len(fold.slopes)
            row = [Fraction(0)] * units
            row[start:end] = fold.coefficients
            self.matrix.append(row)
            start = end
        self.constants = [fold.constant for fold in folds]

    def network(self, *, with_output: bool) -> Network:
        """Return the network; its output, if it has one, is the values read off the last layer."""
        if not with_output:
            return Network.from_arrays(self.weights, self.biases, relu_last=True)
        return Network.from_arrays(
            [*self.weights, self.matrix], [*self.biases, self.constants], relu_last=False
        )


def _dot(row: Sequence[int | Fraction], column: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
