"""Counting what lines, and hyperplanes, cut space into."""

from __future__ import annotations

from math import comb, factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.domains import Slice, Space
from polycarve.networks import Network
from polycarve.plot.arrangements import draw_line, line_in
from polycarve.plot.canvas import LINES, new_figure
from polycarve.plot.colors import Coloring
from polycarve.plot.regions import draw_polygons
from polycarve.plot.windows import polygons, read_box
from polycarve.recursion import carve
from polycarve.theory.arrangements import zaslavsky

FloatArray = npt.NDArray[np.float64]

# Four lines w @ x + b = 0 in general position: none is level, and all parts can be seen.
W = np.array([[0.97, 0.26], [0.96, -0.27], [0.81, 0.58], [0.53, -0.85]])
B = np.array([0.53, 0.05, 0.47, -1.11])
_BOUNDS = ((-2.0, 2.0), (-2.0, 2.0))
_NEW = "#d55e00"
_LEVEL = -1.8  # below every crossing


def arrangement(n: int) -> Carving:
    """Return the regions of the first n of the four lines, in all of the plane."""
    return carve(Network.from_arrays([W[:n]], [B[:n]], relu_last=True), Space(2))


def new_line() -> Slice:
    """Return the fourth line, with one coordinate along it."""
    w, b = W[3], B[3]
    return Slice(-b * w / (w @ w), [[-w[1], w[0]]])


def lines() -> Any:
    """Return the figure of four lines in the plane, counted in two ways."""
    figure = new_figure(11.0, 4.9)
    first, second, third = figure.subplots(1, 3)
    three, four = arrangement(3), arrangement(4)
    on_line = carve(three.network, new_line())
    r32, r31, r42 = len(three), len(on_line), len(four)

    _draw(first, three, np.zeros(len(three)), ("#e8eef4",), 3)
    _number(first, three, 1)
    first.set_title(f"three lines: $r(3, 2) = {r32}$")

    # Every piece of the new line cuts one region in two; the halves on its active side are new.
    is_active, before = four.patterns[:, 3] == 1, three.find(four.packed & np.uint8(0b11100000))
    is_new = is_active & np.isin(before, before[~is_active])
    _draw(second, four, is_new.astype(float), ("#e8eef4", "#fbd9b5"), 3)
    _draw_pieces(second, on_line)
    draw_line(second, W[3], float(B[3]), color=_NEW, name="$H_4$", normal=False, linewidth=0.0)
    second.set_title(f"$r(4, 2) = r(3, 2) + r(3, 1) = {r32} + {r31} = {r42}$")

    # Each region has a lowest point, where two lines cross, or goes down for ever; those that do
    # are met by a level line below all crossings.
    crossings = _crossings()
    is_low = np.array([_goes_down(four, k) for k in range(len(four))])
    _draw(third, four, is_low.astype(float), ("#e8eef4", "#d9ecd9"), 4)
    third.plot(*crossings.T, "o", color=LINES, markersize=6, zorder=4)
    third.axhline(_LEVEL, color=LINES, linestyle="dashed", linewidth=1.2, zorder=3)
    counts = [comb(4, i) for i in range(3)]
    third.set_title(
        r"$\binom{4}{0} + \binom{4}{1} + \binom{4}{2} = "
        + " + ".join(map(str, counts))
        + f" = {sum(counts)}$"
    )
    notes = (
        "regions between three lines",
        f"the new line has {r31} pieces,\nand each makes one region two",
        f"{len(crossings)} crossings: lowest points of regions;\n"
        f"{int(is_low.sum())} regions have none: a level line\nbelow meets them, in 1 + 4 pieces",
    )
    for ax, note in zip((first, second, third), notes, strict=True):
        ax.set_xlabel(note)
        ax.set(xticks=[], yticks=[])
    return figure


def growth() -> Any:
    """Return the figure of r(k, 10) against its leading term k^10 / 10!."""
    d, k = 10, np.arange(2, 50)
    figure = new_figure(6.0, 3.6)
    ax = figure.subplots()
    exact = [zaslavsky(d, int(m)) for m in k]
    ax.semilogy(k, exact, color="#0072b2", label=r"$r(k, 10) = \sum_{i=0}^{10} \binom{k}{i}$")
    leading = [int(m) ** d / factorial(d) for m in k]
    ax.semilogy(k, leading, color="#d55e00", linestyle="dashed", label=r"$k^{10} / 10!$")
    ax.grid(linestyle="dotted", alpha=0.8)
    ax.set(xlabel="$k$", ylabel="regions", title=r"$k$ hyperplanes in $\mathbb{R}^{10}$")
    ax.legend(loc="lower right")
    return figure


def _draw(
    ax: Any, carving: Carving, values: FloatArray, palette: tuple[str, ...], n_lines: int
) -> None:
    window = read_box(_BOUNDS)
    coloring = Coloring(values, "", True, palette)
    ax.set(xlim=_BOUNDS[0], ylim=_BOUNDS[1], aspect="equal")
    draw_polygons(carving, ax, polygons(carving, window), coloring, linewidth=0.0)
    for k in range(n_lines):
        name = f"$H_{{{k + 1}}}$"
        draw_line(ax, W[k], float(B[k]), color=LINES, name=name, normal=False, linewidth=1.4)


def _number(ax: Any, carving: Carving, first: int) -> None:
    parts = polygons(carving, read_box(_BOUNDS))
    for k, place in enumerate(parts.centroids(), start=first):
        ax.text(*place, str(k), ha="center", va="center", zorder=4)


def _draw_pieces(ax: Any, on_line: Carving) -> None:
    """Draw the pieces of the new line, told apart and numbered."""
    ends = line_in(ax, W[3], float(B[3]))
    if ends is None:
        return
    line = on_line.domain
    origin, step = line.embed([[0.0], [1.0]])
    reach = ((ends - origin) @ (step - origin)) / ((step - origin) @ (step - origin))
    stops = [reach.min(), *on_line.breakpoints.tolist(), reach.max()]
    for k in range(len(on_line)):
        ends = line.embed(np.array([[stops[k]], [stops[k + 1]]]))
        shade = (_NEW, "#8c3b00")[k % 2]
        ax.plot(*ends.T, color=shade, linewidth=4.0, zorder=3, solid_capstyle="butt")
        note = ax.text(*ends.mean(axis=0), str(k + 1), color=shade, ha="center", zorder=5)
        note.set(va="center", weight="bold")
        note.set_bbox({"boxstyle": "circle,pad=0.15", "fc": "white", "ec": shade})
    corners = line.embed(on_line.breakpoints[:, None])
    ax.plot(*corners.T, "o", color="white", markeredgecolor=LINES, markersize=5, zorder=4)


def _crossings() -> FloatArray:
    pairs = [(i, j) for i in range(4) for j in range(i)]
    return np.array([np.linalg.solve(W[[i, j]], -B[[i, j]]) for i, j in pairs])


def _goes_down(carving: Carving, region: int) -> bool:
    """Whether a region holds points as low as one likes."""
    A = carving[region].halfspaces().A
    # Some direction (t, -1) leads into none of its sides: an interval of t that is not empty.
    low, high = -np.inf, np.inf
    for a, c in A.tolist():  # a t <= c; no line is level, so a is not zero
        low, high = (low, min(high, c / a)) if a > 0 else (max(low, c / a), high)
    return low < high
