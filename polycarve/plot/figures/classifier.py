"""The classifier of two moons: its training, its class probability, its layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.domains import Box
from polycarve.networks import examples
from polycarve.plot.canvas import LINES, new_figure
from polycarve.plot.colors import layer_bits
from polycarve.plot.regions import plot_regions
from polycarve.recursion import carve

_PIXELS = 300
_CLASSES = ("#0072b2", "#e69f00")


def moons_carving() -> Carving:
    """Return the 66 regions of the shipped classifier on ``[-3, 3]^2``."""
    return carve(examples.moons(), Box.cube(-3, 3, dim=2))


def moons() -> Any:
    """Return the figure of the loss, and of the class probability under the regions' edges."""
    from matplotlib.colors import LinearSegmentedColormap

    carving, training = moons_carving(), examples.moons_training()
    figure = new_figure(9.0, 4.0)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
    left.semilogy(training.loss, color=LINES, linewidth=1.2)
    last = len(training.loss) - 1
    left.plot(last, training.loss[-1], "o", color=LINES, markersize=4)
    left.grid(linestyle="dotted", alpha=0.8)
    left.set(xlabel="step", ylabel="cross-entropy")
    left.set_title(f"loss of the last of {last + 1} steps: {training.loss[-1]:.2e}")

    # The raster: the middle of every pixel. All else is exact.
    lower, upper = -3.0, 3.0
    middle = lower + (upper - lower) * (np.arange(_PIXELS) + 0.5) / _PIXELS
    grid = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    scores = carving.network(grid)
    probability = 1 / (1 + np.exp(np.clip(scores[:, 0] - scores[:, 1], -500, 500)))
    shades = LinearSegmentedColormap.from_list("classes", [_CLASSES[0], "white", _CLASSES[1]])
    image = right.imshow(
        probability.reshape(_PIXELS, _PIXELS), origin="lower", extent=(lower, upper, lower, upper),
        cmap=shades, vmin=0, vmax=1, interpolation="nearest", zorder=0,
    )  # fmt: skip
    plot_regions(carving, ax=right, color=np.zeros(len(carving)), key=False)
    regions = right.collections[0]
    regions.set_array(None)
    regions.set_facecolor("none")
    _draw_data(right, training)
    figure.colorbar(image, ax=right, label="probability of class 1")
    right.set_title(f"{len(carving)} activation regions")
    return figure


def moons_layers() -> Any:
    """Return the figure of the regions after each layer, by how many of its neurons are active.

    The last layer's are weighted by what they contribute to the score of class 1.
    """
    carving, training = moons_carving(), examples.moons_training()
    figure = new_figure(10.5, 3.0)
    panels = figure.subplots(1, carving.n_layers)
    for layer, ax in enumerate(panels, start=1):
        coarse = carving.at_layer(layer)
        bits = layer_bits(coarse, layer)
        if layer < carving.n_layers:
            plot_regions(coarse, ax=ax, color=("active", layer))
        else:
            weights = carving.network.layers[-1].weight.float64[1]
            plot_regions(coarse, ax=ax, color=bits @ weights)
            figure.axes[-1].set_ylabel("active, weighted for class 1")
        _draw_data(ax, training)
        ax.set_title(f"layer {layer}: {len(coarse)} regions", fontsize="medium")
    return figure


def _draw_data(ax: Any, training: examples.Training) -> None:
    for label, shade in enumerate(("white", "black")):
        rows = training.points[training.labels == label]
        ax.scatter(*rows.T, s=3, color=shade, edgecolors="#777777", linewidths=0.2, zorder=3)
