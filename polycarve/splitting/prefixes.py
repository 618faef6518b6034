"""Carving on below a few prefixes of the pattern, as far as the next layer and no further.

The loop of `drive` walks the whole tree. Whoever looks at a part of it only needs cells that begin
at a given pattern (`cells_below`), and programs that end where the next step does (`first_layers`,
`in_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.splitting.cells import Cells, cell_dtype, root_cell
from polycarve.splitting.kernels import standing
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.method import Method
from polycarve.splitting.program import ACTIVE, INACTIVE, Program
from polycarve.splitting.simplex import Workspace, root_dtype

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Cells of one program after some of its layers, in the order of their patterns.

    Attributes
    ----------
    n_layers : int
    bits : (n, cuts of these layers) uint8
    points : (n, k) float64
        In free coordinates.
    inside : (n,) bool
        Whether the point is proven to be interior.
    offsets : (n + 1,) int64
    cuts : int64
        Cell i has ancestors split by ``cuts[offsets[i] : offsets[i + 1]]``, by rising index.
    """

    n_layers: int
    bits: BitArray
    points: FloatArray
    inside: npt.NDArray[np.bool_]
    offsets: IntArray
    cuts: IntArray

    def __len__(self) -> int:
        return len(self.bits)

    def take(self, rows: Any) -> Prefixes:
        """Return those of some rows."""
        rows = np.arange(len(self))[rows]
        parts = [self.cuts[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        return Prefixes(
            self.n_layers,
            self.bits[rows],
            self.points[rows],
            self.inside[rows],
            np.cumsum([0, *map(len, parts)]).astype(np.int64),
            np.concatenate([np.zeros(0, np.int64), *parts]),
        )

    @classmethod
    def joined(cls, parts: list[Prefixes]) -> Prefixes:
        """Return several lists, of which there is at least one, as one."""
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            parts[0].n_layers,
            np.concatenate([part.bits for part in parts]),
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.inside for part in parts]),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([part.cuts for part in parts]),
        )

    @classmethod
    def domain(cls, program: Program) -> Prefixes:
        """Return the one cell before all layers."""
        none = np.zeros(0, np.int64)
        return cls(
            0,
            np.zeros((1, 0), np.uint8),
            program.centre[None],
            np.ones(1, np.bool_),
            np.zeros(2, np.int64),
            none,
        )


def first_layers(program: Program, n: int) -> Program:
    """Return the program of the first so many layers."""
    cuts = int(program.starts[n])
    return replace(
        program,
        starts=program.starts[: n + 1].copy(),
        weights=program.weights[: program.weight_starts[n]].copy(),
        weight_starts=program.weight_starts[: n + 1].copy(),
        sources=program.sources[: program.source_starts[n]].copy(),
        source_starts=program.source_starts[: n + 1].copy(),
        bias=program.bias[:cuts].copy(),
        homogeneous=program.homogeneous[:n].copy(),
        exact_below=program.exact_below[:n].copy(),
        fixed=program.fixed[:cuts].copy(),
        twins=program.twins[:cuts].copy(),
        twin_signs=program.twin_signs[:cuts].copy(),
    )


def in_steps(program: Program, width: int) -> Program:
    """Return the same program with every layer parted into layers of at most so many cuts.

    They all read what their layer reads, so the regions and their order stay what they are.
    """
    starts, weights, sources, layers = [0], [], [], []
    for layer in range(program.n_layers):
        first, stop = program.starts[layer : layer + 2].tolist()
        read = program.sources[program.source_starts[layer] : program.source_starts[layer + 1]]
        matrix = program.weights[program.weight_starts[layer] : program.weight_starts[layer + 1]]
        matrix = matrix.reshape(len(read), stop - first)
        for at in range(first, stop, width):
            end = min(at + width, stop)
            starts.append(end)
            weights.append(matrix[:, at - first : end - first].ravel())
            sources.append(read)
            layers.append(layer)
    twins, signs = _within(program, np.array(starts))
    return replace(
        program,
        starts=np.array(starts, dtype=np.int64),
        weights=np.concatenate([np.zeros(0), *weights]),
        weight_starts=np.cumsum([0, *map(len, weights)]).astype(np.int64),
        sources=np.concatenate([np.zeros(0, np.int64), *sources]),
        source_starts=np.cumsum([0, *map(len, sources)]).astype(np.int64),
        homogeneous=program.homogeneous[layers],
        exact_below=program.exact_below[layers],
        twins=twins,
        twin_signs=signs,
    )


def _within(program: Program, starts: IntArray) -> tuple[IntArray, npt.NDArray[np.int8]]:
    """Return the twins of cuts within the layers that begin at `starts`.

    What a twin in an earlier layer was marked with is not known any more: from a pattern it cannot
    be told whether an inactive cut is zero on the whole cell, which makes all its multiples so.
    """
    twins, signs = np.full_like(program.twins, -1), np.ones_like(program.twin_signs)
    layer = np.searchsorted(starts, np.arange(program.n_cuts), side="right")
    leaders: dict[tuple[int, int], int] = {}
    for cut in range(program.n_cuts):
        group = int(program.twins[cut]) if program.twins[cut] >= 0 else cut
        leader = leaders.setdefault((group, int(layer[cut])), cut)
        if leader != cut:
            twins[cut] = leader
            signs[cut] = program.twin_signs[cut] * program.twin_signs[leader]
    return twins, signs


def cells_below(program: Program, method: Method, prefixes: Prefixes) -> tuple[Cells, Any]:
    """Return cells from which a method carves on, and which of the prefixes they are.

    The methods ``simplex`` and ``vertices`` take what they can begin at: a prefix with a point
    that is not proven to be interior may be too thin to stand in. ``highs`` takes all.
    """
    if not prefixes.n_layers:
        return method.start(program), np.ones(1, np.bool_)
    usable = np.ones(len(prefixes), np.bool_)
    if method.name != "simplex":
        extra = [("order", np.int32, (program.n_cuts,))] if method.name == "vertices" else []
        cells = _fresh_cells(program, cell_dtype(program, extra), prefixes)
        if extra:
            for row, cell in zip(prefixes.bits, cells, strict=True):
                active = np.flatnonzero(row)
                cell["order"][: len(active)] = active
        return cells, usable
    cells = _fresh_cells(program, root_dtype(program), prefixes)
    usable = _put_on_vertices(program, cells, prefixes) & prefixes.inside
    return cells[usable], usable


def _fresh_cells(program: Program, dtype: np.dtype[np.void], prefixes: Prefixes) -> Cells:
    n, m = len(prefixes), program.side_rows.shape[1]
    cells = np.repeat(root_cell(program, dtype), n)
    counts = np.diff(prefixes.offsets)
    cells["layer"] = prefixes.n_layers
    cells["depth"], cells["n_rows"] = counts, m + counts
    cells["doubtful"] = ~prefixes.inside  # so that the points of leaves are looked at again
    place = np.arange(len(prefixes.cuts)) - np.repeat(prefixes.offsets[:-1], counts)
    cells["rows"][np.repeat(np.arange(n), counts), m + place] = prefixes.cuts
    cells["marks"][:, : prefixes.bits.shape[1]] = np.where(prefixes.bits == 1, ACTIVE, INACTIVE)
    cells["point"] = prefixes.points
    return cells


def _put_on_vertices(program: Program, cells: Cells, prefixes: Prefixes) -> npt.NDArray[np.bool_]:
    """Give cells of the simplex method a vertex to begin at; say where there is one."""
    announce(standing.stand)
    n, k = len(prefixes), program.n_free
    work = Workspace(program, cells.dtype, 0)
    bases, edges = np.zeros((n, k), np.int64), np.zeros((n, k, k))
    vertices, found = np.zeros((n, k)), np.zeros(n, np.bool_)
    standing.stand(
        work.problem,
        work.forms,
        work.cell,
        work.room,
        prefixes.n_layers,
        prefixes.bits,
        np.ascontiguousarray(prefixes.points),
        prefixes.offsets,
        prefixes.cuts,
        bases,
        edges,
        vertices,
        found,
    )
    cells["basis"], cells["edges"], cells["vertex"] = bases, edges, vertices
    cells["info"] = (0, 0, -1, -1)
    return found
