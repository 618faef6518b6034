"""The loop of method ``vertices``: cells in, their regions out, depth first.

A split is always at the crossing cut of lowest index, inactive side first, as in `depth_first.py`;
the active side waits on the stack, with the cuts that crossed its parent still to be tried on it.
A cell is rebuilt from its prefix by the very steps that led to it, so its arrays never travel.

Invariant: what lies on the stack was put there by ancestors of the cell in hand, so the forms of
earlier layers, rows, active cuts and sums up to a cell's own are in place when it is taken.
"""

import math

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE, UNKNOWN, ZERO
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.decisions import enter, settle
from polycarve.splitting.kernels.polytopes import (
    ABOVE,
    NO_COLUMN,
    NO_WORD,
    centre_of,
    corners,
    cut,
    depth_of,
    growth_of,
    opens,
    put_row,
    put_sides,
    value,
)
from polycarve.splitting.kernels.sums import add_active, begin_sums, finish_forms, kind_of
from polycarve.splitting.kernels.vertex_arrays import (
    BUDGET,
    COLUMNS,
    COUNT,
    CUT,
    DEPTH,
    DONE,
    DOUBTFUL,
    DOUBTS,
    FIRST,
    FRESH,
    FULL,
    LAYER,
    LEAVES,
    LIST_TOP,
    LISTS,
    NEXT,
    ON_STACK,
    ORDER,
    OVERFLOW,
    ROWS,
    SLOT,
    SLOTS,
    SPLITS,
    START,
    STEPS,
    STOP,
    THIN,
    TOP,
    VERTICES,
    WORDS,
)


@kernel
def carve_cells(problem, path, arena, room, given, out, budget, capacity, counters, progress):
    """Carve the given cells, or begin to.

    Returns DONE, FULL after `capacity` leaves, BUDGET after that many steps, OVERFLOW, or what
    there was no room for. What is left is on the stack, and the given cells from
    ``counters[NEXT]`` on.
    """
    (k, lower, upper, side_noise, side_rows, side_kinds, size, ratio, starts, layer_of, weights,
     weight_starts, first_weights, sources, source_starts, bias, homogeneous, exact_below, fixed,
     twins, twin_signs, n_twins, is_special) = problem
    marks, eights, row_cuts, order, rows, kinds, forms_at, sums, slots_at, sizes, blur = path
    X, B, lists, stack = arena
    z, share, length, near, places, values, spare, centre, least, most, states = room
    g_ints, g_rows, g_marks, g_order = given
    packed, points, found = out
    n_layers = len(starts) - 1
    row_stride = len(kinds)
    smallest = size[0]
    for j in range(k):
        smallest = min(smallest, size[j])
    put_sides(k, lower, upper, side_noise, size, rows, row_stride, kinds)
    forms_at[0] = 0
    begin_sums(0, 0, k, size, starts, layer_of, weights, weight_starts, sources, source_starts,
               bias, marks, forms_at, blur, sums)
    finish_forms(0, 0, k, size, starts, source_starts, sums, sizes, blur)
    unpacked = 0  # the first layer whose bits are not those of the last leaf
    while counters[NEXT] < len(g_ints) or counters[ON_STACK] > 0:
        if counters[LEAVES] == capacity:
            return FULL
        if counters[STEPS] >= budget:
            return BUDGET
        counters[STEPS] += 1
        if counters[ON_STACK] == 0:
            status = _load(
                counters[NEXT], k, lower, upper, side_noise, side_rows, side_kinds, size, ratio,
                starts, layer_of, weights, weight_starts, first_weights, sources, source_starts,
                bias, homogeneous, exact_below, twins, marks, row_cuts, order, rows, kinds, forms_at,
                sums, slots_at, sizes, blur, X, B, lists, stack, places, near, z, share, length, spare, g_ints, g_rows,
                g_marks, g_order, counters)
            if status != DONE:
                return status
            counters[NEXT] += 1
            counters[ON_STACK] = 1
            unpacked = 0
        counters[ON_STACK] -= 1
        top = counters[ON_STACK]
        layer, depth, m = stack[top, LAYER], stack[top, DEPTH], stack[top, ROWS]
        is_fresh, is_doubtful = stack[top, FRESH] == 1, stack[top, DOUBTFUL] == 1
        start, stop = stack[top, START], stack[top, STOP]
        cuts, count, slot = stack[top, FIRST], stack[top, COUNT], stack[top, SLOT]
        known, free, list_top = stack[top, ORDER], stack[top, TOP], stack[top, LIST_TOP]
        n_order = known
        first = starts[layer]
        n = starts[layer + 1] - first
        unpacked = min(unpacked, layer)
        last = stack[top, CUT]
        if last >= 0:
            order[n_order] = last
            n_order += 1
            marks[last] = ACTIVE
            row_cuts[m - 1] = last
            for j in range(k + 1):  # the row of the inactive side, turned round
                rows[j * row_stride + 2 * k + m - 1] *= -1.0
        is_new = True  # the centre is yet to be found
        # Down to one leaf, leaving the active sides on the stack.
        while True:
            has_next = layer + 1 < n_layers
            wanted = DONE
            if list_top + n > len(lists):
                wanted = LISTS
            elif has_next and not is_fresh:
                width = (k + 2) * (starts[layer + 2] - starts[layer + 1])
                if slots_at[layer + 1] + (slot + 2) * width > slots_at[layer + 2]:
                    wanted = SLOTS
            doubts = 0
            crossing = 0
            if wanted == DONE:
                if is_new:
                    is_new = False
                    n_rows = 2 * k + m
                    spread, origin = centre_of(k, start, stop, X, centre)
                    spread /= smallest
                    depth_here = depth_of(k, n_rows, rows, row_stride, centre, values)
                    growth = growth_of(k, n_rows)
                    fuzz = growth / depth_here if depth_here > 2.0 * growth else np.inf
                    if origin >= 0 and not opens(k, origin, fuzz, n_rows, rows, row_stride,
                                                 kinds, centre, X):
                        origin = -1
                apex = origin if homogeneous[layer] else -1
                if is_fresh:
                    counters[STEPS] += n * (stop - start) * k // 1024
                    crossing, n_order, doubts = enter(
                        first, n, forms_at[layer], homogeneous[layer], exact_below[layer], ratio, k, start, stop, apex, spread, fuzz, X, centre, n_rows, rows, row_stride, kinds, layer_of, starts,
                        weights, weight_starts, sources, source_starts, fixed, twins, is_special,
                        sums, sizes, blur, marks, order, n_order, lists, list_top, z, least, most,
                        states)
                    if crossing < 0:
                        return OVERFLOW
                else:
                    crossing, n_order, doubts = settle(
                        cuts, count, list_top, first, forms_at[layer], n, homogeneous[layer], exact_below[layer], ratio, k, start,
                        stop, apex, spread, fuzz, X, centre, n_rows, rows, row_stride,
                        kinds, sums, sizes, blur, marks, order, n_order, lists, z)
                cuts, count = list_top, crossing
                list_top += crossing
                counters[DOUBTS] += doubts
                is_doubtful = is_doubtful or doubts > 0
                if count == 0 and n_twins[layer] > 0:
                    n_order = _mark_twins(first, n, twins, twin_signs, fixed, marks, order,
                                          n_order)
                if has_next:
                    width = (k + 2) * (starts[layer + 2] - starts[layer + 1])
                    base = slots_at[layer + 1]
                    if is_fresh:
                        slot = 0
                        begin_sums(layer + 1, base, k, size, starts, layer_of, weights,
                                   weight_starts, sources, source_starts, bias, marks, forms_at,
                                   blur, sums)
                    elif n_order > known:
                        for i in range(base + slot * width, base + (slot + 1) * width):
                            sums[u(i + width)] = sums[u(i)]
                        slot += 1
                    add_active(layer + 1, order, known, n_order, base + slot * width, k, starts,
                               weights, first_weights, forms_at, blur, sums)
                    counters[STEPS] += (n_order - known) * width // 4096
                known = n_order
                is_fresh = False
                if count == 0:
                    if not has_next:
                        break
                    layer += 1
                    forms_at[layer] = base + slot * width
                    finish_forms(layer, forms_at[layer], k, size, starts, source_starts, sums,
                                 sizes, blur)
                    first = starts[layer]
                    n = starts[layer + 1] - first
                    is_fresh = True
                    continue
                this = lists[cuts]
                at = forms_at[layer] + this - first
                noise = ratio * blur[this]
                kind = kind_of(homogeneous[layer], exact_below[layer], at, n, k, sums)
                end, mid, low, slack, is_sure = cut(sums, at, n, kind, noise, k, start, stop, free,
                                                    n_rows, rows, row_stride, kinds, X, B, places,
                                                    near, z, share, length, spare)
                if end == NO_COLUMN:
                    wanted = COLUMNS
                elif end == NO_WORD:
                    wanted = WORDS
                elif end < 0:
                    return OVERFLOW
            if wanted != DONE:
                # The cell goes back as it is, to be taken up where there is more room.
                top = counters[ON_STACK]
                counters[ON_STACK] += 1
                _push(top, stack, layer, depth, m, -1, is_fresh, is_doubtful, start, stop,
                      cuts, count, slot, n_order, free, list_top)
                return wanted
            if not is_sure:
                counters[DOUBTS] += 1
                is_doubtful = True
            counters[STEPS] += 1 + (end - free) * k // 64
            counters[SPLITS] += 1
            counters[VERTICES] += end - free
            depth += 1
            m += 1
            top = counters[ON_STACK]
            counters[ON_STACK] += 1
            _push(top, stack, layer, depth, m, this, False, is_doubtful, free, mid,
                  cuts + 1, count - 1, slot, known, end, list_top)
            row_cuts[m - 1] = this
            marks[this] = INACTIVE
            put_row(2 * k + m - 1, sums, at, n, -1.0, kind, 2.0 * noise + slack, k, rows,
                    row_stride, kinds)
            start, stop, free = low, end, end
            cuts, count = cuts + 1, count - 1
            is_new = True
        leaf = counters[LEAVES]
        counters[LEAVES] = leaf + 1
        progress[0] += math.ldexp(1.0, -int(depth))
        inside = depth_here > 0.5
        if inside and is_doubtful:
            # A decision on the way may be wrong: see that the point has the whole pattern.
            inside = _signs_hold(k, centre, ratio, starts, forms_at, sums, sizes, blur, marks)
        if not inside:
            counters[DOUBTS] += 1
        if leaf < packed.shape[0]:
            found[leaf] = inside
            for j in range(k):
                points[leaf, j] = centre[j]
            _pack(starts[unpacked] >> 3, leaf, eights, packed)
            unpacked = n_layers
    return DONE


@kernel
def _push(top, stack, layer, depth, m, this, is_fresh, is_doubtful, start, stop, cuts, count,
          slot, known, free, list_top):
    stack[top, LAYER] = layer
    stack[top, DEPTH] = depth
    stack[top, ROWS] = m
    stack[top, CUT] = this
    stack[top, FRESH] = 1 if is_fresh else 0
    stack[top, DOUBTFUL] = 1 if is_doubtful else 0
    stack[top, START] = start
    stack[top, STOP] = stop
    stack[top, FIRST] = cuts
    stack[top, COUNT] = count
    stack[top, SLOT] = slot
    stack[top, ORDER] = known
    stack[top, TOP] = free
    stack[top, LIST_TOP] = list_top


@kernel
def _mark_twins(first, n, twins, twin_signs, fixed, marks, order, n_order):
    """Mark the multiples of other cuts, once those are decided."""
    for here in range(first, first + n):
        twin = twins[here]
        if twin < 0 or fixed[here] != UNKNOWN:
            continue
        mark = ZERO if marks[twin] == ZERO else marks[twin] * twin_signs[here]
        marks[here] = mark
        if mark == ACTIVE:
            order[n_order] = here
            n_order += 1
    return n_order


@kernel
def _signs_hold(k, point, ratio, starts, forms_at, sums, sizes, blur, marks):
    """Whether every cut has at a point the sign that it is marked with, beyond rounding."""
    for layer in range(len(starts) - 1):
        n = starts[layer + 1] - starts[layer]
        for i in range(n):
            here = starts[layer] + i
            if sizes[here] == 0.0 and marks[here] == ZERO:
                continue  # no form at all
            at = value(sums, forms_at[layer] + i, n, k, point)
            if marks[here] != ACTIVE:
                at = -at
            if not at > ratio * blur[here]:
                return False
    return True


@kernel
def _pack(byte, leaf, bytes_of_marks, packed):
    """Write a pattern from a byte on; before that it is that of the last leaf.

    Eight marks at a time: of the bytes, only that of ACTIVE is odd with an even half. The
    product moves the first byte's bit to the highest place of the last byte, and so on.
    """
    for b in range(byte):
        packed[leaf, b] = packed[leaf - 1, b]
    one = np.uint64(0x0101010101010101)
    for b in range(byte, packed.shape[1]):
        eight = bytes_of_marks[b]
        bits = eight & ~(eight >> u(1)) & one
        packed[leaf, b] = (bits * np.uint64(0x8040201008040201)) >> u(56)


@kernel
def _load(position, k, lower, upper, side_noise, side_rows, side_kinds, size, ratio, starts,
          layer_of, weights, weight_starts, first_weights, sources, source_starts, bias,
          homogeneous, exact_below, twins, marks, row_cuts, order, rows, kinds, forms_at, sums,
          slots_at, sizes, blur, X, B, lists, stack, places, near, z, share, length, spare, g_ints, g_rows, g_marks, g_order,
          counters):
    """Rebuild a given cell from its prefix and put it on the empty stack."""
    n_layers = len(starts) - 1
    row_stride = len(kinds)
    layer, depth, m = g_ints[position, 0], g_ints[position, 1], g_ints[position, 2]
    is_fresh, is_doubtful = g_ints[position, 3] == 1, g_ints[position, 4] == 1
    n_order = 0
    for i in range(starts[n_layers]):
        marks[i] = g_marks[position, i]
        order[i] = g_order[position, i]
        n_order += marks[i] == ACTIVE
    since = 0
    for at_layer in range(min(layer + 1, n_layers - 1)):
        until = since
        while until < n_order and layer_of[order[until]] == at_layer:
            until += 1
        if at_layer < layer or not is_fresh:
            slot = slots_at[at_layer + 1]
            begin_sums(at_layer + 1, slot, k, size, starts, layer_of, weights, weight_starts,
                       sources, source_starts, bias, marks, forms_at, blur, sums)
            add_active(at_layer + 1, order, since, until, slot, k, starts, weights, first_weights,
                       forms_at, blur, sums)
        if at_layer < layer:
            forms_at[at_layer + 1] = slot
            finish_forms(at_layer + 1, slot, k, size, starts, source_starts, sums, sizes, blur)
        since = until
    if 2 * k > 64 * B.shape[0]:
        return WORDS
    if (1 << k) > X.shape[1]:
        return COLUMNS
    stop = corners(k, lower, upper, side_noise, X, B)
    start, free = 0, stop
    for r in range(m):
        this = g_rows[position, r]
        row_cuts[r] = this
        if this < 0:
            data, at, n, sign = side_rows, -1 - this, len(side_kinds), 1.0
            kind = np.int64(side_kinds[at])
            noise = ratio * side_rows[(k + 1) * n + at]
        else:
            of = layer_of[this]
            n = starts[of + 1] - starts[of]
            data, at, sign = sums, forms_at[of] + this - starts[of], 1.0
            if marks[this] != ACTIVE:
                sign = -1.0
            kind = kind_of(homogeneous[of], exact_below[of], at, n, k, sums)
            noise = ratio * blur[this]
        end, mid, low, slack, is_sure = cut(data, at, n, kind, noise, k, start, stop, free, 2 * k + r,
                                            rows, row_stride, kinds, X, B, places, near, z, share,
                                            length, spare)
        if end == NO_COLUMN:
            return COLUMNS
        if end == NO_WORD:
            return WORDS
        if end >= 0:
            start, stop, free = free, mid, end
            if sign < 0.0:
                start, stop = low, end
            if this < 0 and not is_sure and is_fresh and layer == 0:  # once, for the whole domain
                counters[DOUBTS] += 1
                is_doubtful = True
        elif this >= 0 or end != ABOVE:
            return THIN
        put_row(2 * k + r, data, at, n, sign, kind, 2.0 * noise + slack, k, rows, row_stride,
                kinds)
    count = 0
    if not is_fresh:
        for i in range(starts[layer], starts[layer + 1]):
            if marks[i] == UNKNOWN and twins[i] < 0:
                lists[count] = i
                count += 1
    _push(0, stack, layer, depth, m, -1, is_fresh, is_doubtful, start, stop, 0, count, 0,
          n_order, free, count)
    return DONE
