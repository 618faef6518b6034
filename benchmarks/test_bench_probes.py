"""How long estimates take that list no regions, beside the count that they estimate.

Run as `test_bench_carving.py` says. ``extra_info`` has the estimate over the exact number and the
relative standard error, so that a faster run that says less does not look better. No time is
asserted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from networks import cases

import polycarve as pc
from polycarve.sampling import (
    CountEstimate,
    knuth_probe,
    layer_probe,
    random_lines,
    stochastic_enumeration,
)

PROBED = ("moons", "rand_2-32-32-32", "rand_2-128-128", "rand_2-256-256-256", "rand_8-16-16")


def measure(
    benchmark: Any, group: str, estimate: Callable[[], CountEstimate], regions: int | None = None
) -> None:
    benchmark.group = group
    found = benchmark(estimate)
    assert found.complete
    info = benchmark.extra_info
    info["n"], info["estimate"] = found.n, found.value
    if found.standard_error is not None:
        info["relative_standard_error"] = round(found.standard_error / found.value, 3)
    if regions is not None:
        assert regions / 4 < found.value < 4 * regions
        info["regions"], info["estimate_over_exact"] = regions, round(found.value / regions, 3)


@pytest.mark.parametrize("name", PROBED)
def test_layer_probe(benchmark: Any, name: str) -> None:
    case = cases.spec()[name]
    net = case.network
    measure(
        benchmark,
        f"1000 layer-wise probes / {name}",
        lambda: layer_probe(net, case.box, 1000, rng=0),
        case.regions,
    )


@pytest.mark.parametrize("name", PROBED)
def test_stochastic_enumeration(benchmark: Any, name: str) -> None:
    case = cases.spec()[name]
    net = case.network
    measure(
        benchmark,
        f"10 runs of stochastic enumeration / {name}",
        lambda: stochastic_enumeration(net, case.box, rng=0),
        case.regions,
    )


@pytest.mark.parametrize("side", [1, 10])
def test_too_wide_to_list(benchmark: Any, side: int) -> None:
    rng = np.random.default_rng(0)
    sizes = [(64, 10), (64, 64), (64, 64), (1, 64)]
    weights = [rng.uniform(-1, 1, size) / np.sqrt(size[1]) for size in sizes]
    biases = [rng.uniform(-1, 1, size[0]) / np.sqrt(size[1]) for size in sizes]
    net, box = pc.Network.from_arrays(weights, biases), pc.Box.cube(-side, side, dim=10)
    measure(
        benchmark,
        f"a run of stochastic enumeration / 10-64-64-64, [-{side}, {side}]",
        lambda: stochastic_enumeration(net, box, 1, rng=0),
    )


def test_knuth_probe(benchmark: Any) -> None:
    case = cases.spec()["rand_2-32-32-32"]
    net = case.network
    measure(
        benchmark,
        "1000 of Knuth's probes / rand_2-32-32-32",
        lambda: knuth_probe(net, case.box, 1000, rng=0),
    )


@pytest.mark.parametrize("name", ["moons", "rand_2-128-128", "rand_3-16-16-16"])
def test_random_lines(benchmark: Any, name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box, keep="cells")
    measure(
        benchmark,
        f"1000 random lines / {name}",
        lambda: random_lines(carving, 1000, rng=0),
        case.regions,
    )
