"""Where forms are least on a cell, by the simplex kernels: the faces that a proof may rest on.

Nothing here decides anything. What is proposed is right or not by exact arithmetic elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.splitting.kernels.arrays import GAMMA
from polycarve.splitting.kernels.compilation import announce
from polycarve.splitting.kernels.proposals import propose
from polycarve.splitting.kernels.simplex import OPTIMAL

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Proposals(NamedTuple):
    """Where each of several forms is least on a cell, if floating point can tell.

    Attributes
    ----------
    found : (n,) bool
        Whether the form seems not to be negative anywhere; the rest is of use only there.
    faces : (n, k) int64
        Faces that meet where it is least: lower sides of the box, upper sides, then rows.
    prices : (n, k) float64
        The form is its least value plus these times the faces' forms.
    values : (n,) float64
        The least value.
    """

    found: npt.NDArray[np.bool_]
    faces: IntArray
    prices: FloatArray
    values: FloatArray


class Proposer:
    """Buffers for cells of ``k`` coordinates in a box, grown as more rows and forms come."""

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        self.lower, self.upper, self.k = lower, upper, len(lower)
        self.size = np.maximum(np.abs(lower), np.abs(upper))
        k, self.n_rows, self.n_goals = self.k, 0, 0
        self.noise = np.zeros(2 * k)
        self.basis, self.info = np.zeros(k, np.int64), np.zeros(4, np.int64)
        self.E, self.v, self.p = np.zeros((k, k)), np.zeros(k), np.zeros(k)
        self.witness, self.matrix = np.zeros((min(2 * k + 4, 16), k + 1)), np.zeros((k, 2 * k))
        self.f, self.y, self.counters = np.zeros(k + 3), np.zeros(k), np.zeros(6, np.int64)

    def propose(self, rows: FloatArray, goals: FloatArray, point: FloatArray) -> Proposals:
        """Minimise forms over a cell.

        Parameters
        ----------
        rows : (m, k + 1) float64
            Forms that are positive in the cell, beside the box, with a largest coefficient in
            [1, 2); see `normalised`.
        goals : (n, k + 1) float64
        point : (k,) float64
            A point inside.
        """
        announce(propose)
        k, m, n = self.k, len(rows), len(goals)
        if m > self.n_rows or not hasattr(self, "rows"):
            self.n_rows = 2 * m + 8
            self.rows = np.zeros((k + 2, self.n_rows))
            self.rates = np.zeros(2 * k + self.n_rows)
            self.gaps = np.zeros(2 * (2 * k + self.n_rows))
        if n > self.n_goals or not hasattr(self, "goals"):
            self.n_goals = 2 * n + 8
            self.goals = np.zeros((self.n_goals, k + 3))
            self.outcomes = np.zeros(self.n_goals, np.int64)
            self.bases = np.zeros((self.n_goals, k), np.int64)
            self.prices, self.values = np.zeros((self.n_goals, k)), np.zeros(self.n_goals)
        self.rows[: k + 1, :m] = rows.T
        self.rows[k + 1, :m] = GAMMA * self._sizes(rows)
        self.goals[:n, : k + 1] = goals
        self.goals[:n, k + 2] = self._sizes(goals)
        self.goals[:n, k + 1] = GAMMA * self.goals[:n, k + 2]
        self.p[:] = point
        propose(
            m,
            k,
            self.lower,
            self.upper,
            self.noise,
            self.rows,
            self.basis,
            self.E,
            self.v,
            self.p,
            self.witness,
            self.info,
            self.f,
            self.y,
            self.rates,
            self.gaps,
            self.matrix,
            self.counters,
            self.goals,
            n,
            self.outcomes,
            self.bases,
            self.prices,
            self.values,
        )
        is_found = self.outcomes[:n] == OPTIMAL
        return Proposals(is_found, self.bases[:n], self.prices[:n], self.values[:n])

    def _sizes(self, forms: FloatArray) -> FloatArray:
        return np.asarray(np.abs(forms[:, :-1]) @ self.size + np.abs(forms[:, -1]))
