"""Networks that once gave trouble, kept so that they do not again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.networks import Activation, Layer, Network
from polycarve.rational import ExactArray
from polycarve.splitting.method import METHODS
from tests.oracles import exact


def random_network(seed: int, dim: int, widths: list[int]) -> Network:
    """Normal weights of the size that keeps activations alive, small biases."""
    rng, weights, biases, before = np.random.default_rng(seed), [], [], dim
    for width in widths:
        weights.append(rng.normal(size=(width, before)) * np.sqrt(2 / before))
        biases.append(rng.normal(size=width) * 0.1)
        before = width
    return Network.from_arrays(weights, biases, relu_last=True)


@pytest.mark.parametrize(
    ("seed", "dim", "widths"), [(14, 4, [4, 5]), (0, 5, [5, 5]), (3, 6, [4, 4]), (1, 8, [4, 3])]
)
def test_cones_with_blunt_vertices(seed: int, dim: int, widths: list[int]) -> None:
    """All cells of R^d touch the apex of its cone, where walks once went round in circles."""
    net = random_network(seed, dim, widths)
    found = [tuple(row) for row in pc.carve(net, pc.Space(dim)).patterns.tolist()]
    assert found == exact.regions(net, pc.Space(dim))


@pytest.mark.parametrize(("seed", "dim", "widths"), [(9, 6, [12, 12]), (0, 10, [12, 12])])
def test_boxes_in_which_walks_went_round(seed: int, dim: int, widths: list[int]) -> None:
    net = random_network(seed, dim, widths)
    carving = pc.carve(net, pc.Box.cube(-1, 1, dim=dim), limits=pc.Limits(max_regions=50_000))
    some = slice(None, None, 50)
    inside = carving.point_is_interior[some]
    assert inside.mean() > 0.99
    got = net.patterns(carving.points[some])[inside]
    assert np.array_equal(got, carving.patterns[some][inside])


def test_interior_points_are_found_where_they_creep_to_the_boundary() -> None:
    rng = np.random.default_rng(5)
    net = Network.from_arrays([rng.normal(size=(13, 11))], [rng.normal(size=13)], relu_last=True)
    carving = pc.carve(net, pc.Space(11))
    assert carving.point_is_interior.mean() > 0.995
    inside = carving.point_is_interior
    assert np.array_equal(net.patterns(carving.points[inside]), carving.patterns[inside])


@pytest.mark.parametrize("method", METHODS)
def test_underflow_is_never_silent(method: str) -> None:
    """Products of weights that vanish in float64 leave forms that only seem to be zero."""
    scale = Fraction(1, 2**600)
    weights = [[[3, -1], [1, 2]], [[1, -1], [-1, 2]]]
    tiny = [[[w * scale for w in row] for row in layer] for layer in weights]
    box = pc.Box.cube(-1, 1, dim=2)
    assert len(pc.carve(Network.from_arrays(weights, relu_last=True), box, method=method)) == 6
    carving = pc.carve(Network.from_arrays(tiny, relu_last=True), box, method=method)
    assert len(carving) == 6 or carving.n_doubtful > 0


@pytest.mark.parametrize("method", METHODS)
def test_overflow_is_one_clear_error(method: str) -> None:
    net = Network.from_arrays([[[1e12, 0], [0, 1e12]]] * 28, relu_last=True)
    with pytest.raises(pc.PolycarveError, match=r"[Rr]escale"):
        pc.carve(net, pc.Box.cube(-1, 1, dim=2), method=method)
    first = Network.from_arrays([[[2e160], [1]]], [[-1e-30, 1]], relu_last=True)
    with pytest.raises(pc.PolycarveError, match=r"overflow float64.*Rescale"):
        pc.carve(first, pc.Box([0], [1e300]), method=method)


@pytest.mark.parametrize("method", METHODS)
def test_fewer_cuts_than_coordinates(method: str) -> None:
    """A form that nothing feeds, read from more coordinates than there are cuts."""
    net = Network.from_arrays([[[0, 1, 1], [-1, -2, 0]], [[2, 2]]], relu_last=True)
    carving = pc.carve(net, pc.Space(3), method=method)
    assert [tuple(row) for row in carving.patterns] == exact.regions(net, pc.Space(3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [10**6, 10**9, 10**12])
def test_cancellation_is_never_silent(method: str, size: int) -> None:
    """Two neurons are the same function; rounding moves one by up to a thousandth of the box."""
    net = Network.from_arrays(
        [
            [["0.1", "0.3"], ["0.7", "2.1"], ["0.7", "-0.45"]],
            [[7 * size, -size, 1], [0, 0, 1]],
        ],
        [["0.9", "6.3", "2"], ["-1.97", "-1.97"]],
        relu_last=True,
    )
    carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2), method=method)
    assert [region.code for region in carving] == ["aaa|ii", "aaa|aa"] or carving.n_doubtful > 0


@pytest.mark.parametrize("method", METHODS)
def test_points_of_wrong_regions_are_not_called_interior(method: str) -> None:
    """Where a doubtful decision went wrong, no point may be said to prove the region."""
    e = 2**48
    net = Network.from_arrays(
        [[[-1], [-2]], [[1, 2], [-1, 0], [2, -2]], [[1, 2, -2], [1, 1, 0]]],
        [[-e, e], [e, 2 * e, 2 * e], [2 * e, 2 * e]],
        relu_last=True,
    )
    carving = pc.carve(net, pc.Space(1), method=method)
    true = {tuple(row) for row in exact.regions(net, pc.Space(1))}
    for region in carving:
        if region.point_is_interior:
            assert tuple(region.pattern) in true
            assert region.contains(region.point)
    assert {tuple(row) for row in carving.patterns.tolist()} == true or carving.n_doubtful > 0


def test_flat_sides_at_numbers_that_no_float_is() -> None:
    net = Network.from_arrays([[[1, 1], [1, -1]]], relu_last=True)
    thirds = pc.carve(net, pc.Box(["1/3", -1], ["1/3", 1]))
    assert len(thirds) == 3
    assert not thirds.point_is_interior.any()
    assert pc.carve(net, pc.Box(["0.25", -1], ["0.25", 1])).point_is_interior.all()


def test_region_at_with_other_cuts_than_zero() -> None:
    step = Activation("step", (Fraction(1),), (Fraction(1),))
    both = Activation("hardtanh", (-1, 1), (1, -1), offset=-1)
    eye, zero = ExactArray.eye(2), ExactArray.of([0, 0])
    corner = pc.region_at(Network([Layer(eye, zero, step, (0,))], 2), [1, 1])
    assert corner.code == "ii"
    assert (corner.point < 1).all()
    # For the second unit, z = 1 is its upper cut, and z > -1 its lower one.
    edge = pc.region_at(Network([Layer(eye, zero, both, (0,))], 2), [0, 1])
    assert edge.code == "aiai"
    assert -1 < edge.point[1] < 1
    assert edge.halfspaces().source.tolist() == [0, 1, 2, 3]


def test_limits_hold_where_steps_are_dear() -> None:
    """A step in a hundred dimensions costs a thousand times one in the plane."""
    rng = np.random.default_rng(0)
    net = Network.from_arrays(
        [rng.normal(size=(16, 100)) / 8], [rng.normal(size=16)], relu_last=True
    )
    calls: list[int] = []
    pc.carve(
        net,
        pc.Box.cube(0, 1, dim=100),
        limits=pc.Limits(max_regions=40),
        progress=lambda done, n: calls.append(n),
    )
    assert len(calls) > 3  # looked up from its work now and then, not only at the end


def test_carvings_are_sequences() -> None:
    carving = pc.carve(random_network(1, 2, [3, 2]), pc.Box.cube(-1, 1, dim=2))
    other = pc.carve(random_network(2, 2, [3, 2]), pc.Box.cube(-1, 1, dim=2))
    region = carving[2]
    assert region == carving[2]
    assert hash(region) == hash(carving[2])
    assert region in carving
    assert carving.index(region) == 2
    assert next(reversed(carving)) == carving[-1]
    assert other[0] not in carving
    assert region != carving[1]


def test_torch_modules_that_differ_only_far_away() -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Clipped(nn.Sequential):
        def forward(self, x):  # type: ignore[no-untyped-def]
            return super().forward(x.clamp(-6, 6))

    class Saturating(nn.ReLU):
        def forward(self, x):  # type: ignore[no-untyped-def]
            return super().forward(x).clamp(0, 20)

    for module in (
        Clipped(nn.Linear(2, 3), nn.ReLU()),
        nn.Sequential(nn.Linear(2, 3), Saturating()),
    ):
        with pytest.raises(pc.PolycarveError, match="computes something else"):
            Network.from_torch(module)

    hooked = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    hooked.register_forward_pre_hook(lambda module, inputs: (inputs[0].clamp(-50, 50),))
    with pytest.raises(pc.PolycarveError, match="computes something else"):
        Network.from_torch(hooked)


def test_contains_and_locate_where_floats_overflow() -> None:
    net = Network.from_arrays([[[4.0, -3.0]], [[1.0]]], [[0.0], [1.0]], relu_last=True)
    x = [1e308, 1e308]
    region = pc.region_at(net, x)
    assert region.contains(x)
    assert pc.carve(net, pc.Space(2)).locate([x]).tolist() == [1]


def test_decimals_with_endless_exponents_are_refused() -> None:
    for text in ("1e99999999", "-1E+123456", "1e-99999999"):
        with pytest.raises(pc.PolycarveError, match=r"finite number|too large"):
            pc.Box([text], [1])
    assert pc.Box(["-1e-300"], ["1e300"]).rank == 1
