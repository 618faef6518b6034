"""Sums of binomial coefficients over whole numbers of any size.

Letters as in the papers: ``d`` a dimension, ``n`` the units of a layer, ``j`` how many of them
are inactive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate


def binomials(n: int, most: int) -> Iterator[int]:
    """Yield ``C(n, 0), ..., C(n, min(n, most))``, each from the one before."""
    binomial = 1
    yield binomial
    for j in range(min(n, most)):
        binomial = binomial * (n - j) // (j + 1)
        yield binomial


def weighted_sum(n: int, most: int, weight: int) -> int:
    """Return the sum of ``C(n, j) weight^j`` over ``j <= most``."""
    total, power = 0, 1
    for binomial in binomials(n, most):
        total += binomial * power
        power *= weight
    return total


def carried(dim: int, layers: Iterable[tuple[int, int, int]]) -> int:
    """Carry a histogram of image dimensions through layers, and return its total.

    A layer is ``(n, u, most)``: ``n`` units that can be active, of which ``u`` can also be
    inactive, on regions cut by hyperplanes whose normals span at most ``most`` dimensions. A
    region whose image has dimension ``d`` becomes ``C(u, j)`` regions of dimension
    ``min(d, n - j)`` for each ``j <= min(d, u, most)``. The work is linear in ``dim`` for each
    layer, since all ``j <= n - d`` keep ``d``, and all others end at ``n - j`` wherever they began.
    """
    counts: list[int] | None = None
    for n, u, most in layers:
        if counts is None:
            counts = [0] * min(dim, n) + [1]
        top = len(counts) - 1
        row = list(binomials(u, min(most, top)))
        up_to = list(accumulate(row))
        at_least = list(accumulate(reversed(counts)))[::-1]
        after = [0] * (top + 1)
        for d, count in enumerate(counts):
            if count and n >= d:
                after[d] += count * up_to[min(d, n - d, len(row) - 1)]
        for j, binomial in enumerate(row):
            first = max(n - j + 1, j)  # the dimensions that j inactive units lower to n - j
            if first <= top:
                after[n - j] += binomial * at_least[first]
        counts = after
    return sum(counts or [1])
