"""What `compare` is made of: time shared out, what is too large, and how much a sample covers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.comparison.result import Coverage
from polycarve.domains import Box, Domain
from polycarve.errors import GeometryError, InputError, NumericalError
from polycarve.networks import Network
from polycarve.recursion import carve, select_method
from polycarve.sampling.enumeration import stochastic_enumeration
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.probes import layer_probe
from polycarve.sampling.sample_estimate import SampleEstimate
from polycarve.splitting.drive import Limits

FloatArray = npt.NDArray[np.float64]

# The method `simplex` keeps a square matrix for every neuron: not more than this.
_MOST_BYTES = 1 << 30

# Cells that stochastic enumeration carries, and its share of the time left; fewer cells where not
# one run is done in time.
_BUDGETS = {100: 0.4, 10: 0.5, 1: 0.8}

# Seconds that putting one cell in d coordinates on a vertex takes, over d^3: so long nothing can
# stop it. It may take this share of the time there is.
_SECONDS_A_CELL, _LONGEST = 1e-9, 0.1

# Up to so many regions, by the domain's rank, their volumes are cheap.
_VOLUMES_UP_TO = {0: 1, 1: 100_000, 2: 1_000_000, 3: 20_000, 4: 2_000}


@dataclass(frozen=True)
class Clock:
    """When to be done, by `time.monotonic`."""

    end: float

    @classmethod
    def of(cls, limits: Limits) -> Clock:
        seconds = limits.max_seconds
        return cls(math.inf if seconds is None else time.monotonic() + seconds)

    @property
    def is_up(self) -> bool:
        return time.monotonic() >= self.end

    def share(self, part: float) -> float | None:
        """Return a part of the time left, in seconds; None where there is no end."""
        if math.isinf(self.end):
            return None
        return max(1e-9, part * (self.end - time.monotonic()))

    def limits(self, part: float) -> Limits:
        return Limits(max_seconds=self.share(part))

    def deadline(self, part: float) -> float | None:
        seconds = self.share(part)
        return None if seconds is None else time.monotonic() + seconds


def above(estimate: CountEstimate, least: int) -> CountEstimate:
    """Return an estimate whose interval does not reach below what is known."""
    if estimate.interval is None:
        return estimate
    low, high = (max(end, float(least)) for end in estimate.interval)
    return replace(estimate, interval=(low, high))


def too_large(network: Network, domain: Domain, method: str) -> str | None:
    """Return why a method cannot even begin, None if it can."""
    name = select_method(network, domain).method if method == "auto" else method
    coordinates, neurons = domain.rank + (not domain.is_bounded), sum(network.cut_widths)
    if name != "simplex" or 8 * coordinates**2 * (neurons + 2) <= _MOST_BYTES:
        return None
    size = 8 * coordinates**2 * (neurons + 2) / 1e9
    return (
        f"Not tried: linear programs in {coordinates} coordinates with {neurons:,} neurons take "
        f"{size:,.1f} GB. Compare on a Slice or a Segment."
    )


def warm_up(network: Network, domain: Domain, method: str) -> None:
    """Compile or load the kernels on a network of two neurons, before the clock runs."""
    chosen = select_method(network, domain).method
    box = Box.cube(-1, 1, dim=2 if chosen == "vertices" else 7)
    small = Network.from_arrays([[[1] * box.dim], [[1]]], [[0], [-1]], relu_last=True)
    carve(small, box, method=method if method in ("simplex", "vertices") else "auto")
    layer_probe(small, box, 1, rng=0)


def volumes_of(carving: Carving | None) -> FloatArray | None:
    """Return the volumes of all regions where they are cheap to have, else None."""
    if carving is None or not carving.complete or not carving.domain.is_bounded:
        return None
    if len(carving) > _VOLUMES_UP_TO.get(carving.domain.rank, 0):
        return None
    try:
        return carving.volumes()
    except (GeometryError, NumericalError):
        return None


def coverage(
    sample: SampleEstimate, carving: Carving | None, volumes: FloatArray | None
) -> Coverage | None:
    """Return how much of a complete carving a sample saw."""
    if carving is None or not carving.complete:
        return None
    rows = carving.find(sample.packed)
    found = rows[rows >= 0]
    volume = None if volumes is None else min(1.0, float(volumes[found].sum() / volumes.sum()))
    if len(found) == len(carving) and volume is not None:
        volume = 1.0
    return Coverage(len(found) / len(carving), volume, len(rows) - len(found))


def enumerated(network: Network, domain: Domain, rng: Any, clock: Clock) -> CountEstimate:
    """Return what stochastic enumeration finds with as many cells as time allows for."""
    coordinates = domain.rank + (not domain.is_bounded)
    for budget, part in _BUDGETS.items():
        limits = clock.limits(part)
        seconds = math.inf if limits.max_seconds is None else limits.max_seconds
        is_last = budget == min(_BUDGETS)
        if budget * coordinates**3 * _SECONDS_A_CELL > _LONGEST * seconds and not is_last:
            continue
        try:
            found = stochastic_enumeration(network, domain, budget=budget, rng=rng, limits=limits)
        except InputError:
            if is_last or math.isinf(seconds) or clock.is_up:
                raise
            continue
        if found.standard_error == 0.0:
            return found
        runs = "1 run" if found.n == 1 else f"{found.n} runs"
        cells = "1 cell" if budget == 1 else f"{budget} cells"
        return replace(found, promise=f"{runs} of {cells}. {found.promise}")
    raise AssertionError("unreachable")
