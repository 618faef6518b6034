"""What a split leaves of the corners and the facets of a cell, on either side.

A facet of which corners are known on both sides of the cut stays one on both. For any other, a
walk along it towards the cut tells: it meets the cut, in a corner that both sides have, or ends
before it, and then the face is none beyond. The cut itself is a facet of both.
"""

from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.corners import (
    APART,
    MET,
    is_corner,
    keep,
    reach,
    shows_apart,
)
from polycarve.splitting.kernels.forms import negate, value_at
from polycarve.splitting.kernels.simplex import CLEAR

# The level from which on a face is gone, of one that is not.
NEVER = 1 << 40


@kernel
def split(level, m, ratio, k, lower, upper, side_noise, size, rows, sizes, is_side, basis, E, T, v,
          info, f, y, rates, gaps, squares, plane, matrix, corners, gone, beyond, ahead, behind,
          values_ahead, values_behind, ints):
    """Split the cell in hand by the plane of row m, and go on with its positive side.

    Faces that are none there are `gone` from this level on, those that are none behind are marked
    for `turn`. What corners do not tell is left open.
    """
    points, bases, _, _, _, _, lists, counts = corners
    own = 2 * k + m
    for face in range(own):
        ahead[face] = -1
        behind[face] = -1
        values_ahead[face] = 0.0
        values_behind[face] = 0.0
        beyond[level, face] = 0
    for j in range(k + 1):
        plane[j] = rows[j, m]
    clear = CLEAR * sizes[own]
    n = 0
    nearest = -1
    least = 0.0
    for at in range(counts[level - 1]):
        corner = lists[level - 1, at]
        value = value_at(plane, points[corner], k)
        if value > clear:
            lists[level, n] = corner
            n += 1
            for q in range(k):
                face = bases[corner, q]
                if ahead[face] < 0 or value < values_ahead[face]:
                    ahead[face] = corner
                    values_ahead[face] = value
        elif value < -clear:
            for q in range(k):
                face = bases[corner, q]
                if behind[face] < 0 or -value < values_behind[face]:
                    behind[face] = corner
                    values_behind[face] = -value
        else:
            continue
        if nearest < 0 or abs(value) < abs(least):
            nearest = corner
            least = value
    counts[level] = n
    has_met = False
    for face in range(own + 1):
        if face == own:  # the cut itself, unless a corner on it is known by now
            if has_met or nearest < 0:
                break
            held, start = -1, nearest
            sign = 1.0 if least > 0.0 else -1.0
        elif gone[face] < level or (ahead[face] >= 0) == (behind[face] >= 0) or (
                face < 2 * k and is_side[face] == 0):
            continue
        else:
            held = face
            sign = 1.0 if ahead[face] >= 0 else -1.0
            start = ahead[face] if ahead[face] >= 0 else behind[face]
        outcome = reach(start, held, sign, m, k, lower, upper, rows, plane, corners, basis, E, T,
                        v, f, y, rates, gaps, squares, matrix, info)
        if outcome == MET:
            if is_corner(m + 1, k, lower, upper, rows, sizes, basis, T, v, gaps):
                has_met = True
                for q in range(k):
                    ahead[basis[q]] = 0
                    behind[basis[q]] = 0
                keep(level, k, basis, T, v, info[1], corners, ints)
        elif outcome == APART and held >= 0 and shows_apart(
                held, rows[k + 1, m], ratio, k, lower, upper, side_noise, size, rows, sizes, basis,
                f, y, squares):
            if sign > 0.0:
                beyond[level, face] = 1
            else:
                gone[face] = level


@kernel
def turn(level, m, k, rows, sizes, plane, corners, gone, beyond):
    """Go over to the other side of the plane of row m, with the corners that this side has."""
    points, bases, edges, homes, _, _, lists, counts = corners
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
        if homes[corner] == level:  # it lies on the plane
            lists[level, n] = corner
            n += 1
            for q in range(k):
                if bases[corner, q] == own:
                    for j in range(k):
                        edges[corner, j, q] = -edges[corner, j, q]
    for j in range(k + 1):
        plane[j] = rows[j, m]
    clear = CLEAR * sizes[own]
    for at in range(counts[level - 1]):
        corner = lists[level - 1, at]
        if n < lists.shape[1] and value_at(plane, points[corner], k) > clear:
            lists[level, n] = corner
            n += 1
    counts[level] = n
