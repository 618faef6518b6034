"""Facets of many regions at once, by the simplex kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polycarve.splitting.kernels import arrays, halfspaces, split_tree
from polycarve.splitting.kernels import facets as kernels
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.program import Program
from polycarve.splitting.simplex import Workspace, root_dtype

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# Regions whose candidates are held at a time.
_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class FacetColumns:
    """Irredundant halfspaces of regions, in free coordinates.

    Attributes
    ----------
    offsets : (n + 1,) int64
        Region i has the rows ``offsets[i] .. offsets[i + 1] - 1``: cuts by rising index, then the
        domain's sides by their numbers.
    sources : (M,) int64
        The cut, or ``-1 - face`` for a face of the frame.
    rows : (M, k + 1) float64
        ``[a, b]``, meaning ``a @ u <= b``.
    failed : (n,) bool
        Regions in which no vertex could be found; they have no rows.
    """

    offsets: IntArray
    sources: IntArray
    rows: FloatArray
    failed: npt.NDArray[np.bool_]


class SplitTree:
    """The tree of splits that a sorted list of patterns is: who split whose ancestors."""

    def __init__(self, first_difference: IntArray) -> None:
        self.cuts = first_difference
        self.before = np.empty_like(first_difference)
        self.after = np.empty_like(first_difference)
        split_tree.nearest_smaller(first_difference, self.before, self.after)

    def ancestors(self, regions: range, n_cuts: int) -> tuple[IntArray, IntArray]:
        """Return, as offsets and values, the cuts that split an ancestor of each region."""
        room = np.empty(n_cuts + 1, np.int64)
        found = []
        for region in regions:
            count = split_tree.ancestor_cuts(region, self.cuts, self.before, self.after, room)
            found.append(room[:count].copy())
        offsets = np.cumsum([0, *(len(cuts) for cuts in found)])
        return offsets, np.concatenate([np.zeros(0, np.int64), *found])


def find_rows(
    program: Program, packed: BitArray, offsets: IntArray, sources: IntArray
) -> FloatArray:
    """Return the halfspaces ``[a, b]`` of regions' facets, ``(M, k + 1)``.

    Parameters
    ----------
    program : Program
    packed : (R, ceil(N / 8)) uint8
    offsets : (R + 1,) int64
        Region i has the facets ``offsets[i] .. offsets[i + 1] - 1``.
    sources : (M,) int64
        The cut of each, or ``-1 - face``.
    """
    announce(halfspaces.write_rows)
    work = Workspace(program, root_dtype(program), 0)
    rows = np.empty((len(sources), program.n_free + 1))
    for start in range(0, len(packed), _CHUNK):
        bits = np.unpackbits(packed[start : start + _CHUNK], axis=1, count=program.n_cuts)
        halfspaces.write_rows(
            work.problem,
            work.forms,
            work.cell.marks,
            bits,
            offsets[start : start + len(bits) + 1],
            sources,
            rows,
        )
    return rows


def find_facets(
    program: Program,
    bits: BitArray,
    points: FloatArray,
    tree: SplitTree | None,
    first_region: int = 0,
) -> FacetColumns:
    """Find the irredundant halfspaces of regions.

    Parameters
    ----------
    program : Program
    bits : (n, N)
    points : (n, k)
        Interior points in free coordinates.
    tree : SplitTree, optional
        Of the complete list in which these are the regions from `first_region` on; without it,
        every cut is a candidate.
    """
    k, n_cuts = program.n_free, program.n_cuts
    work = Workspace(program, root_dtype(program), 0)
    spare, is_side, order = facet_room(work, program)
    parts: list[tuple[IntArray, IntArray, FloatArray]] = []
    announce(kernels.find_facets)
    for start in range(0, len(bits), _CHUNK):
        chunk = bits[start : start + _CHUNK]
        if tree is None:
            offsets = np.arange(len(chunk) + 1) * n_cuts
            cuts = np.tile(np.arange(n_cuts), len(chunk))
        else:
            first = first_region + start
            offsets, cuts = tree.ancestors(range(first, first + len(chunk)), n_cuts)
        room = len(cuts) + len(program.frame.sides) * len(chunk)
        counts = np.zeros(len(chunk), np.int64)
        sources, rows = np.empty(room, np.int64), np.empty((room, k + 1))
        used = kernels.find_facets(
            work.problem,
            work.forms,
            work.cell,
            work.room,
            spare,
            chunk,
            np.ascontiguousarray(points[start : start + _CHUNK]),
            offsets,
            cuts,
            is_side,
            order,
            work.counters,
            counts,
            sources,
            rows,
        )
        parts.append((counts, sources[:used].copy(), rows[:used].copy()))
    counts = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    return FacetColumns(
        np.cumsum([0, *np.maximum(counts, 0)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]),
        np.concatenate([np.zeros((0, k + 1)), *(part[2] for part in parts)]),
        counts < 0,
    )


def facet_room(work: Workspace, program: Program) -> tuple[arrays.FacetRoom, BitArray, IntArray]:
    """Return room to look for facets in, and the faces that are sides of the domain.

    These as a mask of the box's sides, and, all of them, in the order of their numbers.
    """
    k = program.n_free
    room = arrays.FacetRoom(
        np.empty(k),
        np.empty(k),
        np.empty(len(work.room.rates), np.int8),
        np.empty(k, np.int64),
        np.empty((k, k)),
        np.empty(k),
    )
    sides = np.array(program.frame.sides, dtype=np.int64)
    order = np.argsort(sides, kind="stable")
    return room, (sides[: 2 * k] >= 0).astype(np.uint8), order[sides[order] >= 0]
