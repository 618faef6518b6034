"""Method ``highs``: one linear program a side by SciPy's HiGHS. Slow, readable, independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from polycarve.errors import NumericalError
from polycarve.splitting.cells import Cells, Leaves, cell_dtype, root_cell
from polycarve.splitting.method import Advance
from polycarve.splitting.program import ACTIVE, INACTIVE, UNKNOWN, ZERO, Program

FloatArray = npt.NDArray[np.float64]


class Highs:
    """Minimise and maximise every form over the closed cell; it is cut if both signs are reached.

    The cell has an interior, so a form that is positive somewhere on its closure is positive
    inside. Asking for feasibility of the closed halves instead would count cells without volume.
    """

    name = "highs"
    resolution = 1e-8
    budget = 200

    def start(self, program: Program) -> Cells:
        return root_cell(program, cell_dtype(program))

    def advance(
        self, program: Program, cells: Cells, *, budget: int, capacity: int, keep: bool
    ) -> Advance:
        run = _Run(program, self.resolution)
        stack = list(cells[::-1])
        found: list[tuple[FloatArray, FloatArray, bool]] = []
        finished = 0.0
        while stack and run.programs < budget and len(found) < capacity:
            leaf = run.descend(stack)
            finished += 2.0 ** -int(leaf["depth"])
            point, inside = run.centre(leaf)
            found.append((leaf["marks"] == ACTIVE, point, inside))
        n, k = program.n_cuts, program.n_free
        kept = found if keep else []
        leaves = Leaves(
            np.packbits(np.array([bits for bits, _, _ in kept], np.uint8).reshape(-1, n), axis=1),
            np.array([point for _, point, _ in kept]).reshape(-1, k),
            np.array([inside for _, _, inside in kept], np.bool_),
        )
        rest = np.array(stack[::-1], dtype=cells.dtype) if stack else cells[:0]
        counts = {"programs": run.programs, "pivots": run.pivots}
        return Advance(len(found), leaves, rest, run.n_doubtful, finished, counts)


@dataclass
class _Run:
    program: Program
    resolution: float
    programs: int = 0
    pivots: int = 0
    n_doubtful: int = 0

    def descend(self, stack: list[np.void]) -> np.void:
        """Take a cell and follow its inactive sides to a leaf, stacking the active ones."""
        starts = self.program.starts
        cell = stack.pop().copy()
        while True:
            layer = int(cell["layer"])
            forms = self.forms(cell, layer)
            rows = self.rows(cell)
            first, stop = starts[layer], starts[layer + 1]
            if cell["fresh"]:  # what is decided here is decided for all descendants
                cell["fresh"] = 0
                for cut in range(first, stop):
                    cell["marks"][cut] = self.decide(forms[cut - first], rows, cut, cell["marks"])
            for cut in range(first, stop):
                if cell["marks"][cut] != UNKNOWN:
                    continue
                form = forms[cut - first]
                mark = self.decide(form, rows, cut, cell["marks"])
                if mark == UNKNOWN:  # the form changes sign: two children
                    active = cell.copy()
                    for child, bit in ((active, ACTIVE), (cell, INACTIVE)):
                        child["marks"][cut] = bit
                        child["rows"][child["n_rows"]] = cut
                        child["n_rows"] += 1
                        child["depth"] += 1
                    stack.append(active)
                    rows = np.concatenate([rows, -form[None]])
                else:
                    cell["marks"][cut] = mark
            if layer + 1 == self.program.n_layers:
                return cell
            cell["layer"] += 1
            cell["fresh"] = 1

    def is_fed(self, cut: int, marks: npt.NDArray[np.int8]) -> bool:
        """Whether anything active has a weight in a cut's form."""
        program = self.program
        layer = int(np.searchsorted(program.starts, cut, side="right")) - 1
        first, stop = program.source_starts[layer : layer + 2]
        w, end = program.weight_starts[layer : layer + 2]
        weights = program.weights[w:end].reshape(stop - first, -1)[:, cut - program.starts[layer]]
        sources = program.sources[first:stop]
        cuts = np.maximum(sources - program.n_free, 0)
        active = (sources < program.n_free) | (marks[cuts] == ACTIVE)
        return bool(np.any(active & (weights != 0)))

    def decide(
        self, form: FloatArray, rows: FloatArray, cut: int, marks: npt.NDArray[np.int8]
    ) -> int:
        """Return the mark of a cut in a cell; UNKNOWN if its hyperplane crosses the cell."""
        program = self.program
        if program.fixed[cut] != UNKNOWN:
            return int(program.fixed[cut])
        size = np.maximum(np.abs(program.lower), np.abs(program.upper))
        blur = self.resolution * (np.abs(form[:-1]) @ size + abs(form[-1]))
        if not np.any(form):
            # Exactly zero if nothing active feeds it; else it may have been lost to underflow.
            self.n_doubtful += self.is_fed(cut, marks)
            return ZERO
        least = self.minimum(form, rows)
        most = -self.minimum(-form, rows)
        if least < -blur and most > blur:
            return UNKNOWN
        if max(-least, most) <= blur:
            self.n_doubtful += 1
            return ZERO
        mark = ACTIVE if most > -least else INACTIVE
        if (least if mark == ACTIVE else -most) <= blur:  # it touches, or nearly
            self.n_doubtful += 1
        return mark

    def minimum(self, form: FloatArray, rows: FloatArray) -> float:
        return float(form[:-1] @ self.solve(form[:-1], rows) + form[-1])

    def solve(self, objective: FloatArray, rows: FloatArray, margin: bool = False) -> FloatArray:
        """Minimise over ``rows >= 0`` in the box; with `margin`, the last variable is free."""
        bounds = np.stack([self.program.lower, self.program.upper], axis=1)
        if margin:
            bounds = np.concatenate([bounds, [[0.0, np.inf]]])
        scale = np.abs(objective).max() or 1.0
        solution = linprog(
            objective / scale,
            A_ub=-rows[:, :-1] if len(rows) else None,
            b_ub=rows[:, -1] if len(rows) else None,
            bounds=bounds,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        self.programs += 1
        if solution.status != 0:
            raise NumericalError(f"HiGHS gave up on a cell: {solution.message}")
        self.pivots += int(solution.nit)
        return np.asarray(solution.x, dtype=np.float64)

    def rows(self, cell: np.void) -> FloatArray:
        """Return the forms that are positive in the cell: the domain's, then its ancestors'."""
        starts, sides = self.program.starts, self.program.side_rows[:-1].T
        layers = [self.forms(cell, layer) for layer in range(int(cell["layer"]) + 1)]
        rows = [sides]
        for cut in cell["rows"][len(sides) : int(cell["n_rows"])]:
            layer = int(np.searchsorted(starts, cut, side="right")) - 1
            sign = 1.0 if cell["marks"][cut] == ACTIVE else -1.0
            rows.append(sign * layers[layer][cut - starts[layer]][None])
        return np.concatenate(rows)

    def forms(self, cell: np.void, layer: int) -> FloatArray:
        """Return the layer's forms on the cell, ``[a, c]`` by rows, the largest |a| about one."""
        with np.errstate(over="ignore", invalid="ignore"):
            raw = _raw_forms(self.program, cell["marks"], layer)
        if not np.isfinite(raw).all():
            raise NumericalError("the network's numbers overflow float64. Rescale its layers.")
        return _scaled(raw)

    def centre(self, leaf: np.void) -> tuple[FloatArray, bool]:
        """Return the centre of the largest ball in a leaf, and whether it is clearly inside."""
        program, k = self.program, self.program.n_free
        rows = np.concatenate(
            [
                self.rows(leaf),
                np.concatenate([np.eye(k), -program.lower[:, None]], axis=1),
                np.concatenate([-np.eye(k), program.upper[:, None]], axis=1),
            ]
        )
        norms = np.linalg.norm(rows[:, :-1], axis=1)
        ball = np.concatenate([rows[:, :-1], -norms[:, None], rows[:, -1:]], axis=1)
        point = self.solve(np.array([0.0] * k + [-1.0]), ball, margin=True)[:-1]
        size = np.abs(rows[:, :-1]) @ np.maximum(np.abs(program.lower), np.abs(program.upper))
        inside = bool(np.all(rows[:, :-1] @ point + rows[:, -1] > 1e-12 * (size + 1e-300)))
        self.n_doubtful += not inside
        return point, inside


def _raw_forms(program: Program, marks: npt.NDArray[np.int8], layer: int) -> FloatArray:
    k = program.n_free
    sources = np.concatenate([np.eye(k, k + 1), np.zeros((program.n_cuts, k + 1))])
    for current in range(layer + 1):
        w, s = program.weight_starts[current], program.source_starts[current]
        stop = program.source_starts[current + 1]
        first, last = program.starts[current : current + 2]
        weights = program.weights[w : program.weight_starts[current + 1]]
        forms = weights.reshape(stop - s, last - first).T @ sources[program.sources[s:stop]]
        forms[:, -1] += program.bias[first:last]
        active = marks[first:last] == ACTIVE
        sources[k + first : k + last][active] = forms[active]
    return np.asarray(forms, dtype=np.float64)


def _scaled(forms: FloatArray) -> FloatArray:
    largest = np.abs(forms[:, :-1]).max(axis=1)
    exponents = np.frexp(np.where(largest > 0, largest, 1.0))[1]
    return np.asarray(np.ldexp(forms, -exponents[:, None]))
