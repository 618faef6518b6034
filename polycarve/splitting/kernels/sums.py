"""The forms of a layer as sums over active cuts, begun as soon as the layer before is entered.

Forms of a layer of n cuts are ``k + 2`` rows of length n: coefficients, constants, and what
rounding may have done to values in the box. They are the sum of what is known when the layer
before is entered (constants, coordinates, earlier layers), and of one term for every cut of the
layer before that turns out active, **in the order in which they do**. So cells share the sums of
their ancestors, and a cell can be rebuilt to the last bit from the list of its active cuts.
"""

from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import ACTIVE, GAMMA, TINY
from polycarve.splitting.kernels.compilation import inlined, kernel

# What a form may be known to be: without a constant; with coefficients that are not rounded.
FLAT, EXACT = 1, 2


@inlined
def begin_sums(layer, at, k, size, starts, layer_of, weights, weight_starts, first_weights, sources,
               source_starts, bias, marks, forms_at, blur, sums):
    """Write the part of a layer's forms that does not depend on the layer before."""
    first = starts[layer]
    n = starts[layer + 1] - first
    for i in range(k * n):
        sums[u(at + i)] = 0.0
    constants, errors = at + k * n, at + (k + 1) * n
    for i in range(n):
        sums[u(constants + i)] = bias[u(first + i)]
        sums[u(errors + i)] = GAMMA * abs(bias[u(first + i)]) if layer > 0 else 0.0
    w = weight_starts[layer]
    stop = source_starts[layer + 1]
    if first_weights[layer] >= 0:  # sources are in order, so those of the layer before come last
        stop = source_starts[layer] + (first_weights[layer] - w) // n
    for s in range(source_starts[layer], stop):
        cut = sources[s] - k
        if cut < 0:
            row = at + sources[s] * n
            carried = GAMMA * size[sources[s]] if layer > 0 else 0.0
            for i in range(n):
                sums[u(row + i)] += weights[u(w + i)]
                sums[u(errors + i)] += abs(weights[u(w + i)]) * carried
        elif marks[cut] == ACTIVE:
            other = layer_of[cut]
            width = starts[other + 1] - starts[other]
            form = forms_at[other] + cut - starts[other]
            for j in range(k + 1):
                a = sums[form + j * width]
                row = at + j * n
                for i in range(n):
                    sums[u(row + i)] += a * weights[u(w + i)]
            carried = blur[cut]
            for i in range(n):
                sums[u(errors + i)] += abs(weights[u(w + i)]) * carried
        w += n


@inlined
def add_active(layer, order, since, until, at, k, starts, weights, first_weights, forms_at, blur,
               sums):
    """Add the terms of active cuts of the layer before, ``order[since:until]``.

    Four at a time, but one after the other in every sum.
    """
    base = first_weights[layer]
    if base < 0:
        return  # the layer does not read the one before
    n = starts[layer + 1] - starts[layer]
    width = starts[layer] - starts[layer - 1]
    first = starts[layer - 1]
    form = forms_at[layer - 1]
    s = since
    while s + 4 <= until:
        c1, c2, c3, c4 = order[s], order[s + 1], order[s + 2], order[s + 3]
        i1, i2, i3, i4 = c1 - first, c2 - first, c3 - first, c4 - first
        w1, w2, w3, w4 = base + i1 * n, base + i2 * n, base + i3 * n, base + i4 * n
        # Two rows at a time share the weights.
        for j in range(0, k, 2):
            one, two = form + j * width, form + (j + 1) * width
            a1, a2, a3, a4 = sums[one + i1], sums[one + i2], sums[one + i3], sums[one + i4]
            b1, b2, b3, b4 = sums[two + i1], sums[two + i2], sums[two + i3], sums[two + i4]
            row, next_row = at + j * n, at + (j + 1) * n
            for i in range(n):
                x1, x2 = weights[u(w1 + i)], weights[u(w2 + i)]
                x3, x4 = weights[u(w3 + i)], weights[u(w4 + i)]
                sums[u(row + i)] = (((sums[u(row + i)] + a1 * x1) + a2 * x2) + a3 * x3) + a4 * x4
                sums[u(next_row + i)] = (((sums[u(next_row + i)] + b1 * x1) + b2 * x2)
                                         + b3 * x3) + b4 * x4
        e1, e2, e3, e4 = blur[c1], blur[c2], blur[c3], blur[c4]
        row, errors = at + k * n, at + (k + 1) * n
        if k % 2 == 0:
            one = form + k * width
            a1, a2, a3, a4 = sums[one + i1], sums[one + i2], sums[one + i3], sums[one + i4]
            for i in range(n):
                x1, x2 = weights[u(w1 + i)], weights[u(w2 + i)]
                x3, x4 = weights[u(w3 + i)], weights[u(w4 + i)]
                sums[u(row + i)] = (((sums[u(row + i)] + a1 * x1) + a2 * x2) + a3 * x3) + a4 * x4
                sums[u(errors + i)] = (((sums[u(errors + i)] + e1 * abs(x1)) + e2 * abs(x2))
                                       + e3 * abs(x3)) + e4 * abs(x4)
        else:
            for i in range(n):
                x1, x2 = abs(weights[u(w1 + i)]), abs(weights[u(w2 + i)])
                x3, x4 = abs(weights[u(w3 + i)]), abs(weights[u(w4 + i)])
                sums[u(errors + i)] = (((sums[u(errors + i)] + e1 * x1) + e2 * x2)
                                       + e3 * x3) + e4 * x4
        s += 4
    while s < until:
        i1 = order[s] - first
        w1 = base + i1 * n
        for j in range(k + 1):
            a1 = sums[form + j * width + i1]
            row = at + j * n
            for i in range(n):
                sums[u(row + i)] += a1 * weights[u(w1 + i)]
        a1 = blur[order[s]]
        row = at + (k + 1) * n
        for i in range(n):
            sums[u(row + i)] += a1 * abs(weights[u(w1 + i)])
        s += 1


@inlined
def finish_forms(layer, at, k, size, starts, source_starts, sums, sizes, blur):
    """Say how large a layer's forms get in the box, and how far rounding may take their values."""
    first = starts[layer]
    n = starts[layer + 1] - first
    constants, errors = at + k * n, at + (k + 1) * n
    lost = TINY * (1 + source_starts[layer + 1] - source_starts[layer])
    for i in range(n):
        sizes[u(first + i)] = abs(sums[u(constants + i)])
    for j in range(k):
        row = at + j * n
        for i in range(n):
            sizes[u(first + i)] += abs(sums[u(row + i)]) * size[j]
    for i in range(n):
        blur[u(first + i)] = sums[u(errors + i)] + GAMMA * sizes[u(first + i)] + lost


@kernel
def is_fed(cut, k, layer_of, starts, weights, weight_starts, sources, source_starts, marks):
    """Whether anything but zeros went into a form that is zero: it may have been lost."""
    layer = layer_of[cut]
    n = starts[layer + 1] - starts[layer]
    w = weight_starts[layer] + cut - starts[layer]
    for s in range(source_starts[layer], source_starts[layer + 1]):
        source = sources[s]
        if weights[w] != 0.0 and (source < k or marks[source - k] == ACTIVE):
            return True
        w += n
    return False


@kernel
def plain_sign(cut, k, kinds, layer_of, starts, weights, weight_starts, sources, source_starts,
               bias, marks):
    """Return the sign that a form has because all that goes into it has, or 0.

    Rectified values are positive inside the cell, and so is a coordinate whose lower side is 0.
    """
    layer = layer_of[cut]
    n = starts[layer + 1] - starts[layer]
    w = weight_starts[layer] + cut - starts[layer]
    has_positive, has_negative = bias[cut] > 0.0, bias[cut] < 0.0
    for s in range(source_starts[layer], source_starts[layer + 1]):
        source, weight = sources[s], weights[w]
        w += n
        if weight == 0.0 or (source >= k and marks[source - k] != ACTIVE):
            continue
        if source < k and not kinds[source] & FLAT:
            return 0
        has_positive = has_positive or weight > 0.0
        has_negative = has_negative or weight < 0.0
    return has_positive - has_negative


@inlined
def kind_of(flat, limit, at, n, k, sums):
    """Return what is known of a form: whether it has no constant, whether it is exact.

    Rounding errors below `limit` show that all terms and sums have few enough digits.
    """
    kind = FLAT if flat else 0
    return kind + EXACT if sums[at + (k + 1) * n] <= limit else kind
