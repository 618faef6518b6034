"""Small exact systems: linear equations, and strict linear inequalities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from polycarve.rational.arrays import ExactArray


def solve(matrix: ExactArray, right: ExactArray) -> list[Fraction] | None:
    """Solve ``matrix @ x = right`` for a square matrix; None if it is singular.

    Examples
    --------
    >>> solve(ExactArray.of([[2, 1], [1, 1]]), ExactArray.of([1, 0]))
    [Fraction(1, 1), Fraction(-1, 1)]
    """
    n = len(matrix)
    if n == 0:
        return []
    rows = [
        [int(a) for a in row] + [int(b)]
        for row, b in zip(matrix.numerators, right.numerators, strict=True)
    ]
    previous = 1
    for k in range(n):  # fraction-free Gauss-Jordan: every division below is exact
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        head = rows[k]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = [
                    (head[k] * a - factor * h) // previous
                    for a, h in zip(rows[i], head, strict=True)
                ]
        previous = head[k]
    scale = Fraction(matrix.denominator, right.denominator)
    return [Fraction(rows[i][n], rows[i][i]) * scale for i in range(n)]


@dataclass(frozen=True)
class Feasibility:
    """The answer of `strict_feasibility`: exactly one of the two is given.

    Attributes
    ----------
    point : list of Fraction, or None
        A point of the open cell.
    multipliers : list of Fraction, or None
        ``lambda >= 0``, not all zero, with ``lambda @ A == 0`` and ``lambda @ c <= 0``:
        no point can make all rows positive (Motzkin's and Gordan's alternative).
    """

    point: list[Fraction] | None
    multipliers: list[Fraction] | None

    def __bool__(self) -> bool:
        return self.point is not None


def strict_feasibility(rows: Iterable[Sequence[int | Fraction]], dim: int) -> Feasibility:
    """Decide whether all affine forms can be positive at one point, exactly.

    Parameters
    ----------
    rows : iterable of (dim + 1) numbers
        Affine forms ``[a, c]``, meaning ``a @ x + c > 0``.
    dim : int
        Number of coordinates; may be 0.

    Returns
    -------
    Feasibility
        True with a rational point, or False with multipliers that prove emptiness.

    Notes
    -----
    Minimises ``lambda @ c`` over ``lambda >= 0, lambda @ A == 0, sum(lambda) == 1`` by a
    two-phase simplex tableau in integers (every division is exact) under Bland's rule, which
    cannot cycle. A positive minimum has a dual solution that is the point; where no such
    lambda exists there is a direction in which all forms grow. Cost: about
    ``(dim + 2) * (n_rows + dim)`` integer operations a pivot; meant for small systems.

    Examples
    --------
    >>> bool(strict_feasibility([[1, 0], [-1, 1]], dim=1))   # 0 < x < 1
    True
    >>> strict_feasibility([[1, 0], [-1, 0]], dim=1).multipliers   # x > 0 and x < 0
    [Fraction(1, 2), Fraction(1, 2)]
    """
    scaled = [_integer_row(row) for row in rows]
    forms = [row for row, _ in scaled]
    n, height = len(forms), dim + 1
    if n == 0:
        return Feasibility([Fraction(0)] * dim, None)
    # One row a coordinate and one for sum(lambda) == 1. The artificial columns stay in the
    # tableau: their reduced costs are the dual solution. The last column is the right side.
    table = [[form[k] for form in forms] for k in range(dim)] + [[1] * n]
    for k, row in enumerate(table):
        row.extend(int(k == j) for j in range(height))
        row.append(int(k == dim))
    basis = list(range(n, n + height))
    artificial = [0] * n + [1] * height + [0]
    for row in table:
        artificial = [c - a for c, a in zip(artificial, row, strict=True)]
    table.append([form[dim] for form in forms] + [0] * (height + 1))
    table.append(artificial)

    det = _optimize(table, basis, 1, n)
    if table[-1][-1] != 0:
        direction = [table[-1][n + k] - det for k in range(dim)]
        return Feasibility(_far_along(direction, forms), None)
    table.pop()
    for i in range(height):  # artificial variables still basic are zero: exchange them
        if basis[i] >= n:
            column = next((j for j in range(n) if table[i][j]), None)
            if column is not None:
                if table[i][column] < 0:
                    table[i] = [-a for a in table[i]]
                det = _pivot(table, basis, det, i, column)
    det = _optimize(table, basis, det, n)
    if table[-1][-1] < 0:  # the minimum of lambda @ c is positive
        return Feasibility([Fraction(table[-1][n + k], det) for k in range(dim)], None)
    multipliers = [Fraction(0)] * n
    for i, column in enumerate(basis):
        if column < n:
            multipliers[column] = Fraction(table[i][-1], det) * scaled[column][1]
    return Feasibility(None, multipliers)


def _integer_row(row: Sequence[int | Fraction]) -> tuple[list[int], Fraction]:
    """Scale a row to coprime integers; return them and the positive factor used."""
    exact = [Fraction(value) for value in row]
    common = math.lcm(*(q.denominator for q in exact))
    whole = [q.numerator * (common // q.denominator) for q in exact]
    divisor = math.gcd(*whole) or 1
    return [value // divisor for value in whole], Fraction(common, divisor)


def _far_along(direction: list[int], forms: list[list[int]]) -> list[Fraction]:
    """Return a point so far along a direction, in which all forms grow, that all are positive."""
    reach = Fraction(0)
    for form in forms:
        growth = sum(a * v for a, v in zip(form, direction, strict=False))
        reach = max(reach, Fraction(1 - form[-1], growth))
    return [v * reach for v in direction]


def _optimize(table: list[list[int]], basis: list[int], det: int, n: int) -> int:
    """Pivot under Bland's rule until no cost among the first n columns is negative."""
    while True:
        column = next((j for j in range(n) if table[-1][j] < 0), None)
        if column is None:
            return det
        best: tuple[Fraction, int] | None = None
        for i, variable in enumerate(basis):
            if table[i][column] > 0:
                ratio = (Fraction(table[i][-1], table[i][column]), variable)
                if best is None or ratio < best:
                    best, leaving = ratio, i
        # The multipliers live in a simplex, so some row always blocks.
        det = _pivot(table, basis, det, leaving, column)


def _pivot(table: list[list[int]], basis: list[int], det: int, i: int, column: int) -> int:
    """Exchange basis[i] for a column; all entries stay integers over the new determinant."""
    head = table[i]
    pivot = head[column]
    for k, row in enumerate(table):
        if k != i:
            factor = row[column]
            table[k] = [(pivot * a - factor * h) // det for a, h in zip(row, head, strict=True)]
    basis[i] = column
    return pivot
