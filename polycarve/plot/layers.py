"""A carving layer by layer, one panel each."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.plot.canvas import check_axes, need_carving, need_matplotlib, new_panels
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
    need_carving(carving)
    if "ax" in options:
        raise InputError("ax was given; plot_layers takes axes=, one a layer.")
    n, is_solid = carving.n_layers, carving.domain.rank == 3
    if not n:
        raise InputError("no layer was carved, so there is none to draw. Use plot_regions.")
    if not isinstance(color, str) or color not in ("active", "layer"):
        raise InputError(f'color is {color!r}; "active" or "layer" is needed.')
    if axes is None:
        with new_panels(n, columns=min(n, _MOST_COLUMNS), size=(4.4, 3.6), solid=is_solid) as own:
            return _draw(carving, own, color, options)
    panels = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(set(map(id, panels))) != n or len(panels) != n:
        raise InputError(
            f"{len(panels)} axes were given; one a layer, {n} different ones, are needed."
        )
    for ax in panels:
        check_axes(ax, solid=is_solid)
    return _draw(carving, panels, color, options)


def _draw(carving: Carving, panels: list[Any], color: str, options: dict[str, Any]) -> Any:
    for layer, ax in enumerate(panels, start=1):
        coarse = carving.at_layer(layer)
        plot_regions(coarse, ax=ax, color=(color, layer), **options)
        least = "" if carving.complete else "at least "
        many = f"{len(coarse):,} region{'' if len(coarse) == 1 else 's'}"
        ax.set_title(f"layer {layer}: {least}{many}", fontsize="medium")
    return np.array(panels, dtype=object)
