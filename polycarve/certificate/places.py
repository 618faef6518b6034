"""Domains in coordinates of their own, in which the box around them is the same for all.

Coordinates are ``t``: where the domain lies in a box, ``y = lo + t (hi - lo)`` with ``0 < t < 1``,
flat sides left out; else ``t = y``. So the box costs no digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.domains import Box, Domain, Polytope, Slice, Space
from polycarve.errors import DomainError
from polycarve.rational import ExactArray, strict_feasibility

FloatArray = npt.NDArray[np.float64]
Row = list[int]

_LARGEST = float(np.finfo(np.float64).max)


class Point(NamedTuple):
    """A rational point: integers over a positive denominator."""

    denominator: int
    numerators: list[int]

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> Point:
        common = math.lcm(*(value.denominator for value in values))
        return cls(common, [v.numerator * (common // v.denominator) for v in values])

    def rounded(self) -> FloatArray:
        """Return the nearest float64 of every coordinate."""
        with np.errstate(over="ignore"):
            return np.array([_quotient(t, self.denominator) for t in self.numerators])

    def value(self, row: Row) -> int:
        """Return a form's value here, times the denominator."""
        total = row[-1] * self.denominator
        for a, t in zip(row, self.numerators, strict=False):
            total += a * t
        return total


@dataclass(frozen=True, eq=False)
class Place:
    """A domain in coordinates t.

    Attributes
    ----------
    k : int
        How many there are.
    in_box : bool
        Whether ``0 < t < 1``; else t is unbounded.
    y : ExactArray, shape (dim, k + 1)
        The domain's coordinates as forms of t.
    free : (k,) int
        Which of them have a t of their own.
    rows : list of integer rows
        More sides: positive inside.
    box, proofs : the box around a bounded polytope, and what shows that it is one
    """

    domain: Domain
    k: int
    in_box: bool
    y: ExactArray
    free: npt.NDArray[np.int64]
    rows: list[Row]
    box: tuple[ExactArray, ExactArray] | None = None
    proofs: tuple[list[int], ...] = ()

    @cached_property
    def x(self) -> ExactArray:
        """The network's inputs as forms of t."""
        if self.domain.embedding is None:
            return self.y
        matrix, offset = self.domain.embedding
        x = matrix @ self.y
        end = np.zeros((1, self.k + 1), dtype=object)
        end[0, -1] = 1
        return (x + offset[:, None] * ExactArray(end, 1)).reduced()

    @cached_property
    def _flat(self) -> tuple[npt.NDArray[np.int64], list[Fraction]]:
        """The coordinates without a t, and what they are."""
        flat = np.setdiff1d(np.arange(len(self.y)), self.free)
        return flat, self.y[flat, -1].fractions()

    def points(self, y: FloatArray) -> FloatArray:
        """Return the t of points in the domain's coordinates, as near as float64 comes."""
        widths = self.y.numerators[self.free, np.arange(self.k)].tolist()
        width = np.array([_quotient(value, self.y.denominator) for value in widths])
        with np.errstate(all="ignore"):  # too thin or too wide for it
            return np.asarray((y[:, self.free] - self.y.float64[self.free, -1]) / width)

    def point(self, y: FloatArray) -> Point | None:
        """Return the exact t of a float64 point in the domain's coordinates.

        None if it has none: where it is not finite, or beside a flat side.
        """
        flat, values = self._flat
        if not np.isfinite(y).all() or y[flat].tolist() != values:
            return None
        over, common, sides = self._scales
        ratios = [value.as_integer_ratio() for value in y[self.free].tolist()]
        finest = max((denominator for _, denominator in ratios), default=1)  # powers of two
        numerators = [
            (n * (finest // d) * over - finest * start) * share
            for (n, d), (start, share) in zip(ratios, sides, strict=True)
        ]
        divisor = math.gcd(finest * common, *numerators)
        return Point(finest * common // divisor, [value // divisor for value in numerators])

    @cached_property
    def _scales(self) -> tuple[int, int, list[tuple[int, int]]]:
        """The denominator of y; a multiple of all widths; and for each t, its start and share."""
        rows = self.y.numerators[self.free].tolist()
        widths = [row[i] for i, row in enumerate(rows)]
        common = math.lcm(*widths)
        starts = [(row[-1], common // width) for row, width in zip(rows, widths, strict=True)]
        return self.y.denominator, common, starts

    def rounded(self, t: Point) -> FloatArray:
        """Return a point in the domain's coordinates, rounded to float64."""
        over = self.y.denominator * t.denominator
        column = np.array([*t.numerators, t.denominator], dtype=object)
        values = [_quotient(value, over) for value in (self.y.numerators @ column).tolist()]
        return np.clip(values, -_LARGEST, _LARGEST)


def place_of(domain: Domain) -> Place:
    """Return a domain in coordinates t."""
    inner = domain.domain if isinstance(domain, Slice) else domain
    dim = inner.dim
    everything = np.arange(dim)
    if isinstance(inner, Box):
        free = np.asarray(inner.free)
        return Place(domain, len(free), True, _coordinates(inner.lo, inner.hi, free), free, [])
    if isinstance(inner, Space):
        return Place(domain, dim, False, _plain(dim), everything, [])
    if not isinstance(inner, Polytope):
        raise DomainError(
            f"certificates are made on a Box, Polytope, Space, Slice or Segment, not on a "
            f"{type(inner).__name__}."
        )
    sides = [
        [*(-a for a in row), b]
        for row, b in zip(inner.A.fractions(), inner.b.fractions(), strict=True)
        if any(row)
    ]
    rows = [scaled_row(side) for side in sides]
    if not inner.is_bounded:
        return Place(domain, dim, False, _plain(dim), everything, rows)
    lo, hi = inner.frame.lower, inner.frame.upper
    y = _coordinates(lo, hi, everything)
    inside = []
    for side in sides:
        along = np.array(side[:-1], dtype=object) @ y.numerators
        row = [Fraction(value) / y.denominator for value in along.tolist()]
        inside.append(scaled_row([*row[:-1], row[-1] + side[-1]]))
    proofs = _proofs_of_box(rows, lo.fractions(), hi.fractions())
    return Place(domain, dim, True, y, everything, inside, (lo, hi), proofs)


def whole_row(values: Sequence[int | Fraction]) -> Row:
    """Return the smallest positive multiple of a form in integers."""
    row = scaled_row(values)
    divisor = math.gcd(*row) or 1
    return [value // divisor for value in row]


def scaled_row(values: Sequence[int | Fraction]) -> Row:
    """Return a form times the least common denominator of its numbers."""
    exact = [Fraction(value) for value in values]
    common = math.lcm(*(value.denominator for value in exact))
    return [value.numerator * (common // value.denominator) for value in exact]


def _plain(dim: int) -> ExactArray:
    return ExactArray.of(np.eye(dim, dim + 1, dtype=np.int64))


def _coordinates(lo: ExactArray, hi: ExactArray, free: npt.NDArray[np.int64]) -> ExactArray:
    common = math.lcm(lo.denominator, hi.denominator)
    start = lo.numerators * (common // lo.denominator)
    width = hi.numerators * (common // hi.denominator) - start
    y = np.zeros((len(start), len(free) + 1), dtype=object)
    y[free, np.arange(len(free))] = width[free]
    y[:, -1] = start
    return ExactArray(y, common).reduced()


def _proofs_of_box(
    rows: list[Row], lo: list[Fraction], hi: list[Fraction]
) -> tuple[list[int], ...]:
    """Return a vector for each side: the lower ones, then the upper ones."""
    dim, proofs = len(lo), []
    for side in range(2 * dim):
        j, sign = side % dim, 1 if side < dim else -1
        goal = whole_row([*(sign * (i == j) for i in range(dim)), -lo[j] if sign > 0 else hi[j]])
        answer = strict_feasibility([*rows, [-value for value in goal]], dim)
        if answer.multipliers is None:
            raise DomainError("the box around the polytope does not hold it.")
        *factors, q = whole_row(answer.multipliers)
        proofs.append([q, *(v for i, factor in enumerate(factors) if factor for v in (i, factor))])
    return tuple(proofs)


def _quotient(value: int, over: int) -> float:
    try:
        return value / over
    except OverflowError:
        return math.inf if value > 0 else -math.inf
