"""One hidden layer: reflection arrangements, and deformations of the braid arrangement.

A unit cuts along ``row @ x = level``. Arrangements of differences ``x_i - x_j`` do not change when
all coordinates are shifted; they are given with ``x_n = 0``, in ``n - 1`` dimensions. All hold on
all of R^d.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb, factorial

from polycarve.theory.arguments import whole
from polycarve.theory.networks.known import KnownNetwork, one_layer


def braid(n: int) -> KnownNetwork:
    """Return the braid arrangement ``x_i = x_j``: ``n!`` regions, one for each order.

    Parameters
    ----------
    n : int, at least 2
        The network reads ``n - 1`` coordinates.

    References
    ----------
    R. P. Stanley, *An introduction to hyperplane arrangements*, 2007.

    Examples
    --------
    >>> braid(4).regions, braid(4).input_dim
    (24, 3)
    """
    n = whole(n, "n", least=2)
    return _differences(n, (0,), factorial(n), "braid arrangement: n!")


def type_b(n: int) -> KnownNetwork:
    """Return the reflection arrangement of type B, ``x_i = 0`` and ``x_i = +-x_j``.

    It has ``2^n n!`` regions, as many as the group has elements.

    Parameters
    ----------
    n : int, at least 1

    References
    ----------
    J. E. Humphreys, *Reflection groups and Coxeter groups*, 1990 (the order of the group).

    Examples
    --------
    >>> type_b(3).regions
    48
    """
    n = whole(n, "n", least=1)
    rows = [[int(k == i) for k in range(n)] for i in range(n)] + _sums_and_differences(n)
    return one_layer(rows, [0] * len(rows), 2**n * factorial(n), "type B: 2^n n!")


def type_d(n: int) -> KnownNetwork:
    """Return the reflection arrangement of type D, ``x_i = +-x_j``: ``2^(n-1) n!`` regions.

    Parameters
    ----------
    n : int, at least 2

    References
    ----------
    As for `type_b`.

    Examples
    --------
    >>> type_d(4).regions
    192
    """
    n = whole(n, "n", least=2)
    rows = _sums_and_differences(n)
    return one_layer(rows, [0] * len(rows), 2 ** (n - 1) * factorial(n), "type D: 2^(n-1) n!")


def shi(n: int) -> KnownNetwork:
    """Return the Shi arrangement ``x_i - x_j = 0, 1`` for ``i < j``: ``(n + 1)^(n - 1)`` regions.

    Parameters
    ----------
    n : int, at least 2
        The network reads ``n - 1`` coordinates.

    References
    ----------
    J.-Y. Shi, *The Kazhdan-Lusztig cells in certain affine Weyl groups*, 1986.

    Examples
    --------
    >>> shi(4).regions
    125
    """
    n = whole(n, "n", least=2)
    return _differences(n, (0, 1), (n + 1) ** (n - 1), "Shi arrangement: (n + 1)^(n - 1)")


def linial(n: int) -> KnownNetwork:
    """Return the Linial arrangement ``x_i - x_j = 1`` for ``i < j``.

    The number of regions is the sum of ``C(n + 1, k) k^n`` over ``k``, divided by
    ``(n + 1) 2^n``.

    Parameters
    ----------
    n : int, at least 2
        The network reads ``n - 1`` coordinates.

    References
    ----------
    A. Postnikov, R. P. Stanley, *Deformations of Coxeter hyperplane arrangements*, 2000. OEIS
    A007889.

    Examples
    --------
    >>> linial(4).regions
    36
    """
    n = whole(n, "n", least=2)
    total = sum(comb(n + 1, k) * k**n for k in range(1, n + 2))
    return _differences(n, (1,), total // ((n + 1) * 2**n), "Linial arrangement: A007889")


def catalan(n: int) -> KnownNetwork:
    """Return the Catalan arrangement ``x_i - x_j = -1, 0, 1`` for ``i < j``.

    It has ``n! C_n`` regions, ``C_n = C(2n, n) / (n + 1)`` being the Catalan number.

    Parameters
    ----------
    n : int, at least 2
        The network reads ``n - 1`` coordinates.

    References
    ----------
    R. P. Stanley, *Hyperplane arrangements, interval orders, and trees*, 1996.

    Examples
    --------
    >>> catalan(3).regions
    30
    """
    n = whole(n, "n", least=2)
    return _differences(n, (-1, 0, 1), factorial(n) * _catalan(n), "Catalan arrangement: n! C_n")


def semiorder(n: int) -> KnownNetwork:
    """Return the semiorder arrangement ``x_i - x_j = -1, 1`` for ``i < j``.

    Its regions are the semiorders on ``n`` labelled things, the sum of
    ``(-1)^(n - k) S(n, k) k! C_k`` over ``k``, with ``S`` the Stirling numbers of the second kind
    and ``C_k`` the Catalan numbers.

    Parameters
    ----------
    n : int, at least 2
        The network reads ``n - 1`` coordinates.

    References
    ----------
    R. P. Stanley, *Hyperplane arrangements, interval orders, and trees*, 1996. OEIS A006531.

    Examples
    --------
    >>> semiorder(4).regions
    183
    """
    n = whole(n, "n", least=2)
    total = sum((-1) ** (n - k) * _surjections(n, k) * _catalan(k) for k in range(1, n + 1))
    return _differences(n, (-1, 1), total, "semiorder arrangement: A006531")


def _differences(n: int, levels: Iterable[int], regions: int, note: str) -> KnownNetwork:
    """Cut along ``x_i - x_j = level`` for ``i < j``, with the last coordinate left out."""
    rows = [row[:-1] for row in _signed_pairs(n, (-1,))]
    cuts = [(row, level) for row in rows for level in levels]
    return one_layer([row for row, _ in cuts], [level for _, level in cuts], regions, note)


def _sums_and_differences(n: int) -> list[list[int]]:
    return _signed_pairs(n, (-1, 1))


def _signed_pairs(n: int, signs: Iterable[int]) -> list[list[int]]:
    return [
        [int(k == i) + sign * int(k == j) for k in range(n)]
        for i, j in combinations(range(n), 2)
        for sign in signs
    ]


def _catalan(n: int) -> int:
    return comb(2 * n, n) // (n + 1)


def _surjections(n: int, k: int) -> int:
    """``k! S(n, k)``: ways to map ``n`` things onto ``k``."""
    return sum((-1) ** i * comb(k, i) * (k - i) ** n for i in range(k + 1))
