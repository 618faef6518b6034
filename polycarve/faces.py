"""How many faces of each dimension the complex of all regions has.

Corners of neighbouring regions are known to be one where they meet on a shared facet; so
everything is decided facet by facet, among few points, and never by comparing all points of the
complex.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.adjacency import Adjacency
from polycarve.domains import Domain
from polycarve.errors import GeometryError
from polycarve.geometry import HalfspaceColumns, Halfspaces
from polycarve.rational import rank
from polycarve.shapes import split

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Directions that differ by less are parallel.
_PARALLEL = 1e-12
# In coordinates in which the nearest faces of a region are one away.
_ON_FACE = 1e-7


def f_vector(
    adjacency: Adjacency,
    facets: HalfspaceColumns | None = None,
    points: FloatArray | None = None,
) -> tuple[int, ...]:
    """Count the faces of each dimension, ``(f_0, ..., f_d)``, in up to three dimensions.

    Parameters
    ----------
    adjacency : Adjacency
        A facet without another side counts once, as those on the domain's boundary do.
    facets, points
        The regions' facets and interior points, if not those of the carving.

    Raises
    ------
    GeometryError
        More than three dimensions, three of an unbounded domain, or corners that float64 cannot
        tell apart.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> f_vector(pc.carve(net, pc.Box.cube(-1, 1, dim=2)).adjacency())
    (9, 12, 4)
    """
    carving = adjacency.carving
    d = carving.domain.rank
    facets = carving.facet_columns() if facets is None else facets
    points = carving.points if points is None else points
    if d > 3:
        raise GeometryError(f"faces are counted in up to three dimensions; here there are {d}.")
    n_facets = len(facets.source) - int((adjacency.mate >= 0).sum()) // 2
    if d == 0:
        return (len(adjacency),)
    if d == 1:
        return n_facets, len(adjacency)
    if d == 2:
        return _n_corners(adjacency, facets), n_facets, len(adjacency)
    if not carving.domain.is_bounded:
        raise GeometryError("faces of unbounded regions are counted in up to two dimensions.")
    return *_n_corners_and_edges(adjacency, facets, points), n_facets, len(adjacency)


def euler_characteristic(domain: Domain) -> int:
    """Return the alternating sum of the numbers of faces that any complex on a domain has.

    It is 1 if the domain is bounded. An unbounded polyhedron is a flat of dimension l times one
    without lines: ``(-1)^l`` if that is bounded, else 0.
    """
    if domain.is_bounded:
        return 1
    sides = domain.exact_sides()[:, :-1]
    spanned = rank(sides) if len(sides) else 0
    sign = -1 if (domain.rank - spanned) % 2 else 1
    if not spanned:
        return sign
    across = np.linalg.svd(sides.float64)[2][:spanned]
    return sign if geometry.is_bounded(sides.float64 @ across.T) else 0


def _n_corners(adjacency: Adjacency, facets: HalfspaceColumns) -> int:
    """Count the corners of regions in the plane, those at one place once.

    A region's edges follow each other by the angle of their normals. An edge ends where, from its
    other side, it begins.
    """
    A = facets.A / np.linalg.norm(facets.A, axis=1)[:, None]
    order = np.lexsort((np.arctan2(A[:, 1], A[:, 0]), adjacency.region))
    places = np.arange(len(order))
    following = places + 1
    filled = np.diff(facets.offsets) > 0
    following[facets.offsets[1:][filled] - 1] = facets.offsets[:-1][filled]
    here, there = A[order], A[order[following]]
    turn = here[:, 0] * there[:, 1] - here[:, 1] * there[:, 0]
    meet = turn > (-np.inf if adjacency.carving.domain.is_bounded else _PARALLEL)
    begin, end = np.full((2, len(order)), -1)
    end[order[meet]] = begin[order[following[meet]]] = np.arange(meet.sum())
    rows = np.flatnonzero(adjacency.mate >= 0)
    pairs = np.stack([end[rows], begin[adjacency.mate[rows]]])
    return _n_classes(int(meet.sum()), pairs[:, (pairs >= 0).all(axis=0)])[0]


def _n_classes(n: int, pairs: IntArray) -> tuple[int, IntArray]:
    """Return how many things n are if pairs of them are one, and which one each is."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(pairs.shape[1], np.int8), (pairs[0], pairs[1])), (n, n))
    count, label = connected_components(graph, directed=False) if n else (0, np.zeros(0, np.int64))
    return int(count), label


def _n_corners_and_edges(
    adjacency: Adjacency, facets: HalfspaceColumns, points: FloatArray
) -> tuple[int, int]:
    """Count corners and edges of bounded regions in space."""
    free = adjacency.carving.domain.free
    corners, on_facet, edges = [], [], []
    start = 0
    for region, (part, point) in enumerate(zip(split(facets), points[:, free], strict=True)):
        if not len(part.b):
            raise GeometryError(f"region {region} has no shape.")
        found, incident = _polyhedron(part, point, region)
        corners.append(found)
        on_facet += [start + np.flatnonzero(column) for column in incident.T]
        common = np.triu(incident.astype(np.int64) @ incident.T >= 2, k=1)
        edges.append(start + np.argwhere(common))
        start += len(found)
    places = np.concatenate([np.zeros((0, 3)), *corners])
    pairs = [np.zeros((2, 0), np.int64)]
    for facet in np.flatnonzero(adjacency.mate > np.arange(len(adjacency.mate))):
        mine, theirs = on_facet[facet], on_facet[adjacency.mate[facet]]
        pairs.append(_matched(mine, theirs, places, int(adjacency.region[facet])))
    n_corners, label = _n_classes(len(places), np.concatenate(pairs, axis=1))
    ends = np.sort(label[np.concatenate([np.zeros((0, 2), np.int64), *edges])], axis=1)
    return n_corners, len(np.unique(ends, axis=0))


def _polyhedron(
    part: Halfspaces, point: FloatArray, region: int
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return a region's corners, and which of its facets each is on."""
    corners = geometry.vertices(part.A, part.b, point)
    room = part.b - part.A @ point
    scale = 1.0 / np.abs(part.A / room[:, None]).max(axis=0)
    rows = part.A * scale
    reach = (corners - point) / scale
    away = (room - reach @ rows.T) / np.linalg.norm(rows, axis=1)
    incident = away <= _ON_FACE * (1 + np.linalg.norm(reach, axis=1))[:, None]
    common = incident.astype(np.int64) @ incident.T
    n_edges = int(np.triu(common >= 2, k=1).sum())
    # Its own faces obey Euler's formula, or corners were mixed up.
    if len(corners) - n_edges + len(part.b) != 2 or (incident.sum(axis=0) < 3).any():
        raise GeometryError(f"the corners of region {region} cannot be told apart.")
    return corners, incident


def _matched(mine: IntArray, theirs: IntArray, places: FloatArray, region: int) -> IntArray:
    """Pair the corners that two regions have on the facet between them."""
    pairs: Sequence[IntArray] = ()
    if len(mine) == len(theirs):
        apart = np.abs(places[mine][:, None] - places[theirs][None]).max(axis=2)
        pairs = mine, theirs[apart.argmin(axis=1)]
        near = apart.min(axis=1).max() <= 1e-4 * np.ptp(places[mine], axis=0).max()
        if near and len(np.unique(pairs[1])) == len(mine):
            return np.stack(pairs)
    raise GeometryError(f"the corners of region {region} cannot be told from its neighbour's.")
