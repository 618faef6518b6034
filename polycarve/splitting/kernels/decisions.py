"""Which cuts of a layer cross a cell: what the signs at its vertices say, and what they prove.

A sign at a vertex counts if it is clear of rounding, that of the form's value and that of the
vertex's place. A cut crosses where both clear signs are seen; else it is decided. That is proven
where the form is clearly positive at all vertices, by more than ``fuzz`` times its value at the
centre: every point of the cell, drawn towards the centre by the share ``fuzz``, lies in the hull
of the vertices (see `polytopes.py`). What is not proven is counted as doubtful.

Of a cell, the functions here are told its columns ``start .. stop``, its centre and rows, and

- ``spread``: how far its vertices may be off, over the smallest size of a coordinate;
- ``fuzz``: see above; infinite where rounding hides the whole cell;
- ``apex``: the vertex that is the origin, where all forms of the layer are zero and nothing else
  is asked for (`opens` holds there); -1 if there is none.
"""

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE, UNKNOWN, ZERO
from polycarve.splitting.kernels.compilation import inlined, kernel
from polycarve.splitting.kernels.exactness import opens, vanishes
from polycarve.splitting.kernels.rows import value, value_at_vertex
from polycarve.splitting.kernels.sums import is_fed, kind_of, plain_sign

# States of a cut on entry to a layer, beside the marks.
CROSSING, UNCLEAR = 2, 3

LARGEST = 1e300  # with forms of that size, slopes overflow


@kernel
def judge(data, at, stride, kind, noise, k, start, stop, fuzz, X, centre, n_rows, rows,
          row_stride, kinds):
    """Decide a cut with care, vertex by vertex; return its mark and whether that is proven.

    The mark is UNKNOWN for a cut that crosses.
    """
    norm = 0.0
    for j in range(k):
        norm += abs(data[at + j * stride])
    above, below = 0, 0
    for v in range(start, stop):
        z = value_at_vertex(data, at, stride, k, v, X)
        tolerance = noise + norm * X[k, v]
        if z > tolerance:
            above += 1
        elif z < -tolerance:
            below += 1
    if above > 0 and below > 0:
        return UNKNOWN, True
    if above == 0 and below == 0:
        return ZERO, False
    sign, mark = (1.0, ACTIVE) if above > 0 else (-1.0, INACTIVE)
    clear = 2.0 * noise + fuzz * abs(value(data, at, stride, k, centre))
    for v in range(start, stop):
        z = sign * value_at_vertex(data, at, stride, k, v, X)
        if not z > 2.0 * clear and not (
                vanishes(data, at, stride, kind, k, v, X)
                and opens(k, v, fuzz, n_rows, rows, row_stride, kinds, centre, X)):
            return mark, False
    return mark, True


@inlined
def settle(cuts, count, to, first, form, n, flat, limit, ratio, k, start, stop, apex, spread, fuzz,
           X, centre, n_rows, rows, row_stride, kinds, sums, sizes, blur, marks, order, n_order,
           lists, z):
    """Try the cuts ``lists[cuts : cuts + count]`` on a cell; list those that cross it at `to`.

    Returns how many cross, how many active cuts there are now, how many decisions are doubtful,
    and how many cuts were not decided by clear signs alone: they may touch the cell.
    """
    crossing, doubts, touching = 0, 0, 0
    wanted = stop - start - (1 if apex >= 0 else 0)
    for c in range(cuts, cuts + count):
        cut = lists[c]
        at = form + cut - first
        noise = ratio * blur[cut]
        clear = 2.0 * noise + sizes[cut] * spread + fuzz * abs(value(sums, at, n, k, centre))
        if apex >= 0:
            clear *= 2.0
        above, below = 0, 0
        if k == 2:
            a, b, constant = sums[at], sums[at + n], sums[at + 2 * n]
            for v in range(start, stop):
                at_v = constant + a * X[0, u(v)] + b * X[1, u(v)]
                above += at_v > clear
                below += at_v < -clear
        elif k == 3:
            a, b, d, constant = sums[at], sums[at + n], sums[at + 2 * n], sums[at + 3 * n]
            for v in range(start, stop):
                at_v = constant + a * X[0, u(v)] + b * X[1, u(v)] + d * X[2, u(v)]
                above += at_v > clear
                below += at_v < -clear
        else:
            for v in range(stop - start):
                z[v] = sums[at + k * n]
            for j in range(k):
                a = sums[at + j * n]
                for v in range(stop - start):
                    z[v] += a * X[j, u(start + v)]
            for v in range(stop - start):
                above += z[v] > clear
                below += z[v] < -clear
        if above > 0 and below > 0:
            mark = UNKNOWN
        elif above == wanted:
            mark = ACTIVE
        elif below == wanted:
            mark = INACTIVE
        else:
            touching += 1
            mark, is_proven = judge(sums, at, n, kind_of(flat, limit, at, n, k, sums), noise, k,
                                    start, stop, fuzz, X, centre, n_rows, rows, row_stride, kinds)
            if not is_proven:
                doubts += 1
        if mark == UNKNOWN:
            lists[to + crossing] = cut
            crossing += 1
        else:
            marks[cut] = mark
            if mark == ACTIVE:
                order[n_order] = cut
                n_order += 1
    return crossing, n_order, doubts, touching


@inlined
def ranges(form, n, k, start, stop, apex, X, sums, z, least, most):
    """Write the least and the largest value of every form of a layer at the vertices."""
    for i in range(n):
        least[i] = np.inf
        most[i] = -np.inf
    constants = form + k * n
    for v in range(start, stop):
        if v == apex:
            continue
        if k == 2:
            x, y = X[0, u(v)], X[1, u(v)]
            for i in range(n):
                at = (sums[u(constants + i)] + sums[u(form + i)] * x) + sums[u(form + n + i)] * y
                least[i] = min(least[i], at)
                most[i] = max(most[i], at)
            continue
        for i in range(n):
            z[i] = sums[u(constants + i)]
        for j in range(k):
            x = X[j, v]
            row = form + j * n
            for i in range(n):
                z[i] += sums[u(row + i)] * x
        for i in range(n):
            least[i] = min(least[i], z[i])
            most[i] = max(most[i], z[i])


@inlined
def enter(first, n, form, flat, limit, ratio, k, start, stop, apex, spread, fuzz, X, centre,
          n_rows, rows, row_stride, kinds, layer_of, starts, weights, weight_starts, sources,
          source_starts, bias, fixed, twins, is_special, sums, sizes, blur, marks, order, n_order,
          lists, to, z, least, most, states):
    """Try every cut of a layer on a cell; list those that cross it at `to`.

    Returns as `settle` does; -1 crossing cuts where forms overflow.
    """
    ranges(form, n, k, start, stop, apex, X, sums, z, least, most)
    factor = 2.0 if apex >= 0 else 1.0
    for i in range(n):
        clear = factor * (2.0 * ratio * blur[u(first + i)] + sizes[u(first + i)] * spread
                          + fuzz * max(-least[i], most[i]))
        states[i] = CROSSING if least[i] < -clear and most[i] > clear else UNCLEAR
        states[i] = ACTIVE if least[i] > clear else states[i]
        states[i] = INACTIVE if most[i] < -clear else states[i]
        is_plain = sizes[u(first + i)] < LARGEST and not is_special[u(first + i)]
        states[i] = states[i] if is_plain else UNCLEAR
    crossing, doubts, touching = 0, 0, 0
    for i in range(n):
        cut = first + i
        mark = states[i]
        if mark == UNCLEAR:
            mark = np.int8(fixed[cut])
            if mark == UNKNOWN:
                touching += 1
                if twins[cut] >= 0:
                    marks[cut] = UNKNOWN
                    continue
                if not sizes[cut] < LARGEST:
                    return -1, n_order, doubts, touching
                if sizes[cut] == 0.0:
                    mark, is_proven = ZERO, not is_fed(
                        cut, k, layer_of, starts, weights, weight_starts, sources, source_starts,
                        marks)
                else:
                    mark, is_proven = judge(
                        sums, form + i, n, kind_of(flat, limit, form + i, n, k, sums),
                        ratio * blur[cut], k, start, stop, fuzz, X, centre, n_rows, rows,
                        row_stride, kinds)
                if not is_proven and mark != ZERO:  # so it is in many a part of a cone
                    is_proven = mark == plain_sign(
                        cut, k, kinds, layer_of, starts, weights, weight_starts, sources,
                        source_starts, bias, marks)
                if not is_proven:
                    doubts += 1
                if mark == UNKNOWN:
                    mark = CROSSING
        if mark == CROSSING:
            lists[to + crossing] = cut
            crossing += 1
            continue
        marks[cut] = mark
        if mark == ACTIVE:
            order[n_order] = cut
            n_order += 1
    return crossing, n_order, doubts, touching
