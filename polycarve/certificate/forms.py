"""Networks and domains in integers: the forms of a layer's cuts, updated as bits are set.

Coordinates are ``t``: where the domain lies in a box, ``y = lo + t (hi - lo)`` with ``0 < t < 1``,
flat sides left out; else ``t = y``. So the box is the same for all, and costs no digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.domains import Box, Domain, Polytope, Slice, Space
from polycarve.errors import DomainError
from polycarve.networks import Activation, Network
from polycarve.rational import ExactArray, strict_feasibility

FloatArray = npt.NDArray[np.float64]
Integers = npt.NDArray[np.object_]
Row = list[int]
Sums = tuple[Integers, ...]


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
    def is_float64(self) -> bool:
        """Whether points with all coordinates in float64 can lie in the domain."""
        flat = np.setdiff1d(np.arange(len(self.y)), self.free)
        return self.y[flat, -1].is_float64

    def points(self, y: FloatArray) -> FloatArray:
        """Return the t of points in the domain's coordinates, in float64."""
        columns = np.arange(self.k)
        width = self.y.numerators[self.free, columns] / self.y.denominator
        start = self.y.float64[self.free, -1]
        return np.asarray((y[:, self.free] - start) / width.astype(np.float64))

    def point(self, y: FloatArray) -> Point:
        """Return the exact t of a float64 point in the domain's coordinates."""
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

    def embed(self, t: Point) -> ExactArray:
        """Return a point in the domain's coordinates."""
        column = np.array([*t.numerators, t.denominator], dtype=object)
        return ExactArray(self.y.numerators @ column, self.y.denominator * t.denominator)


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


# ---------------------------------------------------------------------- layers


@dataclass(frozen=True, eq=False)
class Stage:
    """A layer over a common denominator: the least there is for all patterns at once.

    Vectors in files are about these very integers, so the checker has the same denominators.

    Attributes
    ----------
    cuts : (n_cuts,) integers
        By how much each form is below its unit's.
    units : (n_cuts,) int
    jumps : (n_cuts,) integers
        The value of a unit grows by so many times the form where its bit is set.
    slope, offset : int
        The first piece.
    readers : list of (stage, matrix)
        Later layers, with what one step of this one's units is worth to theirs.
    """

    cuts: Integers
    units: npt.NDArray[np.int64]
    jumps: Integers
    slope: int
    offset: int
    readers: list[tuple[int, Integers]]

    @property
    def n_cuts(self) -> int:
        return len(self.cuts)


@dataclass(frozen=True, eq=False)
class LayerForms:
    """The forms of a layer's cuts on a cell.

    Attributes
    ----------
    k : int
        Which layer.
    start : int
        The first of its bits in a pattern.
    forms : (n, k + 1) integers
    rows : the same as lists
    floats, exponents
        See `rounded`.
    is_constant : (n,) bool
        Whether a form has no coefficients.
    """

    k: int
    start: int
    forms: Integers
    rows: list[Row]
    floats: FloatArray
    exponents: list[int]
    is_constant: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    def side(self, cut: int, *, active: bool) -> tuple[Row, FloatArray, int]:
        """Return the row that is positive on a side of a cut, in float64 too."""
        if active:
            return self.rows[cut], self.floats[cut], self.exponents[cut]
        return [-v for v in self.rows[cut]], -self.floats[cut], self.exponents[cut]


class Stages:
    """A network on a place: what each layer's cuts are, given the bits before."""

    def __init__(self, network: Network, place: Place, n_layers: int) -> None:
        hidden = network.hidden[:n_layers]
        layers = network.layers[: hidden[-1] + 1] if hidden else ()
        x = place.x
        scales, sizes = [x.denominator], [len(x)]
        readers: list[list[tuple[int, Integers]]] = [[] for _ in range(len(layers) + 1)]
        self.stages: list[Stage] = []
        sums: list[Integers] = []
        for k, layer in enumerate(layers):
            weight, bias = layer.weight.reduced(), layer.bias.reduced()
            law = layer.activation
            cuts = law.cuts if law else ()
            own = math.lcm(weight.denominator, bias.denominator, *(cut.denominator for cut in cuts))
            scale = own * math.lcm(*(scales[v] for v in layer.inputs))
            at = 0
            for v in layer.inputs:
                part = weight.numerators[:, at : at + sizes[v]]
                readers[v].append((k, part * (scale // weight.denominator // scales[v])))
                at += sizes[v]
            start = np.zeros((layer.n_units, place.k + 1), dtype=object)
            start[:, -1] = bias.numerators * (scale // bias.denominator)
            sums.append(start)
            stage, finer = _stage(law, layer.n_units, scale, readers[k + 1])
            self.stages.append(stage)
            scales.append(scale * finer)
            sizes.append(layer.n_units)
        for k, matrix in readers[0]:
            sums[k] = sums[k] + matrix @ x.numerators
        self.start: Sums = tuple(sums)
        self.bit_starts = [0, *np.cumsum([stage.n_cuts for stage in self.stages]).tolist()]

    def next_layer(self, k: int, sums: Sums) -> tuple[LayerForms | None, Sums]:
        """Return the forms of the first layer after k that cuts, and the sums on the way to it.

        None where there is no such layer.
        """
        for later in range(k + 1, len(self.stages)):
            forms, sums = self._forms(later, sums)
            if len(forms):
                rows = forms.tolist()
                floats, exponents = rounded(rows)
                constant = np.array([not any(row[:-1]) for row in rows])
                start = self.bit_starts[later]
                return LayerForms(later, start, forms, rows, floats, exponents, constant), sums
        return None, sums

    def _forms(self, k: int, sums: Sums) -> tuple[Integers, Sums]:
        """Return the forms of layer k's cuts, and the sums with the first pieces added."""
        stage, z = self.stages[k], sums[k]
        forms = z[stage.units]
        forms[:, -1] -= stage.cuts
        if stage.slope or stage.offset:
            piece = z * stage.slope
            piece[:, -1] += stage.offset
            sums = _added(sums, stage.readers, piece)
        return forms, sums

    def set(self, layer: LayerForms, sums: Sums, cuts: Sequence[int]) -> Sums:
        """Return the sums once some cuts of a layer are active."""
        stage = self.stages[layer.k]
        if not stage.readers or not len(cuts):
            return sums
        chosen = np.asarray(cuts)
        steps = layer.forms[chosen] * stage.jumps[chosen, None]
        return _added(sums, stage.readers, steps, stage.units[chosen])


def _stage(
    law: Activation | None, n_units: int, scale: int, readers: list[tuple[int, Integers]]
) -> tuple[Stage, int]:
    if law is None:
        none = np.zeros(0, dtype=object)
        return Stage(none, np.zeros(0, np.int64), none, 1, 0, readers), 1
    finer = math.lcm(*(value.denominator for value in (*law.jumps, law.slope, law.offset)))
    cuts = np.array([int(cut * scale) for cut in law.cuts] * n_units, dtype=object)
    jumps = np.array([int(jump * finer) for jump in law.jumps] * n_units, dtype=object)
    units = np.repeat(np.arange(n_units), len(law.cuts))
    slope, offset = int(law.slope * finer), int(law.offset * finer * scale)
    return Stage(cuts, units, jumps, slope, offset, readers), finer


def _added(
    sums: Sums, readers: list[tuple[int, Integers]], steps: Integers, units: Any = slice(None)
) -> Sums:
    held = list(sums)
    for k, matrix in readers:
        held[k] = held[k] + matrix[:, units] @ steps
    return tuple(held)


def rounded(rows: list[Row]) -> tuple[FloatArray, list[int]]:
    """Return forms in float64, the largest coefficient of each in [1, 2), and the exponents.

    ``float = integer * 2^-exponent``, nearly. A form without coefficients is scaled by its
    constant.
    """
    floats, exponents = [], []
    for row in rows:
        largest = max(map(abs, row[:-1]), default=0) or abs(row[-1])
        exponent = largest.bit_length() - 1
        # Sixty-four bits below the largest: what is cut off is beyond float64 of it.
        cut = max(0, exponent - 64)
        scale = 2.0 ** -(exponent - cut)
        floats.append([_float(value >> cut) * scale for value in row])
        exponents.append(exponent)
    return np.array(floats), exponents


def _quotient(value: int, over: int) -> float:
    try:
        return value / over
    except OverflowError:
        return math.copysign(math.inf, value)


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:  # a plane so far away that it is out of reach
        return math.copysign(1e300, value)
