"""The facets of all regions at once, down the tree of splits.

The sorted list of patterns is that tree. A split leaves the facets of a cell as they are but for
those that lie on one side of the cut alone; and it adds the cut. So a facet of which corners are
known on both sides needs nothing, and for any other one walk along it towards the cut tells: it
meets the cut, in a corner that both sides have, or ends before it, and then the face is none of the
cells beyond, nor of any below them. Where corners do not tell, because more than k faces meet or
nearly, the face is left open, and the regions below see to it one by one (`facets.resolve`).
"""

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.corners import (
    APART,
    MET,
    face_sizes,
    is_corner,
    keep,
    leave,
    reach,
    shows_apart,
    transpose,
)
from polycarve.splitting.kernels.facets import FACET, NONE, UNSEEN, resolve, walk_towards
from polycarve.splitting.kernels.forms import negate, push_forms, take_form, value_at
from polycarve.splitting.kernels.simplex import CLEAR
from polycarve.splitting.kernels.vertex import quick_settle, settle

# The level at which a face is lost, of one that is not.
NEVER = 1 << 40


@kernel
def descend(problem, forms, cell, room, spare, corners, path, bits, points, first, differences,
            after, is_side, side_order, counters, counts, codes):
    """Find the facets of the regions from `first` on, as many as there are patterns in `bits`.

    Called for one part of the list after the other, in order, with the same arrays. `differences`
    and `after` are those of the whole list (see `facets.nearest_smaller`). Writes per region how
    many facets it has (-1 where no vertex was found), and for all of them the cut, or ``-1 - face``
    for a face of the frame: cuts by rising index, then faces in the order of `side_order`. Returns
    how many there are.
    """
    (k, lower, upper, side_noise, side_rows, size, ratio, starts, layer_of, weights, weight_starts,
     inputs, input_starts, bias, _, _, _, _) = problem
    values, errors, sizes_of = forms
    marks, _, rows, basis, E, v, p, witness, info = cell
    f, y, rates, gaps, matrix, _, _, _, _ = room
    low, high, known, _, _, _ = spare
    cuts, gone, beyond, sizes, chain, ahead, behind, values_ahead, values_behind, T, squares, ints = (
        path)
    _, bases, edges, homes, _, free, lists, n_kept = corners
    n_rows = side_rows.shape[1]
    total = 0
    for j in range(k):
        low[j] = lower[j]
        high[j] = upper[j]
    for i in range(first, first + len(bits)):
        for j in range(k):
            p[j] = points[i - first, j]
        for place in range(4):
            info[place] = -1 if place > 1 else 0
        if i == 0:
            last = -1
            ints[0] = 0
            ints[1] = len(free)
            for at in range(len(free)):
                free[at] = at
            for face in range(len(gone)):
                gone[face] = NEVER
            n_kept[0] = 0
            for r in range(n_rows):
                for j in range(k + 2):
                    rows[j, r] = side_rows[j, r]
            face_sizes(0, 2 * k + n_rows, k, size, rows, sizes)
            _enter_domain(n_rows, k, low, high, side_noise, size, rows, sizes, is_side, basis, E, T, v,
                          p, witness, info, f, y, rates, gaps, matrix, known, counters, corners,
                          gone, ints)
        else:
            last = differences[i - 1]
            while cuts[ints[0]] > last:
                leave(ints[0], corners, ints)
                ints[0] -= 1
        changed = 0 if i == 0 else layer_of[last] + 1
        for cut in range(max(last, 0), starts[-1]):
            marks[cut] = ACTIVE if bits[i - first, cut] == 1 else INACTIVE
        for layer in range(changed, len(starts) - 1):
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, inputs,
                       input_starts, bias, marks, values, errors, sizes_of)
        if i > 0:
            _turn(ints[0], n_rows, k, rows, sizes, corners, gone, beyond, ints)
        steps = 0
        at = i if i < len(differences) else -1
        while at >= 0 and differences[at] > last:
            chain[steps] = differences[at]
            steps += 1
            at = after[at]
        for step in range(steps - 1, -1, -1):
            ints[0] += 1
            level = ints[0]
            cuts[level] = chain[step]
            m = n_rows + level - 1
            take_form(chain[step], -1.0, k, starts, layer_of, values, errors, sizes_of, rows[:, m])
            face_sizes(2 * k + m, 2 * k + m + 1, k, size, rows, sizes)
            gone[2 * k + m] = NEVER
            _split(level, m, ratio, k, lower, upper, side_noise, size, rows, sizes, is_side, basis,
                   E, T, v, info, f, y, rates, gaps, squares, matrix, counters, corners, gone, beyond, ahead,
                   behind, values_ahead, values_behind, ints)
        level = ints[0]
        m = n_rows + level
        n_open = 0
        for face in range(2 * k + m):
            known[face] = NONE if gone[face] <= level else UNSEEN
        for at in range(n_kept[level]):
            for q in range(k):
                known[bases[lists[level, at], q]] = FACET
        for face in range(2 * k + m):
            if known[face] == UNSEEN and (face >= 2 * k or is_side[face] == 1):
                n_open += 1
        counts[i - first] = 0
        if n_open > 0:
            counters[3] += n_open
            has_vertex = n_kept[level] > 0
            if has_vertex:
                corner = lists[level, 0]
                for q in range(k):
                    v[q] = corners[0][corner, q]
                    basis[q] = bases[corner, q]
                transpose(k, edges[corner], E)
            else:
                has_vertex = quick_settle(m, k, low, high, rows, basis, E, v, p, info, matrix,
                                          gaps) or settle(m, k, low, high, rows, basis, E, v, p,
                                                          info, matrix, gaps)
            is_settled = has_vertex and resolve(m, k, low, high, side_noise, size, rows, is_side,
                                                basis, E, v, p, witness, info, room, spare,
                                                counters)
            # It leaves out the rows that are none: the cells beside this one need them.
            for r in range(m):
                if r < n_rows:
                    for j in range(k + 2):
                        rows[j, r] = side_rows[j, r]
                else:
                    cut = cuts[r - n_rows + 1]
                    take_form(cut, float(marks[cut]), k, starts, layer_of, values, errors,
                              sizes_of, rows[:, r])
            if not is_settled:
                counts[i - first] = -1
                continue
        found = total
        for at in range(1, level + 1):
            if known[2 * k + n_rows + at - 1] == FACET:
                codes[found] = cuts[at]
                found += 1
        for face in side_order:
            if known[face] == FACET:
                codes[found] = -1 - face
                found += 1
        counts[i - first] = found - total
        total = found
    return total


@kernel
def _enter_domain(m, k, low, high, side_noise, size, rows, sizes, is_side, basis, E, T, v, p, witness,
                  info, f, y, rates, gaps, matrix, known, counters, corners, gone, ints):
    """Keep corners of the domain, and see which of its faces are none of its facets."""
    if m == 0:
        for end in range(2):  # the lowest corner of the box, and the highest
            for q in range(k):
                v[q] = low[q] if end == 0 else high[q]
                basis[q] = q + end * k
                for j in range(k):
                    T[q, j] = 0.0
                T[q, q] = 1.0 if end == 0 else -1.0
            if is_corner(m, k, low, high, rows, sizes, basis, T, v, gaps):
                keep(0, 0, k, basis, T, v, 0, corners, ints)
        return
    if not settle(m, k, low, high, rows, basis, E, v, p, info, matrix, gaps):
        return
    for face in range(2 * k + m):
        known[face] = UNSEEN
    for face in range(-1, 2 * k + m):
        if face >= 0 and (known[face] != UNSEEN or (face < 2 * k and is_side[face] == 0)):
            continue
        if face >= 0:
            walk_towards(face, m, k, low, high, side_noise, size, rows, basis, E, v, p, witness,
                         info, f, y, rates, gaps, matrix, counters, known)
            if known[face] == NONE:
                gone[face] = 0
        transpose(k, E, T)
        if is_corner(m, k, low, high, rows, sizes, basis, T, v, gaps):
            for q in range(k):
                known[basis[q]] = FACET
            keep(0, 0, k, basis, T, v, info[1], corners, ints)


@kernel
def _turn(level, n_rows, k, rows, sizes, corners, gone, beyond, ints):
    """Go over to the active side of the last split, with the corners that this side has."""
    points, bases, edges, homes, _, _, lists, counts = corners
    m = n_rows + level - 1
    own = 2 * k + m
    negate(rows[:, m], k)
    for face in range(len(gone)):
        if gone[face] >= level:
            gone[face] = NEVER
    for face in range(own):
        if beyond[level, face] == 1:
            gone[face] = level
    n = 0
    for at in range(counts[level]):
        corner = lists[level, at]
        if homes[corner] == level:  # on the plane itself
            lists[level, n] = corner
            n += 1
            for q in range(k):
                if bases[corner, q] == own:
                    for j in range(k):
                        edges[corner, j, q] = -edges[corner, j, q]
    row = rows[:, m]
    for at in range(counts[level - 1]):
        corner = lists[level - 1, at]
        if n < lists.shape[1] and value_at(row, points[corner], k) > CLEAR * sizes[own]:
            lists[level, n] = corner
            n += 1
    counts[level] = n


@kernel
def _split(level, m, ratio, k, lower, upper, side_noise, size, rows, sizes, is_side, basis, E, T,
           v, info, f, y, rates, gaps, squares, matrix, counters, corners, gone, beyond, ahead,
           behind, values_ahead, values_behind, ints):
    """Split the cell in hand by the plane of row m, and go on with its positive side."""
    points, bases, _, _, _, _, lists, counts = corners
    own = 2 * k + m
    for face in range(own):
        ahead[face] = -1
        behind[face] = -1
        values_ahead[face] = 0.0
        values_behind[face] = 0.0
        beyond[level, face] = 0
    counts[level] = 0
    nearest = -1
    least = 0.0
    row = rows[:, m]
    for at in range(counts[level - 1]):
        corner = lists[level - 1, at]
        value = value_at(row, points[corner], k)
        if value > CLEAR * sizes[own]:
            lists[level, counts[level]] = corner
            counts[level] += 1
            for q in range(k):
                face = bases[corner, q]
                if ahead[face] < 0 or value < values_ahead[face]:
                    ahead[face] = corner
                    values_ahead[face] = value
        elif -value > CLEAR * sizes[own]:
            for q in range(k):
                face = bases[corner, q]
                if behind[face] < 0 or -value < values_behind[face]:
                    behind[face] = corner
                    values_behind[face] = -value
        else:
            continue
        if nearest < 0 or abs(value) < least:
            nearest = corner
            least = abs(value)
    has_met = False
    for face in range(own + 1):
        if face == own:
            if has_met or nearest < 0:
                break
            held, start = -1, nearest
            sign = 1.0 if value_at(row, points[nearest], k) > 0.0 else -1.0
        else:
            if gone[face] < level or (ahead[face] >= 0) == (behind[face] >= 0) or (
                    face < 2 * k and is_side[face] == 0):
                continue
            held = face
            sign = 1.0 if ahead[face] >= 0 else -1.0
            start = ahead[face] if ahead[face] >= 0 else behind[face]
        counters[1] += 1
        outcome = reach(start, held, sign, m, k, lower, upper, rows, sizes, corners, basis, E, T,
                        v, f, y, rates, gaps, squares, matrix, info)
        if outcome == MET:
            if is_corner(m + 1, k, lower, upper, rows, sizes, basis, T, v, gaps):
                has_met = True
                for q in range(k):
                    ahead[basis[q]] = 0
                    behind[basis[q]] = 0
                keep(level, level, k, basis, T, v, info[1], corners, ints)
        elif outcome == APART and held >= 0 and shows_apart(
                held, sign, m, ratio, k, lower, upper, side_noise, size, rows, sizes, basis, f, y):
            if sign > 0.0:
                beyond[level, face] = 1
            else:
                gone[face] = level
