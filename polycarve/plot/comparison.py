"""A comparison as a chart: every number of regions on one logarithmic axis."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from polycarve.comparison import Comparison
from polycarve.comparison.result import Row
from polycarve.errors import InputError
from polycarve.plot.canvas import axes_or_new

# Colour, marker and whether it is filled, by kind of number; told apart without colours too.
_LOOKS: dict[str, tuple[str, str, bool]] = {
    "exact": ("#000000", "D", True),
    "at least": ("#000000", ">", True),
    "seen": ("#0072B2", "o", True),
    "estimate": ("#009E73", "s", True),
    "baseline": ("#7F7F7F", "s", False),
    "upper": ("#D55E00", "<", True),
    "maximum": ("#D55E00", "D", False),
    "one layer": ("#D55E00", "d", False),
    "lower": ("#CC79A7", ">", True),
    "rule of thumb": ("#7F7F7F", "x", True),
}

_ROW_INCHES, _MARGIN_INCHES = 0.27, 1.9

# Between the two blocks, and above the first, in rows: there stands what they are about.
_GAP = 1.1


def plot_comparison(comparison: Comparison, *, ax: Any = None) -> Any:
    """Draw the numbers of a comparison as dots on a logarithmic axis, one row each.

    Above what holds for the network, below what holds for its architecture; the counted number is
    a line through both. Bars are confidence intervals, or a standard error where there is none.
    What has no value has no row.

    Parameters
    ----------
    comparison : Comparison
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure, as high as it has rows.

    Returns
    -------
    matplotlib Axes
    """
    if not isinstance(comparison, Comparison):
        raise InputError(
            f"a {type(comparison).__name__} is not a Comparison. Make one with polycarve.compare."
        )
    above = [row for row in comparison.this_network if _is_drawn(row)]
    below = [row for row in comparison.this_architecture if _is_drawn(row)]
    rows = above + below
    is_own = ax is None
    with axes_or_new(ax, size=(8.5, _MARGIN_INCHES + _ROW_INCHES * len(rows))) as ax:
        _draw_rows(comparison, ax, above, below, is_own=is_own)
        return ax


def _draw_rows(
    comparison: Comparison, ax: Any, above: list[Row], below: list[Row], *, is_own: bool
) -> None:
    """Draw all rows, their names, and what the marks mean."""
    from matplotlib.lines import Line2D

    rows = above + below
    places = [*range(len(above)), *(len(above) + _GAP + k for k in range(len(below)))]
    ends = []
    for place, row in zip(places, rows, strict=True):
        ends += _draw(ax, place, row, comparison)
    counted = _log10(comparison.regions)
    ax.axvline(counted, color="black", linewidth=0.8, linestyle="-" if comparison.complete else ":")
    _scale(ax, min(ends), max(ends))
    _label(ax, places, rows, len(above))
    ax.set_title(f"{comparison.network!r}, dimension {comparison.domain.rank}", fontsize=10.5)
    ax.set_xlabel("number of regions")
    kinds = list(dict.fromkeys(row.kind for row in rows))
    handles = [Line2D([], [], linestyle="none", label=kind, **_look(kind)) for kind in kinds]
    columns = min(5, len(kinds))
    if is_own:
        ax.figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
    else:  # whose figure may hold other axes
        below_axis = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12)}
        ax.legend(handles=handles, ncols=columns, frameon=False, **below_axis)


def _is_drawn(row: Row) -> bool:
    return row.value is not None and row.value > 0


def _draw(ax: Any, place: float, row: Row, comparison: Comparison) -> list[float]:
    """Draw a row; return how far it reaches."""
    x = _log10(row.value)
    estimate = comparison.estimate(row.name) if row.kind == "estimate" else None
    reach = [x]
    if estimate is not None:
        low, high = estimate.interval or (None, None)
        if low is None and estimate.standard_error is not None:
            low = estimate.value - estimate.standard_error
            high = estimate.value + estimate.standard_error
        if low is not None and high is not None and high > low:
            reach += [_log10(max(low, 1.0)), _log10(high)]
            ax.plot(reach[1:], [place, place], color=_LOOKS[row.kind][0], linewidth=2, alpha=0.55)
    ax.plot([x], [place], linestyle="none", zorder=3, **_look(row.kind))
    return reach


def _look(kind: str) -> dict[str, Any]:
    color, marker, is_filled = _LOOKS[kind]
    face = color if is_filled else "white"
    return {
        "marker": marker,
        "markersize": 6.5,
        "markeredgecolor": color,
        "markerfacecolor": face,
        "markeredgewidth": 1.4,
    }


def _scale(ax: Any, low: float, high: float) -> None:
    """Make an axis of exponents look like one of numbers: these may be beyond any float."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    room = 0.04 * max(high - low, 1.0)
    ax.set_xlim(low - room, high + room)
    if high - low < 1.5:  # so that more than one power of ten is labelled
        steps = [k + math.log10(m) for k in range(int(low) - 1, int(high) + 2) for m in (1, 2, 5)]
        ax.xaxis.set_major_locator(FixedLocator(steps))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    if high - low <= 9:
        fine = [k + math.log10(m) for k in range(int(low) - 1, int(high) + 2) for m in range(2, 10)]
        ax.xaxis.set_minor_locator(FixedLocator(fine))
    ax.xaxis.set_major_formatter(FuncFormatter(_tick))


def _tick(exponent: float, _: Any) -> str:
    if abs(exponent) < 5.5:
        return f"{10**exponent:,.0f}"
    return f"$10^{{{exponent:.0f}}}$"


def _label(ax: Any, places: list[float], rows: list[Row], n_above: int) -> None:
    """Write names to the left and numbers to the right of the rows."""
    ax.set_ylim(max(places) + 0.7, -0.6 - _GAP)
    ax.set_yticks(places, [row.name for row in rows])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="both", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    for place, row in zip(places, rows, strict=True):
        ax.annotate(
            row.number,
            (1.015, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            color="0.25",
        )
    titles = [("this network", places[0])]
    if n_above < len(rows):
        titles.append(("what this architecture can", places[n_above]))
        ax.axhline(places[n_above] - 0.5 - _GAP, color="0.6", linewidth=0.8)
    for title, place in titles:
        ax.annotate(
            title,
            (0.995, place - 0.5 - _GAP / 2),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=9,
            style="italic",
            color="0.35",
        )


def _log10(value: float | int | Fraction) -> float:
    if isinstance(value, Fraction):
        return math.log10(value.numerator) - math.log10(value.denominator)
    return math.log10(value)
