"""What part of a plane is drawn, and the regions clipped to it.

A bounded domain is drawn by the vertices of its regions. Of an unbounded one, and wherever a
window is asked for, every region is clipped by its own halfspaces: the window's rectangle is cut
by one facet after the other. So the picture is of this very carving, with rays and lines as they
are, and no cut-off of any size comes in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.errors import GeometryError, InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Point = tuple[float, float]
Row = tuple[float, float, float]

# Of at least so many corners, the outermost ones do not widen the window.
_MANY = 40
# Coordinates this large leave a picture no room to compute in.
_LARGE = 1e300


@dataclass(frozen=True, eq=False)
class Window:
    """A box that is looked at, in the free coordinates of a domain; here mostly a rectangle."""

    lower: FloatArray
    upper: FloatArray

    @property
    def corners(self) -> list[Point]:
        (x0, y0), (x1, y1) = self.lower.tolist(), self.upper.tolist()
        return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


@dataclass(frozen=True, eq=False)
class Polygons:
    """The parts of regions that are seen: polygon i belongs to region ``region[i]``.

    Its corners, anticlockwise, are ``corners[offsets[i] : offsets[i + 1]]``.
    """

    region: IntArray
    offsets: IntArray
    corners: FloatArray

    def __len__(self) -> int:
        return len(self.region)

    def split(self) -> list[FloatArray]:
        return np.split(self.corners, self.offsets[1:-1]) if len(self) else []

    def centroids(self) -> FloatArray:
        """Return the centres of mass, ``(n, 2)``."""
        if not len(self):
            return np.zeros((0, 2))
        first, counts = self.offsets[:-1], np.diff(self.offsets)
        middle = np.add.reduceat(self.corners, first) / counts[:, None]
        here = self.corners - np.repeat(middle, counts, axis=0)
        following = np.arange(1, len(here) + 1)
        following[self.offsets[1:] - 1] = first
        there = here[following]
        weight = here[:, 0] * there[:, 1] - here[:, 1] * there[:, 0]
        total = np.add.reduceat(weight, first)
        moment = np.add.reduceat(weight[:, None] * (here + there) / 3, first)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = moment / total[:, None]
        return np.asarray(middle + np.where(np.isfinite(shift), shift, 0.0))


def read_box(bounds: Any, dim: int = 2) -> Window:
    """Return a window given as one pair ``(lo, hi)`` a coordinate."""
    try:
        array = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    shape = array.shape == (dim, 2)
    if not shape or not (np.abs(array) < _LARGE).all() or (array[:, 0] >= array[:, 1]).any():
        needed = "one pair" if dim == 1 else f"{dim} pairs"
        raise InputError(
            f"bounds are {bounds!r}; {needed} (lo, hi) of numbers with lo < hi, one a coordinate, "
            f"{'is' if dim == 1 else 'are'} needed."
        )
    return Window(array[:, 0], array[:, 1])


def spread(carving: Carving, free: FloatArray) -> FloatArray:
    """Return points in free coordinates, by rows, in the domain's own."""
    domain = carving.domain
    level = carving.points[:1] if len(carving) else np.zeros((1, domain.dim))
    points = np.repeat(level, len(free), axis=0)
    points[:, domain.free] = free
    return np.asarray(points, dtype=np.float64)


def choose_window(carving: Carving, bounds: Any, ax: Any) -> Window | None:
    """Return the window: that asked for, else the limits set on `ax`, else one that fits.

    Where only one axis has limits, the other one fits. None for a bounded domain of which all is
    to be seen.
    """
    names = "xy"[: carving.domain.rank]
    if bounds is not None:
        return read_box(bounds, len(names))
    is_set = [not getattr(ax, f"get_autoscale{name}_on")() for name in names]
    if carving.domain.is_bounded and not any(is_set):
        return None
    window = whole(carving)
    lower, upper = window.lower.copy(), window.upper.copy()
    for j, name in enumerate(names):
        if is_set[j]:
            lower[j], upper[j] = sorted(getattr(ax, f"get_{name}lim")())
    return Window(lower, upper)


def whole(carving: Carving) -> Window:
    """Return a window that shows all of a bounded domain, and what matters of another."""
    if carving.domain.is_bounded:
        return Window(*(bound[carving.domain.free] for bound in carving.domain.bounds()))
    return Window(*extent(carving))


def extent(carving: Carving) -> tuple[FloatArray, FloatArray]:
    """Return a box in free coordinates around what is to be seen of an unbounded carving.

    Around its corners with some room; where they are many, around all but the outermost twentieth
    on either side; where there are none, around the points of the regions.
    """
    free = carving.domain.free
    try:
        cells = carving.cells()
        seen = cells.vertices[~cells.is_ray][:, free]
    except GeometryError:  # not all lists can be carved again
        seen = np.zeros((0, len(free)))
    if not len(seen):
        seen = carving.points[:, free]
        seen = np.zeros((1, len(free))) if not len(seen) else seen
    share = 0.05 if len(np.unique(seen, axis=0)) >= _MANY else 0.0
    lower, upper = np.quantile(seen, share, axis=0), np.quantile(seen, 1 - share, axis=0)
    size, reach = float((upper - lower).max()), float(np.abs(seen).max())
    # Lines through one point look alike in every window around it.
    room = 0.25 * (size if size > 1e-12 * reach else reach) or 1.0
    low, high = (bound[free] for bound in carving.domain.bounds())
    return np.maximum(lower - room, low), np.minimum(upper + room, high)


def domain_outline(carving: Carving, window: Window | None) -> list[Point]:
    """Return the corners of the domain as far as it is seen."""
    domain = carving.domain
    lower, upper = (bound[domain.free] for bound in domain.bounds())
    frame = window.corners if window else Window(lower, upper).corners
    forms = domain.exact_sides().float64
    rows = forms[:, domain.free]
    return clip(frame, _rows(-rows[:, 0], -rows[:, 1], forms[:, -1]))


def polygons(carving: Carving, window: Window | None) -> Polygons:
    """Return the regions of a plane domain, clipped to a window if there is one."""
    if window is None or _shows_all(window, carving):
        try:
            cells = carving.cells()
            offsets, corners = cells.vertex_offsets, cells.vertices
        except GeometryError:  # not all lists can be carved again
            offsets, corners = carving.vertices()
        return Polygons(np.arange(len(carving)), offsets, corners[:, carving.domain.free])
    return clipped(carving, window.corners, np.arange(len(carving)))


def _shows_all(window: Window, carving: Carving) -> bool:
    lower, upper = (bound[carving.domain.free] for bound in carving.domain.bounds())
    return bool((window.lower <= lower).all() and (window.upper >= upper).all())


def clipped(
    carving: Carving,
    start: list[Point],
    regions: IntArray,
    *,
    origin: FloatArray | None = None,
    basis: FloatArray | None = None,
    normal: FloatArray | None = None,
) -> Polygons:
    """Return what regions leave of a polygon, in its own plane ``u = origin + y @ basis``.

    A region whose facet lies in that plane is taken if it is on the side that `normal` leads away
    from.
    """
    columns = carving.facet_columns()
    counts = np.diff(columns.offsets)[regions]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    facet = np.arange(first[-1]) + np.repeat(columns.offsets[regions] - first[:-1], counts)
    A, b = columns.A[facet], columns.b[facet]
    scale = np.abs(A).max(axis=1, initial=0.0)
    if origin is not None and basis is not None and normal is not None:
        slack, size = b - A @ origin, np.abs(A) @ np.abs(origin) + np.abs(b)
        rows = A @ basis.T
        is_flat = np.abs(rows).max(axis=1, initial=0.0) <= 1e-9 * scale
        near = 1e-9 * size
        out = is_flat & ((slack < -near) | ((slack <= near) & (A @ normal < 0)))
        rows[is_flat], slack[is_flat] = 0.0, np.where(out[is_flat], -1.0, 1.0)
        A, b = rows, slack
    rows_of = _rows(A[:, 0], A[:, 1], b)
    found: list[Point] = []
    seen, sizes = [], []
    for region, (begin, end) in zip(regions.tolist(), pairwise(first.tolist()), strict=True):
        part = clip(start, rows_of[begin:end])
        if part:
            seen.append(region)
            sizes.append(len(part))
            found += part
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Polygons(np.array(seen, np.int64), offsets, np.array(found).reshape(-1, 2))


def _rows(a0: FloatArray, a1: FloatArray, b: FloatArray) -> list[Row]:
    return list(zip(a0.tolist(), a1.tolist(), b.tolist(), strict=True))


def clip(polygon: list[Point], rows: Iterable[Row]) -> list[Point]:
    """Return the part of a convex polygon with ``a0 x + a1 y <= b`` for all rows; empty if flat."""
    for a0, a1, b in rows:
        values = [a0 * x + a1 * y - b for x, y in polygon]
        if max(values) <= 0:
            continue
        if min(values) >= 0:
            return []
        kept: list[Point] = []
        before, here = polygon[-1], values[-1]
        for point, value in zip(polygon, values, strict=True):
            if (here < 0 < value) or (value < 0 < here):
                t = here / (here - value)
                x, y = (
                    before[0] + t * (point[0] - before[0]),
                    before[1] + t * (point[1] - before[1]),
                )
                kept.append((x, y))
            if value <= 0:
                kept.append(point)
            before, here = point, value
        polygon = kept
        if len(polygon) < 3:
            return []
    return polygon
