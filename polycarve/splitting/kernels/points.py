"""Interior points: of the children of a split, and of leaves."""

import numpy as np

from polycarve.splitting.kernels.arrays import GAMMA
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.forms import value_at
from polycarve.splitting.kernels.simplex import CROSSED, OPTIMAL, PROBE, walk
from polycarve.splitting.kernels.vertex import face_normal, face_rate, face_value


@kernel
def child_point(sign, k, f, p, v, witness, info, best, out):
    """Write an interior point of the side ``sign * f > 0`` of the cell in hand.

    Halfway between a point known to be interior and the mean of the known points on that side:
    either alone would creep towards the boundary.
    """
    here = sign * value_at(f, p, k)
    top = sign * value_at(f, v, k)
    for j in range(k):
        best[j] = v[j]
        out[j] = 0.0
    count = 0
    for t in range(min(info[0], witness.shape[0])):
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
def is_interior(u, m, k, lower, upper, side_noise, rows, ratio):
    """Whether a point lies inside all faces by more than rounding can hide."""
    for face in range(2 * k + m):
        noise = side_noise[face] if face < 2 * k else ratio * rows[k + 1, face - 2 * k]
        if not face_value(face, u, k, lower, upper, rows) > noise:
            return False
    return True


@kernel
def leaf_point(m, k, lower, upper, side_noise, rows, ratio, E, v, p, witness, info, out):
    """Write the first of a few candidates that is proven interior; False if none is."""
    known = min(info[0], witness.shape[0])
    for j in range(k):
        out[j] = 0.0
    for t in range(known):
        for j in range(k):
            out[j] += witness[t, j]
    for j in range(k):
        out[j] = 0.5 * (p[j] + out[j] / known) if known > 0 else p[j]
    if is_interior(out, m, k, lower, upper, side_noise, rows, ratio):
        return True
    # The centre of the simplex between the vertex and the far ends of its edges.
    for j in range(k):
        out[j] = v[j]
    for q in range(k):
        limit = np.inf
        for face in range(2 * k + m):
            rate = face_rate(face, E[q], k, rows)
            if rate < -1e-13:
                gap = max(face_value(face, v, k, lower, upper, rows), 0.0)
                limit = min(limit, gap / -rate)
        if limit < np.inf:
            for j in range(k):
                out[j] += limit * E[q, j] / (k + 1)
    for j in range(k):
        out[j] = 0.5 * (p[j] + out[j])
    if is_interior(out, m, k, lower, upper, side_noise, rows, ratio):
        return True
    for j in range(k):
        out[j] = p[j]
    return is_interior(out, m, k, lower, upper, side_noise, rows, ratio)


@kernel
def leaf_point_by_walking(m, k, lower, upper, side_noise, size, rows, ratio, basis, E, v, p,
                          witness, info, f, y, rates, gaps, matrix, counters, out):
    """Walk away from every face that the interior point is not clear of, and take the mean.

    For where `leaf_point` fails: the point has crept towards the boundary.
    """
    for j in range(k):
        out[j] = p[j]
    count = 1
    for face in range(2 * k + m):
        noise = side_noise[face] if face < 2 * k else ratio * rows[k + 1, face - 2 * k]
        if face_value(face, p, k, lower, upper, rows) > noise:
            continue
        face_normal(face, k, rows, f)
        if face < 2 * k:
            f[k] = -lower[face] if face < k else upper[face - k]
        else:
            f[k] = rows[k, face - 2 * k]
        total = abs(f[k])
        for j in range(k + 1):
            f[j] = -f[j]
            if j < k:
                total += abs(f[j]) * size[j]
        f[k + 1] = noise + GAMMA * total
        f[k + 2] = total
        outcome = walk(PROBE, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info,
                       f, y, rates, gaps, matrix, counters)
        if outcome not in (OPTIMAL, CROSSED):
            continue
        count += 1
        last = (info[0] - 1) % witness.shape[0]
        is_ahead = outcome == CROSSED and info[0] > 0 and value_at(f, v, k) >= 0.0
        for j in range(k):
            out[j] += witness[last, j] if is_ahead else v[j]
    for j in range(k):
        out[j] /= count
    return is_interior(out, m, k, lower, upper, side_noise, rows, ratio)
