"""What is put on top of regions: data, the inputs that a slice goes through, codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.domains import Slice
from polycarve.errors import InputError
from polycarve.plot.canvas import PALETTE
from polycarve.plot.windows import Polygons

FloatArray = npt.NDArray[np.float64]

# The size of the letters of codes.
_POINTS = 6
_MOST_CODES = 2_000


def draw_points(carving: Carving, ax: Any, points: Any, labels: Any) -> None:
    """Put data on top, a class in each colour and shape."""
    place = carving.domain.points(points)
    place = place[None] if place.ndim == 1 else place
    place = place[:, carving.domain.free]
    if not np.isfinite(place).all():
        n_lost = int((~np.isfinite(place)).any(axis=1).sum())
        raise InputError(f"{n_lost} of {len(place)} points are not finite. Leave them out.")
    if place.shape[1] == 1:
        place = np.concatenate([place, np.zeros_like(place)], axis=1)
    names = np.zeros(len(place)) if labels is None else np.asarray(labels)
    if names.shape != (len(place),):
        raise InputError(f"labels have shape {names.shape}; one for each of {len(place)} points.")
    size = float(np.clip(3000 / max(len(place), 1), 6, 36))
    style = {"s": size, "edgecolors": "black", "linewidths": 0.5, "zorder": 3}
    try:
        classes = np.unique(names)
        has_all = all((names == name).any() for name in classes)
    except TypeError:
        has_all = False
    if not has_all:  # NaN is no class, nor are things that have no order
        raise InputError("labels must be all numbers, none of them NaN, or all text.")
    # Two classes stand out from regions of any colour.
    shades = ("white", "black") if len(classes) <= 2 else PALETTE
    is_seen: npt.NDArray[np.bool_] = np.ones(len(place), np.bool_)
    if place.shape[1] == 3:  # axes of space do not clip
        limits = np.sort(np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()]), axis=1)
        is_seen = np.all((place >= limits[:, 0]) & (place <= limits[:, 1]), axis=1)
    for k, name in enumerate(classes):
        rows = place[(names == name) & is_seen]
        ax.scatter(
            *rows.T,
            color=shades[k % len(shades)],
            marker="os^Dv<>P"[k % 8],
            label=None if labels is None else str(name),
            **style,
        )
    if labels is not None and len(classes) <= len(PALETTE):
        from matplotlib.transforms import ScaledTranslation

        below = ScaledTranslation(0, -0.5, ax.figure.dpi_scale_trans)  # inches: under the label
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=ax.transAxes + below,
            borderaxespad=0.0, ncols=len(PALETTE), frameon=False, fontsize="small", markerscale=2.0,
        )  # fmt: skip


def draw_marks(carving: Carving, ax: Any, marks: Any) -> None:
    domain = carving.domain
    if marks is None or marks is False:
        return
    is_list = isinstance(marks, Sequence) and not isinstance(marks, str)
    if marks is not True and (not is_list or len(marks) != 3):
        raise InputError(f"marks are {marks!r}; a list of three names is needed, or True or False.")
    if not isinstance(domain, Slice) or domain.dim != 2:
        if marks is True:
            return
        raise InputError(f"marks belong to a Slice of two directions, not to {domain!r}.")
    names = ("a", "b", "c") if marks is True else tuple(marks)
    for name, y in zip(names, ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), strict=True):
        if not domain.contains(np.array([y]))[0]:
            continue
        ax.plot(*y, "o", color="white", markeredgecolor="black", markersize=7, zorder=4)
        note = ax.annotate(
            str(name), y, xytext=(6, 6), textcoords="offset points", zorder=5, color="black"
        )
        note.set_bbox({"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85})


def write_codes(carving: Carving, ax: Any, parts: Polygons) -> None:
    """Write codes into regions, the largest first; one that would cover another is left out."""
    centres = parts.centroids()
    extents = [np.ptp(corners, axis=0).prod() for corners in parts.split()]
    # About how much of the axes a letter takes, in the units of their limits.
    size = np.array([abs(np.diff(ax.get_xlim())[0]), abs(np.diff(ax.get_ylim())[0])])
    centre = np.array([sum(ax.get_xlim()), sum(ax.get_ylim())]) / 2
    inches = 0.75 * ax.bbox.size / ax.figure.dpi
    letter = np.array([0.6, 1.3]) * _POINTS / 72 / inches.min() * size
    placed: list[tuple[FloatArray, FloatArray]] = []
    for row in np.argsort(extents)[::-1][:_MOST_CODES].tolist():
        code = carving[int(parts.region[row])].code
        half = letter * (len(code), 1) / 2
        middle = centres[row]
        if (np.abs(middle - centre) + half > size / 2).any():  # the frame would cut it off
            continue
        if any((np.abs(middle - other) < half + room).all() for other, room in placed):
            continue
        placed.append((middle, half))
        note = ax.text(*middle, code, ha="center", va="center", fontsize=_POINTS, zorder=2)
        note.set_bbox({"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.7})
        note.set_clip_on(True)
