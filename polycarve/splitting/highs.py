"""Method ``highs``: one linear program a side by SciPy's HiGHS. Slow, readable, independent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from polycarve.errors import NumericalError
from polycarve.splitting.program import Program
from polycarve.splitting.reference import Least, Reference, Solver, ball_rows, box_rows

FloatArray = npt.NDArray[np.float64]


class Highs(Reference):
    """The reference walk with SciPy's HiGHS, whose optimal vertices are taken at their word."""

    name = "highs"
    resolution = 1e-8
    budget = 200

    def solver(self, program: Program) -> Solver:
        return _Linprog(program)


class _Linprog:
    def __init__(self, program: Program) -> None:
        self.lower, self.upper = program.lower, program.upper
        self.programs = self.pivots = 0

    def least(self, form: FloatArray, rows: FloatArray) -> Least:
        bounds = np.stack([self.lower, self.upper], axis=1)
        point, multipliers = self.solve(form[:-2], rows, bounds)
        value = float(form[:-2] @ point + form[-2])
        moved = float(multipliers @ rows[:, -1])  # what the rows' noise amounts to here
        return Least(value - moved, value, value + moved)

    def centre(self, rows: FloatArray) -> FloatArray:
        """Return the centre of the largest ball in the cell."""
        bounds = np.stack([np.append(self.lower, 0.0), np.append(self.upper, np.inf)], axis=1)
        sides = box_rows(self.lower, self.upper, np.zeros(2 * len(self.lower)))
        ball = ball_rows(np.concatenate([rows, sides]))
        return self.solve(np.append(np.zeros(len(self.lower)), -1.0), ball, bounds)[0][:-1]

    def solve(
        self, objective: FloatArray, rows: FloatArray, bounds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return an optimal point, and the multipliers of the rows."""
        scale = np.abs(objective).max() or 1.0
        solution = linprog(
            objective / scale,
            A_ub=-rows[:, :-2] if len(rows) else None,
            b_ub=rows[:, -2] if len(rows) else None,
            bounds=bounds,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        self.programs += 1
        if solution.status != 0:
            raise NumericalError(
                f"HiGHS gave up on a cell: {solution.message} Use method='simplex', or rescale the "
                f"inputs."
            )
        self.pivots += int(solution.nit)
        return np.asarray(solution.x), scale * np.abs(solution.ineqlin.marginals)
