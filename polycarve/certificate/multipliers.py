"""Vectors that show a form's sign on a cell: proposed by floats, decided in integers.

A cell is where some rows are positive, in the box ``0 < t < 1`` or, without one, everywhere.
A vector ``[q, row, m, row, m, ...]`` with ``q > 0, m >= 0`` shows that a goal is not negative on
it: ``q goal - sum m row`` is not negative on the box, or a constant that is not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polycarve.certificate.places import Point, Row, whole_row
from polycarve.errors import NumericalError
from polycarve.rational import ExactArray, solve, strict_feasibility
from polycarve.splitting.proposals import Proposer

FloatArray = npt.NDArray[np.float64]
Vector = list[int]

# With more bits a rounded multiplier is longer than the exact one as a rule.
_MOST_BITS = 40


# Points as far away as this are nothing that floats can work with.
FAR = 1e100


class Cell:
    """The rows of the cell in hand: a stack, in integers and in float64."""

    def __init__(self, k: int, in_box: bool) -> None:
        self.k, self.in_box = k, in_box
        self.rows: list[Row] = []
        self.exponents: list[int] = []
        self.sizes: list[float] = []  # how large a row in float64 is in the box
        self.floats = np.zeros((16, k + 1))
        self.counts: Counter[str] = Counter()
        # Without a box, constants are coefficients of one more coordinate, and the cone over the
        # cell is cut off: its rows are the same numbers.
        lower = np.zeros(k) if in_box else np.append(np.full(k, -1.0), 0.0)
        self._proposer = Proposer(lower, np.ones(k if in_box else k + 1)) if k else None

    def cut_to(self, count: int) -> None:
        """Forget all rows but the first so many."""
        del self.rows[count:], self.exponents[count:], self.sizes[count:]

    def add(self, row: Row, floats: FloatArray, exponent: int) -> None:
        at = len(self.rows)
        self.rows.append(row)
        self.exponents.append(exponent)
        self.sizes.append(float(np.abs(floats).sum()))
        if at == len(self.floats):
            self.floats = np.concatenate([self.floats, np.zeros_like(self.floats)])
        self.floats[at] = floats

    def holds(self, point: Point) -> bool:
        """Whether a point lies in the cell."""
        d = point.denominator
        if self.in_box and not all(0 < t < d for t in point.numerators):
            return False
        return all(point.value(row) > 0 for row in self.rows)

    def inner_point(self, count: int | None = None, goal: Row | None = None) -> Point | None:
        """Return a point of the cell (of its first rows; where a goal is positive), or None."""
        rows = self.rows[:count] if goal is None else [*self.rows, goal]
        answer = strict_feasibility([*rows, *self._sides()], self.k)
        return None if answer.point is None else Point.of(answer.point)

    def simplified(self, point: Point) -> Point:
        """Return a point with few digits near one of the cell, if that lies in it too."""
        values = point.rounded()
        if not np.isfinite(values).all():
            return point
        near = Point.of([Fraction(value) for value in values.tolist()])
        return near if self.holds(near) else point

    def _sides(self) -> list[Row]:
        if not self.in_box:
            return []
        k = self.k
        lower = [[*(int(i == j) for i in range(k)), 0] for j in range(k)]
        return [*lower, *([*(-v for v in side[:-1]), 1] for side in lower)]

    # ------------------------------------------------------------------ goals

    def show(
        self, goals: Sequence[Row], floats: FloatArray, exponents: Sequence[int], near: FloatArray
    ) -> list[Vector | Point | None]:
        """Show that goals are not negative on the cell.

        Parameters
        ----------
        goals : sequence of rows
            With coefficients that are not all zero.
        floats, exponents
            See `rounded`.
        near : (k,) float64
            A point of the cell, as far as floats can tell.

        Returns
        -------
        list
            A vector for each goal; or a point of the cell where it is negative; or None where the
            cell is empty.
        """
        assert self._proposer is not None  # without coordinates there are no coefficients
        rows = self.floats[: len(self.rows)]
        if not self._is_inside(near):
            point = self.inner_point()
            if point is None:
                return [None] * len(goals)
            near = point.rounded()
            if not (np.abs(near) < FAR).all():
                return [self._decided(goal) for goal in goals]
        if not self.in_box:
            near = np.append(near, 1.0)
            near = near / (2.0 * np.abs(near).max())
            rows, floats = (np.append(part, np.zeros((len(part), 1)), 1) for part in (rows, floats))
        proposals = self._proposer.propose(rows, floats, near)
        found = proposals.found.tolist()
        faces, prices = proposals.faces.tolist(), proposals.prices.tolist()
        values = proposals.values.tolist()
        answers: list[Vector | Point | None] = []
        for i, goal in enumerate(goals):
            vector = None
            if found[i]:
                if self.in_box:
                    vector = self._short(goal, exponents[i], faces[i], prices[i], values[i])
                if vector is None:
                    vector = self._exact(goal, faces[i])
            answers.append(vector if vector is not None else self._decided(goal))
        return answers

    def _is_inside(self, near: FloatArray) -> bool:
        rows = self.floats[: len(self.rows)]
        low, high = (0.0, 1.0) if self.in_box else (-FAR, FAR)
        is_near = bool(((near > low) & (near < high)).all())
        return is_near and bool((rows[:, :-1] @ near + rows[:, -1] > 0.0).all())

    def _short(
        self, goal: Row, exponent: int, faces: list[int], prices: list[float], value: float
    ) -> Vector | None:
        """Round the prices to as few bits as the least value has room for."""
        if not (value > 0.0 and math.isfinite(sum(prices))):
            return None
        used = [
            (face - 2 * self.k, price)
            for face, price in zip(faces, prices, strict=True)
            if face >= 2 * self.k and price > 0.0
        ]
        size = sum(self.sizes[row] for row, _ in used)
        bits = max(0, math.frexp(size / value)[1]) if used else 0
        if bits > _MOST_BITS:
            return None
        pairs = [(row, round(math.ldexp(price, bits))) for row, price in used]
        pairs = [(row, factor) for row, factor in pairs if factor]
        shift = max((self.exponents[row] for row, _ in pairs), default=exponent)
        shift = max(0, shift - exponent)
        q = 1 << (bits + shift)
        factors = [factor << (exponent - self.exponents[row] + shift) for row, factor in pairs]
        together = q
        for factor in factors:
            together |= factor
        down = (together & -together).bit_length() - 1
        vector = [q >> down]
        for (row, _), factor in zip(pairs, factors, strict=True):
            vector += (row, factor >> down)
        return self._seen("short", vector, goal)

    def _exact(self, goal: Row, faces: list[int]) -> Vector | None:
        """Solve for the multipliers of the rows among some faces."""
        # In the cone, the constant is one more coordinate.
        k = self.k if self.in_box else self.k + 1
        used = [face - 2 * k for face in faces if face >= 2 * k]
        covered = {face % k for face in faces if face < 2 * k}
        left = [j for j in range(k) if j not in covered]
        is_cut_off = not self.in_box and covered - {k - 1}
        if is_cut_off or len(left) != len(used):
            return self._by_program(goal, used)
        matrix = np.array([[self.rows[row][j] for row in used] for j in left], dtype=object)
        right = np.array([goal[j] for j in left], dtype=object)
        size = len(used)
        factors = solve(ExactArray(matrix.reshape(size, size), 1), ExactArray(right, 1))
        if factors is None or any(factor < 0 for factor in factors):
            return None
        return self._seen("exact", self._vector([Fraction(1), *factors], used), goal)

    def _by_program(self, goal: Row, used: list[int]) -> Vector | None:
        """Look for multipliers of a few rows by an exact linear program."""
        against = [-value for value in goal]
        answer = strict_feasibility([against, *(self.rows[row] for row in used)], self.k)
        if answer.multipliers is None or not answer.multipliers[0]:
            return None
        return self._seen("exact", self._vector(answer.multipliers, used), goal)

    def _decided(self, goal: Row) -> Vector | Point | None:
        """Decide by an exact linear program."""
        self.counts["program"] += 1
        against = [-value for value in goal]
        answer = strict_feasibility([against, *self.rows, *self._sides()], self.k)
        if answer.multipliers is None:
            assert answer.point is not None
            return Point.of(answer.point)
        if not answer.multipliers[0]:
            return None
        vector = self._vector(answer.multipliers, range(len(self.rows)))
        if not self._proves(vector, goal):
            raise NumericalError("an exact linear program gave a proof that is none: an error.")
        return vector

    def _vector(self, factors: Sequence[Fraction], used: Sequence[int]) -> Vector:
        """Return the vector of the goal's factor and those of rows; what follows is left out."""
        q, *whole = whole_row(factors[: 1 + len(used)])
        pairs = ((row, factor) for row, factor in zip(used, whole, strict=True) if factor)
        return [q, *(value for pair in pairs for value in pair)]

    def _seen(self, kind: str, vector: Vector, goal: Row) -> Vector | None:
        """Return a vector that proves what it should, and count it; else None."""
        if not self._proves(vector, goal):
            return None
        self.counts[kind] += 1
        return vector

    def _proves(self, vector: Vector, goal: Row) -> bool:
        q = vector[0]
        rest = [q * value for value in goal]
        for at in range(1, len(vector), 2):
            factor = vector[at + 1]
            rest = [v - factor * a for v, a in zip(rest, self.rows[vector[at]], strict=True)]
        constant = rest.pop()
        if self.in_box:
            for value in rest:
                if value < 0:
                    constant += value
            return constant >= 0
        return constant >= 0 and not any(rest)
