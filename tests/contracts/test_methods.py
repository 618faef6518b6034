"""What every method must answer, whatever it is made of."""

from __future__ import annotations

import numpy as np
import pytest

import polycarve as pc
from polycarve.splitting.method import METHODS, method_named
from polycarve.splitting.program import compile_program
from tests import cases
from tests.oracles import exact

methods = pytest.mark.parametrize("method", METHODS)
SMALL = ("moons", "fig19", "rand_16-12")
# Networks on which the slow reference would take minutes are left to the fast methods.
SLOW = {"highs", "cvxpy"}


def patterns(carving: pc.Carving) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carving.patterns.tolist()]


def assert_right_or_doubtful(carving: pc.Carving, want: list[tuple[int, ...]]) -> None:
    """A method may be coarse, but then it says so; the fast method is right here in any case."""
    assert patterns(carving) == want or (carving.method in SLOW and carving.n_doubtful > 0)


@methods
@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_families(method: str, name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    if domain.rank < domain.dim:
        want = _regions_on_flat_box(net, domain)
    else:
        want = exact.regions(net, domain)
    assert_right_or_doubtful(pc.carve(net, domain, method=method), want)


def _regions_on_flat_box(net: pc.Network, box: pc.Box) -> list[tuple[int, ...]]:
    """Substitute the flat coordinates into the first layer by hand."""
    lo, hi = box.lo.fractions(), box.hi.fractions()
    free = [j for j in range(box.dim) if lo[j] < hi[j]]
    layers = [(layer.weight.fractions(), layer.bias.fractions()) for layer in net.layers]
    W, b = layers[0]
    b = [
        c + sum(row[j] * lo[j] for j in range(box.dim) if j not in free)
        for row, c in zip(W, b, strict=True)
    ]
    layers[0] = ([[row[j] for j in free] for row in W], b)
    reduced = pc.Network.from_arrays([W for W, _ in layers], [b for _, b in layers], relu_last=True)
    return exact.regions(reduced, pc.Box([lo[j] for j in free], [hi[j] for j in free]))


@methods
@pytest.mark.parametrize("name", SMALL)
def test_known_counts(method: str, name: str) -> None:
    if method in SLOW and name == "rand_16-12":
        pytest.skip("4093 regions in 16 dimensions take the reference method minutes")
    if method == "vertices" and name == "rand_16-12":
        pytest.skip("a box of 16 dimensions has 65,536 corners: the method refuses it")
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box, method=method)
    assert carving.layer_counts == case.layer_counts
    assert carving.n_doubtful == 0


@methods
def test_points_have_their_patterns(method: str) -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box, method=method)
    assert carving.point_is_interior.all()
    assert np.array_equal(case.network.patterns(carving.points), carving.patterns)


@methods
@pytest.mark.parametrize("budget", [1, 2, 7, 20])
@pytest.mark.parametrize("capacity", [1, 3, 1000])
def test_interruptions_do_not_show(method: str, budget: int, capacity: int) -> None:
    """The same regions, points and doubts, however often the work is put down and taken up."""
    case = cases.spec()["fig19"]
    program, engine = compile_program(case.network, case.box), method_named(method)
    whole = engine.advance(program, engine.start(program), budget=10**9, capacity=10**6, keep=True)
    packed, points, doubts, finished, rounds = [], [], 0, 0.0, 0
    rest = engine.start(program)
    while len(rest):
        step = engine.advance(program, rest, budget=budget, capacity=capacity, keep=True)
        rest = step.rest
        packed.append(step.leaves.packed)
        points.append(step.leaves.points)
        doubts += step.n_doubtful
        finished += step.finished
        rounds += 1
    assert rounds > 1
    assert np.array_equal(np.concatenate(packed), whole.leaves.packed)
    assert np.array_equal(np.concatenate(points), whole.leaves.points)
    assert doubts == whole.n_doubtful
    assert finished == pytest.approx(1.0)


@methods
def test_any_part_of_the_frontier_can_go_elsewhere(method: str) -> None:
    """A piece of work is self-contained: pieces done in any order give the whole."""
    case = cases.spec()["moons"]
    program, engine = compile_program(case.network, case.box), method_named(method)
    step = engine.advance(program, engine.start(program), budget=20, capacity=10**6, keep=True)
    assert len(step.rest) > 2
    pieces = [
        engine.advance(program, step.rest[i : i + 1], budget=10**9, capacity=10**6, keep=True)
        for i in reversed(range(len(step.rest)))
    ]
    packed = [step.leaves.packed, *(piece.leaves.packed for piece in reversed(pieces))]
    whole = pc.carve(case.network, case.box, method=method)
    assert np.array_equal(np.concatenate(packed), whole.packed)


@methods
def test_counting_keeps_nothing(method: str) -> None:
    case = cases.spec()["moons"]
    program, engine = compile_program(case.network, case.box), method_named(method)
    step = engine.advance(program, engine.start(program), budget=10**9, capacity=10**6, keep=False)
    assert step.n_leaves == 66
    assert len(step.leaves) == 0
    assert pc.count_regions(case.network, case.box, method=method) == 66


@methods
def test_first_layer_alone(method: str) -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box, method=method, stop_layer=1)
    assert carving.layer_counts == (13,)


@methods
def test_what_floats_cannot_settle_is_counted(method: str) -> None:
    """Three lines through (1/3, 1/3), and lines 1e-15 apart: right or not, it is said."""
    net, domain = cases.DEGENERATE["three through one point"]()
    assert pc.carve(net, domain, method=method).n_doubtful > 0
    close = pc.Network.from_arrays([[[1, 2], [1, 2]], [[1, -1]]], [[0, 1e-15], [0]], relu_last=True)
    carving = pc.carve(close, domain, method=method)
    assert carving.n_doubtful > 0 or patterns(carving) == exact.regions(close, domain)


@pytest.mark.parametrize("method", ["simplex", "vertices"])
def test_what_needs_no_doubt_has_none(method: str) -> None:
    """Exact data and proofs that rounding cannot touch: repeated neurons, sides, the apex."""
    for name in (
        "repeated neuron",
        "negated copy",
        "copies scaled by powers of two",
        "zero row, zero bias",
        "zero row, positive bias",
        "dead layer",
    ):
        net, domain = cases.DEGENERATE[name]()
        assert pc.carve(net[:1], domain, method=method).n_doubtful == 0, name
    faces, box = cases.DEGENERATE["hyperplane on a box face"]()
    assert pc.carve(faces[:1], box, method=method).n_doubtful == 0
    through = pc.Network.from_arrays([[[1, 0], [0, 1], [1, 1], [1, -2]]], relu_last=True)
    assert pc.carve(through, box, method=method).n_doubtful == 0
