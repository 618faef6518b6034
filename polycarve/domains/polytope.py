"""`Polytope`: the inputs that satisfy linear inequalities, bounded or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains import programs
from polycarve.domains.domain import Domain, FloatArray, Frame
from polycarve.domains.numbers import exact, vector
from polycarve.errors import DomainError
from polycarve.rational import ExactArray, stack, strict_feasibility

# By what share of its width the box around a polytope is widened: then no face of the box touches
# the polytope, and none can be taken for a side.
_MARGIN = 0.125


class Polytope(Domain):
    """All inputs with ``A @ x <= b``. Its sides are the rows, in the order given.

    Parameters
    ----------
    A : (m, d) array of numbers
        Outward normals: floats, integers, Fractions or decimal strings, kept exactly.
    b : sequence of m numbers

    Raises
    ------
    DomainError
        No input satisfies all rows, or those that do lie in a plane (decided exactly): then carve
        a `Slice` of that plane. Shapes that do not fit, or numbers that are not finite.

    Notes
    -----
    Whether it is bounded is decided exactly too. An unbounded one is carved through the cone over
    it, as `Space` is.

    Examples
    --------
    >>> import polycarve as pc
    >>> triangle = pc.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> triangle, triangle.is_bounded
    (Polytope(2 coordinates, 3 rows), True)
    >>> triangle.contains([[0, 1], [1, 1]])
    array([ True, False])
    """

    def __init__(self, A: Any, b: Sequence[Any] | ExactArray) -> None:
        self.A = exact(A, "A")
        if self.A.ndim != 2 or not self.A.numerators.size:
            raise DomainError(
                f"A has shape {self.A.shape}; a matrix (m, d), one row a halfspace, is needed. "
                f"All of R^d is a Space."
            )
        self.b = vector(b, "b", per="row")
        if len(self.A) != len(self.b):
            raise DomainError(
                f"A has {len(self.A)} rows and b has {len(self.b)} entries; they must agree."
            )
        self.input_dim = self.A.shape[1]
        self._rows, self._row_sides = self._distinct_rows()
        self._centre = self._inner_point()

    def _distinct_rows(self) -> tuple[ExactArray, tuple[int, ...]]:
        """Return the rows as forms ``[-a, b]``, each scaled by a power of two to size one.

        Of rows of one direction the tightest stays, of equal ones the first.
        """
        forms = stack([-self.A, self.b[:, None]], axis=1).numerators.tolist()
        tightest: dict[tuple[int, ...], int] = {}
        for side, (*a, c) in enumerate(forms):
            divisor = math.gcd(*a)
            if not divisor:
                if c < 0:
                    raise DomainError(
                        f"the polytope is empty: row {side} of A is zero and b[{side}] is negative."
                    )
                continue
            key = tuple(v // divisor for v in a)
            other = tightest.get(key)
            # c / divisor is how far the side is away, in units of the direction.
            if other is None or c * math.gcd(*forms[other][:-1]) < forms[other][-1] * divisor:
                tightest[key] = side
        kept = sorted(tightest.values())
        rows = np.empty((len(kept), self.input_dim + 1), dtype=object)
        for place, side in enumerate(kept):
            length = max(abs(v).bit_length() for v in forms[side][:-1])
            rows[place] = [Fraction(v, 1 << length) for v in forms[side]]
        return exact(rows, "A and b"), tuple(kept)

    def _inner_point(self) -> FloatArray:
        """Return a point proven to lie inside, or say that there is none."""
        normals, levels = self._rows[:, :-1], self._rows[:, -1]
        point = programs.deep_point(normals.float64, levels.float64)
        if point is not None and self._is_inside(point):
            return point
        answer = strict_feasibility(self._rows.fractions(), self.input_dim)
        if answer.point is None:
            assert answer.multipliers is not None
            used = [s for s, m in zip(self._row_sides, answer.multipliers, strict=True) if m]
            slack = sum(m * c for m, c in zip(answer.multipliers, levels.fractions(), strict=True))
            if slack < 0:
                raise DomainError(
                    f"the polytope is empty: no input satisfies rows {_listed(used)} together."
                )
            raise DomainError(
                f"the polytope has no interior: rows {_listed(used)} leave at most a part of a "
                f"plane. Carve a Slice of that plane instead."
            )
        # A thin or tiny one: look again in units of its size, from the exact point.
        start = ExactArray.of(answer.point)
        slack = normals @ start + levels
        for end in (max, min):
            size = Fraction(end(slack.numerators.tolist()), slack.denominator)
            step = programs.deep_point(normals.float64, (slack * ExactArray.of([1 / size])).float64)
            if step is not None:
                point = (start + ExactArray.of(step) * ExactArray.of([size])).float64
                if self._is_inside(point):
                    return np.array(point)
        raise DomainError(
            "the polytope is so thin that no float64 point could be found inside. Shift or "
            "rescale the inputs."
        )

    def _is_inside(self, point: FloatArray) -> bool:
        if not np.isfinite(point).all():
            return False
        values = self._rows[:, :-1] @ ExactArray.of(point) + self._rows[:, -1]
        return bool((values.signs() > 0).all())

    @property
    def dim(self) -> int:
        return self.input_dim

    @property
    def rank(self) -> int:
        return self.input_dim

    @cached_property
    def _box(self) -> tuple[ExactArray, ExactArray] | None:
        """Exact bounds on every coordinate, not always the least; None if one has none."""
        return programs.bounding_box(self._rows)

    @property
    def is_bounded(self) -> bool:
        return self._box is not None

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        if self._box is None:
            return np.full(self.dim, -np.inf), np.full(self.dim, np.inf)
        return self._box[0].float64, self._box[1].float64

    @cached_property
    def frame(self) -> Frame:
        return self._cone() if self._box is None else self._in_box(*self._box)

    def _in_box(self, lo: ExactArray, hi: ExactArray) -> Frame:
        """Rows along an axis become sides of the box, unless they are far from the rest."""
        d = self.input_dim
        wide = programs.widened(lo, hi, _MARGIN)
        ends = [wide[0].fractions(), wide[1].fractions()]
        sides = [[-1] * d, [-1] * d]
        others = []
        for place, (row, side) in enumerate(
            zip(self._rows.fractions(), self._row_sides, strict=True)
        ):
            used = [j for j, a in enumerate(row[:-1]) if a]
            if len(used) > 1:
                others.append((place, side))
                continue
            j, is_upper = used[0], int(row[used[0]] < 0)
            level = -row[-1] / row[j]
            if level <= ends[1][j] if is_upper else level >= ends[0][j]:
                ends[is_upper][j], sides[is_upper][j] = level, side
        return Frame(
            ExactArray.of(ends[0]),
            ExactArray.of(ends[1]),
            (*sides[0], *sides[1], *(side for _, side in others)),
            self._centre,
            rows=self._rows[[place for place, _ in others]] if others else None,
        )

    def _cone(self) -> Frame:
        d = self.input_dim
        lower = ExactArray.of(np.array([-1] * d + [0]))
        zero = ExactArray.of(np.zeros((len(self._rows), 1), dtype=np.int64))
        apex = np.append(self._centre, 1.0)
        return Frame(
            lower,
            ExactArray.of(np.ones(d + 1)),
            (*(-1,) * (2 * d + 2), *self._row_sides),
            apex / (2 * np.abs(apex).max()),
            rows=stack([self._rows, zero], axis=1),
            is_cone=True,
        )

    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        points = self.points(X)
        flat = np.atleast_2d(points)
        A, b = self.A.float64, self.b.float64
        finite = np.isfinite(flat).all(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is decided exactly
            slack = b - flat @ A.T
            error = (self.dim + 4) * 2.0**-53 * (np.abs(flat) @ np.abs(A).T + np.abs(b))
            within = np.asarray(finite & ~(slack < -error).any(axis=1))
            unsure = within & ~(slack > error).all(axis=1)
        for row in np.flatnonzero(unsure):
            exact_slack = self.b - self.A @ ExactArray.of(flat[row])
            within[row] = bool((exact_slack.signs() >= 0).all())
        return within if points.ndim == 2 else np.asarray(within[0], np.bool_)

    def exact_sides(self) -> ExactArray:
        return self._rows

    def _identity(self) -> str:
        rows = stack([self.A, self.b[:, None]], axis=1).fractions()
        return "polytope " + "; ".join(" ".join(map(str, row)) for row in rows)

    def __repr__(self) -> str:
        return f"Polytope({self.input_dim} coordinates, {len(self.A)} rows)"


def _listed(sides: list[int]) -> str:
    text = ", ".join(map(str, sides[:-1]))
    return f"{text} and {sides[-1]}" if text else str(sides[-1])
