"""One layer: how many pieces hyperplanes cut R^d into.

All are closed forms for hyperplanes in general position, which is where the numbers are largest
(any ``d`` of them meet in one point and no ``d + 1`` do); the arguments are the dimension ``d`` and
the number ``m`` of hyperplanes. For every ``d`` the empty arrangement has one region, and a point
(``d = 0``) is one region.
"""

from __future__ import annotations

from math import comb

from polycarve.errors import InputError
from polycarve.theory.arguments import whole
from polycarve.theory.counting import weighted_sum


def zaslavsky(d: int, m: int) -> int:
    """Return the most regions that ``m`` hyperplanes cut R^d into.

    ``Z(d, m) = C(m, 0) + C(m, 1) + ... + C(m, min(d, m))``, which is ``2^m`` where ``m <= d``.
    It is attained exactly by simple arrangements, and so by a hidden layer of ``m`` units.

    Parameters
    ----------
    d, m : int, not negative

    Returns
    -------
    int

    References
    ----------
    L. Schlaefli, *Theorie der vielfachen Kontinuitaet* (written 1852, printed 1901). R. C. Buck,
    *Partition of space*, 1943. For any arrangement: T. Zaslavsky, *Facing up to arrangements*,
    1975, Theorem A: the number is ``|chi(-1)|``, with ``chi`` the characteristic polynomial.

    Examples
    --------
    >>> [zaslavsky(2, m) for m in range(6)]
    [1, 2, 4, 7, 11, 16]
    """
    d, m = whole(d, "d"), whole(m, "m")
    return 1 << m if m <= d else weighted_sum(m, d, 1)


def regions_by_recursion(d: int, m: int) -> int:
    """Return the same number as `zaslavsky`, by adding one hyperplane at a time.

    ``r(m, d) = r(m - 1, d) + r(m - 1, d - 1)``: the ``m``-th hyperplane is itself cut by the
    others into ``r(m - 1, d - 1)`` pieces, and each splits a region. It begins with
    ``r(0, d) = r(m, 0) = 1``. Takes ``m d`` additions.

    Parameters
    ----------
    d, m : int, not negative

    Returns
    -------
    int

    References
    ----------
    R. C. Buck, *Partition of space*, 1943.

    Examples
    --------
    >>> regions_by_recursion(2, 4), regions_by_recursion(2, 3) + regions_by_recursion(1, 3)
    (11, 11)
    """
    d, m = whole(d, "d"), whole(m, "m")
    regions = [1] * (min(d, m) + 1)  # r(0, j); beyond j = m nothing changes any more
    for _ in range(m):
        regions = [1, *(a + b for a, b in zip(regions[1:], regions, strict=False))]
    return regions[-1]


def regions_of_rank(d: int, m: int, *, rank: int) -> int:
    """Return the most regions of ``m`` hyperplanes whose normals span ``rank`` dimensions.

    ``Z(rank, m)``: along what is orthogonal to all normals, nothing changes.

    Parameters
    ----------
    d, m : int, not negative
    rank : int
        At most ``min(d, m)``.

    Returns
    -------
    int

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Lemma 2.

    Examples
    --------
    Parallel lines:

    >>> regions_of_rank(2, 5, rank=1)
    6
    """
    d, m, rank = whole(d, "d"), whole(m, "m"), whole(rank, "rank")
    if rank > min(d, m):
        raise InputError(
            f"rank is {rank}; {m} normals in dimension {d} span {min(d, m)} dimensions at most."
        )
    return zaslavsky(rank, m)


def bounded_regions(d: int, m: int) -> int:
    """Return how many regions of a simple arrangement are bounded.

    ``C(m - 1, d)``, which is 0 where ``m <= d``; a point (``d = 0``) is bounded.

    Parameters
    ----------
    d, m : int, not negative

    Returns
    -------
    int

    References
    ----------
    T. Zaslavsky, *Facing up to arrangements*, 1975, Theorem C (``|chi(1)|`` for any arrangement
    whose normals span R^d).

    Examples
    --------
    >>> bounded_regions(2, 5)
    6
    """
    d, m = whole(d, "d"), whole(m, "m")
    return 1 if d == 0 else comb(m - 1, d) if m else 0


def central_regions(d: int, m: int) -> int:
    """Return the most regions of ``m`` hyperplanes that all pass through one point.

    ``2 Z(d - 1, m - 1)`` for ``m >= 1``: what a layer without biases can reach.

    Parameters
    ----------
    d, m : int, not negative

    Returns
    -------
    int

    References
    ----------
    L. Schlaefli, as for `zaslavsky`; T. M. Cover, *Geometrical and statistical properties of
    systems of linear inequalities*, 1965, Theorem 1.

    Examples
    --------
    >>> central_regions(3, 6)
    32
    """
    d, m = whole(d, "d"), whole(m, "m")
    return 2 * zaslavsky(d - 1, m - 1) if d and m else 1


def faces(d: int, m: int, *, k: int) -> int:
    """Return how many ``k``-dimensional faces a simple arrangement has.

    ``C(m, d - k) Z(k, m - d + k)``: each ``d - k`` hyperplanes meet in a flat of dimension ``k``,
    which the others cut. ``k = d`` gives the regions, ``k = 0`` the vertices.

    Parameters
    ----------
    d, m : int, not negative
    k : int, 0 to d

    Returns
    -------
    int

    References
    ----------
    R. C. Buck, *Partition of space*, 1943; T. Zaslavsky, *Facing up to arrangements*, 1975.

    Examples
    --------
    Ten points, twenty-five edges and sixteen regions of five lines:

    >>> [faces(2, 5, k=k) for k in range(3)]
    [10, 25, 16]
    """
    d, m, k = whole(d, "d"), whole(m, "m"), whole(k, "k")
    if k > d:
        raise InputError(f"k is {k}; faces of an arrangement in dimension {d} have 0 to {d}.")
    return comb(m, d - k) * zaslavsky(k, m - d + k) if m >= d - k else 0


def facets(d: int, m: int) -> int:
    """Return how many facets a simple arrangement has: pairs of regions that share one.

    ``m Z(d - 1, m - 1)``, the edges of the graph of regions. In any arrangement it is the sum
    over its hyperplanes of the regions that the others cut them into.

    Parameters
    ----------
    d, m : int, not negative

    Returns
    -------
    int

    References
    ----------
    R. C. Buck, *Partition of space*, 1943; T. Zaslavsky, *Facing up to arrangements*, 1975.

    Examples
    --------
    >>> facets(2, 5)
    25
    """
    d, m = whole(d, "d"), whole(m, "m")
    return m * zaslavsky(d - 1, m - 1) if d and m else 0


def parallel_families(d: int, families: int, *, members: int) -> int:
    """Return the most regions of families of parallel hyperplanes, each of so many members.

    The sum of ``C(families, j) members^j`` over ``j <= d``. A unit with ``K`` linear pieces
    makes one family of ``K - 1`` members.

    Parameters
    ----------
    d, families, members : int, not negative

    Returns
    -------
    int

    References
    ----------
    Follows from T. Zaslavsky, *Facing up to arrangements*, 1975: ``chi(t)`` of such an
    arrangement is the sum of ``C(families, j) (-members)^j t^(d - j)``.

    Examples
    --------
    Three pairs of parallel lines:

    >>> parallel_families(2, 3, members=2)
    19
    """
    d, families = whole(d, "d"), whole(families, "families")
    return weighted_sum(families, d, whole(members, "members"))
