"""The affine forms of a layer's cuts on a cell, and what known points say of them."""

import math

from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import ACTIVE, GAMMA, TINY
from polycarve.splitting.kernels.compilation import kernel


@kernel
def push_forms(layer, k, size, starts, layer_of, weights, weight_starts, sources, source_starts,
               bias, marks, values, errors, sizes):
    """Compute the forms of a layer on a cell, in an order fixed by the pattern alone."""
    first = starts[layer]
    n = starts[layer + 1] - first
    base = first * (k + 1)
    for at in range(base, base + k * n):
        values[at] = 0.0
    for i in range(n):
        values[base + k * n + i] = bias[first + i]
        errors[first + i] = GAMMA * abs(bias[first + i]) if layer > 0 else 0.0
    w = weight_starts[layer]
    for s in range(source_starts[layer], source_starts[layer + 1]):
        source = sources[s]
        if source < k:
            row = base + source * n
            for i in range(n):
                values[u(row + i)] += weights[u(w + i)]
            if layer > 0:
                for i in range(n):
                    errors[u(first + i)] += GAMMA * abs(weights[u(w + i)]) * size[source]
        elif marks[source - k] == ACTIVE:
            cut = source - k
            other = layer_of[cut]
            width = starts[other + 1] - starts[other]
            column = starts[other] * (k + 1) + cut - starts[other]
            for j in range(k + 1):
                a = values[column + j * width]
                if a != 0.0:
                    row = base + j * n
                    for i in range(n):
                        values[u(row + i)] += a * weights[u(w + i)]
            carried = errors[cut] + GAMMA * sizes[cut]
            for i in range(n):
                if weights[u(w + i)] != 0.0:
                    errors[u(first + i)] += abs(weights[u(w + i)]) * carried + TINY
        w += n
    for i in range(n):
        sizes[first + i] = abs(values[base + k * n + i])
    for j in range(k):
        row = base + j * n
        for i in range(n):
            sizes[u(first + i)] += abs(values[u(row + i)]) * size[j]


@kernel
def take_form(cut, sign, k, starts, layer_of, values, errors, sizes, out):
    """Copy ``sign * form`` of a cut, scaled by a power of two, with its rounding error behind.

    Returns its size: how large its values may be in the box.
    """
    layer = layer_of[cut]
    first = starts[layer]
    n = starts[layer + 1] - first
    column = first * (k + 1) + cut - first
    largest = 0.0
    for j in range(k + 1):
        out[j] = sign * values[column + j * n]
        if j < k:
            largest = max(largest, abs(out[j]))
    scale = 1.0
    if largest > 0.0:
        _, exponent = math.frexp(largest)
        scale = math.ldexp(1.0, 1 - exponent)
    for j in range(k + 1):
        out[j] *= scale
    out[k + 1] = (errors[cut] + GAMMA * sizes[cut]) * scale
    return sizes[cut] * scale


@kernel
def signs_hold(u, k, ratio, starts, marks, values, errors, sizes):
    """Whether every cut has at a point the sign that it is marked with, beyond rounding."""
    for layer in range(len(starts) - 1):
        n = starts[layer + 1] - starts[layer]
        for i in range(n):
            cut = starts[layer] + i
            if sizes[cut] == 0.0 and errors[cut] == 0.0:
                continue  # no form at all, and marked so
            column = starts[layer] * (k + 1) + i
            value = values[column + k * n]
            for j in range(k):
                value += values[column + j * n] * u[j]
            if marks[cut] != ACTIVE:
                value = -value
            if not value > ratio * (errors[cut] + GAMMA * sizes[cut]):
                return False
    return True


@kernel
def negate(f, k):
    for j in range(k + 1):
        f[j] = -f[j]


@kernel
def value_at(f, u, k):
    value = f[k]
    for j in range(k):
        value += f[j] * u[j]
    return value


@kernel
def evidence(f, k, clear, p, witness, info):
    """Return the signs (bit 1 positive, bit 2 negative) that known points of the cell show."""
    seen = 0
    for t in range(-1, min(info[0], witness.shape[0])):
        if t == -1:
            value = value_at(f, p, k)
        elif witness[t, k] == 1.0:
            value = value_at(f, witness[t], k)
        else:
            continue
        if value > clear:
            seen |= 1
        elif value < -clear:
            seen |= 2
        if seen == 3:
            break
    return seen


@kernel
def spread(layer, u, k, starts, table, values, least, most):
    """Widen the known range of every form of a layer by its value at a point."""
    first = starts[layer]
    n = starts[layer + 1] - first
    base = first * (k + 1)
    for i in range(n):
        values[i] = table[base + k * n + i]
    for j in range(k):
        row = base + j * n
        at = u[j]
        for i in range(n):
            values[i] += table[row + i] * at
    for i in range(n):
        least[i] = min(least[i], values[i])
        most[i] = max(most[i], values[i])
