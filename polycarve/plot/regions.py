"""The regions of a plane domain as exact polygons."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError, MissingDependencyError


def plot_regions(carving: Carving, *, ax: Any = None) -> Any:
    """Draw every region of a two-dimensional carving as a polygon.

    Parameters
    ----------
    carving : Carving
        On a bounded domain of two coordinates: a `Box`, a `Polytope`, or a `Slice` of a larger
        space, which is drawn in its own coordinates.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        Regions are coloured by how many neurons are active.
    """
    domain = carving.domain
    if domain.rank != 2 or domain.dim != 2 or not domain.is_bounded:
        raise InputError(
            f"{domain!r} cannot be drawn: a bounded domain of two coordinates, neither of them "
            f"flat, is needed. Carve a Box, or a Slice of a larger space."
        )
    try:
        from matplotlib import pyplot as plt
        from matplotlib.collections import PolyCollection
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", "drawing regions") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 6), layout="constrained")
    offsets, corners = carving.vertices()
    polygons = np.split(corners, offsets[1:-1])
    collection = PolyCollection(polygons, edgecolor="black", linewidth=0.6, cmap="viridis")
    collection.set_array(carving.patterns.sum(axis=1))
    ax.add_collection(collection)
    lo, hi = domain.bounds()
    name = "x" if domain.embedding is None else "y"
    ax.set(xlim=(lo[0], hi[0]), ylim=(lo[1], hi[1]), aspect="equal")
    ax.set(xlabel=f"${name}_1$", ylabel=f"${name}_2$")
    ax.set_title(f"{len(carving)} activation regions")
    ax.figure.colorbar(collection, ax=ax, label="active neurons", shrink=0.8)
    return ax
