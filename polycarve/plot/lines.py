"""The regions of a line: intervals, under the graph of the outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.plot.canvas import HATCHED, LINES, make_pale, set_limits
from polycarve.plot.colors import Coloring, color_map, output_values
from polycarve.plot.windows import Window, spread, whole

FloatArray = npt.NDArray[np.float64]

# More graphs than this in one picture say nothing.
_MOST_OUTPUTS = 10


def draw(
    carving: Carving,
    ax: Any,
    coloring: Coloring,
    window: Window | None,
    *,
    linewidth: float,
    cmap: Any,
) -> tuple[Any, int]:
    """Draw intervals as upright bands, and the outputs as broken lines over them.

    Returns the bands and how many there are.
    """
    from matplotlib.collections import PolyCollection

    window = window or whole(carving)
    lower, upper = float(window.lower[0]), float(window.upper[0])
    low, high = intervals(carving)
    low, high = np.maximum(low, lower), np.minimum(high, upper)
    seen = np.flatnonzero(low < high)
    low, high = low[seen], high[seen]
    height = np.tile([0.0, 0.0, 1.0, 1.0], (len(seen), 1))
    bands = np.stack([np.stack([low, high, high, low], axis=1), height], axis=2)
    if coloring.output is not None:
        middle = output_values(carving, (low + high)[:, None] / 2, coloring.output)
        coloring = replace(coloring, values=_put(middle, seen, len(carving)))
    chosen, norm = color_map(coloring, cmap)
    shown = PolyCollection(list(bands), cmap=chosen, norm=norm, edgecolor=LINES)
    shown.set(linewidth=linewidth, transform=ax.get_xaxis_transform(), zorder=1)
    shown.set_array(np.ma.masked_invalid(coloring.values[seen]))
    ax.add_collection(shown, autolim=False)
    make_pale(ax, shown, 0.6, on_white=not carving.complete)
    low_end, high_end = (float(bound[carving.domain.free][0]) for bound in carving.domain.bounds())
    if not carving.complete and max(low_end, lower) < min(high_end, upper):
        ax.axvspan(max(low_end, lower), min(high_end, upper), **HATCHED)
    set_limits(ax, x=(lower, upper))
    n_outputs = carving.network.n_outputs
    is_whole = carving.n_layers == len(carving.network.cut_widths)
    if is_whole and n_outputs <= _MOST_OUTPUTS and len(seen):
        order = np.argsort(low)
        gap = np.full(len(seen), np.nan)  # lifts the pen where an incomplete carving has a hole
        ends = np.stack([low[order], high[order], gap], axis=1).ravel()
        outputs = np.full((len(ends), n_outputs), np.nan)
        is_end = np.isfinite(ends)
        outputs[is_end] = carving.network(_inputs(carving, ends[is_end]))
        ax.plot(ends, outputs, color=LINES, linewidth=1.5, zorder=2)
        ax.set_ylabel("output" if n_outputs == 1 else "outputs")
    else:
        ax.set_yticks([])
    return shown, len(seen)


def intervals(carving: Carving) -> tuple[FloatArray, FloatArray]:
    """Return both ends of every region in the free coordinate; infinite where there is none."""
    columns = carving.facet_columns()
    a, region = columns.A[:, 0], np.repeat(np.arange(len(carving)), np.diff(columns.offsets))
    ends = columns.b / a
    low, high = np.full(len(carving), -np.inf), np.full(len(carving), np.inf)
    np.maximum.at(low, region[a < 0], ends[a < 0])
    np.minimum.at(high, region[a > 0], ends[a > 0])
    return low, high


def _put(values: FloatArray, rows: npt.NDArray[np.int64], n: int) -> FloatArray:
    column = np.full(n, np.nan)
    column[rows] = values
    return column


def _inputs(carving: Carving, t: FloatArray) -> FloatArray:
    return carving.domain.embed(spread(carving, t[:, None]))
