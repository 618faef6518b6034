"""Method ``simplex``: vertices and warm-started linear programs, compiled. Any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.errors import NumericalError
from polycarve.splitting.cells import Cells, Leaves, cell_dtype, packed_width, root_cell
from polycarve.splitting.kernels import depth_first
from polycarve.splitting.kernels import simplex as steps
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.method import Advance
from polycarve.splitting.program import Program


class Simplex:
    """Decide a cut by one linear program, walking on from the vertex where the last one ended."""

    name = "simplex"
    resolution = 1e-12
    budget = 200_000

    def start(self, program: Program) -> Cells:
        k = program.n_free
        extra = [
            ("basis", np.int32, (k,)),
            ("edges", np.float64, (k, k)),
            ("vertex", np.float64, (k,)),
            ("witness", np.float64, (_n_witness(k), k + 1)),
            ("info", np.int32, (4,)),
        ]
        cells = root_cell(program, cell_dtype(program, extra))
        cells["basis"] = np.arange(k)
        cells["edges"] = np.eye(k)
        cells["vertex"] = program.lower
        cells["witness"][0, :2, :k] = program.lower, program.upper
        cells["witness"][0, :2, k] = 1.0
        cells["info"] = (2, 0, -1, 0)
        return cells

    def advance(
        self, program: Program, cells: Cells, *, budget: int, capacity: int, keep: bool
    ) -> Advance:
        announce(depth_first.carve_cell)
        work = _Workspace(program, cells.dtype, capacity if keep else 0)
        for position in range(len(cells)):
            work.load(cells[position])
            status = work.run(budget, capacity)
            if status == depth_first.FAILED:
                raise NumericalError(
                    "the simplex walk found no way on: the network is too badly scaled for "
                    "float64. Rescale its layers, or use method='highs'."
                )
            if status != depth_first.DONE:
                return work.result(np.concatenate([work.stacked(), cells[position + 1 :]]))
        return work.result(cells[:0])


def _n_witness(k: int) -> int:
    return min(2 * k + 4, 16)


class _Workspace:
    """Buffers of one call, sized once: the stack by the longest path, not by the regions."""

    def __init__(self, program: Program, dtype: np.dtype[Any], kept: int) -> None:
        self.program, self.dtype = program, dtype
        k, n = program.n_free, program.n_cuts
        widest = int(np.diff(program.starts).max())
        w = _n_witness(k)
        faces = 2 * k + n + 1
        self.layer_of = np.repeat(np.arange(program.n_layers), np.diff(program.starts))
        self.size = np.maximum(np.abs(program.lower), np.abs(program.upper))
        self.marks = np.zeros(n, np.int8)
        self.row_cuts = np.zeros(n + 1, np.int64)
        self.cell: tuple[int, ...] = ()
        s = n + 2
        self.stack = (
            np.zeros((s, 5), np.int64), np.empty((s, widest), np.int8), np.empty((s, k), np.int64),
            np.empty((s, k, k)), np.empty((s, k)), np.empty((s, k)), np.empty((s, w, k + 1)),
            np.zeros((s, 4), np.int64),
        )
        self.room = (
            np.empty(n * (k + 1)), np.empty(n), np.empty(n), np.empty((n + 1, k + 1)),
            np.empty(n + 1), np.zeros(n + 1, np.uint8), np.empty(k, np.int64), np.empty((k, k)),
            np.empty(k), np.empty(k), np.empty(k), np.empty((w, k + 1)), np.zeros(4, np.int64),
            np.empty(k + 1), np.empty(k), np.empty(faces), np.empty(faces), np.empty((k, 2 * k)),
            np.empty(widest), np.empty(widest), np.empty(widest),
        )
        self.leaves = Leaves(
            np.zeros((kept, packed_width(n)), np.uint8), np.empty((kept, k)), np.zeros(kept, np.bool_)
        )
        self.counters = np.zeros(8, np.int64)
        self.progress = np.zeros(1)

    def load(self, cell: Any) -> None:
        """Put a cell at the bottom of the stack."""
        layer, m = int(cell["layer"]), int(cell["n_rows"])
        first, stop = self.program.starts[layer : layer + 2]
        ints, marks, basis, edges, vertex, point, witness, info = self.stack
        last = -1 if cell["fresh"] else int(cell["rows"][m - 1])
        ints[0] = (layer, cell["depth"], m, last, cell["fresh"])
        self.marks[:] = cell["marks"]
        self.row_cuts[:-1] = cell["rows"]
        marks[0, : stop - first] = cell["marks"][first:stop]
        basis[0], edges[0], vertex[0] = cell["basis"], cell["edges"], cell["vertex"]
        point[0], witness[0], info[0] = cell["point"], cell["witness"], cell["info"]
        self.cell = (layer, int(cell["depth"]), m, int(cell["fresh"]), last)

    def run(self, budget: int, capacity: int) -> int:
        p = self.program
        return int(
            depth_first.carve_cell(
                p.n_free, p.lower, p.upper, p.side_noise, self.size, p.starts, p.weights,
                p.weight_starts, p.sources, p.source_starts, p.bias, p.homogeneous, p.fixed,
                p.twins, p.twin_signs, p.noise_ratio, self.layer_of,
                *self.cell, self.marks, self.row_cuts, *self.stack, *self.room,
                self.leaves.packed, self.leaves.points, self.leaves.inside,
                budget, capacity, self.counters, self.progress,
            )
        )

    def stacked(self) -> Cells:
        """Return the cells on the stack, the next one first."""
        count = int(self.counters[steps.STACK])
        cells = np.zeros(count, dtype=self.dtype)
        ints, marks, basis, edges, vertex, point, witness, info = self.stack
        for position, s in enumerate(range(count - 1, -1, -1)):
            layer, depth, m, last, fresh = ints[s].tolist()
            first, stop = self.program.starts[layer : layer + 2]
            cell = cells[position]
            cell["layer"], cell["depth"], cell["n_rows"], cell["fresh"] = layer, depth, m, fresh
            cell["rows"][: m - 1] = self.row_cuts[: m - 1]
            cell["rows"][m - 1] = last
            cell["marks"][:first] = self.marks[:first]
            cell["marks"][first:stop] = marks[s, : stop - first]
            cell["basis"], cell["edges"], cell["vertex"] = basis[s], edges[s], vertex[s]
            cell["point"], cell["witness"], cell["info"] = point[s], witness[s], info[s]
        return cells

    def result(self, rest: Cells) -> Advance:
        counters = self.counters
        n = int(counters[steps.LEAVES])
        kept = slice(0, n)
        leaves = Leaves(  # copies, so that the unused part of the buffers is let go
            self.leaves.packed[kept].copy(),
            self.leaves.points[kept].copy(),
            self.leaves.inside[kept].copy(),
        )
        return Advance(
            n_leaves=n,
            leaves=leaves,
            rest=rest,
            n_doubtful=int(counters[steps.DOUBTS]),
            finished=float(self.progress[0]),
            counts={
                "programs": int(counters[steps.PROGRAMS]),
                "pivots": int(counters[steps.PIVOTS]),
            },
        )
