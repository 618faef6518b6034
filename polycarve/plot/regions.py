"""The regions of a carving as exact polygons, intervals or cut-open solids."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.plot import lines, solids
from polycarve.plot.canvas import (
    HATCHED,
    LINES,
    axes_or_new,
    line_width,
    need_carving,
    set_limits,
)
from polycarve.plot.colors import Coloring, add_key, color_map, read_color
from polycarve.plot.gradients import draw_gradient
from polycarve.plot.overlays import draw_marks, draw_points, write_codes
from polycarve.plot.windows import (
    Polygons,
    Window,
    choose_window,
    domain_outline,
    polygons,
)

# From so many regions on, polygons become an image inside a vector file.
_RASTERIZED = 5_000
# Edges thinner than a pixel let seams between neighbours show through: faces are drawn without.
_SEAMLESS = 1_000
# Both coordinates have one scale up to this ratio of the sides of what is shown.
_LONGEST = 8.0


def plot_regions(
    carving: Carving,
    *,
    ax: Any = None,
    color: Any = "active",
    points: Any = None,
    labels: Any = None,
    marks: Any = True,
    bounds: Any = None,
    codes: bool = False,
    linewidth: float | None = None,
    cmap: Any = None,
    key: bool = True,
    view: str = "cutaway",
) -> Any:
    """Draw every region of a carving of one, two or three dimensions, exactly.

    In the plane each region is one polygon of one collection. On a line the regions are intervals
    under the graph of the outputs. In three dimensions the domain is drawn with a corner cut out
    (each region's section with the cuts is exact), or with its cells pulled apart.

    Parameters
    ----------
    carving : Carving
        On a domain of affine dimension one to three: a `Box`, a `Polytope`, a `Space`, or a `Slice`
        or `Segment` of a larger space, drawn in its own coordinates. An incomplete one is drawn as
        far as it goes, says so in its title, and what is not covered is hatched (in three
        dimensions: left out).
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure. Its scales must be linear.
    color : optional
        ``"active"``: the number of active neurons; ``("active", l)``: of those in layer l;
        ``("layer", l)``: a colour for each pattern of layer l, so that neighbours of different
        patterns have different ones; ``"output"`` or ``("output", k)``: the value of (that unit
        of) the output, which varies over a region; or R values, numbers or names, one a region.
        Numbers that are not finite are grey.
    points, labels : array-like, shape (n, d) and (n,), optional
        Data on top, in the domain's coordinates, and the class of each.
    marks : bool or list of str, optional
        On a plane `Slice`: mark ``y = (0, 0)``, ``(1, 0)`` and ``(0, 1)``, which are the three
        inputs of `Slice.through`, where they lie in the domain; the names to write at them.
    bounds : [(x0, x1), (y0, y1)], optional
        What part to show, a pair a dimension. By default what the limits set on `ax` show (not in
        three dimensions), else all of a bounded domain, and of an unbounded one a window around
        the corners of the regions.
    codes : bool
        Write regions' codes into them, but for those that would cover others.
    linewidth : float, optional
        Of the edges, in points; by default thinner, the more regions there are. 0 for none.
    cmap : optional
        A matplotlib colour map; by default viridis.
    key : bool
        Whether to add a colour bar or legend.
    view : "cutaway" or "exploded"
        Of a carving in three dimensions.

    Returns
    -------
    matplotlib Axes
        In the plane the first collection that was added, ``ax.collections[0]`` of axes that were
        empty, holds the regions.

    Raises
    ------
    InputError
        The domain has more than three dimensions (carve a slice of it), or an argument does not
        fit.
    MissingDependencyError
        matplotlib is not installed.

    Notes
    -----
    No pixel grid is involved: corners are those of `Carving.vertices`, and unbounded regions are
    clipped by their halfspaces. The output is affine on each polygon, and drawn so. Above some
    thousand regions, what a ``.pdf`` or ``.svg`` file holds of them is an image. All coordinates
    have one scale, unless what is shown is more than eight times as long as wide.

    Examples
    --------
    >>> import polycarve as pc
    >>> from matplotlib.figure import Figure
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> ax = pc.plot.plot_regions(pc.carve(net, pc.Space(2)), ax=Figure().add_subplot())
    >>> len(ax.collections[0].get_paths()), ax.get_title()
    (4, '4 activation regions')
    """
    need_carving(carving)
    rank = carving.domain.rank
    if rank == 0:
        raise InputError(f"{carving.domain!r} is a single point, and there is nothing to draw.")
    if rank > 3:
        raise InputError(
            f"{carving.domain!r} has dimension {rank}, and pictures have one to three. Carve a "
            f"polycarve.Slice of it, such as Slice.through(a, b, c)."
        )
    _check(rank, points, labels, codes, linewidth, view, bounds)
    width = line_width(len(carving)) if linewidth is None else float(linewidth)
    with axes_or_new(ax, solid=rank == 3) as ax:
        coloring = read_color(color, carving)
        in_view = len(carving)
        if rank == 3:
            shown = solids.draw(
                carving, ax, coloring, bounds=bounds, linewidth=width, cmap=cmap, view=view
            )
        elif rank == 1:
            window = choose_window(carving, bounds, ax)
            shown, in_view = lines.draw(carving, ax, coloring, window, linewidth=width, cmap=cmap)
        else:
            window = choose_window(carving, bounds, ax)
            parts = polygons(carving, window)
            draw_blank(carving, ax, window)
            shown = draw_polygons(carving, ax, parts, coloring, linewidth=width, cmap=cmap)
            if codes:
                write_codes(carving, ax, parts)
            in_view = len(parts)
        if key:
            add_key(ax, shown, coloring)
        _name_axes(carving, ax)
        ax.set_title(title(carving, in_view))
        draw_marks(carving, ax, marks)
        if points is not None:
            draw_points(carving, ax, points, labels)
        return ax


def _check(
    rank: int, points: Any, labels: Any, codes: bool, linewidth: Any, view: Any, bounds: Any
) -> None:
    """Refuse what would be left out silently."""
    if labels is not None and points is None:
        raise InputError("labels belong to points, and none were given.")
    if codes and rank != 2:
        raise InputError("codes are written into regions of a plane only. Leave codes out.")
    is_number = isinstance(linewidth, (int, float, np.number)) and 0 <= linewidth < np.inf
    if linewidth is not None and (not is_number or isinstance(linewidth, bool)):
        raise InputError(f"linewidth is {linewidth!r}; a number of points, 0 or more, is needed.")
    if view not in ("cutaway", "exploded"):
        raise InputError(f'view is {view!r}; "cutaway" or "exploded" is needed.')
    if view == "exploded" and rank != 3:
        raise InputError('view="exploded" is for carvings of three coordinates. Leave view out.')
    if view == "exploded" and bounds is not None:
        raise InputError('bounds do not clip cells pulled apart. Use view="cutaway".')


def title(carving: Carving, in_view: int) -> str:
    """Return what a picture's title says: how many regions, and whether that is all."""
    many = f"{len(carving):,} activation region{'' if len(carving) == 1 else 's'}"
    if in_view < len(carving):
        many += f" ({in_view:,} in view)"
    if carving.complete:
        return many
    return f"at least {many}\n(incomplete: stopped by {carving.stop_reason})"


def draw_blank(carving: Carving, ax: Any, window: Window | None) -> None:
    """Set the limits, and lay out the domain: blank, or hatched where regions may be missing."""
    from matplotlib.patches import Polygon

    lower, upper = (bound[carving.domain.free] for bound in carving.domain.bounds())
    if window:
        lower, upper = window.lower, window.upper
    outline = domain_outline(carving, window)
    if outline and not carving.complete:
        ax.add_patch(Polygon(outline, **HATCHED))
    set_limits(ax, x=(lower[0], upper[0]), y=(lower[1], upper[1]))
    size = upper - lower
    # Of what is much longer than wide nothing could be told apart at one scale.
    ax.set_aspect("equal" if size.max() <= _LONGEST * size.min() else "auto")


def draw_polygons(
    carving: Carving,
    ax: Any,
    parts: Polygons,
    coloring: Coloring,
    *,
    linewidth: float,
    cmap: Any = None,
) -> Any:
    """Add the polygons as one collection, and return what a colour bar belongs to."""
    from matplotlib.collections import PathCollection, PolyCollection

    chosen, norm = color_map(coloring, cmap)
    many = len(carving) >= _RASTERIZED
    faces = PolyCollection(parts.split(), cmap=chosen, norm=norm, zorder=1, rasterized=many)
    faces.set_array(np.ma.masked_invalid(coloring.values[parts.region]))
    ax.add_collection(faces, autolim=False)
    shown = faces
    if coloring.output is not None and len(parts):
        shown = draw_gradient(carving, ax, parts, coloring.output, chosen)
        faces.set_array(None)
        faces.set_facecolor("none")
    if len(carving) < _SEAMLESS or coloring.output is not None:
        faces.set(edgecolor=LINES, linewidth=linewidth)
        return shown
    faces.set(edgecolor="none", antialiased=False)
    if linewidth:
        edges = PathCollection(faces.get_paths(), facecolor="none", edgecolor=LINES)
        edges.set(linewidth=linewidth, zorder=1.2, rasterized=many)
        ax.add_collection(edges, autolim=False)
    return shown


def _name_axes(carving: Carving, ax: Any) -> None:
    name = "x" if carving.domain.embedding is None else "y"
    for axis, j in zip("xyz", carving.domain.free.tolist(), strict=False):
        ax.set(**{f"{axis}label": f"${name}_{{{j + 1}}}$"})
