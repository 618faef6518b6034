"""Cells as polytopes: their vertices, the facets through each, and how a hyperplane cuts them.

A cell is a stretch of columns of two arrays: ``X`` has a vertex's coordinates and, in its last
row, how far rounding may have moved it (zero only where it has not); ``B`` has the facets through
it, as bits. A facet's bit is local: it is free again once no vertex of the cell has it. No vertex
is ever changed, so that the two halves of a cell can share those on the cut.

A form is ``data[at + j * stride]`` for ``j = 0 .. k``: coefficients, then the constant.

Invariant (what decisions rest on): where ``g`` is a facet's form, its vertices lie within
``rho`` of ``g = 0``, and all points deeper than ``rho`` inside every facet lie in the hull of
the vertices. Cutting keeps that, whatever signs rounding gave to vertices: what one half loses
lies within the new ``rho`` of the other. So positions need not be known well, only residuals.
"""

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import EPS
from polycarve.splitting.kernels.bits import bit_at, lowest, popcount
from polycarve.splitting.kernels.compilation import inlined, kernel
from polycarve.splitting.kernels.sums import EXACT, FLAT

# Added and taken away again, it rounds to a multiple of 2^-20.
ROUNDER = 1.5 * 2.0**32

# Why a cell was not cut: no column, no bit of a word is left; it lies on one side.
NO_COLUMN, NO_WORD, ABOVE, BELOW = -1, -2, -3, -4


@kernel
def corners(k, lower, upper, side_noise, X, B):
    """Write the corners of the box; return where they end."""
    for v in range(1 << k):
        X[k, v] = 0.0
        for w in range(B.shape[0]):
            B[w, v] = 0
        for j in range(k):
            is_upper = (v >> j) & 1
            side = j + k * is_upper
            X[j, v] = upper[j] if is_upper else lower[j]
            X[k, v] = max(X[k, v], side_noise[side])
            B[side >> 6, v] |= bit_at(side & 63)
    return 1 << k


@inlined
def cut(data, at, stride, kind, noise, k, start, stop, top, n_rows, rows, row_stride, kinds, X, B,
        places, near, z, share, length, spare):
    """Cut a cell in two; write both halves from column `top` on.

    Returns ``(end, mid, low, slack, is_sure)``: the positive half is ``top .. mid``, the negative
    one ``low .. end``; vertices counted as lying on the plane are within `slack` of it,
    and `is_sure` says whether all of these do so exactly. Or `end` says why nothing was cut.
    """
    n_words = B.shape[0]
    n = stop - start
    norm = 0.0
    for v in range(n):
        z[v] = data[at + k * stride]
    for j in range(k):
        a = data[at + j * stride]
        norm += abs(a)
        for v in range(n):
            z[v] += a * X[j, u(start + v)]
    above, on, below = 0, 0, 0
    for v in range(n):  # without branches: signs are hard to foresee
        tolerance = noise + norm * X[k, u(start + v)]
        places[0, u(above)] = places[1, u(on)] = places[2, u(below)] = start + v
        is_above, is_below = z[v] > tolerance, z[v] < -tolerance
        above += is_above
        below += is_below
        on += not (is_above or is_below)
    slack, is_sure = 0.0, True
    for i in range(on):
        v = places[1, i]
        slack = max(slack, abs(z[v - start]))
        is_sure = (is_sure and X[k, v] == 0.0
                   and vanishes(data, at, stride, kind, k, v, X))
    if below == 0 or above == 0:
        return (ABOVE if below == 0 else BELOW), 0, 0, slack, is_sure
    # A bit for the new facet.
    word, bit = -1, np.uint64(0)
    for w in range(n_words):
        used = np.uint64(0)
        for v in range(start, stop):
            used |= B[w, u(v)]
        bit = lowest(~used)
        if bit != 0:
            word = w
            break
    if word < 0:
        return NO_WORD, 0, 0, slack, is_sure
    room = X.shape[1]
    if top + n + on > room:
        return NO_COLUMN, 0, 0, slack, is_sure
    to = _copy(places[0], above, top, k, X, B)
    low = to
    to = _copy(places[1], on, to, k, X, B)
    for v in range(low, to):
        B[word, v] |= bit
    count = _find_edges(k, start, stop, above, below, room - to - below - on, B, places, near)
    if count < 0 or to + count + below + (on + count if on > 0 else 0) > room:
        return NO_COLUMN, 0, 0, slack, is_sure
    _write_vertices(noise, k, start, count, to, word, bit, X, B, z, places, share, length)
    _pin(data, at, stride, kind, k, to, to + count, n_rows, rows, row_stride, kinds, X, length, spare)
    to += count
    mid = to
    if on > 0:  # the halves lose different facets, so they cannot share vertices
        for v in range(low, mid):
            for j in range(k + 1):
                X[j, to] = X[j, v]
            for w in range(n_words):
                B[w, to] = B[w, v]
            to += 1
        low = mid
    to = _copy(places[2], below, to, k, X, B)
    if on > 0:
        _forget(k, top, mid, B)
        _forget(k, low, to, B)
    return to, mid, low, slack, is_sure


@inlined
def _copy(places, count, to, k, X, B):
    for j in range(k + 1):
        for i in range(count):
            X[j, u(to + i)] = X[j, u(places[i])]
    for w in range(B.shape[0]):
        for i in range(count):
            B[w, u(to + i)] = B[w, u(places[i])]
    return to + count


@inlined
def _find_edges(k, start, stop, above, below, most, B, places, near):
    """List the edges that cross the plane by their ends; -1 if there may be more than `most`."""
    n_words = B.shape[0]
    wanted = u(k - 1)
    count = 0
    for m in range(below):
        near[m] = B[0, u(places[2, m])]
    for i in range(above):
        p = places[0, i]
        here = B[0, u(p)]
        n_through = popcount(here)
        for w in range(1, n_words):
            n_through += popcount(B[w, u(p)])
        if count + below > most:
            return -1
        before = count
        if n_through <= k and n_words == 1:
            for m in range(below):  # without branches
                places[4, u(count)] = places[2, u(m)]
                count += popcount(here & near[m]) >= wanted
        else:
            for m in range(below):
                n_shared = popcount(here & near[m])
                for w in range(1, n_words):
                    n_shared += popcount(B[w, u(p)] & B[w, u(places[2, m])])
                q = places[2, m]
                if n_shared >= wanted and (n_through <= k or _is_edge(k, p, q, start, stop, B)):
                    places[4, u(count)] = q
                    count += 1
        for e in range(before, count):
            places[3, u(e)] = p
    return count


@inlined
def _write_vertices(noise, k, start, count, to, word, bit, X, B, z, places, share, length):
    """Write the points where edges cross the plane, with the facets through them."""
    for e in range(count):
        p, q = u(places[3, e] - start), u(places[4, e] - start)
        slope = z[p] - z[q]
        share[e] = z[p] / slope
        length[e] = 0.0
        X[k, u(to + e)] = noise / slope
    for j in range(k):
        for e in range(count):
            at = X[j, u(places[3, e])]
            step = X[j, u(places[4, e])] - at
            X[j, u(to + e)] = at + share[e] * step
            length[e] = max(length[e], abs(step))
    for e in range(count):
        ends = max(X[k, u(places[3, e])], X[k, u(places[4, e])])
        X[k, u(to + e)] = ends + X[k, u(to + e)] * length[e]
    for w in range(B.shape[0]):
        for e in range(count):
            B[w, u(to + e)] = B[w, u(places[3, e])] & B[w, u(places[4, e])]
    for v in range(to, to + count):
        B[word, u(v)] |= bit


@inlined
def _pin(data, at, stride, kind, k, start, stop, n_rows, rows, row_stride, kinds, X, off, spare):
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
def _is_edge(k, p, q, start, stop, B):
    """Whether two vertices that share ``k - 1`` facets, the first on more than k, span an edge.

    They do if the second lies on k only, whose normals are independent; else if no third vertex
    lies on all facets that they share.
    """
    n_words = B.shape[0]
    n_through = 0
    for w in range(n_words):
        n_through += popcount(B[w, q])
    if n_through <= k:
        return True
    for v in range(start, stop):
        missing = np.uint64(0)
        for w in range(n_words):
            missing |= B[w, p] & B[w, q] & ~B[w, v]
        if missing == 0 and v != p and v != q:
            return False
    return True


@kernel
def _forget(k, start, stop, B):
    """Take away facets with fewer than k vertices: they only touch the cell."""
    for w in range(B.shape[0]):
        used = np.uint64(0)
        for v in range(start, stop):
            used |= B[w, u(v)]
        while used != 0:
            bit = lowest(used)
            used ^= bit
            count = 0
            for v in range(start, stop):
                if B[w, v] & bit != 0:
                    count += 1
            if count < k:
                for v in range(start, stop):
                    B[w, v] &= ~bit


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


@kernel
def growth_of(k, n_rows):
    """Return what rounding may have made of a row's ``rho``: every cut adds a little."""
    return 1.0 + 0.25 * (n_rows - 2 * k)


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


@inlined
def centre_of(k, start, stop, X, centre):
    """Write the mean of the vertices; return how badly a vertex is known, and where the origin is.

    The last is a vertex that is exactly the origin, or -1.
    """
    last = stop - (stop - start) % 4
    for j in range(k):
        # Four sums at a time: each waits for the one before it.
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for v in range(start, last, 4):
            t0 += X[j, u(v)]
            t1 += X[j, u(v + 1)]
            t2 += X[j, u(v + 2)]
            t3 += X[j, u(v + 3)]
        for v in range(last, stop):
            t0 += X[j, u(v)]
        centre[j] = ((t0 + t1) + (t2 + t3)) / (stop - start)
    blur, apex = 0.0, -1
    for v in range(start, stop):
        blur = max(blur, X[k, u(v)])
        if X[k, u(v)] == 0.0:
            is_origin = True
            for j in range(k):
                is_origin = is_origin and X[j, v] == 0.0
            if is_origin:
                apex = v
    return blur, apex


@inlined
def depth_of(k, n_rows, rows, stride, at, values):
    """Return how deep a point lies inside all rows, in units of their ``rho``."""
    for r in range(n_rows):
        values[r] = rows[u(k * stride + r)]
    for j in range(k):
        for r in range(n_rows):
            values[r] += rows[u(j * stride + r)] * at[j]
    # Four minima at a time: each waits for the one before it. NaN must stay.
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


@inlined
def put_row(r, data, at, stride, sign, kind, rho, k, rows, room, kinds):
    """Write a form that is positive in the cell as row r."""
    for j in range(k + 1):
        rows[j * room + r] = sign * data[at + j * stride]
    rows[(k + 1) * room + r] = 1.0 / rho
    kinds[r] = kind


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
