"""The facets of all regions at once, down the tree of splits.

The sorted list of patterns is that tree. It is walked from the domain down to every region, depth
first, and what is known of the faces of a cell is handed on to its two halves (see `splits`). What
is left open, because more than k faces meet somewhere, or nearly, the regions see to one by one
(see `facets`).
"""

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.corners import face_sizes, is_corner, keep, leave, transpose
from polycarve.splitting.kernels.facets import (
    BLUNT,
    FACET,
    FOUND,
    LOST,
    NONE,
    UNSEEN,
    resolve,
    walk_towards,
)
from polycarve.splitting.kernels.forms import push_forms, take_form
from polycarve.splitting.kernels.splits import NEVER, split, turn
from polycarve.splitting.kernels.vertex import quick_settle, settle


@kernel
def descend(problem, forms, cell, room, spare, corners, path, bits, points, first, differences,
            after, is_side, side_order, counters, counts, codes):
    """Find the facets of the regions from `first` on, as many as there are patterns in `bits`.

    Called for one part of the list after the other, in order, with the same arrays. `differences`
    and `after` are those of the whole list (see `split_tree.nearest_smaller`); its patterns must
    increase. Writes per region how many facets it has (-1 where no vertex was found), and for all
    of them the cut, or ``-1 - face`` for a face of the frame: cuts by rising index, then faces in
    the order of `side_order`. Returns how many there are.
    """
    (k, lower, upper, side_noise, side_rows, size, ratio, starts, layer_of, weights, weight_starts,
     inputs, input_starts, bias, _, _, _, _) = problem
    values, errors, form_sizes = forms
    marks, _, rows, basis, E, v, p, witness, info = cell
    f, y, rates, gaps, matrix, _, _, _, _ = room
    low, high, known, _, _, _ = spare
    (cuts, gone, beyond, sizes, chain, ahead, behind, values_ahead, values_behind, T, squares,
     plane, ints) = path
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
        last = -1
        if i == 0:
            _enter_domain(n_rows, k, low, high, side_noise, side_rows, size, rows, sizes, is_side,
                          basis, E, T, v, p, witness, info, f, y, rates, gaps, matrix, known,
                          counters, corners, gone, ints)
        else:
            last = differences[i - 1]
            while cuts[ints[0]] > last:
                leave(ints[0], corners, ints)
                ints[0] -= 1
            turn(ints[0], n_rows + ints[0] - 1, k, rows, sizes, plane, corners, gone, beyond)
        for cut in range(max(last, 0), starts[-1]):
            marks[cut] = ACTIVE if bits[i - first, cut] == 1 else INACTIVE
        for layer in range(0 if i == 0 else layer_of[last] + 1, len(starts) - 1):
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, inputs,
                       input_starts, bias, marks, values, errors, form_sizes)
        # Down to the region: first, from below, which cuts it is on the inactive side of.
        steps = 0
        at = i if i < len(differences) else -1
        while at >= 0 and differences[at] > last:
            chain[steps] = differences[at]
            steps += 1
            at = after[at]
        for step in range(steps - 1, -1, -1):
            ints[0] += 1
            m = n_rows + ints[0] - 1
            cuts[ints[0]] = chain[step]
            take_form(chain[step], -1.0, k, starts, layer_of, values, errors, form_sizes,
                      rows[:, m])
            face_sizes(2 * k + m, 2 * k + m + 1, k, size, rows, sizes)
            gone[2 * k + m] = NEVER
            split(ints[0], m, ratio, k, lower, upper, side_noise, size, rows, sizes, is_side,
                  basis, E, T, v, info, f, y, rates, gaps, squares, plane, matrix, corners, gone,
                  beyond, ahead, behind, values_ahead, values_behind, ints)
        level = ints[0]
        m = n_rows + level
        outcome = FOUND
        if _look_up(level, m, k, is_side, gone, corners, known) > 0:
            # First with what the corners tell; where that is blunt, without.
            outcome = BLUNT
            if corners[7][level] > 0:
                _take_corner(level, k, basis, E, v, corners)
                outcome = resolve(m, k, low, high, side_noise, size, rows, is_side, basis, E, v, p,
                                  witness, info, room, spare, counters)
                _put_back(n_rows, m, k, side_rows, cuts, starts, layer_of, values, errors,
                          form_sizes, marks, rows)
            if outcome != FOUND:
                outcome = LOST
                for face in range(2 * k + m):
                    known[face] = UNSEEN
                if quick_settle(m, k, low, high, rows, basis, E, v, p, info, matrix, gaps) or (
                        settle(m, k, low, high, rows, basis, E, v, p, info, matrix, gaps)):
                    outcome = resolve(m, k, low, high, side_noise, size, rows, is_side, basis, E,
                                      v, p, witness, info, room, spare, counters)
                    _put_back(n_rows, m, k, side_rows, cuts, starts, layer_of, values, errors,
                              form_sizes, marks, rows)
        if outcome == LOST:
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
def _look_up(level, m, k, is_side, gone, corners, known):
    """Write what is known of the faces of the cell in hand; return how many are open."""
    _, bases, _, _, _, _, lists, counts = corners
    for face in range(2 * k + m):
        known[face] = NONE if gone[face] <= level else UNSEEN
    for at in range(counts[level]):
        for q in range(k):
            known[bases[lists[level, at], q]] = FACET
    n_open = 0
    for face in range(2 * k + m):
        if known[face] == UNSEEN and (face >= 2 * k or is_side[face] == 1):
            n_open += 1
    return n_open


@kernel
def _take_corner(level, k, basis, E, v, corners):
    """Go to a corner of the cell in hand."""
    points, bases, edges, _, _, _, lists, _ = corners
    corner = lists[level, 0]
    for q in range(k):
        v[q] = points[corner, q]
        basis[q] = bases[corner, q]
    transpose(k, edges[corner], E)


@kernel
def _put_back(n_rows, m, k, side_rows, cuts, starts, layer_of, values, errors, form_sizes, marks,
              rows):
    """Write the rows of a region that were left out: the cells beside it need them."""
    for r in range(m):
        if r < n_rows:
            for j in range(k + 2):
                rows[j, r] = side_rows[j, r]
        else:
            cut = cuts[r - n_rows + 1]
            take_form(cut, float(marks[cut]), k, starts, layer_of, values, errors, form_sizes,
                      rows[:, r])


@kernel
def _enter_domain(m, k, low, high, side_noise, side_rows, size, rows, sizes, is_side, basis, E, T,
                  v, p, witness, info, f, y, rates, gaps, matrix, known, counters, corners, gone,
                  ints):
    """Begin: keep corners of the domain, and see which of its faces are none of its facets."""
    _, _, _, _, _, free, _, counts = corners
    ints[0] = 0
    ints[1] = len(free)
    counts[0] = 0
    for at in range(len(free)):
        free[at] = at
    for face in range(len(gone)):
        gone[face] = NEVER
    for r in range(m):
        for j in range(k + 2):
            rows[j, r] = side_rows[j, r]
    face_sizes(0, 2 * k + m, k, size, rows, sizes)
    if m == 0:
        for end in range(2):  # the lowest corner of the box, and the highest
            for q in range(k):
                v[q] = low[q] if end == 0 else high[q]
                basis[q] = q + end * k
                for j in range(k):
                    T[q, j] = 0.0
                T[q, q] = 1.0 if end == 0 else -1.0
            if is_corner(m, k, low, high, rows, sizes, basis, T, v, gaps):
                keep(0, k, basis, T, v, 0, corners, ints)
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
            keep(0, k, basis, T, v, info[1], corners, ints)
