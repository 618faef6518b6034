"""What every domain is: coordinates, an embedding into the inputs, and a frame for kernels."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError
from polycarve.rational import ExactArray

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """How kernels see a domain: an open polytope in a box of free coordinates ``u``.

    The domain's coordinates are ``y = matrix @ u + offset``, or, where ``is_cone``,
    ``y = u[:-1] / u[-1]``: the cone over the domain, with every constant made a coefficient of the
    last coordinate, cut off at ``|u| <= 1``. Its cells correspond one to one to the domain's.

    Attributes
    ----------
    lower, upper : ExactArray, shape (k,)
        ``lower < upper`` in every free coordinate.
    sides : tuple of int, length 2 k + m
        The domain's side on which each face lies: lower faces of the box, then upper faces, then
        the rows; -1 where the face is only a cut-off.
    rows : ExactArray, shape (m, k + 1), or None for no rows
        More faces: forms ``[a, c]``, with ``a @ u + c > 0`` inside.
    centre : (k,) float64
        A point inside all faces.
    matrix : ExactArray, shape (dim, k), or None for the identity
    offset : ExactArray, shape (dim,), or None for zero
    is_cone : bool
    """

    lower: ExactArray
    upper: ExactArray
    sides: tuple[int, ...]
    centre: FloatArray
    rows: ExactArray | None = None
    matrix: ExactArray | None = None
    offset: ExactArray | None = None
    is_cone: bool = False

    @property
    def n_free(self) -> int:
        return len(self.lower)


class Domain(ABC):
    """A convex set of inputs. See `Box`, `Space`, `Polytope`, `Slice` and `Segment`."""

    input_dim: int

    embedding: tuple[ExactArray, ExactArray] | None = None
    """``(E, e)`` where the inputs are ``E @ y + e``; None where they are the coordinates."""

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

    @property
    def free(self) -> npt.NDArray[np.int64]:
        """The coordinates in which the domain extends; the others are flat."""
        return np.arange(self.dim)

    def embed(self, y: npt.ArrayLike) -> FloatArray:
        """Return the inputs of coordinates: ``(n, dim)`` to ``(n, input_dim)``, in float64."""
        points = self.points(y)
        if self.embedding is None:
            return points
        matrix, offset = self.embedding
        return np.asarray(points @ matrix.float64.T + offset.float64)

    @abstractmethod
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and largest value of each coordinate, rounded outwards a little.

        Infinite for a domain that is not bounded.
        """

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
