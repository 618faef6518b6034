"""Where pictures are drawn: matplotlib, loaded on first use, and its axes.

No setting of matplotlib's is changed, and pyplot is used only to open a figure where none is given,
so that notebooks and ``plt.show()`` find it.
"""

from __future__ import annotations

from typing import Any

from polycarve.errors import InputError, MissingDependencyError

# The palette of M. Okabe and K. Ito, told apart with any colour vision; black is kept for lines.
PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")

BACKGROUND = "#f4f4f4"
LINES = "#1a1a1a"


def need_matplotlib(purpose: str = "drawing") -> None:
    """Refuse to draw without matplotlib, naming the extra that installs it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", purpose) from None


def axes_or_new(ax: Any, *, size: tuple[float, float] = (6.4, 5.2), solid: bool = False) -> Any:
    """Return the axes given, having seen that they are some, or those of a new figure."""
    need_matplotlib()
    if ax is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
        return figure.add_subplot(projection="3d" if solid else None)
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
    return ax


def new_figure(width: float, height: float) -> Any:
    """Return a figure for a file, of which pyplot knows nothing."""
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line_width(n_regions: int) -> float:
    """Return how thick the edges of so many regions can be, in points."""
    return float(min(0.8, max(0.08, 8.0 / n_regions**0.5))) if n_regions else 0.8
