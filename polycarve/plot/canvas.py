"""Where pictures are drawn: matplotlib, loaded on first use, and its axes.

No setting of matplotlib's is changed, and pyplot is used only to open a figure where none is given,
so that notebooks and ``plt.show()`` find it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polycarve.carving import Carving
from polycarve.errors import InputError, MissingDependencyError

# The palette of M. Okabe and K. Ito, told apart with any colour vision; black is kept for lines.
PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")

BACKGROUND = "#f4f4f4"
LINES = "#1a1a1a"

# Where regions may be missing: a lattice that no region shows.
HATCHED: dict[str, Any] = {
    "facecolor": BACKGROUND,
    "edgecolor": "#8c8c8c",
    "hatch": "xx",
    "zorder": 0.5,
}


def need_matplotlib(purpose: str = "drawing") -> None:
    """Refuse to draw without matplotlib, naming the extra that installs it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", purpose) from None


def need_carving(carving: Any) -> None:
    """Refuse what is no carving."""
    if not isinstance(carving, Carving):
        raise InputError(f"a {type(carving).__name__} was given; a Carving is needed: carve first.")


@contextmanager
def axes_or_new(
    ax: Any, *, size: tuple[float, float] = (6.4, 5.2), solid: bool = False
) -> Iterator[Any]:
    """Hand out the axes given, having seen that they will do, or those of a new figure.

    A new figure is let go again if nothing comes of the drawing.
    """
    need_matplotlib()
    if ax is not None:
        check_axes(ax, solid=solid)
        yield ax
        return
    with new_panels(1, size=size, solid=solid) as panels:
        yield panels[0]


@contextmanager
def new_panels(
    n: int, *, columns: int = 1, size: tuple[float, float], solid: bool
) -> Iterator[list[Any]]:
    """Hand out the axes of a new figure of pyplot's, closed again after an error."""
    from matplotlib import pyplot as plt

    rows = -(-n // columns)
    figure = plt.figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    kind = "3d" if solid else None
    try:
        yield [figure.add_subplot(rows, columns, k + 1, projection=kind) for k in range(n)]
    except BaseException:
        plt.close(figure)
        raise


def check_axes(ax: Any, *, solid: bool = False) -> None:
    """Refuse what cannot be drawn on: straight lines must stay straight there."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InputError(
            f"ax is a {type(ax).__name__}; a matplotlib Axes is needed, such as "
            f"plt.subplots()[1]. Leave it out for a new figure."
        )
    if solid != (ax.name == "3d"):
        raise InputError(
            "three coordinates need axes made with projection='3d'."
            if solid
            else "these axes have projection='3d'; give plain ones for a plane or a line."
        )
    if ax.figure is None:
        raise InputError("these axes were removed from their figure. Give others.")
    if not ax.transData.is_affine:
        raise InputError(
            "these axes bend straight lines, as logarithmic and polar ones do, and regions would "
            "be drawn wrongly. Give axes with linear scales."
        )


def set_limits(ax: Any, **limits: tuple[float, float]) -> None:
    """Set limits by axis, ``x=(lo, hi)``; an axis that was turned round stays so."""
    for name, (low, high) in limits.items():
        is_turned = getattr(ax, f"{name}axis_inverted")()
        ax.set(**{f"{name}lim": (high, low) if is_turned else (low, high)})


def new_figure(width: float, height: float) -> Any:
    """Return a figure for a file, of which pyplot knows nothing."""
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line_width(n_regions: int) -> float:
    """Return how thick the edges of so many regions can be, in points."""
    return float(min(0.8, max(0.08, 8.0 / n_regions**0.5))) if n_regions else 0.8


def make_pale(ax: Any, regions: Any, alpha: float, *, on_white: bool) -> None:
    """Make regions pale; `on_white` so that what is hatched under them does not shine through."""
    from matplotlib.collections import PathCollection

    regions.set_alpha(alpha)
    if not on_white:
        return
    ground = PathCollection(regions.get_paths(), facecolor="white", edgecolor="none", zorder=0.7)
    ground.set(transform=regions.get_transform(), antialiased=False)
    ground.set_rasterized(regions.get_rasterized())
    ax.add_collection(ground, autolim=False)
