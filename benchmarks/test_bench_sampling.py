"""How long a million random points take, beside one forward pass of as many.

Run as `test_bench_carving.py` says. What is timed is `polycarve.sample` as a whole: drawing points,
pushing them through the network, and counting their patterns. How many of the regions they find is
in ``extra_info``, with the share of the time that NumPy's forward pass alone would take. No time is
asserted.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from networks import load

import polycarve as pc

# Regions that the points of seed 0 see.
POINTS = 1_000_000
SEEN = {
    "moons": 66,
    "rand_2-32-32-32": 1_134,
    "rand_2-128-128": 9_234,
    "rand_8-16-16": 101_889,
    "rand_2-256-256-256": 59_015,
}
LARGE = {"rand_2-256-256-256"}


@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.large) if name in LARGE else name for name in SEEN],
)
def test_random_points(benchmark: Any, name: str) -> None:
    case = load(name)
    benchmark.group = f"sampling / {name}"

    def draw() -> pc.SampleEstimate:
        found = pc.sample(case.network, case.box, POINTS, rng=0)
        assert (len(found), found.n_on_boundary) == (SEEN[name], 0)
        return found

    benchmark(draw)
    info = benchmark.extra_info
    info["regions"], info["seen"] = case.regions, SEEN[name]
    if benchmark.stats is None:  # --benchmark-disable
        return
    seconds = float(benchmark.stats.stats.median)
    info["points_per_second"] = round(POINTS / seconds)
    info["share_of_forward_pass"] = round(forward_pass(case.network, case.box) / seconds, 2)


def forward_pass(network: pc.Network, box: pc.Box) -> float:
    """Evaluate a network at as many points, in pieces; return the seconds."""
    low, high = box.bounds()
    X = np.random.default_rng(0).uniform(low, high, (10_000, box.dim))
    begin = time.perf_counter()
    for _ in range(POINTS // len(X)):
        network(X)
    return time.perf_counter() - begin
