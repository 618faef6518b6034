"""Method ``simplex``: vertices and warm-started linear programs, compiled. Any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.errors import NumericalError
from polycarve.splitting.cells import Cells, Keep, Leaves, cell_dtype, packed_width, root_cell
from polycarve.splitting.kernels import arrays, depth_first, vertex
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.method import Advance
from polycarve.splitting.program import Program


class Simplex:
    """Decide a cut by one linear program, walking on from the vertex where the last one ended."""

    name = "simplex"
    resolution = 1e-12
    budget = 50_000

    def start(self, program: Program) -> Cells:
        k = program.n_free
        cells = root_cell(program, root_dtype(program))
        if program.side_rows.shape[1]:
            return self._on_a_vertex(program, cells)
        cells["basis"] = np.arange(k)
        cells["edges"] = np.eye(k)
        cells["vertex"] = program.lower
        cells["witness"][0, :2, :k] = program.lower, program.upper
        cells["witness"][0, :2, k] = 1.0
        cells["info"] = (2, 0, -1, 0)
        return cells

    def _on_a_vertex(self, program: Program, cells: Cells) -> Cells:
        """Walk from the interior point to a vertex of the domain."""
        announce(depth_first.carve_cell)
        k, m = program.n_free, program.side_rows.shape[1]
        basis, edges, at = np.zeros(k, np.int64), np.zeros((k, k)), np.zeros(k)
        info, matrix, ray = np.zeros(4, np.int64), np.zeros((k, 2 * k)), np.zeros(2 * k + m)
        found = vertex.settle(
            m,
            k,
            program.lower,
            program.upper,
            program.side_rows,
            basis,
            edges,
            at,
            program.centre,
            info,
            matrix,
            ray,
        )
        if not found:
            raise NumericalError("no vertex of the domain could be found: it is too thin.")
        cells["basis"], cells["edges"], cells["vertex"] = basis, edges, at
        cells["info"] = (0, 0, -1, -1)
        return cells

    def advance(
        self, program: Program, cells: Cells, *, budget: int, capacity: int, keep: Keep
    ) -> Advance:
        announce(depth_first.carve_cell)
        work = Workspace(program, cells.dtype, capacity if keep else 0)
        for position in range(len(cells)):
            work.load(cells[position])
            status = work.run(budget, capacity)
            if status == depth_first.FAILED:
                raise NumericalError(
                    "the simplex walk found no way on: the network's numbers overflow float64, or "
                    "its planes are too nearly parallel. Rescale its layers."
                )
            if status != depth_first.DONE:
                return work.result(np.concatenate([work.stacked(), cells[position + 1 :]]))
        return work.result(cells[:0])


# Fields of the stack, and of cells, in which the state of a walk travels.
_STATE = {
    "basis": "basis",
    "E": "edges",
    "v": "vertex",
    "p": "point",
    "witness": "witness",
    "info": "info",
}


def root_dtype(program: Program) -> np.dtype[np.void]:
    """Return the dtype of this method's cells: the common fields, and where the walk stands."""
    k = program.n_free
    extra = [
        ("basis", np.int32, (k,)),
        ("edges", np.float64, (k, k)),
        ("vertex", np.float64, (k,)),
        ("witness", np.float64, (_n_witness(k), k + 1)),
        ("info", np.int32, (4,)),
    ]
    return cell_dtype(program, extra)


def _n_witness(k: int) -> int:
    return min(2 * k + 4, 16)


class Workspace:
    """Buffers of one call, sized once: the stack by the longest path, not by the regions."""

    def __init__(self, program: Program, dtype: np.dtype[Any], kept: int) -> None:
        self.dtype = dtype
        k, n, m = program.n_free, program.n_cuts, program.side_rows.shape[1]
        widest = int(np.diff(program.starts).max())
        w, s, faces = _n_witness(k), n + 2, 2 * k + m + n + 1
        self.problem = arrays.Problem(
            k,
            program.lower,
            program.upper,
            program.side_noise,
            program.side_rows,
            np.maximum(np.abs(program.lower), np.abs(program.upper)),
            program.noise_ratio,
            program.starts,
            np.repeat(np.arange(program.n_layers), np.diff(program.starts)),
            program.weights,
            program.weight_starts,
            program.sources,
            program.source_starts,
            program.bias,
            program.homogeneous,
            program.fixed,
            program.twins,
            program.twin_signs,
        )
        self.forms = arrays.Forms(np.empty(n * (k + 1)), np.empty(n), np.empty(n))
        self.cell = arrays.Cell(
            marks=np.zeros(n, np.int8),
            row_cuts=np.zeros(m + n + 1, np.int64),
            rows=np.empty((k + 2, m + n + 1)),
            basis=np.empty(k, np.int64),
            E=np.empty((k, k)),
            v=np.empty(k),
            p=np.empty(k),
            witness=np.empty((w, k + 1)),
            info=np.zeros(4, np.int64),
        )
        self.stack = arrays.Stack(
            ints=np.zeros((s, 6), np.int64),
            marks=np.empty((s, widest), np.int8),
            basis=np.empty((s, k), np.int64),
            E=np.empty((s, k, k)),
            v=np.empty((s, k)),
            p=np.empty((s, k)),
            witness=np.empty((s, w, k + 1)),
            info=np.zeros((s, 4), np.int64),
        )
        self.room = arrays.Room(
            f=np.empty(k + 3),
            y=np.empty(k),
            rates=np.empty(faces),
            gaps=np.empty(faces + m + n + 1),
            matrix=np.empty((k, 2 * k)),
            point=np.empty(k),
            values=np.empty(widest),
            least=np.empty(widest),
            most=np.empty(widest),
        )
        self.out = arrays.Out(
            packed=np.zeros((kept, packed_width(n)), np.uint8),
            points=np.empty((kept, k)),
            inside=np.zeros(kept, np.bool_),
        )
        self.counters = np.zeros(6, np.int64)
        self.progress = np.zeros(1)

    def load(self, cell: Any) -> None:
        """Put a cell at the bottom of the stack."""
        layer, m = int(cell["layer"]), int(cell["n_rows"])
        first, stop = self.problem.starts[layer : layer + 2]
        last = -1 if cell["fresh"] else int(cell["rows"][m - 1])
        self.cell.marks[:] = cell["marks"]
        self.cell.row_cuts[:-1] = cell["rows"]
        self.stack.ints[0] = (layer, cell["depth"], m, last, cell["fresh"], cell["doubtful"])
        self.stack.marks[0, : stop - first] = cell["marks"][first:stop]
        for name, field in _STATE.items():
            getattr(self.stack, name)[0] = cell[field]

    def run(self, budget: int, capacity: int) -> int:
        return int(
            depth_first.carve_cell(
                self.problem,
                self.forms,
                self.cell,
                self.stack,
                self.room,
                self.out,
                budget,
                capacity,
                self.counters,
                self.progress,
            )
        )

    def stacked(self) -> Cells:
        """Return the cells on the stack, the next one first."""
        count = int(self.counters[arrays.ON_STACK])
        cells = np.zeros(count, dtype=self.dtype)
        for cell, s in zip(cells, range(count - 1, -1, -1), strict=True):
            layer, depth, m, last, fresh, doubtful = self.stack.ints[s].tolist()
            first, stop = self.problem.starts[layer : layer + 2]
            cell["layer"], cell["depth"], cell["n_rows"], cell["fresh"] = layer, depth, m, fresh
            cell["doubtful"] = doubtful
            # Ancestors are shared with the cell in hand, so its prefix is theirs.
            cell["rows"][:m] = self.cell.row_cuts[:m]
            if last >= 0:
                cell["rows"][m - 1] = last
            cell["marks"][:first] = self.cell.marks[:first]
            cell["marks"][first:stop] = self.stack.marks[s, : stop - first]
            for name, field in _STATE.items():
                cell[field] = getattr(self.stack, name)[s]
        return cells

    def result(self, rest: Cells) -> Advance:
        counters = self.counters
        n = int(counters[arrays.LEAVES])
        leaves = Leaves(  # copies, so that the unused part of the buffers is let go
            self.out.packed[:n].copy(), self.out.points[:n].copy(), self.out.inside[:n].copy()
        )
        return Advance(
            n_leaves=n,
            leaves=leaves,
            rest=rest,
            n_doubtful=int(counters[arrays.DOUBTS]),
            finished=float(self.progress[0]),
            counts={
                "programs": int(counters[arrays.PROGRAMS]),
                "pivots": int(counters[arrays.PIVOTS]),
            },
        )
