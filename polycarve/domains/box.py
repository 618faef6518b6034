"""`Box`: an interval in every coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains.domain import Domain, FloatArray, Frame
from polycarve.domains.numbers import number, vector
from polycarve.errors import DomainError
from polycarve.rational import ExactArray


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
        self.lo, self.hi = vector(lo, "lo"), vector(hi, "hi")
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
        centre, reach = vector(x, "x").fractions(), number(radius, "radius")
        if reach < 0:
            raise DomainError(f"radius is {radius}; it must not be negative.")
        lo, hi = [c - reach for c in centre], [c + reach for c in centre]
        if clip is not None:
            if not isinstance(clip, Sequence) or len(clip) != 2:
                raise DomainError(f"clip is {clip!r}; a pair (lo, hi) is needed.")
            least, most = (number(value, "clip") for value in clip)
            if least > most:
                raise DomainError(f"clip is {clip!r}: empty, for lo > hi. Swap them.")
            lo, hi = [max(v, least) for v in lo], [min(v, most) for v in hi]
            outside = next((j for j, (a, b) in enumerate(zip(lo, hi, strict=True)) if a > b), None)
            if outside is not None:
                raise DomainError(
                    f"nothing of the box is left after clip: x[{outside}] lies further than radius "
                    f"outside ({clip[0]}, {clip[1]})."
                )
        return cls(lo, hi)

    @classmethod
    def from_vnnlib(cls, path: str | Path) -> Box:
        """Read the input box of a VNN-LIB property.

        Parameters
        ----------
        path : path-like
            A VNN-LIB 1 file, which bounds every input ``X_j``; what it says of outputs is left
            aside, and strict bounds count as closed ones.

        Raises
        ------
        DomainError
            The inputs it allows are no box, or it is no such file: the message names the assertion.

        Notes
        -----
        Decimal numbers are kept exactly, not rounded to float64.
        """
        from polycarve.domains import vnnlib

        return cls(*vnnlib.input_box(path))

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
        centre = 0.5 * (self.lo.float64[free] + self.hi.float64[free])
        if len(free) == self.input_dim:
            return Frame(self.lo, self.hi, sides, centre)
        place = np.zeros((self.input_dim, len(free)), dtype=np.int64)
        place[free, np.arange(len(free))] = 1
        fixed = np.array(self.lo.numerators)
        fixed[free] = 0
        return Frame(
            self.lo[free],
            self.hi[free],
            sides,
            centre,
            matrix=ExactArray.of(place),
            offset=ExactArray(fixed, self.lo.denominator),
        )

    @property
    def free(self) -> npt.NDArray[np.int64]:
        return self._free

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.lo.float64, self.hi.float64

    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        points = self.points(X)
        low, high = self.inner_bounds
        if points.ndim == 2 and self.dim <= 16:  # few long columns, one after the other
            within = np.ones(len(points), np.bool_)
            for j in range(self.dim):
                within &= (points[:, j] >= low[j]) & (points[:, j] <= high[j])
            return within
        return np.asarray(((points >= low) & (points <= high)).all(axis=-1))

    @cached_property
    def inner_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest float64 of each coordinate inside."""
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
        # As many digits as tell the two sides apart.
        is_flat = lo[:9] == hi[:9]
        for digits in (6, 9, 12, 17):
            below, above = ([f"{v:.{digits}g}" for v in side[:9]] for side in (lo, hi))
            if all((a == b) <= flat for a, b, flat in zip(below, above, is_flat, strict=True)):
                break
        if np.all(lo == lo[0]) and np.all(hi == hi[0]) and self.input_dim > 2:
            return f"Box.cube({below[0]}, {above[0]}, dim={self.input_dim})"
        text = f"Box([{', '.join(below)}], [{', '.join(above)}])"
        if self.input_dim > 4 or len(text) >= 80:
            return f"Box({self.input_dim} coordinates, rank {self.rank})"
        return text
