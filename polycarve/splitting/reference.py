"""The depth-first walk, slow and readable, over any solver of linear programs.

`Reference` is a method but for its `Solver`; the methods ``highs`` and ``cvxpy`` supply one each.
Forms are rows ``[a, c, noise]``: ``a @ u + c``, and how far rounding may have moved that anywhere
in the box.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from polycarve.errors import NumericalError
from polycarve.splitting.cells import Cells, Keep, Leaves, cell_dtype, root_cell
from polycarve.splitting.method import Advance
from polycarve.splitting.program import (
    ACTIVE,
    INACTIVE,
    UNIT_ROUNDOFF,
    UNKNOWN,
    ZERO,
    Program,
)

FloatArray = npt.NDArray[np.float64]


class Least(NamedTuple):
    """The least value of a form over a cell: what a solver says, and between what it surely is."""

    low: float
    value: float
    high: float


class Solver(Protocol):
    """Linear programs over cells of one program: its box, cut by rows that are positive inside.

    ``programs`` and ``pivots`` say how many were solved and in how many iterations.
    """

    programs: int
    pivots: int

    def least(self, form: FloatArray, rows: FloatArray) -> Least:
        """Minimise a form over the closed cell, without regard to the form's own noise."""

    def centre(self, rows: FloatArray) -> FloatArray:
        """Return a point as deep in the cell as may be."""


class Reference(ABC):
    """Minimise and maximise every form over the closed cell; it is cut if both signs are reached.

    The cell has an interior, so a form that is positive somewhere on its closure is positive
    inside. Asking for feasibility of the closed halves instead would count cells without volume.
    """

    name: str
    resolution: float
    budget: int

    @abstractmethod
    def solver(self, program: Program) -> Solver:
        """Return what solves the linear programs of a program's cells."""

    def start(self, program: Program) -> Cells:
        return root_cell(program, cell_dtype(program))

    def advance(
        self, program: Program, cells: Cells, *, budget: int, capacity: int, keep: Keep
    ) -> Advance:
        run = _Run(program, self.resolution, self.solver(program))
        stack = list(cells[::-1])
        found: list[tuple[FloatArray, FloatArray, bool]] = []
        finished = 0.0
        while stack and run.solver.programs < budget and len(found) < capacity:
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
        counts = {"programs": run.solver.programs, "pivots": run.solver.pivots}
        return Advance(len(found), leaves, rest, run.n_doubtful, finished, counts)


@dataclass
class _Run:
    program: Program
    resolution: float
    solver: Solver
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
                    rows = np.concatenate([rows, _negated(form)[None]])
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
        active = sources < program.n_free
        active[~active] = marks[sources[~active] - program.n_free] == ACTIVE
        return bool(np.any(active & (weights != 0)))

    def decide(
        self, form: FloatArray, rows: FloatArray, cut: int, marks: npt.NDArray[np.int8]
    ) -> int:
        """Return the mark of a cut in a cell; UNKNOWN if its hyperplane crosses the cell."""
        program = self.program
        if program.fixed[cut] != UNKNOWN:
            return int(program.fixed[cut])
        blur = self.resolution * (np.abs(form[:-1]) @ _box_size(program)) + form[-1]
        if not np.any(form[:-1]):
            # Exactly zero if nothing active feeds it; else it may have been lost to underflow.
            self.n_doubtful += self.is_fed(cut, marks)
            return ZERO
        least = self.solver.least(form, rows)
        if least.low > blur:
            return ACTIVE
        most = Least(*(-v for v in reversed(self.solver.least(_negated(form), rows))))
        if least.high < -blur and most.low > blur:
            return UNKNOWN
        if most.high < -blur:
            return INACTIVE
        self.n_doubtful += 1  # it touches, or nearly, or the solver leaves it open
        if max(-least.value, most.value) <= blur:
            return ZERO
        return ACTIVE if most.value > -least.value else INACTIVE

    def rows(self, cell: np.void) -> FloatArray:
        """Return the forms that are positive in the cell: the domain's, then its ancestors'."""
        starts, sides = self.program.starts, self.program.side_rows.T
        layers = [self.forms(cell, layer) for layer in range(int(cell["layer"]) + 1)]
        rows = [sides]
        for cut in cell["rows"][len(sides) : int(cell["n_rows"])]:
            layer = int(np.searchsorted(starts, cut, side="right")) - 1
            form = layers[layer][cut - starts[layer]]
            rows.append((form if cell["marks"][cut] == ACTIVE else _negated(form))[None])
        return np.concatenate(rows)

    def forms(self, cell: np.void, layer: int) -> FloatArray:
        """Return the layer's forms on the cell, by rows, the largest |a| about one."""
        with np.errstate(over="ignore", invalid="ignore"):
            raw = _raw_forms(self.program, cell["marks"], layer)
        if not np.isfinite(raw).all():
            raise NumericalError("the network's numbers overflow float64. Rescale its layers.")
        return _scaled(raw)

    def centre(self, leaf: np.void) -> tuple[FloatArray, bool]:
        """Return a point deep in a leaf, and whether each cut clearly has its sign there."""
        program, rows = self.program, self.rows(leaf)
        point = self.solver.centre(rows)
        cuts = np.concatenate([self.forms(leaf, layer) for layer in range(program.n_layers)])
        active = leaf["marks"] == ACTIVE
        cuts[~active, :-1] *= -1.0
        cuts = cuts[active | cuts.any(axis=1)]  # no form at all is rightly inactive
        sides = box_rows(program.lower, program.upper, program.side_noise)
        rows = np.concatenate([rows, cuts, sides])
        size = np.abs(rows[:, :-2]) @ _box_size(program)[:-1]
        least = 1e-12 * (size + 1e-300) + rows[:, -1]
        inside = bool(np.all(rows[:, :-2] @ point + rows[:, -2] > least))
        self.n_doubtful += not inside
        return point, inside


def box_rows(lower: FloatArray, upper: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the sides of a box as rows, the lower ones first."""
    eye = np.eye(len(lower))
    slopes, constants = np.concatenate([eye, -eye]), np.concatenate([-lower, upper])
    return np.concatenate([slopes, constants[:, None], noise[:, None]], axis=1)


def ball_rows(rows: FloatArray) -> FloatArray:
    """Return the rows less their slope times one more coordinate: the radius of a ball inside."""
    norms = np.linalg.norm(rows[:, :-2], axis=1)
    return np.concatenate([rows[:, :-2], -norms[:, None], rows[:, -2:]], axis=1)


def _negated(form: FloatArray) -> FloatArray:
    return np.append(-form[:-1], form[-1])


def _box_size(program: Program) -> FloatArray:
    """Return how large the coordinates get in the box, and 1 for the constant."""
    return np.append(np.maximum(np.abs(program.lower), np.abs(program.upper)), 1.0)


def _raw_forms(program: Program, marks: npt.NDArray[np.int8], layer: int) -> FloatArray:
    k, size = program.n_free, _box_size(program)
    sources = np.concatenate([np.eye(k, k + 2), np.zeros((program.n_cuts, k + 2))])
    for current in range(layer + 1):
        w, s = program.weight_starts[current], program.source_starts[current]
        stop = program.source_starts[current + 1]
        first, last = program.starts[current : current + 2]
        weights = program.weights[w : program.weight_starts[current + 1]]
        weights = weights.reshape(stop - s, last - first).T
        read, bias = sources[program.sources[s:stop]], program.bias[first:last]
        forms = weights @ read
        forms[:, -2] += bias
        # What the sources carry, and what rounding weights, products and sums may add to it.
        terms = (len(read) + 4) * UNIT_ROUNDOFF * (np.abs(read[:, :-1]) @ size)
        forms[:, -1] = np.abs(weights) @ (read[:, -1] + terms) + 4 * UNIT_ROUNDOFF * np.abs(bias)
        active = marks[first:last] == ACTIVE
        sources[k + first : k + last][active] = forms[active]
    return np.asarray(forms, dtype=np.float64)


def _scaled(forms: FloatArray) -> FloatArray:
    largest = np.abs(forms[:, :-2]).max(axis=1)
    exponents = np.frexp(np.where(largest > 0, largest, 1.0))[1]
    return np.asarray(np.ldexp(forms, -exponents[:, None]))
