"""Which pattern lies behind a facet: what changes sign there, layer by layer.

On a facet's hyperplane a neuron keeps its state unless its form vanishes on all of it: the form
is a multiple of the facet's, zero included. Just beyond, the sign of such a form is that of the
neighbour's own affine map, which for the earliest of these neurons' layers is the region's, and for
later ones follows from what changed before. Where the carving saw that no other form comes near a
facet, only the facet's own neuron changes.
"""

import numpy as np

from polycarve.splitting.kernels.arrays import ACTIVE, GAMMA, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.forms import push_forms


@kernel
def find_patterns(problem, forms, beyond, room, regions, generic, offsets, facet_cuts, packed,
                  n_carriers, carriers):
    """Write the packed pattern behind each facet, and the cuts that lie on it.

    `regions` are the packed patterns. Region i has the facets ``offsets[i] .. offsets[i + 1] - 1``;
    negative ``facet_cuts`` are sides of the domain, and left alone. Of `generic` regions each facet
    lies on one cut alone. Returns how many carriers there are; those that have no room in
    `carriers` are only counted.
    """
    (k, _, _, _, _, size, ratio, starts, layer_of, weights, weight_starts, sources, source_starts,
     bias, _, _, _, _) = problem
    values, errors, sizes = forms
    b_values, b_errors, b_sizes = beyond
    n = starts[-1]
    n_layers = len(starts) - 1
    marks, b_marks, factor, rest, is_member = room
    total = 0
    changed = 0
    for i in range(len(regions)):
        if generic[i]:
            total = _flip(i, regions, offsets, facet_cuts, packed, n_carriers, carriers, total)
            continue
        for cut in range(n):
            is_active = regions[i, cut >> 3] & (128 >> (cut & 7)) != 0
            mark = ACTIVE if is_active else INACTIVE
            if mark != marks[cut]:
                changed = min(changed, layer_of[cut] + 1)
            marks[cut] = mark
        for layer in range(changed, n_layers):
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, sources,
                       source_starts, bias, marks, values, errors, sizes)
        changed = n_layers + 1
        for facet in range(offsets[i], offsets[i + 1]):
            cut = facet_cuts[facet]
            n_carriers[facet] = 0
            if cut < 0:
                continue
            first, last = _members(cut, k, size, ratio, starts, layer_of, values, errors, sizes,
                                   factor, rest, is_member)
            for other in range(n):
                b_marks[other] = marks[other]
                if is_member[other] and factor[other] != 0.0:
                    if total < len(carriers):
                        carriers[total] = other
                    total += 1
                    n_carriers[facet] += 1
            side = -float(marks[cut])
            for other in range(starts[first], starts[first + 1]):
                if is_member[other]:
                    b_marks[other] = ACTIVE if side * factor[other] > 0.0 else INACTIVE
            if last > first:
                _cross(first, last, cut, side, k, size, starts, layer_of, weights, weight_starts,
                       sources, source_starts, bias, values, errors, sizes, is_member, b_marks,
                       b_values, b_errors, b_sizes)
            for byte in range(packed.shape[1]):
                packed[facet, byte] = 0
            for other in range(n):
                if b_marks[other] == ACTIVE:
                    packed[facet, other >> 3] |= np.uint8(128 >> (other & 7))
    return total


@kernel
def _flip(i, regions, offsets, facet_cuts, packed, n_carriers, carriers, total):
    """Let the facet's cut alone change, at all facets of a region; return the carriers so far."""
    for facet in range(offsets[i], offsets[i + 1]):
        cut = facet_cuts[facet]
        n_carriers[facet] = 0
        if cut < 0:
            continue
        for byte in range(packed.shape[1]):
            packed[facet, byte] = regions[i, byte]
        packed[facet, cut >> 3] ^= np.uint8(128 >> (cut & 7))
        if total < len(carriers):
            carriers[total] = cut
        total += 1
        n_carriers[facet] = 1
    return total


@kernel
def find_mates(offsets, neighbors, mates):
    """Write which facet of the region behind is the same facet, seen from there; -1 if none is."""
    for i in range(len(offsets) - 1):
        for facet in range(offsets[i], offsets[i + 1]):
            mates[facet] = -1
            other = neighbors[facet]
            if other < 0:
                continue
            for behind in range(offsets[other], offsets[other + 1]):
                if neighbors[behind] == i:
                    mates[facet] = behind
                    break


@kernel
def sort_facets(offsets, sources):
    """Sort the sources of each region's facets: neurons by rising index, then sides."""
    for i in range(len(offsets) - 1):
        for at in range(offsets[i] + 1, offsets[i + 1]):
            value = sources[at]
            place = at
            while place > offsets[i]:
                before = sources[place - 1]
                # Sides are -1 - k: of two of them, the larger comes first.
                is_later = before > value if before >= 0 and value >= 0 else before < value
                if not is_later:
                    break
                sources[place] = before
                place -= 1
            sources[place] = value


@kernel
def _members(cut, k, size, ratio, starts, layer_of, values, errors, sizes, factor, rest, is_member):
    """Find the forms that vanish wherever the cut's does; return their first and last layer.

    ``factor`` says which multiple of the cut's form each of them is.
    """
    own = starts[layer_of[cut]]
    width = starts[layer_of[cut] + 1] - own
    column = own * (k + 1) + cut - own
    pivot = 0
    for j in range(k):
        if abs(values[column + j * width]) * size[j] > abs(
                values[column + pivot * width]) * size[pivot]:
            pivot = j
    steepest = values[column + pivot * width]
    noise = errors[cut] + GAMMA * sizes[cut]
    first, last = layer_of[cut], layer_of[cut]
    for layer in range(len(starts) - 1):
        at = starts[layer]
        n = starts[layer + 1] - at
        base = at * (k + 1)
        for i in range(n):
            factor[at + i] = values[base + pivot * n + i] / steepest
            rest[at + i] = 0.0
        for j in range(k + 1):
            a = values[column + j * width]
            weight = size[j] if j < k else 1.0
            for i in range(n):
                rest[at + i] += weight * abs(values[base + j * n + i] - factor[at + i] * a)
        for i in range(n):
            bound = errors[at + i] + GAMMA * sizes[at + i] + abs(factor[at + i]) * noise
            is_member[at + i] = rest[at + i] <= ratio * bound
            if is_member[at + i]:
                first = min(first, layer)
                last = max(last, layer)
                if sizes[at + i] <= 4.0 * errors[at + i] or sizes[at + i] == 0.0:
                    factor[at + i] = 0.0
    is_member[cut] = True
    factor[cut] = 1.0
    return first, last


@kernel
def _cross(first, last, cut, side, k, size, starts, layer_of, weights, weight_starts, sources,
           source_starts, bias, values, errors, sizes, is_member, b_marks, b_values, b_errors,
           b_sizes):
    """Go on to later layers with the neighbour's own forms."""
    for at in range(starts[first + 1] * (k + 1)):
        b_values[at] = values[at]
    for other in range(starts[first + 1]):
        b_errors[other] = errors[other]
        b_sizes[other] = sizes[other]
    own = starts[layer_of[cut]]
    width = starts[layer_of[cut] + 1] - own
    column = own * (k + 1) + cut - own
    for layer in range(first + 1, last + 1):
        push_forms(layer, k, size, starts, layer_of, weights, weight_starts, sources,
                   source_starts, bias, b_marks, b_values, b_errors, b_sizes)
        at = starts[layer]
        n = starts[layer + 1] - at
        for i in range(n):
            if not is_member[at + i]:
                continue
            # The form is a multiple of the facet's: the sign of their product is the factor's.
            along = 0.0
            for j in range(k):
                along += (values[column + j * width] * size[j]
                          * b_values[at * (k + 1) + j * n + i] * size[j])
            is_zero = b_sizes[at + i] <= 4.0 * b_errors[at + i] or b_sizes[at + i] == 0.0
            b_marks[at + i] = ACTIVE if not is_zero and side * along > 0.0 else INACTIVE
