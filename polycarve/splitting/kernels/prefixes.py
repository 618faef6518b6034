"""Cells rebuilt from their prefix, by the very steps that once led to them; and the stack.

So a cell that is handed on is as small as its pattern, and still the same to the last bit.
"""

import numpy as np

from polycarve.splitting.kernels.arrays import ACTIVE, UNKNOWN
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.owners import begin_owners, own
from polycarve.splitting.kernels.polytopes import ABOVE, NO_COLUMN, NO_WORD, corners, cut
from polycarve.splitting.kernels.rows import put_row
from polycarve.splitting.kernels.sums import add_active, begin_sums, finish_forms, kind_of
from polycarve.splitting.kernels.vertex_arrays import (
    COLUMNS,
    COUNT,
    CUT,
    DEPTH,
    DONE,
    DOUBTFUL,
    DOUBTS,
    FIRST,
    FRESH,
    LAYER,
    LIST_TOP,
    ORDER,
    ROWS,
    SLOT,
    START,
    STOP,
    THIN,
    TOP,
    TOUCHED,
    UNSURE,
    WORDS,
)


@kernel
def push(top, stack, layer, depth, m, this, is_fresh, doubtful, start, stop, cuts, count, slot,
         known, free, list_top):
    """Put a cell on the stack."""
    stack[top, LAYER] = layer
    stack[top, DEPTH] = depth
    stack[top, ROWS] = m
    stack[top, CUT] = this
    stack[top, FRESH] = 1 if is_fresh else 0
    stack[top, DOUBTFUL] = doubtful
    stack[top, START] = start
    stack[top, STOP] = stop
    stack[top, FIRST] = cuts
    stack[top, COUNT] = count
    stack[top, SLOT] = slot
    stack[top, ORDER] = known
    stack[top, TOP] = free
    stack[top, LIST_TOP] = list_top


@kernel
def load(position, k, lower, upper, side_noise, side_rows, side_kinds, size, ratio, starts,
         layer_of, weights, weight_starts, first_weights, sources, source_starts, bias,
         homogeneous, exact_below, twins, marks, row_cuts, order, rows, kinds, forms_at, sums,
         slots_at, sizes, blur, X, B, lists, stack, places, near, z, share, length, spare, g_ints,
         g_rows, g_marks, g_order, owners, counters):
    """Put a given cell on the empty stack; return DONE, or what there is no room for.

    The sides of the box and the forms of the first layer must be in place.
    """
    n_layers = len(starts) - 1
    layer, depth, m = g_ints[position, 0], g_ints[position, 1], g_ints[position, 2]
    is_fresh, doubtful = g_ints[position, 3] == 1, g_ints[position, 4]
    n_order = 0
    for i in range(starts[n_layers]):
        marks[i] = g_marks[position, i]
        order[i] = g_order[position, i]
        n_order += marks[i] == ACTIVE
    since = 0
    for below in range(min(layer + 1, n_layers - 1)):
        until = since
        while until < n_order and layer_of[order[until]] == below:
            until += 1
        if below < layer or not is_fresh:
            slot = slots_at[below + 1]
            begin_sums(below + 1, slot, k, size, starts, layer_of, weights, weight_starts,
                       first_weights, sources, source_starts, bias, marks, forms_at, blur, sums)
            add_active(below + 1, order, since, until, slot, k, starts, weights, first_weights,
                       forms_at, blur, sums)
        if below < layer:
            forms_at[below + 1] = slot
            finish_forms(below + 1, slot, k, size, starts, source_starts, sums, sizes, blur)
        since = until
    if 2 * k > 64 * B.shape[0]:
        return WORDS
    if (1 << k) > X.shape[1]:
        return COLUMNS
    stop = corners(k, lower, upper, side_noise, X, B)
    start, free = 0, stop
    begin_owners(k, owners)
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
        own(r, 2 * k + r, start, stop, B, owners)
        end, mid, low, on, slack, is_sure = cut(
            data, at, n, kind, noise, k, start, stop, free, 2 * k + r, rows, len(kinds), kinds, X,
            B, places, near, z, share, length, spare)
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
                doubtful |= UNSURE
            if on > 0:
                doubtful |= TOUCHED
        elif this >= 0 or end != ABOVE:
            return THIN
        put_row(2 * k + r, data, at, n, sign, kind, 2.0 * noise + slack, k, rows, len(kinds), kinds)
    count = 0
    if not is_fresh:
        for i in range(starts[layer], starts[layer + 1]):
            if marks[i] == UNKNOWN and twins[i] < 0:
                lists[count] = i
                count += 1
    push(0, stack, layer, depth, m, -1, is_fresh, doubtful, start, stop, 0, count, 0, n_order,
         free, count)
    return DONE
