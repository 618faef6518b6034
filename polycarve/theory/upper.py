"""Upper bounds: what no ReLU network of an architecture exceeds, whatever its weights.

They hold on every convex domain; the first argument ``n0`` is the domain's dimension
(``carving.domain.rank``), the second the widths ``n_1, ..., n_L`` of the hidden layers, each of
which reads the one before: where a layer reads others too (skip connections), only `trivial` and
`naive` hold. All are exact integers. ``Z(d, m)`` is `zaslavsky`: the most regions of ``m``
hyperplanes in dimension ``d``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod

from polycarve.errors import InputError
from polycarve.theory.arguments import architecture, per_layer
from polycarve.theory.arrangements import zaslavsky
from polycarve.theory.counting import binomials, carried

# A power of two beyond this takes more than a gigabyte.
_MOST_BITS = 1 << 33


def trivial(n0: int, widths: Sequence[int]) -> int:
    """Return ``2^N`` for ``N`` neurons: the number of patterns there are.

    Parameters
    ----------
    n0 : int
        Dimension of the domain; it makes no difference here.
    widths : sequence of int

    Returns
    -------
    int

    References
    ----------
    G. Montufar, R. Pascanu, K. Cho, Y. Bengio, *On the number of linear regions of deep neural
    networks*, 2014.

    Examples
    --------
    >>> trivial(2, [5, 5, 5])
    32768
    """
    _, ns = architecture(n0, widths)
    if sum(ns) > _MOST_BITS:
        raise InputError("2^N for so many neurons has too many digits to be written down.")
    return 1 << sum(ns)


def naive(n0: int, widths: Sequence[int]) -> int:
    """Return ``Z(n0, n_1) ... Z(n0, n_L)``: every layer cuts as if it saw the whole input space.

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
    M. Raghu, B. Poole, J. Kleinberg, S. Ganguli, J. Sohl-Dickstein, *On the expressive power of
    deep neural networks*, 2017 (as an order of growth).

    Examples
    --------
    >>> naive(2, [1, 5, 5])
    512
    """
    d, ns = architecture(n0, widths)
    return prod(zaslavsky(d, n) for n in ns)


def naive_min_dims(n0: int, widths: Sequence[int]) -> int:
    """Return the product of ``Z(d_l, n_l)`` with ``d_l = min(n0, n_1, ..., n_(l-1))``.

    No layer sees more dimensions than the narrowest before it lets through.

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
    G. Montufar, *Notes on the number of linear regions of deep neural networks*, 2017.

    Examples
    --------
    >>> naive_min_dims(2, [1, 5, 5])
    72
    """
    d, ns = architecture(n0, widths)
    seen = accumulate((d, *ns[:-1]), min)
    return prod(zaslavsky(dim, n) for dim, n in zip(seen, ns, strict=True))


def serra(n0: int, widths: Sequence[int]) -> int:
    """Return the bound of Serra, Tjandraatmadja and Ramalingam.

    The sum of ``C(n_1, j_1) ... C(n_L, j_L)`` over all ``j`` with
    ``0 <= j_l <= min(n0, n_1 - j_1, ..., n_(l-1) - j_(l-1), n_l)``. Here ``j_l`` is the number of
    inactive units of layer ``l``: each takes a dimension from what later layers see. It is never
    above `naive_min_dims`, and below it only where a layer before the last has fewer than ``2 n0``
    units.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    int

    Notes
    -----
    Terms with the same remaining dimension are added up layer by layer, which takes ``L n0``
    operations on integers.

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Theorem 1.

    Examples
    --------
    >>> serra(2, [5, 5, 5]), serra(2, [2, 2, 2]), serra(784, [20, 20])
    (4096, 30, 618679078298)
    """
    d, ns = architecture(n0, widths)
    return carried(d, ((n, n, n) for n in ns))


def serra_recursion(n0: int, widths: Sequence[int]) -> int:
    """Return the same number as `serra`, from the last layer back to the first.

    ``R(L + 1, d) = 1`` and ``R(l, d) = sum of C(n_l, j) R(l + 1, min(d, n_l - j))`` over
    ``j <= min(d, n_l)``; the bound is ``R(1, n0)``.

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
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, the recursion in the proof of Theorem 1.

    Examples
    --------
    >>> serra_recursion(2, [1, 5, 5])
    37
    """
    d, ns = architecture(n0, widths)
    top = min(d, ns[0])
    later = [1] * (top + 1)
    for n in reversed(ns):
        row = list(binomials(n, top))
        up_to = list(accumulate(row))
        # below[k]: the sum over the dimensions under k of C(n, dim) R(l + 1, dim).
        below = [0, *accumulate(row[k] * later[k] for k in range(min(n, top) + 1))]
        now = []
        for dim in range(top + 1):
            lost = min(dim, n)
            kept = later[dim] * up_to[min(lost, n - dim)] if dim <= n else 0
            now.append(kept + below[min(dim, n + 1)] - below[min(n - lost, dim)])
        later = now
    return later[top]


def serra_with_ranks(n0: int, widths: Sequence[int], *, ranks: Sequence[int]) -> int:
    """Return the bound of `serra` for weight matrices of known ranks.

    As there, with ``j_l <= min(n0, n_1 - j_1, ..., n_(l-1) - j_(l-1), rank(W_l))``.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
    ranks : sequence of int
        Rank of each layer's weight matrix, ``(n_l, n_(l-1))``.

    Returns
    -------
    int

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, the remark on ranks after Theorem 1 (by their Lemma 2).

    Examples
    --------
    >>> serra_with_ranks(2, [5, 5], ranks=[2, 2]), serra_with_ranks(2, [5, 5], ranks=[2, 1])
    (256, 96)
    """
    d, ns = architecture(n0, widths)
    # The first matrix has a column for each input of the network, of which n0 says nothing.
    most = (ns[0], *(min(pair) for pair in pairwise(ns)))
    least = per_layer(ranks, "ranks", most, "the matrix's smaller side")
    return carried(d, ((n, n, rank) for n, rank in zip(ns, least, strict=True)))


def serra_with_stable(
    n0: int, widths: Sequence[int], *, active: Sequence[int], inactive: Sequence[int]
) -> int:
    """Return the bound of `serra` for a network some of whose neurons are stable on the domain.

    A stable neuron is active on the whole domain or inactive on the whole domain: it cuts
    nothing. With ``s_l`` active ones and ``u_l`` unstable ones, ``C(u_l, j)`` regions keep
    ``min(d, s_l + u_l - j)`` dimensions, for ``j <= min(d, u_l)``.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
    active, inactive : sequence of int
        How many neurons of each layer are known to be always active, always inactive. Knowing
        fewer than there are is safe.

    Returns
    -------
    int

    References
    ----------
    The proof of T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions
    of deep neural networks*, 2018, Theorem 1, with the stable neurons taken out; compare T. Serra,
    S. Ramalingam, *Empirical bounds on linear regions of deep rectifier networks*, 2020.

    Examples
    --------
    >>> serra_with_stable(2, [5, 5], active=[0, 0], inactive=[0, 0])
    256
    >>> serra_with_stable(2, [5, 5], active=[2, 0], inactive=[2, 1])
    22
    """
    d, ns = architecture(n0, widths)
    on = per_layer(active, "active", ns, "the layer's width")
    off = per_layer(inactive, "inactive", ns, "the layer's width")
    for k, (n, s, z) in enumerate(zip(ns, on, off, strict=True)):
        if s + z > n:
            raise InputError(
                f"layer {k + 1} has {n} neurons; {s} always active and {z} always inactive ones "
                f"are more than that."
            )
    return carried(d, ((n - z, n - s - z, n) for n, s, z in zip(ns, on, off, strict=True)))
