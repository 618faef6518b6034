"""Method ``vertices``: every cell by its vertices, compiled. For few dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.errors import InputError, NumericalError
from polycarve.rational import ExactArray
from polycarve.splitting.cells import (
    Cells,
    Keep,
    Leaves,
    Shapes,
    cell_dtype,
    packed_width,
    root_cell,
)
from polycarve.splitting.kernels import subdivision, vertex_arrays
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.kernels.sums import EXACT, FLAT
from polycarve.splitting.method import Advance
from polycarve.splitting.program import ACTIVE, UNKNOWN, Program

# With more coordinates, a box alone has more corners than it is worth while to look at.
_MOST_FREE = 12

# How far points that are not proven to lie inside are drawn into the domain.
_INWARD = 2.0**-30


class Vertices:
    """Decide a cut by the signs of its form at the vertices of a cell.

    A cell is rebuilt from its prefix where work on it begins, by the steps that led to it, so
    cells hold no vertices: only, beside the common fields, in which order cuts became active.

    While it is worked on, a live cell takes ``8 (k + 1)`` bytes a vertex for coordinates and eight
    for every 64 facets, four a cut that crosses it, and ``8 (k + 2)`` bytes for each cut of the
    next layer; there are at most as many at a time as cuts that split an ancestor.
    """

    name = "vertices"
    resolution = 1e-12
    budget = 200_000

    def start(self, program: Program) -> Cells:
        k = program.n_free
        if k > _MOST_FREE:
            raise InputError(
                f"method 'vertices' begins with the corners of a box, and in {k} coordinates there "
                f"are 2**{k}. Use method='simplex'."
            )
        return root_cell(program, cell_dtype(program, [("order", np.int32, (program.n_cuts,))]))

    def advance(
        self, program: Program, cells: Cells, *, budget: int, capacity: int, keep: Keep
    ) -> Advance:
        announce(subdivision.carve_cells)
        work = _Workspace(
            program, capacity if keep else 0, recorded=keep if isinstance(keep, str) else None
        )
        while True:
            status = work.run(cells, budget, capacity)
            if status == vertex_arrays.OVERFLOW:
                raise NumericalError("the network's numbers overflow float64. Rescale its layers.")
            if status == vertex_arrays.THIN:
                raise NumericalError(
                    "a cell or the domain is too thin for float64. Rescale the inputs."
                )
            cells = work.rest(cells)
            if status in (vertex_arrays.DONE, vertex_arrays.FULL, vertex_arrays.BUDGET):
                return work.result(cells)
            if status == vertex_arrays.SHAPES and work.counters[vertex_arrays.LEAVES]:
                return work.result(cells)  # and go on with empty buffers
            work.grow(status)


class _Workspace:
    """Buffers of one call. Those whose size cannot be told grow when a kernel asks for it."""

    def __init__(self, program: Program, kept: int, recorded: str | None = None) -> None:
        k, n, m = program.n_free, program.n_cuts, program.side_rows.shape[1]
        self.program = program
        # No power of two, so that coordinates of a vertex do not compete for places in the cache.
        self.n_columns = max(2048, 8 << k, min(256 << k, 1 << 17)) - 8
        self.n_words = 1 + (2 * k) // 64
        self.n_listed = 4 * n + 1024
        self.n_slots = 32
        self.problem = _problem(program)
        self.rows = (np.empty((k + 2) * (2 * k + m + n + 1)), np.zeros(2 * k + m + n + 1, np.uint8))
        self.marks, self.order = np.zeros(n + -n % 8, np.int8), np.zeros(n, np.int32)
        self.row_cuts = np.zeros(m + n + 1, np.int64)
        self.sizes, self.blur = np.empty(n), np.empty(n)
        self.stack = np.empty((n + 2, 14), np.int64)
        self.recorded = recorded
        self.n_links = max(1 << 16, k << (k + 4)) if recorded else 0
        self.leaves = (
            np.empty((kept, packed_width(n)), np.uint8),
            np.empty((kept, k)),
            np.empty(kept, np.bool_),
        )
        self.counters = np.zeros(10, np.int64)
        self.progress = np.zeros(1)
        self.allocate()

    def allocate(self) -> None:
        program, k = self.program, self.program.n_free
        widths = np.diff(program.starts)
        widest = int(widths.max())
        slots = np.minimum(np.concatenate([[1], widths[:-1] + 2]), self.n_slots)
        slots[0] = 1
        slots_at = np.concatenate([[0], np.cumsum(slots * widths * (k + 2))]).astype(np.int64)
        self.path = vertex_arrays.Path(
            self.marks,
            self.marks.view(np.uint64),
            self.row_cuts,
            self.order,
            *self.rows,
            np.zeros(program.n_layers, np.int64),
            np.empty(int(slots_at[-1])),
            slots_at,
            self.sizes,
            self.blur,
        )
        self.arena = vertex_arrays.Arena(
            np.empty((k + 1, self.n_columns)),
            np.empty((self.n_words, self.n_columns), np.uint64),
            np.empty(self.n_listed, np.int32),
            self.stack,
        )
        n_owners = len(self.row_cuts) + 1 if self.recorded else 0
        n_corners = self.n_links if self.recorded == "shapes" else 0
        n_shapes = len(self.leaves[0]) if self.recorded else 0
        self.out = vertex_arrays.Out(
            *self.leaves,
            np.empty(n_shapes, np.bool_),
            np.empty((n_shapes, 2), np.int64),
            np.empty((n_corners, k)),
            np.empty(self.n_links, np.int64),
            np.empty(n_corners, np.int64),
            np.empty(n_corners, np.int64),
            np.zeros((n_owners, 64 * self.n_words), np.int32),
        )
        self.room = vertex_arrays.Room(
            np.empty(max(self.n_columns, widest)),
            np.empty(self.n_columns),
            np.empty(self.n_columns),
            np.empty(self.n_columns, np.uint64),
            np.empty((5, self.n_columns), np.int64),
            np.empty(len(self.rows[1])),
            np.empty(k),
            np.empty(k),
            np.empty(widest),
            np.empty(widest),
            np.empty(widest, np.int8),
        )

    def grow(self, status: int) -> None:
        """Make room for what there was too little of."""
        if status == vertex_arrays.COLUMNS:
            self.n_columns *= 2
        elif status == vertex_arrays.WORDS:
            self.n_words += 1
        elif status == vertex_arrays.LISTS:
            self.n_listed *= 2
        elif status == vertex_arrays.SHAPES:
            self.n_links *= 2
        else:
            self.n_slots *= 2
        self.allocate()

    def run(self, cells: Cells, budget: int, capacity: int) -> int:
        self.counters[vertex_arrays.NEXT] = self.counters[vertex_arrays.ON_STACK] = 0
        names = ("layer", "depth", "n_rows", "fresh", "doubtful")
        given = (
            vertex_arrays.Given(  # copies: fields that lie askew are another type to the compiler
                np.stack([cells[name] for name in names], axis=1).astype(np.int64),
                cells["rows"].copy(),
                cells["marks"].copy(),
                cells["order"].copy(),
            )
        )
        return int(
            subdivision.carve_cells(
                self.problem,
                self.path,
                self.arena,
                self.room,
                given,
                self.out,
                budget,
                capacity,
                self.counters,
                self.progress,
            )
        )

    def rest(self, cells: Cells) -> Cells:
        """Return what is left to do: the cells on the stack, the next one first, then others."""
        on_stack, after = (
            int(self.counters[place]) for place in (vertex_arrays.ON_STACK, vertex_arrays.NEXT)
        )
        stacked = np.zeros(on_stack, dtype=cells.dtype)
        for cell, s in zip(stacked, range(on_stack - 1, -1, -1), strict=True):
            self.describe(cell, self.stack[s])
        return np.concatenate([stacked, cells[after:]]) if on_stack else cells[after:]

    def describe(self, cell: Any, entry: Any) -> None:
        """Write the prefix of a cell on the stack."""
        layer, depth, m, this, fresh, doubtful, start, stop, at, count = entry[:10].tolist()
        first, end = self.program.starts[layer : layer + 2]
        marks = cell["marks"]
        cell["layer"], cell["depth"], cell["n_rows"] = layer, depth, m
        cell["fresh"], cell["doubtful"] = fresh, doubtful
        cell["rows"][:m] = self.row_cuts[:m]
        marks[:first] = self.marks[:first]
        n_order = int(entry[vertex_arrays.ORDER])
        if not fresh:
            # Others share what was decided before; what they try themselves is not decided yet.
            marks[first:end] = np.where(self.program.twins[first:end] < 0, self.marks[first:end], 0)
            marks[self.arena.lists[at : at + count]] = UNKNOWN
            fixed = self.program.fixed[first:end]
            marks[first:end][fixed != UNKNOWN] = fixed[fixed != UNKNOWN]
        cell["order"][:n_order] = self.order[:n_order]
        if this >= 0:
            cell["rows"][m - 1] = this
            cell["order"][n_order] = this
            marks[this] = ACTIVE
        cell["point"] = self.arena.X[:-1, start:stop].mean(axis=1)

    def shapes(self, n: int) -> Shapes:
        """Return the shapes of the first n leaves."""
        used = (vertex_arrays.CORNERS, vertex_arrays.FACETS, vertex_arrays.LINKS)
        v, f, i = (int(self.counters[place]) for place in used)
        return Shapes(
            self.out.generic[:n].copy(),
            self.out.shape_counts[:n].copy(),
            self.out.corners[:v].copy(),
            self.out.codes[:f].copy(),
            self.out.link_counts[:f].copy(),
            self.out.links[:i].copy(),
        )

    def result(self, rest: Cells) -> Advance:
        counters = self.counters
        n = int(counters[vertex_arrays.LEAVES])
        leaves = Leaves(  # copies, so that the unused part of the buffers is let go
            self.out.packed[:n].copy(),
            self.out.points[:n].copy(),
            self.out.found[:n].copy(),
            self.shapes(n) if self.recorded else None,
        )
        # The mean of a cell that rounding has made flat may lie at infinity.
        flat, points = ~leaves.inside, leaves.points
        points[flat] += _INWARD * (self.program.centre - points[flat])
        return Advance(
            n_leaves=n,
            leaves=leaves,
            rest=rest,
            n_doubtful=int(counters[vertex_arrays.DOUBTS]),
            finished=float(self.progress[0]),
            counts={
                "splits": int(counters[vertex_arrays.SPLITS]),
                "vertices": int(counters[vertex_arrays.VERTICES]),
            },
        )


def _problem(program: Program) -> vertex_arrays.Problem:
    k, rows = program.n_free, program.frame.rows
    kinds = np.zeros(program.side_rows.shape[1], np.uint8)
    if rows is not None:
        kinds[rows.numerators[:, -1] == 0] = FLAT
        exact = ((rows - ExactArray.of(rows.float64)).numerators == 0).all(axis=1)
        kinds[exact] += EXACT
    first_weights = np.full(program.n_layers, -1, np.int64)
    for layer in range(1, program.n_layers):
        begin, stop = program.source_starts[layer : layer + 2]
        at = np.flatnonzero(program.sources[begin:stop] == k + program.starts[layer - 1])
        if len(at):
            width = program.starts[layer + 1] - program.starts[layer]
            first_weights[layer] = program.weight_starts[layer] + at[0] * width
    twins_before = np.concatenate([[0], np.cumsum(program.twins >= 0)])
    return vertex_arrays.Problem(
        k,
        program.lower,
        program.upper,
        program.side_noise,
        program.side_rows.ravel(),
        kinds,
        np.maximum(np.abs(program.lower), np.abs(program.upper)),
        program.noise_ratio,
        program.starts,
        np.repeat(np.arange(program.n_layers), np.diff(program.starts)),
        program.weights,
        program.weight_starts,
        first_weights,
        program.sources,
        program.source_starts,
        program.bias,
        program.homogeneous,
        program.exact_below,
        program.fixed,
        program.twins,
        program.twin_signs,
        np.diff(twins_before[program.starts]).astype(np.int64),
        (program.fixed != UNKNOWN) | (program.twins >= 0),
    )
