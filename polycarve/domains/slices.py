"""`Slice` and `Segment`: flat parts of the input space, carved in coordinates of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains.box import Box
from polycarve.domains.domain import Domain, FloatArray, Frame
from polycarve.domains.numbers import exact, number, vector
from polycarve.domains.polytope import Polytope
from polycarve.domains.space import Space
from polycarve.errors import DomainError
from polycarve.rational import ExactArray, rank, stack


class Slice(Domain):
    """All inputs ``x = origin + y @ directions`` for ``y`` in a domain of fewer coordinates.

    Points, halfspaces, volumes and maps of its regions are in the coordinates ``y``;
    ``embed(y)`` gives inputs.

    Parameters
    ----------
    origin : sequence of d numbers
    directions : (k, d) array of numbers
        Independent rows, not normalised. Kept exactly, as is the origin.
    domain : Box, Polytope or Space of k coordinates, or [(lo, hi), ...], optional
        Where ``y`` lies; by default everywhere.

    Raises
    ------
    DomainError
        Rows of `directions` that depend on each other (decided exactly), or shapes that do not fit.

    Examples
    --------
    >>> import polycarve as pc
    >>> plane = pc.Slice([0, 0, 1], [[1, 0, 0], [0, 1, 1]], domain=pc.Box.cube(-1, 1, dim=2))
    >>> plane.embed([0.5, -0.5])
    array([ 0.5, -0.5,  0.5])
    >>> net = pc.Network.from_arrays([[[1, 1, 1]]], relu_last=True)
    >>> len(pc.carve(net, plane))
    2
    """

    def __init__(
        self, origin: Sequence[Any] | ExactArray, directions: Any, *, domain: Any = None
    ) -> None:
        self.origin, self.directions = vector(origin, "origin"), exact(directions, "directions")
        self.input_dim = len(self.origin)
        if self.directions.ndim != 2 or self.directions.shape[1] != self.input_dim:
            raise DomainError(
                f"directions have shape {self.directions.shape}; one row of {self.input_dim} "
                f"numbers a direction is needed, as the origin has."
            )
        k = len(self.directions)
        if not k or rank(self.directions) < k:
            raise DomainError(
                f"the {k} directions span only {rank(self.directions) if k else 0} dimensions. "
                f"Leave out those that depend on others."
            )
        self.domain = Space(k) if domain is None else _inner(domain, k)
        columns = self.directions.numerators.T.copy()
        self.embedding = (ExactArray(columns, self.directions.denominator), self.origin)

    @classmethod
    def through(
        cls, a: Sequence[Any], b: Sequence[Any], c: Sequence[Any], *, pad: Any = "0.2"
    ) -> Slice:
        """Return the plane through three inputs, such as images of a data set.

        Parameters
        ----------
        a, b, c : sequences of d numbers
            They are at ``y = (0, 0)``, ``(1, 0)`` and ``(0, 1)``.
        pad : number
            How far the square of coordinates goes beyond them: ``-pad <= y <= 1 + pad``.

        Examples
        --------
        >>> import polycarve as pc
        >>> pc.Slice.through([0, 0, 0], [1, 0, 0], [0, 2, 0]).domain
        Box([-0.2, -0.2], [1.2, 1.2])
        """
        origin, *others = (vector(x, what) for x, what in zip((a, b, c), "abc", strict=True))
        for x, what in zip(others, "bc", strict=True):
            if x.shape != origin.shape:
                raise DomainError(
                    f"a has {len(origin)} coordinates and {what} has {len(x)}; they must agree."
                )
        room = number(pad, "pad")
        if room < 0:
            raise DomainError(f"pad is {pad}; it must not be negative.")
        directions = stack([(x - origin)[None] for x in others])
        return cls(origin, directions, domain=Box.cube(-room, 1 + room, dim=2))

    @property
    def dim(self) -> int:
        return self.domain.dim

    @property
    def rank(self) -> int:
        return self.domain.rank

    @property
    def is_bounded(self) -> bool:
        return self.domain.is_bounded

    @property
    def free(self) -> npt.NDArray[np.int64]:
        return self.domain.free

    @property
    def frame(self) -> Frame:
        return self.domain.frame

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.domain.bounds()

    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        return self.domain.contains(X)

    def exact_sides(self) -> ExactArray:
        return self.domain.exact_sides()

    def _identity(self) -> str:
        rows = " ".join(map(str, [*self.origin.fractions(), *self.directions.fractions()]))
        return f"slice {rows} of {self.domain._identity()}"

    def __repr__(self) -> str:
        return f"Slice({self.dim} of {self.input_dim} coordinates, {self.domain!r})"


class Segment(Slice):
    """The inputs between two: ``x = x0 + t (x1 - x0)`` with one coordinate ``0 <= t <= 1``.

    Parameters
    ----------
    x0, x1 : sequences of d numbers
        Different from each other; kept exactly.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> carving = pc.carve(net, pc.Segment([-1, -3], [3, 1]))
    >>> len(carving), carving.breakpoints
    (3, array([0.25, 0.75]))
    """

    def __init__(self, x0: Sequence[Any] | ExactArray, x1: Sequence[Any] | ExactArray) -> None:
        start, end = vector(x0, "x0"), vector(x1, "x1")
        if start.shape != end.shape:
            raise DomainError(
                f"x0 has {len(start)} coordinates and x1 has {len(end)}; they must agree."
            )
        if not (end - start).signs().any():
            raise DomainError("x0 and x1 are the same input. A segment needs two.")
        self.x0, self.x1 = start, end
        super().__init__(start, (end - start)[None], domain=Box([0], [1]))

    def __repr__(self) -> str:
        return f"Segment(in {self.input_dim} coordinates)"


def _inner(given: Any, k: int) -> Domain:
    """Return the domain of a slice's coordinates."""
    if not isinstance(given, Domain):
        try:
            given = Box([lo for lo, _ in given], [hi for _, hi in given])
        except DomainError:
            raise
        except (TypeError, ValueError):  # neither a domain nor pairs
            given = type(given).__name__
    if not isinstance(given, (Box, Polytope, Space)):
        raise DomainError(
            f"the domain of a slice must be a Box, Polytope or Space, or one (lo, hi) pair a "
            f"direction; not {given}."
        )
    if given.dim != k:
        raise DomainError(
            f"there are {k} directions, but their domain has {given.dim} coordinates. Give as many."
        )
    return given
