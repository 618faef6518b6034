"""What a leaf amounts to: its pattern, and whether its point has it."""

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.arrays import ACTIVE, UNKNOWN, ZERO
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.rows import value


@kernel
def mark_twins(first, n, twins, twin_signs, fixed, marks, order, n_order):
    """Mark the multiples of other cuts, once those are decided; return how many are active now."""
    for this in range(first, first + n):
        twin = twins[this]
        if twin < 0 or fixed[this] != UNKNOWN:
            continue
        mark = ZERO if marks[twin] == ZERO else marks[twin] * twin_signs[this]
        marks[this] = mark
        if mark == ACTIVE:
            order[n_order] = this
            n_order += 1
    return n_order


@kernel
def signs_hold(k, point, ratio, starts, forms_at, sums, sizes, blur, marks):
    """Whether every cut has at a point the sign that it is marked with, beyond rounding."""
    for layer in range(len(starts) - 1):
        n = starts[layer + 1] - starts[layer]
        for i in range(n):
            this = starts[layer] + i
            if sizes[this] == 0.0 and marks[this] == ZERO:
                continue  # no form at all
            at = value(sums, forms_at[layer] + i, n, k, point)
            if marks[this] != ACTIVE:
                at = -at
            if not at > ratio * blur[this]:
                return False
    return True


@kernel
def pack(byte, leaf, eights, packed):
    """Write a pattern from a byte on; before that it is that of the last leaf.

    Eight marks at a time: of their bytes, only that of ACTIVE ends in the bits 01. The product
    moves the first one's bit to the highest place of the last byte, the second one's next to it.
    """
    for b in range(byte):
        packed[leaf, b] = packed[leaf - 1, b]
    for b in range(byte, packed.shape[1]):
        bits = eights[b] & ~(eights[b] >> u(1)) & np.uint64(0x0101010101010101)
        packed[leaf, b] = (bits * np.uint64(0x8040201008040201)) >> u(56)
