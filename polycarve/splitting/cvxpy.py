"""Method ``cvxpy``: the reference walk with any solver of linear programs that cvxpy knows.

``"cvxpy"`` takes Clarabel, an interior-point solver that comes with cvxpy and has nothing in common
with the HiGHS of method ``highs``; where it is missing, the first solver that works.
``"cvxpy:HIGHS"``, ``"cvxpy:SCS"``, ... name another one.

**No answer is taken at its word**, for solvers stop at very different accuracies. The point that
one returns is drawn towards a point deep in the cell until it lies within; what the form is there,
it surely attains. The multipliers ``y >= 0`` of the rows prove a bound from below: wherever
``|u| <= 1`` and ``A @ u + c >= 0``, a form ``g @ u`` is at least ``-y @ c - sum |g - y @ A|``,
whatever ``y`` is. A poor solver leaves a gap between the two, and a decision that falls into it is
doubtful.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError, MissingDependencyError
from polycarve.splitting.program import Program
from polycarve.splitting.reference import Least, Reference, Solver, ball_rows, box_rows

FloatArray = npt.NDArray[np.float64]

_DEFAULT = "CLARABEL"
_VERTEX = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# What to ask for, one after the other: first about the best that a solver can do on small programs
# of size one, then what it does by itself. OSQP must not adapt by the clock: the same cell gets the
# same answer.
_OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "CLARABEL": ({"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}, {}),
    "SCIPY": ({"scipy_options": _VERTEX}, {}),
    "HIGHS": (_VERTEX, {}),
    "SCS": ({"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000}, {}),
    "OSQP": tuple(
        {"eps_abs": eps, "eps_rel": eps, "max_iter": 100_000, "adaptive_rho": False}
        for eps in (1e-8, 1e-4)
    ),
}
# The distance at which two lines of slope one were always told apart, measured and rounded up.
_RESOLUTION = {"CLARABEL": 1e-7, "SCIPY": 1e-8, "HIGHS": 1e-8, "SCS": 1e-5, "OSQP": 1e-4}
_RESOLUTION_OF_OTHERS = 1e-5
_SOLVED = ("optimal", "optimal_inaccurate")
_ROUNDING = 2.0**-52


class Cvxpy(Reference):
    """The reference walk; a solver of cvxpy proposes, and what it says is proven or doubtful.

    Parameters
    ----------
    name : str
        ``"cvxpy"``, or ``"cvxpy:SOLVER"`` with the name of an installed solver.
    """

    budget = 200

    def __init__(self, name: str = "cvxpy") -> None:
        installed = _cvxpy().installed_solvers()
        _, colon, wanted = name.partition(":")
        candidates = [wanted.upper()] if colon else [_DEFAULT, *installed]
        able = (c for c in candidates if c in installed and _is_able(c))
        self.chosen = next(able, "")
        if not self.chosen:
            there = [f"cvxpy:{solver}" for solver in installed if _is_able(solver)]
            raise InputError(
                f"method {name!r} names no solver of linear programs that cvxpy finds here. "
                f"Choose one of: {', '.join(there) or 'none, so install one'}."
            )
        self.name = f"cvxpy:{self.chosen}" if colon else "cvxpy"
        self.resolution = _RESOLUTION.get(self.chosen, _RESOLUTION_OF_OTHERS)

    def solver(self, program: Program) -> Solver:
        return _Proven(self.chosen, program)


@dataclass
class _Cell:
    """Where ``A @ u + c >= 0``, up to noise, and ``|u| <= 1``; a point inside if one is known."""

    key: bytes
    A: FloatArray
    c: FloatArray
    noise: FloatArray
    inner: FloatArray | None


class _Proven:
    """Solves in coordinates ``u`` in which the box is ``|u| <= 1``, with rows of size one."""

    def __init__(self, solver: str, program: Program) -> None:
        self.name = solver
        self.middle = 0.5 * program.upper + 0.5 * program.lower
        self.half = 0.5 * program.upper - 0.5 * program.lower
        self.programs = self.pivots = 0
        self.latest: _Cell | None = None

    def least(self, form: FloatArray, rows: FloatArray) -> Least:
        g, constant = form[:-2] * self.half, form[:-2] @ self.middle + form[-2]
        cell, size = self.cell(rows), float(np.abs(g).sum())
        low, value, high = -size, 0.0, np.inf
        if not len(rows):
            value = high = low
        elif size and (answer := self.solve(g / size, cell.A, cell.c)) is not None:
            u, y = answer
            low = max(low, _lower_bound(g, cell, y * size))
            value = float(g @ u)
            if cell.inner is not None:
                value = high = float(g @ _drawn_inside(u, cell, cell.inner))
        elif cell.inner is not None:
            value = high = float(g @ cell.inner)
        low, high = low - self.rounding(form), high + self.rounding(form)
        return Least(*(float(constant + v) for v in (low, value, high)))

    def centre(self, rows: FloatArray) -> FloatArray:
        """Return the centre of the largest ball in the cell, with the box as a cube."""
        inner = self.cell(rows).inner
        return self.middle if inner is None else self.middle + self.half * inner

    def cell(self, rows: FloatArray) -> _Cell:
        key = rows.tobytes()
        if self.latest is None or self.latest.key != key:
            A, c = rows[:, :-2] * self.half, rows[:, :-2] @ self.middle + rows[:, -2]
            size = np.abs(A).max(axis=1, initial=0.0)
            size[size == 0] = 1.0
            noise = (rows[:, -1] + self.rounding(rows)) / size
            A, c = A / size[:, None], c / size
            self.latest = _Cell(key, A, c, noise, self.deepest(A, c, noise))
        return self.latest

    def rounding(self, forms: FloatArray) -> Any:
        """Bound what evaluating forms in the box may be off by."""
        reach = np.abs(forms[..., :-2]) @ (np.abs(self.middle) + self.half)
        return _ROUNDING * (len(self.half) + 4) * (reach + np.abs(forms[..., -2]))

    def deepest(self, A: FloatArray, c: FloatArray, noise: FloatArray) -> FloatArray | None:
        """Return the centre of the largest ball, if it is seen to lie inside."""
        k = len(self.half)
        if not len(A):
            return np.zeros(k)
        cube = box_rows(-np.ones(k), np.ones(k), np.zeros(2 * k))
        ball = ball_rows(np.concatenate([np.column_stack([A, c, noise]), cube]))
        answer = self.solve(-np.eye(k + 1)[k], ball[:, :-2], ball[:, -2])
        if answer is None:
            return None
        inner = np.asarray(answer[0][:-1])
        return inner if (A @ inner + c > 2 * noise).all() else None

    def solve(self, g: FloatArray, A: FloatArray, c: FloatArray) -> Any:
        """Return a point and multipliers that are nearly optimal, or None."""
        self.programs += 1
        for options in _OPTIONS.get(self.name, ({},)):
            answer = _solve(self.name, options, g, A, c)
            if answer is not None:
                point, multipliers, iterations = answer
                self.pivots += iterations
                return np.clip(point, -1.0, 1.0), np.maximum(multipliers, 0.0)
        return None


def _lower_bound(g: FloatArray, cell: _Cell, y: FloatArray) -> float:
    """Bound ``g @ u`` on a cell from below, whatever noise and rounding did."""
    A, c = cell.A, cell.c
    terms = y @ np.abs(c) + np.abs(g).sum() + (y @ np.abs(A)).sum()
    proven = -y @ (c + cell.noise) - np.abs(g - y @ A).sum()
    return float(proven - _ROUNDING * (sum(A.shape) + 4) * terms)


def _drawn_inside(u: FloatArray, cell: _Cell, inner: FloatArray) -> FloatArray:
    """Move a point of the cube towards a point in the cell until it lies in the cell."""
    values, deep = cell.A @ u + cell.c - cell.noise, cell.A @ inner + cell.c - cell.noise
    out = values < 0
    way = (values[out] / (values[out] - deep[out])).max(initial=0.0)
    return np.asarray(u + way * (inner - u))


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise MissingDependencyError("cvxpy", "cvxpy", "the method 'cvxpy'") from None
    return cvxpy


class _Held(threading.local):
    """The compiled problems of a thread, by solver and shape: they hold the numbers given last."""

    def __init__(self) -> None:
        self.problems: dict[tuple[str, int, int], _Problem] = {}


_HELD = _Held()
_LOCK = threading.RLock()  # cvxpy numbers its variables by a counter that all threads share


class _Problem:
    """Minimise ``g @ u`` where ``A @ u + c >= 0`` and ``|u| <= 1``, compiled for any numbers."""

    def __init__(self, m: int, n: int) -> None:
        cp = _cvxpy()
        self.g, self.A, self.c = cp.Parameter(n), cp.Parameter((m, n)), cp.Parameter(m)
        self.u = cp.Variable(n)
        self.rows = self.A @ self.u + self.c >= 0
        self.problem = cp.Problem(
            cp.Minimize(self.g @ self.u), [self.rows, self.u >= -1, self.u <= 1]
        )

    def answer(self, solver: str, options: dict[str, Any]) -> Any:
        # Step by step instead of `Problem.solve`: that warns of inaccurate answers, which are
        # welcome here, and may start from the last answer, which would let the order of work show.
        data, chain, inverse = self.problem.get_problem_data(solver, solver_opts=options)
        raw = chain.solve_via_data(self.problem, data, warm_start=False, solver_opts=options)
        return chain.invert(raw, inverse)


def _solve(
    solver: str, options: dict[str, Any], g: FloatArray, A: FloatArray, c: FloatArray
) -> tuple[FloatArray, FloatArray, int] | None:
    """Return a point, the multipliers of the rows and the iterations; None if it gives up."""
    cp, key, options = _cvxpy(), (solver, *A.shape), copy.deepcopy(options)
    held = _HELD.problems.get(key)
    with _LOCK if held is None else nullcontext():
        if held is None:
            if len(_HELD.problems) > 500:
                _HELD.problems.clear()
            held = _HELD.problems[key] = _Problem(*A.shape)
        held.g.value, held.A.value, held.c.value = g, A, c
        try:
            answer = held.answer(solver, options)
        except (cp.SolverError, ArithmeticError, ValueError):
            return None
    if answer.status not in _SOLVED or not answer.dual_vars:
        return None
    point = np.asarray(answer.primal_vars[held.u.id], dtype=np.float64).ravel()
    multipliers = np.asarray(answer.dual_vars[held.rows.id], dtype=np.float64).ravel()
    if not (np.isfinite(point).all() and np.isfinite(multipliers).all()):
        return None
    return point, multipliers, int(answer.attr.get("num_iters") or 0)


@lru_cache
def _is_able(solver: str) -> bool:
    """Whether an installed solver minimises ``u + v`` where ``u + 2 v >= 0``, and can prove it."""
    with _LOCK, _stdout_as_stderr():
        try:
            answer = _solve(solver, {}, np.ones(2), np.array([[1.0, 2.0]]), np.zeros(1))
        except Exception:  # no licence, no integer programs only, no end of reasons
            return False
    if answer is None:
        return False
    point, multipliers, _ = answer
    return bool(
        np.allclose(point, [-1, 0.5], atol=1e-2) and np.allclose(multipliers, 0.5, atol=1e-2)
    )


@contextmanager
def _stdout_as_stderr() -> Iterator[None]:
    """Send aside what compiled solvers print when first used: a greeting, a licence."""
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
