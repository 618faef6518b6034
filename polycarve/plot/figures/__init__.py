"""The figures of a text on how depth and width carve, each a function that returns a Figure.

Everything in them is exact (polygons, lines, counts) but for the class probability of `moons`,
which is a raster under exact edges.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from polycarve.plot.canvas import need_matplotlib
from polycarve.plot.figures.classifier import moons, moons_layers
from polycarve.plot.figures.counting import growth, lines
from polycarve.plot.figures.shares import volumes
from polycarve.plot.figures.spaces import depth
from polycarve.storage import write_aside

FIGURES: dict[str, Callable[[], Any]] = {
    "moons": moons,
    "moons-layers": moons_layers,
    "lines": lines,
    "growth": growth,
    "depth": depth,
    "volumes": volumes,
}


def write_figures(folder: str | Path, *, dpi: float = 100) -> list[Path]:
    """Write every figure as a PNG into a folder that exists, and return the paths."""
    need_matplotlib()
    paths = []
    for name, draw in FIGURES.items():
        path = Path(folder) / f"{name}.png"
        save = partial(draw().savefig, format="png", dpi=dpi)
        write_aside(path, save)
        paths.append(path)
    return paths


__all__ = ["FIGURES", "depth", "growth", "lines", "moons", "moons_layers", "volumes"]
__all__ += ["write_figures"]
