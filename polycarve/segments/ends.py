"""The ends of segments: read, checked, and kept exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import DomainError, InputError
from polycarve.rational import ExactArray, stack

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of n segments.

    Attributes
    ----------
    X0, X1 : (n, d) float64
    exact0, exact1 : ExactArray or None
        The ends as given, one row or n; None where they are the floats.
    """

    X0: FloatArray
    X1: FloatArray
    exact0: ExactArray | None
    exact1: ExactArray | None

    @classmethod
    def read(cls, X0: Any, X1: Any, d: int) -> Ends:
        """Read the ends of segments in d dimensions; one end may be shared by all segments."""
        (near, exact0), (far, exact1) = _points(X0, "X0", d), _points(X1, "X1", d)
        if len(near) != len(far) and 1 not in (len(near), len(far)):
            raise DomainError(
                f"X0 has {len(near)} rows and X1 has {len(far)}. Give as many, or one for all."
            )
        n = len(far) if len(near) == 1 else len(near)
        near, far = (np.array(np.broadcast_to(rows, (n, d))) for rows in (near, far))
        ends = cls(near, far, exact0, exact1)
        for row in np.flatnonzero((near == far).all(axis=1)):
            x0, x1 = ends.exact(np.array([row]))
            if not (x1 - x0).numerators.any():
                raise DomainError(
                    f"segment {row} is a single point: X0[{row}] equals X1[{row}]. Leave it out, "
                    f"or give it another end."
                )
        return ends

    def __len__(self) -> int:
        return len(self.X0)

    def exact(self, rows: IntArray) -> tuple[ExactArray, ExactArray]:
        """Return both ends of some segments, exactly."""
        return _rows(self.X0, self.exact0, rows), _rows(self.X1, self.exact1, rows)

    def doubts(self) -> IntArray:
        """Return 1 for each segment with a number that is not zero but becomes it as a float."""
        lost = np.zeros(len(self), np.bool_)
        for rows, exact in ((self.X0, self.exact0), (self.X1, self.exact1)):
            if exact is not None:
                lost |= ((rows == 0) & (exact.numerators != 0)).any(axis=1)
        return lost.astype(np.int64)


def _rows(floats: FloatArray, exact: ExactArray | None, rows: IntArray) -> ExactArray:
    if exact is None:
        return ExactArray.of(floats[rows])
    return exact[rows] if len(exact) > 1 else stack([exact] * len(rows))


def _points(given: Any, name: str, d: int) -> tuple[FloatArray, ExactArray | None]:
    """Read one end of each segment: floats, and the exact numbers where these are none."""
    exact: ExactArray | None = None
    try:
        floats = _plain(given)
        if floats is None:
            held = isinstance(given, ExactArray) or hasattr(given, "__array__")
            exact = ExactArray.of(given if held else list(given))
            floats = exact.float64
    except InputError as error:
        raise DomainError(f"{name}: {error}") from None
    except TypeError:
        raise DomainError(
            f"{name} is of type {type(given).__name__}; an array of numbers, (n, {d}) or ({d},), "
            f"is needed."
        ) from None
    single = floats.ndim == 1
    if floats.ndim not in (1, 2) or floats.shape[-1] != d:
        raise DomainError(
            f"{name} has shape {floats.shape}; the network reads {d} coordinates, so that "
            f"(n, {d}) or ({d},) is needed."
        )
    if single:
        floats, exact = floats[None, :], None if exact is None else exact[None, :]
    wrong = np.flatnonzero(~np.isfinite(floats).all(axis=1))
    if len(wrong):
        raise DomainError(f"row {wrong[0]} of {name} has NaN or infinity. Give finite numbers.")
    return floats, exact if exact is not None and not exact.is_float64 else None


def _plain(given: Any) -> FloatArray | None:
    """Return floats as they are, or integers that floats can hold; None for other numbers."""
    if isinstance(given, ExactArray):
        return None
    if hasattr(given, "detach"):  # a torch tensor
        given = given.detach()
    if not hasattr(given, "__array__"):
        try:
            array = np.asarray(given, dtype=object)
        except ValueError:
            return None
        if any(isinstance(value, (list, tuple)) for value in array.flat):
            raise InputError("rows of different lengths make no array. Give one shape.")
        if not array.size or not all(type(value) is float for value in array.flat):
            return None
        return array.astype(np.float64)
    array = np.asarray(given)
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 8
    whole = array.dtype.kind in "iu" and bool(
        int(array.max(initial=0)) <= 2**53 and int(array.min(initial=0)) >= -(2**53)
    )
    return array.astype(np.float64) if small or whole else None
