"""The region graph drawn on the regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.plot.borders import segments
from polycarve.plot.canvas import LINES, axes_or_new, make_pale, need_carving
from polycarve.plot.regions import plot_regions
from polycarve.plot.windows import Window, choose_window, polygons

_MOST_NODES = 5_000
_MOST_LETTERS = 50


def plot_graph(carving: Carving, *, ax: Any = None, bounds: Any = None, **options: Any) -> Any:
    """Draw the region graph of a plane carving on its regions.

    A node is at its region's centre of mass (of the part that is seen). An edge goes from one to
    the other through the middle of the facet that they share, so it lies in these two regions and
    crosses no other edge. Where no part of a facet is seen, no edge is drawn.

    Parameters
    ----------
    carving : Carving
        Of a domain of affine dimension two.
    ax, bounds : optional
        As for `plot_regions`.
    **options
        Of `plot_regions`, for what lies under the graph.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        The domain is no plane.

    Examples
    --------
    >>> import polycarve as pc
    >>> from matplotlib.figure import Figure
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2))
    >>> pc.plot.plot_graph(carving, ax=Figure().add_subplot()).get_title()
    '4 activation regions, 4 pairs of neighbours'
    """
    need_carving(carving)
    if carving.domain.rank != 2:
        raise InputError(
            f"{carving.domain!r} has dimension {carving.domain.rank}; the graph is drawn on "
            f"planes. Carve a Slice, or write the graph for other programs: polycarve.write_graph."
        )
    with axes_or_new(ax) as ax:
        window = choose_window(carving, bounds, ax)
        n_before = len(ax.collections)
        plot_regions(carving, ax=ax, bounds=bounds, **options)
        _draw_graph(carving, ax, window)
        make_pale(ax, ax.collections[n_before], 0.5, on_white=not carving.complete)
        n = len(carving.adjacency().edges)
        many_pairs = f"{n:,} pair{'' if n == 1 else 's'} of neighbours"
        first, *rest = ax.get_title().split("\n")
        # What is longer would be cut off beside a colour bar.
        glue = ", " if len(first) + len(many_pairs) <= _MOST_LETTERS else ",\n"
        ax.set_title("\n".join([f"{first}{glue}{many_pairs}", *rest]))
        return ax


def _draw_graph(carving: Carving, ax: Any, window: Window | None) -> None:
    """Draw nodes and edges as far as they are seen."""
    from matplotlib.collections import LineCollection

    adjacency = carving.adjacency()
    parts = polygons(carving, window)
    node = np.full((len(carving), 2), np.nan)
    node[parts.region] = parts.centroids()
    ends, is_seen = segments(carving, window)
    here, there = adjacency.region, adjacency.neighbor
    facets = np.flatnonzero(is_seen & (there > here))
    here, there = here[facets], there[facets]
    lines = np.stack([node[here], ends[facets].mean(axis=1), node[there]], axis=1)
    lines = lines[np.isfinite(lines).all(axis=(1, 2))]
    many = len(carving) >= _MOST_NODES
    width = float(np.clip(12 / max(len(carving), 1) ** 0.5, 0.15, 1.4))
    edges = LineCollection(list(lines), colors="#b2182b", linewidths=width, zorder=2)
    edges.set_rasterized(many)
    ax.add_collection(edges, autolim=False)
    size = float(np.clip(1500 / max(len(carving), 1), 0.2, 36))
    seen = node[parts.region]
    style = {"facecolor": "white", "edgecolor": LINES, "linewidth": min(0.6, width)}
    ax.scatter(*seen.T, s=size, zorder=3, rasterized=many, **style)
