"""Corners: vertices of a cell on exactly k faces, clear of all others.

The k faces of a corner are facets, and stay so in every cell below in the tree of splits that has
the corner clear of its own cut: nothing has to be computed there again. So corners are kept along
the path from the domain down to the cell in hand, by level: level 0 is the domain, level l the
cell after l splits. A corner's home is the level from which on all its faces are there.

The edges of corners stand in columns, so that what is done for all of them runs along memory.

Invariant: ``lists[l, : counts[l]]`` are the corners of the cell at level l, for the levels down to
the one in hand; those whose home is l go when level l is left for good.
"""

from polycarve.splitting.kernels.arrays import GAMMA
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.simplex import CLEAR, LONG, REFRESH, SHARP, SQUARE
from polycarve.splitting.kernels.vertex import refresh

# How a walk towards a plane ends.
MET, APART, UNCLEAR = 0, 1, 2
# After so many exchanges a walk is given up.
_MOST = 60


@kernel
def face_sizes(first, last, k, size, rows, sizes):
    """Write how large the values of faces may be in the box."""
    for face in range(first, last):
        if face < 2 * k:
            sizes[face] = 2.0 * size[face % k]
            continue
        sizes[face] = abs(rows[k, face - 2 * k])
        for j in range(k):
            sizes[face] += abs(rows[j, face - 2 * k]) * size[j]


@kernel
def face_values(m, k, lower, upper, rows, v, gaps):
    """Write the values of all faces at a point."""
    for j in range(k):
        gaps[j] = v[j] - lower[j]
        gaps[k + j] = upper[j] - v[j]
    for r in range(m):
        gaps[2 * k + r] = rows[k, r]
    for j in range(k):
        at = v[j]
        for r in range(m):
            gaps[2 * k + r] += rows[j, r] * at


@kernel
def is_corner(m, k, lower, upper, rows, sizes, basis, T, v, gaps):
    """Whether a vertex lies on the faces of its basis, at good angles, and on no other."""
    for q in range(k):
        for j in range(k):
            if not abs(T[j, q]) <= LONG:
                return False
    face_values(m, k, lower, upper, rows, v, gaps)
    for q in range(k):
        face = basis[q]
        if not abs(gaps[face]) <= SHARP * sizes[face]:
            return False
        gaps[face] = sizes[face]
    is_clear = True
    for face in range(2 * k + m):
        is_clear = is_clear and gaps[face] > CLEAR * sizes[face]
    return is_clear


@kernel
def keep(level, k, basis, T, v, age, corners, ints):
    """Keep a corner whose home is the level of the cell in hand, if there is room."""
    points, bases, edges, homes, ages, free, lists, counts = corners
    if counts[level] == lists.shape[1] or ints[1] == 0:
        return
    ints[1] -= 1
    corner = free[ints[1]]
    for q in range(k):
        points[corner, q] = v[q]
        bases[corner, q] = basis[q]
        for j in range(k):
            edges[corner, q, j] = T[q, j]
    homes[corner] = level
    ages[corner] = age
    lists[level, counts[level]] = corner
    counts[level] += 1


@kernel
def leave(level, corners, ints):
    """Let go of the corners whose home a level is."""
    _, _, _, homes, _, free, lists, counts = corners
    for at in range(counts[level]):
        if homes[lists[level, at]] == level:
            free[ints[1]] = lists[level, at]
            ints[1] += 1
    counts[level] = 0


@kernel
def reach(start, held, sign, m, k, lower, upper, rows, plane, corners, basis, E, T, v, f, y, rates,
          gaps, squares, matrix, info):
    """Walk from a corner to the plane of row m, without leaving the face held (-1: none).

    ``plane`` is that row, ``sign`` its sign at the corner. MET: we stand on the plane, which is in
    the basis. APART: the face held does not reach the plane, and the prices ``y`` show it.
    """
    points, bases, edges, _, ages, _, _, _ = corners
    n_faces = 2 * k + m
    place = -1
    for q in range(k):
        v[q] = points[start, q]
        basis[q] = bases[start, q]
        f[q] = sign * plane[q]
        if basis[q] == held:
            place = q
        for j in range(k):
            T[q, j] = edges[start, q, j]
    f[k] = sign * plane[k]
    info[1] = ages[start]
    if info[1] >= REFRESH:
        if not refresh(k, lower, upper, rows, basis, E, v, info, matrix):
            return UNCLEAR
        transpose(k, E, T)
    face_values(m, k, lower, upper, rows, v, gaps)
    for _ in range(_MOST):
        value = f[k]
        for j in range(k):
            value += f[j] * v[j]
        for q in range(k):
            y[q] = 0.0
            squares[q] = 0.0
        for j in range(k):
            along = f[j]
            for q in range(k):
                y[q] += along * T[j, q]
                squares[q] += T[j, q] * T[j, q]
        best = -1
        best_score = 0.0
        for q in range(k):
            # Scores are compared by their squares: no roots.
            if y[q] < 0.0 and q != place and y[q] * y[q] > best_score * squares[q]:
                best = q
                best_score = y[q] * y[q] / squares[q]
        if best < 0 or best_score < 1e-24:
            return APART
        for j in range(k):
            rates[j] = T[j, best]
            rates[k + j] = -T[j, best]
        for r in range(m):
            rates[2 * k + r] = 0.0
        norm = 0.0
        for j in range(k):
            along = T[j, best]
            norm += abs(along)
            for r in range(m):
                rates[2 * k + r] += rows[j, r] * along
        for q in range(k):
            rates[basis[q]] = 0.0
        leaving = n_faces
        gap, rate = max(value, 0.0), y[best]
        flat = -SQUARE * norm
        for face in range(n_faces):
            if rates[face] < flat and gaps[face] * rate > gap * rates[face]:
                leaving = face
                gap, rate = max(gaps[face], 0.0), rates[face]
        if rate > flat:
            return UNCLEAR
        step = gap / -rate
        for j in range(k):
            v[j] += step * T[j, best]
        for face in range(n_faces):
            gaps[face] += step * rates[face]
        gaps[basis[best]] = step
        if leaving < n_faces:
            gaps[leaving] = 0.0
        _exchange(best, leaving, k, rows, basis, T, y)
        info[1] += 1
        if leaving == n_faces:
            return MET
    return UNCLEAR


@kernel
def transpose(k, E, T):
    for q in range(k):
        for j in range(k):
            T[j, q] = E[q, j]


@kernel
def _exchange(q, face, k, rows, basis, T, slopes):
    """Let a face take the place of ``basis[q]``: see `vertex.exchange`; edges are columns here."""
    if face < 2 * k:
        sign = 1.0 if face < k else -1.0
        for other in range(k):
            slopes[other] = sign * T[face % k, other]
    else:
        for other in range(k):
            slopes[other] = 0.0
        for j in range(k):
            a = rows[j, face - 2 * k]
            for other in range(k):
                slopes[other] += a * T[j, other]
    pivot = slopes[q]
    slopes[q] = 0.0
    for j in range(k):
        edge = T[j, q] / pivot
        for other in range(k):
            T[j, other] -= slopes[other] * edge
        T[j, q] = edge
    basis[q] = face


@kernel
def shows_apart(held, noise, ratio, k, lower, upper, side_noise, size, rows, sizes, basis, f, y,
                rest):
    """Whether the prices show that the face held is far from the cell beyond the plane ``f = 0``.

    With the prices ``y_q >= 0`` of the other faces, ``f = c + sum y_q g_q + y_h g_h`` for the face
    held; beyond the plane ``f <= 0``, and so ``g_h >= c / -y_h`` there. The identity is taken for
    the numbers as they are, and the box absorbs what is left (see `simplex.proves`).
    """
    constant = f[k]
    total = abs(f[k])
    price = 0.0
    for j in range(k):
        rest[j] = f[j]
        total += abs(f[j]) * size[j]
    for q in range(k):
        face = basis[q]
        along = y[q]
        if face == held:
            price = -along
        elif not along > 0.0:
            continue
        if face >= 2 * k:
            for j in range(k):
                rest[j] -= along * rows[j, face - 2 * k]
            constant -= along * rows[k, face - 2 * k]
            noise += abs(along) * rows[k + 1, face - 2 * k]
        else:
            rest[face % k] -= along if face < k else -along
            constant -= along * (-lower[face] if face < k else upper[face - k])
            noise += abs(along) * side_noise[face]
        total += abs(along) * sizes[face]
    if not price > 0.0:
        return False
    for j in range(k):
        constant -= abs(rest[j]) * size[j]
    return constant - ratio * (noise + GAMMA * total) > CLEAR * sizes[held] * price
