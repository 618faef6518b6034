"""What the neighbours of all regions cost beside the carving, and what files of the graph take.

Run as `test_bench_carving.py` says. The facets are most of it: ``times_carving`` is facets and
neighbours together, beside the carving in the same run; ``facets_times_carving`` and
``neighbors_times_carving`` are its two parts. Files are written from a carving whose neighbours
are known. No time is asserted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from networks import load

import polycarve as pc

FORMATS = ["npz", "parquet", "csv", "graphml", "gexf", "json", "dot"]
LARGEST = "rand_10-12-12"  # 95,492 regions and 605,580 pairs of neighbours


def seconds(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return median(times)


def carve(name: str) -> pc.Carving:
    case = load(name)
    carving = pc.carve(case.network, case.box)
    assert len(carving) == case.regions
    return carving


@cache
def joined(name: str) -> pc.Carving:
    """A carving whose neighbours are known."""
    carving = carve(name)
    carving.adjacency()
    return carving


@pytest.mark.parametrize(
    "name",
    [
        "moons",
        "rand_2-32-32-32",
        "rand_3-16-16-16",
        pytest.param("rand_2-128-128", marks=pytest.mark.large),
        pytest.param("rand_5-16-16", marks=pytest.mark.large),
        pytest.param("rand_8-16", marks=pytest.mark.large),
        pytest.param(LARGEST, marks=pytest.mark.large),
    ],
)
def test_adjacency_beside_carving(benchmark: Any, name: str) -> None:
    benchmark.group = f"adjacency / {name}"
    carve("moons").adjacency()  # kernels are compiled before anything is timed
    adjacency = benchmark.pedantic(
        lambda carving: carving.adjacency(),
        setup=lambda: ((carve(name),), {}),
        rounds=3 if benchmark.enabled else 1,
    )
    info = benchmark.extra_info
    info["regions"], info["pairs"] = len(adjacency), len(adjacency.edges)
    info["facets"] = len(adjacency.source)
    if benchmark.enabled:
        alone = seconds(lambda: carve(name), 3)
        facets = median(seconds(carve(name).facet_sources, 1) for _ in range(3))
        both = benchmark.stats.stats.median
        info["times_carving"] = round(both / alone, 2)
        info["facets_times_carving"] = round(facets / alone, 2)
        info["neighbors_times_carving"] = round((both - facets) / alone, 2)
        info["us_per_facet"] = round(1e6 * both / len(adjacency.source), 3)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "name", ["rand_2-32-32-32", pytest.param(LARGEST, marks=pytest.mark.large)]
)
def test_files(benchmark: Any, name: str, suffix: str, tmp_path: Path) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    carving, path = joined(name), tmp_path / f"graph.{suffix}"
    benchmark.group = f"files / {name}"
    rounds = 3 if benchmark.enabled else 1
    benchmark.pedantic(pc.write_graph, (carving, path), rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["regions"] = len(carving)
    benchmark.extra_info["pairs"] = len(carving.adjacency().edges)
    benchmark.extra_info["megabytes"] = round(path.stat().st_size / 1e6, 1)


@pytest.mark.parametrize(
    "name", ["rand_2-32-32-32", pytest.param(LARGEST, marks=pytest.mark.large)]
)
@pytest.mark.parametrize("what", ["networkx", "summary"])
def test_graph_in_hand(benchmark: Any, name: str, what: str) -> None:
    carving = joined(name)
    benchmark.group = f"{what} / {name}"
    work = carving.graph if what == "networkx" else carving.adjacency().summary
    found = benchmark.pedantic(work, rounds=3 if benchmark.enabled else 1)
    if what == "summary":
        benchmark.extra_info["diameter"] = list(found.diameter)
    else:
        assert found.number_of_nodes() == len(carving)
