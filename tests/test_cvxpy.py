"""Method cvxpy: whatever a solver answers, the carving is right or says that it is in doubt."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve.errors import InputError, MissingDependencyError
from polycarve.splitting import cvxpy as proving
from polycarve.splitting.method import method_named
from polycarve.splitting.program import compile_program
from tests import cases
from tests.oracles import exact

cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed (extra: cvxpy)")

ROOT = Path(__file__).parent.parent
ACCURATE = ("CLARABEL", "SCIPY", "HIGHS")
INSTALLED = [name for name in (*ACCURATE, "SCS", "OSQP") if name in cp.installed_solvers()]
THERE = [name for name in INSTALLED if proving._is_able(name)]  # some versions do not get along
solvers = pytest.mark.parametrize("solver", THERE)


def patterns(carving):
    return [tuple(row) for row in carving.patterns.tolist()]


def same(a, b):
    return (
        np.array_equal(a.packed, b.packed)
        and np.array_equal(a.points, b.points)
        and a.n_doubtful == b.n_doubtful
    )


# ---------------------------------------------------------------------- solvers by name


def test_what_comes_with_cvxpy_and_scipy_is_there():
    assert {"CLARABEL", "SCIPY"} <= set(THERE)


@solvers
def test_every_solver_carves(solver):
    case = cases.spec()["fig19"]
    method = f"cvxpy:{solver}"
    carving = pc.carve(case.network, case.box, method=method.replace(solver, solver.lower()))
    assert carving.method == method == method_named(method).name
    assert carving.layer_counts == case.layer_counts
    assert np.array_equal(case.network.patterns(carving.points), carving.patterns)
    assert carving.n_doubtful == 0


@solvers
def test_planes_ten_times_the_resolution_apart_are_told_apart(solver):
    method = f"cvxpy:{solver}"
    gap = 10 * method_named(method).resolution
    deep = ([[0.7, -1.3, 0.4], [-1.1, 0.6, 0.9]], [0.31, -0.17])
    for first in (
        ([[0.6, 0.8], [0.6, 0.8], [-0.3, 0.9]], [0.03, 0.03 + gap, 0.02]),
        ([[0.6, 0.8], [0.6, 0.8 + gap], [-0.3, 0.9]], [0.03, 0.03, -0.07]),
    ):
        net = pc.Network.from_arrays([first[0], deep[0]], [first[1], deep[1]], relu_last=True)
        box = pc.Box.cube(-1, 1, dim=2)
        carving = pc.carve(net, box, method=method)
        if solver == "OSQP" and first[1][1] == first[1][0]:  # it hardly converges in a wedge
            assert patterns(carving) == exact.regions(net, box) or carving.n_doubtful > 0
        else:
            assert patterns(carving) == exact.regions(net, box)
            assert carving.n_doubtful == 0


@pytest.mark.parametrize("name", ["cvxpy:NONSENSE", "cvxpy:", "cvxpy:SCS"])
def test_solvers_that_are_not_there(name, monkeypatch):
    able = proving._is_able
    monkeypatch.setattr(proving, "_is_able", lambda solver: solver != "SCS" and able(solver))
    with pytest.raises(InputError, match=r"Choose one of: cvxpy:\w+") as caught:
        method_named(name)
    assert repr(name) in str(caught.value)
    assert "cvxpy:SCS," not in str(caught.value)
    assert all(f"cvxpy:{solver}" in str(caught.value) for solver in THERE if solver != "SCS")


def test_solvers_that_are_there_but_of_no_use(monkeypatch):
    """One that solves nothing, and one that gives no multipliers to prove anything with."""
    proving._is_able.cache_clear()
    monkeypatch.setattr(proving, "_solve", lambda *args: None)
    assert not proving._is_able("CLARABEL")
    proving._is_able.cache_clear()
    monkeypatch.setattr(proving, "_solve", lambda *args: (np.array([-1, 0.5]), np.zeros(1), 1))
    assert not proving._is_able("CLARABEL")
    with pytest.raises(InputError, match="none, so install one"):
        method_named("cvxpy")
    proving._is_able.cache_clear()


def test_the_default_is_the_first_that_works(monkeypatch):
    assert method_named("cvxpy").chosen == "CLARABEL"
    monkeypatch.setattr(proving, "_is_able", lambda solver: solver == "SCIPY")
    fallback = method_named("cvxpy")
    assert (fallback.chosen, fallback.name) == ("SCIPY", "cvxpy")


def test_without_cvxpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(MissingDependencyError, match=r"the method 'cvxpy' .* 'polycarve\[cvxpy\]'"):
        pc.carve(([[[1.0, 2.0]]], [None]), [(0, 1), (0, 1)], method="cvxpy")


@pytest.mark.parametrize("solver", [name for name in ("CLARABEL", "HIGHS") if name in THERE])
def test_nothing_but_the_answer_on_standard_output(solver):
    net, method = cases.DATA / "networks" / "fig19.npz", ("--method", f"cvxpy:{solver}")
    done = subprocess.run(
        [sys.executable, *f"-W error -m polycarve carve --json {net} --box -4 6".split(), *method],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["regions"] == 17
    assert json.loads(done.stdout)["method"] == f"cvxpy:{solver}"


def test_workers_change_nothing():
    case = cases.spec()["fig19"]
    alone = pc.carve(case.network, case.box, method="cvxpy:SCIPY")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert same(pc.carve(case.network, case.box, method="cvxpy:SCIPY", executor=pool), alone)
    for method in ("cvxpy", "cvxpy:SCS"):  # iterations do not start from the last answer
        alone = pc.carve(case.network, case.box, method=method)
        assert same(pc.carve(case.network, case.box, method=method, workers=3), alone)


# ---------------------------------------------------------------------- proofs


def exact_least(form, rows, lower, upper):
    """Minimise over a polygon by trying all its vertices; None if there is no interior."""
    sides = [[1, 0, -lower[0]], [0, 1, -lower[1]], [-1, 0, upper[0]], [0, -1, upper[1]], *rows]
    sides = [[Fraction(v) for v in side] for side in sides]
    corners = []
    for (a, b, c), (d, e, f) in combinations(sides, 2):
        if (det := a * e - b * d) != 0:
            x, y = (b * f - c * e) / det, (c * d - a * f) / det
            if all(p * x + q * y + r >= 0 for p, q, r in sides):
                corners.append((x, y))
    x, y = (
        (sum(values) / len(corners) for values in zip(*corners, strict=True)) if corners else (0, 0)
    )
    if not all(p * x + q * y + r > 0 for p, q, r in sides):
        return None
    return min(form[0] * x + form[1] * y + form[2] for x, y in corners)


entry = st.integers(-3, 3)
rows_of_three = st.lists(st.tuples(entry, entry, entry).filter(lambda r: any(r[:2])), max_size=5)


@solvers
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    form=st.tuples(entry, entry, entry),
    rows=rows_of_three,
    box=st.sampled_from([(-1, -1, 1, 1), (-2, 0, 3, 1), (100, -5, 101, 5), (0, 0, 2**-20, 1)]),
)
def test_the_least_value_is_between_its_bounds(solver, form, rows, box):
    want = exact_least(form, rows, box[:2], box[2:])
    if want is None:
        return
    net = pc.Network.from_arrays([[[1, 1]]], relu_last=True)
    program = compile_program(net, pc.Box(box[:2], box[2:]))
    engine = method_named(f"cvxpy:{solver}").solver(program)
    padded = np.array([[*row, 0.0] for row in rows]).reshape(-1, 4)
    least = engine.least(np.array([*form, 0.0]), padded)
    assert Fraction(least.low) <= want
    assert least.high == np.inf or want <= Fraction(least.high)
    if solver in ACCURATE and max(map(abs, box)) < 10:
        assert least.high - least.low < 1e-5
        assert abs(least.value - want) < 1e-6


def disturbed(size, seed, gives_up=0.0):
    """A solver that is off by `size` in points and multipliers, and sometimes gives up."""
    honest, rng = proving._solve, np.random.default_rng(seed)

    def solve(solver, options, g, A, c):
        point, multipliers, iterations = honest(solver, options, g, A, c)
        if rng.random() < gives_up:
            return None
        point = point + rng.normal(size=point.shape) * size
        return point, multipliers + rng.normal(size=multipliers.shape) * size, iterations

    return solve


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3, 0.1, 10])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["fig19", "zero biases", "parallel at 1e-07", "sliver of a box"])
def test_poor_answers_are_never_believed(name, size, seed, monkeypatch):
    if name == "fig19":
        net, domain = cases.spec()[name].network, cases.spec()[name].box
    else:
        net, domain = cases.DEGENERATE[name]()
    want = patterns(pc.carve(net, domain))
    method_named("cvxpy")  # found able while its answers are good
    monkeypatch.setattr(proving, "_solve", disturbed(size, seed, gives_up=0.1 if seed else 0.0))
    carving = pc.carve(net, domain, method="cvxpy")
    assert patterns(carving) == want or carving.n_doubtful > 0
    if size >= 0.1:
        assert carving.n_doubtful > 0
    inside = carving.point_is_interior
    assert {p for p, ok in zip(patterns(carving), inside, strict=True) if ok} <= set(want)


def test_a_solver_that_always_gives_up(monkeypatch):
    case = cases.spec()["fig19"]
    method_named("cvxpy")
    monkeypatch.setattr(proving, "_solve", lambda *args: None)
    carving = pc.carve(case.network, case.box, method="cvxpy")
    assert carving.n_doubtful > 0
    assert carving.complete


def test_a_solver_that_misses_its_tolerances_is_asked_again(monkeypatch):
    """Three iterations are too few: the status is read, and the values are not."""
    case = cases.spec()["fig19"]
    few = {"max_iter": 3}
    assert proving._solve("CLARABEL", few, np.ones(2), np.ones((1, 2)), np.ones(1)) is None
    monkeypatch.setitem(proving._OPTIONS, "CLARABEL", (few, {}))
    carving = pc.carve(case.network, case.box, method="cvxpy")
    assert carving.layer_counts == case.layer_counts
