"""The regions of a solid: the domain with a corner cut out, or its cells pulled apart.

The cut-away shows the outside that faces the viewer, and the three faces of the cut: exact sections
of the regions with planes. The viewer looks straight into the cut, so nothing that is drawn hides
anything else, and no order of painting can be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.errors import GeometryError, InputError
from polycarve.plot.canvas import LINES, set_limits
from polycarve.plot.colors import Coloring, color_map, output_values
from polycarve.plot.windows import Point, Row, Window, clip, clipped, read_box, spread, whole

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ELEVATION, _AZIMUTH = 24.0, -52.0
# Signs of the corner that is cut out: the one towards the viewer.
_CORNER = np.array([1.0, -1.0, 1.0])
_MOST_EXPLODED = 1_000
_PULL = 0.35
# Sides shorter than this part of the longest are drawn longer than they are.
_LONGEST = 4.0


class _Plane(NamedTuple):
    """The plane ``origin + y @ basis`` seen from the side that `normal` points to."""

    origin: FloatArray
    basis: FloatArray
    normal: FloatArray


class Faces(NamedTuple):
    """Polygons in space and the region that each is a part of."""

    polygons: list[FloatArray]
    region: list[int]
    edges: list[FloatArray]


def draw(
    carving: Carving,
    ax: Any,
    coloring: Coloring,
    *,
    bounds: Any,
    linewidth: float,
    cmap: Any,
    view: str,
) -> Any:
    """Draw a carving of three dimensions on axes with projection 3d."""
    from matplotlib.ticker import MaxNLocator
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    window = box_seen(carving, bounds)
    faces = exploded(carving, window) if view == "exploded" else cutaway(carving, window, bounds)
    coloring = replace(coloring, values=coloring.values[faces.region])
    if coloring.output is not None and faces.polygons:
        middles = np.array([polygon.mean(axis=0) for polygon in faces.polygons])
        coloring = replace(coloring, values=output_values(carving, middles, coloring.output))
    chosen, norm = color_map(coloring, cmap)
    shown = Poly3DCollection(faces.polygons, cmap=chosen, norm=norm, edgecolor="none")
    shown.set_array(np.ma.masked_invalid(coloring.values))
    many = len(faces.polygons) > 5_000
    shown.set(rasterized=many, antialiased=False, zorder=1)
    ax.computed_zorder = False  # so that data is on top, as in the plane
    if view == "exploded":  # here edges are hidden with their cells
        shown.set(edgecolor=LINES, linewidth=linewidth, antialiased=True)
    ax.add_collection3d(shown, autolim=False)
    if view == "cutaway" and linewidth and faces.edges:
        lines = Line3DCollection(faces.edges, colors=LINES, linewidths=linewidth)
        lines.set(rasterized=many, zorder=shown.get_zorder() + 1)
        ax.add_collection3d(lines, autolim=False)
    room = 1 + _PULL if view == "exploded" else 1.0
    middle, half = (window.lower + window.upper) / 2, (window.upper - window.lower) / 2 * room
    low, high = middle - half, middle + half
    set_limits(ax, x=(low[0], high[0]), y=(low[1], high[1]), z=(low[2], high[2]))
    ax.set_box_aspect(np.maximum(half, half.max() / _LONGEST))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(4, prune="both"))
    ax.view_init(elev=_ELEVATION, azim=_AZIMUTH)
    return shown


def box_seen(carving: Carving, bounds: Any) -> Window:
    """Return the box that is shown."""
    if bounds is not None:
        return read_box(bounds, 3)
    return whole(carving)


# ---------------------------------------------------------------------- the cut-away


def cutaway(carving: Carving, window: Window, bounds: Any) -> Faces:
    """Return what is seen of a domain with a corner cut out: parts of its sides and of the cut."""
    middle = (window.lower + window.upper) / 2
    if not carving.domain.contains(spread(carving, middle[None]))[0]:  # a pointed polytope
        middle = carving.points[:, carving.domain.free].mean(axis=0)
    found = Faces([], [], [])
    sides = list(_domain_sides(carving))
    if not carving.domain.is_bounded or bounds is not None:
        sides += _box_sides(window)
    for plane in sides:
        if plane.normal @ _towards_viewer() > 1e-9:
            _add(carving, window, plane, found, middle, is_outside=True)
    for j in range(3):
        normal = np.zeros(3)
        normal[j] = _CORNER[j]
        plane = _Plane(middle, np.delete(np.eye(3), j, axis=0), normal)
        _add(carving, window, plane, found, middle, is_outside=False)
    return found


def _towards_viewer() -> FloatArray:
    up, round_ = np.radians([_ELEVATION, _AZIMUTH])
    return np.array([np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)])


def _domain_sides(carving: Carving) -> Iterator[_Plane]:
    domain = carving.domain
    for form in domain.exact_sides().float64:
        normal, constant = -form[:-1][domain.free], form[-1]
        length = float(np.linalg.norm(normal))
        if length:
            normal, constant = normal / length, constant / length
            yield _Plane(normal * constant, _basis(normal), normal)


def _box_sides(window: Window) -> list[_Plane]:
    sides = []
    for j in range(3):
        for corner, sign in ((window.lower, -1.0), (window.upper, 1.0)):
            normal = np.zeros(3)
            normal[j] = sign
            sides.append(_Plane(corner, np.delete(np.eye(3), j, axis=0), normal))
    return sides


def _basis(normal: FloatArray) -> FloatArray:
    """Return two unit vectors across a unit vector."""
    first = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = first - (first @ normal) * normal
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first)])


def _add(
    carving: Carving,
    window: Window,
    plane: _Plane,
    found: Faces,
    middle: FloatArray,
    *,
    is_outside: bool,
) -> None:
    """Add the sections of all regions with a plane: all but the cut-out corner, or that alone."""
    basis = plane.basis
    near = (middle - plane.origin) @ basis.T  # where the plane is nearest to the middle
    size = float(np.linalg.norm(window.upper - window.lower))
    square = [
        (float(near[0] + a * size), float(near[1] + b * size))
        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    start = clip(square, _box_rows(window, plane))
    corner = [row for row in _corner_rows(middle, plane) if row is not None]
    if not is_outside:
        start = clip(start, corner) if start else []
    if not start:
        return
    parts = clipped(carving, start, _crossed(carving, plane), **plane._asdict())
    for region, polygon in zip(parts.region.tolist(), parts.split(), strict=True):
        flat = [(float(x), float(y)) for x, y in polygon]
        for piece, seam in _without(flat, corner) if is_outside else [(flat, None)]:
            space = plane.origin + np.array(piece) @ basis
            found.polygons.append(space)
            found.region.append(region)
            for i, j in pairwise([*range(len(piece)), 0]):
                if seam is None or not (_lies_on(piece[i], seam) and _lies_on(piece[j], seam)):
                    found.edges.append(space[[i, j]])


def _box_rows(window: Window, plane: _Plane) -> list[Row]:
    rows = []
    for sign, corner in ((-1.0, window.lower), (1.0, window.upper)):
        slack = sign * (corner - plane.origin)
        for j in range(3):
            a0, a1 = (sign * plane.basis[:, j]).tolist()
            if abs(a0) + abs(a1) <= 1e-12:  # along the plane: all of it is inside, or none
                a0, a1 = 0.0, 0.0
            rows.append((a0, a1, float(slack[j])))
    return rows


def _corner_rows(middle: FloatArray, plane: _Plane) -> list[Row | None]:
    """Return the cut-out corner as rows in the plane; None for one that the plane lies along."""
    rows: list[Row | None] = []
    for j in range(3):
        a0, a1 = (-_CORNER[j] * plane.basis[:, j]).tolist()
        slack = float(-_CORNER[j] * (middle - plane.origin)[j])
        rows.append((a0, a1, slack) if abs(a0) + abs(a1) > 1e-12 else None)
    return rows


def _without(polygon: list[Point], corner: list[Row]) -> Iterator[tuple[list[Point], Row | None]]:
    """Yield convex pieces of what a corner leaves of a polygon, each with the seam it has."""
    rest = polygon
    for row in corner:
        outside = (-row[0], -row[1], -row[2])
        piece = clip(rest, [outside])
        inside = clip(rest, [row])
        if piece:
            # Where the piece goes on beyond the corner, the cut between them is no edge.
            yield piece, None if piece is rest else row
        rest = inside
        if not rest:
            return


def _lies_on(point: Point, row: Row) -> bool:
    size = abs(row[0] * point[0]) + abs(row[1] * point[1]) + abs(row[2])
    return abs(row[0] * point[0] + row[1] * point[1] - row[2]) <= 1e-9 * max(size, 1e-300)


def _crossed(carving: Carving, plane: _Plane) -> IntArray:
    """Return the regions that may meet a plane."""
    try:
        cells = carving.cells()
    except GeometryError:
        return np.arange(len(carving))
    height = (cells.vertices[:, carving.domain.free] - plane.origin) @ plane.normal
    height = np.where(cells.is_ray, np.nan, height)
    counts = np.diff(cells.vertex_offsets)
    is_closed = (counts > 0) & ~_has_ray(cells)
    low, high = np.full(len(carving), -np.inf), np.full(len(carving), np.inf)
    rows = np.flatnonzero(counts)
    first = cells.vertex_offsets[:-1][rows]
    low[rows], high[rows] = np.fmin.reduceat(height, first), np.fmax.reduceat(height, first)
    reach = 1e-9 * max(float(np.nanmax(np.abs(height), initial=0.0)), 1e-300)
    return np.flatnonzero(~is_closed | ((low <= reach) & (high >= -reach)))


def _has_ray(cells: Any) -> npt.NDArray[np.bool_]:
    region = np.repeat(np.arange(len(cells)), np.diff(cells.vertex_offsets))
    return np.bincount(region[cells.is_ray], minlength=len(cells)) > 0


# ---------------------------------------------------------------------- pulled apart


def exploded(carving: Carving, window: Window) -> Faces:
    """Return the facets that face the viewer, of cells moved away from the middle."""
    if not carving.domain.is_bounded:
        raise InputError(
            f"{carving.domain!r} is unbounded, so its cells cannot be pulled apart. Use "
            f'view="cutaway", or carve a Box.'
        )
    if len(carving) > _MOST_EXPLODED:
        raise InputError(
            f"{len(carving):,} cells pulled apart would hide each other; the most is "
            f'{_MOST_EXPLODED:,}. Use view="cutaway".'
        )
    cells = carving.cells()
    middle, viewer = (window.lower + window.upper) / 2, _towards_viewer()
    found = Faces([], [], [])
    free = carving.domain.free
    owner = np.repeat(np.arange(len(carving)), np.diff(cells.facet_offsets))
    for facet, (first, stop) in enumerate(pairwise(cells.incidence_offsets.tolist())):
        region = int(owner[facet])
        corners = cells.vertices[cells.incidence[first:stop]][:, free]
        own = cells.vertices[cells.vertex_offsets[region] : cells.vertex_offsets[region + 1]]
        centre = own[:, free].mean(axis=0)
        # A plane through the corners: across the direction in which they extend least.
        flat = corners - corners.mean(axis=0)
        axes = np.linalg.svd(flat, full_matrices=True)[2]
        outward = axes[2] * np.sign(axes[2] @ (corners.mean(axis=0) - centre))
        if outward @ viewer <= 0:  # the far side of a convex cell is never seen
            continue
        x, y = flat @ axes[0], flat @ axes[1]
        found.polygons.append(corners[np.argsort(np.arctan2(y, x))] + _PULL * (centre - middle))
        found.region.append(region)
    return found
