"""What a carving costs once it is there, and what a second worker saves.

Run as `test_bench_carving.py` says. Ratios to something timed beside it in the same run are in
``extra_info``; no time is asserted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest
from networks import Case, load

import polycarve as pc

POINTS = 1_000_000


def seconds(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return median(times)


def carving_of(case: Case) -> pc.Carving:
    return pc.carve(case.network, case.box)


@pytest.mark.large
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize("name", ["rand_10-12-12", "rand_8-16-16"])
def test_two_workers_beside_one(benchmark: Any, name: str) -> None:
    case = load(name)
    benchmark.group = f"workers / {name}"
    found = benchmark(pc.count_regions, case.network, case.box, workers=2)
    assert found == case.regions
    if benchmark.enabled:
        one = seconds(lambda: pc.count_regions(case.network, case.box), 3)
        benchmark.extra_info["one_worker_seconds"] = round(one, 3)
        benchmark.extra_info["times_faster"] = round(one / benchmark.stats.stats.median, 2)


@pytest.mark.large
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_2-128-128", "rand_8-16"])
def test_locate_beside_the_forward_pass(benchmark: Any, name: str) -> None:
    case = load(name)
    carving = carving_of(case)
    lo, hi = case.box.lo.float64, case.box.hi.float64
    X = np.random.default_rng(0).uniform(lo, hi, (POINTS, len(lo)))
    carving.locate(X[:10])
    benchmark.group = f"locate / {name}"
    rows = benchmark(carving.locate, X)
    assert (rows >= 0).all()
    if benchmark.enabled:
        forward = seconds(lambda: case.network(X), 3)
        benchmark.extra_info["forward_seconds"] = round(forward, 3)
        benchmark.extra_info["times_forward"] = round(benchmark.stats.stats.median / forward, 2)


@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_3-16-16-16"])
def test_halfspaces_beside_carving(benchmark: Any, name: str) -> None:
    case = load(name)
    benchmark.group = f"halfspaces / {name}"
    columns = benchmark.pedantic(
        lambda carving: carving.halfspaces(),
        setup=lambda: ((carving_of(case),), {}),
        rounds=5 if benchmark.enabled else 1,
    )
    assert len(columns.offsets) == case.regions + 1
    if benchmark.enabled:
        alone = seconds(lambda: carving_of(case), 5)
        benchmark.extra_info["times_carving"] = round(benchmark.stats.stats.median / alone, 2)


@pytest.mark.large
@pytest.mark.parametrize(
    "name",
    ["rand_2-128-128", "rand_3-32-32", "rand_4-16-16", "rand_3-64-64-64", "rand_4-40-40",
     "rand_2-256-256-256"],
)  # fmt: skip
def test_volumes_add_up(benchmark: Any, name: str) -> None:
    case = load(name)
    carving = carving_of(case)
    benchmark.group = f"volumes / {name}"
    volumes = benchmark.pedantic(carving.volumes, rounds=1)
    lo, hi = case.box.lo.float64, case.box.hi.float64
    assert volumes.sum() == pytest.approx(np.prod(hi - lo), rel=1e-9)
    benchmark.extra_info["relative_error"] = float(abs(volumes.sum() / np.prod(hi - lo) - 1))
