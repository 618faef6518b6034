"""Polytopes as domains: read and refused exactly, carved as the box or the cone they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve.domains import programs
from polycarve.errors import DomainError, InputError
from polycarve.rational import ExactArray, strict_feasibility
from polycarve.splitting.method import METHODS
from tests import cases
from tests.oracles import exact

relaxed = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SQUARE = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])


def patterns(carving: pc.Carving) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carving.patterns.tolist()]


# ---------------------------------------------------------------------- what is read


def test_numbers_are_kept_exactly() -> None:
    third = pc.Polytope([["1/3", 0], [-1, 0], [0, "0.1"], [0, -1]], ["0.1", 0, Fraction(1, 7), 0])
    assert third.A.fractions()[0] == [Fraction(1, 3), 0]
    assert third.b.fractions() == [Fraction(1, 10), 0, Fraction(1, 7), 0]
    lo, hi = third.bounds()
    assert lo == pytest.approx([0, 0], abs=1e-12)
    assert hi == pytest.approx([0.3, 10 / 7])


@pytest.mark.parametrize(
    ("A", "b", "message"),
    [
        ([[1, 0], [-1, 0]], [0, -1], "empty: no input satisfies rows 0 and 1"),
        ([[0, 0], [1, 0]], [-1, 1], "row 0 of A is zero"),
        ([[1, 1], [-1, -1], [1, 0]], [1, -1, 5], "no interior: rows 0 and 1"),
        ([[1, 1], [-1, 0], [0, -1]], [0, 0, 0], "no interior: rows 0, 1 and 2"),
        # A sum of three tenths as decimals: empty by one part in ten to the thirty.
        ([["1"], ["-1"]], ["0.3", "-0.300000000000000000000000000001"], "empty"),
        ([["1"], ["-1"]], ["0.3", "-0.3"], "no interior"),
        ([[1, 0]], [1, 2], "1 rows and b has 2"),
        ([1, 0], [1], "matrix"),
        ([[1, 0], [1]], [1, 1], "one shape"),
        ([[1, float("nan")]], [1], "nan is not a finite number"),
        ([[1, 0]], ["inf"], "not a finite number"),
        ("Ab", [1], "not a sequence"),
    ],
)
def test_what_is_refused(A: object, b: object, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        pc.Polytope(A, b)  # type: ignore[arg-type]


def test_a_polytope_thinner_than_floats_is_refused_as_that() -> None:
    with pytest.raises(DomainError, match="so thin that no float64"):
        pc.Polytope([[1], [-1]], ["0.3000000000000000000001", "-0.3"])


@relaxed
@given(data=st.data(), dim=st.integers(1, 3))
def test_emptiness_and_boundedness_are_exact(data: st.DataObject, dim: int) -> None:
    entry = st.integers(-2, 2)
    row = st.lists(entry, min_size=dim, max_size=dim)
    m = data.draw(st.integers(1, 6))
    A = data.draw(st.lists(row, min_size=m, max_size=m))
    b = data.draw(st.lists(entry, min_size=m, max_size=m))
    rows = [[*(-v for v in a), c] for a, c in zip(A, b, strict=True) if any(a)]
    has_interior = strict_feasibility(rows, dim) and all(
        any(a) or c >= 0 for a, c in zip(A, b, strict=True)
    )
    if not has_interior:
        with pytest.raises(DomainError):
            pc.Polytope(A, b)
        return
    polytope = pc.Polytope(A, b)
    # Full-dimensional, so unbounded if points lie beyond any vertex: those are at most 8^3 away.
    far = [
        strict_feasibility([*rows, [*(sign * int(i == j) for i in range(dim)), -1000]], dim)
        for j in range(dim)
        for sign in (1, -1)
    ]
    assert polytope.is_bounded == (not any(far))
    assert polytope.rank == polytope.dim == dim


def test_exact_bounds_where_floats_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ExactArray.of([[1, 2, 3], [-3, 1, 5], [0, -1, "1/3"], [0, -1, 1]])
    near = programs.bounding_box(rows)
    monkeypatch.setattr(programs, "_multipliers", lambda rows, d: None)
    least = programs.bounding_box(rows)
    assert near is not None
    assert least is not None
    for loose, tight, sign in zip(near, least, (-1, 1), strict=True):
        gap = [sign * (a - b) for a, b in zip(loose.fractions(), tight.fractions(), strict=True)]
        assert all(0 <= g < 1e-9 for g in gap)
    assert programs.bounding_box(rows[:3, :]) is not None
    assert programs.bounding_box(rows[:2, :]) is None


def test_contains_is_closed_and_exact() -> None:
    triangle = pc.Polytope([[-1, 0], [0, -1], ["0.1", "0.1"]], [0, 0, "0.3"])
    tenth = float(Fraction(1, 10))
    assert triangle.contains([[0, 0], [3, 0], [0, np.nextafter(3.0, 4)]]).tolist() == [1, 1, 0]
    assert triangle.contains([tenth, 0])
    assert not triangle.contains([np.nan, 0])
    assert not triangle.contains([np.inf, 0])
    with pytest.raises(InputError, match=r"\(n, 2\)"):
        triangle.contains([1, 2, 3])


# ---------------------------------------------------------------------- what is carved


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["moons", "fig19"])
def test_a_polytope_equals_the_box_it_describes(method: str, name: str) -> None:
    case = cases.spec()[name]
    lo, hi = case.box.lo.fractions(), case.box.hi.fractions()
    as_box = pc.carve(case.network, case.box, method=method)
    as_rows = pc.carve(case.network, pc.Polytope(SQUARE, [hi[0], -lo[0], hi[1], -lo[1]]),
                       method=method)  # fmt: skip
    assert patterns(as_rows) == patterns(as_box)
    assert as_rows.n_doubtful == 0
    # Turned by a shear that a further layer undoes, no row is a side of the kernels' box.
    shear = np.array([[1, 1], [0, 1]])
    turned = pc.Polytope(SQUARE @ shear, [hi[0], -lo[0], hi[1], -lo[1]])
    weights = [layer.weight.float64 for layer in case.network.layers]
    biases = [layer.bias.float64 for layer in case.network.layers]
    net = pc.Network.from_arrays(
        [weights[0] @ shear, *weights[1:]], biases, relu_last=name == "fig19"
    )
    sheared = pc.carve(net, turned, method=method)
    assert sheared.layer_counts == as_box.layer_counts
    assert sheared.volumes().sum() == pytest.approx(as_box.volumes().sum())


def test_scaling_and_permuting_rows_changes_no_region() -> None:
    net = cases.spec()["moons"].network
    A = np.array([[3, 1], [-1, 2], [-1, -1], [0.5, -1], [1, 1]])
    b = np.array([4, 3, 2, 2.5, 9])
    plain = pc.carve(net, pc.Polytope(A, b))
    scale = np.array([2.0, 0.25, 1024.0, 0.5, 2.0**-30])
    scaled = pc.carve(net, pc.Polytope(A * scale[:, None], b * scale))
    order = [3, 0, 4, 2, 1]
    permuted = pc.carve(net, pc.Polytope(A[order], b[order]))
    for other in (scaled, permuted):
        assert np.array_equal(other.packed, plain.packed)
    assert len(plain) > 30
    assert plain.n_doubtful == 0


def test_facets_on_sides_are_named_by_the_rows_given() -> None:
    net = pc.Network.from_arrays([[[1, -1]]], relu_last=True)
    for A, b in [
        ([[5, 5], [0, 0], [-2, 0], [0, -1], [1, 1]], [10, 1, 0, 0, 2]),  # bounded
        ([[5, 5], [0, 0], [-2, 0]], [10, 1, 0]),  # unbounded
    ]:
        carving = pc.carve(net, pc.Polytope(A, b))
        rows = [r for region in carving for r in zip(*region.halfspaces(), strict=True)]
        sides = {-1 - source: (*a, c) for a, c, source in rows if source < 0}
        assert sides[0] == (5, 5, 10)
        assert sides[2] == (-2, 0, 0)
        assert set(sides) <= {0, 2, 3}


@pytest.mark.parametrize("name", ["moons", "rand_3-16-16-16", "rand_5-16-16"])
def test_cutting_the_domain_in_two(name: str) -> None:
    """count(D+) + count(D-) = count(D) + the regions that the plane cuts (THEORY 4.10)."""
    case = cases.spec()[name]
    d = case.dim
    sides = np.concatenate([np.eye(d), -np.eye(d)])
    level = np.concatenate([case.box.hi.float64, -case.box.lo.float64])
    normal = np.random.default_rng(4).normal(size=d)
    whole = pc.carve(case.network, case.box)
    halves = [
        pc.carve(
            case.network,
            pc.Polytope(np.concatenate([sides, [s * normal]]), np.append(level, s * 0.1)),
        )
        for s in (1.0, -1.0)
    ]
    both = set(patterns(halves[0])) & set(patterns(halves[1]))
    assert set(patterns(halves[0])) | set(patterns(halves[1])) == set(patterns(whole))
    assert len(halves[0]) + len(halves[1]) == len(whole) + len(both)
    assert both
    if d <= 3:  # those in both are those with corners on either side
        offsets, corners = whole.vertices()
        values = np.split(corners @ normal - 0.1, offsets[1:-1])
        cut = sum(part.min() < -1e-9 and part.max() > 1e-9 for part in values)
        assert cut == len(both)


@st.composite
def polytopes(draw: st.DrawFn, dim: int) -> pc.Polytope:
    entry = st.integers(-2, 2)
    row = st.lists(entry, min_size=dim, max_size=dim)
    m = draw(st.integers(1, 2 * dim + 2))
    A = draw(st.lists(row, min_size=m, max_size=m))
    b = draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))
    if draw(st.booleans()):
        A += np.concatenate([np.eye(dim), -np.eye(dim)]).astype(int).tolist()
        b += [2] * (2 * dim)
    try:
        return pc.Polytope(A, b)
    except DomainError:
        return pc.Polytope(np.eye(dim, dtype=int), [1] * dim)


@relaxed
@given(
    data=st.data(),
    seed=st.integers(0, 10**6),
    method=st.sampled_from(["simplex", "vertices", "highs"]),
)
def test_small_integer_networks_against_exact_arithmetic(
    data: st.DataObject, seed: int, method: str
) -> None:
    dim = data.draw(st.integers(1, 3))
    widths = data.draw(st.sampled_from([[3], [2, 2], [1, 2, 2], [4, 2]]))
    domain = data.draw(polytopes(dim))
    net = cases.integers(dim, widths, seed, 2)
    carving = pc.carve(net, domain, method=method)
    right = patterns(carving) == exact.regions(net, domain)
    assert right or (method == "highs" and carving.n_doubtful > 0)


@pytest.mark.parametrize("method", ["simplex", "vertices"])
@pytest.mark.parametrize("budget", [1, 3, 50])
def test_interruptions_do_not_show(budget: int, method: str) -> None:
    from polycarve.splitting.method import method_named
    from polycarve.splitting.program import compile_program

    domain = pc.Polytope([[3, 1], [-1, 2], [-1, -1], [0.5, -1]], [4, 3, 2, 2.5])
    program = compile_program(cases.spec()["moons"].network, domain)
    engine = method_named(method)
    whole = engine.advance(program, engine.start(program), budget=10**9, capacity=10**6, keep=True)
    rest, packed, points = engine.start(program), [], []
    while len(rest):
        step = engine.advance(program, rest, budget=budget, capacity=5, keep=True)
        rest = step.rest
        packed.append(step.leaves.packed)
        points.append(step.leaves.points)
    assert np.array_equal(np.concatenate(packed), whole.leaves.packed)
    assert np.array_equal(np.concatenate(points), whole.leaves.points)


def test_volumes_of_a_simplex_add_up() -> None:
    net = cases.spec()["rand_3-16-16-16"].network
    A = np.concatenate([-np.eye(3), np.ones((1, 3))])
    carving = pc.carve(net, pc.Polytope(A, [0.3, 0.3, 0.3, 0.6]))
    assert carving.volumes().sum() == pytest.approx(1.5**3 / 6, rel=1e-9)
    assert (carving.locate(carving.points) == np.arange(len(carving))).all()
    assert carving.domain.contains(carving.points).all()


def test_many_rows_in_many_dimensions() -> None:
    """A ball's outline of 200 tangent planes in twenty dimensions, around a network of 8-10."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 20))
    A /= np.linalg.norm(A, axis=1)[:, None]
    net = pc.Network.from_arrays([rng.normal(size=(8, 20)) * 0.3], [rng.normal(size=8)],
                                 relu_last=True)  # fmt: skip
    ball = pc.Polytope(A, np.ones(200))
    assert ball.is_bounded
    fast = pc.carve(net, ball)
    assert fast.n_doubtful == 0
    assert ball.contains(fast.points).all()
    assert np.array_equal(net.patterns(fast.points), fast.patterns)
    corner = pc.carve(net, pc.Polytope(A[:15], np.ones(15)))  # fewer rows than coordinates
    assert not corner.domain.is_bounded
    assert len(corner) == 256  # eight independent planes, nothing in their way
