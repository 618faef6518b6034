"""Shares of volume in the space that a layer sees, and among the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.domains import Box
from polycarve.images import image_volumes
from polycarve.networks import examples
from polycarve.plot.canvas import LINES, new_figure
from polycarve.plot.figures.classifier import moons_carving
from polycarve.recursion import carve


def volumes() -> Any:
    """Return the figure of both shares of every region, for two networks."""
    figure = new_figure(9.0, 5.7)
    left, right = figure.subplots(1, 2)
    draw_shares(left, carve(examples.fig19(), Box.cube(-4, 6, dim=2)))
    left.set_title("2-2-2-2")
    draw_shares(right, moons_carving())
    right.set_title("two moons, 2-5-5-5-2")
    handles, names = right.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_shares(ax: Any, carving: Carving) -> None:
    """Draw the share of its parent that every region of layers 2, 3, ... has, in both places.

    Parents that the layer leaves whole are left out.
    """
    ax.axline((0, 0), slope=1, color="#999999", linewidth=0.8, zorder=0)
    full = carving.domain.rank
    for layer in range(2, carving.n_layers + 1):
        found = image_volumes(carving, layer)
        is_cut = np.bincount(found.parent)[found.parent] > 1
        for keeps, shade, what in (
            (True, "#0072b2", "image keeps its dimension"),
            (False, "#d55e00", "image loses dimensions"),
        ):
            rows = is_cut & ((found.rank == full) == keeps)
            ax.plot(
                found.share[rows], found.image_share[rows], "os^Dv"[(layer - 2) % 5], color=shade,
                markeredgecolor=LINES, markeredgewidth=0.5, markersize=6, alpha=0.8,
                label=f"layer {layer}: {what}",
            )  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="share of the region it was cut from", ylabel="share of that region's image")
