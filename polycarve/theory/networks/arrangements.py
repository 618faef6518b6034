"""One hidden layer: arrangements in general position, and two known by their counts.

A unit cuts along ``row @ x = level``. All hold on all of R^d.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from polycarve.errors import InputError
from polycarve.theory import arrangements
from polycarve.theory.arguments import whole
from polycarve.theory.networks.known import KnownNetwork, one_layer
from polycarve.theory.networks.rows import moments, simple_rows

# Counts without a closed form, from one coordinate on; each recomputed from the characteristic
# polynomial of the arrangement.
_RESONANCE = (2, 6, 32, 370, 11292, 1066044)
_THRESHOLD = (4, 14, 104, 1882, 94572)


def simple(d: int, m: int) -> KnownNetwork:
    """Return ``m`` hyperplanes in general position: ``Z(d, m)`` regions, the most there are.

    The hyperplanes are ``(1, t, ..., t^(d-1)) @ x = t^d`` for ``m`` whole numbers ``t``.

    Parameters
    ----------
    d, m : int, at least 1

    References
    ----------
    As for `bounds.zaslavsky`.

    Examples
    --------
    >>> simple(2, 5).regions
    16
    """
    d, m = whole(d, "d", least=1), whole(m, "m", least=1)
    note = "simple arrangement: zaslavsky"
    return one_layer(*simple_rows(d, m), arrangements.zaslavsky(d, m), note)


def cyclic(d: int, m: int) -> KnownNetwork:
    """Return ``m`` hyperplanes through 0, otherwise generic: ``2 Z(d - 1, m - 1)`` regions.

    Their normals ``(1, t, ..., t^(d-1))`` lie on the moment curve, as the vertices of a cyclic
    polytope do. No network without biases has more after one layer.

    Parameters
    ----------
    d, m : int, at least 1

    References
    ----------
    As for `bounds.central_regions`.

    Examples
    --------
    >>> cyclic(3, 6).regions
    32
    """
    d, m = whole(d, "d", least=1), whole(m, "m", least=1)
    note = "generic central arrangement: central_regions"
    return one_layer(moments(d, m), [0] * m, arrangements.central_regions(d, m), note)


def parallel_families(d: int, families: int, *, members: int) -> KnownNetwork:
    """Return families of parallel hyperplanes, otherwise generic.

    Parameters
    ----------
    d, families, members : int, at least 1

    References
    ----------
    As for `bounds.parallel_families`.

    Examples
    --------
    >>> parallel_families(2, 3, members=2).regions
    19
    """
    d, families = whole(d, "d", least=1), whole(families, "families", least=1)
    members = whole(members, "members", least=1)
    rows, levels = simple_rows(d, families)
    # Levels t^d + s. Where d + 1 hyperplanes met, a divided difference of order d would vanish;
    # that of t^d is 1, and that of d + 1 shifts s, at whole numbers t, is less than 1.
    shifts = [Fraction(k, members * (d + 1)) for k in range(members)]
    return one_layer(
        [row for row in rows for _ in shifts],
        [level + shift for level in levels for shift in shifts],
        arrangements.parallel_families(d, families, members=members),
        "families of parallel hyperplanes: parallel_families",
    )


def resonance(n: int) -> KnownNetwork:
    """Return the resonance arrangement: one hyperplane through 0 for each non-empty subset.

    The sums of the coordinates over all subsets, each zero; counts are known to the package for
    ``n <= 6``.

    Parameters
    ----------
    n : int, 1 to 6

    References
    ----------
    L. Kuehne, *The universality of the resonance arrangement and its Betti numbers*, 2023. OEIS
    A034997.

    Examples
    --------
    >>> resonance(3).regions
    32
    """
    regions = _listed(n, _RESONANCE)
    rows = [list(row) for row in product((0, 1), repeat=n) if any(row)]
    return one_layer(rows, [0] * len(rows), regions, "resonance arrangement: A034997")


def threshold(n: int) -> KnownNetwork:
    """Return the arrangement whose regions are the threshold functions of ``n`` bits.

    A hyperplane through 0 for each ``v`` in ``{-1, 1}^n``, with normal ``(v, 1)``: the weights and
    threshold of a unit that reads ``n`` signs lie on one side or the other for each input.
    Counts are known to the package for ``n <= 5``.

    Parameters
    ----------
    n : int, 1 to 5
        The network reads ``n + 1`` coordinates.

    References
    ----------
    T. M. Cover, *Geometrical and statistical properties of systems of linear inequalities*, 1965.
    OEIS A000609.

    Examples
    --------
    >>> threshold(3).regions
    104
    """
    regions = _listed(n, _THRESHOLD)
    rows = [[*v, 1] for v in product((-1, 1), repeat=n)]
    return one_layer(rows, [0] * len(rows), regions, "threshold functions: A000609")


def _listed(n: int, counts: Sequence[int]) -> int:
    n = whole(n, "n", least=1)
    if n > len(counts):
        raise InputError(
            f"n is {n}; the number of regions is known to the package for n = 1 to {len(counts)}."
        )
    return counts[n - 1]
