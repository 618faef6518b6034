"""Upper bounds for units that are not ReLUs: with any number of linear pieces, and maxout.

For these, regions are counted by which piece each unit is on. As in `polycarve.theory.upper`,
``n0`` is the dimension of the domain, and the widths are those of the hidden layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from polycarve.theory.arguments import architecture, listed, whole
from polycarve.theory.counting import weighted_sum


def piecewise_linear(n0: int, widths: Sequence[int], *, pieces: int) -> int:
    """Return a bound for units whose scalar activation has ``K`` linear pieces.

    The product over the layers of the sum of ``C(n_l, j) (K - 1)^j`` over ``j <= d_l``, with
    ``d_l = min(n0, n_1, ..., n_(l-1))``: a unit cuts along ``K - 1`` parallel hyperplanes. For one
    layer it is the maximum. It holds for every activation with ``K`` pieces; where some are flat,
    as in a ReLU, images lose dimensions there and less is reached.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
    pieces : int
        ``K``, at least 1.

    Returns
    -------
    int

    References
    ----------
    One layer: see `parallel_families`. Several: the product argument of G. Montufar, *Notes on the
    number of linear regions of deep neural networks*, 2017; compare Q. Hu, H. Zhang, *Nearly-tight
    bounds on linear regions of piecewise linear neural networks*, 2018.

    Examples
    --------
    >>> piecewise_linear(2, [3], pieces=3), piecewise_linear(2, [3, 3], pieces=3)
    (19, 361)
    """
    d, ns = architecture(n0, widths)
    return _product(d, ns, whole(pieces, "pieces", least=1) - 1)


def leaky(n0: int, widths: Sequence[int]) -> int:
    """Return the bound for leaky ReLUs: two pieces, of which none is flat.

    The product of ``Z(d_l, n_l)`` with ``d_l = min(n0, n_1, ..., n_(l-1))``. No unit takes a
    dimension away from later layers, so that nothing like `serra` holds.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    int

    References
    ----------
    As for `piecewise_linear`, with two pieces.

    Examples
    --------
    >>> leaky(2, [2, 2, 2])
    64
    """
    return piecewise_linear(n0, widths, pieces=2)


def maxout(n0: int, widths: Sequence[int], *, rank: int) -> int:
    """Return a bound for maxout units, each the largest of ``rank`` affine functions.

    The product over the layers of the sum of ``C(n_l, j) (rank - 1)^j`` over ``j <= d_l``, with
    ``d_l = min(n0, n_1, ..., n_(l-1))``.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
    rank : int
        At least 1.

    Returns
    -------
    int

    References
    ----------
    G. Montufar, Y. Ren, L. Zhang, *Sharp bounds for the number of regions of maxout networks and
    vertices of Minkowski sums*, 2022, the bound for one layer, multiplied over layers.

    Examples
    --------
    >>> maxout(2, [3], rank=3), maxout_serra(2, [3], rank=3)
    (19, 46)
    """
    d, ns = architecture(n0, widths)
    return _product(d, ns, whole(rank, "rank", least=1) - 1)


def maxout_layer(n0: int, ranks: Sequence[int]) -> int:
    """Return the most regions of one layer of maxout units of given ranks.

    The sum over all sets ``S`` of at most ``n0`` units of the product of ``rank_i - 1`` over the
    units of ``S``.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    ranks : sequence of int
        How many affine functions each unit takes the largest of; at least 1.

    Returns
    -------
    int

    References
    ----------
    G. Montufar, Y. Ren, L. Zhang, *Sharp bounds for the number of regions of maxout networks and
    vertices of Minkowski sums*, 2022, the theorem on a single layer with biases.

    Examples
    --------
    >>> maxout_layer(2, [3, 3, 3]), maxout_layer(2, [2, 3, 4])
    (19, 18)
    """
    dim = whole(n0, "n0")
    numbers = [whole(k, f"ranks[{i}]", least=1) for i, k in enumerate(listed(ranks, "ranks"))]
    sums = [1]  # by how many units a set has
    for rank in numbers:
        grown = [a + (rank - 1) * b for a, b in zip([*sums, 0], [0, *sums], strict=True)]
        sums = grown[: dim + 1]
    return sum(sums)


def maxout_serra(n0: int, widths: Sequence[int], *, rank: int) -> int:
    """Return the bound of Serra, Tjandraatmadja and Ramalingam for maxout units.

    The product of ``Z(d_l, n_l k (k - 1) / 2)`` with ``k = rank`` and
    ``d_l = min(n0, n_1, ..., n_l)``: wherever a unit changes, two of its functions are equal. It
    is never below `maxout`.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
    rank : int
        At least 1.

    Returns
    -------
    int

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, the theorem on maxout networks.

    Examples
    --------
    >>> maxout_serra(2, [5, 5], rank=2)
    256
    """
    d, ns = architecture(n0, widths)
    k = whole(rank, "rank", least=1)
    seen = accumulate(ns, min, initial=d)
    next(seen)
    pairs = k * (k - 1) // 2
    return prod(weighted_sum(n * pairs, dim, 1) for n, dim in zip(ns, seen, strict=True))


def _product(n0: int, widths: Sequence[int], members: int) -> int:
    seen = accumulate((n0, *widths[:-1]), min)
    return prod(weighted_sum(n, dim, members) for n, dim in zip(widths, seen, strict=True))
