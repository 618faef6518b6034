"""`compare`: count, sample, estimate and bound the regions of a network, within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.comparison.architecture import bounds_of
from polycarve.comparison.parts import (
    Clock,
    above,
    coverage,
    enumerated,
    too_large,
    volumes_of,
    warm_up,
)
from polycarve.comparison.result import Comparison
from polycarve.domains import Domain, as_domain
from polycarve.errors import DomainError, GeometryError, InputError, NumericalError
from polycarve.networks import Network, as_network
from polycarve.recursion import carve, select_method
from polycarve.sampling import draws
from polycarve.sampling.arguments import as_generator, spawned
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.lines import random_lines
from polycarve.sampling.probes import inverse_volume, knuth_probe, layer_probe
from polycarve.sampling.samples import run
from polycarve.splitting.drive import Limits, Progress, checked
from polycarve.splitting.method import method_named
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]

DEFAULT_LIMITS = Limits(max_regions=1_000_000, max_seconds=60.0)

# Shares of the time that is left, in the order in which it is spent.
_FOR_POINTS, _FOR_CARVING, _FOR_PROBES, _FOR_KNUTH = 0.15, 0.4, 0.6, 0.2


def compare(
    net: Any,
    domain: Any,
    *,
    n: int = 100_000,
    grid: int | None = None,
    rng: Any = None,
    limits: Limits | None = None,
    method: str = "auto",
    workers: int = 1,
    progress: Progress = None,
    n_probes: int = 500,
) -> Comparison:
    """Set the number of regions beside what sampling finds and what theory allows.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    domain : Box, Polytope, Space, Slice, Segment, or [(lo, hi), ...]
        On an unbounded one nothing can be sampled uniformly: these rows are then missing.
    n : int
        Random points.
    grid : int, optional
        Points a side of a regular grid; default 100 on bounded domains of at most two dimensions,
        else none.
    rng : int, numpy.random.Generator, optional
        A seed makes everything reproducible that no time limit cuts short.
    limits : Limits, optional
        For all of it. The default, `polycarve.comparison.DEFAULT_LIMITS`, is a million regions and
        60 seconds, the compilation of kernels not included. ``Limits()`` has no end.
    method, workers, progress
        For the carving; see `polycarve.carve`.
    n_probes : int
        Probes of the layer-wise kind, and a tenth as many of Knuth's.

    Returns
    -------
    Comparison
        Whatever the limits stopped is shown as what it then is: the carving as "at least", an
        estimate as cut short, or with the reason why there is none.

    Raises
    ------
    NetworkError, DomainError, InputError
        Arguments that are not what is needed.

    Notes
    -----
    Of the time left, points take at most 15 % and a grid as much, the carving 40 %, and
    stochastic enumeration most of what is left then: so a network that is too large to carve still
    gets an estimate of its regions. Networks of hundreds of inputs take longer for that than the
    default limits allow.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> found = pc.compare(examples.moons(), pc.Box.cube(-3, 3, dim=2), rng=0)
    >>> found.layer_counts, [len(sample) for sample in found.samples]
    ((13, 43, 66), [65, 58])
    >>> found.bound("serra").value, found.bound("shallow").value
    (4096, 121)
    """
    network = as_network(net)
    place = as_domain(domain, network.input_dim)
    n, n_probes = whole(n, "n", least=1), whole(n_probes, "n_probes", least=1)
    generator = as_generator(rng)
    limits = DEFAULT_LIMITS if limits is None else checked(limits)
    method_named(method if method != "auto" else select_method(network, place).method)
    side = 100 if grid is None and place.is_bounded and place.rank <= 2 else grid
    others = spawned(generator, 5)  # one each, so that none depends on how far another came
    sources = [] if side is None else [draws.grid(place, side)]
    missing = [] if place.is_bounded else [("random points", f"{place!r} is unbounded.")]
    try:
        if place.is_bounded:
            sources.insert(0, draws.uniform(place, n, generator))
    except DomainError:
        why = f"{place!r} fills too little of the box around it."
        missing.append(("random points", why))
    cannot_carve, cannot_probe = (
        too_large(network, place, method),
        too_large(network, place, "auto"),
    )
    if cannot_probe is None:
        warm_up(network, place, method)
    clock = Clock.of(limits)
    samples = tuple(
        run(network, place, source, deadline=clock.deadline(_FOR_POINTS)) for source in sources
    )
    estimates = [] if missing else list(samples[0].estimates[1:])
    carving = None
    if cannot_carve is None:
        most = Limits(limits.max_regions, clock.share(_FOR_CARVING))
        carving = carve(
            network, place, method=method, workers=workers, limits=most, progress=progress
        )
        if carving.stop_reason == "interrupt":
            cannot_probe = "Interrupted."
    else:
        missing.append(("carving", cannot_carve))
        cannot_probe = cannot_probe and "Not tried, for the same reason."
    volumes = volumes_of(carving)
    for name, estimator in _estimators(network, place, carving, volumes, clock, others, n_probes):
        if cannot_probe is not None or clock.is_up:
            missing.append((name, cannot_probe or "No time was left."))
            continue
        try:
            estimates.append(estimator())
        except (InputError, NumericalError, GeometryError) as error:
            missing.append((name, str(error)))
    found = Comparison(
        network=network,
        domain=place,
        limits=limits,
        carving=carving,
        samples=samples,
        coverages=tuple(coverage(sample, carving, volumes) for sample in samples),
        estimates=tuple(sorted(estimates, key=lambda one: one.is_baseline)),
        missing=tuple(missing),
        bounds=bounds_of(network, place.rank),
    )
    return replace(found, estimates=tuple(above(one, found.regions) for one in found.estimates))


def _estimators(
    network: Network,
    domain: Domain,
    carving: Carving | None,
    volumes: FloatArray | None,
    clock: Clock,
    rngs: Sequence[np.random.Generator],
    n: int,
) -> Iterator[tuple[str, Callable[[], CountEstimate]]]:
    """Yield the names of what needs no points, and how to have it in the time that is left then."""

    place, now = (network, domain), clock.limits
    # First what can be had of any network: the probe may spend its time on a list without end.
    yield "stochastic enumeration", lambda: enumerated(network, domain, rngs[1], clock)
    yield "layer-wise probe", lambda: layer_probe(*place, n, rng=rngs[0], limits=now(_FOR_PROBES))
    if carving is not None and volumes is not None:  # so it is complete, and shapes are cheap
        if domain.rank in (2, 3) and network.cut_widths:
            yield "random lines", lambda: random_lines(carving, rng=rngs[2])
        yield "inverse volume", lambda: inverse_volume(carving, n, rng=rngs[3])
    few = max(1, n // 10)
    yield "Knuth's probe", lambda: knuth_probe(*place, few, rng=rngs[4], limits=now(_FOR_KNUTH))
