"""How long the breakpoints along many segments take, beside carving them one at a time.

Run as `test_bench_carving.py` says. What is timed is `polycarve.carve_segments` as a whole. A
sample of the segments is carved alone, which must give the same counts; how many times longer that
takes for a segment is in ``extra_info``. No time is asserted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from networks import cases

import polycarve as pc
from polycarve.networks import Network

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bundle:
    """Segments through a network, with the number of regions along all of them."""

    network: Network
    X0: FloatArray
    X1: FloatArray
    regions: int


def between(name: str, low: float, high: float, n: int, regions: int) -> Bundle:
    network = Network.from_npz(cases.DATA / "networks" / f"{name}.npz")
    X0, X1 = np.random.default_rng(0).uniform(low, high, (2, n, network.input_dim))
    return Bundle(network, X0, X1, regions)


def wide(n: int, regions: int) -> Bundle:
    rng = np.random.default_rng(0)
    sizes = [(512, 784), (512, 512), (512, 512), (10, 512)]
    weights = [rng.uniform(-1, 1, (k, m)) / np.sqrt(m) for k, m in sizes]
    biases = [rng.uniform(-1, 1, k) / np.sqrt(m) for k, m in sizes]
    X0, X1 = rng.uniform(0, 1, (2, n, 784))
    return Bundle(Network.from_arrays(weights, biases), X0, X1, regions)


BUNDLES: dict[str, Callable[[], Bundle]] = {
    "rand_2-256-256-256": lambda: between("rand_2-256-256-256", -1, 1, 10_000, 1_759_814),
    "digits": lambda: between("digits", 0, 1, 10_000, 206_220),
    "rand_2-32-32-32": lambda: between("rand_2-32-32-32", -1, 1, 10_000, 219_633),
    "784-512-512-512-10": lambda: wide(1000, 338_185),
}
LARGE = {"rand_2-256-256-256", "784-512-512-512-10"}

# So many segments are carved one at a time.
SAMPLE = 5


@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.large) if name in LARGE else name for name in BUNDLES],
)
def test_segments(benchmark: Any, name: str) -> None:
    bundle = BUNDLES[name]()
    benchmark.group = f"segments / {name}"

    def sweep() -> pc.SegmentCarvings:
        found = pc.carve_segments(bundle.network, bundle.X0, bundle.X1)
        assert (int(found.n_regions.sum()), found.total_doubtful) == (bundle.regions, 0)
        return found

    found = benchmark(sweep)
    info = benchmark.extra_info
    info["regions"] = bundle.regions
    if benchmark.stats is None:  # --benchmark-disable
        return
    seconds = float(benchmark.stats.stats.median)
    info["us_per_region"] = round(1e6 * seconds / bundle.regions, 3)
    info["regions_per_second"] = round(bundle.regions / seconds)
    each = [carve_one(bundle, i, int(found.n_regions[i])) for i in range(SAMPLE)]
    info["carve_seconds_per_segment"] = round(median(each), 4)
    info["times_carve_per_segment"] = round(median(each) / (seconds / len(found)))


def carve_one(bundle: Bundle, i: int, regions: int) -> float:
    """Carve a segment alone; return the seconds."""
    begin = time.perf_counter()
    assert len(pc.carve(bundle.network, pc.Segment(bundle.X0[i], bundle.X1[i]))) == regions
    return time.perf_counter() - begin
