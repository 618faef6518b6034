"""The integer networks of a linear congruential generator, with their counts on a box."""

from __future__ import annotations

from itertools import pairwise

from polycarve import Box, Network

# Seed: widths, half the side of the box, regions there.
LCG = {
    1: ((2, 5, 5, 5), 2, 41),
    2: ((2, 5, 5, 5), 2, 51),
    3: ((2, 2, 2, 2), 2, 4),
    4: ((2, 8, 8), 2, 61),
    5: ((2, 16, 16), 2, 327),
    6: ((2, 1, 5, 5), 2, 9),
    7: ((2, 10), 2, 46),
    8: ((2, 6, 6, 6, 6), 2, 103),
    9: ((2, 12, 12, 12), 2, 411),
    11: ((3, 6, 6), 1, 98),
    12: ((3, 4, 4, 4), 1, 122),
    13: ((4, 6, 5), 1, 194),
    14: ((5, 7), 1, 104),
    15: ((1, 5, 5, 5), 1, 10),
    16: ((3, 8, 8), 1, 201),
}


def lcg(seed: int) -> tuple[Network, Box, int]:
    widths, half, regions = LCG[seed]
    state = seed

    def number() -> int:
        nonlocal state
        state = (1103515245 * state + 12345) % 2**31
        return (state >> 16) % 19 - 9

    weights, biases = [], []
    for n, m in pairwise(widths):
        weights.append([[number() for _ in range(n)] for _ in range(m)])
        biases.append([number() for _ in range(m)])
    network = Network.from_arrays(weights, biases, relu_last=True)
    return network, Box.cube(-half, half, dim=widths[0]), regions
