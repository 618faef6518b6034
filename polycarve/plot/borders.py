"""The facets of a plane carving as segments: pieces of bent lines, what graph edges cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.plot.windows import Window

FloatArray = npt.NDArray[np.float64]


def segments(carving: Carving, window: Window | None) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return both ends of every facet, ``(M, 2, 2)``, and whether any of it is seen.

    Facets are in the order of `Carving.facet_columns`. Each is what the region's other halfspaces,
    and the window's sides, leave of the line it lies on.
    """
    columns = carving.facet_columns()
    A, b, n = columns.A, columns.b, np.diff(columns.offsets)
    region = np.repeat(np.arange(len(carving)), n)
    # From the foot of the region's own point, so that few digits cancel.
    point = carving.points[:, carving.domain.free][region]
    foot = point - ((np.einsum("ij,ij->i", A, point) - b) / (A**2).sum(axis=1))[:, None] * A
    along = np.stack([-A[:, 1], A[:, 0]], axis=1)
    along /= np.linalg.norm(along, axis=1)[:, None]
    # Every facet with every other of its region.
    many = n[region]
    facet = np.repeat(np.arange(len(b)), many)
    start = np.cumsum(many) - many
    other = np.arange(len(facet)) - np.repeat(start - columns.offsets[region], many)
    keep = facet != other
    facet, other = facet[keep], other[keep]
    low, high = np.full(len(b), -np.inf), np.full(len(b), np.inf)
    _bound(facet, A[other], b[other], foot[facet], along[facet], low, high)
    if window is not None:
        every = np.arange(len(b))
        for sign, corner in ((-1.0, window.lower), (1.0, window.upper)):
            for j in range(2):
                row = np.zeros((len(b), 2))
                row[:, j] = sign
                _bound(every, row, np.full(len(b), sign * corner[j]), foot, along, low, high)
    is_seen = (low < high) & np.isfinite(low) & np.isfinite(high)
    low, high = np.where(is_seen, low, 0.0), np.where(is_seen, high, 0.0)
    ends = np.stack([foot + low[:, None] * along, foot + high[:, None] * along], axis=1)
    return ends, is_seen


def _bound(
    facet: npt.NDArray[np.int64],
    A: FloatArray,
    b: FloatArray,
    foot: FloatArray,
    along: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Narrow the intervals of facets by rows, in place."""
    speed, slack = (A * along).sum(axis=1), b - (A * foot).sum(axis=1)
    size = np.abs(A).max(axis=1)
    rising, falling = speed > 1e-15 * size, speed < -1e-15 * size
    np.minimum.at(high, facet[rising], slack[rising] / speed[rising])
    np.maximum.at(low, facet[falling], slack[falling] / speed[falling])
    out = ~rising & ~falling & (slack < 0)
    high[facet[out]] = -np.inf


def draw_bends(
    carving: Carving,
    ax: Any,
    window: Window | None,
    *,
    neurons: Sequence[int] | None = None,
    **style: Any,
) -> Any:
    """Draw the pieces of neurons' bent lines, of all by default; each once, though two share it.

    Returns the collection, a segment a piece.
    """
    from matplotlib.collections import LineCollection

    ends, is_seen = segments(carving, window)
    source = carving.facet_columns().source
    chosen = is_seen & (source >= 0)
    if neurons is not None:
        chosen &= np.isin(source, neurons)
    region = np.repeat(np.arange(len(carving)), np.diff(carving.facet_columns().offsets))
    neighbor = carving.adjacency().neighbor
    chosen &= (neighbor < 0) | (region < neighbor)
    pieces = LineCollection(list(ends[chosen]), **style)
    ax.add_collection(pieces, autolim=False)
    return pieces
