"""Lower bounds: what some ReLU network of an architecture reaches.

They speak about the best choice of weights; a given network may have fewer regions. Each has a
condition, outside which it claims nothing: it then returns None with the reason. ``n0`` is the
dimension of the domain, on any full-dimensional part of which the number is reached; the widths are
``n_1, ..., n_L``; ``Z`` is `zaslavsky`. `polycarve.theory.networks` has networks that reach some of
them. A spare neuron does no harm, so where a theorem is about special widths, the largest such
widths that fit in are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polycarve.theory.arguments import architecture
from polycarve.theory.arrangements import central_regions, zaslavsky
from polycarve.theory.bound import Bound


def pascanu_lower(n0: int, widths: Sequence[int]) -> Bound:
    """Return the lower bound of Pascanu, Montufar and Bengio.

    ``floor(n_1/n0) ... floor(n_(L-1)/n0) Z(n0, n_L)``, where all ``n_l >= n0``.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound

    References
    ----------
    R. Pascanu, G. Montufar, Y. Bengio, *On the number of response regions of deep feedforward
    networks with piecewise linear activations*, 2014, the theorem on deep models.

    Examples
    --------
    >>> pascanu_lower(2, [5, 5, 5]).value
    64
    """
    d, ns = architecture(n0, widths)
    return _too_narrow(d, ns, 1) or Bound(prod(n // d for n in ns[:-1]) * zaslavsky(d, ns[-1]))


def montufar_lower(n0: int, widths: Sequence[int]) -> Bound:
    """Return the lower bound of Montufar, Pascanu, Cho and Bengio.

    ``floor(n_1/n0)^n0 ... floor(n_(L-1)/n0)^n0 Z(n0, n_L)``, where all ``n_l >= n0``. Each layer
    but the last folds every coordinate that many times.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound

    References
    ----------
    G. Montufar, R. Pascanu, K. Cho, Y. Bengio, *On the number of linear regions of deep neural
    networks*, 2014, the theorem on rectifier networks.

    Examples
    --------
    >>> montufar_lower(2, [5, 5, 5]).value, montufar_lower(2, [5, 5, 1]).reason
    (256, 'needs widths of at least n0 = 2; layer 3 has 1')
    """
    d, ns = architecture(n0, widths)
    return _too_narrow(d, ns, 1) or Bound(prod(n // d for n in ns[:-1]) ** d * zaslavsky(d, ns[-1]))


def serra_lower(n0: int, widths: Sequence[int]) -> Bound:
    """Return the lower bound of Serra, Tjandraatmadja and Ramalingam.

    ``(floor(n_1/n0) + 1)^n0 ... (floor(n_(L-1)/n0) + 1)^n0 Z(n0, n_L)``, where all
    ``n_l >= 3 n0``: from three units on, a fold of ``p`` units can have ``p + 1`` pieces.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Theorem 6.

    Examples
    --------
    >>> serra_lower(4, [16, 16]).value
    1573125
    >>> serra_lower(2, [5, 5, 5]).reason
    'needs widths of at least 3 n0 = 6; layer 1 has 5'
    """
    d, ns = architecture(n0, widths)
    return _too_narrow(d, ns, 3) or Bound(
        prod(n // d + 1 for n in ns[:-1]) ** d * zaslavsky(d, ns[-1])
    )


def uneven_split_lower(n0: int, widths: Sequence[int]) -> Bound:
    """Return the lower bound of folds that share out each layer's units as evenly as can be.

    The product over the layers but the last of the largest ``f(p_1) ... f(p_n0)`` with
    ``p_1 + ... + p_n0 <= n_l``, times ``Z(n0, n_L)``; ``f(p) = p + 1`` for ``p >= 3`` and
    ``f(p) = p`` for 1 and 2. It needs ``n_l >= n0`` in all layers but the last, and is never below
    `montufar_lower` or `serra_lower`.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound

    Notes
    -----
    ``f(p + 1) / f(p)`` never grows with ``p`` (2, 2, 5/4, 6/5, ...), so that parts that differ by
    at most one are best.

    References
    ----------
    The constructions of `montufar_lower` (one or two units a coordinate) and `serra_lower` (three
    or more), chosen coordinate by coordinate. `theory.networks.sharp_folding` builds them.

    Examples
    --------
    >>> uneven_split_lower(2, [5, 5, 5]).value
    1024
    """
    d, ns = architecture(n0, widths)
    return _too_narrow(d, ns[:-1], 1) or Bound(
        prod(_best_split(n, d) for n in ns[:-1]) * zaslavsky(d, ns[-1])
    )


def arora_lower(n0: int, widths: Sequence[int]) -> Bound:
    """Return the lower bound of Arora, Basu, Mianjy and Mukherjee, from zonotopes.

    ``2 (C(m-1, 0) + ... + C(m-1, n0-1)) w^(L-1)`` for widths ``2m, w, ..., w`` with ``m >= 1`` and
    ``w >= 2``. Here ``m = floor(n_1/2)`` and ``w`` is the least of the later widths.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound

    References
    ----------
    R. Arora, A. Basu, P. Mianjy, A. Mukherjee, *Understanding deep neural networks with rectified
    linear units*, 2018, the theorem on zonotopes, with the factor 2 that T. Serra, C.
    Tjandraatmadja, S. Ramalingam (2018) quote it with.

    Examples
    --------
    >>> arora_lower(2, [5, 5, 5]).value, arora_lower(2, [1, 5, 5]).reason
    (100, 'needs a first layer of at least 2 units; it has 1')
    """
    d, ns = architecture(n0, widths)
    return _no_zonotope(d, ns, 2) or Bound(
        central_regions(d, ns[0] // 2) * min(ns[1:], default=1) ** (len(ns) - 1)
    )


def serra_zonotope_lower(n0: int, widths: Sequence[int]) -> Bound:
    """Return the lower bound of Serra, Tjandraatmadja and Ramalingam from zonotopes.

    ``2 (C(m-1, 0) + ... + C(m-1, n0-1)) (w + 1)^(L-1)`` for widths ``2m, w, ..., w``. Here
    ``m = floor(n_1/2)`` and ``w`` is the least of the later widths.

    It is stated for ``w >= 2``. It is claimed here for ``w >= 3``, and for ``w = 2`` with two
    layers at most: two units of one variable cannot make three pieces that rise and fall in turn,
    so that the proof's composition does not work there.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Theorem 7.

    Examples
    --------
    >>> serra_zonotope_lower(2, [5, 5, 5]).value
    144
    >>> serra_zonotope_lower(1, [2, 2, 2]).reason
    'needs later layers of at least 3 units; layer 2 has 2'
    """
    d, ns = architecture(n0, widths)
    return _no_zonotope(d, ns, 2 if len(ns) <= 2 else 3) or Bound(
        central_regions(d, ns[0] // 2) * (min(ns[1:], default=1) + 1) ** (len(ns) - 1)
    )


def _too_narrow(d: int, ns: Sequence[int], factor: int) -> Bound | None:
    """Return the reason where a layer has fewer than `factor` units a dimension."""
    if d == 0:
        return Bound(None, "needs an input dimension of at least 1; n0 is 0")
    narrow = next((k for k, n in enumerate(ns) if n < factor * d), None)
    if narrow is None:
        return None
    named = "n0" if factor == 1 else f"{factor} n0"
    return Bound(
        None,
        f"needs widths of at least {named} = {factor * d}; layer {narrow + 1} has {ns[narrow]}",
    )


def _no_zonotope(d: int, ns: Sequence[int], least: int) -> Bound | None:
    """Return the reason where a layer is too narrow for a zonotope or what follows it."""
    if d == 0:
        return Bound(None, "needs an input dimension of at least 1; n0 is 0")
    if ns[0] < 2:
        return Bound(None, f"needs a first layer of at least 2 units; it has {ns[0]}")
    narrow = next((k for k, n in enumerate(ns) if k and n < least), None)
    if narrow is None:
        return None
    return Bound(
        None, f"needs later layers of at least {least} units; layer {narrow + 1} has {ns[narrow]}"
    )


def _best_split(n: int, parts: int) -> int:
    each, more = divmod(n, parts)
    return prod([_fold(each)] * (parts - more) + [_fold(each + 1)] * more)


def _fold(p: int) -> int:
    return p + 1 if p >= 3 else p
