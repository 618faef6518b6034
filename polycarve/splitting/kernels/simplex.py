"""Linear programs over a cell: walking from vertex to vertex, and what the end proves.

At a vertex (see `vertex.py`) every affine form is

    f(u) = f(v) + sum_q y_q * g_basis[q](u),    y_q = f_a . E[q]    (the prices of f)

and has its minimum over the cell there if no price is negative.

Invariant on entry and exit: basis, edges and vertex belong together and the vertex lies in the
closed cell, up to rounding.
"""

import math

import numpy as np

from polycarve.splitting.kernels.arrays import EPS, GAMMA, PIVOTS, PROGRAMS, STEPS
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.vertex import (
    exchange,
    face_normal,
    refresh,
    remember,
    settle,
)

# A value this large, relative to the form, shows a sign at a vertex whose place is known to SHARP.
CLEAR = 1e-9
SHARP = 1e-11
# A face that is met at less than PARALLEL, relative to the edge, is not met at all; one met at
# less than SQUARE is trusted only if the edges are fresh. They are computed anew after REFRESH
PARALLEL = 1e-13
SQUARE = 1e-7
# exchanges, and whenever a basis with edges longer than LONG is entered or left: its faces are so
# nearly parallel that an exchange loses digits.
REFRESH = 40
LONG = 1e3

# What a walk is for, and how it ends.
PROBE, DECIDE, SPLIT = 0, 1, 2
OPTIMAL, CROSSED, ON_PLANE, STUCK, BLURRED = 0, 1, 2, 3, 4


@kernel
def walk(purpose, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
         f, y, rates, gaps, matrix, counters):
    """Minimise the form in hand over the cell, from where we stand, until it is negative.

    PROBE only asks whether it gets negative. DECIDE asks too, and where an edge clearly crosses
    the plane ``f = 0`` stops there (ON_PLANE): the plane stands in the basis as the face of row
    m, with ``f`` growing along its edge, and ``info[2]`` is its place. SPLIT knows that the plane
    crosses the cell and stops on it in any case; ``info[2] = -1`` if the vertex lies on it anyway.
    BLURRED means that float64 cannot tell how low the form gets.
    """
    f_noise, f_size = f[k + 1], f[k + 2]
    # |f_a| is about one: along a slope below this, f changes by less than its rounding error.
    level = max(2.0 * GAMMA, f_noise / f_size) if f_size > 0.0 else 0.0
    n_faces = 2 * k + m
    counters[PROGRAMS] += 1
    info[2] = -1
    restarts = 0
    stalled = 0
    pivots = 0
    arrived = False
    known_longest = 1.0
    while True:
        if info[1] >= REFRESH and not refresh(
            k, lower, upper, rows, basis, E, v, info, matrix
        ):
            # Faces all but parallel meet here. Start once from elsewhere, then give up.
            if not settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, gaps):
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
        # Prices. The edge to follow is the one of steepest descent; where no progress is made,
        # the first by number (Bland), which cannot go round in circles.
        best = -1
        best_score = 0.0
        longest = 0.0
        price_noise = f_noise
        bland = stalled > 2 * k + 20
        # Edges are known to rounding times the longest of them; where nothing moves any more, a
        # price has to stand out from that.
        least = level * max(1.0, known_longest) if bland else level
        for q in range(k):
            price = 0.0
            square = 0.0
            for j in range(k):
                price += f[j] * E[q, j]
                square += E[q, j] * E[q, j]
            y[q] = price
            length = math.sqrt(square)
            longest = max(longest, length)
            face = basis[q]
            noise = side_noise[face] if face < 2 * k else rows[k + 1, face - 2 * k]
            price_noise += abs(price) * noise
            blur += length * noise
            if price < -least * length:
                score = -price / length
                if bland:
                    if best < 0 or face < basis[best]:
                        best = q
                elif score > best_score:
                    best_score = score
                    best = q
        known_longest = longest
        is_blunt = longest > LONG
        if is_blunt and info[1] > 0:
            info[1] = REFRESH
            continue
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
        if pivots > 200 + 40 * n_faces:
            return STUCK
        norm = 0.0
        for j in range(k):
            norm += abs(E[best, j])
        leaving = blocking_face(best, norm, bland, k, m, lower, upper, side_noise, rows, basis,
                                 E, v, rates, gaps)
        if leaving < 0 or -rates[leaving] < SQUARE * norm:
            # Nothing in the way, or something all but parallel to it: may be drift of the edges.
            if info[1] > 0:
                info[1] = REFRESH
                continue
            if leaving < 0:
                return STUCK
        pivots += 1
        counters[STEPS] += 1 + k * (3 * k + n_faces) // 256  # about its cost
        counters[PIVOTS] += 1
        if purpose != PROBE and info[3] < 0:
            info[3] = remember(k, v, blur < SHARP, witness, info)  # we are about to leave it
        step = gaps[leaving] / -rates[leaving]
        noise = side_noise[leaving] if leaving < 2 * k else rows[k + 1, leaving - 2 * k]
        step_noise = (noise + 2.0 * blur) / -rates[leaving]
        ahead = value + step * y[best]
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
            exchange(best, n_faces, f, k, basis, E, y)
            info[1] = REFRESH if is_blunt else info[1] + 1
            info[2] = best
            info[3] = -1
            return ON_PLANE
        for j in range(k):
            v[j] += step * E[best, j]
        if leaving < k:
            v[leaving] = lower[leaving]
        elif leaving < 2 * k:
            v[leaving - k] = upper[leaving - k]
        if step * -y[best] > price_noise:
            stalled = 0
            arrived = True
        else:
            stalled += 1
        info[3] = -1
        info[1] = REFRESH if is_blunt else info[1] + 1
        face_normal(leaving, k, rows, gaps)
        exchange(best, leaving, gaps, k, basis, E, y)


@kernel
def blocking_face(q, norm, bland, k, m, lower, upper, side_noise, rows, basis, E, v,
                   rates, gaps):
    """Return the face that ends the edge q, or -1; leave all rates and gaps behind.

    Two passes: how far with every face granted its noise, then, among the faces reached by then,
    the one met most squarely (the first by number under Bland's rule).
    """
    flat = max(8.0 * (k + 2) * EPS, PARALLEL) * norm
    for j in range(k):
        rates[j] = E[q, j]
        rates[k + j] = -E[q, j]
        gaps[j] = max(v[j] - lower[j], 0.0)
        gaps[k + j] = max(upper[j] - v[j], 0.0)
    # Row by row in the array, so that the processor takes several faces at a time.
    for r in range(m):
        rates[2 * k + r] = 0.0
        gaps[2 * k + r] = rows[k, r]
    for j in range(k):
        along, at = E[q, j], v[j]
        for r in range(m):
            rates[2 * k + r] += rows[j, r] * along
            gaps[2 * k + r] += rows[j, r] * at
    for r in range(m):
        gaps[2 * k + r] = max(gaps[2 * k + r], 0.0)
    for other in range(k):
        rates[basis[other]] = 0.0
    limit = np.inf
    for face in range(2 * k + m):
        if rates[face] < -flat:
            if face < 2 * k:
                noise = side_noise[face] + EPS * abs(v[face % k])
            else:
                noise = rows[k + 1, face - 2 * k]
            limit = min(limit, (gaps[face] + noise) / -rates[face])
    leaving = -1
    for face in range(2 * k + m):
        if rates[face] < -flat and gaps[face] / -rates[face] <= limit:
            if bland:
                return face
            if leaving < 0 or rates[face] < rates[leaving]:
                leaving = face
    return leaving


@kernel
def proves(is_homogeneous, ratio, size, k, lower, upper, side_noise, rows, basis, E, f, y):
    """Whether the prices at an optimal vertex prove ``f > 0`` inside the cell, rounding included.

    With ``y >= 0`` the identity ``f = sum y g + (constant) + (residual) . u`` holds for the
    numbers as they are; the box absorbs the residual (Neumaier and Shcherbina 2004). Where every
    constant is exactly zero, so is the minimum, and positive prices are proof enough.
    """
    constant = f[k]
    total = abs(f[k])
    noise = f[k + 1]
    for q in range(k):
        if y[q] > 0.0:
            face = basis[q]
            if face < k:
                c = -lower[face]
            elif face < 2 * k:
                c = upper[face - k]
            else:
                c = rows[k, face - 2 * k]
            noise += y[q] * (side_noise[face] if face < 2 * k else rows[k + 1, face - 2 * k])
            constant -= y[q] * c
            total += abs(y[q] * c)
            if c != 0.0:
                is_homogeneous = False
    slack = 0.0
    for j in range(k):
        residual = f[j]
        size_of_sum = abs(f[j])
        for q in range(k):
            if y[q] > 0.0:
                face = basis[q]
                a = 0.0
                if face >= 2 * k:
                    a = rows[j, face - 2 * k]
                elif face % k == j:
                    a = 1.0 if face < k else -1.0
                residual -= y[q] * a
                size_of_sum += abs(y[q] * a)
        slack += abs(residual) * size[j]
        total += size_of_sum * size[j]
    error = slack + ratio * (noise + GAMMA * total)
    if constant > error:
        return True
    if not is_homogeneous:
        return False
    for q in range(k):
        # An error of the forms moves a price by at most that error along its edge.
        reach = 0.0
        for j in range(k):
            reach += abs(E[q, j]) / size[j]
        if y[q] <= 2.0 * error * reach:
            return False
    return True
