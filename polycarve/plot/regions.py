"""The regions of a plane domain as exact polygons."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving, Region
from polycarve.domains import Box
from polycarve.errors import InputError, MissingDependencyError

FloatArray = npt.NDArray[np.float64]


def plot_regions(carving: Carving, *, ax: Any = None) -> Any:
    """Draw every region of a two-dimensional carving as a polygon.

    Parameters
    ----------
    carving : Carving
        On a `Box` of two coordinates.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        Regions are coloured by how many neurons are active.
    """
    box = carving.domain
    if not isinstance(box, Box) or box.rank != 2 or box.dim != 2:
        raise InputError(f"{box!r} cannot be drawn: a Box of two sides, neither flat, is needed.")
    try:
        from matplotlib import pyplot as plt
        from matplotlib.collections import PolyCollection
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", "drawing regions") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 6), layout="constrained")
    polygons = [polygon(region) for region in carving]
    collection = PolyCollection(polygons, edgecolor="black", linewidth=0.6, cmap="viridis")
    collection.set_array(carving.patterns.sum(axis=1))
    ax.add_collection(collection)
    lo, hi = box.lo.float64, box.hi.float64
    ax.set(xlim=(lo[0], hi[0]), ylim=(lo[1], hi[1]), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(f"{len(carving)} activation regions")
    ax.figure.colorbar(collection, ax=ax, label="active neurons", shrink=0.8)
    return ax


def polygon(region: Region) -> FloatArray:
    """Return the corners of a region of a plane box, in order: the box, clipped side by side."""
    box = region.domain
    assert isinstance(box, Box)
    (x0, y0), (x1, y1) = box.lo.float64, box.hi.float64
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    start = 0
    for A, c in region.network.preactivation_maps(region.full_pattern)[: len(region.widths)]:
        signs = np.where(region.pattern[start : start + len(c)] == 1, 1.0, -1.0)
        start += len(c)
        for a, constant in zip(signs[:, None] * A, signs * c, strict=True):
            corners = _clip(corners, corners @ a + constant)
    return corners


def _clip(corners: FloatArray, heights: FloatArray) -> FloatArray:
    """Keep the part of a convex polygon where a form, known at its corners, is not negative."""
    if np.all(heights >= 0):
        return corners
    kept = []
    for i, height in enumerate(heights):
        j = (i + 1) % len(heights)
        if height >= 0:
            kept.append(corners[i])
        if (height < 0) != (heights[j] < 0):
            share = height / (height - heights[j])
            kept.append(corners[i] + share * (corners[j] - corners[i]))
    return np.array(kept).reshape(-1, 2)
