"""The place that is carved: a convex set of inputs, with its numbers kept exactly.

A domain has *coordinates* ``y`` (the inputs themselves for a `Box` and a `Space`), an
embedding ``embed(y)`` into the network's inputs, and a `Frame`: the bounded box in which the
kernels work. ``rank`` is its affine dimension, which is what bounds on region counts take.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import DomainError, InputError
from polycarve.rational import ExactArray, fraction

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """How kernels see a domain: an open box in free coordinates ``u``, and the way back.

    The inputs are ``x = matrix @ u + offset``, or, where ``is_cone``, ``x = u[:-1] / u[-1]``:
    the cone over all of R^d, with every constant made a coefficient of the last coordinate,
    cut off at ``|u| <= 1``. Its cells correspond one to one to those of R^d.

    Attributes
    ----------
    lower, upper : ExactArray, shape (k,)
        ``lower < upper`` in every free coordinate.
    sides : tuple of int, length 2 k
        The domain's side on which each face of the box lies: lower faces, then upper faces;
        -1 where the face is only the cut-off.
    matrix : ExactArray, shape (input_dim, k), or None for the identity
    offset : ExactArray, shape (input_dim,), or None for zero
    is_cone : bool
    """

    lower: ExactArray
    upper: ExactArray
    sides: tuple[int, ...]
    matrix: ExactArray | None = None
    offset: ExactArray | None = None
    is_cone: bool = False

    @property
    def n_free(self) -> int:
        return len(self.lower)


class Domain(ABC):
    """A convex set of inputs. See `Box` and `Space`."""

    input_dim: int

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of coordinates ``y``."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Affine dimension."""

    @property
    @abstractmethod
    def is_bounded(self) -> bool: ...

    @property
    @abstractmethod
    def frame(self) -> Frame: ...

    @abstractmethod
    def embed(self, y: npt.ArrayLike) -> FloatArray:
        """Return the inputs of coordinates: ``(n, dim)`` to ``(n, input_dim)``."""

    @abstractmethod
    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether points (rows, in coordinates ``y``) lie in the closed domain."""

    def points(self, X: npt.ArrayLike) -> FloatArray:
        """Return points in coordinates ``y`` as a float64 array, ``(n, dim)`` or ``(dim,)``."""
        try:
            array = np.asarray(X if not np.iscomplexobj(X) else None, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.empty(())
        if array.ndim not in (1, 2) or array.shape[-1] != self.dim:
            raise InputError(
                f"points must be numbers in an array of shape (n, {self.dim}) or ({self.dim},)."
            )
        return array

    @abstractmethod
    def exact_sides(self) -> ExactArray:
        """Return the proper sides as forms ``[a, c]``, ``a @ y + c >= 0`` inside, by rows."""

    @abstractmethod
    def _identity(self) -> str: ...

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the exact description, as hexadecimal."""
        return hashlib.sha256(f"polycarve domain 1; {self._identity()}".encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


class Box(Domain):
    """All inputs with ``lo <= x <= hi``, coordinate by coordinate.

    Parameters
    ----------
    lo, hi : sequences of d numbers
        Floats, integers, Fractions or decimal strings, kept exactly. ``lo[j] == hi[j]`` is a
        flat side: the coordinate keeps its place, and interior, facets and volume are relative.

    Raises
    ------
    DomainError
        ``lo[j] > hi[j]``, lengths that differ, or numbers that are not finite.

    Examples
    --------
    >>> import polycarve as pc
    >>> pc.Box([0, 0], [1, "0.5"])
    Box([0, 0], [1, 0.5])
    >>> pc.Box.cube(-1, 1, dim=3).rank
    3
    """

    def __init__(self, lo: Sequence[Any] | ExactArray, hi: Sequence[Any] | ExactArray) -> None:
        self.lo, self.hi = _bounds(lo, "lo"), _bounds(hi, "hi")
        if self.lo.shape != self.hi.shape:
            raise DomainError(
                f"lo has {len(self.lo)} coordinates and hi has {len(self.hi)}; they must agree."
            )
        self.input_dim = len(self.lo)
        widths = (self.hi - self.lo).signs()
        if (widths < 0).any():
            j = int(np.argmax(widths < 0))
            raise DomainError(
                f"the box is empty: lo > hi in coordinate {j} "
                f"({self.lo.float64[j]:g} > {self.hi.float64[j]:g}). Swap them."
            )
        self._free = np.flatnonzero(widths > 0)
        narrow = self._free[self.lo.float64[self._free] == self.hi.float64[self._free]]
        if narrow.size:
            raise DomainError(
                f"coordinate {narrow[0]} of the box is so narrow that lo and hi are the same "
                f"float64. Shift or rescale that input."
            )

    @classmethod
    def cube(cls, lo: Any, hi: Any, *, dim: int) -> Box:
        """Return the box with the same interval in every coordinate."""
        if not isinstance(dim, (int, np.integer)) or dim < 1:
            raise DomainError(f"dim is {dim!r}; a whole number of at least 1 is needed.")
        return cls([lo] * int(dim), [hi] * int(dim))

    @classmethod
    def around(cls, x: Sequence[Any], radius: Any, *, clip: tuple[Any, Any] | None = None) -> Box:
        """Return the box of all inputs within ``radius`` of ``x`` in the maximum norm.

        Parameters
        ----------
        x : sequence of d numbers
        radius : number
            Half the width; not negative.
        clip : (lo, hi), optional
            Cut the box off at these values, as for pixels in ``(0, 1)``.

        Examples
        --------
        >>> import polycarve as pc
        >>> pc.Box.around(["0.1", "0.5"], "0.2", clip=(0, 1))
        Box([0, 0.3], [0.3, 0.7])
        """
        centre, reach = _bounds(x, "x").fractions(), _number(radius, "radius")
        if reach < 0:
            raise DomainError(f"radius is {radius}; it must not be negative.")
        lo, hi = [c - reach for c in centre], [c + reach for c in centre]
        if clip is not None:
            if not isinstance(clip, Sequence) or len(clip) != 2:
                raise DomainError(f"clip is {clip!r}; a pair (lo, hi) is needed.")
            least, most = (_number(value, "clip") for value in clip)
            lo, hi = [max(v, least) for v in lo], [min(v, most) for v in hi]
        return cls(lo, hi)

    @property
    def dim(self) -> int:
        return self.input_dim

    @property
    def rank(self) -> int:
        return len(self._free)

    @property
    def is_bounded(self) -> bool:
        return True

    @cached_property
    def frame(self) -> Frame:
        free = self._free
        sides = (*(2 * free).tolist(), *(2 * free + 1).tolist())
        if len(free) == self.input_dim:
            return Frame(self.lo, self.hi, sides)
        place = np.zeros((self.input_dim, len(free)), dtype=np.int64)
        place[free, np.arange(len(free))] = 1
        fixed = np.array(self.lo.numerators)
        fixed[free] = 0
        offset = ExactArray(fixed, self.lo.denominator)
        return Frame(self.lo[free], self.hi[free], sides, ExactArray.of(place), offset)

    def embed(self, y: npt.ArrayLike) -> FloatArray:
        return self.points(y)

    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        points = self.points(X)
        low, high = self._inner_bounds
        if points.ndim == 2 and self.dim <= 16:  # few long columns, one after the other
            within = np.ones(len(points), np.bool_)
            for j in range(self.dim):
                within &= (points[:, j] >= low[j]) & (points[:, j] <= high[j])
            return within
        return np.asarray(((points >= low) & (points <= high)).all(axis=-1))

    @cached_property
    def _inner_bounds(self) -> tuple[FloatArray, FloatArray]:
        return self._inner(self.lo, up=True), self._inner(self.hi, up=False)

    def _inner(self, bound: ExactArray, *, up: bool) -> FloatArray:
        """Round bounds into the box, so that comparing float64 points with them is exact."""
        rounded = np.array(bound.float64)
        error = (bound - ExactArray.of(rounded)).signs()
        off = error > 0 if up else error < 0
        rounded[off] = np.nextafter(rounded[off], np.inf if up else -np.inf)
        return rounded

    def exact_sides(self) -> ExactArray:
        rows = []
        lo, hi = self.lo.fractions(), self.hi.fractions()
        for j in self._free.tolist():
            unit = [int(k == j) for k in range(self.input_dim)]
            rows.append([*unit, -lo[j]])
            rows.append([*(-u for u in unit), hi[j]])
        return ExactArray.of(np.array(rows, dtype=object).reshape(len(rows), self.input_dim + 1))

    def _identity(self) -> str:
        lo, hi = self.lo.fractions(), self.hi.fractions()
        return "box " + " ".join(f"[{a}, {b}]" for a, b in zip(lo, hi, strict=True))

    def __repr__(self) -> str:
        lo, hi = self.lo.float64, self.hi.float64
        if np.all(lo == lo[0]) and np.all(hi == hi[0]) and self.input_dim > 2:
            return f"Box.cube({lo[0]:g}, {hi[0]:g}, dim={self.input_dim})"
        text = "Box([{}], [{}])".format(
            ", ".join(f"{v:g}" for v in lo[:9]), ", ".join(f"{v:g}" for v in hi[:9])
        )
        if self.input_dim > 4 or len(text) >= 80:
            return f"Box({self.input_dim} coordinates, rank {self.rank})"
        return text


class Space(Domain):
    """All of R^d.

    Parameters
    ----------
    dim : int

    Examples
    --------
    >>> import polycarve as pc
    >>> pc.Space(2).is_bounded
    False
    """

    def __init__(self, dim: int) -> None:
        if not isinstance(dim, (int, np.integer)) or isinstance(dim, bool) or dim < 1:
            raise DomainError(f"dim is {dim!r}; a whole number of at least 1 is needed.")
        self.input_dim = int(dim)

    @property
    def dim(self) -> int:
        return self.input_dim

    @property
    def rank(self) -> int:
        return self.input_dim

    @property
    def is_bounded(self) -> bool:
        return False

    @cached_property
    def frame(self) -> Frame:
        d = self.input_dim
        lower = ExactArray.of(np.array([-1] * d + [0]))
        return Frame(lower, ExactArray.of(np.ones(d + 1)), (-1,) * (2 * d + 2), is_cone=True)

    def embed(self, y: npt.ArrayLike) -> FloatArray:
        return self.points(y)

    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.points(X)).all(axis=-1))

    def exact_sides(self) -> ExactArray:
        return ExactArray.of(np.zeros((0, self.input_dim + 1)))

    def _identity(self) -> str:
        return f"space {self.input_dim}"

    def __repr__(self) -> str:
        return f"Space({self.input_dim})"


def as_domain(given: Any, input_dim: int) -> Domain:
    """Return a domain from a Domain or ``[(lo, hi), ...]``, checked against an input dimension."""
    if isinstance(given, Domain):
        domain = given
    else:
        try:
            pairs = [(lo, hi) for lo, hi in given]
        except (TypeError, ValueError):
            raise DomainError(
                f"a {type(given).__name__} is not a domain. Give a Box, a Space(dim), or one "
                f"(lo, hi) pair a coordinate."
            ) from None
        domain = Box([lo for lo, _ in pairs], [hi for _, hi in pairs])
    if domain.input_dim != input_dim:
        raise DomainError(
            f"the domain has {domain.input_dim} coordinates and the network reads {input_dim}. "
            f"Give a domain of dimension {input_dim}."
        )
    return domain


def _bounds(values: Any, what: str) -> ExactArray:
    if isinstance(values, ExactArray):
        return values
    if isinstance(values, str):
        raise DomainError(f"{what}: {values!r} is not a sequence of numbers.")
    try:
        numbers = ExactArray.of(values if isinstance(values, np.ndarray) else list(values))
        numbers.float64  # noqa: B018 - kernels need it: fail here if there is none
    except (InputError, TypeError) as error:
        raise DomainError(f"{what}: {error}") from None
    if numbers.ndim != 1 or not len(numbers):
        raise DomainError(f"{what} has shape {numbers.shape}; one number a coordinate is needed.")
    return numbers


def _number(value: Any, what: str) -> Any:
    try:
        return fraction(value)
    except InputError as error:
        raise DomainError(f"{what}: {error}") from None
