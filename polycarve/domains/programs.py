"""Linear programs about a domain's halfspaces: floats propose, and exact arithmetic checks.

Rows are forms ``[a, c]`` with ``a @ x + c > 0`` inside.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polycarve.rational import ExactArray, minimum, rank, stack

FloatArray = npt.NDArray[np.float64]


def deep_point(normals: FloatArray, levels: FloatArray) -> FloatArray | None:
    """Return the centre of a large ball in ``normals @ x + levels >= 0``; None if none is found."""
    from scipy.optimize import linprog  # slow to load, and boxes do not need it

    d = normals.shape[1]
    if not len(levels):
        return np.zeros(d)
    norms = np.linalg.norm(normals, axis=1)
    # In an unbounded polyhedron balls grow without end: one as large as its numbers will do.
    most = max(1.0, float(np.abs(levels / norms).max()))
    solution = linprog(
        np.array([0.0] * d + [-1.0]),
        A_ub=np.concatenate([-normals / norms[:, None], np.ones((len(levels), 1))], axis=1),
        b_ub=levels / norms,
        bounds=[(None, None)] * d + [(0, most)],
        method="highs",
    )
    return np.asarray(solution.x[:-1] + 0.0) if solution.status == 0 else None


def bounding_box(rows: ExactArray) -> tuple[ExactArray, ExactArray] | None:
    """Return exact bounds of ``{rows > 0}``, which is not empty; None if it is unbounded.

    Multipliers ``L >= 0`` with ``L @ a`` near ``-/+ e_j`` come from a float program. What is left,
    ``R = (-/+ e) - L @ a``, is computed exactly: where its absolute row sums stay below one, the
    set is bounded, for no direction of recession could be longest in any coordinate; and then
    ``R`` costs each bound little. Where floats do not get that far, exact programs decide.
    """
    d = rows.shape[1] - 1
    multipliers = _multipliers(rows, d)
    if multipliers is not None:
        box = _checked(rows, multipliers, d)
        if box is not None:
            return box
    if rank(rows[:, :-1]) < d:
        return None
    lo: list[Fraction] = []
    hi: list[Fraction] = []
    forms = rows.fractions()
    for j in range(d):
        for ends, sign in ((lo, 1), (hi, -1)):
            least = minimum(forms, [sign * int(i == j) for i in range(d)] + [0])
            if least is None:
                return None
            ends.append(sign * least)
    return ExactArray.of(lo), ExactArray.of(hi)


def _multipliers(rows: ExactArray, d: int) -> FloatArray | None:
    """Return float multipliers for the bounds, ``(2 d, m)``: upper bounds, then lower ones."""
    from scipy.optimize import linprog

    A, c = rows[:, :-1].float64, rows[:, -1].float64
    if ((A != 0).sum(axis=1) == 1).all():
        return _axis_multipliers(A)
    scale = np.ldexp(1.0, -np.frexp(np.abs(A).max(axis=1, initial=0.0))[1])
    found = []
    for sign in (1.0, -1.0):
        for j in range(d):
            objective = np.zeros(d)
            objective[j] = -sign
            solution = linprog(
                objective,
                A_ub=-A * scale[:, None],
                b_ub=c * scale,
                bounds=(None, None),
                method="highs",
            )
            if solution.status != 0:
                return None
            found.append(np.maximum(-solution.ineqlin.marginals, 0.0) * scale)
    return np.array(found)


def _axis_multipliers(A: FloatArray) -> FloatArray | None:
    """Return the same for rows along the axes, one a direction: each bounds its coordinate."""
    d = A.shape[1]
    if len(A) < 2 * d:
        return None
    L = np.zeros((2 * d, len(A)))
    axis = np.argmax(A != 0, axis=1)
    slope = A[np.arange(len(A)), axis]
    L[axis + np.where(slope < 0, 0, d), np.arange(len(A))] = 1 / np.abs(slope)
    return L


def _checked(
    rows: ExactArray, multipliers: FloatArray, d: int
) -> tuple[ExactArray, ExactArray] | None:
    """Turn float multipliers into exact bounds, or None if they prove nothing."""
    L = ExactArray.of(multipliers)
    eye = ExactArray.eye(d)
    rest = (stack([eye, -eye]) + L @ rows[:, :-1]).reduced()  # sign * e_j = -L a + rest
    levels = (L @ rows[:, -1]).fractions()
    left = [sum(map(abs, row), Fraction(0)) for row in rest.fractions()]
    if max(left) >= 1:
        return None
    # sign * x_j <= level + left * max |x|, and the largest of these is max |x| itself.
    reach = max(Fraction(0), *levels) / (1 - max(left))
    ends = [level + part * reach for level, part in zip(levels, left, strict=True)]
    return ExactArray.of([-end for end in ends[d:]]), ExactArray.of(ends[:d])


def widened(lo: ExactArray, hi: ExactArray, margin: float) -> tuple[ExactArray, ExactArray]:
    """Return a larger box of short float64 numbers."""
    low, high = lo.float64, hi.float64
    room = margin * (high / 2 - low / 2) * 2 + 2.0**-40 * np.maximum(np.abs(low), np.abs(high))
    room = np.maximum(room, 2.0**-1000)
    most = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return (
            ExactArray.of(np.maximum(low - room, -most)),
            ExactArray.of(np.minimum(high + room, most)),
        )
