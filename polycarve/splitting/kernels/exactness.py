"""Vertices known exactly, forms that are exactly zero at them, and what that proves.

Degenerate input is full of both, and nothing of it can be told by rounded numbers alone.
"""

from numpy import uint64 as u

from polycarve.splitting.kernels.compilation import inlined, kernel
from polycarve.splitting.kernels.rows import growth_of, value, value_at_vertex
from polycarve.splitting.kernels.sums import EXACT, FLAT

# Added and taken away again, it rounds to a multiple of 2^-20.
ROUNDER = 1.5 * 2.0**32


@kernel
def vanishes(data, at, stride, kind, k, v, X):
    """Whether a form is exactly zero where a vertex is computed to be, as far as can be told."""
    if kind & FLAT:
        is_origin = True
        for j in range(k):
            is_origin = is_origin and X[j, v] == 0.0
        if is_origin:
            return True
    if not kind & EXACT:
        return False
    total = 0.0
    for j in range(k + 1):
        a = data[at + j * stride]
        x = X[j, v] if j < k else 1.0
        term = a * x
        if a == 0.0 or x == 0.0:
            continue
        if not (1e-200 < abs(term) < 1e200 and abs(a) < 1e200 and abs(x) < 1e200):
            return False
        # The errors of the product (Dekker) and of the sum (Knuth) are numbers: both must be zero.
        big = 134217729.0 * a
        a_high = big - (big - a)
        big = 134217729.0 * x
        x_high = big - (big - x)
        a_low, x_low = a - a_high, x - x_high
        error = ((a_high * x_high - term) + a_high * x_low + a_low * x_high) + a_low * x_low
        after = total + term
        back = after - total
        if error != 0.0 or (total - (after - back)) + (term - back) != 0.0:
            return False
        total = after
    return total == 0.0


@inlined
def pin(data, at, stride, kind, k, start, stop, n_rows, rows, row_stride, kinds, X, off, spare):
    """Move new vertices to multiples of 2^-20 near them, where that is exactly what they are.

    That is so if the form that cuts and every row vanishes exactly there, but for rows that are
    clearly away.
    """
    n = stop - start
    for v in range(n):
        off[v] = 0.0
    for j in range(k):
        for v in range(n):
            x = X[j, u(start + v)]
            off[v] = max(off[v], abs(x - ((x + ROUNDER) - ROUNDER)))
    for v in range(n):
        if not off[v] <= 4.0 * X[k, u(start + v)]:
            continue
        for j in range(k):
            spare[j] = X[j, start + v]
            X[j, start + v] = (spare[j] + ROUNDER) - ROUNDER
        if _is_there(data, at, stride, kind, k, start + v, n_rows, rows, row_stride, kinds, X,
                     off[v]):
            X[k, start + v] = 0.0
        else:
            for j in range(k):
                X[j, start + v] = spare[j]


@kernel
def _is_there(data, at, stride, kind, k, v, n_rows, rows, row_stride, kinds, X, shift):
    """Whether a vertex that was shifted a little is now exactly where it should be."""
    if not vanishes(data, at, stride, kind, k, v, X):
        return False
    growth = growth_of(k, n_rows)
    for r in range(n_rows):
        norm = 0.0
        for j in range(k):
            norm += abs(rows[j * row_stride + r])
        rho = growth / rows[(k + 1) * row_stride + r] + norm * shift
        if not abs(value_at_vertex(rows, r, row_stride, k, v, X)) > rho and not vanishes(
                rows, r, row_stride, kinds[r], k, v, X):
            return False
    return True


@kernel
def opens(k, v, fuzz, n_rows, rows, stride, kinds, centre, X):
    """Whether every row either vanishes at a vertex, exactly, or is far from it.

    Then the vertex is exactly where it is computed to be. And where a form vanishes exactly at
    all of some such vertices and is clearly positive at the others, it is positive in the cell.
    For let it be negative at a true vertex. Drawn towards the centre by `fuzz`, that is a mean
    of the vertices, all but half of whose weight is on those where the form vanishes, and of
    this a share of at most 1 / (2 k) is off any one of the k facets that meet there. So one of
    these vertices lies on all of them: it is the true vertex, and the form is zero there.
    """
    growth = growth_of(k, n_rows)
    for r in range(n_rows):
        if vanishes(rows, r, stride, kinds[r], k, v, X):
            continue
        rho = growth / rows[(k + 1) * stride + r]
        here = value_at_vertex(rows, r, stride, k, v, X)
        if not 2.0 * k * (fuzz * value(rows, r, stride, k, centre) + rho) < here - rho:
            return False
    return True
