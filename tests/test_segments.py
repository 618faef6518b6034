"""Segments: against exact pieces, against carvings of single ones, and by relations."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve.errors import DomainError, InputError, NetworkError, RegionIndexError
from polycarve.networks import Activation, Network
from polycarve.networks.locating import exact_pattern
from polycarve.networks.network import Layer
from polycarve.rational import ExactArray
from polycarve.segments import exact as exactly
from polycarve.segments import runs, stages
from polycarve.segments.sweep import _Sweep
from tests import cases
from tests.oracles import segments as oracle

relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SMALL = ("moons", "fig19", "rand_3-16-16-16", "rand_5-16-16", "rand_16-12", "rand_20-10-10")


def rows(found: pc.SegmentCarvings, i: int) -> list[tuple[int, ...]]:
    return [tuple(row) for row in found.patterns(i).tolist()]


def places(found: pc.SegmentCarvings, i: int) -> np.ndarray:
    """The breakpoints of a segment, each once."""
    return np.unique(found.breakpoints[found.offsets[i] : found.offsets[i + 1]])


def assert_exact(net: Network, X0: Any, X1: Any) -> tuple[int, int]:
    """Settled, all is right; unsettled, right or in doubt. Return how many are which of these."""
    settled, floats = pc.carve_segments(net, X0, X1), pc.carve_segments(net, X0, X1, exact=False)
    assert settled.total_doubtful == 0
    wrong = 0
    for i in range(len(settled)):
        pieces = oracle.pieces(net, X0[i], X1[i])
        want = [piece.bits for piece in pieces]
        assert rows(settled, i) == want
        assert settled.n_regions[i] == len(want)
        at = [float(piece.low) for piece in pieces[1:]]
        np.testing.assert_allclose(places(settled, i), at, rtol=0, atol=1e-12)
        guessed = rows(floats, i) == want
        assert guessed or floats.n_doubtful[i] > 0
        wrong += not guessed
    return int((floats.n_doubtful > 0).sum()), wrong


def corners(domain: pc.Box | pc.Space) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(domain, pc.Space):
        return np.full(domain.dim, -3.0), np.full(domain.dim, 3.0)
    return domain.lo.float64, domain.hi.float64


# ---------------------------------------------------------------------- against the exact oracle


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_families_between_random_points(name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    X0, X1 = np.random.default_rng(1).uniform(*corners(domain), (2, 30, net.input_dim))
    assert_exact(net, X0, X1)


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_families_between_points_of_a_grid(name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    lo, hi = (ExactArray.of(corner).fractions() for corner in corners(domain))
    steps = np.random.default_rng(2).integers(0, 7, (2, 30, net.input_dim))
    X0, X1 = (
        [
            [a + (b - a) * Fraction(int(k), 6) for a, b, k in zip(lo, hi, row, strict=True)]
            for row in end
        ]
        for end in steps
    )
    proper = [i for i in range(30) if X0[i] != X1[i]]
    assert_exact(net, [X0[i] for i in proper], [X1[i] for i in proper])


def test_doubts_are_few_and_guesses_are_good() -> None:
    """On degenerate networks too, floats mostly know; and where they do not, they guess well."""
    doubtful = wrong = total = 0
    for name in cases.DEGENERATE:
        net, domain = cases.DEGENERATE[name]()
        X0, X1 = np.random.default_rng(3).uniform(*corners(domain), (2, 20, net.input_dim))
        found = assert_exact(net, X0, X1)
        doubtful, wrong, total = doubtful + found[0], wrong + found[1], total + 20
    assert doubtful < total / 8
    assert wrong == 0


@st.composite
def networks(draw: st.DrawFn) -> Network:
    dim = draw(st.integers(1, 3))
    widths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    entry = st.integers(-2, 2)
    weights, biases, before = [], [], dim
    for width in widths:
        row = st.lists(entry, min_size=before, max_size=before)
        weights.append(draw(st.lists(row, min_size=width, max_size=width)))
        biases.append(draw(st.lists(entry, min_size=width, max_size=width)))
        before = width
    return Network.from_arrays(weights, biases, relu_last=True)


@relaxed
@given(net=networks(), data=st.data())
def test_small_integer_networks(net: Network, data: st.DataObject) -> None:
    point = st.lists(st.integers(-3, 3), min_size=net.input_dim, max_size=net.input_dim)
    pairs = st.tuples(point, point).filter(lambda pair: pair[0] != pair[1])
    ends = data.draw(st.lists(pairs, min_size=1, max_size=4))
    assert_exact(net, [a for a, _ in ends], [b for _, b in ends])


@pytest.mark.parametrize("seed", range(4))
def test_wider_integer_networks(seed: int) -> None:
    net = cases.integers(3, [12, 10, 8], seed, 2, biased=seed % 2 == 0)
    X0, X1 = np.random.default_rng(seed).integers(-4, 5, (2, 20, 3)).astype(float)
    proper = (X0 != X1).any(axis=1)
    assert_exact(net, X0[proper], X1[proper])


def test_segments_in_hyperplanes_and_through_the_origin() -> None:
    net = cases.integers(2, [6, 6], 4, 2, biased=False)
    normals = net.layers[0].weight.float64
    along = np.stack([-normals[:, 1], normals[:, 0]], axis=1)
    along = along[along.any(axis=1)]
    X0 = np.concatenate([along, along, np.zeros_like(along)])
    X1 = np.concatenate([3 * along, -2 * along, along + np.array([0.5, 0.25])])
    assert_exact(net, X0, X1)


# ---------------------------------------------------------------------- other activations


HARD_TANH = Activation("hard tanh", cuts=(-1, 1), jumps=(1, -1), offset=-1)
LEAKY = Activation("leaky", cuts=(0,), jumps=(Fraction(9, 10),), slope=Fraction(1, 10))
RELU3 = Activation("relu3", cuts=(0, 3), jumps=(1, -1))


def bent(law: Activation, seed: int) -> Network:
    """A network with a linear layer inside and connections that skip layers, small integers."""
    rng = np.random.default_rng(seed)

    def layer(n: int, m: int, law: Activation | None, inputs: tuple[int, ...]) -> Layer:
        weight = ExactArray.of(rng.integers(-2, 3, (n, m)))
        return Layer(weight, ExactArray.of(rng.integers(-2, 3, n)), law, inputs)

    return Network(
        [
            layer(5, 2, law, (0,)),
            layer(3, 5, None, (1,)),
            layer(4, 8, law, (1, 2)),
            layer(4, 6, law, (3, 0)),
            layer(3, 5, law, (1,)),
            layer(3, 12, law, (4, 5, 1)),
            layer(2, 3, None, (6,)),
        ],
        2,
    )


@pytest.mark.parametrize(
    "law", [HARD_TANH, LEAKY, RELU3, pc.networks.RELU], ids=lambda law: law.name
)
@pytest.mark.parametrize("seed", range(3))
def test_other_activations_and_skip_connections(law: Activation, seed: int) -> None:
    net, rng = bent(law, seed), np.random.default_rng(seed)
    assert_exact(net, *rng.uniform(-2, 2, (2, 15, 2)))
    X0, X1 = rng.integers(-4, 5, (2, 15, 2)) / 2
    proper = (X0 != X1).any(axis=1)
    assert_exact(net, X0[proper], X1[proper])


def test_cuts_of_one_unit_and_twins_among_cuts() -> None:
    """Of ``z`` and ``-z``, a cut at 1 and one at -1 are the same."""
    first = Layer(ExactArray.of([[1], [-1], [3]]), ExactArray.of([0, 0, 0]), HARD_TANH, (0,))
    net = Network([first], 1)
    found = pc.carve_segments(net, [-2], [2], exact=False)
    assert found.total_doubtful == 0
    assert found.breakpoints.tolist() == pytest.approx([1 / 4, 1 / 4, 5 / 12, 7 / 12, 3 / 4, 3 / 4])
    assert found.neurons.tolist() == [0, 3, 4, 5, 1, 2]
    assert_exact(net, [[-2]], [[2]])


# ---------------------------------------------------------------------- against carvings


ONE_DIMENSIONAL = [case for case in cases.ground_truths() if case.network.input_dim == 1]


@pytest.mark.parametrize("case", ONE_DIMENSIONAL, ids=lambda case: case.name)
def test_ground_truths_on_a_line(case: cases.TruthCase) -> None:
    wide = [Fraction(-(10**6))], [Fraction(10**6)]
    x0, x1 = (
        wide
        if isinstance(case.domain, pc.Space)
        else (case.domain.lo.fractions(), case.domain.hi.fractions())
    )
    found = pc.carve_segments(case.network, x0, x1)
    assert found.n_regions.tolist() == [case.regions]
    assert found.total_doubtful == 0
    assert_exact(case.network, [x0], [x1])


def test_there_are_ground_truths_on_a_line() -> None:
    assert len(ONE_DIMENSIONAL) > 10


@pytest.mark.parametrize("name", cases.spec())
def test_carvings_of_one_segment(name: str) -> None:
    case = cases.spec()[name]
    lo, hi = corners(case.box)
    n = 10 if name in SMALL else 2
    X0, X1 = np.random.default_rng(0).uniform(lo, hi, (2, n, case.dim))
    found = pc.carve_segments(case.network, X0, X1, exact=False)
    assert found.total_doubtful == 0
    for i in range(n):
        line = pc.carve(case.network, pc.Segment(X0[i], X1[i]))
        assert found.n_regions[i] == len(line)
        assert np.allclose(line.breakpoints, places(found, i), rtol=0, atol=1e-9)
        assert set(rows(found, i)) == {tuple(row) for row in line.patterns.tolist()}


@pytest.mark.parametrize("name", SMALL)
def test_neurons_named_at_a_breakpoint_are_those_that_flip(name: str) -> None:
    case = cases.spec()[name]
    X0, X1 = np.random.default_rng(1).uniform(*corners(case.box), (2, 4, case.dim))
    found = pc.carve_segments(case.network, X0, X1)
    for i in range(len(found)):
        start, end = ExactArray.of(X0[i]), ExactArray.of(X1[i])
        t = [Fraction(0), *map(Fraction, places(found, i).tolist()), Fraction(1)]
        assert t == sorted(set(t))
        seen = []
        for low, high in pairwise(t):
            middle = start + (end - start) * ExactArray.of([(low + high) / 2])
            seen.append(exact_pattern(case.network, middle))
        assert np.array_equal(seen, found.patterns(i))
        part = slice(found.offsets[i], found.offsets[i + 1])
        for k, place in enumerate(places(found, i)):
            named = found.neurons[part][found.breakpoints[part] == place]
            assert np.array_equal(np.flatnonzero(seen[k] != seen[k + 1]), named)


def random_network(dims: list[int], seed: int) -> Network:
    rng = np.random.default_rng(seed)
    sizes = list(zip(dims[1:], dims, strict=False))
    weights = [rng.uniform(-1, 1, (n, m)) / np.sqrt(m) for n, m in sizes]
    return Network.from_arrays(weights, [rng.uniform(-1, 1, n) / np.sqrt(m) for n, m in sizes])


@pytest.mark.parametrize("dims", [[784, 512, 512, 512, 10], [8, *[32] * 12, 2], [3, 300, 2]])
def test_networks_too_large_to_carve(dims: list[int]) -> None:
    """Forward passes between the breakpoints, where these leave room enough for floats."""
    net = random_network(dims, 0)
    X0, X1 = np.random.default_rng(1).uniform(0, 1, (2, 5, dims[0]))
    found = pc.carve_segments(net, X0, X1)
    assert found.total_doubtful == 0
    assert found.n_regions.min() > 10
    for i in range(len(found)):
        t = np.concatenate([[0.0], places(found, i), [1.0]])
        wide = np.diff(t) > 1e-8
        assert wide.mean() > 0.9
        middle = ((t[1:] + t[:-1]) / 2)[wide]
        X = X0[i] + middle[:, None] * (X1[i] - X0[i])
        assert np.array_equal(net.patterns(X), found.patterns(i)[wide])


# ---------------------------------------------------------------------- relations


def spec_segments(name: str, n: int) -> tuple[Network, np.ndarray, np.ndarray]:
    case = cases.spec()[name]
    X0, X1 = np.random.default_rng(5).uniform(*corners(case.box), (2, n, case.dim))
    return case.network, X0, X1


def assert_same(a: pc.SegmentCarvings, b: pc.SegmentCarvings) -> None:
    for name in ("offsets", "neurons", "n_regions", "n_doubtful", "_first"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    np.testing.assert_allclose(a.breakpoints, b.breakpoints, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_16-12"])
def test_permuting_segments_permutes_what_is_found(name: str) -> None:
    net, X0, X1 = spec_segments(name, 40)
    order = np.random.default_rng(0).permutation(40)
    plain, mixed = pc.carve_segments(net, X0, X1), pc.carve_segments(net, X0[order], X1[order])
    assert np.array_equal(mixed.n_regions, plain.n_regions[order])
    for i, place in enumerate(order):
        assert rows(mixed, i) == rows(plain, place)
        np.testing.assert_allclose(places(mixed, i), places(plain, place), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_16-12"])
def test_reversing_mirrors(name: str) -> None:
    net, X0, X1 = spec_segments(name, 40)
    there, back = pc.carve_segments(net, X0, X1), pc.carve_segments(net, X1, X0)
    for i in range(40):
        assert rows(back, i) == rows(there, i)[::-1]
        np.testing.assert_allclose(1 - places(back, i)[::-1], places(there, i), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_16-12"])
def test_halves_add_up(name: str) -> None:
    net, X0, X1 = spec_segments(name, 40)
    X0, X1 = np.round(X0 * 1024) / 1024, np.round(X1 * 1024) / 1024  # so that middles are exact
    middle = (X0 + X1) / 2
    whole = pc.carve_segments(net, X0, X1)
    left, right = pc.carve_segments(net, X0, middle), pc.carve_segments(net, middle, X1)
    for i in range(40):
        at = np.concatenate([places(left, i) / 2, 0.5 + places(right, i) / 2])
        np.testing.assert_allclose(at, places(whole, i), rtol=0, atol=1e-13)
        assert rows(left, i)[:-1] + rows(right, i) == rows(whole, i)


def test_halves_that_meet_in_a_breakpoint_add_up() -> None:
    net = cases.integers(2, [6, 5], 0, 2, biased=False)
    X1 = np.random.default_rng(0).integers(1, 6, (20, 2)).astype(float)
    whole = pc.carve_segments(net, -X1, X1)
    left, right = pc.carve_segments(net, -X1, [0, 0]), pc.carve_segments(net, [0, 0], X1)
    assert np.array_equal(whole.n_regions, left.n_regions + right.n_regions)
    for i in range(20):
        assert rows(left, i) + rows(right, i) == rows(whole, i)


@pytest.mark.parametrize("entries", [1, 64, 4096])
def test_chunks_do_not_show(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    net, X0, X1 = spec_segments("rand_2-32-32-32", 60)
    whole = pc.carve_segments(net, X0, X1)
    monkeypatch.setattr(runs, "_ENTRIES", entries)
    assert_same(pc.carve_segments(net, X0, X1), whole)


def test_a_chunk_that_grows_too_large_is_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    """After many short segments come long ones with far more breakpoints."""
    net = cases.spec()["rand_2-32-32-32"].network
    rng = np.random.default_rng(0)
    X0 = rng.uniform(-1, 1, (400, 2))
    X1 = X0 + np.where(np.arange(400) < 300, 1e-3, 4.0)[:, None] * rng.uniform(-1, 1, (400, 2))
    whole = pc.carve_segments(net, X0, X1)
    monkeypatch.setattr(runs, "_ENTRIES", 2048)
    assert_same(pc.carve_segments(net, X0, X1), whole)


def test_scaling_neurons_by_powers_of_two_changes_nothing() -> None:
    net, X0, X1 = spec_segments("moons", 20)
    weights = [np.array(layer.weight.float64) for layer in net.layers]
    biases = [np.array(layer.bias.float64) for layer in net.layers]
    factor = 2.0 ** np.array([40, -40, 3, 0, -7])
    weights[0] *= factor[:, None]
    biases[0] *= factor
    weights[1] /= factor
    assert_same(
        pc.carve_segments(Network.from_arrays(weights, biases), X0, X1),
        pc.carve_segments(net, X0, X1),
    )


# ---------------------------------------------------------------------- doubts and their settling


def test_what_is_made_of_zeros_is_zero_without_doubt() -> None:
    """Twins, constants, dead units, rays from the origin, and copies in later layers."""
    net = Network.from_arrays(
        [
            [[1, 2], [-3, -6], ["1/3", "2/3"], [0, 0], [0, 0], [2, -1]],
            [[1, 0, 0, 0, 0, 0], [-2, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0]],
        ],
        [[0, 0, 0, 0, 2, 0], [0, 0, 0, 0]],
        relu_last=True,
    )
    X0 = np.array([[-1.3, -0.4], [0.0, 0.0], [0.7, 0.1]])
    X1 = np.array([[0.9, 1.7], [0.3, 0.8], [-0.3, 0.2]])
    floats = pc.carve_segments(net, X0, X1, exact=False)
    assert floats.total_doubtful == 0
    assert assert_exact(net, X0, X1) == (0, 0)
    # The first neuron takes its twins and its copy in the next layer along.
    first = floats.breakpoints[: floats.offsets[1]][floats.neurons[: floats.offsets[1]] == 0]
    together = floats.neurons[: floats.offsets[1]][floats.breakpoints[: floats.offsets[1]] == first]
    assert together.tolist() == [0, 1, 2, 6, 8]


def test_flips_that_coincide_are_doubtful_until_settled() -> None:
    """Three lines through (1/3, 1/3), and lines 1e-17 apart."""
    net, _ = cases.DEGENERATE["three through one point"]()
    third = Fraction(1, 3)
    x0, x1 = [[third - 1, third - 2]], [[third + 2, third + 4]]
    assert pc.carve_segments(net, x0, x1, exact=False).total_doubtful > 0
    assert_exact(net, x0, x1)
    close = Network.from_arrays([[[1], [1]]], [["-1/3", "-0.33333333333333333"]], relu_last=True)
    assert pc.carve_segments(close, [0], [1], exact=False).total_doubtful > 0
    found = pc.carve_segments(close, [0], [1])
    assert found.n_regions.tolist() == [3]
    assert found.neurons.tolist() == [1, 0]
    assert found.breakpoints[0] < found.breakpoints[1]  # told apart, though both round to 1/3


def test_breakpoints_nearer_to_an_end_than_any_float() -> None:
    net = Network.from_arrays(
        [[[1], [1], [1]]], [["-1e-400", "-2e-400", Fraction(1, 10**30) - 1]], relu_last=True
    )
    found = pc.carve_segments(net, [0], [1])
    assert found.n_regions.tolist() == [4]
    t = found.breakpoints
    assert found.neurons.tolist() == [0, 1, 2]
    assert 0 < t[0] < t[1] < 1e-300
    assert 0.9999999 < t[2] < 1


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-150, 1e150, 1e200, 1e300])
def test_numbers_whose_products_floats_cannot_hold(scale: float) -> None:
    """In the weights of each layer, and in the ends."""
    first = np.array([[1.0, -2.0], [3.0, 1.0], [-1.0, -1.5]])
    second = np.array([[1.0, -1.0, 2.0], [-2.0, 1.0, 0.5]])
    X0, X1 = np.array([[-1.0, -0.75], [0.5, 0.25]]), np.array([[1.0, 0.5], [-0.25, -1.0]])
    for parts, ends in (
        ([first * scale, second], 1.0),
        ([first, second * scale], 1.0),
        ([first * scale, second * scale], 1.0),
        ([first, second], scale),
    ):
        net = Network.from_arrays(parts, [[0.125, 0, 0.5], [0.25, 0]], relu_last=True)
        assert_exact(net, X0 * ends, X1 * ends)


def test_numbers_that_only_seem_to_vanish() -> None:
    """What becomes zero as a float, in the ends, the weights or the biases, is none."""
    tiny = Fraction(1, 10**400)
    plain = Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    assert_exact(plain, [[tiny, 1], [-tiny, 1]], [[2 * tiny, 2], [tiny, 2]])
    weight = Network.from_arrays([[[1, 0], [0, 1]], [[1, tiny]]], relu_last=True)
    assert_exact(weight, [[-1, 1]], [[2, 2]])
    bias = Network.from_arrays([[[1, 0], [0, 1]], [[1, 0]]], [[0, 0], [tiny]], relu_last=True)
    assert_exact(bias, [[-1, 1]], [[2, 2]])


def test_an_input_that_only_seems_to_vanish_at_a_breakpoint() -> None:
    """Where y passes 1/2, x is 2^-53, but interpolation makes it zero."""
    first = Layer(ExactArray.of([[0, 1]]), ExactArray.of(["-1/2"]), pc.networks.RELU, (0,))
    second = Layer(ExactArray.of([[0, 1, 0]]), ExactArray.of([0]), pc.networks.RELU, (1, 0))
    net = Network([first, second], 2)
    X0, X1 = [[-1.0, 0.0]], [[1.0 + 2.0**-52, 1.0]]
    assert pc.carve_segments(net, X0, X1).n_regions.tolist() == [3]
    assert_exact(net, X0, X1)


@pytest.mark.parametrize("between", [0, 1, 2])
def test_errors_are_handed_on_from_layer_to_layer(between: int) -> None:
    """What cancels in the first layer leaves an error that the later ones could not make.

    The last layer's neuron flips within it of where another one of the first layer does.
    """
    rng = np.random.default_rng(0)
    floats_wrong = 0
    for _ in range(40):
        X0, X1 = np.array([[0.0, 0.0]]), rng.uniform(0.9, 1.1, (1, 2))
        a = 1e8 * rng.uniform(1, 2)
        b = a * X1[0, 0] / X1[0, 1] * (1 - 1e-7)
        at = rng.uniform(0.3, 0.7)
        value = at * (a * X1[0, 0] - b * X1[0, 1])
        net = Network.from_arrays(
            [[[a, -b], [1, 0]], *[[[1, 0]], [[1]], [[1]]][: between + 1]],
            [[0, -at * X1[0, 0]], *[[0]] * between, [-value]],
            relu_last=True,
        )
        doubtful, wrong = assert_exact(net, X0, X1)
        assert doubtful == 1
        floats_wrong += wrong
    assert floats_wrong > 0  # so that the doubts were due


def test_no_other_breakpoint_may_lie_where_a_copy_is_near_zero() -> None:
    """A copy of a first-layer neuron flips with it, but next to a value of 1e9 not so surely."""
    net = Network.from_arrays([[[1, 0], [0, 1e9]], [[1, 0]]], relu_last=True)
    ends = np.array([[-1.0, 1.0]]), np.array([[1.0, 2.0]])
    for k, least, most in ((1, 0.0, 1e-13), (2, 1e-8, 1e-4)):
        run = _Sweep(stages.stages_of(net)[:k], *ends, np.zeros(1, np.int64), 10**6)
        run.run()
        assert run.nodes.t.tolist() == [0.0, 0.5, 1.0]
        assert least < run.nodes.reach[1] < most
    assert pc.carve_segments(net, *ends, exact=False).total_doubtful == 0


def test_copies_in_later_layers_need_no_doubt() -> None:
    """A breakpoint is exactly where it is for all that is made of the neuron that flips there."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(6, 3))
    copies = np.diag(rng.uniform(-2, 2, 6))
    net = Network.from_arrays(
        [first, np.abs(copies), copies], [rng.normal(size=6), [0] * 6, [0] * 6], relu_last=True
    )
    X0, X1 = rng.uniform(-2, 2, (2, 50, 3))
    assert assert_exact(net, X0, X1) == (0, 0)
    assert pc.carve_segments(net, X0, X1).n_regions.max() > 3


def test_exact_settles_nothing_within_reason_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    net = cases.integers(2, [6, 6], 4, 2, biased=False)
    X0, X1 = np.random.default_rng(0).integers(-9, 10, (2, 60, 2)).astype(float)
    X0[::2] = -X1[::2]  # through the origin
    hard = pc.carve_segments(net, X0, X1, exact=False).n_doubtful > 0
    X0, X1 = X0[hard], X1[hard]
    nothing = pc.carve_segments(net, X0, X1, exact=False)
    assert len(np.unique(nothing.n_regions)) > 3
    assert pc.carve_segments(net, X0, X1).total_doubtful == 0
    monkeypatch.setattr(runs, "_EXACT_WORK", 10_000)
    monkeypatch.setattr(runs, "_EXACT_BATCH", 2_500)
    some = pc.carve_segments(net, X0, X1)
    left = some.n_doubtful > 0
    assert 0 < left.sum() < len(X1)
    assert nothing.n_regions[~left].max() <= nothing.n_regions[left].min()  # the cheapest first
    everything = pc.carve_segments(net, X0, X1, exact=True)
    assert everything.total_doubtful == 0
    for i in range(len(X1)):
        want = [piece.bits for piece in oracle.pieces(net, X0[i], X1[i])]
        assert rows(everything, i) == want
        if not some.n_doubtful[i]:
            assert rows(some, i) == want


def test_deep_networks_say_where_bounds_fail() -> None:
    """Twenty layers that stretch: what the bounds cannot hold is in doubt, and exactly right."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(16, m)) * np.sqrt(2 / m) for m in [2, *[16] * 19]]
    net = Network.from_arrays(weights, [rng.normal(size=16) * 0.1 for _ in weights], relu_last=True)
    X0, X1 = rng.uniform(-1, 1, (2, 6, 2))
    floats, settled = (pc.carve_segments(net, X0, X1, exact=exact) for exact in (False, True))
    exact = exactly.sweep(net, ExactArray.of(X0), ExactArray.of(X1))
    assert np.array_equal(settled.n_regions, exact.n_regions)
    sure = floats.n_doubtful == 0
    assert np.array_equal(floats.n_regions[sure], exact.n_regions[sure])


def test_bounds_of_norms() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 5), (40, 7), (64, 64)):
        W = rng.normal(size=shape)
        top = float(np.linalg.norm(W, 2))
        assert top <= stages.spectral_bound(W) <= 1.2 * top
        assert stages.spectral_bound(1e-200 * W) == pytest.approx(1e-200 * stages.spectral_bound(W))
    assert stages.spectral_bound(np.zeros((2, 3))) == 0.0


# ---------------------------------------------------------------------- the result, the arguments


NET = Network.from_arrays([[[1, 0], [0, 1], [1, 1]], [[1, -2, 1]]], [[0, 0, -1], [0]])


def test_columns() -> None:
    found = pc.carve_segments(NET, [[-1, -2], [1, 1], [-1, 1]], [[1, 1], [2, 3], [1, 2]])
    assert len(found) == 3
    assert found.network is NET
    assert found.X0.tolist() == [[-1, -2], [1, 1], [-1, 1]]
    assert found.offsets.tolist() == [0, 3, 3, 5]
    assert found.neurons.tolist() == [0, 1, 2, 2, 0]
    assert found.breakpoints.tolist() == pytest.approx([1 / 2, 2 / 3, 4 / 5, 1 / 3, 1 / 2])
    assert found.n_regions.tolist() == [4, 1, 3]
    assert found.n_doubtful.tolist() == [0, 0, 0]
    assert found.patterns(1).tolist() == found.patterns(-2).tolist() == [[1, 1, 1]]
    assert repr(found) == "<SegmentCarvings: 3 segments, 8 regions>"
    with pytest.raises(ValueError, match="read-only"):
        found.breakpoints[0] = 0.0
    for name, dtype in (("breakpoints", "f8"), ("neurons", "i8"), ("offsets", "i8"),
                        ("n_regions", "i8"), ("n_doubtful", "i8")):  # fmt: skip
        assert getattr(found, name).dtype == dtype


def test_one_end_for_all_and_other_kinds_of_numbers() -> None:
    X1 = np.array([[1.0, 1.0], [2.0, -3.0]])
    want = pc.carve_segments(NET, np.tile([-1.0, -2.0], (2, 1)), X1)
    for x0 in ([-1, -2], np.array([[-1, -2]]), [Fraction(-1), "-2"], np.float32([-1, -2])):
        assert_same(pc.carve_segments(NET, x0, X1), want)
    assert_same(pc.carve_segments(NET, [-1, -2], X1.tolist()), want)
    assert len(pc.carve_segments(NET, [-1, -2], [1, 1])) == 1
    assert_same(pc.carve_segments((NET_ARRAYS), [-1, -2], X1), want)


NET_ARRAYS = (
    [layer.weight.float64 for layer in NET.layers],
    [layer.bias.float64 for layer in NET.layers],
)


def test_torch_modules_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    found = pc.carve_segments(module, torch.zeros(2), torch.ones(4, 2, requires_grad=True))
    assert len(found) == 4


def test_exact_ends_are_kept() -> None:
    """A breakpoint at a distance of 1e-20 from the end, which floats would not know of."""
    net = Network.from_arrays([[[1]]], [["-1/3"]], relu_last=True)
    beyond = Fraction(1, 3) + Fraction(1, 10**20)
    assert pc.carve_segments(net, [0], [beyond]).n_regions.tolist() == [2]
    assert pc.carve_segments(net, [0], [Fraction(1, 3)]).n_regions.tolist() == [1]
    # Two points that are one as floats make a segment all the same.
    assert pc.carve_segments(net, [Fraction(1, 3) - Fraction(1, 10**20)], [beyond]).n_regions == [2]


def test_nothing_to_do() -> None:
    empty = pc.carve_segments(NET, np.zeros((0, 2)), np.zeros((0, 2)))
    assert len(empty) == 0
    assert empty.offsets.tolist() == [0]
    linear = pc.carve_segments(Network.from_arrays([[[1, 2]]]), [0, 0], [[1, 1], [2, 1]])
    assert linear.n_regions.tolist() == [1, 1]
    assert linear.patterns(0).shape == (1, 0)
    tiny = pc.carve_segments(Network.from_arrays([[[1, 2]]]), [Fraction(1, 10**400), 0], [1, 1])
    assert (tiny.n_regions.tolist(), tiny.total_doubtful) == ([1], 0)
    constant = Network.from_arrays([[[0, 0]]], [[1]], relu_last=True)
    assert rows(pc.carve_segments(constant, [0, 0], [1, 1]), 0) == [(1,)]


def test_progress_is_told() -> None:
    told: list[tuple[float, int]] = []
    net, X0, X1 = spec_segments("moons", 200)
    found = pc.carve_segments(net, X0, X1, progress=lambda done, n: told.append((done, n)))
    assert told[-1] == (1.0, found.n_regions.sum())
    assert told == sorted(told)
    told.clear()
    net = cases.integers(2, [6, 6], 4, 2, biased=False)
    X1 = np.arange(1.0, 41.0).reshape(20, 2)
    found = pc.carve_segments(net, -X1, X1, progress=lambda done, n: told.append((done, n)))
    assert told[-1] == (1.0, found.n_regions.sum())
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0][0] < 1.0


@pytest.mark.parametrize(
    ("X0", "X1", "message"),
    [
        ([[0, 0], [1, 1]], [[1, 0], [1, 1]], "segment 1 is a single point"),
        ([1, 1], [[2, 1], [3, 1], [1, 1]], "segment 2 is a single point"),
        (["1/3", 0], ["1/3", 0], "segment 0 is a single point"),
        ([0, 0, 0], [1, 1], r"X0 has shape \(3,\); the network reads 2"),
        ([0, 0], np.ones((4, 3)), r"X1 has shape \(4, 3\)"),
        (np.zeros((2, 2)), np.ones((3, 2)), "X0 has 2 rows and X1 has 3"),
        (np.zeros((1, 1, 2)), [1, 1], "X0 has shape"),
        (0.0, [1, 1], "X0 "),
        ([[0, 0], [0, np.nan]], [1, 1], "X0"),
        (np.array([[0, 0], [0, np.nan]]), [1, 1], "row 1 of X0 has NaN or infinity"),
        ([0, 0], np.array([np.inf, 1]), "row 0 of X1 has NaN or infinity"),
        ([0, 0], [1j, 1], "X1"),
        ([0, 0], np.array([1j, 1]), "not real"),
        ([0, 0], ["1e400", 1], "too large"),
        ([0, 0], ["one", 1], "not a finite number"),
        ([0, 0], None, "X1 is of type NoneType"),
        ([[0, 0], [1]], [1, 1], "different lengths"),
        ([], [1, 1], "X0 has shape"),
    ],
)
def test_ends_that_are_refused(X0: Any, X1: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message) as caught:
        pc.carve_segments(NET, X0, X1)
    assert caught.value.__cause__ is None


def test_other_arguments_that_are_refused() -> None:
    with pytest.raises(NetworkError, match="is not a network"):
        pc.carve_segments("net", [0], [1])
    with pytest.raises(InputError, match="exact is 'yes'"):
        pc.carve_segments(NET, [0, 0], [1, 1], exact="yes")
    with pytest.raises(InputError, match="progress is 3"):
        pc.carve_segments(NET, [0, 0], [1, 1], progress=3)
    found = pc.carve_segments(NET, [0, 0], [1, 1])
    with pytest.raises(RegionIndexError, match="index 1 is out of range: there are 1 segments"):
        found.patterns(1)
    for wrong in ("a", 1.5, slice(2)):
        with pytest.raises(InputError, match=r"by index|at a time"):
            found.patterns(wrong)
