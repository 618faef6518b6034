"""The matrix form of Hinz and van de Geer, into which any histogram bound can be plugged.

A histogram ``gamma(n, m)`` says of ``m`` units on a region whose image has dimension ``n`` how
many regions with ``i`` active units they make at most, for ``i = 0, ..., m``; at most in the sense
that no arrangement has a larger sum over ``i >= k``, for any ``k``. Letters: ``n`` a dimension,
``m`` the units of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from polycarve.errors import InputError
from polycarve.theory.arguments import architecture, listed, whole
from polycarve.theory.arrangements import zaslavsky
from polycarve.theory.counting import binomials

Histogram = Callable[[int, int], Sequence[int]]


def trivial_histogram(n: int, m: int) -> list[int]:
    """Return ``2^m`` regions with all units active: plugged in, it gives `trivial`."""
    return [*[0] * m, 1 << m]


def zaslavsky_histogram(n: int, m: int) -> list[int]:
    """Return ``Z(n, m)`` regions with all units active: plugged in, it gives `naive_min_dims`."""
    return [*[0] * m, zaslavsky(n, m)]


def serra_histogram(n: int, m: int) -> list[int]:
    """Return ``C(m, j)`` regions with ``j <= n`` inactive units: plugged in, it gives `serra`."""
    row = list(binomials(m, n))
    return [*[0] * (m + 1 - len(row)), *reversed(row)]


_PROVEN = (trivial_histogram, zaslavsky_histogram, serra_histogram)


def hinz_van_de_geer(
    n0: int, widths: Sequence[int], *, histogram: Histogram = serra_histogram
) -> int:
    """Return the bound that a histogram gives in the matrix form of Hinz and van de Geer.

    ``|| B(n_L) M(n_(L-1), n_L) ... B(n_1) M(n_0, n_1) e_(n0 + 1) ||_1``: the vector says how many
    regions have images of which dimension; ``M(n, m)`` counts dimensions above ``m`` as ``m``, and
    column ``n`` of ``B(m)`` is ``histogram(n, m)`` with what is above ``n`` counted as ``n``.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
    histogram : callable
        ``histogram(n, m)`` returns ``m + 1`` whole numbers for ``0 <= n <= m``. The bound is
        one only if the histogram is one (see the module); that is for the caller to have proven.

    Returns
    -------
    int

    Raises
    ------
    InputError
        The histogram cannot be a bound: it has fewer than ``Z(n, m)`` regions in all, or a
        larger ``n`` gives less.

    References
    ----------
    P. Hinz, S. van de Geer, *A framework for the construction of upper bounds on the number of
    affine linear regions of ReLU feed-forward neural networks*, 2019, the main theorem.

    Examples
    --------
    >>> hinz_van_de_geer(2, [2, 2, 2])
    30
    >>> hinz_van_de_geer(2, [2, 2, 2], histogram=zaslavsky_histogram)
    64
    """
    d, ns = architecture(n0, widths)
    counts = [*[0] * d, 1]
    for m in ns:
        counts = _clipped(counts, m)
        after = [0] * len(counts)
        columns = _columns(histogram, len(counts) - 1, m)
        for n, (count, column) in enumerate(zip(counts, columns, strict=True)):
            if count:
                for i, regions in enumerate(_clipped(column, n)):
                    after[i] += count * regions
        counts = after
    return sum(counts)


def _clipped(counts: Sequence[int], most: int) -> list[int]:
    """Count everything above an index as being there."""
    return [*counts[:most], sum(counts[most:])]


def _columns(histogram: Histogram, top: int, m: int) -> list[list[int]]:
    if histogram in _PROVEN:
        return [list(histogram(n, m)) for n in range(top + 1)]
    columns: list[list[int]] = []
    before = [0] * (m + 1)
    for n in range(top + 1):
        what = f"histogram({n}, {m})"
        given = listed(histogram(n, m), what)
        column = [whole(value, f"{what}[{i}]") for i, value in enumerate(given)]
        if len(column) != m + 1:
            raise InputError(
                f"{what} has {len(column)} entries; it needs {m + 1}, for 0 to {m} active units."
            )
        if sum(column) < zaslavsky(n, m):
            raise InputError(
                f"{what} has {sum(column)} regions in all, fewer than the {zaslavsky(n, m)} that "
                f"{m} hyperplanes in dimension {n} can make: it bounds nothing."
            )
        tails = list(accumulate(reversed(column)))
        if any(now < then for now, then in zip(tails, before, strict=True)):
            raise InputError(
                f"{what} allows less than histogram({n - 1}, {m}); more dimensions must allow "
                f"at least as much."
            )
        before = tails
        columns.append(column)
    return columns
