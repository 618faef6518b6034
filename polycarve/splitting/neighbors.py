"""The patterns behind the facets of many regions, by the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.splitting.kernels import arrays
from polycarve.splitting.kernels import neighbors as kernels
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.program import Program
from polycarve.splitting.simplex import Workspace, root_dtype

IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# Regions that are looked at at a time.
_CHUNK = 1 << 14


class Beyond(NamedTuple):
    """What lies behind facets.

    Attributes
    ----------
    packed : (M, ceil(N / 8)) uint8
        The pattern behind each facet; rows of the domain's sides mean nothing.
    carrier_offsets : (M + 1,) int64
    carriers : int64
        The cuts on each facet, by rising index; none on sides of the domain.
    """

    packed: BitArray
    carrier_offsets: IntArray
    carriers: IntArray


def find_patterns(
    program: Program,
    packed: BitArray,
    offsets: IntArray,
    facet_cuts: IntArray,
    is_generic: npt.NDArray[np.bool_],
) -> Beyond:
    """Find the patterns behind the facets of regions.

    Parameters
    ----------
    program : Program
    packed : (R, ceil(N / 8)) uint8
    offsets : (R + 1,) int64
        Region i has the facets ``offsets[i] .. offsets[i + 1] - 1``.
    facet_cuts : (M,) int64
        The cut that each lies on; negative for a side of the domain.
    is_generic : (R,) bool
        Whether each facet of a region is known to lie on one cut alone.
    """
    announce(kernels.find_patterns)
    n, k = program.n_cuts, program.n_free
    work = Workspace(program, root_dtype(program), 0)
    beyond = arrays.Forms(np.empty(n * (k + 1)), np.empty(n), np.empty(n))
    spare = arrays.NeighborRoom(
        np.zeros(n, np.int8),
        np.zeros(n, np.int8),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.bool_),
    )
    out = np.zeros((len(facet_cuts), packed.shape[1]), np.uint8)
    counts = np.zeros(len(facet_cuts), np.int64)
    carriers = []
    for start in range(0, len(packed), _CHUNK):
        regions = np.ascontiguousarray(packed[start : start + _CHUNK])
        first = offsets[start]
        last = offsets[min(start + _CHUNK, len(packed))]
        room = np.empty(int(last - first) + 64, np.int64)
        while True:
            total = kernels.find_patterns(
                work.problem,
                work.forms,
                beyond,
                spare,
                regions,
                is_generic[start : start + len(regions)],
                offsets[start : start + len(regions) + 1] - first,
                facet_cuts[first:last],
                out[first:last],
                counts[first:last],
                room,
            )
            if total <= len(room):
                break
            room = np.empty(total, np.int64)
        carriers.append(room[:total])
    return Beyond(
        out,
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([np.zeros(0, np.int64), *carriers]),
    )


def find_mates(offsets: IntArray, neighbors: IntArray) -> IntArray:
    """Return the same facet seen from the region behind it, ``(M,)``; -1 where there is none."""
    mates = np.empty(len(neighbors), np.int64)
    kernels.find_mates(offsets, neighbors, mates)
    return mates
