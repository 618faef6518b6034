"""Which method is faster where: the table in `polycarve.select_method`.

Random networks, uniform as torch initialises them, on a box and on all of R^d. The ratio of the
two methods' times is in ``extra_info`` of the run of ``vertices``; further down, growth with width
and depth, and the time of carving over that of pushing one point a region through the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from networks import load

import polycarve as pc
from polycarve.networks import evaluation

SHAPES = {
    2: [64, 64],
    3: [32, 32],
    4: [20, 20],
    5: [16, 16],
    6: [12, 12],
    7: [14],
    8: [12],
}


def random_network(dim: int, widths: list[int], seed: int = 0) -> pc.Network:
    rng = np.random.default_rng(seed)
    before = [dim, *widths[:-1]]
    weights = [rng.uniform(-1, 1, (n, m)) / m**0.5 for n, m in zip(widths, before, strict=True)]
    biases = [rng.uniform(-1, 1, n) / m**0.5 for n, m in zip(widths, before, strict=True)]
    return pc.Network.from_arrays(weights, biases, relu_last=True)


def best(work: Callable[[], Any], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


@pytest.mark.parametrize("dim", SHAPES)
@pytest.mark.parametrize("place", ["box", "space"])
def test_crossover(benchmark: Any, dim: int, place: str) -> None:
    if place == "space" and dim > 5:
        pytest.skip("seconds a round: seven coordinates and more are left to boxes")
    net = random_network(dim, SHAPES[dim])
    domain = pc.Box.cube(-1, 1, dim=dim) if place == "box" else pc.Space(dim)
    regions = pc.count_regions(net, domain, method="simplex")
    benchmark.group = f"vertices / {dim}-{'-'.join(map(str, SHAPES[dim]))} on a {place}"
    carving = benchmark(lambda: pc.carve(net, domain, method="vertices"))
    assert len(carving) == regions
    benchmark.extra_info["regions"] = regions
    if benchmark.stats:
        simplex = best(lambda: pc.carve(net, domain, method="simplex"))
        benchmark.extra_info["simplex_over_vertices"] = simplex / benchmark.stats["min"]


GROWTH = [[w, w] for w in (16, 32, 64, 128, 256, 512)] + [[32] * n for n in (1, 2, 4, 6)]


@pytest.mark.large
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize("widths", GROWTH, ids=lambda widths: "-".join(map(str, widths)))
def test_growth(benchmark: Any, widths: list[int]) -> None:
    """Time a region beside the forward pass of a point, as networks get wider and deeper."""
    net, box = random_network(2, widths), pc.Box.cube(-1, 1, dim=2)
    benchmark.group = "vertices / growth in the plane"
    carving = benchmark(lambda: pc.carve(net, box))
    assert np.array_equal(net.patterns(carving.points), carving.patterns)
    against_forward_pass(benchmark, net, carving)


@pytest.mark.large
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize("name", ["rand_2-128-128", "rand_2-256-256-256", "rand_3-64-64-64"])
def test_distance_from_the_limit(benchmark: Any, name: str) -> None:
    case = load(name)
    benchmark.group = f"vertices / {name} beside a forward pass"
    carving = benchmark(lambda: pc.carve(case.network, case.box))
    assert len(carving) == case.regions
    against_forward_pass(benchmark, case.network, carving)


def against_forward_pass(benchmark: Any, net: pc.Network, carving: pc.Carving) -> None:
    """Say how long one point a region takes through the network (BLAS as it is set)."""
    benchmark.extra_info["regions"] = len(carving)
    if not benchmark.stats:
        return
    layers, points = net.layers, np.array(carving.points)
    forward = best(lambda: evaluation.values(layers, points))
    seconds = benchmark.stats["min"]
    benchmark.extra_info["us_per_region"] = 1e6 * seconds / len(carving)
    benchmark.extra_info["over_forward_pass"] = seconds / forward
