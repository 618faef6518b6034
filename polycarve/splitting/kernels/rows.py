"""The rows of a cell: forms that are positive in it, from the box, the domain and its ancestors.

Row r is ``rows[j * stride + r]`` for ``j = 0 .. k + 1``: coefficients, the constant, and
``1 / rho``, where vertices on its facet are within ``rho`` of the plane when it is written. The
first ``2 k`` rows are the sides of the box. Rows that are no facets any more stay.

Any other form is ``data[at + j * stride]`` for ``j = 0 .. k``.
"""

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import EPS
from polycarve.splitting.kernels.compilation import inlined, kernel
from polycarve.splitting.kernels.sums import EXACT, FLAT


@kernel
def put_sides(k, lower, upper, side_noise, size, rows, room, kinds):
    """Write the sides of the box as the first rows."""
    for side in range(2 * k):
        j = side % k
        for i in range(k):
            rows[i * room + side] = 0.0
        rows[j * room + side] = 1.0 if side < k else -1.0
        bound = -lower[j] if side < k else upper[j]
        rows[k * room + side] = bound
        rows[(k + 1) * room + side] = 0.5 / (side_noise[side] + 4.0 * EPS * size[j])
        kinds[side] = 0
        if side_noise[side] == 0.0:
            kinds[side] = EXACT + (FLAT if bound == 0.0 else 0)


@inlined
def put_row(r, data, at, stride, sign, kind, rho, k, rows, room, kinds):
    """Write a form that is positive in the cell as row r."""
    for j in range(k + 1):
        rows[j * room + r] = sign * data[at + j * stride]
    rows[(k + 1) * room + r] = 1.0 / rho
    kinds[r] = kind


@inlined
def value(data, at, stride, k, point):
    """Return a form's value at a point."""
    total = data[at + k * stride]
    for j in range(k):
        total += data[at + j * stride] * point[j]
    return total


@kernel
def value_at_vertex(data, at, stride, k, v, X):
    """Return a form's value at a vertex."""
    total = data[at + k * stride]
    for j in range(k):
        total += data[at + j * stride] * X[j, v]
    return total


@kernel
def growth_of(k, n_rows):
    """Return what rounding may have made of a row's ``rho``: every cut adds a little."""
    return 1.0 + 0.25 * (n_rows - 2 * k)


@inlined
def depth_of(k, n_rows, rows, stride, at, values):
    """Return how deep a point lies inside all rows, in units of their ``rho``."""
    for r in range(n_rows):
        values[r] = rows[u(k * stride + r)]
    for j in range(k):
        for r in range(n_rows):
            values[r] += rows[u(j * stride + r)] * at[j]
    # Four minima at a time: each waits for the one before it.
    d0, d1, d2, d3 = np.inf, np.inf, np.inf, np.inf
    scale = (k + 1) * stride
    for r in range(0, n_rows - 3, 4):
        d0 = _least(d0, values[u(r)] * rows[u(scale + r)])
        d1 = _least(d1, values[u(r + 1)] * rows[u(scale + r + 1)])
        d2 = _least(d2, values[u(r + 2)] * rows[u(scale + r + 2)])
        d3 = _least(d3, values[u(r + 3)] * rows[u(scale + r + 3)])
    for r in range(n_rows - n_rows % 4, n_rows):
        d0 = _least(d0, values[u(r)] * rows[u(scale + r)])
    return _least(_least(d0, d1), _least(d2, d3))


@inlined
def _least(a, b):
    return a if b > a else b
