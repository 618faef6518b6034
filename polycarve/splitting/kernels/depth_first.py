"""The simplex method's loop: one cell in, its regions out, depth first.

A cell is a prefix of the pattern; its rows are the cuts that split an ancestor. Cuts are marked
ACTIVE, INACTIVE or ZERO once decided, and a mark holds for all descendants in the layer. The
split is always at the crossing cut of lowest index, inactive side first: so leaves come in the
order of their patterns, and every cell taken from the stack ends in exactly one leaf.

Invariant: what lies on the stack was put there by ancestors of the cell in hand, so the forms
of earlier layers, and the rows up to a cell's own, are in place when it is taken.
"""

# ruff: noqa: N803
import math

import numpy as np

from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.simplex import (
    BLURRED,
    CLEAR,
    CROSSED,
    DECIDE,
    DOUBTS,
    GAMMA,
    LEAVES,
    ON_PLANE,
    OPTIMAL,
    PROBE,
    SPLIT,
    STACK,
    STEPS,
    STUCK,
    face_value,
    proves,
    refresh,
    remember,
    walk,
)

UNKNOWN, ACTIVE, INACTIVE, ZERO = 0, 1, -1, -2
DONE, FULL, BUDGET, FAILED = 0, 1, 2, 3


@kernel
def push_forms(layer, k, starts, weights, weight_starts, sources, source_starts, bias, size,
               marks, layer_of, forms, errors, sizes):
    """Compute the forms of a layer's cuts on a cell, in an order fixed by the pattern alone.

    ``forms`` holds, for each layer, ``k + 1`` rows (coefficients, then constants) of its width,
    so that the loops run along it. ``errors`` bounds what rounding did to a form's values,
    ``sizes`` the values themselves.
    """
    first = starts[layer]
    n = starts[layer + 1] - first
    base = first * (k + 1)
    for at in range(base, base + k * n):
        forms[at] = 0.0
    for i in range(n):
        forms[base + k * n + i] = bias[first + i]
        errors[first + i] = GAMMA * abs(bias[first + i]) if layer > 0 else 0.0
    w = weight_starts[layer]
    for s in range(source_starts[layer], source_starts[layer + 1]):
        source = sources[s]
        if source < k:
            row = base + source * n
            for i in range(n):
                forms[row + i] += weights[w + i]
            if layer > 0:
                for i in range(n):
                    errors[first + i] += GAMMA * abs(weights[w + i]) * size[source]
        elif marks[source - k] == ACTIVE:
            cut = source - k
            other = layer_of[cut]
            width = starts[other + 1] - starts[other]
            column = starts[other] * (k + 1) + cut - starts[other]
            for j in range(k + 1):
                a = forms[column + j * width]
                if a != 0.0:
                    row = base + j * n
                    for i in range(n):
                        forms[row + i] += a * weights[w + i]
            carried = errors[cut] + GAMMA * sizes[cut]
            for i in range(n):
                errors[first + i] += abs(weights[w + i]) * carried
        w += n
    for i in range(n):
        sizes[first + i] = abs(forms[base + k * n + i])
    for j in range(k):
        row = base + j * n
        for i in range(n):
            sizes[first + i] += abs(forms[row + i]) * size[j]


@kernel
def take_form(cut, layer, sign, k, starts, forms, errors, sizes, f):
    """Copy ``sign * form`` of a cut, scaled by a power of two; return its noise and size."""
    n = starts[layer + 1] - starts[layer]
    column = starts[layer] * (k + 1) + cut - starts[layer]
    largest = 0.0
    for j in range(k + 1):
        f[j] = sign * forms[column + j * n]
        if j < k:
            largest = max(largest, abs(f[j]))
    scale = 1.0
    if largest > 0.0:
        _, exponent = math.frexp(largest)
        scale = math.ldexp(1.0, 1 - exponent)
    for j in range(k + 1):
        f[j] *= scale
    return (errors[cut] + GAMMA * sizes[cut]) * scale, sizes[cut] * scale


@kernel
def value_at(f, u, k):
    value = f[k]
    for j in range(k):
        value += f[j] * u[j]
    return value


@kernel
def evidence(f, clear, k, p, witness, n_known):
    """Return the signs (bit 1 positive, bit 2 negative) that known points of the cell show."""
    seen = 0
    for t in range(-1, n_known):
        if t >= 0 and witness[t, k] == 0.0:
            continue
        value = value_at(f, p if t == -1 else witness[t], k)
        if value > clear:
            seen |= 1
        elif value < -clear:
            seen |= 2
        if seen == 3:
            break
    return seen


@kernel
def spread(layer, k, starts, forms, u, values, least, most):
    """Widen the known range of every form of a layer by its value at a point."""
    n = starts[layer + 1] - starts[layer]
    base = starts[layer] * (k + 1)
    for i in range(n):
        values[i] = forms[base + k * n + i]
    for j in range(k):
        row = base + j * n
        at = u[j]
        for i in range(n):
            values[i] += forms[row + i] * at
    for i in range(n):
        least[i] = min(least[i], values[i])
        most[i] = max(most[i], values[i])


@kernel
def child_point(k, f, sign, p, v, witness, n_known, out, best):
    """Write an interior point of the side ``sign * f > 0`` of a cell with interior point ``p``.

    Halfway between a point known to be interior and the mean of the known points on that side:
    either alone would creep towards the boundary.
    """
    here = sign * value_at(f, p, k)
    top = sign * value_at(f, v, k)
    for j in range(k):
        best[j] = v[j]
        out[j] = 0.0
    count = 0
    for t in range(n_known):
        value = sign * value_at(f, witness[t], k)
        if value > top:
            top = value
            for j in range(k):
                best[j] = witness[t, j]
        if value > 0.0:
            count += 1
            for j in range(k):
                out[j] += witness[t, j]
    share = 0.0
    if here <= 0.0 and top > here:
        share = 0.5 * (1.0 - here / (top - here))
    for j in range(k):
        inner = p[j] + share * (best[j] - p[j])
        out[j] = 0.5 * (inner + out[j] / count) if count > 0 else inner


@kernel
def is_interior(k, u, lower, upper, side_noise, m, rows, row_noise, ratio):
    """Whether a point lies inside all faces by more than rounding can hide."""
    for face in range(2 * k + m):
        value = face_value(face, u, k, lower, upper, rows)
        noise = side_noise[face] if face < 2 * k else ratio * row_noise[face - 2 * k]
        if not value > noise:
            return False
    return True


@kernel
def leaf_point(k, lower, upper, side_noise, m, rows, row_noise, ratio, E, v, p, witness, n_known,
               out):
    """Write the first of a few candidates that is proven interior; False if none is."""
    for j in range(k):
        out[j] = 0.0
    for t in range(n_known):
        for j in range(k):
            out[j] += witness[t, j]
    for j in range(k):
        out[j] = 0.5 * (p[j] + out[j] / n_known) if n_known > 0 else p[j]
    if is_interior(k, out, lower, upper, side_noise, m, rows, row_noise, ratio):
        return True
    # The centre of the simplex between the vertex and the far ends of its edges.
    for j in range(k):
        out[j] = v[j]
    for q in range(k):
        limit = np.inf
        for face in range(2 * k + m):
            if face < k:
                rate = E[q, face]
            elif face < 2 * k:
                rate = -E[q, face - k]
            else:
                rate = 0.0
                for j in range(k):
                    rate += rows[face - 2 * k, j] * E[q, j]
            if rate < -1e-13:
                gap = max(face_value(face, v, k, lower, upper, rows), 0.0)
                limit = min(limit, gap / -rate)
        if limit < np.inf:
            for j in range(k):
                out[j] += limit * E[q, j] / (k + 1)
    for j in range(k):
        out[j] = 0.5 * (p[j] + out[j])
    if is_interior(k, out, lower, upper, side_noise, m, rows, row_noise, ratio):
        return True
    for j in range(k):
        out[j] = p[j]
    return is_interior(k, out, lower, upper, side_noise, m, rows, row_noise, ratio)


@kernel
def carve_cell(
    # program
    k, lower, upper, side_noise, size, starts, weights, weight_starts, sources, source_starts,
    bias, homogeneous, fixed, twins, twin_signs, ratio, layer_of,
    # the cell: marks and rows are worked on in place, the rest is copied to the stack first
    layer, depth, m, fresh, split_cut, marks, row_cuts,
    # stack of cells to do, entry 0 is the cell; ints: layer, depth, m, cut split last, fresh
    stack_int, stack_marks, stack_basis, stack_E, stack_v, stack_p, stack_witness, stack_info,
    # room to work in
    forms, errors, sizes, rows, row_noise, row_exact, basis, E, v, p, other, witness, info, f, y,
    rates, gaps, matrix, values, least, most,
    # leaves out (none are written where leaf_bits has no rows)
    leaf_bits, leaf_points, leaf_inside, budget, capacity, counters, progress,
):
    """Carve a cell until it is done, `capacity` leaves are found or `budget` steps are spent."""
    n_layers = len(starts) - 1
    # Rebuild what follows from the prefix.
    for earlier in range(layer + 1):
        push_forms(earlier, k, starts, weights, weight_starts, sources, source_starts, bias, size,
                   marks, layer_of, forms, errors, sizes)
    for r in range(m):
        cut = row_cuts[r]
        own = layer_of[cut]
        noise, _ = take_form(cut, own, 1.0 if marks[cut] == ACTIVE else -1.0, k, starts, forms,
                             errors, sizes, rows[r])
        row_noise[r] = noise
        row_exact[r] = homogeneous[own]
    counters[STACK] = 1
    while counters[STACK] > 0:
        if counters[LEAVES] == capacity:
            return FULL
        if counters[STEPS] >= budget:
            return BUDGET
        # Take the topmost cell.
        top = counters[STACK] - 1
        counters[STACK] = top
        counters[STEPS] += 1
        layer = stack_int[top, 0]
        depth = stack_int[top, 1]
        m = stack_int[top, 2]
        last = stack_int[top, 3]
        fresh = stack_int[top, 4]
        first = starts[layer]
        n = starts[layer + 1] - first
        for i in range(n):
            marks[first + i] = stack_marks[top, i]
        for q in range(k):
            basis[q] = stack_basis[top, q]
            v[q] = stack_v[top, q]
            p[q] = stack_p[top, q]
            for j in range(k):
                E[q, j] = stack_E[top, q, j]
        for t in range(min(stack_info[top, 0], witness.shape[0])):
            for j in range(k + 1):
                witness[t, j] = stack_witness[top, t, j]
        info[0] = stack_info[top, 0]
        info[1] = stack_info[top, 1]
        info[3] = stack_info[top, 3]
        if last >= 0:
            row_cuts[m - 1] = last
            noise, _ = take_form(last, layer, 1.0, k, starts, forms, errors, sizes, rows[m - 1])
            row_noise[m - 1] = noise
            row_exact[m - 1] = homogeneous[layer]
        at = last + 1 if last >= 0 else first
        # Down to one leaf, leaving the active sides on the stack.
        while True:
            if fresh == 1:
                fresh = 0
                outcome = enter_layer(
                    layer, k, lower, upper, side_noise, size, starts, homogeneous, fixed, twins,
                    ratio, marks, forms, errors, sizes, m, rows, row_noise, row_exact, basis, E,
                    v, p, witness, info, f, y, rates, gaps, matrix, values, least, most, counters)
                if not outcome:
                    return FAILED
                first = starts[layer]
                at = first
            while at < starts[layer + 1]:
                cut = at
                at += 1
                if marks[cut] != UNKNOWN:
                    continue
                twin = twins[cut]
                if twin >= 0:
                    marks[cut] = ZERO if marks[twin] == ZERO else marks[twin] * twin_signs[cut]
                    continue
                n_known = min(info[0], witness.shape[0])
                f_noise, f_size = take_form(cut, layer, 1.0, k, starts, forms, errors, sizes, f)
                seen = evidence(f, CLEAR * f_size, k, p, witness, n_known)
                # Known points tell which way to walk; the other side is what is to be found.
                sign = -1.0 if seen == 2 else 1.0
                purpose = DECIDE
                if seen == 0:
                    # No sign is clear anywhere, so ask for both.
                    least_end = walk(k, f, f_noise, f_size, PROBE, 0, lower, upper, side_noise, m,
                                     rows, row_noise, basis, E, v, p, witness, info, y, rates, gaps,
                                     matrix, counters)
                    proven = least_end == OPTIMAL and proves(
                        k, f, f_noise, size, ratio, homogeneous[layer] == 1, rows, row_noise,
                        lower, upper, side_noise, basis, E, y)
                    for j in range(k + 1):
                        f[j] = -f[j]
                    most_end = walk(k, f, f_noise, f_size, PROBE, 0, lower, upper, side_noise, m,
                                    rows, row_noise, basis, E, v, p, witness, info, y, rates, gaps,
                                    matrix, counters)
                    if least_end == STUCK or most_end == STUCK:
                        return FAILED
                    if least_end == CROSSED and most_end == CROSSED:
                        seen = 3
                    elif least_end == CROSSED:
                        marks[cut] = INACTIVE
                        proven = most_end == OPTIMAL and proves(
                            k, f, f_noise, size, ratio, homogeneous[layer] == 1, rows, row_noise,
                            lower, upper, side_noise, basis, E, y)
                    else:
                        marks[cut] = ACTIVE if most_end == CROSSED else ZERO
                        proven = proven and most_end == CROSSED
                    for j in range(k + 1):
                        f[j] = -f[j]
                    if seen == 0:
                        if not proven:
                            counters[DOUBTS] += 1
                        continue
                if seen == 3:
                    purpose = SPLIT
                    sign = 1.0 if value_at(f, v, k) >= 0.0 else -1.0
                if sign < 0.0:
                    for j in range(k + 1):
                        f[j] = -f[j]
                outcome = walk(k, f, f_noise, f_size, purpose, 2 * k + m, lower, upper, side_noise,
                               m, rows, row_noise, basis, E, v, p, witness, info, y, rates, gaps,
                               matrix, counters)
                if outcome == CROSSED:
                    # Beyond the plane, but not clearly: go back to it from the other side.
                    for j in range(k + 1):
                        f[j] = -f[j]
                    sign = -sign
                    outcome = walk(k, f, f_noise, f_size, SPLIT, 2 * k + m, lower, upper,
                                   side_noise, m, rows, row_noise, basis, E, v, p, witness, info, y,
                                   rates, gaps, matrix, counters)
                if outcome == STUCK:
                    return FAILED
                if outcome == OPTIMAL or outcome == BLURRED:
                    marks[cut] = ACTIVE if sign > 0.0 else INACTIVE
                    if purpose == SPLIT or outcome == BLURRED or not proves(
                        k, f, f_noise, size, ratio, homogeneous[layer] == 1, rows, row_noise,
                        lower, upper, side_noise, basis, E, y
                    ):
                        counters[DOUBTS] += 1
                    continue
                # Split. f >= 0 is the side `sign`; E grows f along the edge of the plane.
                place = info[2]
                n_known = min(info[0], witness.shape[0])
                depth += 1
                top = counters[STACK]
                counters[STACK] = top + 1
                stack_int[top, 0] = layer
                stack_int[top, 1] = depth
                stack_int[top, 2] = m + 1
                stack_int[top, 3] = cut
                stack_int[top, 4] = 0
                marks[cut] = ACTIVE
                for i in range(starts[layer + 1] - first):
                    stack_marks[top, i] = marks[first + i]
                marks[cut] = INACTIVE
                child_point(k, f, sign, p, v, witness, n_known, stack_p[top], gaps)
                child_point(k, f, -sign, p, v, witness, n_known, other, gaps)
                kept = 0
                given = 0
                for t in range(n_known):
                    value = sign * value_at(f, witness[t], k)
                    if value > f_noise:
                        for j in range(k + 1):
                            stack_witness[top, given, j] = witness[t, j]
                        given += 1
                    elif value < -f_noise:
                        for j in range(k + 1):
                            witness[kept, j] = witness[t, j]
                        kept += 1
                stack_info[top, 0] = given
                stack_info[top, 1] = info[1]
                stack_info[top, 3] = -1
                info[0] = kept
                info[3] = -1
                remember(k, v, False, witness, info)
                remember(k, v, False, stack_witness[top], stack_info[top])
                for q in range(k):
                    stack_basis[top, q] = basis[q]
                    stack_v[top, q] = v[q]
                    p[q] = other[q]
                    for j in range(k):
                        stack_E[top, q, j] = E[q, j]
                if place >= 0:
                    # The active child's face is +z, the inactive child's -z; f is sign * z.
                    for j in range(k):
                        if sign < 0.0:
                            stack_E[top, place, j] = -E[place, j]
                        else:
                            E[place, j] = -E[place, j]
                for j in range(k + 1):
                    rows[m, j] = -sign * f[j]
                row_noise[m] = f_noise
                row_exact[m] = homogeneous[layer]
                row_cuts[m] = cut
                m += 1
            if layer + 1 == n_layers:
                break
            layer += 1
            push_forms(layer, k, starts, weights, weight_starts, sources, source_starts, bias,
                       size, marks, layer_of, forms, errors, sizes)
            for i in range(starts[layer], starts[layer + 1]):
                marks[i] = UNKNOWN
            fresh = 1
        leaf = counters[LEAVES]
        counters[LEAVES] = leaf + 1
        progress[0] += math.ldexp(1.0, -int(depth))
        inside = leaf_point(k, lower, upper, side_noise, m, rows, row_noise, ratio, E, v, p,
                            witness, min(info[0], witness.shape[0]), other)
        if not inside:
            counters[DOUBTS] += 1
        if leaf < leaf_bits.shape[0]:
            leaf_inside[leaf] = inside
            for j in range(k):
                leaf_points[leaf, j] = other[j]
            for byte in range(leaf_bits.shape[1]):
                leaf_bits[leaf, byte] = 0
            for cut in range(starts[n_layers]):
                if marks[cut] == ACTIVE:
                    leaf_bits[leaf, cut >> 3] |= np.uint8(128 >> (cut & 7))
    return DONE


@kernel
def enter_layer(
    layer, k, lower, upper, side_noise, size, starts, homogeneous, fixed, twins, ratio, marks,
    forms, errors, sizes, m, rows, row_noise, row_exact, basis, E, v, p, witness, info, f, y,
    rates, gaps, matrix, values, least, most, counters,
):
    """Try every cut of a layer once: what is decided here is decided for all descendants."""
    first = starts[layer]
    n = starts[layer + 1] - first
    for i in range(n):
        least[i] = np.inf
        most[i] = -np.inf
    spread(layer, k, starts, forms, p, values, least, most)
    for t in range(min(info[0], witness.shape[0])):
        if witness[t, k] == 1.0:
            spread(layer, k, starts, forms, witness[t], values, least, most)
    for i in range(n):
        cut = first + i
        if fixed[cut] != UNKNOWN:
            marks[cut] = fixed[cut]
            continue
        marks[cut] = UNKNOWN
        if twins[cut] >= 0:
            continue
        if sizes[cut] <= 4.0 * errors[cut] or sizes[cut] == 0.0:
            # Nothing but rounding is left of the form: it vanishes on the whole cell.
            marks[cut] = ZERO
            if errors[cut] > 0.0:
                counters[DOUBTS] += 1
            continue
        clear = CLEAR * sizes[cut]
        if most[i] > clear and least[i] < -clear:
            continue
        if most[i] <= clear and least[i] >= -clear:
            continue  # no sign is clear: left to the cell's own turn
        sign = 1.0 if most[i] > clear else -1.0
        f_noise, f_size = take_form(cut, layer, sign, k, starts, forms, errors, sizes, f)
        before = info[0]
        outcome = walk(k, f, f_noise, f_size, PROBE, 0, lower, upper, side_noise, m, rows,
                       row_noise, basis, E, v, p, witness, info, y, rates, gaps, matrix, counters)
        if outcome == STUCK:
            return False
        if outcome == OPTIMAL or outcome == BLURRED:
            marks[cut] = ACTIVE if sign > 0.0 else INACTIVE
            if outcome == BLURRED or not proves(k, f, f_noise, size, ratio, homogeneous[layer] == 1, rows, row_noise,
                          lower, upper, side_noise, basis, E, y):
                counters[DOUBTS] += 1
        for t in range(max(before, info[0] - witness.shape[0]), info[0]):
            slot = t % witness.shape[0]
            if witness[slot, k] == 1.0:
                spread(layer, k, starts, forms, witness[slot], values, least, most)
    return True
