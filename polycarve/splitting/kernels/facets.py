"""Which faces of a region are facets.

At a vertex on exactly k faces, clear of all others, these are facets. Walking towards each face in
turn meets such a vertex on it, or ends before it, and then the face is none. Where a walk ends on
more than k faces, or too near others, the face is taken away to see whether the region grows.
"""


from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.forms import push_forms, take_form, value_at
from polycarve.splitting.kernels.halfspaces import write_row
from polycarve.splitting.kernels.simplex import (
    BLURRED,
    CLEAR,
    CROSSED,
    LONG,
    OPTIMAL,
    PROBE,
    REFRESH,
    STUCK,
    blocking_face,
    walk,
)
from polycarve.splitting.kernels.vertex import (
    exchange,
    face_normal,
    quick_settle,
    settle,
)

# What is known of a face; UNSEEN is nothing yet.
NONE, FACET, UNSEEN = 0, 1, 2

# How resolving them ends. BLUNT: at some vertex, faces were nearly parallel, and what is found may
# depend on where the walks began.
LOST, FOUND, BLUNT = 0, 1, 2


@kernel
def find_facets(problem, forms, cell, room, spare, bits, points, starts_of, cuts_of, is_side,
                side_order, counters, counts, sources, halfspaces):
    """Find the facets of regions given by their patterns, interior points and candidate cuts.

    Region i has the candidates ``cuts_of[starts_of[i] : starts_of[i + 1]]``, by rising index, the
    rows of the domain, and the sides of the box for which ``is_side`` is 1: the others are never
    reported. Of faces that coincide, the lowest side is kept, else the lowest cut. Writes per
    region how many facets it has (-1 where no vertex was found), and for all of them the cut (or
    ``-1 - face`` for a side; the domain's rows are faces ``2 k`` and up) and the halfspace
    ``[a, b]``, meaning ``a @ u <= b``: cuts by rising index, then faces in the order of
    `side_order`.
    """
    (k, lower, upper, side_noise, side_rows, size, ratio, starts, layer_of, weights,
     weight_starts, inputs, input_starts, bias, _, _, _, _) = problem
    values, errors, sizes = forms
    marks, _, rows, basis, E, v, p, witness, info = cell
    _, _, _, gaps, matrix, _, _, _, _ = room
    low, high, known, _, _, _ = spare
    for j in range(k):
        low[j] = lower[j]
        high[j] = upper[j]
    total = 0
    for i in range(len(bits)):
        # Forms depend on the marks of earlier layers: keep those that the last region had too.
        changed = 0 if i == 0 else len(starts)
        for cut in range(starts[-1]):
            mark = ACTIVE if bits[i, cut] == 1 else INACTIVE
            if mark != marks[cut] and i > 0:
                changed = min(changed, layer_of[cut] + 1)
            marks[cut] = mark
        for layer in range(changed, len(starts) - 1):
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, inputs,
                       input_starts, bias, marks, values, errors, sizes)
        first = starts_of[i]
        n_rows = side_rows.shape[1]
        m = n_rows + starts_of[i + 1] - first
        for r in range(n_rows):
            for j in range(k + 2):
                rows[j, r] = side_rows[j, r]
        for r in range(n_rows, m):
            cut = cuts_of[first + r - n_rows]
            sign = float(marks[cut])
            take_form(cut, sign, k, starts, layer_of, values, errors, sizes, rows[:, r])
            if _is_noise(rows[:, r], k, size, ratio):  # else errors would bound the region
                for j in range(k):
                    rows[j, r] = 0.0
                rows[k, r] = 1.0
        for j in range(k):
            p[j] = points[i, j]
        for place in range(4):
            info[place] = -1 if place > 1 else 0
        counts[i] = -1
        if not quick_settle(m, k, low, high, rows, basis, E, v, p, info, matrix, gaps) and (
                not settle(m, k, low, high, rows, basis, E, v, p, info, matrix, gaps)):
            continue
        for face in range(2 * k + m):
            known[face] = UNSEEN
        if resolve(m, k, low, high, side_noise, size, rows, is_side, basis, E, v, p, witness, info,
                   room, spare, counters) == LOST:
            continue
        found = total
        for r in range(n_rows, m):
            if known[2 * k + r] == FACET:
                sources[found] = cuts_of[first + r - n_rows]
                found += 1
        for face in side_order:
            if known[face] == FACET:
                sources[found] = -1 - face
                found += 1
        for at in range(total, found):
            write_row(sources[at], k, lower, upper, side_rows, starts, layer_of, marks, values,
                      halfspaces[at])
        counts[i] = found - total
        total = found
    return total


@kernel
def _is_noise(f, k, size, ratio):
    """Whether a form may be zero everywhere, for all that is known of its rounding errors."""
    noise = ratio * f[k + 1]
    change = 0.0
    for j in range(k):
        change += abs(f[j]) * size[j]
    return change <= noise and f[k] >= -noise


@kernel
def resolve(m, k, low, high, side_noise, size, rows, is_side, basis, E, v, p, witness, info, room,
            spare, counters):
    """Find out, from a vertex, what every face of a cell is of which it is not known.

    Of faces that coincide, the lowest side is kept, else the lowest cut. Rows that turn out to be
    none may be left out of the cell for good. Returns FOUND or BLUNT, or LOST.
    """
    f, y, rates, gaps, matrix, point, _, _, _ = room
    _, _, known, held_basis, held_E, held_v = spare
    outcome = FOUND
    _certify(m, k, low, high, rows, size, basis, E, v, gaps, known)
    for face in range(2 * k + m):
        if known[face] == UNSEEN and (face >= 2 * k or is_side[face] == 1):
            walk_towards(face, m, k, low, high, side_noise, size, rows, basis, E, v, p, witness,
                         info, f, y, rates, gaps, matrix, counters, known)
            if _is_blunt(k, E):
                outcome = BLUNT
    for step in range(m + 2 * k):
        # Cuts first, so that a side stays where they coincide; the later cut goes before the
        # earlier one.
        face = 2 * k + m - 1 - step if step < m else 2 * k - 1 - (step - m)
        if known[face] == UNSEEN and (face >= 2 * k or is_side[face] == 1):
            is_facet = _stands_out(
                face, m, k, low, high, side_noise, size, rows, basis, E, v, p, witness, info,
                f, y, rates, gaps, matrix, point, counters, held_basis, held_E, held_v)
            if is_facet < 0:
                return LOST
            known[face] = is_facet
            if _is_blunt(k, E):
                outcome = BLUNT
    return outcome


@kernel
def _is_blunt(k, E):
    longest = 0.0
    for q in range(k):
        for j in range(k):
            longest = max(longest, abs(E[q, j]))
    return longest > LONG


@kernel
def _stands_out(face, m, k, low, high, side_noise, size, rows, basis, E, v, p, witness, info,
                f, y, rates, gaps, matrix, point, counters, held_basis, held_E, held_v):
    """Whether the region grows when a face is taken away (1), or not (0); -1 if no way is found.

    A row that does not stand out stays away: of two equal ones, one is needed.
    """
    for q in range(k):
        held_basis[q] = basis[q]
        held_v[q] = v[q]
        for j in range(k):
            held_E[q, j] = E[q, j]
    for q in range(k):
        if basis[q] == face:  # walk off it first, so that it is not part of the vertex
            norm = 0.0
            for j in range(k):
                norm += abs(E[q, j])
            leaving = blocking_face(q, norm, False, k, m, low, high, side_noise, rows, basis, E, v,
                                    rates, gaps)
            if leaving < 0:
                return -1
            step = gaps[leaving] / -rates[leaving]
            for j in range(k):
                v[j] += step * E[q, j]
            face_normal(leaving, k, rows, point)
            exchange(q, leaving, point, k, basis, E, y)
            info[1] += 1
            break
    _take_face(face, k, low, high, side_noise, size, rows, f)
    if face < k:
        low[face] -= high[face] - low[face]
    elif face < 2 * k:
        high[face - k] += high[face - k] - low[face - k]
    else:
        for j in range(k):
            rows[j, face - 2 * k] = 0.0
        rows[k, face - 2 * k] = 1.0
    info[0] = 0
    info[3] = -1
    outcome = walk(PROBE, m, k, low, high, side_noise, rows, basis, E, v, p, witness, info,
                   f, y, rates, gaps, matrix, counters)
    if face < 2 * k:
        j = face % k
        if face < k:
            low[j] = -f[k]
        else:
            high[j] = f[k]
    elif outcome == CROSSED:
        for j in range(k + 2):
            rows[j, face - 2 * k] = f[j]
    if outcome in (STUCK, BLURRED):
        return -1
    if outcome != CROSSED:
        return 0
    for q in range(k):  # back into the region
        basis[q] = held_basis[q]
        v[q] = held_v[q]
        for j in range(k):
            E[q, j] = held_E[q, j]
    info[1] = REFRESH
    return 1


@kernel
def _take_face(face, k, low, high, side_noise, size, rows, f):
    """Put the form of a face in hand."""
    face_normal(face, k, rows, f)
    if face < 2 * k:
        j = face % k
        f[k] = -low[j] if face < k else high[j]
        f[k + 1] = side_noise[face] + 4.0 * 2.0**-53 * size[j]
        f[k + 2] = 2.0 * size[j]
    else:
        f[k] = rows[k, face - 2 * k]
        f[k + 1] = rows[k + 1, face - 2 * k]
        f[k + 2] = abs(f[k])
        for j in range(k):
            f[k + 2] += abs(f[j]) * size[j]


@kernel
def walk_towards(face, m, k, low, high, side_noise, size, rows, basis, E, v, p, witness, info,
                 f, y, rates, gaps, matrix, counters, known):
    """Walk to where a face is nearest, and mark what is seen there."""
    _take_face(face, k, low, high, side_noise, size, rows, f)
    info[0] = 0
    info[3] = -1
    outcome = walk(PROBE, m, k, low, high, side_noise, rows, basis, E, v, p, witness, info,
                   f, y, rates, gaps, matrix, counters)
    if outcome != OPTIMAL:
        return
    if value_at(f, v, k) > CLEAR * f[k + 2]:
        known[face] = NONE
    else:
        _certify(m, k, low, high, rows, size, basis, E, v, gaps, known)


@kernel
def _certify(m, k, low, high, rows, size, basis, E, v, gaps, known):
    """Mark the faces of a vertex as facets, if it is clear of all others."""
    for q in range(k):
        for j in range(k):
            if abs(E[q, j]) > LONG:
                return
    for j in range(k):
        gaps[j] = (v[j] - low[j]) / size[j]
        gaps[k + j] = (high[j] - v[j]) / size[j]
    for r in range(m):
        gaps[2 * k + r] = rows[k, r]
        gaps[2 * k + m + r] = abs(rows[k, r])
    for j in range(k):
        at = v[j]
        reach = size[j]
        for r in range(m):
            gaps[2 * k + r] += rows[j, r] * at
            gaps[2 * k + m + r] += abs(rows[j, r]) * reach
    for r in range(m):
        gaps[2 * k + r] /= gaps[2 * k + m + r]
    for q in range(k):
        gaps[basis[q]] = 1.0
    for face in range(2 * k + m):
        if gaps[face] <= CLEAR:
            return
    for q in range(k):
        known[basis[q]] = FACET
