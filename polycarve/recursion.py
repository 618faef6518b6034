"""The public door: `carve`, `count_regions`, `region_at`, `select_method`."""

from __future__ import annotations

from concurrent.futures import Executor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from polycarve.carving import Carving, single_region
from polycarve.cells import collect
from polycarve.domains import Domain, Space, as_domain
from polycarve.errors import InputError
from polycarve.networks import Network, as_network, locating
from polycarve.rational import ExactArray, strict_feasibility
from polycarve.region import Region
from polycarve.splitting import drive
from polycarve.splitting.drive import Limits, Progress
from polycarve.splitting.method import method_named
from polycarve.splitting.program import compile_program

# Up to so many coordinates vertices are faster than linear programs: see `select_method`.
_MOST_FOR_VERTICES = 6


def carve(
    net: Any,
    domain: Any,
    *,
    method: str = "auto",
    limits: Limits | None = None,
    progress: Progress = None,
    stop_layer: int | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    keep: str | None = None,
    exact: bool = False,
) -> Carving:
    """Enumerate the activation regions of a ReLU network on a domain.

    A region is a full-dimensional set of inputs on which every neuron keeps its state: active
    where its pre-activation is positive, inactive where it is not. The regions are convex and
    tile the domain.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    domain : Box, Polytope, Space, Slice, Segment, or [(lo, hi), ...]
        Where to look; of the network's input dimension.
    method : str
        ``"auto"`` (see `select_method`), ``"simplex"``, ``"vertices"`` (few dimensions),
        ``"highs"``, ``"cvxpy"``, or ``"cvxpy:SOLVER"`` with the name of a solver that cvxpy finds
        installed.
    limits : Limits, optional
        Stop early; the carving then says so in ``complete`` and ``stop_reason``.
    progress : bool or callable, optional
        ``True`` shows a bar on stderr; a callable gets ``(fraction, regions)`` now and then.
    stop_layer : int, optional
        Carve only the first so many hidden layers, as ``carve(...).at_layer(stop_layer)``.
    workers : int
        Threads that share the work. The regions and their order do not depend on it.
    executor : concurrent.futures.Executor, optional
        Do the work there instead: a process pool, or a cluster's. `workers` then says how many
        pieces of work to keep it busy with.
    keep : None or "cells"
        ``"cells"`` keeps the vertices and facets of all regions for `Carving.cells` and all that
        follows from them, by the method ``vertices``.
    exact : bool
        Certify the carving and return the corrected one: `Carving.certify`, without the proof.
        Limits are for the carving alone.

    Returns
    -------
    Carving
        The regions in the order of their patterns, whatever the method.

    Raises
    ------
    NetworkError, DomainError, InputError
        Arguments that are not what is needed; the message says what to give instead.
    NumericalError
        Floating point found no way on at all. What it merely cannot settle is counted in
        ``n_doubtful``.

    Notes
    -----
    Cells are split depth first, each by the hyperplane of the lowest neuron that crosses it;
    there are exactly ``R - 1`` splits. Decisions are made in floating point with error bounds,
    and those inside the bounds are counted in ``n_doubtful``.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1], [1, 1]], [[1, 1, -1]]])
    >>> carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2))
    >>> len(carving), carving.layer_counts
    (6, (6,))
    """
    network, place = _resolve(net, domain)
    if keep not in (None, "cells"):
        raise InputError(f"keep is {keep!r}; 'cells', or None, is needed.")
    if keep and method not in ("auto", "vertices"):
        raise InputError(f"keep='cells' needs the method 'vertices', not {method!r}.")
    chosen = _choose(network, place, "vertices" if keep else method)
    layers = _stop(network, stop_layer)
    drive.checked_workers(workers, executor)
    memory = drive.Memory(keep="shapes" if keep else True)
    with drive.reporting(progress) as report:
        limits = drive.checked(limits)
        if place.rank == 0:
            point = single_region(network, place, layers)
            return point.certify().carving if exact else point
        program = compile_program(network, place, layers)
        outcome = drive.run(
            program,
            chosen,
            sink=memory,
            limits=limits,
            progress=report,
            workers=workers,
            executor=executor,
        )
    leaves = memory.collect(program)
    carving = Carving(
        network,
        place,
        leaves.packed,
        leaves.points,
        leaves.inside,
        n_layers=layers,
        stop_reason=outcome.stop_reason,
        n_doubtful=outcome.n_doubtful,
        method=chosen.name,
        cells=None if leaves.shapes is None else collect(program, leaves.shapes),
    )
    if not exact:
        return carving
    proof = carving.certify(progress=progress, workers=workers, executor=executor)
    return proof.carving


def count_regions(
    net: Any,
    domain: Any = None,
    *,
    method: str = "auto",
    progress: Progress = None,
    stop_layer: int | None = None,
    workers: int = 1,
    executor: Executor | None = None,
) -> int:
    """Count the activation regions without storing them.

    Parameters
    ----------
    net : Network, torch module, (weights, biases), or Carving
        Of a carving, its own regions are counted, and no domain is given.
    domain, method, progress, stop_layer, workers, executor
        As for `carve`.

    Returns
    -------
    int

    Raises
    ------
    InputError
        The carving given is incomplete, so that its length is not the count.

    Examples
    --------
    >>> import polycarve as pc
    >>> pc.count_regions(pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True), pc.Space(2))
    4
    """
    if isinstance(net, Carving):
        if domain is not None:
            raise InputError("a carving has its own domain; count_regions(carving) takes no other.")
        carving = net if stop_layer is None else net.at_layer(stop_layer)
        if not carving.complete:
            raise InputError(
                f"this carving is incomplete (stopped by {carving.stop_reason}): it has at least "
                f"{len(carving)} regions. Carve again without limits to count them."
            )
        return len(carving)
    if domain is None:
        raise InputError("a domain is needed: count_regions(net, polycarve.Box(...)).")
    network, place = _resolve(net, domain)
    chosen = _choose(network, place, method)
    layers = _stop(network, stop_layer)
    drive.checked_workers(workers, executor)
    with drive.reporting(progress) as report:
        if place.rank == 0:
            return 1
        program = compile_program(network, place, layers)
        outcome = drive.run(
            program, chosen, sink=None, progress=report, workers=workers, executor=executor
        )
    if outcome.stop_reason == "interrupt":
        raise KeyboardInterrupt
    return outcome.n_regions


def region_at(net: Any, x: Any) -> Region:
    """Return the activation region of one input, in any dimension, without carving.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    x : sequence of d numbers
        Floats, or exact numbers; its pattern is decided exactly.

    Returns
    -------
    Region
        On the domain ``Space(d)``.

    Raises
    ------
    InputError
        ``x`` lies on a boundary, and its own pattern has no full-dimensional region.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1], [1, 1]]], relu_last=True)
    >>> pc.region_at(net, [2, -1]).code
    'aia'
    """
    network = as_network(net)
    try:
        exact = ExactArray.of(x if isinstance(x, np.ndarray) else list(x))
    except TypeError:
        raise InputError(f"x is {x!r}. Give one number a coordinate.") from None
    if exact.shape != (network.input_dim,):
        raise InputError(
            f"x has shape {exact.shape}; this network reads {network.input_dim} coordinates."
        )
    cuts = locating.exact_preactivations(network, exact)
    pattern = np.concatenate(
        [np.zeros(0, np.uint8), *((z.numerators > 0).astype(np.uint8) for z in cuts)]
    )
    point, interior = exact.float64, exact.is_float64
    if any((z.numerators == 0).any() for z in cuts):
        point, interior = _inner_point(network, pattern, exact)
    return Region(
        network, Space(network.input_dim), pattern, np.array(point), point_is_interior=interior
    )


def _inner_point(network: Network, pattern: Any, x: ExactArray) -> tuple[Any, bool]:
    """Find an interior point of the region of a pattern that is attained on a boundary."""
    rows: list[list[Fraction]] = []
    start, touching = 0, []
    for layer, (A, c) in enumerate(network.exact_preactivation_maps(pattern), start=1):
        values = (A @ x + c).signs()
        for unit, (a, constant) in enumerate(zip(A.fractions(), c.fractions(), strict=True)):
            if any(a):
                sign = 1 if pattern[start + unit] else -1
                rows.append([sign * v for v in (*a, constant)])
                if values[unit] == 0:
                    touching.append((layer, unit))
        start += len(c)
    if not touching:  # what vanishes there vanishes all around
        return x.float64, x.is_float64
    answer = strict_feasibility(rows, network.input_dim)
    if answer.point is None:
        raise InputError(
            f"x lies on the boundary of activation regions (neuron {touching[0]} vanishes there), "
            f"and no full-dimensional region has its pattern. Move x off the boundary."
        )
    exact = ExactArray.of(answer.point)
    near = ExactArray.of(exact.float64)
    forms = ExactArray.of([row[:-1] for row in rows]) @ near + ExactArray.of([r[-1] for r in rows])
    return exact.float64, bool((forms.numerators > 0).all())


class MethodChoice(NamedTuple):
    """What `select_method` answers: the method's name, and why."""

    method: str
    reason: str


def select_method(net: Any, domain: Any) -> MethodChoice:
    """Say which method ``"auto"`` chooses for a network and a domain, and why.

    It depends on how many coordinates the method works in: the domain's rank, and one more where
    the domain is unbounded.

    ============  ==================================================================
    ``vertices``  up to 6: a cell has few vertices, and their signs decide
    ``simplex``   from 7: one warm-started linear program a neuron, in any dimension
    ``highs``     only by name: the slow and independent reference
    ``cvxpy``     only by name: the same with any solver of cvxpy, as in ``cvxpy:SCIPY``
    ============  ==================================================================

    Times of ``simplex`` over those of ``vertices``, on one random network each
    (``benchmarks/test_bench_methods.py``):

    ===========  ====  ====  ====  ====  ====  ====  ====
    coordinates     2     3     4     5     6     7     8
    ===========  ====  ====  ====  ====  ====  ====  ====
    a box          11   9.4   6.4   2.9   1.5   0.3  0.06
    all of R^d           7.3   4.0   2.1   1.2
    ===========  ====  ====  ====  ====  ====  ====  ====

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0]], [[1]]])
    >>> pc.select_method(net, pc.Space(2)).method
    'vertices'
    """
    _, place = _resolve(net, domain)
    coordinates = place.rank + (not place.is_bounded)
    if coordinates <= _MOST_FOR_VERTICES:
        return MethodChoice("vertices", f"cells have few vertices in {coordinates} coordinates")
    return MethodChoice("simplex", "one warm-started linear program a neuron, in any dimension")


def _resolve(net: Any, domain: Any) -> tuple[Network, Domain]:
    network = as_network(net)
    return network, as_domain(domain, network.input_dim)


def _choose(network: Network, domain: Domain, method: str) -> Any:
    name = select_method(network, domain).method if method == "auto" else method
    return method_named(name)


def _stop(network: Network, stop_layer: int | None) -> int:
    most = len(network.cut_widths)
    if stop_layer is None:
        return most
    if not isinstance(stop_layer, (int, np.integer)) or not 0 <= stop_layer <= most:
        raise InputError(
            f"stop_layer is {stop_layer!r}; a whole number from 0 to {most} is needed."
        )
    return int(stop_layer)
