"""Polytopes given by halfspaces: redundancy, vertices, volume, largest ball, boundedness.

Everything here is in plain coordinates and floating point; regions and carvings call it in the
free coordinates of their domain. HiGHS solves the linear programs, Qhull finds vertices in three
and more dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, nnls
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from polycarve.errors import GeometryError, NumericalError, UnboundedError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TOO_THIN = "the region is too thin for float64: its corners cannot be told apart."

# Qhull's work grows like the number of vertices, and that exponentially with the dimension.
MOST_DIMENSIONS = 9

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Halfspaces(NamedTuple):
    """An irredundant description ``A @ x <= b`` of a region, and where each row comes from.

    Attributes
    ----------
    A : (m, d) float64
        Outward normals, not normalised: a neuron's gradient, or a unit vector.
    b : (m,) float64
    source : (m,) int64
        The index of a neuron among all N, or ``-1 - k`` for side k of the domain (of a Box:
        side ``2 j`` is the lower, ``2 j + 1`` the upper one in coordinate j).
    """

    A: FloatArray
    b: FloatArray
    source: IntArray


class HalfspaceColumns(NamedTuple):
    """The halfspaces of many regions; region i has the rows ``offsets[i] .. offsets[i + 1] - 1``.

    ``A``, ``b`` and ``source`` are as in `Halfspaces`.
    """

    offsets: IntArray
    A: FloatArray
    b: FloatArray
    source: IntArray


class Ball(NamedTuple):
    """The largest ball in a region: the Chebyshev centre and the radius."""

    centre: FloatArray
    radius: float


def _evened(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same halfspaces, each scaled by a power of two to entries of about one."""
    exponents = np.frexp(np.abs(A).max(axis=1, initial=0.0))[1]
    return np.ldexp(A, -exponents[:, None]), np.ldexp(b, -exponents)


def irredundant(A: FloatArray, b: FloatArray) -> IntArray:
    """Return the rows of ``A @ x <= b`` that are needed, by one linear program a row.

    Rows are tried from the last to the first, and one that is not needed is left out from then
    on: so of equal rows the first stays.
    """
    A, b = _evened(A, b)
    kept = np.ones(len(b), np.bool_)
    size = np.abs(A).sum(axis=1) + np.abs(b)
    for row in range(len(b) - 1, -1, -1):
        kept[row] = False
        # One unit beyond the row bounds the program; less than that would do as well.
        solution = linprog(
            -A[row] / size[row],
            A_ub=np.concatenate([A[kept], A[row : row + 1]]),
            b_ub=np.concatenate([b[kept], b[row : row + 1] + size[row]]),
            bounds=(None, None),
            method="highs",
            options=_TIGHT,
        )
        if solution.status not in (0, 3):
            raise NumericalError(
                f"HiGHS gave up on a region: {solution.message} Its numbers may be too uneven: "
                f"rescale or shift the inputs."
            )
        kept[row] = solution.status == 3 or -solution.fun - b[row] / size[row] > 1e-9
    return np.flatnonzero(kept)


def vertices(A: FloatArray, b: FloatArray, point: FloatArray) -> FloatArray:
    """Return the vertices of a bounded polytope with an interior point; irredundant rows.

    In the plane they go round anticlockwise, from where the angle about their mean is least.
    """
    A, b = _evened(A, b)
    d = A.shape[1]
    if d == 1:
        ends = b / A[:, 0]
        return np.sort(ends)[:, None]
    if d == 2:  # about the interior point: thin regions keep more digits
        corners = _corners(A, b - A @ point)
        x, y = (corners - corners.mean(axis=0)).T
        return np.asarray(corners[np.argsort(np.arctan2(y, x))] + point + 0.0)
    if d > MOST_DIMENSIONS:
        raise GeometryError(
            f"vertices and volumes are out of reach in {d} dimensions (the most is "
            f"{MOST_DIMENSIONS}). Use halfspaces() or chebyshev()."
        )
    # Qhull works on the dual about the interior point: put that in the origin, and scale every
    # coordinate so that the nearest faces are about one away.
    room = b - A @ point
    if not (room > 0).all():
        raise GeometryError(TOO_THIN)
    scale = 1.0 / np.abs(A / room[:, None]).max(axis=0)
    rows = np.concatenate([A * scale, -room[:, None]], axis=1)
    rows /= np.linalg.norm(rows[:, :-1], axis=1)[:, None]
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # corners at infinity
            corners = HalfspaceIntersection(rows, np.zeros(d)).intersections
    except QhullError as error:
        raise GeometryError(
            f"Qhull cannot find the vertices of a region this thin: {str(error).splitlines()[0]}"
        ) from None
    if not np.isfinite(corners).all():
        raise UnboundedError("the region is unbounded, so its vertices do not span it.")
    return np.asarray(_distinct(corners) * scale + point)


def _corners(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the corners of a polygon: where lines meet that are neighbours by angle."""
    order = np.argsort(np.arctan2(A[:, 1], A[:, 0]))
    A, b = A[order], b[order]
    B, c = np.roll(A, -1, axis=0), np.roll(b, -1)
    det = A[:, 0] * B[:, 1] - A[:, 1] * B[:, 0]
    if len(A) < 3 or (det <= 0).any():
        raise UnboundedError("the region is unbounded, so its vertices do not span it.")
    x, y = (b * B[:, 1] - c * A[:, 1]) / det, (A[:, 0] * c - B[:, 0] * b) / det
    return np.stack([x, y], axis=1)


def _distinct(points: FloatArray) -> FloatArray:
    """Drop points that another lies on, up to rounding: where more than d faces meet."""
    order = np.lexsort(np.round(points.T, 9))
    kept: list[int] = []
    for i in order:
        near = (np.abs(points[kept] - points[i]).max(axis=1) <= 1e-9) if kept else np.array([False])
        if not near.any():
            kept.append(int(i))
    return points[sorted(kept)]


def areas(offsets: IntArray, corners: FloatArray) -> FloatArray:
    """Return the areas of polygons: the i-th has the corners between its offsets, in order."""
    first = offsets[:-1]
    x, y = (corners - np.repeat(corners[first], np.diff(offsets), axis=0)).T
    following = np.arange(1, len(corners) + 1)
    following[offsets[1:] - 1] = first
    found = 0.5 * np.add.reduceat(x * y[following] - x[following] * y, first)
    if not (found > 0).all():
        raise GeometryError(TOO_THIN)
    return np.asarray(found)


def volume(corners: FloatArray) -> float:
    """Return the volume of the convex hull of vertices (in the plane, in order)."""
    d = corners.shape[1]
    if d == 1:
        return float(corners.max() - corners.min())
    if d == 2:
        return float(areas(np.array([0, len(corners)]), corners)[0])
    hull, _, extent = _hull(corners)
    return float(hull.volume * np.prod(extent))


def centroid(corners: FloatArray) -> FloatArray:
    """Return the centre of mass of the convex hull of vertices (in the plane, in order)."""
    d = corners.shape[1]
    middle = corners.mean(axis=0)
    if d == 1:
        return np.asarray((corners.min(axis=0) + corners.max(axis=0)) / 2)
    if d == 2:
        here, there = corners - middle, np.roll(corners, -1, axis=0) - middle
        weights = here[:, 0] * there[:, 1] - here[:, 1] * there[:, 0]
        centres = (here + there) / 3
    else:  # simplices from the middle to the triangulated faces
        hull, middle, extent = _hull(corners)
        faces = hull.points[hull.simplices]
        weights = np.abs(np.linalg.det(faces))
        centres = faces.sum(axis=1) / (d + 1) * extent
    if not weights.sum() > 0:
        raise GeometryError(TOO_THIN)
    return np.asarray(weights @ centres / weights.sum() + middle)


def _hull(corners: FloatArray) -> tuple[ConvexHull, FloatArray, FloatArray]:
    """Return the convex hull of vertices, shifted by their mean and scaled to a box of size one.

    Also returns that mean and the extents. Qhull's thresholds are absolute.
    """
    centre, extent = corners.mean(axis=0), np.ptp(corners, axis=0)
    for options in ("Qt", "Qt Qx", "QJ"):  # the last one moves points a little, and always ends
        try:
            return ConvexHull((corners - centre) / extent, qhull_options=options), centre, extent
        except QhullError as error:
            trouble = str(error).splitlines()[0]
    raise GeometryError(f"Qhull cannot measure a region this thin: {trouble}")


def chebyshev(A: FloatArray, b: FloatArray, *, most: float | None = None) -> Ball:
    """Return the largest ball in ``A @ x <= b``; its radius is infinite if any ball fits.

    With `most`, a ball of that radius is good enough.
    """
    A, b = _evened(A, b)
    norms = np.linalg.norm(A, axis=1)
    d = A.shape[1]
    if not len(b):
        return Ball(np.zeros(d), np.inf if most is None else most)
    solution = linprog(
        np.array([0.0] * d + [-1.0]),
        A_ub=np.concatenate([A / norms[:, None], np.ones((len(b), 1))], axis=1),
        b_ub=b / norms,
        bounds=[(None, None)] * d + [(0, most)],
        method="highs",
        options=_TIGHT,
    )
    if solution.status == 3:
        return Ball(np.full(d, np.nan), np.inf)
    if solution.status != 0:
        raise NumericalError(
            f"HiGHS gave up on a region: {solution.message} Its numbers may be too uneven: "
            f"rescale or shift the inputs."
        )
    return Ball(np.asarray(solution.x[:-1]), float(solution.x[-1]))


def is_bounded(A: FloatArray) -> bool:
    """Whether ``A @ x <= b`` is bounded, for any b for which it is not empty.

    It is if the normals span the space and some combination of them, all weights positive, is
    zero. The nearest to zero that a combination with weights of at least one comes is a direction
    that leads away from every row, unless it is zero.
    """
    d = A.shape[1]
    if len(A) <= d:
        return False
    A, _ = _evened(A, np.zeros(len(A)))
    unit = A / np.linalg.norm(A, axis=1)[:, None]
    if np.linalg.matrix_rank(unit) < d:
        return False
    try:
        _, distance = nnls(unit.T, -unit.sum(axis=0))
    except RuntimeError:
        raise NumericalError("least squares gave up on whether a region is bounded.") from None
    return bool(distance < 1e-9)
