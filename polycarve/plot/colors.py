"""What regions are coloured by: from what a caller asks for to one colour a region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.errors import InputError, NumericalError
from polycarve.networks.codes import code_of
from polycarve.plot.canvas import PALETTE
from polycarve.plot.windows import spread

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# At most so many colours are explained; more than the palette has are tints of it.
MOST_ENTRIES = len(PALETTE)
_TINTS = (1.0, 0.62, 0.35)
_LARGE = 1e300

_KNOWN = (
    'color is "active", ("active", layer), ("layer", layer), "output", ("output", unit), or one '
    "value for every region"
)


@dataclass(frozen=True, eq=False)
class Coloring:
    """One value a region, and how it is shown.

    Attributes
    ----------
    values : (R,) float64
        Numbers for a colour map, or the number of each region's colour in `palette`.
    label : str
    is_whole : bool
        Whether the values are whole numbers, so that each has a colour of its own.
    palette : tuple of str, or None for a colour map
    entries : tuple of str
        What the colours stand for; empty where that would be too long.
    output : int or None
        The unit of the output that is shown. It varies over a region, so that `values` are not
        known here.
    """

    values: FloatArray
    label: str
    is_whole: bool = False
    palette: tuple[Any, ...] | None = None
    entries: tuple[str, ...] = ()
    output: int | None = None


def read_color(color: Any, carving: Carving) -> Coloring:
    """Return what `color` asks for."""
    name: str | None = color if isinstance(color, str) else None
    number: Any = None
    if isinstance(color, tuple) and len(color) == 2 and isinstance(color[0], str):
        name, number = color
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool):
            raise InputError(f"color is {color!r}; the number of a layer or unit must come second.")
    if name is None:
        return _given(color, len(carving))
    if name == "active":
        layer = None if number is None else _layer(number, carving)
        return _active(carving, layer)
    if name == "layer" and number is not None:
        return by_layer(carving, _layer(number, carving))
    if name == "output":
        return _output(carving, number)
    raise InputError(f"color is {color!r}. {_KNOWN}.")


def _given(values: Any, n: int) -> Coloring:
    try:
        array = np.asarray(values)
        is_text = array.dtype.kind in "US"
        if array.dtype.kind == "c":
            raise TypeError
        if not is_text:
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"color is a {type(values).__name__}. {_KNOWN}.") from None
    if array.shape != (n,):
        raise InputError(
            f"color has shape {array.shape}; {n} values, one a region, are needed. {_KNOWN}."
        )
    if is_text:
        names, which = np.unique(array, return_inverse=True)
        shades = palette(min(len(names), MOST_ENTRIES * len(_TINTS)))
        entries = tuple(map(str, names)) if len(names) <= MOST_ENTRIES else ()
        return Coloring((which % len(shades)).astype(np.float64), "", True, shades, entries)
    if (np.abs(array[np.isfinite(array)]) > _LARGE).any():
        raise InputError(f"color has values beyond {_LARGE:g}, too far apart for a colour map.")
    return Coloring(array, "")


def _layer(number: Any, carving: Carving) -> int:
    if not 1 <= number <= carving.n_layers:
        raise InputError(
            f"layer {number} is not among those carved, which are 1 to {carving.n_layers}."
        )
    return int(number)


def layer_bits(carving: Carving, layer: int) -> npt.NDArray[np.uint8]:
    """Return the part of all patterns that belongs to one layer, ``(R, n_l)``."""
    start = sum(carving.widths[: layer - 1])
    return carving.patterns[:, start : start + carving.widths[layer - 1]]


def _active(carving: Carving, layer: int | None) -> Coloring:
    bits = carving.patterns if layer is None else layer_bits(carving, layer)
    where = "" if layer is None else f" in layer {layer}"
    # Units of more pieces than two have more bits than one.
    is_plain = carving.network.cut_widths == carving.network.widths
    what = "active neurons" if is_plain else "cuts passed"
    return Coloring(bits.sum(axis=1).astype(np.float64), what + where, True)


def _output(carving: Carving, unit: int | None) -> Coloring:
    n = carving.network.n_outputs
    if carving.n_layers < len(carving.network.cut_widths):
        raise InputError(
            f"the carving stops after layer {carving.n_layers}, and the output is not affine on "
            f"its regions. Carve the whole network to colour by the output."
        )
    if unit is None and n > 1:
        raise InputError(f'there are {n} outputs; say which: ("output", 0) to ("output", {n - 1}).')
    unit = unit or 0
    if not 0 <= unit < n:
        raise InputError(f"output {unit} does not exist; there are {n}, counted from 0.")
    label = "output" if n == 1 else f"output {unit}"
    return Coloring(np.full(len(carving), np.nan), label, output=unit)


def output_values(carving: Carving, free: FloatArray, unit: int) -> FloatArray:
    """Return one unit of the output at points in free coordinates.

    Points that the eye cannot tell apart, such as the corner that several regions share, are
    looked up once.
    """
    if not len(free):
        return np.zeros(0)
    size = np.ptp(free, axis=0)
    grid = np.round((free - free.min(axis=0)) / (1e-9 * np.where(size > 0, size, 1.0)))
    order = np.lexsort(grid.T)
    is_new = np.ones(len(free), np.bool_)
    is_new[1:] = (grid[order[1:]] != grid[order[:-1]]).any(axis=1)
    which = np.empty(len(free), np.int64)
    which[order] = np.cumsum(is_new) - 1
    inputs = carving.domain.embed(spread(carving, free[order[is_new]]))
    return np.asarray(carving.network(inputs)[which, unit])


def by_layer(carving: Carving, layer: int) -> Coloring:
    """Return a colour for each pattern of one layer; where two meet, they differ."""
    packed = np.packbits(layer_bits(carving, layer), axis=1)
    patterns, which = np.unique(packed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    n = len(patterns)
    label = f"pattern of layer {layer}"
    if n <= MOST_ENTRIES:
        width = carving.widths[layer - 1]
        bits = np.unpackbits(patterns, axis=1, count=width)
        # Few neurons are named by their states, many by their number.
        codes = [code_of(row, (width,)) for row in bits] if width <= 12 else []
        return Coloring(which.astype(np.float64), label, True, palette(n), tuple(codes))
    color = _told_apart(carving, which, n)
    shades = palette(int(color.max()) + 1)
    return Coloring(color[which].astype(np.float64), f"{label} ({n:,} patterns)", True, shades)


def _told_apart(carving: Carving, which: IntArray, n: int) -> IntArray:
    """Return a colour for each of n classes of regions, different where classes share a facet."""
    most = MOST_ENTRIES * len(_TINTS)
    try:
        pairs = which[carving.adjacency().edges]
    except NumericalError:  # colours are all that is lost
        return np.arange(n) % most
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(n + 1))
    color = np.full(n, -1)
    # Those with many neighbours first. Any of the first eight that is free, in turn.
    for k, node in enumerate(np.argsort(-np.diff(starts), kind="stable").tolist()):
        taken = set(color[both[starts[node] : starts[node + 1], 1]].tolist())
        few = [(k + j) % MOST_ENTRIES for j in range(MOST_ENTRIES)]
        free = (c for c in [*few, *range(MOST_ENTRIES, most)] if c not in taken)
        color[node] = next(free, k % most)
    return color


def palette(n: int) -> tuple[Any, ...]:
    """Return n colours: those of the palette, then tints of them."""
    from matplotlib.colors import to_rgb

    shades = []
    for k in range(n):
        tint = _TINTS[min(k // MOST_ENTRIES, len(_TINTS) - 1)]
        shades.append(tuple(1 - tint * (1 - v) for v in to_rgb(PALETTE[k % MOST_ENTRIES])))
    return tuple(shades)


def color_map(coloring: Coloring, cmap: Any = None) -> tuple[Any, Any]:
    """Return the colour map and the norm that show a colouring."""
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, Normalize

    if coloring.palette is not None:
        n = len(coloring.palette)
        listed = ListedColormap(list(coloring.palette or ("#999999",)))
        return listed, BoundaryNorm(np.arange(max(n, 1) + 1) - 0.5, max(n, 1))
    finite = coloring.values[np.isfinite(coloring.values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    known = colormaps.get(cmap) if isinstance(cmap, str) else cmap
    if cmap is not None and not isinstance(known, Colormap):
        raise InputError(f"cmap is {cmap!r}, which is no colour map of matplotlib's.")
    chosen = known
    if chosen is None:  # without its darkest part, where black edges would not show
        chosen = ListedColormap(colormaps["viridis"](np.linspace(0.15, 1.0, 256)))
    chosen = chosen.with_extremes(bad="#d9d9d9")
    if coloring.is_whole and high - low <= 12:
        edges = np.arange(low, high + 2) - 0.5
        return chosen.resampled(len(edges) - 1), BoundaryNorm(edges, len(edges) - 1)
    return chosen, Normalize(low, high if high > low else low + 1.0)


def add_key(ax: Any, shown: Any, coloring: Coloring) -> None:
    """Add a bar beside the axes that tells what the colours mean."""
    from matplotlib.colors import BoundaryNorm

    if coloring.palette is not None and not coloring.entries:  # too many to be told
        ax.annotate(
            f"colours: {coloring.label}" if coloring.label else "",
            (1.0, 0.0),
            xytext=(4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            rotation=90,
            va="bottom",
            fontsize="small",
        )
        return
    bar = ax.figure.colorbar(shown, ax=ax, label=coloring.label, shrink=0.8)
    if not isinstance(shown.norm, BoundaryNorm):
        return
    if coloring.palette is not None:
        bar.set_ticks(np.arange(len(coloring.entries)), labels=coloring.entries)
    else:
        bar.set_ticks(np.asarray(shown.norm.boundaries[:-1]) + 0.5)
    bar.ax.tick_params(length=0)
    bar.ax.minorticks_off()
