"""The loop of method ``vertices``: cells in, their regions out, depth first.

A split is always at the crossing cut of lowest index, inactive side first, as in `depth_first.py`;
the active side waits on the stack, with the cuts that crossed its parent still to be tried on it.

Invariant: what lies on the stack was put there by ancestors of the cell in hand, so the forms of
earlier layers, rows, active cuts and sums up to a cell's own are in place when it is taken.
"""

import math

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.decisions import enter, settle
from polycarve.splitting.kernels.exactness import opens
from polycarve.splitting.kernels.leaves import mark_twins, pack, signs_hold
from polycarve.splitting.kernels.owners import fits, own, write_shape
from polycarve.splitting.kernels.polytopes import NO_COLUMN, NO_WORD, centre_of, cut
from polycarve.splitting.kernels.prefixes import load, push
from polycarve.splitting.kernels.rows import depth_of, growth_of, put_row, put_sides
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
    SHAPES,
    SLOT,
    SLOTS,
    SPLITS,
    START,
    STEPS,
    STOP,
    TOP,
    TOUCHED,
    UNSURE,
    VERTICES,
    WORDS,
)


@kernel
def carve_cells(problem, path, arena, room, given, out, budget, capacity, counters, progress):
    """Carve the given cells, or begin to.

    Returns DONE, FULL after `capacity` leaves, BUDGET after that many steps, OVERFLOW, THIN, or
    what there was no room for. What is left is on the stack, and the given cells from
    ``counters[NEXT]`` on.
    """
    (k, lower, upper, side_noise, side_rows, side_kinds, size, ratio, starts, layer_of, weights,
     weight_starts, first_weights, sources, source_starts, bias, homogeneous, exact_below, fixed,
     twins, twin_signs, n_twins, is_special) = problem
    marks, eights, row_cuts, order, rows, kinds, forms_at, sums, slots_at, sizes, blur = path
    X, B, lists, stack = arena
    z, share, length, near, places, values, spare, centre, least, most, states = room
    g_ints, g_rows, g_marks, g_order = given
    packed, points, found, generic, shape_counts, corners, codes, link_counts, links, owners = out
    is_recorded = len(owners) > 0
    n_layers = len(starts) - 1
    row_stride = len(kinds)
    smallest = size[0]
    for j in range(k):
        smallest = min(smallest, size[j])
    put_sides(k, lower, upper, side_noise, size, rows, row_stride, kinds)
    forms_at[0] = 0
    begin_sums(0, 0, k, size, starts, layer_of, weights, weight_starts, first_weights, sources,
               source_starts, bias, marks, forms_at, blur, sums)
    finish_forms(0, 0, k, size, starts, source_starts, sums, sizes, blur)
    changed = 0  # the first layer in which the pattern may differ from that of the last leaf
    while counters[NEXT] < len(g_ints) or counters[ON_STACK] > 0:
        if counters[LEAVES] == capacity:
            return FULL
        if counters[STEPS] >= budget:
            return BUDGET
        counters[STEPS] += 1
        if counters[ON_STACK] == 0:
            status = load(
                counters[NEXT], k, lower, upper, side_noise, side_rows, side_kinds, size, ratio,
                starts, layer_of, weights, weight_starts, first_weights, sources, source_starts,
                bias, homogeneous, exact_below, twins, marks, row_cuts, order, rows, kinds,
                forms_at, sums, slots_at, sizes, blur, X, B, lists, stack, places, near, z, share,
                length, spare, g_ints, g_rows, g_marks, g_order, owners, counters)
            if status != DONE:
                return status
            counters[NEXT] += 1
            counters[ON_STACK] = 1
            changed = 0
        counters[ON_STACK] -= 1
        top = counters[ON_STACK]
        layer, depth, m = stack[top, LAYER], stack[top, DEPTH], stack[top, ROWS]
        is_fresh, doubtful = stack[top, FRESH] == 1, stack[top, DOUBTFUL]
        start, stop = stack[top, START], stack[top, STOP]
        cuts, count, slot = stack[top, FIRST], stack[top, COUNT], stack[top, SLOT]
        known, free, list_top = stack[top, ORDER], stack[top, TOP], stack[top, LIST_TOP]
        n_order = known  # how many active cuts there are; `known` of them are in the sums
        first = starts[layer]
        n = starts[layer + 1] - first
        changed = min(changed, layer)
        this = stack[top, CUT]
        if this >= 0:
            order[n_order] = this
            n_order += 1
            marks[this] = ACTIVE
            row_cuts[m - 1] = this
            for j in range(k + 1):  # the row of the inactive side, turned round
                rows[j * row_stride + 2 * k + m - 1] *= -1.0
        is_new = True  # its centre is yet to be found
        # Down to one leaf, leaving the active sides on the stack.
        while True:
            has_next = layer + 1 < n_layers
            wanted = DONE
            if list_top + n > len(lists):
                wanted = LISTS
            if has_next:
                base = slots_at[layer + 1]
                width = (k + 2) * (starts[layer + 2] - starts[layer + 1])
                if not is_fresh and base + (slot + 2) * width > slots_at[layer + 2]:
                    wanted = SLOTS
            if wanted == DONE:
                if is_new:
                    is_new = False
                    n_rows = 2 * k + m
                    spread, origin = centre_of(k, start, stop, X, centre)
                    spread /= smallest
                    inner = depth_of(k, n_rows, rows, row_stride, centre, values)
                    growth = growth_of(k, n_rows)
                    fuzz = growth / inner if inner > 2.0 * growth else np.inf
                    if origin >= 0 and not opens(k, origin, fuzz, n_rows, rows, row_stride, kinds,
                                                 centre, X):
                        origin = -1
                flat, limit = homogeneous[layer] == 1, exact_below[layer]
                apex = origin if flat else -1
                if is_fresh:
                    crossing, n_order, doubts, touching = enter(
                        first, n, forms_at[layer], flat, limit, ratio, k, start, stop, apex,
                        spread, fuzz, X, centre, n_rows, rows, row_stride, kinds, layer_of, starts,
                        weights, weight_starts, sources, source_starts, bias, fixed, twins,
                        is_special, sums, sizes, blur, marks, order, n_order, lists, list_top, z,
                        least, most, states)
                    if crossing < 0:
                        return OVERFLOW
                    counters[STEPS] += n * (stop - start) * k // 1024
                else:
                    crossing, n_order, doubts, touching = settle(
                        cuts, count, list_top, first, forms_at[layer], n, flat, limit, ratio, k,
                        start, stop, apex, spread, fuzz, X, centre, n_rows, rows, row_stride,
                        kinds, sums, sizes, blur, marks, order, n_order, lists, z)
                cuts, count = list_top, crossing
                list_top += crossing
                counters[DOUBTS] += doubts
                if doubts > 0:
                    doubtful |= UNSURE
                if touching > 0 or (k == 1 and apex >= 0):  # a facet may be the apex
                    doubtful |= TOUCHED
                if count == 0 and n_twins[layer] > 0:
                    n_order = mark_twins(first, n, twins, twin_signs, fixed, marks, order, n_order)
                if has_next:
                    if is_fresh:
                        slot = 0
                        begin_sums(layer + 1, base, k, size, starts, layer_of, weights,
                                   weight_starts, first_weights, sources, source_starts, bias,
                                   marks, forms_at, blur, sums)
                    elif n_order > known:
                        for i in range(base + slot * width, base + (slot + 1) * width):
                            sums[u(i + width)] = sums[u(i)]
                        slot += 1
                    add_active(layer + 1, order, known, n_order, base + slot * width, k, starts,
                               weights, first_weights, forms_at, blur, sums)
                    counters[STEPS] += (n_order - known) * width // 4096
                known = n_order
                is_fresh = False
                if count == 0 and not has_next:
                    if not is_recorded or fits(start, stop, B, corners, codes, links, counters):
                        break
                    wanted = SHAPES
                elif count == 0:
                    layer += 1
                    first = starts[layer]
                    n = starts[layer + 1] - first
                    is_fresh = True
                    forms_at[layer] = base + slot * width
                    finish_forms(layer, forms_at[layer], k, size, starts, source_starts, sums,
                                 sizes, blur)
                    continue
                if wanted == DONE:
                    this = lists[cuts]
                    at = forms_at[layer] + this - first
                    noise = ratio * blur[this]
                    kind = kind_of(flat, limit, at, n, k, sums)
                    own(m, n_rows, start, stop, B, owners)
                    end, mid, low, on, slack, is_sure = cut(
                        sums, at, n, kind, noise, k, start, stop, free, n_rows, rows, row_stride,
                        kinds, X, B, places, near, z, share, length, spare)
                    if end == NO_COLUMN:
                        wanted = COLUMNS
                    elif end == NO_WORD:
                        wanted = WORDS
                    elif end < 0:
                        return OVERFLOW
            top = counters[ON_STACK]
            counters[ON_STACK] += 1
            if wanted != DONE:  # the cell goes back as it is, to be taken where there is more room
                push(top, stack, layer, depth, m, -1, is_fresh, doubtful, start, stop, cuts,
                     count, slot, n_order, free, list_top)
                return wanted
            if not is_sure:
                counters[DOUBTS] += 1
                doubtful |= UNSURE
            if on > (1 if apex >= 0 else 0):
                doubtful |= TOUCHED
            counters[SPLITS] += 1
            counters[VERTICES] += end - free
            counters[STEPS] += 1 + (stop - start) * (stop - start) // 2048
            depth += 1
            m += 1
            cuts, count = cuts + 1, count - 1
            push(top, stack, layer, depth, m, this, False, doubtful, free, mid, cuts, count,
                 slot, known, end, list_top)
            row_cuts[m - 1] = this
            marks[this] = INACTIVE
            put_row(2 * k + m - 1, sums, at, n, -1.0, kind, 2.0 * noise + slack, k, rows,
                    row_stride, kinds)
            start, stop, free = low, end, end
            is_new = True
        leaf = counters[LEAVES]
        counters[LEAVES] = leaf + 1
        progress[0] += math.ldexp(1.0, -int(depth))
        inside = inner > 0.5
        if inside and doubtful & UNSURE != 0:
            # A decision on the way may be wrong: see that the point has the whole pattern.
            inside = signs_hold(k, centre, ratio, starts, forms_at, sums, sizes, blur, marks)
        if not inside:
            counters[DOUBTS] += 1
        if leaf < packed.shape[0]:
            found[leaf] = inside
            for j in range(k):
                points[leaf, j] = centre[j]
            pack(starts[changed] >> 3, leaf, eights, packed)
            if is_recorded:
                generic[leaf] = doubtful & TOUCHED == 0
                write_shape(leaf, k, m, start, stop, row_cuts, X, B, owners, generic, shape_counts,
                            corners, codes, link_counts, links, counters)
            changed = n_layers
    return DONE
