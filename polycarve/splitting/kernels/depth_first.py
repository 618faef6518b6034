"""The simplex method's loop: one cell in, its regions out, depth first.

A cell is a prefix of the pattern; its rows are the cuts that split an ancestor. Cuts are marked
ACTIVE, INACTIVE or ZERO once decided, and a mark holds for all descendants in the layer. The
split is always at the crossing cut of lowest index, inactive side first: so leaves come in the
order of their patterns, and every cell taken from the stack ends in exactly one leaf.

Invariant: what lies on the stack was put there by ancestors of the cell in hand, so the forms
of earlier layers, and the rows up to a cell's own, are in place when it is taken.
"""

import math

import numpy as np

from polycarve.splitting.kernels.arrays import (
    ACTIVE,
    DOUBTS,
    INACTIVE,
    LEAVES,
    ON_STACK,
    STEPS,
    UNKNOWN,
    ZERO,
)
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.forms import (
    evidence,
    negate,
    push_forms,
    signs_hold,
    spread,
    take_form,
    value_at,
)
from polycarve.splitting.kernels.points import child_point, leaf_point, leaf_point_by_walking
from polycarve.splitting.kernels.simplex import (
    BLURRED,
    CLEAR,
    CROSSED,
    DECIDE,
    ON_PLANE,
    OPTIMAL,
    PROBE,
    SPLIT,
    STUCK,
    proves,
    walk,
)
from polycarve.splitting.kernels.vertex import remember

DONE, FULL, BUDGET, FAILED = 0, 1, 2, 3

# What became of a cut: marked, or split with the form in hand positive on one side, or no way on.
SETTLED, SIDE_ACTIVE, SIDE_INACTIVE, LOST = 0, 1, -1, 2


@kernel
def carve_cell(problem, forms, cell, stack, room, out, budget, capacity, counters, progress):
    """Carve the cell at the bottom of the stack, or begin to.

    ``cell.marks`` and ``cell.row_cuts`` hold its prefix; the rest of ``cell`` is room to work in.
    Returns DONE, FULL after `capacity` leaves, BUDGET after that many steps, or FAILED where
    floating point found no way on; but for DONE, what is left lies on the stack.
    """
    (k, lower, upper, side_noise, side_rows, size, ratio, starts, layer_of, weights, weight_starts,
     sources, source_starts, bias, homogeneous, fixed, twins, twin_signs) = problem
    values, errors, sizes = forms
    marks, row_cuts, rows, basis, E, v, p, witness, info = cell
    s_ints, s_marks, s_basis, s_E, s_v, s_p, s_witness, s_info = stack
    f, y, rates, gaps, matrix, point, at_point, least, most = room
    packed, points, found = out
    n_layers = len(starts) - 1
    for layer in range(s_ints[0, 0] + 1):
        push_forms(layer, k, size, starts, layer_of, weights, weight_starts, sources,
                   source_starts, bias, marks, values, errors, sizes)
    for r in range(s_ints[0, 2]):
        if row_cuts[r] < 0:
            for j in range(k + 2):
                rows[j, r] = side_rows[j, -1 - row_cuts[r]]
            continue
        sign = 1.0 if marks[row_cuts[r]] == ACTIVE else -1.0
        take_form(row_cuts[r], sign, k, starts, layer_of, values, errors, sizes, rows[:, r])
    counters[ON_STACK] = 1
    while counters[ON_STACK] > 0:
        if counters[LEAVES] == capacity:
            return FULL
        if counters[STEPS] >= budget:
            return BUDGET
        counters[STEPS] += 1
        counters[ON_STACK] -= 1
        top = counters[ON_STACK]
        layer, depth, m = s_ints[top, 0], s_ints[top, 1], s_ints[top, 2]
        last, fresh, doubtful = s_ints[top, 3], s_ints[top, 4], s_ints[top, 5]
        doubts = counters[DOUBTS]
        _take(top, k, marks[starts[layer] : starts[layer + 1]], basis, E, v, p, witness, info,
              s_marks, s_basis, s_E, s_v, s_p, s_witness, s_info)
        at = starts[layer]
        if last >= 0:
            row_cuts[m - 1] = last
            take_form(last, 1.0, k, starts, layer_of, values, errors, sizes, rows[:, m - 1])
            at = last + 1
        # Down to one leaf, leaving the active sides on the stack.
        while True:
            if fresh == 1:
                fresh = 0
                if not _enter_layer(
                        layer, m, k, lower, upper, side_noise, size, ratio, starts, layer_of,
                        homogeneous[layer] == 1, fixed, twins, values, errors, sizes, marks, rows,
                        basis, E, v, p, witness, info, f, y, rates, gaps, matrix, at_point, least,
                        most, counters):
                    return FAILED
                at = starts[layer]
            while at < starts[layer + 1]:
                if marks[at] == UNKNOWN:
                    verdict = _decide(
                        at, m, k, lower, upper, side_noise, size, ratio, starts, layer_of,
                        homogeneous[layer] == 1, twins, twin_signs, values, errors, sizes, marks,
                        rows, basis, E, v, p, witness, info, f, y, rates, gaps, matrix, counters)
                    if verdict == LOST:
                        return FAILED
                    if verdict != SETTLED:
                        depth += 1
                        top = counters[ON_STACK]
                        counters[ON_STACK] += 1
                        s_ints[top, 0] = layer
                        s_ints[top, 1] = depth
                        s_ints[top, 2] = m + 1
                        s_ints[top, 3] = at
                        s_ints[top, 4] = 0
                        s_ints[top, 5] = 1 if doubtful == 1 or counters[DOUBTS] > doubts else 0
                        _split(at - starts[layer], verdict, top, m, k,
                               marks[starts[layer] : starts[layer + 1]], rows, basis, E, v, p,
                               witness, info, f, gaps, point, s_marks, s_basis, s_E, s_v, s_p,
                               s_witness, s_info)
                        row_cuts[m] = at
                        m += 1
                at += 1
            if layer + 1 == n_layers:
                break
            layer += 1
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, sources,
                       source_starts, bias, marks, values, errors, sizes)
            counters[STEPS] += (weight_starts[layer + 1] - weight_starts[layer]) * (k + 1) // 512
            fresh = 1
        leaf = counters[LEAVES]
        counters[LEAVES] = leaf + 1
        progress[0] += math.ldexp(1.0, -int(depth))
        inside = leaf_point(m, k, lower, upper, side_noise, rows, ratio, E, v, p, witness, info,
                            point)
        if not inside:
            inside = leaf_point_by_walking(
                m, k, lower, upper, side_noise, size, rows, ratio, basis, E, v, p, witness, info,
                f, y, rates, gaps, matrix, counters, point)
        if inside and (doubtful == 1 or counters[DOUBTS] > doubts):
            # A decision on the way may be wrong: see that the point has the whole pattern.
            inside = signs_hold(point, k, ratio, starts, marks, values, errors, sizes)
        if not inside:
            counters[DOUBTS] += 1
        if leaf < packed.shape[0]:
            found[leaf] = inside
            for j in range(k):
                points[leaf, j] = point[j]
            for byte in range(packed.shape[1]):
                packed[leaf, byte] = 0
            for cut in range(starts[n_layers]):
                if marks[cut] == ACTIVE:
                    packed[leaf, cut >> 3] |= np.uint8(128 >> (cut & 7))
    return DONE


@kernel
def _take(top, k, marks, basis, E, v, p, witness, info,
          s_marks, s_basis, s_E, s_v, s_p, s_witness, s_info):
    """Copy a cell from the stack to the hand; ``marks`` are those of its layer."""
    for i in range(len(marks)):
        marks[i] = s_marks[top, i]
    for q in range(k):
        basis[q] = s_basis[top, q]
        v[q] = s_v[top, q]
        p[q] = s_p[top, q]
        for j in range(k):
            E[q, j] = s_E[top, q, j]
    for place in range(4):
        info[place] = s_info[top, place]
    for t in range(min(info[0], witness.shape[0])):
        for j in range(k + 1):
            witness[t, j] = s_witness[top, t, j]


@kernel
def _enter_layer(layer, m, k, lower, upper, side_noise, size, ratio, starts, layer_of,
                 is_homogeneous, fixed, twins, values, errors, sizes, marks, rows, basis, E, v, p,
                 witness, info, f, y, rates, gaps, matrix, at_point, least, most, counters):
    """Try every cut of a layer once: what is decided here is decided for all descendants."""
    first = starts[layer]
    for i in range(starts[layer + 1] - first):
        least[i] = np.inf
        most[i] = -np.inf
    spread(layer, p, k, starts, values, at_point, least, most)
    for t in range(min(info[0], witness.shape[0])):
        if witness[t, k] == 1.0:
            spread(layer, witness[t], k, starts, values, at_point, least, most)
    for i in range(starts[layer + 1] - first):
        cut = first + i
        marks[cut] = fixed[cut]
        if fixed[cut] != UNKNOWN or twins[cut] >= 0:
            continue
        if not sizes[cut] < np.inf:
            return False  # overflow
        if sizes[cut] <= 4.0 * errors[cut] or sizes[cut] == 0.0:
            # Nothing but rounding is left of the form: it vanishes on the whole cell.
            marks[cut] = ZERO
            if errors[cut] > 0.0:
                counters[DOUBTS] += 1
            continue
        is_positive, is_negative = most[i] > CLEAR * sizes[cut], least[i] < -CLEAR * sizes[cut]
        if is_positive == is_negative:
            continue  # it crosses, or no sign is clear: left to the cell's own turn
        sign = 1.0 if is_positive else -1.0
        f[k + 2] = take_form(cut, sign, k, starts, layer_of, values, errors, sizes, f)
        before = info[0]
        outcome = walk(PROBE, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
                       f, y, rates, gaps, matrix, counters)
        if outcome == STUCK:
            return False
        if outcome in (OPTIMAL, BLURRED):
            marks[cut] = ACTIVE if is_positive else INACTIVE
            if outcome == BLURRED or not proves(is_homogeneous, ratio, size, k, lower, upper,
                                                side_noise, rows, basis, E, f, y):
                counters[DOUBTS] += 1
        for t in range(max(before, info[0] - witness.shape[0]), info[0]):
            slot = t % witness.shape[0]
            if witness[slot, k] == 1.0:
                spread(layer, witness[slot], k, starts, values, at_point, least, most)
    return True


@kernel
def _decide(cut, m, k, lower, upper, side_noise, size, ratio, starts, layer_of, is_homogeneous,
            twins, twin_signs, values, errors, sizes, marks, rows, basis, E, v, p, witness, info,
            f, y, rates, gaps, matrix, counters):
    """Mark a cut, or stop on its plane and say on which side the form in hand is positive."""
    twin = twins[cut]
    if twin >= 0:
        marks[cut] = ZERO if marks[twin] == ZERO else marks[twin] * twin_signs[cut]
        return SETTLED
    f[k + 2] = take_form(cut, 1.0, k, starts, layer_of, values, errors, sizes, f)
    seen = evidence(f, k, CLEAR * f[k + 2], p, witness, info)
    if seen == 0:
        # No sign is clear anywhere, so ask for both.
        low = walk(PROBE, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
                   f, y, rates, gaps, matrix, counters)
        proven = low == OPTIMAL and proves(is_homogeneous, ratio, size, k, lower, upper,
                                           side_noise, rows, basis, E, f, y)
        negate(f, k)
        high = walk(PROBE, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
                    f, y, rates, gaps, matrix, counters)
        if low == STUCK or high == STUCK:
            return LOST
        if low == CROSSED and high == CROSSED:
            seen = 3
            negate(f, k)
        else:
            if low == CROSSED:
                marks[cut] = INACTIVE
                proven = high == OPTIMAL and proves(is_homogeneous, ratio, size, k, lower, upper,
                                                    side_noise, rows, basis, E, f, y)
            else:
                marks[cut] = ACTIVE if high == CROSSED else ZERO
                proven = proven and high == CROSSED
            if not proven:
                counters[DOUBTS] += 1
            return SETTLED
    # Known points tell which way to walk; the other side is what is to be found.
    side = SIDE_ACTIVE
    if seen == 2 or (seen == 3 and value_at(f, v, k) < 0.0):
        side = SIDE_INACTIVE
        negate(f, k)
    purpose = SPLIT if seen == 3 else DECIDE
    outcome = walk(purpose, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
                   f, y, rates, gaps, matrix, counters)
    if outcome == CROSSED:
        # Beyond the plane, but not clearly: go back to it from the other side.
        negate(f, k)
        side = -side
        purpose = SPLIT
        outcome = walk(SPLIT, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
                       f, y, rates, gaps, matrix, counters)
    if outcome == STUCK:
        return LOST
    if outcome == ON_PLANE:
        return side
    marks[cut] = ACTIVE if side == SIDE_ACTIVE else INACTIVE
    if purpose == SPLIT or outcome == BLURRED or not proves(
            is_homogeneous, ratio, size, k, lower, upper, side_noise, rows, basis, E, f, y):
        counters[DOUBTS] += 1
    return SETTLED


@kernel
def _split(i, side, top, m, k, marks, rows, basis, E, v, p, witness, info, f, best, point,
           s_marks, s_basis, s_E, s_v, s_p, s_witness, s_info):
    """Put the active child on the stack and go on with the inactive one.

    We stand on the plane of cut i of the layer. The form in hand is positive on `side`, and grows
    along the edge ``info[2]`` where that is not -1.
    """
    marks[i] = ACTIVE
    for j in range(len(marks)):
        s_marks[top, j] = marks[j]
    marks[i] = INACTIVE
    child_point(side, k, f, p, v, witness, info, best, s_p[top])
    child_point(-side, k, f, p, v, witness, info, best, point)
    kept = 0
    given = 0
    for t in range(min(info[0], witness.shape[0])):
        value = side * value_at(f, witness[t], k)
        if value > f[k + 1]:
            for j in range(k + 1):
                s_witness[top, given, j] = witness[t, j]
            given += 1
        elif value < -f[k + 1]:
            for j in range(k + 1):
                witness[kept, j] = witness[t, j]
            kept += 1
    place = info[2]
    s_info[top, 0] = given
    s_info[top, 1] = info[1]
    s_info[top, 2] = -1
    s_info[top, 3] = -1
    info[0] = kept
    info[3] = -1
    remember(k, v, False, witness, info)
    remember(k, v, False, s_witness[top], s_info[top])
    for q in range(k):
        s_basis[top, q] = basis[q]
        s_v[top, q] = v[q]
        p[q] = point[q]
        for j in range(k):
            s_E[top, q, j] = E[q, j]
    if place >= 0:
        # The active child's face is +z, the inactive child's -z; f is side * z.
        for j in range(k):
            if side == SIDE_INACTIVE:
                s_E[top, place, j] = -E[place, j]
            else:
                E[place, j] = -E[place, j]
    for j in range(k + 1):
        rows[j, m] = -side * f[j]
    rows[k + 1, m] = f[k + 1]
