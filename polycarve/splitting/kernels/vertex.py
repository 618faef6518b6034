"""A vertex of a cell: its basis of faces, its edges, and how to get and keep them.

A cell is ``{u : g_r(u) >= 0}`` for faces ``r``: ids ``0..k-1`` are the lower sides of the box,
``k..2k-1`` the upper ones, ``2k + r`` is row r, an affine form ``[a, c]`` whose largest ``|a_j|``
lies in [1, 2), followed by what rounding may have done to its values. A vertex ``v`` has a basis
of ``k`` faces that vanish there; ``E[q]`` is the edge along which the face ``basis[q]`` grows at
rate one while the others stay zero.
"""

import math

import numpy as np

from polycarve.splitting.kernels.compilation import kernel


@kernel
def face_value(face, u, k, lower, upper, rows):
    """Return ``g_face(u)``."""
    if face < k:
        return u[face] - lower[face]
    if face < 2 * k:
        return upper[face - k] - u[face - k]
    value = rows[k, face - 2 * k]
    for j in range(k):
        value += rows[j, face - 2 * k] * u[j]
    return value


@kernel
def face_rate(face, direction, k, rows):
    """Return how fast ``g_face`` grows along a direction."""
    if face < k:
        return direction[face]
    if face < 2 * k:
        return -direction[face - k]
    rate = 0.0
    for j in range(k):
        rate += rows[j, face - 2 * k] * direction[j]
    return rate


@kernel
def face_normal(face, k, rows, out):
    """Write the gradient of ``g_face``."""
    for j in range(k):
        out[j] = rows[j, face - 2 * k] if face >= 2 * k else 0.0
    if face < k:
        out[face] = 1.0
    elif face < 2 * k:
        out[face - k] = -1.0


@kernel
def exchange(q, face, normal, k, basis, E, slopes):
    """Let a face take the place of ``basis[q]``; the vertex must lie on it already."""
    for other in range(k):
        slope = 0.0
        for j in range(k):
            slope += normal[j] * E[other, j]
        slopes[other] = slope
    pivot = slopes[q]
    for j in range(k):
        E[q, j] /= pivot
    for other in range(k):
        if other != q and slopes[other] != 0.0:
            for j in range(k):
                E[other, j] -= slopes[other] * E[q, j]
    basis[q] = face


@kernel
def refresh(k, lower, upper, rows, basis, E, v, info, matrix):
    """Compute the edges and the vertex anew from the basis; False if it is singular."""
    info[1] = 0
    for q in range(k):
        face_normal(basis[q], k, rows, matrix[q])
        for j in range(k):
            matrix[q, k + j] = 1.0 if j == q else 0.0
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
def settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, ray):
    """Find a vertex from the interior point, by rays that meet new faces as squarely as may be."""
    for j in range(k):
        v[j] = p[j]
    for found in range(k):
        # matrix holds orthonormal normals of the faces found; every ray runs along all of them.
        best_rate = 0.0
        best_face = -1
        best_step = 0.0
        for axis in range(2 * k):
            for j in range(k):
                ray[j] = 0.0
            ray[axis % k] = 1.0 if axis < k else -1.0
            length = orthogonal_part(k, found, matrix, ray)
            if length < 1e-3:
                continue
            for j in range(k):
                ray[j] /= length
            limit = np.inf
            met = -1
            meeting = 0.0
            for face in range(2 * k + m):
                rate = face_rate(face, ray, k, rows)
                if rate < -1e-9:
                    reach = max(face_value(face, v, k, lower, upper, rows), 0.0) / -rate
                    if reach < limit:
                        limit = reach
                        met = face
                        meeting = -rate
            if met >= 0 and meeting > best_rate:
                best_rate = meeting
                best_face = met
                best_step = limit
                for j in range(k):
                    E[0, j] = ray[j]
        if best_face < 0:
            return False
        basis[found] = best_face
        for j in range(k):
            v[j] += best_step * E[0, j]
        face_normal(best_face, k, rows, matrix[found])
        length = orthogonal_part(k, found, matrix, matrix[found])
        if length == 0.0:
            return False
        for j in range(k):
            matrix[found, j] /= length
    return refresh(k, lower, upper, rows, basis, E, v, info, matrix)


@kernel
def quick_settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, gaps):
    """Find a vertex from the interior point with two rays a face; False if it is not a good one."""
    for j in range(k):
        v[j] = p[j]
    for found in range(k):
        best_axis = 0
        longest = -1.0
        for axis in range(k):  # the axis that is least along the normals found
            square = 1.0
            for i in range(found):
                square -= matrix[i, axis] * matrix[i, axis]
            if square > longest:
                longest = square
                best_axis = axis
        ray = E[found]
        for j in range(k):
            ray[j] = 1.0 if j == best_axis else 0.0
        length = orthogonal_part(k, found, matrix, ray)
        if not length > 0.0:
            return False
        for j in range(k):
            ray[j] /= length
            gaps[j] = max(v[j] - lower[j], 0.0)
            gaps[k + j] = max(upper[j] - v[j], 0.0)
        for r in range(m):
            gaps[2 * k + r] = rows[k, r]
        for j in range(k):
            at = v[j]
            for r in range(m):
                gaps[2 * k + r] += rows[j, r] * at
        best_face = -1
        best_rate = 0.0
        best_step = 0.0
        for direction in range(2):
            sign = 1.0 - 2.0 * direction
            limit = np.inf
            met = -1
            meeting = 0.0
            for face in range(2 * k + m):
                rate = sign * face_rate(face, ray, k, rows)
                if rate < -1e-9 and max(gaps[face], 0.0) / -rate < limit:
                    limit = max(gaps[face], 0.0) / -rate
                    met = face
                    meeting = -rate
            if met >= 0 and meeting > best_rate:
                best_face, best_rate, best_step = met, meeting, sign * limit
        if best_face < 0:
            return False
        basis[found] = best_face
        for j in range(k):
            v[j] += best_step * ray[j]
        face_normal(best_face, k, rows, matrix[found])
        length = orthogonal_part(k, found, matrix, matrix[found])
        if not length > 1e-6:
            return False
        for j in range(k):
            matrix[found, j] /= length
    if not refresh(k, lower, upper, rows, basis, E, v, info, matrix):
        return False
    for q in range(k):
        for j in range(k):
            if not abs(E[q, j]) < 1e3:
                return False
    return True


@kernel
def orthogonal_part(k, found, matrix, vector):
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
def remember(k, u, is_sharp, witness, info):
    """Keep a point of the closed cell; the oldest makes room. Return its place.

    All of them help to find interior points; only sharp ones may show a sign.
    """
    slot = info[0] % witness.shape[0]
    for j in range(k):
        witness[slot, j] = u[j]
    witness[slot, k] = 1.0 if is_sharp else 0.0
    info[0] += 1
    if info[3] == slot:
        info[3] = -1
    return slot
