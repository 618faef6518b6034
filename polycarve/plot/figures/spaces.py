"""How three layers of two neurons carve: each layer's own space over the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.domains import Box, Space
from polycarve.images import layer_images
from polycarve.networks import examples
from polycarve.plot.arrangements import draw_line
from polycarve.plot.borders import draw_bends
from polycarve.plot.canvas import LINES, new_figure
from polycarve.plot.colors import Coloring, layer_bits
from polycarve.plot.regions import draw_polygons
from polycarve.plot.windows import polygons
from polycarve.recursion import carve

FloatArray = npt.NDArray[np.float64]

# A pattern of two neurons, as a number, to its colour: none, the second, the first, both.
CLASS_COLORS = ("#d9603b", "#74b9e6", "#f2e66b", "#4bb38f")
CLASS_NAMES = ("ii: none active", "ia: the second", "ai: the first", "aa: both")
NEURON_COLORS = ("#7f2704", "#08306b")
_REACH = 10.0


def classes(carving: Carving, layer: int) -> npt.NDArray[np.int64]:
    """Return each region's pattern in one layer of two neurons as a number from 0 to 3."""
    return np.asarray(layer_bits(carving, layer).astype(np.int64) @ np.array([2, 1]))


def depth() -> Any:
    """Return the figure of the network 2-2-2-2.

    Above, each layer's lines and normals in the space it sees, with the image of every class of
    the layer before in its colour. Below, the inputs by the pattern of the layer, with its own bent
    lines and those of the layers before.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    network = examples.fig19()
    whole = carve(network, Space(2))
    seen = carve(network, Box.cube(-4, 6, dim=2))
    figure = new_figure(10.5, 7.4)
    panels = figure.subplots(2, 3)
    for layer in (1, 2, 3):
        draw_space(panels[0, layer - 1], whole, layer)
        draw_inputs(panels[1, layer - 1], seen, layer)
    handles: list[Any] = [
        Patch(facecolor=shade, edgecolor=LINES, linewidth=0.5, label=name)
        for shade, name in zip(CLASS_COLORS, CLASS_NAMES, strict=True)
    ]
    names = ("first neuron of the layer", "second neuron")
    handles += [
        Line2D([], [], color=shade, linewidth=2.0, label=name)
        for shade, name in zip(NEURON_COLORS, names, strict=True)
    ]
    handles.append(Line2D([], [], color=LINES, linewidth=0.8, label="layers before"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_space(ax: Any, whole: Carving, layer: int) -> None:
    """Draw the space that a layer sees: its lines, and the images of what comes before."""
    ax.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    ax.axhline(0, color="#999999", linewidth=0.8, zorder=0.5)
    ax.axvline(0, color="#999999", linewidth=0.8, zorder=0.5)
    if layer > 1:
        for rank, kind, shape in images(whole, layer - 1):
            _draw_image(ax, rank, CLASS_COLORS[kind], shape)
    part = whole.network.layers[layer - 1]
    for k, (w, b) in enumerate(zip(part.weight.float64, part.bias.float64, strict=True)):
        name = f"$H_{{{2 * layer - 1 + k}}}$"
        draw_line(ax, w, float(b), color=NEURON_COLORS[k], name=name, at=0.35 + 0.3 * k)
    where = "the inputs" if layer == 1 else f"the space after layer {layer - 1}"
    ax.set_title(f"layer {layer} sees {where}", fontsize="medium")


def images(whole: Carving, layer: int) -> list[tuple[int, int, FloatArray]]:
    """Return the images of all regions after a layer: rank, class, and corners as far as seen.

    The least rank comes last. What goes on for ever is followed far beyond the picture; in the
    picture it is exact.
    """
    coarse, found = whole.at_layer(layer), layer_images(whole, layer)
    kinds, shapes = classes(coarse, layer), []
    for k, rank in enumerate(found.rank.tolist()):
        rows = slice(found.offsets[k], found.offsets[k + 1])
        points, is_ray = found.points[rows], found.is_ray[rows]
        ends = points[~is_ray]
        rays = points[is_ray]
        length = np.linalg.norm(rays, axis=1)
        rays = rays[length > 1e-9] / length[length > 1e-9][:, None]
        far = (ends[:, None] + 100 * _REACH * rays[None]).reshape(-1, 2)
        shapes.append((rank, int(kinds[k]), np.concatenate([ends, far])))
    return sorted(shapes, key=lambda shape: -shape[0])


def _draw_image(ax: Any, rank: int, shade: str, shape: FloatArray) -> None:
    if rank == 0:
        ax.plot(*shape[0], "o", color=shade, markeredgecolor=LINES, markersize=9, zorder=3.5)
    elif rank == 1:
        at = shape @ (shape[np.argmax(np.linalg.norm(shape - shape[0], axis=1))] - shape[0])
        ends = shape[[int(np.argmin(at)), int(np.argmax(at))]]
        ax.plot(*ends.T, color=shade, linewidth=8.0, zorder=1.5, solid_capstyle="butt")
    else:
        from matplotlib.patches import Polygon
        from scipy.spatial import ConvexHull

        corners = shape[ConvexHull(shape).vertices]
        ax.add_patch(Polygon(corners, facecolor=shade, alpha=0.6, edgecolor="none", zorder=1))


def draw_inputs(ax: Any, seen: Carving, layer: int) -> None:
    """Draw the inputs by the pattern of one layer, with the bent lines up to there."""
    coarse = seen.at_layer(layer)
    lower, upper = coarse.domain.bounds()
    ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), aspect="equal")
    coloring = Coloring(classes(coarse, layer).astype(np.float64), "", True, CLASS_COLORS)
    draw_polygons(coarse, ax, polygons(coarse, None), coloring, linewidth=0.0)
    earlier = list(range(2 * (layer - 1)))
    if earlier:
        draw_bends(coarse, ax, None, neurons=earlier, colors=LINES, linewidths=0.8, zorder=2)
    for k, shade in enumerate(NEURON_COLORS):
        own = [2 * (layer - 1) + k]
        draw_bends(coarse, ax, None, neurons=own, colors=shade, linewidths=2.2, zorder=2.5)
    ax.set_title(f"inputs, after layer {layer}: {len(coarse)} regions", fontsize="medium")
