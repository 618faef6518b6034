"""Small exact systems: linear equations, linear programs, and strict linear inequalities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from polycarve.rational.arrays import ExactArray

try:  # optional, as in `arrays`
    import flint
except ImportError:  # pragma: no cover - depends on the installation
    flint = None

_PRIME = 2**31 - 1


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
    n = len(forms)
    if n == 0:
        return Feasibility([Fraction(0)] * dim, None)
    # One equation a coordinate and one for sum(lambda) == 1. The reduced costs of the artificial
    # columns are the dual solution.
    equations = [[form[k] for form in forms] for k in range(dim)] + [[1] * n]
    table, basis, det, is_possible = _least_multipliers(
        equations, [0] * dim + [1], [form[dim] for form in forms]
    )
    dual = table[-1][n : n + dim]
    if not is_possible:
        return Feasibility(_far_along([v - det for v in dual], forms), None)
    if table[-1][-1] < 0:  # the minimum of lambda @ c is positive
        return Feasibility([Fraction(v, det) for v in dual], None)
    multipliers = [Fraction(0)] * n
    for i, column in enumerate(basis):
        if column < n:
            multipliers[column] = Fraction(table[i][-1], det) * scaled[column][1]
    return Feasibility(None, multipliers)


def minimum(
    rows: Iterable[Sequence[int | Fraction]], objective: Sequence[int | Fraction]
) -> Fraction | None:
    """Minimise an affine form over a closed polyhedron that is not empty, exactly.

    Parameters
    ----------
    rows : iterable of (dim + 1) numbers
        Affine forms ``[a, c]``, meaning ``a @ x + c >= 0``; together they must be possible.
    objective : (dim + 1) numbers
        The form to minimise.

    Returns
    -------
    Fraction, or None
        None where there is no least value.

    Notes
    -----
    The dual, ``min lambda @ c`` over ``lambda >= 0, lambda @ A == a``, by the same tableau as
    `strict_feasibility`.

    Examples
    --------
    >>> minimum([[1, 0], [-1, 1]], [2, 1])   # 2 x + 1 where 0 <= x <= 1
    Fraction(1, 1)
    >>> minimum([[1, 0]], [-1, 0]) is None
    True
    """
    forms = [_integer_row(row)[0] for row in rows]
    whole, factor = _integer_row(objective)
    dim = len(whole) - 1
    # Right sides must not be negative: turn the equation round where one is.
    signs = [-1 if value < 0 else 1 for value in whole[:-1]]
    equations = [[signs[k] * form[k] for form in forms] for k in range(dim)]
    table, _, det, is_possible = _least_multipliers(
        equations, [abs(value) for value in whole[:-1]], [form[dim] for form in forms]
    )
    # The corner of the tableau holds -(lambda @ c), which is the least value less its constant.
    return (Fraction(table[-1][-1], det) + whole[-1]) / factor if is_possible else None


def rank(matrix: ExactArray) -> int:
    """Return the rank of a matrix.

    Examples
    --------
    >>> rank(ExactArray.of([[1, 2], [2, 4]]))
    1
    """
    n, m = matrix.shape
    found = _rank_modulo(matrix, _PRIME)
    if found == min(n, m):  # it can only be too small, and then hardly ever is
        return found
    rows = [[int(value) for value in row] for row in matrix.numerators.tolist()]
    if flint is not None:
        return int(flint.fmpz_mat(rows).rank()) if n and m else 0
    found = 0
    for column in range(m):
        pivot = next((i for i in range(found, n) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        head = rows[found]
        for i in range(found + 1, n):
            factor = rows[i][column]
            if factor:
                row = [head[column] * a - factor * h for a, h in zip(rows[i], head, strict=True)]
                divisor = math.gcd(*row) or 1
                rows[i] = [value // divisor for value in row]
        found += 1
    return found


def _rank_modulo(matrix: ExactArray, prime: int) -> int:
    """Return the rank of the numerators modulo a prime below 2^31."""
    rows = np.asarray(matrix.numerators % prime, dtype=np.int64)
    found = 0
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[found:, column])
        if not below.size:
            continue
        pivot = found + int(below[0])
        rows[[found, pivot]] = rows[[pivot, found]]
        rows[found] = rows[found] * pow(int(rows[found, column]), -1, prime) % prime
        factors = rows[found + 1 :, column].copy()
        rows[found + 1 :] = (rows[found + 1 :] - factors[:, None] * rows[found]) % prime
        found += 1
        if found == len(rows):
            break
    return found


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


def _least_multipliers(
    equations: list[list[int]], right: list[int], costs: list[int]
) -> tuple[list[list[int]], list[int], int, bool]:
    """Minimise ``costs @ lambda`` over ``lambda >= 0`` under equations with right sides >= 0.

    Returns the tableau, over its determinant, the basis, the determinant, and whether any lambda
    is possible; if none is, the tableau is that of the first phase. Its last row are the reduced
    costs: of the lambdas, then of one artificial variable an equation, then minus the cost itself.
    """
    n, height = len(costs), len(equations)
    table = [list(row) for row in equations]
    for k, row in enumerate(table):
        row.extend(int(k == j) for j in range(height))
        row.append(right[k])
    basis = list(range(n, n + height))
    artificial = [0] * n + [1] * height + [0]
    for row in table:
        artificial = [c - a for c, a in zip(artificial, row, strict=True)]
    table.append([*costs, *[0] * (height + 1)])
    table.append(artificial)

    det = _optimize(table, basis, 1, n)
    if table[-1][-1] != 0:
        return table, basis, det, False
    table.pop()
    for i in range(height):  # artificial variables still basic are zero: exchange them
        if basis[i] >= n:
            column = next((j for j in range(n) if table[i][j]), None)
            if column is not None:
                if table[i][column] < 0:
                    table[i] = [-a for a in table[i]]
                det = _pivot(table, basis, det, i, column)
    det = _optimize(table, basis, det, n)
    return table, basis, det, True


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
        # The primal is possible, so the cost is bounded below and some row always blocks.
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
