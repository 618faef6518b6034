"""The plain recursion over one persistent, warm-started HiGHS model: the baseline.

A cell is a path of rows; a neuron cuts it if the neuron's form is negative somewhere on it and
positive somewhere else. A point inside the cell is known, which settles one of the two; the other
takes one linear program. Where the form cuts, a point on the way from the known one to the
optimal vertex lies inside the child.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from peers_tools.answers import Answer, OutOfTimeError, Problem

FloatArray = npt.NDArray[np.float64]

# Forms have a largest slope of 1; a smaller extreme value is none, and rows are held to this.
TOLERANCE = 1e-9

# Primal simplex from the last basis: faster here than the dual, since mostly objectives change.
OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "presolve": "off",
    "solver": "simplex",
    "simplex_strategy": 4,
    "threads": 1,
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": TOLERANCE,
}


def load() -> None:
    import highspy

    highspy.Highs()


def prepare(problem: Problem) -> Problem:
    return problem


def run(problem: Problem, job: dict[str, Any]) -> Any:
    recursion = _Recursion(problem, time.perf_counter() + job["limit"])
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))  # a split is one call deep
    try:
        recursion.walk(0, 0, recursion.first_forms(), (), recursion.start())
    except _DeadlineError:
        raise OutOfTimeError(recursion.details()) from None
    return recursion


def summarise(problem: Problem, recursion: Any) -> Answer:
    patterns = np.array(recursion.patterns, dtype=bool)
    return Answer(len(patterns), patterns=patterns, details=recursion.details())


class _DeadlineError(Exception):
    pass


class _Recursion:
    def __init__(self, problem: Problem, deadline: float) -> None:
        import highspy

        self.problem, self.deadline = problem, deadline
        self.dim, self.n_rows = problem.dim, 0
        self.programs = self.pivots = self.cold = 0
        self.patterns: list[tuple[int, ...]] = []
        self.points: list[FloatArray] = []
        self.optimal, self.infinity = highspy.HighsModelStatus.kOptimal, highspy.kHighsInf
        self.columns = np.arange(self.dim, dtype=np.int32)
        self.solver = solver = highspy.Highs()
        for option, value in OPTIONS.items():
            if solver.setOptionValue(option, value) != highspy.HighsStatus.kOk:
                raise RuntimeError(f"this HiGHS does not take the option {option}={value}")
        low, high = (np.full(self.dim, end) for end in (problem.low, problem.high))
        solver.addVars(self.dim, low, high)

    def details(self) -> dict[str, Any]:
        return {
            "programs": self.programs,
            "pivots": self.pivots,
            "cold": self.cold,
            "clock": self.solver.getRunTime(),
            "regions": len(self.patterns),
        }

    def first_forms(self) -> FloatArray:
        weight, bias = self.problem.layers[0]
        return np.concatenate([weight, bias[:, None]], axis=1)

    def start(self) -> FloatArray:
        """Return a point of the cube that no hyperplane passes through, most likely."""
        low, high = self.problem.low, self.problem.high
        near = 0.01 * np.random.default_rng(0).uniform(-1, 1, self.dim)
        return 0.5 * (low + high) + 0.5 * (high - low) * near

    def walk(
        self, layer: int, unit: int, forms: FloatArray, bits: tuple[int, ...], inner: FloatArray
    ) -> None:
        """List the regions of the cell that the model's rows make; `inner` lies inside it."""
        rows = _scaled(forms)
        while True:
            if unit == len(forms):
                if layer + 1 == len(self.problem.layers):
                    self.patterns.append(bits)
                    self.points.append(inner)
                    return
                active = np.array(bits[-len(forms) :])
                weight, bias = self.problem.layers[layer + 1]
                forms = weight @ (forms * active[:, None])
                forms[:, -1] += bias
                layer, unit, rows = layer + 1, 0, _scaled(forms)
                continue
            slope, constant = rows[unit, :-1], float(rows[unit, -1])
            if not slope.any():
                bits, unit = (*bits, int(constant > 0)), unit + 1
                continue
            here = float(slope @ inner) + constant
            known = 0 if abs(here) <= 10 * TOLERANCE else 1 if here > 0 else -1
            low = here if known < 0 else self.least(slope) + constant
            least_at = None if known < 0 or low >= -TOLERANCE else self.vertex()
            high = here if known > 0 else constant - self.least(-slope)
            most_at = None if known > 0 or high <= TOLERANCE else self.vertex()
            unit += 1
            if low >= -TOLERANCE or high <= TOLERANCE:
                bits = (*bits, int(high > -low))
                continue
            basis = self.solver.getBasis()
            for bit, value, vertex in ((0, low, least_at), (1, high, most_at)):
                within = inner if vertex is None else _inside(inner, here, vertex, value)
                ends = (-constant, self.infinity) if bit else (-self.infinity, -constant)
                self.add_row(slope, *ends)
                self.walk(layer, unit, forms, (*bits, bit), within)
                self.remove_row(basis)
            return

    def least(self, slope: FloatArray) -> float:
        """Return the least value of a linear function on the closed cell."""
        if time.perf_counter() > self.deadline:
            raise _DeadlineError
        solver = self.solver
        solver.changeColsCost(self.dim, self.columns, slope)
        solver.run()
        if solver.getModelStatus() != self.optimal:  # now and then from an awkward basis
            self.cold += 1
            solver.clearSolver()
            solver.run()
            if solver.getModelStatus() != self.optimal:
                raise RuntimeError(f"HiGHS gave up: {solver.getModelStatus()}")
        info = solver.getInfo()
        self.programs += 1
        self.pivots += info.simplex_iteration_count
        return float(info.objective_function_value)

    def vertex(self) -> FloatArray:
        return np.array(self.solver.getSolution().col_value)

    def add_row(self, slope: FloatArray, low: float, high: float) -> None:
        start = np.zeros(1, dtype=np.int32)
        ends = np.array([low]), np.array([high])
        self.solver.addRows(1, *ends, self.dim, start, self.columns, slope)
        self.n_rows += 1

    def remove_row(self, basis: Any) -> None:
        self.n_rows -= 1
        self.solver.deleteRows(1, np.array([self.n_rows], dtype=np.int32))
        self.solver.setBasis(basis)


def _scaled(forms: FloatArray) -> FloatArray:
    largest = np.abs(forms[:, :-1]).max(axis=1, keepdims=True)
    return forms / np.where(largest > 0, largest, 1.0)


def _inside(inner: FloatArray, here: float, vertex: FloatArray, value: float) -> FloatArray:
    """Return a point inside the cell where the form has half its value at a vertex.

    On the way there from the inner point, where the form has another sign or none.
    """
    share = (0.5 * value - here) / (value - here)
    return inner + share * (vertex - inner)
