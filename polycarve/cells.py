"""The cells of a carving: the vertices and facets of all regions, and which lie on which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.splitting.cells import Shapes
from polycarve.splitting.kernels.cones import mark_rays
from polycarve.splitting.kernels.neighbors import sort_facets
from polycarve.splitting.program import Program

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


# A corner of a cut-off cone whose last coordinate is below this, relative to the others, lies at
# infinity.
_INFINITE = 1e-12


@dataclass(frozen=True, eq=False)
class RegionCells:
    """All regions as polytopes, in columns.

    Attributes
    ----------
    vertex_offsets : (R + 1,) int64
        Region i has the rows ``vertex_offsets[i] .. vertex_offsets[i + 1] - 1`` of `vertices`.
    vertices : (V, d) float64
        In the domain's coordinates; in the plane, bounded regions have theirs anticlockwise. Every
        region has its own: those shared by neighbours are there once for each.
    is_ray : (V,) bool
        Whether a row is not a vertex but a direction in which the region goes on for ever. Regions
        that contain a line have no rows at all. In float64: a vertex 1e12 away counts as a ray.
    facet_offsets : (R + 1,) int64
    source : (F,) int64
        Where each facet comes from: a neuron's index, or ``-1 - k`` for side k of the domain; of
        each region the neurons by rising index, then the sides.
    incidence_offsets : (F + 1,) int64
        Facet f has the vertices ``incidence[incidence_offsets[f] : incidence_offsets[f + 1]]``.
    incidence : int64
        Rows of `vertices`.
    is_generic : (R,) bool
        Whether each facet of a region is known to lie on the hyperplane of one neuron alone. Where
        it is not known, others may share it.
    """

    vertex_offsets: IntArray
    vertices: FloatArray
    is_ray: npt.NDArray[np.bool_]
    facet_offsets: IntArray
    source: IntArray
    incidence_offsets: IntArray
    incidence: IntArray
    is_generic: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Number of regions."""
        return len(self.vertex_offsets) - 1

    def __repr__(self) -> str:
        n, m = len(self.vertices), len(self.source)
        return f"RegionCells({len(self)} regions, {n} vertices, {m} facets)"


def single_point(point: FloatArray) -> RegionCells:
    """Return the cell of a domain that is one point."""
    none, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
    ends, no_facets = np.array([0, 1]), np.zeros(2, np.int64)
    no_ray, generic = np.zeros(1, np.bool_), np.ones(1, np.bool_)
    return RegionCells(ends, point[None], no_ray, no_facets, none, one, none, generic)


class FacetSources(NamedTuple):
    """Where the facets of all regions come from: see `RegionCells`, which has the same columns."""

    offsets: IntArray
    source: IntArray
    is_generic: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, offsets: IntArray, source: IntArray) -> FacetSources:
        """Return them where nothing more is known."""
        return cls(offsets, source, np.zeros(len(offsets) - 1, np.bool_))


def collect_sources(program: Program, shapes: Shapes) -> FacetSources:
    """Return what a method recorded of facets, without their vertices."""
    source, is_real = _sources(program, shapes.codes)
    region = np.repeat(np.arange(len(shapes.counts)), shapes.counts[:, 1])
    offsets = _offsets(np.bincount(region[is_real], minlength=len(shapes.counts)))
    source = source[is_real]
    sort_facets(offsets, source)
    return FacetSources(offsets, source, shapes.generic)


def _sources(program: Program, codes: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the neuron or the side of the domain for each code, and whether it is either."""
    side = np.array(program.frame.sides, dtype=np.int64)[np.maximum(-1 - codes, 0)]
    # Not real is the end of a cut-off cone.
    return np.where(codes >= 0, codes, -1 - side), (codes >= 0) | (side >= 0)


def collect(program: Program, shapes: Shapes) -> RegionCells:
    """Return what a method recorded, in the domain's coordinates."""
    frame, n = program.frame, len(shapes.counts)
    vertex_offsets = _offsets(shapes.counts[:, 0])
    facet_region = np.repeat(np.arange(n), shapes.counts[:, 1])
    links = shapes.links + np.repeat(vertex_offsets[facet_region], shapes.link_counts)
    source, is_real = _sources(program, shapes.codes)
    corners, is_ray = shapes.corners, np.zeros(len(shapes.corners), np.bool_)
    if frame.is_cone:
        end = shapes.codes == -program.n_free  # the lower side of the last coordinate: infinity
        reach = np.abs(corners).max(axis=1)
        kept = _extreme(vertex_offsets, shapes, is_real | end)
        is_ray = corners[:, -1] <= _INFINITE * reach
        scale = np.where(is_ray | ~kept, 1.0, corners[:, -1])
        points = corners[:, :-1] / scale[:, None]
    else:
        kept, points = np.ones(len(corners), np.bool_), program.unframe(corners)
    # Facets in the order of their sources, vertices in that of their angles.
    rank = np.where(source >= 0, source, program.n_cuts - 1 - source)
    facets = np.lexsort((rank, facet_region))
    facets = facets[is_real[facets]]
    order = _order(points, vertex_offsets, kept, frame.n_free == 2 and not frame.is_cone, corners)
    place = np.full(len(corners), -1)
    place[order] = np.arange(len(order))
    counts = shapes.link_counts[facets]
    moved = np.repeat(_offsets(shapes.link_counts)[facets] - _offsets(counts)[:-1], counts)
    incidence = place[links[moved + np.arange(len(moved))]]
    facet_of = np.repeat(np.arange(len(facets)), counts)
    counts = np.bincount(facet_of[incidence >= 0], minlength=len(facets))
    per_region = np.add.reduceat(kept, vertex_offsets[:-1]) if n else np.zeros(0, np.int64)
    return RegionCells(
        _offsets(per_region),
        points[order],
        is_ray[order],
        _offsets(np.bincount(facet_region[facets], minlength=n)),
        source[facets],
        _offsets(counts),
        incidence[incidence >= 0],
        shapes.generic,
    )


def _offsets(counts: npt.NDArray[np.integer]) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _order(
    points: FloatArray,
    offsets: IntArray,
    kept: npt.NDArray[np.bool_],
    is_plane: bool,
    corners: FloatArray,
) -> IntArray:
    """Return the rows that stay, region by region; in the plane, each anticlockwise."""
    rows = np.flatnonzero(kept)
    if not is_plane:
        return rows
    region = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    middle = np.add.reduceat(corners, offsets[:-1]) / np.diff(offsets)[:, None]
    x, y = (corners - middle[region]).T
    return np.lexsort((np.arctan2(y, x), region))


def _extreme(
    vertex_offsets: IntArray, shapes: Shapes, is_used: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return which corners of cut-off cones lie on their extreme rays."""
    kept = np.zeros(len(shapes.corners), np.bool_)
    is_apex = np.abs(shapes.corners).max(axis=1) < 0.5  # all others lie on the cut-off
    most_corners, most_facets = shapes.counts.max(axis=0, initial=0)
    mark_rays(
        vertex_offsets,
        _offsets(shapes.counts[:, 1]),
        _offsets(shapes.link_counts),
        shapes.links,
        is_used,
        is_apex,
        np.zeros((most_facets, most_corners), np.bool_),
        kept,
    )
    return kept
