"""Arrays of rationals, as integers over one denominator."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
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

# The exponent of a decimal: with more than four digits it would take gigabytes.
_EXPONENT = re.compile(r"[eE]([-+]?\d+)")

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
        if isinstance(value, (Decimal, str)):
            exponent = _EXPONENT.search(str(value))
            if exponent and len(exponent[1].lstrip("+-0")) > 4:
                raise InputError(f"{str(value)[:40]!r} is too large or too small to work with.")
            return Fraction(value)
        if isinstance(value, Rational):
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
        if any(isinstance(value, (list, tuple, np.ndarray)) for value in array.flat):
            raise InputError("rows of different lengths make no array. Give one shape.")
        exact = [fraction(value) for value in array.ravel()]
        denominator = math.lcm(*(q.denominator for q in exact)) if exact else 1
        numerators = np.empty(len(exact), dtype=object)
        numerators[:] = [q.numerator * (denominator // q.denominator) for q in exact]
        return cls(numerators.reshape(array.shape), denominator)

    @classmethod
    def eye(cls, n: int) -> ExactArray:
        """Return the identity matrix."""
        return cls.of(np.eye(n, dtype=np.int64))

    @classmethod
    def scattered(
        cls,
        shape: tuple[int, int],
        rows: npt.NDArray[np.intp],
        columns: npt.NDArray[np.intp],
        entries: ExactArray,
    ) -> ExactArray:
        """Return a matrix of zeros with entries put at places, each at most once."""
        numerators, rounded = np.zeros(shape, dtype=object), np.zeros(shape)
        numerators[rows, columns] = entries.numerators
        rounded[rows, columns] = entries.float64
        rounded.flags.writeable = False
        exact = cls(numerators, entries.denominator)
        exact.__dict__["float64"] = rounded  # known already: save a quotient for every zero
        exact.__dict__["is_float64"] = entries.is_float64
        return exact

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
    if left.ndim != 2 or work < _FLINT_FROM:
        return np.asarray(left @ right, dtype=object)
    # Identities, diagonals and choices of rows or columns, as normalisations and skip connections
    # make them: a dense product would spend all its time on zeros.
    places = _only_entries(left)
    if places is not None:
        entries = left[np.arange(len(left)), places]
        return np.asarray((entries if right.ndim == 1 else entries[:, None]) * right[places])
    places = _only_entries(right.T) if right.ndim == 2 else None
    if places is not None:
        return np.asarray(left[:, places] * right[places, np.arange(right.shape[1])])
    if flint is None:
        return np.asarray(left @ right, dtype=object)
    columns = right if right.ndim == 2 else right[:, None]
    product = flint.fmpz_mat(left.tolist()) * flint.fmpz_mat(columns.tolist())
    whole = np.array([[int(x) for x in row] for row in product.tolist()], dtype=object)
    return whole.reshape(left.shape[:-1] + right.shape[1:])


def _only_entries(matrix: npt.NDArray[np.object_]) -> npt.NDArray[np.intp] | None:
    """Return where each row has its only entry that is not zero, None if a row has several."""
    filled = matrix.astype(bool)
    return filled.argmax(axis=1) if (filled.sum(axis=1) <= 1).all() else None
