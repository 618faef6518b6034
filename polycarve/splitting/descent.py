"""The facets of all regions of a complete list at once, down the tree of splits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.splitting.facets import SplitTree, facet_room
from polycarve.splitting.kernels import arrays, descent
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.program import Program
from polycarve.splitting.simplex import Workspace, root_dtype

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# Regions that are looked at at a time.
_CHUNK = 2048
# Corners kept at each level of the tree, and how many numbers their edges may take in all.
_LIST = 64
_MOST_NUMBERS = 1 << 21


class FacetCodes(NamedTuple):
    """Where the facets of regions come from.

    Attributes
    ----------
    offsets : (R + 1,) int64
        Region i has the facets ``offsets[i] .. offsets[i + 1] - 1``: cuts by rising index, then the
        domain's sides by their numbers.
    codes : (M,) int64
        The cut, or ``-1 - face`` for a face of the frame.
    failed : (R,) bool
        Regions in which no vertex could be found; they have no facets here.
    """

    offsets: IntArray
    codes: IntArray
    failed: npt.NDArray[np.bool_]


def find_codes(
    program: Program, packed: BitArray, points: FloatArray, tree: SplitTree
) -> FacetCodes:
    """Find where the facets of all regions of a complete list come from.

    Parameters
    ----------
    program : Program
    packed : (R, ceil(N / 8)) uint8
        Increasing: else the list is no tree.
    points : (R, k)
        Interior points in free coordinates.
    tree : SplitTree
        That of the list.
    """
    announce(descent.descend)
    work = Workspace(program, root_dtype(program), 0)
    spare, is_side, order = facet_room(work, program)
    corners, path = _tree_room(program)
    parts: list[tuple[IntArray, IntArray]] = []
    for start in range(0, len(packed), _CHUNK):
        bits = np.unpackbits(packed[start : start + _CHUNK], axis=1, count=program.n_cuts)
        counts = np.zeros(len(bits), np.int64)
        codes = np.empty(len(bits) * (program.n_cuts + len(order)), np.int64)
        used = descent.descend(
            work.problem,
            work.forms,
            work.cell,
            work.room,
            spare,
            corners,
            path,
            bits,
            np.ascontiguousarray(points[start : start + _CHUNK]),
            start,
            tree.cuts,
            tree.after,
            is_side,
            order,
            work.counters,
            counts,
            codes,
        )
        parts.append((counts, codes[:used].copy()))
    counts = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    return FacetCodes(
        np.cumsum([0, *np.maximum(counts, 0)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]),
        counts < 0,
    )


def _tree_room(program: Program) -> tuple[arrays.Corners, arrays.Path]:
    k, n, m = program.n_free, program.n_cuts, program.side_rows.shape[1]
    faces = 2 * k + m + n + 1
    places = min(_LIST * (n + 1), max(2 * _LIST, _MOST_NUMBERS // k**2))
    corners = arrays.Corners(
        points=np.empty((places, k)),
        bases=np.empty((places, k), np.int64),
        edges=np.empty((places, k, k)),
        homes=np.empty(places, np.int64),
        ages=np.empty(places, np.int64),
        free=np.empty(places, np.int64),
        lists=np.empty((n + 1, _LIST), np.int64),
        counts=np.zeros(n + 1, np.int64),
    )
    path = arrays.Path(
        cuts=np.full(n + 1, -1),
        gone=np.empty(faces, np.int64),
        beyond=np.zeros((n + 1, faces), np.uint8),
        sizes=np.empty(faces),
        chain=np.empty(n, np.int64),
        ahead=np.empty(faces, np.int64),
        behind=np.empty(faces, np.int64),
        values_ahead=np.empty(faces),
        values_behind=np.empty(faces),
        T=np.empty((k, k)),
        squares=np.empty(k),
        plane=np.empty(k + 1),
        ints=np.zeros(2, np.int64),
    )
    return corners, path
