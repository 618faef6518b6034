"""Method ``vertices`` beside two exact referees and the other method; its doubts and buffers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import InputError
from polycarve.networks import RELU, Activation, Layer, Network
from polycarve.rational import ExactArray
from polycarve.splitting import drive, vertices
from polycarve.splitting.kernels import sums
from polycarve.splitting.kernels.exactness import vanishes
from polycarve.splitting.method import method_named
from polycarve.splitting.program import ACTIVE, INACTIVE, Program, compile_program
from tests import cases
from tests.oracles import exact, polygons

# In more dimensions, or with more regions, the other method would take long.
SPEC = [name for name, case in cases.spec().items() if case.dim <= 6]
LARGE = {"rand_2-256-256-256", "rand_3-64-64-64", "rand_4-40-40", "rand_6-20-20"}
TRUTHS = {case.name: case for case in cases.ground_truths()}
SQUARE = pc.Box.cube(-1, 1, dim=2)


def patterns(carving: pc.Carving) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carving.patterns.tolist()]


def assert_same(a: pc.Carving, b: pc.Carving) -> None:
    assert np.array_equal(a.packed, b.packed)


def assert_points_hold(carving: pc.Carving) -> None:
    """Every point said to be interior lies in its region, by exact arithmetic."""
    for region in carving:
        if region.point_is_interior:
            assert region.contains(region.point)
            assert region.halfspaces().A.shape[1] == carving.domain.dim


# ---------------------------------------------------------------------- known lists and counts


@pytest.mark.parametrize("name", SPEC)
def test_spec(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box, method="vertices")
    assert carving.method == "vertices"
    assert carving.layer_counts == case.layer_counts
    assert carving.n_doubtful == 0
    assert carving.point_is_interior.all()
    some = np.random.default_rng(0).choice(len(carving), min(len(carving), 20_000), replace=False)
    want = np.unpackbits(carving.packed[some], axis=1, count=case.network.n_neurons)
    assert np.array_equal(case.network.patterns(carving.points[some]), want)
    if name not in LARGE:
        assert_same(carving, pc.carve(case.network, case.box, method="simplex"))


def test_there_are_13_spec_networks_in_few_dimensions() -> None:
    assert len(SPEC) == 13
    assert set(SPEC) >= LARGE


@pytest.mark.parametrize("name", TRUTHS)
def test_ground_truth(name: str) -> None:
    case = TRUTHS[name]
    carving = pc.carve(case.network, case.domain, method="vertices")
    assert len(carving) == case.regions
    assert_same(carving, pc.carve(case.network, case.domain, method="simplex"))


@pytest.mark.parametrize(
    ("name", "regions"),
    [("moons", 93), ("fig19", 17), ("rand_2-32-32-32", 5355), ("rand_3-16-16-16", 20295)],
)
def test_all_of_space(name: str, regions: int) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, pc.Space(case.dim), method="vertices")
    assert len(carving) == regions
    if name.startswith("rand"):
        assert carving.n_doubtful == 0  # though every cell touches the apex of the cone
    inside = carving.point_is_interior
    assert inside.mean() > 0.999
    assert np.array_equal(case.network.patterns(carving.points[inside]), carving.patterns[inside])


# ---------------------------------------------------------------------- small integers


@pytest.mark.parametrize("seed", range(40))
def test_integers_in_the_plane_beside_polygons(seed: int) -> None:
    net = cases.integers(2, [5, 4, 4][: 2 + seed % 2], seed, 1 + seed % 3, biased=seed % 5 > 0)
    box = SQUARE if seed % 2 else pc.Box([-2, "-2/3"], [1, 3])
    carving = pc.carve(net, box, method="vertices")
    found = polygons.cells(net, box)
    assert patterns(carving) == sorted(found)
    assert_points_hold(carving)


@pytest.mark.parametrize("seed", range(60))
def test_integers_beside_exact_programs(seed: int) -> None:
    dim = 1 + seed % 3
    widths = [[4, 4, 3], [4, 3, 3], [3, 3]][dim - 1]
    net = cases.integers(dim, widths, 100 + seed, 1 + seed % 3, biased=seed % 4 > 0)
    domain = pc.Space(dim) if seed % 2 else pc.Box.cube(-2, 1, dim=dim)
    carving = pc.carve(net, domain, method="vertices")
    assert patterns(carving) == exact.regions(net, domain)
    assert_points_hold(carving)


@pytest.mark.parametrize("seed", range(12))
def test_integers_in_four_and_five_dimensions(seed: int) -> None:
    dim = 4 + seed % 2
    net = cases.integers(dim, [4, 3], 300 + seed, 2)
    domain = pc.Space(dim) if seed % 3 == 0 else pc.Box.cube(-1, 1, dim=dim)
    assert patterns(pc.carve(net, domain, method="vertices")) == exact.regions(net, domain)


@pytest.mark.parametrize("seed", range(24))
def test_polytopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = 1 + seed % 3
    sides = rng.integers(-3, 4, (1 + seed % 5, dim)), rng.integers(1, 5, 1 + seed % 5)
    domain = pc.Polytope(*sides)
    net = cases.integers(dim, [3, 3], 500 + seed, 2)
    assert patterns(pc.carve(net, domain, method="vertices")) == exact.regions(net, domain)


def test_slices_and_segments() -> None:
    net = cases.integers(4, [5, 4], 1, 2)
    plane = pc.Slice([0, 1, 0, "1/3"], [[1, 0, 2, 0], [0, 1, -1, 1]], domain=SQUARE)
    assert patterns(pc.carve(net, plane, method="vertices")) == exact.regions(net, plane)
    line = pc.Segment([-1, -2, 0, 3], [2, 1, 1, -3])
    assert patterns(pc.carve(net, line, method="vertices")) == exact.regions(net, line)


# ---------------------------------------------------------------------- almost degenerate


def _perturbed(rng: Any, n: int, m: int) -> tuple[Any, Any]:
    """Small integers, moved by less and less until nothing is left of it."""
    e = 2.0 ** -int(rng.integers(20, 54))
    A = rng.integers(-3, 4, (n, m)) + e * rng.integers(-1, 2, (n, m))
    return A, rng.integers(-3, 4, n) * int(rng.integers(0, 2)) + e * rng.integers(-1, 2, n)


def _quotients(rng: Any, n: int, m: int) -> tuple[Any, Any]:
    def draw() -> Fraction:
        return Fraction(int(rng.integers(-3, 4)), int(rng.integers(1, 8)))

    return [[draw() for _ in range(m)] for _ in range(n)], [draw() for _ in range(n)]


def _scaled(rng: Any, n: int, m: int) -> tuple[Any, Any]:
    A, b = rng.integers(-3, 4, (n, m)), rng.integers(-3, 4, n)
    scale = np.ldexp(1.0, rng.integers(-30, 31, n))
    return A * scale[:, None], b * scale


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("draw", [_perturbed, _quotients, _scaled])
def test_wrong_lists_are_doubtful(draw: Callable[..., Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 4))
    widths = [dim, *rng.integers(1, 5, 2).tolist()]
    layers = [draw(rng, n, m) for m, n in pairwise(widths)]
    net = Network.from_arrays([A for A, _ in layers], [b for _, b in layers], relu_last=True)
    domain = pc.Space(dim) if seed % 3 == 0 else pc.Box.cube(-1, 1, dim=dim)
    carving = pc.carve(net, domain, method="vertices")
    want = exact.regions(net, domain)
    assert patterns(carving) == want or carving.n_doubtful > 0
    for region in carving:
        if region.point_is_interior:
            assert tuple(region.pattern) in want
            assert region.contains(region.point)


@pytest.mark.parametrize(
    "name",
    [
        *("braid n=4 (x_n=0)", "type B_3", "type D_4", "Shi n=4", "Catalan n=3", "Resonance n=4"),
        *("Threshold n=3", "cube planes d=5", "generic central d=3 m=6", "graphical C5"),
        *("E3 max(-y,min(0,-x))", "E4 two quadrants touching", "Telgarsky tent L=7 on R"),
        *("Montufar fold d=2 pieces=[2, 2] last=5", "Hamming-1 non-adjacent H1 R^2"),
    ],
)
def test_short_numbers_leave_no_doubt(name: str) -> None:
    """Many hyperplanes through one point, forms that vanish on facets: all told exactly."""
    case = TRUTHS[name]
    carving = pc.carve(case.network, case.domain, method="vertices")
    assert (len(carving), carving.n_doubtful) == (case.regions, 0)


@pytest.mark.parametrize("name", ["dead zone", "hyperplane through a box corner", "dead layer"])
def test_exact_zeros_in_later_layers_leave_no_doubt(name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    assert pc.carve(net, domain, method="vertices").n_doubtful == 0


def test_points_that_no_float_is_leave_doubt() -> None:
    net, domain = cases.DEGENERATE["three through one point"]()
    assert pc.carve(net, domain, method="vertices").n_doubtful > 0


# ---------------------------------------------------------------------- what is known exactly


@pytest.mark.parametrize("seed", range(5))
def test_vanishes_is_right_and_misses_no_short_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for trial in range(400):
        k, digits = int(rng.integers(1, 5)), int(rng.choice([3, 20, 40]))
        u = np.ldexp(rng.integers(-(2**digits), 2**digits, k).astype(float), -digits)
        a = rng.integers(-9, 10, k).astype(float)
        constant = -sum((Fraction(v) * Fraction(x) for v, x in zip(a, u, strict=True)), Fraction(0))
        form = np.array([*a, float(constant)])
        if trial % 2:
            form[rng.integers(k + 1)] += 2.0 ** -int(rng.integers(30, 60))
        X = np.array([[*u, 0.0]]).T.copy()
        is_zero = sum(
            (Fraction(v) * Fraction(x) for v, x in zip(form, [*u, 1.0], strict=True)), Fraction(0)
        )
        said = vanishes(form, 0, 1, sums.EXACT, k, 0, X)
        assert said == (is_zero == 0)
        assert not vanishes(form, 0, 1, 0, k, 0, X)  # nothing is known of the form
    assert vanishes(np.array([0.3, 0.7, 0.0]), 0, 1, sums.FLAT, 2, 0, np.zeros((3, 1)))


def test_products_beyond_float64_do_not_seem_to_vanish() -> None:
    X = np.array([[1e-170], [0.0]])
    assert not vanishes(np.array([1e-170, 0.0]), 0, 1, sums.EXACT, 1, 0, X)


def _forms(program: Program, bits: Any) -> list[tuple[Any, Any, Any]]:
    """Every layer's forms for given states, by the kernels: columns, which are exact, errors."""
    work = vertices._Workspace(program, 0)
    p, path = work.problem, work.path
    marks = np.where(bits, ACTIVE, INACTIVE).astype(np.int8)
    path.marks[: len(marks)] = marks
    found = []
    for layer in range(program.n_layers):
        at, first, stop = path.slots_at[layer], *p.starts[layer : layer + 2]
        path.forms_at[layer] = at
        sums.begin_sums(layer, at, p.k, p.size, p.starts, p.layer_of, p.weights, p.weight_starts,
                        p.first_weights, p.sources, p.source_starts, p.bias, path.marks,
                        path.forms_at, path.blur, path.sums)  # fmt: skip
        if layer:
            on = np.flatnonzero(marks[p.starts[layer - 1] : first] == ACTIVE) + p.starts[layer - 1]
            path.order[: len(on)] = on
            sums.add_active(layer, path.order, 0, len(on), at, p.k, p.starts, p.weights,
                            p.first_weights, path.forms_at, path.blur, path.sums)  # fmt: skip
        sums.finish_forms(layer, at, p.k, p.size, p.starts, p.source_starts, path.sums, path.sizes,
                          path.blur)  # fmt: skip
        table = path.sums[at : at + (p.k + 2) * (stop - first)].reshape(p.k + 2, -1)
        is_exact = table[-1] <= p.exact_below[layer]
        found.append((table[:-1].copy(), is_exact, path.blur[first:stop].copy()))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_forms_are_exact_where_that_is_said_and_else_within_their_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    digits = [0, 4, 12, 20, 26, 40][seed % 6]
    widths = [2, 6, 6, 6, 5]
    weights = [
        np.ldexp(rng.integers(-(2**digits) - 1, 2**digits + 2, (n, m)).astype(float), -digits // 2)
        for m, n in pairwise(widths)
    ]
    biases = [np.ldexp(rng.integers(-9, 10, n).astype(float), -digits) for n in widths[1:]]
    net = Network.from_arrays(weights, biases, relu_last=True)
    program = compile_program(net, pc.Box(["-1/2", -3], [1, 1]))
    bits = rng.integers(0, 2, net.n_neurons)
    forms = _forms(program, bits)
    said = [is_exact for _, is_exact, _ in forms]
    for (A, c), (table, is_exact, blur) in zip(
        net.exact_preactivation_maps(bits), forms, strict=True
    ):
        right = np.array([*zip(*A.fractions(), strict=True), c.fractions()])
        off = np.vectorize(Fraction, otypes=[object])(table) - right
        assert not off[:, is_exact].any()
        # Values at corners of the box are as good as is said.
        for corner in ([-0.5, -3, 1], [-0.5, 1, 1], [1, -3, 1], [1, 1, 1]):
            assert (
                np.abs((np.array(corner) @ off).astype(float)) <= program.noise_ratio * blur
            ).all()
    if digits <= 4:
        assert all(layer.all() for layer in said)
    if digits >= 26:
        assert not said[-1].any()


# ---------------------------------------------------------------------- interruption, growth


def _mixed() -> Network:
    """Layers that read others than the one before, and other activations than ReLU."""
    rng = np.random.default_rng(4)
    leaky = Activation("leaky", (Fraction(0),), (Fraction(9, 10),), slope=Fraction(1, 10))
    clipped = Activation("clipped", (Fraction(-1), Fraction(1)), (Fraction(1), Fraction(-1)), 0, -1)
    plan = [
        ((4, 2), RELU, (0,)),
        ((3, 6), leaky, (0, 1)),
        ((3, 4), clipped, (1,)),
        ((4, 9), RELU, (3, 0, 1)),
        ((2, 6), RELU, (4, 0)),
    ]
    return Network(
        [
            Layer(
                ExactArray.of(rng.integers(-9, 10, shape) / 4),
                ExactArray.of(rng.integers(-9, 10, shape[0]) / 8),
                law,
                read,
            )
            for shape, law, read in plan
        ],
        2,
    )


CASES: dict[str, Callable[[], tuple[Network, Any]]] = {
    "moons": lambda: (cases.spec()["moons"].network, cases.spec()["moons"].box),
    "three dimensions": lambda: (cases.integers(3, [5, 4], 3, 2), pc.Box.cube(-1, 1, dim=3)),
    "a cone": lambda: (cases.integers(2, [4, 4, 3], 2), pc.Space(2)),
    "twins": lambda: cases.DEGENERATE["repeated neuron"](),
    "mixed": lambda: (_mixed(), SQUARE),
    "polytope": lambda: (
        cases.integers(2, [4, 4], 7, 2),
        pc.Polytope([[1, 2], [-1, 1], [0, -1]], [2, 2, 1]),
    ),
}


def _pieces(program: Program, **limits: int) -> tuple[Any, Any, int, float, int]:
    """Packed patterns, points, doubts, progress and rounds of a run that is often interrupted."""
    engine = method_named("vertices")
    packed, points, doubts, finished, rounds = [], [], 0, 0.0, 0
    rest = engine.start(program)
    while len(rest):
        step = engine.advance(program, rest, keep=True, **limits)
        rest = step.rest
        packed.append(step.leaves.packed)
        points.append(step.leaves.points)
        doubts += step.n_doubtful
        finished += step.finished
        rounds += 1
    return np.concatenate(packed), np.concatenate(points), doubts, finished, rounds


@pytest.mark.parametrize("name", CASES)
def test_interruptions_do_not_show(name: str) -> None:
    program = compile_program(*CASES[name]())
    packed, points, doubts, finished, rounds = _pieces(program, budget=10**9, capacity=10**6)
    assert rounds == 1
    for budget, capacity in [(1, 10**6), (10**9, 1), (5, 3), (40, 10**6), (10**9, 7)]:
        again = _pieces(program, budget=budget, capacity=capacity)
        assert again[4] > 1 or min(budget, capacity) > 5
        assert np.array_equal(again[0], packed)
        assert np.array_equal(again[1], points)
        assert again[2] == doubts
        assert again[3] == pytest.approx(1.0)
        assert finished == pytest.approx(1.0)


@pytest.mark.parametrize("name", CASES)
def test_small_buffers_do_not_show(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever there is too little of grows, and nothing else changes."""
    program = compile_program(*CASES[name]())
    want = _pieces(program, budget=10**9, capacity=10**6)
    grown = []

    class Tight(vertices._Workspace):
        def allocate(self) -> None:
            if not grown:
                self.n_columns = 1 << program.n_free
                self.n_listed, self.n_slots = int(np.diff(program.starts).max()), 2
            super().allocate()

        def grow(self, status: int) -> None:
            grown.append(status)
            super().grow(status)

    monkeypatch.setattr(vertices, "_Workspace", Tight)
    for limits in ({"budget": 10**9, "capacity": 10**6}, {"budget": 30, "capacity": 5}):
        grown.clear()
        again = _pieces(program, **limits)
        assert len(set(grown)) >= 2
        assert np.array_equal(again[0], want[0])
        assert np.array_equal(again[1], want[1])
        assert again[2] == want[2]
        assert again[3] == pytest.approx(1.0)


def test_mixed_layers_are_those_of_the_other_method() -> None:
    net = _mixed()
    for domain in (SQUARE, pc.Space(2)):
        assert_same(
            pc.carve(net, domain, method="vertices"), pc.carve(net, domain, method="simplex")
        )


def test_threads_change_nothing() -> None:
    case = cases.spec()["rand_4-16-16"]
    alone = pc.carve(case.network, case.box, method="vertices")
    shared = pc.carve(case.network, case.box, method="vertices", workers=3)
    assert_same(alone, shared)
    assert np.array_equal(alone.points, shared.points)


def _tangents(dim: int, count: int) -> Network:
    """Hyperplanes that all touch a ball: one region lies inside them all."""
    normals = np.random.default_rng(dim).normal(size=(count, dim))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Network.from_arrays([normals], [np.full(count, -0.5)], relu_last=True)


@pytest.mark.parametrize(("dim", "count"), [(2, 150), (3, 70)])
def test_cells_with_more_facets_than_a_word_has_bits(dim: int, count: int) -> None:
    net, box = _tangents(dim, count), pc.Box.cube(-1, 1, dim=dim)
    carving = pc.carve(net, box, method="vertices")
    assert len(carving[0].halfspaces().A) > 64
    assert carving[0].code == "i" * count
    assert_same(carving, pc.carve(net, box, method="simplex"))
    assert carving.n_doubtful == 0


def test_paths_longer_than_the_slots_for_sums() -> None:
    """In one dimension a path can split a cell once for every neuron."""
    n = 200
    first = np.ones((n, 1)), -np.arange(1, n + 1) / 2
    second = np.where(np.arange(n) % 2, 3.0, -3.0)[None], np.array([0.25])
    net = Network.from_arrays([first[0], second[0]], [first[1], second[1]], relu_last=True)
    carving = pc.carve(net, pc.Box([0], [n]), method="vertices")
    assert carving.layer_counts[0] == n + 1
    assert_same(carving, pc.carve(net, pc.Box([0], [n]), method="simplex"))


# ---------------------------------------------------------------------- what is refused


def test_many_dimensions_are_refused() -> None:
    net = Network.from_arrays([np.ones((1, 30))], relu_last=True)
    with pytest.raises(InputError, match="method='simplex'"):
        pc.carve(net, pc.Box.cube(0, 1, dim=30), method="vertices")
    assert len(pc.carve(net, pc.Segment([-1] * 30, [1] * 30), method="vertices")) == 2


def test_a_carving_needs_few_dimensions_only_where_it_is_carved() -> None:
    program = compile_program(
        Network.from_arrays([np.ones((2, 13))], relu_last=True),
        pc.Box([0] * 13, [1, *([0] * 12)]),
    )
    assert drive.run(program, method_named("vertices"), sink=None).n_regions == 1
