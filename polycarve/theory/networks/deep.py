"""Deep networks that reach, or nearly reach, what theory allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

from polycarve.errors import InputError
from polycarve.theory.arguments import architecture, whole
from polycarve.theory.arrangements import central_regions, zaslavsky
from polycarve.theory.networks.folds import Fold, Stack, plain_fold, sharp_fold
from polycarve.theory.networks.known import KnownNetwork
from polycarve.theory.networks.rows import moments, simple_rows


def tent(depth: int) -> KnownNetwork:
    """Return the tent map iterated: ``2^depth`` regions of equal length on ``[0, 1]``.

    Two units a layer; the output is the iterated tent map. On the whole line there are 3 regions
    for one layer, and ``2^depth + 2`` for more.

    Parameters
    ----------
    depth : int, at least 1

    References
    ----------
    M. Telgarsky, *Benefits of depth in neural networks*, 2016.

    Examples
    --------
    >>> tent(4).network, tent(4).regions
    (Network(1 -> relu 2 -> relu 2 -> relu 2 -> relu 2 -> 1), 16)
    """
    layers = whole(depth, "depth", least=1)
    stack = Stack.on_inputs(1)
    for _ in range(layers):
        stack.fold([plain_fold(2)])
    return KnownNetwork(
        stack.network(with_output=True),
        1 << layers,
        "tent map (Telgarsky 2016): 2^depth regions on [0, 1], on the line 2 more (1 for depth 1)",
        1,
        ((0, 1),),
    )


def folding(input_dim: int, widths: Sequence[int]) -> KnownNetwork:
    """Return the network that folds the unit cube, layer by layer, before a last layer cuts it.

    Every layer but the last shares its units out among the coordinates as evenly as can be; ``p``
    units fold a coordinate into ``p`` pieces. The last layer is a simple arrangement with all
    its vertices in the cube. On ``[0, 1]^d`` the number of regions is the product of all ``p``,
    times ``Z(d, n_L)``. Where ``d``
    divides all widths but the last, that is `bounds.montufar_lower`.

    Parameters
    ----------
    input_dim : int
        ``d``, at least 1.
    widths : sequence of int
        All but the last at least ``d``.

    References
    ----------
    G. Montufar, R. Pascanu, K. Cho, Y. Bengio, *On the number of linear regions of deep neural
    networks*, 2014.

    Examples
    --------
    >>> folding(2, [4, 4, 3]).regions, folding(2, [5, 5, 5]).regions
    (112, 576)
    """
    note = (
        "folded cube (Montufar et al. 2014): montufar_lower where d divides all but the last width"
    )
    return _folded(input_dim, widths, plain_fold, note)


def sharp_folding(input_dim: int, widths: Sequence[int]) -> KnownNetwork:
    """Return the same as `folding`, with ``p + 1`` pieces wherever ``p >= 3``.

    On ``[0, 1]^d`` the number of regions is `bounds.uneven_split_lower`. That is
    `bounds.serra_lower` where the latter is claimed and ``d`` divides all widths but the last.

    Parameters
    ----------
    input_dim : int
        ``d``, at least 1.
    widths : sequence of int
        All but the last at least ``d``.

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Theorem 6, with other weights.

    Examples
    --------
    >>> sharp_folding(2, [6, 3]).regions, sharp_folding(2, [5, 5, 5]).regions
    (112, 1024)
    """
    return _folded(
        input_dim, widths, sharp_fold, "folded cube (after Serra et al. 2018): uneven_split_lower"
    )


def sharp_one_dimensional(widths: Sequence[int]) -> KnownNetwork:
    """Return a network on the line with ``(n_1 + 1) ... (n_L + 1)`` regions, the maximum.

    Parameters
    ----------
    widths : sequence of int
        All at least 3.

    References
    ----------
    T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear regions of deep
    neural networks*, 2018, Theorem 5, with other weights.

    Examples
    --------
    >>> sharp_one_dimensional([4, 4, 4]).regions
    125
    """
    _, ns = architecture(1, widths)
    stack = Stack.on_inputs(1)
    _add_sharp_tail(stack, ns, 0)
    return KnownNetwork(
        stack.network(with_output=True),
        prod(n + 1 for n in ns),
        "sharp on the line (Serra et al. 2018): one_dimensional_maximum and the bound serra",
        1,
    )


def zonotope(input_dim: int, widths: Sequence[int]) -> KnownNetwork:
    """Return the norm of a zonotope, followed by sharp layers of one variable.

    The first layer has ``2m`` units and computes ``|b_1 x| + ... + |b_m x|``, linear on each of the
    ``2 Z(d - 1, m - 1)`` cones that ``m`` generic hyperplanes through 0 make. On each cone it runs
    over all positive numbers, so a layer of ``w >= 3`` units multiplies by ``w + 1``. All regions
    have different affine maps.

    Parameters
    ----------
    input_dim : int
        ``d``, at least 1.
    widths : sequence of int
        ``2m`` (even), then any number of layers of at least 3.

    References
    ----------
    R. Arora, A. Basu, P. Mianjy, A. Mukherjee, *Understanding deep neural networks with rectified
    linear units*, 2018; T. Serra, C. Tjandraatmadja, S. Ramalingam, *Bounding and counting linear
    regions of deep neural networks*, 2018, Theorem 7 (with other weights).

    Examples
    --------
    >>> zonotope(3, [10]).regions, zonotope(2, [6, 3]).regions
    (22, 24)
    """
    dim = whole(input_dim, "input_dim", least=1)
    _, ns = architecture(dim, widths)
    if ns[0] % 2:
        raise InputError(
            f"widths[0] is {ns[0]}; an even number is needed, two units for each direction."
        )
    stack = Stack.on_inputs(dim)
    rows = [[sign * v for v in row] for row in moments(dim, ns[0] // 2) for sign in (1, -1)]
    stack.add(rows, [Fraction(0)] * ns[0])
    stack.matrix, stack.constants = [[Fraction(1)] * ns[0]], [Fraction(0)]
    _add_sharp_tail(stack, ns[1:], 1)
    return KnownNetwork(
        stack.network(with_output=True),
        central_regions(dim, ns[0] // 2) * prod(n + 1 for n in ns[1:]),
        "zonotope norm (Arora et al. 2018, Serra et al. 2018): serra_zonotope_lower where all "
        "later widths are equal",
        dim,
    )


def bottleneck(input_dim: int, widths: Sequence[int]) -> KnownNetwork:
    """Return a network that looks at one direction only, and there reaches Serra's bound.

    The first layer has one unit; where it is inactive there is one region, where it is active
    ``(n_2 + 1) ... (n_L + 1)``. The products of Zaslavsky's numbers are far above that.

    Parameters
    ----------
    input_dim : int
        At least 1.
    widths : sequence of int
        1, then any number of layers of at least 3.

    References
    ----------
    The sharp layers of `sharp_one_dimensional`, behind one unit.

    Examples
    --------
    >>> bottleneck(2, [1, 5, 5]).regions
    37
    """
    dim = whole(input_dim, "input_dim", least=1)
    _, ns = architecture(dim, widths)
    if ns[0] != 1:
        raise InputError(f"widths[0] is {ns[0]}; a bottleneck begins with a layer of 1 unit.")
    stack = Stack.on_inputs(dim)
    stack.add([[1, *[0] * (dim - 1)]], [Fraction(0)])
    stack.matrix, stack.constants = [[Fraction(1)]], [Fraction(0)]
    _add_sharp_tail(stack, ns[1:], 1)
    return KnownNetwork(
        stack.network(with_output=True),
        1 + prod(n + 1 for n in ns[1:]),
        "a first layer of one unit: the bound serra",
        dim,
    )


def _folded(
    input_dim: int, widths: Sequence[int], fold: Callable[[int], Fold], note: str
) -> KnownNetwork:
    dim = whole(input_dim, "input_dim", least=1)
    _, ns = architecture(dim, widths)
    stack, regions = Stack.on_inputs(dim), zaslavsky(dim, ns[-1])
    for k, n in enumerate(ns[:-1]):
        if n < dim:
            raise InputError(
                f"widths[{k}] is {n}; at least one unit for each of {dim} coordinates is needed in "
                f"all layers but the last."
            )
        each, more = divmod(n, dim)
        folds = [fold(each + 1)] * more + [fold(each)] * (dim - more)
        stack.fold(folds)
        regions *= prod(part.pieces for part in folds)
    rows, levels = simple_rows(dim, ns[-1])
    # Shrunk about the cube's centre until every vertex lies inside: its coordinates are elementary
    # symmetric functions of d of the numbers t that make the rows, so at most (1 + |t|)^d.
    shrink = Fraction(1, 4 * (1 + max(ns[-1] // 2, dim)) ** dim)
    stack.add(
        rows,
        [-Fraction(sum(row), 2) - shrink * level for row, level in zip(rows, levels, strict=True)],
    )
    return KnownNetwork(stack.network(with_output=False), regions, note, dim, ((0, 1),) * dim)


def _add_sharp_tail(stack: Stack, widths: Sequence[int], start: int) -> None:
    for k, n in enumerate(widths, start=start):
        if n < 3:
            raise InputError(
                f"widths[{k}] is {n}; at least 3 units are needed, fewer cannot make one piece "
                f"more than they are."
            )
        stack.fold([sharp_fold(n)])
