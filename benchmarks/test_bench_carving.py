"""How long a region, a linear program and a pivot take.

Run from the project's root:

    python -m pytest benchmarks                          # the small networks: under a minute
    python -m pytest benchmarks --large                  # and those with up to a million regions
    python -m pytest benchmarks --benchmark-json=out.json
    python -m pytest benchmarks --benchmark-disable      # every case once, untimed: a test

Groups are named ``method / network``. The file written by ``--benchmark-json`` has the figures
that depend on counts in ``extra_info``; rates there come from the median round. What is timed is
the loop with its leaves kept in memory, patterns and points, as `polycarve.carve` runs it;
compilation comes before, and so does composing the network (below 0.1 s). No time is asserted:
machines differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from networks import Case, load

from polycarve.splitting import drive
from polycarve.splitting.method import method_named

SMALL = [
    "moons",
    "fig19",
    "rand_2-32-32-32",
    "rand_3-16-16-16",
    "rand_4-16-16",
    "rand_5-16-16",
    "rand_6-12-12",
    "rand_8-16",
    "rand_8-10-10",
    "rand_16-12",
]
LARGE = [
    "rand_2-128-128",
    "rand_10-12-12",
    "rand_20-10-10",
    "rand_4-40-40",
    "rand_6-20-20",
    "rand_8-16-16",
    "rand_3-64-64-64",
    "rand_2-256-256-256",
]

# What methods count, and what one of it is called.
UNITS = {"programs": "program", "pivots": "pivot", "splits": "split", "vertices": "vertex"}

# The slow ones see this many regions, the first in order.
FIRST = 200


@pytest.mark.parametrize("name", SMALL)
def test_simplex(benchmark: Any, name: str) -> None:
    time_method(benchmark, "simplex", name)


@pytest.mark.large
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize("name", LARGE)
def test_simplex_large(benchmark: Any, name: str) -> None:
    time_method(benchmark, "simplex", name)


@pytest.mark.parametrize("name", SMALL)
def test_vertices(benchmark: Any, name: str) -> None:
    time_vertices(benchmark, name)


@pytest.mark.large
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.parametrize("name", LARGE)
def test_vertices_large(benchmark: Any, name: str) -> None:
    time_vertices(benchmark, name)


def time_vertices(benchmark: Any, name: str) -> None:
    if load(name).program.n_free > 8:
        pytest.skip("beyond this method, or far slower than the other")
    time_method(benchmark, "vertices", name)


def time_method(benchmark: Any, method: str, name: str) -> None:
    case = load(name)
    benchmark.group = f"{method} / {name}"
    outcome = benchmark(carve_whole, case, method)
    if seconds := record_counts(benchmark, outcome.n_regions, outcome.counts):
        benchmark.extra_info["regions_per_second"] = round(outcome.n_regions / seconds)


@pytest.mark.parametrize("method", ["highs", "cvxpy", "cvxpy:SCIPY"])
def test_reference_beside_simplex(benchmark: Any, method: str) -> None:
    """Put the reference's time a region beside that of the simplex on the whole network."""
    name = "rand_8-16"
    case = load(name)
    benchmark.group = f"{method} / {name}"

    def carve_first() -> drive.Outcome:
        outcome = drive.run(
            case.program,
            method_named(method),
            sink=drive.Memory(),
            limits=drive.Limits(max_regions=FIRST),
        )
        assert (outcome.n_regions, outcome.stop_reason) == (FIRST, "regions")
        return outcome

    outcome = benchmark.pedantic(carve_first, rounds=3)
    if seconds := record_counts(benchmark, FIRST, outcome.counts):
        simplex = median_seconds(lambda: carve_whole(case)) / case.regions
        benchmark.extra_info["simplex_us_per_region"] = round(1e6 * simplex, 3)
        benchmark.extra_info["times_simplex_per_region"] = round(seconds / FIRST / simplex)


def test_persistent_highs_beside_simplex(benchmark: Any) -> None:
    """Put a warm-started HiGHS beside the simplex, by linear program and by pivot.

    `highs` builds every program anew, so the ratio above is mostly the cost of a call. Here one
    HiGHS model lives through all programs. They are not those of the carving: each is solved to
    its optimum in a finished region, while the simplex stops when both signs are seen. Hence
    times a program and a pivot are compared, and not the number of programs.
    """
    pytest.importorskip("highspy", reason="highspy is not installed (extra: dev)")
    name = "rand_8-16"
    case = load(name)
    benchmark.group = f"highspy / {name}"
    first = drive.Memory()
    drive.run(
        case.program,
        method_named("simplex"),
        sink=first,
        limits=drive.Limits(max_regions=FIRST),
    )
    packed = first.collect(case.program).packed
    patterns = np.unpackbits(packed, axis=1, count=case.program.n_cuts).astype(bool)
    n_programs = 2 * patterns.size

    least, most, pivots, clock = benchmark.pedantic(solve_warm, args=(case, patterns), rounds=5)
    assert (most > 0)[patterns].all()
    assert (least < 0)[~patterns].all()
    if record_counts(benchmark, FIRST, {"programs": n_programs, "pivots": pivots}):
        info = benchmark.extra_info
        info["us_per_program_by_highs_clock"] = round(1e6 * clock / n_programs, 3)
        outcome = carve_whole(case)
        seconds = median_seconds(lambda: carve_whole(case))
        for unit, count in (
            ("program", outcome.counts["programs"]),
            ("pivot", outcome.counts["pivots"]),
        ):
            simplex = 1e6 * seconds / count
            info[f"simplex_us_per_{unit}"] = round(simplex, 3)
            info[f"times_simplex_per_{unit}"] = round(info[f"us_per_{unit}"] / simplex, 1)


def solve_warm(
    case: Case, patterns: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int, float]:
    """Minimise and maximise every pre-activation over regions of a network of one hidden layer.

    Returns the least and the greatest values, ``(n_regions, n_neurons)`` each, the pivots, and
    the seconds that passed by HiGHS's own clock, without the calls from Python.

    All regions have the same rows; only the side of each hyperplane changes. A region is thus
    entered by new bounds on the rows, a neuron by a new objective, and every program starts from
    the basis where the last one ended. For that, HiGHS's primal simplex is faster here than its
    dual.
    """
    import highspy

    ((A, c),) = case.network.preactivation_maps(patterns[0].astype(np.uint8))
    n, d = A.shape
    rows, columns = np.arange(n, dtype=np.int32), np.arange(d, dtype=np.int32)
    everywhere = np.full(n, highspy.kHighsInf)

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = d, n
    lp.col_cost_ = np.zeros(d)
    lp.col_lower_, lp.col_upper_ = case.program.lower, case.program.upper
    lp.row_lower_, lp.row_upper_ = -everywhere, everywhere
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = d * np.arange(n + 1)
    lp.a_matrix_.index_ = np.tile(columns, n)
    lp.a_matrix_.value_ = A.ravel()

    solver = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "presolve": "off",
        "solver": "simplex",
        "simplex_strategy": 4,  # primal
        "threads": 1,
    }.items():
        assert solver.setOptionValue(option, value) == highspy.HighsStatus.kOk
    solver.passModel(lp)

    pivots = 0
    extremes = np.empty((2, *patterns.shape))
    for region, active in enumerate(patterns):
        solver.changeRowsBounds(
            n, rows, np.where(active, -c, -everywhere), np.where(active, everywhere, -c)
        )
        for neuron in range(n):
            for end, sign in enumerate((1.0, -1.0)):
                solver.changeColsCost(d, columns, sign * A[neuron])
                solver.run()
                assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
                value = sign * solver.getObjectiveValue()
                extremes[end, region, neuron] = value + c[neuron]
                pivots += solver.getInfoValue("simplex_iteration_count")[1]
    return extremes[0], extremes[1], pivots, solver.getRunTime()


def carve_whole(case: Case, method: str = "simplex") -> drive.Outcome:
    outcome = drive.run(case.program, method_named(method), sink=drive.Memory())
    assert outcome.n_regions == case.regions
    return outcome


def record_counts(benchmark: Any, regions: int, counts: dict[str, int]) -> float | None:
    """Note counts, and the median time for each; return that median if anything was timed."""
    info = benchmark.extra_info
    info["regions"] = regions
    info |= counts
    if benchmark.stats is None:  # --benchmark-disable
        return None
    seconds = float(benchmark.stats.stats.median)
    info["us_per_region"] = round(1e6 * seconds / regions, 3)
    for units, unit in UNITS.items():
        if units in counts:
            info[f"us_per_{unit}"] = round(1e6 * seconds / counts[units], 3)
    return seconds


def median_seconds(run: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)
