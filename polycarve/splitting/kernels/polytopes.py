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

from polycarve.splitting.kernels.bits import bit_at, lowest, popcount
from polycarve.splitting.kernels.compilation import inlined, kernel
from polycarve.splitting.kernels.exactness import pin, vanishes

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

    Returns ``(end, mid, low, on, slack, is_sure)``: the positive half is ``top .. mid``, the
    negative one ``low .. end``; `on` vertices are counted as lying on the plane, and are within
    `slack` of it; `is_sure` says whether they lie on it exactly. Or `end` says why nothing was cut.
    """
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
        return (ABOVE if below == 0 else BELOW), 0, 0, on, slack, is_sure
    word, bit = free_bit(start, stop, B)
    if word < 0:
        return NO_WORD, 0, 0, on, slack, is_sure
    room = X.shape[1]
    if top + n + on > room:
        return NO_COLUMN, 0, 0, on, slack, is_sure
    to = _copy(places[0], above, top, k, X, B)
    low = to
    to = _copy(places[1], on, to, k, X, B)
    for v in range(low, to):
        B[word, v] |= bit
    count = _find_edges(k, start, stop, above, below, room - to - below - on, B, places, near)
    if count < 0 or to + count + below + (on + count if on > 0 else 0) > room:
        return NO_COLUMN, 0, 0, on, slack, is_sure
    _write_vertices(noise, k, start, count, to, word, bit, X, B, z, places, share, length)
    pin(data, at, stride, kind, k, to, to + count, n_rows, rows, row_stride, kinds, X, length,
        spare)
    to += count
    mid = to
    if on > 0:  # the halves lose different facets, so they cannot share vertices
        for v in range(low, mid):
            for j in range(k + 1):
                X[j, to] = X[j, v]
            for w in range(B.shape[0]):
                B[w, to] = B[w, v]
            to += 1
        low = mid
    to = _copy(places[2], below, to, k, X, B)
    if on > 0:
        _forget(k, top, mid, B)
        _forget(k, low, to, B)
    return to, mid, low, on, slack, is_sure


@inlined
def free_bit(start, stop, B):
    """Return the first bit, and its word, that no vertex of a cell has: the next facet's."""
    for w in range(B.shape[0]):
        used = np.uint64(0)
        for v in range(start, stop):
            used |= B[w, u(v)]
        bit = lowest(~used)
        if bit != 0:
            return w, bit
    return -1, np.uint64(0)


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
