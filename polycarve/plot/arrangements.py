"""The lines of one layer of two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains import Space
from polycarve.errors import InputError
from polycarve.networks import Network
from polycarve.plot.canvas import LINES, axes_or_new, line_width
from polycarve.plot.regions import plot_regions
from polycarve.plot.windows import Point, clip
from polycarve.recursion import carve

FloatArray = npt.NDArray[np.float64]

# Lines of up to so many neurons are told apart: dark colours of the palette of Okabe and Ito.
LINE_COLORS = ("#d55e00", "#0072b2", "#000000", "#cc79a7", "#009e73", "#e69f00", "#56b4e9")


def plot_arrangement(
    W: Any,
    b: Any,
    *,
    ax: Any = None,
    bounds: Any = None,
    normals: bool = True,
    names: bool = True,
    **options: Any,
) -> Any:
    """Draw the lines where the neurons of one layer change state, and the regions between them.

    Parameters
    ----------
    W, b : array-like, shape (m, 2) and (m,)
        Neuron k is active where ``W[k] @ x + b[k] > 0``.
    ax : matplotlib Axes, optional
    bounds : [(x0, x1), (y0, y1)], optional
        By default around all points where lines meet.
    normals : bool
        Draw an arrow to the active side of each line.
    names : bool
        Write H_1, H_2, ... beside the lines. For few of them.
    **options
        Of `plot_regions`.

    Returns
    -------
    matplotlib Axes
        Its title has the number of different lines, and of regions in all of the plane.

    Examples
    --------
    >>> import polycarve as pc
    >>> from matplotlib.figure import Figure
    >>> W, b = [[1, 0], [0, 1], [1, 1]], [0, 0, -1]
    >>> pc.plot.plot_arrangement(W, b, ax=Figure().add_subplot()).get_title()
    '3 lines, 7 activation regions'
    """
    network = Network.from_arrays([W], [b], relu_last=True)
    if network.input_dim != 2:
        raise InputError(
            f"W has {network.input_dim} columns; lines in the plane have two. Carve a Slice of a "
            f"larger space, and use plot_regions."
        )
    with axes_or_new(ax) as ax:
        carving = carve(network, Space(2))
        n_before = len(ax.collections)
        plot_regions(carving, ax=ax, bounds=bounds, **{"linewidth": 0.0} | options)
        for collection in ax.collections[n_before:]:
            collection.set_alpha(0.45)  # pale under the lines
        _draw_lines(network, ax, line_width(len(carving)), normals=normals, names=names)
        n = int((carving.split_counts > 0).sum())  # a line that is there already cuts nothing
        many = f"{n} line{'' if n == 1 else 's'}"
        ax.set_title(f"{many}, {ax.get_title()}")
        return ax


def _draw_lines(network: Network, ax: Any, thin: float, *, normals: bool, names: bool) -> None:
    """Draw the line of every neuron that has one."""
    layer = network.layers[0]
    rows, offsets = layer.weight.float64, layer.bias.float64
    lines = np.flatnonzero((rows != 0).any(axis=1)).tolist()
    few = len(lines) <= len(LINE_COLORS)
    taken: list[FloatArray] = []
    for k, color in zip(lines, LINE_COLORS if few else [LINES] * len(lines), strict=False):
        place = draw_line(
            ax,
            rows[k],
            float(offsets[k]),
            color=color,
            name=f"$H_{{{k + 1}}}$" if names and few else "",
            normal=normals and few,
            linewidth=2.0 if few else thin,
            taken=taken,
        )
        if place is not None:
            taken.append(place)


def line_in(ax: Any, w: FloatArray, b: float) -> FloatArray | None:
    """Return both ends of what the limits of axes leave of the line ``w @ x + b = 0``."""
    (x0, x1), (y0, y1) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    frame: list[Point] = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    sides = [clip(frame, [(s * w[0], s * w[1], -s * b)]) for s in (1.0, -1.0)]
    size = float(np.abs(w).sum()) * max(map(abs, (x0, x1, y0, y1))) + abs(b)
    ends = [p for side in sides for p in side if abs(w[0] * p[0] + w[1] * p[1] + b) < 1e-9 * size]
    if len(ends) < 2:
        return None
    # The two that are furthest apart, in a fixed direction along the line.
    at = np.array(ends) @ np.array([-w[1], w[0]])
    return np.array([ends[int(np.argmin(at))], ends[int(np.argmax(at))]])


def draw_line(
    ax: Any,
    w: FloatArray,
    b: float,
    *,
    color: str,
    name: str = "",
    normal: bool = True,
    at: float = 0.5,
    linewidth: float = 2.0,
    taken: Sequence[FloatArray] = (),
) -> FloatArray | None:
    """Draw one line, named at its end, with an arrow to its active side.

    Returns the place of the name, which is none of those taken by others.
    """
    ends = line_in(ax, w, b)
    if ends is None:
        return None
    ax.plot(*ends.T, color=color, linewidth=linewidth, zorder=2.5, solid_capstyle="butt")
    extent = float(max(abs(np.diff(ax.get_xlim())[0]), abs(np.diff(ax.get_ylim())[0])))
    unit = w / np.linalg.norm(w)
    foot = ends[0] + at * (ends[1] - ends[0])
    if normal:
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", foot + 0.1 * extent * unit, foot, arrowprops=arrow, zorder=2.6)
    if not name:
        return None
    length = float(np.linalg.norm(ends[1] - ends[0]))
    along = (ends[1] - ends[0]) / max(length, 1e-300)
    for step in range(1, max(2, int(length / (0.09 * extent)))):
        place = ends[1] - 0.09 * step * extent * along + 0.035 * extent * unit
        if all(np.abs(place - other).max() > 0.07 * extent for other in taken):
            break
    note = ax.text(*place, name, color=color, ha="center", va="center", zorder=4)
    note.set_bbox({"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75})
    note.set_clip_on(True)
    return np.asarray(place)
