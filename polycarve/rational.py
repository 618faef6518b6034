"""Exact arithmetic: what all that is exact in polycarve stands on.

Numbers are kept as integers over one common denominator (`ExactArray`), so that sums and
products of matrices are integer operations. A float is the dyadic rational it stands for;
integers, `fractions.Fraction` and decimal strings are taken at their word. Plain Python
integers do the work; matrix products and solves go to python-flint where it is installed.

`strict_feasibility` is a small exact linear program: is the open cell
``{x : A @ x + c > 0}`` non-empty? It answers with a point, or with a proof that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError

try:  # optional: an order of magnitude faster on large products and solves
    import flint
except ImportError:  # pragma: no cover - depends on the installation
    flint = None

FloatArray = npt.NDArray[np.float64]

# Below this many multiplications, converting to flint costs more than it saves.
_FLINT_FROM = 4096


def fraction(value: Any) -> Fraction:
    """Return the exact value of a number.

    Parameters
    ----------
    value : int, float, Fraction, Decimal, str or NumPy scalar
        Floats stand for their dyadic value; strings are decimals (``"0.1"``, ``"1e-3"``)
        or quotients (``"1/3"``).

    Raises
    ------
    InputError
        The value is not a finite real number.

    Examples
    --------
    >>> fraction("0.1"), fraction(0.5)
    (Fraction(1, 10), Fraction(1, 2))
    """
    try:
        if isinstance(value, (bool, np.bool_)):
            return Fraction(int(value))
        if isinstance(value, (Rational, Decimal, str)):
            return Fraction(value)
        if isinstance(value, np.integer):
            return Fraction(int(value))
        if hasattr(value, "as_integer_ratio"):  # float and every NumPy floating type
            return Fraction(*map(int, value.as_integer_ratio()))
    except (ValueError, OverflowError, ZeroDivisionError):
        pass
    raise InputError(
        f"{value!r} is not a finite number. Give floats, integers, Fractions or decimal strings."
    )


@dataclass(frozen=True, eq=False)
class ExactArray:
    """An array of rationals over one denominator: ``numerators / denominator``.

    Attributes
    ----------
    numerators : ndarray of Python int, any shape
    denominator : int, positive
    """

    numerators: npt.NDArray[np.object_]
    denominator: int

    def __post_init__(self) -> None:
        # NumPy makes plain integers of single entries.
        held = np.asarray(self.numerators, dtype=object)
        held.flags.writeable = False
        object.__setattr__(self, "numerators", held)

    @classmethod
    def of(cls, values: Any) -> ExactArray:
        """Read an array of numbers exactly; see `fraction` for what counts as one."""
        if isinstance(values, ExactArray):
            return values
        if hasattr(values, "detach"):  # a torch tensor, perhaps one that is being trained
            values = values.detach()
        try:
            is_array = hasattr(values, "__array__")
            array = np.asarray(values) if is_array else np.asarray(values, dtype=object)
        except (TypeError, ValueError):
            raise InputError("rows of different lengths make no array. Give one shape.") from None
        if array.dtype.kind == "O" and all(type(value) is float for value in array.flat):
            array = array.astype(np.float64)
        if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
            return _from_floats(array.astype(np.float64))
        if array.dtype.kind in "iub":
            return cls(array.astype(object) + 0, 1)  # + 0 turns booleans into integers
        if array.dtype.kind not in "OUf":
            raise InputError(f"numbers of dtype {array.dtype} are not real. Give real numbers.")
        exact = [fraction(value) for value in array.ravel()]
        denominator = math.lcm(*(q.denominator for q in exact)) if exact else 1
        numerators = np.empty(len(exact), dtype=object)
        numerators[:] = [q.numerator * (denominator // q.denominator) for q in exact]
        return cls(numerators.reshape(array.shape), denominator)

    @classmethod
    def eye(cls, n: int) -> ExactArray:
        """Return the identity matrix."""
        return cls.of(np.eye(n, dtype=np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numerators.shape

    @property
    def ndim(self) -> int:
        return self.numerators.ndim

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, key: Any) -> ExactArray:
        return ExactArray(self.numerators[key], self.denominator)

    def reshape(self, *shape: int) -> ExactArray:
        return ExactArray(self.numerators.reshape(*shape), self.denominator)

    def __add__(self, other: ExactArray) -> ExactArray:
        common = math.lcm(self.denominator, other.denominator)
        left = self.numerators * (common // self.denominator)
        right = other.numerators * (common // other.denominator)
        return ExactArray(left + right, common)

    def __neg__(self) -> ExactArray:
        return ExactArray(-self.numerators, self.denominator)

    def __sub__(self, other: ExactArray) -> ExactArray:
        return self + -other

    def __mul__(self, other: ExactArray) -> ExactArray:
        """Multiply entry by entry, with broadcasting."""
        return ExactArray(self.numerators * other.numerators, self.denominator * other.denominator)

    def __matmul__(self, other: ExactArray) -> ExactArray:
        product = _integer_product(self.numerators, other.numerators)
        return ExactArray(product, self.denominator * other.denominator)

    def reduced(self) -> ExactArray:
        """Return the same numbers over the smallest common denominator."""
        common = math.gcd(self.denominator, *self.numerators.ravel())
        if common == 1:
            return self
        return ExactArray(self.numerators // common, self.denominator // common)

    def signs(self) -> npt.NDArray[np.int8]:
        """Return the exact signs: -1, 0 or 1 for each entry."""
        return (self.numerators > 0).astype(np.int8) - (self.numerators < 0).astype(np.int8)

    def fractions(self) -> list[Any]:
        """Return nested lists of `fractions.Fraction`."""

        def walk(part: Any) -> Any:
            if isinstance(part, list):
                return [walk(item) for item in part]
            return Fraction(part, self.denominator)

        return walk(self.numerators.tolist())  # type: ignore[no-any-return]

    @cached_property
    def float64(self) -> FloatArray:
        """The nearest float64 of every entry (an integer quotient is rounded correctly)."""
        if self.numerators.size == 0:
            return np.zeros(self.shape)
        try:
            rounded = np.asarray(self.numerators / self.denominator, dtype=np.float64)
        except OverflowError:
            raise InputError(
                "a number is too large for float64. Rescale what it belongs to."
            ) from None
        rounded.flags.writeable = False
        return rounded

    @cached_property
    def is_float64(self) -> bool:
        """Whether the float64 view holds the very same numbers."""
        if self.numerators.size == 0:
            return True
        back = _from_floats(self.float64)
        return bool(
            np.all(self.numerators * back.denominator == back.numerators * self.denominator)
        )


def stack(parts: Sequence[ExactArray], axis: int = 0) -> ExactArray:
    """Concatenate exact arrays along an axis."""
    common = math.lcm(*(part.denominator for part in parts))
    scaled = [part.numerators * (common // part.denominator) for part in parts]
    return ExactArray(np.concatenate(scaled, axis=axis), common)


def _from_floats(array: FloatArray) -> ExactArray:
    if not np.all(np.isfinite(array)):
        raise InputError("NaN or infinite numbers have no exact value. Give finite numbers.")
    fractions_, exponents = np.frexp(array)
    mantissas = np.ldexp(fractions_, 53).astype(np.int64)
    exponents = exponents.astype(np.int64) - 53
    # Drop trailing zero bits, so that 0.5 costs one bit and not fifty-three.
    nonzero = mantissas != 0
    low = np.where(nonzero, mantissas & -mantissas, 1)
    shift = np.frexp(low.astype(np.float64))[1].astype(np.int64) - 1
    mantissas >>= shift
    exponents += shift
    least = min(0, int(exponents[nonzero].min(initial=0)))
    numerators = np.empty(array.shape, dtype=object)
    flat = [
        m << e if m else 0
        for m, e in zip(
            mantissas.ravel().tolist(), (exponents - least).ravel().tolist(), strict=True
        )
    ]
    numerators.reshape(-1)[:] = flat
    exact = ExactArray(numerators, 1 << -least)
    rounded = array.copy()
    rounded.flags.writeable = False
    exact.__dict__["float64"] = rounded  # known already: save the quotients
    exact.__dict__["is_float64"] = True
    return exact


def _integer_product(
    left: npt.NDArray[np.object_], right: npt.NDArray[np.object_]
) -> npt.NDArray[np.object_]:
    inner = left.shape[-1]
    if inner == 0:
        return np.zeros(left.shape[:-1] + right.shape[1:], dtype=object) + 0
    work = left.size * (right.shape[1] if right.ndim == 2 else 1)
    if flint is None or left.ndim != 2 or work < _FLINT_FROM:
        return np.asarray(left @ right, dtype=object)
    columns = right if right.ndim == 2 else right[:, None]
    product = flint.fmpz_mat(left.tolist()) * flint.fmpz_mat(columns.tolist())
    whole = np.array([[int(x) for x in row] for row in product.tolist()], dtype=object)
    return whole.reshape(left.shape[:-1] + right.shape[1:])


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
