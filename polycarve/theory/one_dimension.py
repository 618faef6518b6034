"""On a line, the maximum itself is known for most architectures."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polycarve.theory.arguments import architecture
from polycarve.theory.bound import Bound


def one_dimensional_maximum(n0: int, widths: Sequence[int]) -> Bound:
    """Return the exact maximum on a line, for the architectures for which it is known.

    - ``(n_1 + 1) ... (n_L + 1)``, where all layers but the last have 3 units or more;
    - ``3 + 2n`` for widths ``2, n``: each unit of the second layer has two zeros at most;
    - with ``s`` layers of one unit before either, ``s`` more: where such a unit is inactive,
      nothing is cut any more.

    It is an upper bound for every network of the architecture, and reached by some.

    Parameters
    ----------
    n0 : int
        Dimension of the domain; 1.
    widths : sequence of int

    Returns
    -------
    Bound

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Theorem 5 (the product, for all ``n_l >= 3``). A last layer of one or
    two units can cut each piece as often as it has units, so it needs no condition. The rest
    follows as said.

    Examples
    --------
    >>> one_dimensional_maximum(1, [4, 4, 4]).value, one_dimensional_maximum(1, [2, 3]).value
    (125, 9)
    >>> one_dimensional_maximum(1, [1, 1, 1]).value
    4
    >>> one_dimensional_maximum(1, [2, 2, 2]).reason
    'not known: layer 1 has 2 units, and 3 are needed in all layers but the last'
    """
    d, ns = architecture(n0, widths)
    if d != 1:
        return Bound(None, f"needs one input dimension; n0 is {d}")
    first = next((k for k, n in enumerate(ns) if n > 1), len(ns))
    rest = ns[first:]
    if len(rest) == 2 and rest[0] == 2:
        return Bound(first + 3 + 2 * rest[1])
    narrow = [first + k for k, n in enumerate(rest[:-1]) if n < 3]
    if narrow:
        return Bound(
            None,
            f"not known: layer {narrow[0] + 1} has {ns[narrow[0]]} units, and 3 are needed in all "
            f"layers but the last",
        )
    return Bound(first + prod(n + 1 for n in rest))
