"""What the tests of pictures ask of axes."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import polycarve as pc
from polycarve.networks import examples

mpl.use("Agg")
SQUARE = pc.Box.cube(-3, 3, dim=2)


def axes(kind: str | None = None) -> Any:
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot(projection=kind)


def moons() -> pc.Carving:
    return pc.carve(examples.moons(), SQUARE)


def drawn(ax: Any) -> list[np.ndarray[Any, Any]]:
    """The corners of every polygon in the picture of regions."""
    return [path.vertices[:-1] for path in ax.collections[0].get_paths()]


def area(corners: np.ndarray[Any, Any]) -> float:
    x, y = (corners - corners[0]).T
    return float(0.5 * (x @ np.roll(y, -1) - np.roll(x, -1) @ y))


def shades(ax: Any) -> np.ndarray[Any, Any]:
    """The colour that each polygon is painted with."""
    ax.collections[0].update_scalarmappable()
    return np.asarray(ax.collections[0].get_facecolor())
