"""A carving layer by layer, one panel each."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.plot.canvas import axes_or_new, need_matplotlib
from polycarve.plot.regions import plot_regions

_MOST_COLUMNS = 4


def plot_layers(
    carving: Carving, *, axes: Any = None, color: str = "active", **options: Any
) -> Any:
    """Draw the regions after each layer, one panel a layer.

    Parameters
    ----------
    carving : Carving
        Of one to three dimensions, as for `plot_regions`.
    axes : sequence of matplotlib Axes, optional
        One a layer; by default those of a new figure.
    color : "active" or "layer"
        By how many neurons of the panel's layer are active, or a colour for each of its patterns.
    **options
        Of `plot_regions`, for every panel.

    Returns
    -------
    ndarray of matplotlib Axes, one a layer

    Raises
    ------
    InputError
        No layer was carved, or `axes` are not as many as layers.

    Examples
    --------
    >>> import polycarve as pc
    >>> from matplotlib.figure import Figure
    >>> from polycarve.networks import examples
    >>> carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    >>> axes = pc.plot.plot_layers(carving, axes=Figure().subplots(1, 3))
    >>> [ax.get_title() for ax in axes]
    ['layer 1: 13 regions', 'layer 2: 43 regions', 'layer 3: 66 regions']
    """
    need_matplotlib()
    n = carving.n_layers
    if not n:
        raise InputError("no layer was carved, so there is none to draw. Use plot_regions.")
    if color not in ("active", "layer"):
        raise InputError(f'color is {color!r}; "active" or "layer" is needed.')
    panels = _new_axes(carving) if axes is None else list(np.ravel(axes))
    if len(panels) != n:
        raise InputError(f"{len(panels)} axes were given; one a layer, {n}, are needed.")
    for ax in panels:
        axes_or_new(ax, solid=carving.domain.rank == 3)
    for layer, ax in enumerate(panels, start=1):
        coarse = carving.at_layer(layer)
        plot_regions(coarse, ax=ax, color=(color, layer), **options)
        least = "" if carving.complete else "at least "
        many = f"{len(coarse):,} region{'' if len(coarse) == 1 else 's'}"
        ax.set_title(f"layer {layer}: {least}{many}", fontsize="medium")
    return np.array(panels, dtype=object)


def _new_axes(carving: Carving) -> list[Any]:
    from matplotlib import pyplot as plt

    n = carving.n_layers
    columns = min(n, _MOST_COLUMNS)
    rows = -(-n // columns)
    figure = plt.figure(figsize=(4.4 * columns, 3.6 * rows), layout="constrained")
    kind = "3d" if carving.domain.rank == 3 else None
    return [figure.add_subplot(rows, columns, k + 1, projection=kind) for k in range(n)]
