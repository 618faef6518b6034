"""The two affine maps that meet at each facet, compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polycarve.checks.evidence import Evidence, SkipError
from polycarve.checks.report import Finding, result
from polycarve.graph.jumps import Jump, iter_jumps

FloatArray = npt.NDArray[np.float64]

# How often the bound on rounding errors of a map may go into comparing two on a hyperplane that is
# itself computed.
_ROUNDINGS = 16.0


def continuity(name: str, evidence: Evidence) -> Finding:
    return _compare_maps(name, evidence, _apart_on_facets, "of the maps' size they are apart")


def rank(name: str, evidence: Evidence) -> Finding:
    return _compare_maps(name, evidence, _beyond_rank_one, "of the maps' size is beyond rank one")


def _compare_maps(
    name: str,
    evidence: Evidence,
    measure: Callable[..., FloatArray],
    note: str,
) -> Finding:
    """Measure the two maps on each facet, in coordinates scaled to the size of the data."""
    adjacency, facets = evidence.own
    if not len(adjacency.edge_facets):
        raise SkipError("no two regions share a facet")
    free, points = evidence.free, evidence.points
    scale = _scale(evidence)
    worst, tolerance, where = 0.0, 0.0, ""
    with np.errstate(over="ignore", invalid="ignore"):
        for jump in iter_jumps(adjacency, np.sort(adjacency.edge_facets)):
            normals = facets.A[jump.facets] * scale
            normals /= np.linalg.norm(normals, axis=1)[:, None]
            inside = points[adjacency.region[jump.facets]][:, free]
            rows = facets.A[jump.facets]
            excess = ((rows * inside).sum(axis=1) - facets.b[jump.facets]) / (
                np.linalg.norm(rows * scale, axis=1)
            )
            at = inside - excess[:, None] * normals * scale
            reach = np.abs(at) + np.abs(inside) + scale
            found = measure(_in_free(jump, evidence), normals, at, scale, reach)
            if not np.isfinite(found).all():
                raise SkipError("the maps are too large for float64")
            tolerance = _ROUNDINGS * jump.unit
            facet = int(np.argmax(found))
            if found[facet] > worst:
                worst = float(found[facet])
                i, j = (int(v[jump.facets[facet]]) for v in (adjacency.region, adjacency.neighbor))
                where = f": regions {i} and {j}"
    return result(name, worst, tolerance, note, f"{note}{where}")


def _in_free(jump: Jump, evidence: Evidence) -> Jump:
    """Return maps over the free coordinates; those that are flat join the constant."""
    free, dim = evidence.free, evidence.carving.domain.dim
    if len(free) == dim:
        return jump
    flat = np.setdiff1d(np.arange(dim), free)
    level = evidence.carving.points[0, flat]

    def reduced(maps: FloatArray, at: FloatArray) -> FloatArray:
        constant = maps[..., -1:] + (maps[..., flat] @ at)[..., None]
        return np.concatenate([maps[..., free], constant], axis=2)

    return Jump(
        jump.facets,
        reduced(jump.here, level),
        reduced(jump.there, level),
        reduced(jump.size, np.abs(level)),
        jump.unit,
    )


def _scale(evidence: Evidence) -> FloatArray:
    """Return the size of each free coordinate: the domain's extent, or that of the points."""
    low, high = evidence.carving.domain.bounds()
    extent = (high - low)[evidence.free]
    spread = np.median(np.abs(evidence.points[:, evidence.free]), axis=0)
    return np.where(np.isfinite(extent), extent, np.where(spread > 0, spread, 1.0))


def _apart_on_facets(
    jump: Jump, normals: FloatArray, at: FloatArray, scale: FloatArray, reach: FloatArray
) -> FloatArray:
    """Measure how far two maps are apart at a point of each hyperplane, and along it."""
    change = jump.here - jump.there
    there = change[..., -1] + (change[..., :-1] @ at[..., None])[..., 0]
    slope = change[..., :-1] * scale
    along = slope - (slope @ normals[..., None]) * normals[:, None, :]
    size = jump.size[..., -1] + (jump.size[..., :-1] @ reach[..., None])[..., 0]
    apart = np.maximum(np.abs(there), np.abs(along).max(axis=2))
    return np.asarray((apart / np.where(size > 0, size, 1.0)).max(axis=1))


def _beyond_rank_one(
    jump: Jump, normals: FloatArray, at: FloatArray, scale: FloatArray, reach: FloatArray
) -> FloatArray:
    """Measure what is left of the change of the linear part without its clearest row's direction.

    Clearest is the row whose change is largest for its map's size: the direction of any other can
    be mere rounding, however long it is.
    """
    slope = (jump.here - jump.there)[..., :-1] * scale
    size = (jump.size[..., :-1] * scale).sum(axis=2)
    size = np.where(size > 0, size, 1.0)
    length = np.linalg.norm(slope, axis=2)
    row = np.arange(len(slope)), (length / size).argmax(axis=1)
    direction = slope[row] / np.where(length[row] > 0, length[row], 1.0)[:, None]
    rest = slope - (slope @ direction[..., None]) * direction[:, None, :]
    return np.asarray((np.abs(rest).max(axis=2) / size).max(axis=1))
