"""What is said of the number of regions in orders of growth, as numbers and with conditions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, log2, prod

from polycarve.theory.arguments import architecture
from polycarve.theory.bound import Bound

# A number of more binary digits is told of, not written down.
MOST_BITS = 1 << 22


def order_of_growth(n0: int, widths: Sequence[int]) -> Bound:
    """Return ``n_1^n0 ... n_L^n0``, which is ``k^(dL)`` for ``L`` layers of ``k`` in dimension d.

    This is what the order of growth ``O(k^(dL))`` says without its constant. It is an upper bound
    where ``n^n0 >= Z(n0, n)`` in every layer, which is so exactly where ``n0 >= 2`` and all widths
    are at least 2 (or ``n0`` is 0); elsewhere nothing is claimed.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int

    Returns
    -------
    Bound
        An upper bound, or None with the reason.

    References
    ----------
    The text *Appendix: Expressivity and Depth*, section *Effect of network depth*; the order of
    growth also in M. Raghu, B. Poole, J. Kleinberg, S. Ganguli, J. Sohl-Dickstein, *On the
    expressive power of deep neural networks*, 2017.

    Examples
    --------
    >>> order_of_growth(2, [5, 5, 5]).value
    15625
    >>> order_of_growth(1, [5, 5, 5]).reason
    'k^d is below Z(d, k) in dimension 1'
    """
    d, ns = architecture(n0, widths)
    if d == 1:
        return Bound(None, "k^d is below Z(d, k) in dimension 1")
    if d and min(ns) < 2:
        return Bound(None, f"k^d is below Z(d, k) for k = 1, as in layer {ns.index(1) + 1}")
    if d * sum(map(log2, ns)) > MOST_BITS:
        return Bound(None, "k^(dL) has too many digits to be written down")
    return Bound(prod(ns) ** d)


def rule_of_thumb(n0: int, widths: Sequence[int]) -> Bound:
    """Return ``N^d / d!``: the leading term of ``Z(d, N)`` for ``N`` neurons, and no bound.

    A rule of thumb for the number of regions of an untrained network of any depth. It is not an
    expected number: the theorem behind it bounds the expected number in a cube by
    ``(T N)^d / d!`` times the volume, with a constant ``T`` of the distribution of the weights,
    and only for biases that are spread out. For ``N`` not much larger than ``d`` it is far off,
    and can exceed every upper bound. For ``N < d`` it says nothing.

    Parameters
    ----------
    n0 : int
        Dimension ``d`` of the domain.
    widths : sequence of int

    Returns
    -------
    Bound
        Its value is a `Fraction`.

    References
    ----------
    B. Hanin, D. Rolnick, *Deep ReLU networks have surprisingly few activation patterns*, 2019.

    Examples
    --------
    >>> rule_of_thumb(2, [5, 5, 5]).value
    Fraction(225, 2)
    """
    d, ns = architecture(n0, widths)
    neurons = sum(ns)
    if neurons < d:
        return Bound(None, f"says nothing for fewer neurons than dimensions, {neurons} < {d}")
    return Bound(Fraction(neurons**d, factorial(d)))
