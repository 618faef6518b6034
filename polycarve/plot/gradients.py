"""An output as it is: affine on every region, drawn without a pixel grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.plot.colors import output_values
from polycarve.plot.windows import Polygons

FloatArray = npt.NDArray[np.float64]

# Colours, not values, are blended over a triangle, and maps of colours are curved: triangles over
# which the value changes by more than this part of all that is seen are split.
_FINE = 1 / 48
_MOST_SPLITS = 7


def draw_gradient(carving: Carving, ax: Any, parts: Polygons, unit: int, cmap: Any) -> Any:
    """Draw one unit of the output on polygons, and return what a colour bar belongs to."""
    corners, values = triangles(parts, output_values(carving, parts.corners, unit))
    from matplotlib.tri import Triangulation

    index = np.arange(3 * len(corners)).reshape(-1, 3)
    plane = Triangulation(*corners.reshape(-1, 2).T, index)
    limits = ax.get_xlim(), ax.get_ylim()
    shown = ax.tripcolor(
        plane, values.ravel(), shading="gouraud", cmap=cmap, zorder=0.9, rasterized=True
    )
    ax.set(xlim=limits[0], ylim=limits[1])
    return shown


def triangles(parts: Polygons, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return triangles ``(T, 3, 2)`` that fill polygons, and values at their corners ``(T, 3)``.

    Values are given at the polygons' corners, and affine in between: a fan of each polygon, split
    in four until the value changes little.
    """
    counts = np.diff(parts.offsets)
    fan = np.repeat(np.arange(len(parts)), counts - 2)
    begin = np.concatenate([[0], np.cumsum(counts - 2)])[fan]
    first = parts.offsets[fan]
    second = first + 1 + np.arange(len(fan)) - begin
    index = np.stack([first, second, second + 1], axis=1)
    corners, heights = parts.corners[index], values[index]
    step = _FINE * float(np.ptp(values)) if len(values) else 0.0
    done: list[tuple[FloatArray, FloatArray]] = []
    for _ in range(_MOST_SPLITS):
        is_coarse = np.ptp(heights, axis=1) > step
        done.append((corners[~is_coarse], heights[~is_coarse]))
        corners, heights = _split(corners[is_coarse]), _split(heights[is_coarse])
        if not len(corners):
            break
    done.append((corners, heights))
    return np.concatenate([c for c, _ in done]), np.concatenate([h for _, h in done])


def _split(corners: FloatArray) -> FloatArray:
    """Cut triangles, whose corners are along the second axis, in four of the same shape."""
    middles = (corners + np.roll(corners, -1, axis=1)) / 2
    a, b, c = (corners[:, k] for k in range(3))
    ab, bc, ca = (middles[:, k] for k in range(3))
    quarters = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([np.stack(quarter, axis=1) for quarter in quarters])
