"""Decide cuts by walking from vertex to vertex: the primal simplex method in halfspace form.

A cell is ``{u : g_r(u) >= 0}`` for faces ``r``: ids ``0..k-1`` are the lower sides of the box,
``k..2k-1`` the upper ones, ``2k + r`` is row r, an affine form ``[a, c]`` whose largest ``|a_j|``
lies in [1, 2). A vertex ``v`` has a basis of ``k`` faces that vanish there; ``E[q]`` is the
edge along which the face ``basis[q]`` grows at rate one while the others stay zero, so that

    f(u) = f(v) + sum_q y_q * g_basis[q](u),    y_q = f_a . E[q]    (the prices of f)

and ``f`` has its minimum over the cell at ``v`` if no price is negative.

Invariant on entry and exit of every function: ``basis``, ``E`` and ``v`` belong together and
``v`` lies in the closed cell, up to rounding.

Letters: u, v points; E edges; f form to minimise; g face; y prices; k free coordinates; m rows.
"""

# ruff: noqa: N803
import math

import numpy as np

from polycarve.splitting.kernels.compilation import kernel

EPS = 2.0**-53
GAMMA = 4.0 * EPS  # typical relative rounding error of a form's value
# A value this large, relative to the form, shows a sign at a vertex whose place is known to SHARP.
CLEAR = 1e-9
SHARP = 1e-11
# A face that is met at less than PARALLEL, relative to the edge, is not met at all.
PARALLEL = 1e-13
# A face that is met at less than this, relative to the edge, is met squarely enough only if the
# edges are fresh. They are computed anew after so many exchanges.
SQUARE = 1e-7
REFRESH = 40

# What a walk is for, and how it ends.
PROBE, DECIDE, SPLIT = 0, 1, 2
OPTIMAL, CROSSED, ON_PLANE, STUCK, BLURRED = 0, 1, 2, 3, 4

# Counters.
STEPS, PROGRAMS, DOUBTS, LEAVES, STACK, PIVOTS = 0, 1, 2, 3, 4, 5


@kernel
def face_value(face, u, k, lower, upper, rows):
    """Return ``g_face(u)``."""
    if face < k:
        return u[face] - lower[face]
    if face < 2 * k:
        return upper[face - k] - u[face - k]
    r = face - 2 * k
    value = rows[r, k]
    for j in range(k):
        value += rows[r, j] * u[j]
    return value


@kernel
def refresh(k, lower, upper, rows, basis, E, v, matrix):
    """Compute the edges and the vertex anew from the basis; False if it is singular."""
    for q in range(k):
        face = basis[q]
        for j in range(2 * k):
            matrix[q, j] = 0.0
        matrix[q, k + q] = 1.0
        if face < k:
            matrix[q, face] = 1.0
        elif face < 2 * k:
            matrix[q, face - k] = -1.0
        else:
            for j in range(k):
                matrix[q, j] = rows[face - 2 * k, j]
    for column in range(k):  # Gauss-Jordan with partial pivoting
        best = column
        for i in range(column + 1, k):
            if abs(matrix[i, column]) > abs(matrix[best, column]):
                best = i
        pivot = matrix[best, column]
        if abs(pivot) < 1e-14:
            return False
        for j in range(2 * k):
            held = matrix[best, j]
            matrix[best, j] = matrix[column, j]
            matrix[column, j] = held / pivot
        for i in range(k):
            if i != column:
                factor = matrix[i, column]
                if factor != 0.0:
                    for j in range(2 * k):
                        matrix[i, j] -= factor * matrix[column, j]
    for q in range(k):
        for j in range(k):
            E[q, j] = matrix[j, k + q]
    for j in range(k):
        v[j] = 0.0
    for _ in range(2):  # the second round removes the rounding of the first
        for q in range(k):
            matrix[q, 0] = face_value(basis[q], v, k, lower, upper, rows)
        for q in range(k):
            for j in range(k):
                v[j] -= matrix[q, 0] * E[q, j]
    return True


@kernel
def settle(k, lower, upper, m, rows, p, basis, E, v, matrix, rates, normal):
    """Find a vertex from an interior point, by rays that meet new faces as squarely as may be."""
    for j in range(k):
        v[j] = p[j]
    for found in range(k):
        # matrix holds orthonormal normals of the faces found; every ray runs along all of them.
        best_rate = 0.0
        best_face = -1
        best_step = 0.0
        for axis in range(k):
            for j in range(k):
                normal[j] = 1.0 if j == axis else 0.0
            length = _orthogonal_part(k, found, matrix, normal)
            if length < 1e-3:
                continue
            for j in range(k):
                normal[j] /= length
            for way in range(2):
                limit = np.inf
                leaving = -1
                for face in range(2 * k + m):
                    if face < k:
                        rate = normal[face]
                    elif face < 2 * k:
                        rate = -normal[face - k]
                    else:
                        rate = 0.0
                        for j in range(k):
                            rate += rows[face - 2 * k, j] * normal[j]
                    if rate < -1e-9:
                        gap = max(face_value(face, v, k, lower, upper, rows), 0.0)
                        if gap / -rate < limit:
                            limit = gap / -rate
                            leaving = face
                            meeting = -rate
                if leaving >= 0 and meeting > best_rate:
                    best_rate = meeting
                    best_face = leaving
                    best_step = limit
                    for j in range(k):
                        E[0, j] = normal[j]
                for j in range(k):
                    normal[j] = -normal[j]
        if best_face < 0:
            return False
        basis[found] = best_face
        for j in range(k):
            v[j] += best_step * E[0, j]
            if best_face < k:
                matrix[found, j] = 1.0 if j == best_face else 0.0
            elif best_face < 2 * k:
                matrix[found, j] = 1.0 if j == best_face - k else 0.0
            else:
                matrix[found, j] = rows[best_face - 2 * k, j]
        length = _orthogonal_part(k, found, matrix, matrix[found])
        if length == 0.0:
            return False
        for j in range(k):
            matrix[found, j] /= length
    return refresh(k, lower, upper, rows, basis, E, v, matrix)


@kernel
def _orthogonal_part(k, found, matrix, vector):
    """Take away the part of a vector along the orthonormal rows; return what length is left."""
    for _ in range(2):
        for i in range(found):
            along = 0.0
            for j in range(k):
                along += matrix[i, j] * vector[j]
            for j in range(k):
                vector[j] -= along * matrix[i, j]
    length = 0.0
    for j in range(k):
        length += vector[j] * vector[j]
    return math.sqrt(length)


@kernel
def exchange(k, q, face, form, sign, basis, E, slopes):
    """Let ``sign * form`` take the place of ``basis[q]``; the vertex must lie on it already."""
    for other in range(k):
        slope = 0.0
        for j in range(k):
            slope += form[j] * E[other, j]
        slopes[other] = sign * slope
    pivot = slopes[q]
    for j in range(k):
        E[q, j] /= pivot
    for other in range(k):
        if other != q and slopes[other] != 0.0:
            for j in range(k):
                E[other, j] -= slopes[other] * E[q, j]
    basis[q] = face


@kernel
def proves(k, f, f_noise, size, ratio, all_homogeneous, rows, row_noise, lower, upper, side_noise,
           basis, E, y):
    """Whether the prices at an optimal vertex prove ``f > 0`` inside the cell, rounding included.

    With ``y >= 0`` the identity ``f = sum y g + (constant) + (residual) . u`` holds for the
    numbers as they are; the box absorbs the residual. Where every constant is exactly zero
    (``all_homogeneous``), so is the minimum, and positive prices are proof enough.
    """
    constant = f[k]
    size_of_sum = abs(f[k])
    noise = f_noise
    homogeneous = all_homogeneous
    slack = 0.0
    for q in range(k):
        price = y[q]
        if price <= 0.0:
            continue
        face = basis[q]
        if face < k:
            c = -lower[face]
            noise += price * side_noise[face]
        elif face < 2 * k:
            c = upper[face - k]
            noise += price * side_noise[face]
        else:
            c = rows[face - 2 * k, k]
            noise += price * row_noise[face - 2 * k]
        constant -= price * c
        size_of_sum += abs(price * c)
        if c != 0.0:
            homogeneous = False
    for j in range(k):
        residual = f[j]
        total = abs(f[j])
        for q in range(k):
            price = y[q]
            if price <= 0.0:
                continue
            face = basis[q]
            if face == j:
                residual -= price
                total += price
            elif face == k + j:
                residual += price
                total += price
            elif face >= 2 * k:
                residual -= price * rows[face - 2 * k, j]
                total += abs(price * rows[face - 2 * k, j])
        slack += abs(residual) * size[j]
        size_of_sum += total * size[j]
    error = slack + ratio * (noise + GAMMA * size_of_sum)
    if constant > error:
        return True
    if not homogeneous:
        return False
    for q in range(k):
        # An error of the forms moves a price by at most that error along its edge.
        reach = 0.0
        for j in range(k):
            reach += abs(E[q, j]) / size[j]
        if y[q] <= 2.0 * error * reach:
            return False
    return True


@kernel
def remember(k, u, is_sharp, witness, info):
    """Keep a point of the closed cell; the oldest makes room. Return its place.

    All of them help to find interior points; only sharp ones may show a sign.
    ``info``: points kept so far, pivots since the last refresh, place of the plane in the basis
    (or -1), place of the vertex among the witnesses (or -1).
    """
    slot = info[0] % witness.shape[0]
    for j in range(k):
        witness[slot, j] = u[j]
    witness[slot, k] = 1.0 if is_sharp else 0.0
    info[0] += 1
    if info[3] == slot:
        info[3] = -1
    return slot


@kernel
def walk(k, f, f_noise, f_size, purpose, plane, lower, upper, side_noise, m, rows, row_noise,
         basis, E, v, p, witness, info, y, rates, gaps, matrix, counters):
    """Minimise a form over the cell, starting where we stand, and stop once it is negative.

    PROBE only asks whether the form gets negative. DECIDE asks too, and where an edge clearly
    crosses ``f = 0`` stops there (ON_PLANE): the plane stands in the basis as the face ``plane``,
    with ``f`` growing along its edge; ``info[2]`` is its place. SPLIT knows that the plane
    crosses the cell and stops on it in any case; ``info[2] = -1`` if the vertex lies on it anyway.
    BLURRED means that float64 cannot tell how low the form gets. ``p`` is an interior point.
    For ``info`` see `remember`.
    """
    counters[PROGRAMS] += 1
    info[2] = -1
    restarts = 0
    arrived = False
    stalled = 0
    total = 0
    bland_after = 2 * k + 20
    cap = 200 + 40 * (k + m)
    while True:
        if info[1] >= REFRESH:
            info[1] = 0
            if not refresh(k, lower, upper, rows, basis, E, v, matrix):
                # Faces all but parallel meet here. Start once from elsewhere, then give up.
                if not settle(k, lower, upper, m, rows, p, basis, E, v, matrix, rates, gaps):
                    return STUCK
                info[3] = -1
                restarts += 1
                if restarts == 2:
                    return BLURRED
        value = f[k]
        blur = 0.0  # how far the vertex may be from where it is computed to be
        for j in range(k):
            value += f[j] * v[j]
            blur = max(blur, 2.0 * EPS * abs(v[j]))
        # Prices; the entering edge is the one of steepest descent, under Bland's rule the first.
        best = -1
        best_score = 0.0
        price_noise = f_noise
        bland = stalled > bland_after
        for q in range(k):
            price = 0.0
            size_of_sum = 0.0
            length = 0.0
            for j in range(k):
                term = f[j] * E[q, j]
                price += term
                size_of_sum += abs(term)
                length += E[q, j] * E[q, j]
            y[q] = price
            face = basis[q]
            face_noise = row_noise[face - 2 * k] if face >= 2 * k else side_noise[face]
            price_noise += abs(price) * face_noise
            blur += math.sqrt(length) * face_noise
            if price < -2.0 * GAMMA * size_of_sum:
                if bland:
                    if best < 0 or face < basis[best]:
                        best = q
                else:
                    score = price * price / length
                    if score > best_score:
                        best_score = score
                        best = q
        if arrived:
            info[3] = remember(k, v, blur < SHARP, witness, info)
        arrived = False
        if purpose == SPLIT:
            if value <= 4.0 * f_noise:
                return ON_PLANE
        elif value < -4.0 * price_noise:
            # A small value may be the drift of the vertex: look again from a fresh one.
            if info[1] == 0 or value < -CLEAR * f_size - price_noise / SHARP:
                return CROSSED
            info[1] = REFRESH
            continue
        if best < 0:
            return OPTIMAL
        total += 1
        if total > cap:
            return STUCK
        counters[STEPS] += 1
        counters[PIVOTS] += 1
        if purpose != PROBE and info[3] < 0:
            info[3] = remember(k, v, blur < SHARP, witness, info)  # we are about to leave it
        # Ratio test in two passes: first how far with every face granted its noise, then, among
        # the faces reached by then, the one met most squarely.
        norm = 0.0
        for j in range(k):
            norm += abs(E[best, j])
        flat = max(8.0 * (k + 2) * EPS, PARALLEL) * norm
        limit = np.inf
        for j in range(k):
            rate = E[best, j]
            rates[j] = rate
            rates[k + j] = -rate
            gaps[j] = max(v[j] - lower[j], 0.0)
            gaps[k + j] = max(upper[j] - v[j], 0.0)
        for r in range(m):
            rate = 0.0
            gap = rows[r, k]
            for j in range(k):
                rate += rows[r, j] * E[best, j]
                gap += rows[r, j] * v[j]
            rates[2 * k + r] = rate
            gaps[2 * k + r] = max(gap, 0.0)
        for q in range(k):
            rates[basis[q]] = 0.0
        for face in range(2 * k + m):
            rate = rates[face]
            if rate < -flat:
                if face >= 2 * k:
                    reach = (gaps[face] + row_noise[face - 2 * k]) / -rate
                else:
                    reach = (gaps[face] + side_noise[face] + EPS * abs(v[face % k])) / -rate
                limit = min(limit, reach)
        leaving = -1
        steepest = 0.0
        for face in range(2 * k + m):
            rate = rates[face]
            if rate < -flat and gaps[face] / -rate <= limit:
                if bland:
                    leaving = face
                    break
                if -rate > steepest:
                    steepest = -rate
                    leaving = face
        if leaving < 0:
            if info[1] == 0:
                return STUCK
            info[1] = REFRESH
            continue
        if -rates[leaving] < SQUARE * norm and info[1] > 0:
            info[1] = REFRESH  # so flat a meeting may be drift of the edges
            continue
        step = gaps[leaving] / -rates[leaving]
        ahead = value + step * y[best]
        face_noise = row_noise[leaving - 2 * k] if leaving >= 2 * k else side_noise[leaving]
        step_noise = (face_noise + 2.0 * blur) / -rates[leaving]
        is_clear = ahead < -CLEAR * f_size - 4.0 * (price_noise - step_noise * y[best])
        if is_clear or (purpose == SPLIT and ahead < -4.0 * f_noise):
            # This edge crosses the plane. Its far end is a point to remember.
            for j in range(k):
                gaps[j] = v[j] + step * E[best, j]
            remember(k, gaps, blur + step_noise * norm < SHARP, witness, info)
            if purpose == PROBE:
                return CROSSED
            step = max(value, 0.0) / -y[best]
            for j in range(k):
                v[j] += step * E[best, j]
            exchange(k, best, plane, f, 1.0, basis, E, y)
            info[1] += 1
            info[2] = best
            info[3] = -1
            return ON_PLANE
        for j in range(k):
            v[j] += step * E[best, j]
        if leaving < k:
            v[leaving] = lower[leaving]
        elif leaving < 2 * k:
            v[leaving - k] = upper[leaving - k]
        if step * -y[best] > GAMMA * f_size:
            stalled = 0
            arrived = True
        else:
            stalled += 1
        info[3] = -1
        if leaving < 2 * k:
            for j in range(k):
                gaps[j] = 0.0
            gaps[leaving % k] = 1.0 if leaving < k else -1.0
            exchange(k, best, leaving, gaps, 1.0, basis, E, y)
        else:
            exchange(k, best, leaving, rows[leaving - 2 * k], 1.0, basis, E, y)
        info[1] += 1
