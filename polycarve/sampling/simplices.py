"""Uniform points in a polytope that fills little of the box around it: by simplices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.domains import Polytope
from polycarve.errors import GeometryError

FloatArray = npt.NDArray[np.float64]

# Beyond this, Qhull makes too many simplices.
_MOST_DIMENSIONS = 8

# Simplices must fill the polytope up to this share of its volume.
_TOLERANCE = 1e-9


def triangulated(
    place: Polytope,
) -> Callable[[np.random.Generator, int], FloatArray] | None:
    """Return what draws uniform points in a bounded polytope, None where it cannot be cut up.

    A simplex is chosen by its volume, and a point in it by the spacings of uniform numbers.
    Points at the rim may lie outside by rounding.
    """
    d = place.dim
    sides = place.exact_sides().float64
    if len(sides) == d + 1:
        corners = _corners_of_simplex(sides)
        return None if corners is None else _drawing(corners[None], np.ones(1))
    if not 2 <= d <= _MOST_DIMENSIONS:
        return None
    from scipy.spatial import Delaunay, QhullError

    try:
        centre = place.frame.centre
        A, b = -sides[:, :-1], sides[:, -1]
        needed = geometry.irredundant(A, b)
        corners = geometry.vertices(A[needed], b[needed], centre)
        # In units in which the polytope is round, or Qhull loses its thin directions.
        root = np.linalg.cholesky(np.cov(corners.T).reshape(d, d))
        cut = Delaunay(np.linalg.solve(root, (corners - corners.mean(axis=0)).T).T)
        whole = geometry.volume(corners)
    except (GeometryError, QhullError, np.linalg.LinAlgError):
        return None
    parts = corners[cut.simplices]
    volumes = np.abs(np.linalg.det(parts[:, 1:] - parts[:, :1]))
    ends = np.cumsum(volumes)
    factorial = float(np.prod(np.arange(1, d + 1)))
    if not abs(ends[-1] / factorial - whole) <= _TOLERANCE * whole:
        return None
    return _drawing(parts, ends)


def _corners_of_simplex(sides: FloatArray) -> FloatArray | None:
    """Return the corners of a simplex, each on all sides but one; None if they are not sure."""
    try:
        homogeneous = np.linalg.inv(sides)
    except np.linalg.LinAlgError:
        return None
    corners = (homogeneous[:-1] / homogeneous[-1]).T
    forms = np.concatenate([corners, np.ones((len(corners), 1))], axis=1) @ sides.T
    room = np.diag(forms)
    is_sure = (room > 0) & (np.abs(forms - np.diag(room)).max(axis=0) <= _TOLERANCE * room)
    return corners if is_sure.all() else None


def _drawing(
    parts: FloatArray, ends: FloatArray
) -> Callable[[np.random.Generator, int], FloatArray]:
    """Return what draws points in simplices, given with the running sums of their volumes."""
    d = parts.shape[-1]

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        numbers = rng.random((size, d + 2))
        chosen = np.searchsorted(ends, numbers[:, 0] * ends[-1], side="right")
        spacings = -np.log1p(-numbers[:, 1:])
        weights = spacings / spacings.sum(axis=1, keepdims=True)
        simplex = parts[np.minimum(chosen, len(parts) - 1)]
        return np.asarray(np.einsum("nk,nkj->nj", weights, simplex))

    return draw
