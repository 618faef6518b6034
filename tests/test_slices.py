"""Slices and segments: the same regions as the space they cut, in coordinates of their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve.errors import DomainError, InputError
from polycarve.networks import locating
from polycarve.rational import ExactArray, strict_feasibility
from polycarve.splitting.method import METHODS
from tests import cases
from tests.oracles import exact

relaxed = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def patterns(carving: pc.Carving) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carving.patterns.tolist()]


def digits_slice() -> tuple[pc.Network, pc.Slice]:
    net = pc.Network.from_npz(cases.DATA / "networks" / "digits.npz")
    X = np.load(cases.DATA / "networks" / "digits_slice.npz")["X"]
    return net, pc.Slice.through(*X[:3], pad=1)


# ---------------------------------------------------------------------- what is read


def test_numbers_are_kept_exactly() -> None:
    plane = pc.Slice.through(["0.1", 0, 0], ["0.3", 0, 1], [0, "1/3", 0], pad="1/10")
    tenth = Fraction(1, 10)
    assert plane.directions.fractions() == [[2 * tenth, 0, 1], [-tenth, Fraction(1, 3), 0]]
    assert plane.domain == pc.Box.cube("-0.1", "1.1", dim=2)
    assert (plane.dim, plane.rank, plane.input_dim) == (2, 2, 3)
    assert plane.embed([[1, 0]]) == pytest.approx(np.array([[0.3, 0, 1]]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pc.Slice([0, 0], [[1, 1], [2, 2]]), "2 directions span only 1"),
        (lambda: pc.Slice([0, 0, 0], [["0.1", "0.2", 0], ["1", "2", 0]]), "span only 1"),
        (lambda: pc.Slice([0, 0], np.zeros((0, 2))), "span only 0"),
        (lambda: pc.Slice([0, 0], [[1, 2, 3]]), "one row of 2"),
        (lambda: pc.Slice([0, 0], [1, 2]), "one row of 2"),
        (lambda: pc.Slice([0, 0], [[1, 2]], domain=pc.Space(2)), "1 directions, but"),
        (lambda: pc.Slice([0, 0], [[1, 2]], domain=pc.Segment([0], [1])), "must be a Box"),
        (lambda: pc.Slice([0, 0], [[1, 2]], domain=7), "must be a Box"),
        (lambda: pc.Slice.through([0, 0], [1, 1], [2, 2]), "span only 1"),
        (lambda: pc.Slice.through([0, 0], [1, 1], [2, 2, 2]), "c has 3"),
        (lambda: pc.Slice.through([0, 0], [1, 1], [2, 0], pad=-1), "not be negative"),
        (lambda: pc.Segment([0, 1], [0, 1]), "same input"),
        (lambda: pc.Segment([0, 1], [0]), "x1 has 1"),
        (lambda: pc.Segment([0, "a"], [0, 1]), "x0"),
    ],
)
def test_what_is_refused(build: object, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        build()  # type: ignore[operator]


def test_the_network_must_read_what_the_slice_gives() -> None:
    with pytest.raises(DomainError, match="has 3 coordinates and the network reads 2"):
        pc.carve(cases.spec()["moons"].network, pc.Segment([0, 0, 0], [1, 1, 1]))
    carving = pc.carve(cases.spec()["moons"].network, pc.Box.cube(-3, 3, dim=2))
    with pytest.raises(InputError, match="not a line"):
        _ = carving.breakpoints
    part = pc.carve(cases.spec()["moons"].network, pc.Segment([-3, -3], [3, 3]),
                    limits=pc.Limits(max_regions=2))  # fmt: skip
    with pytest.raises(InputError, match="incomplete"):
        _ = part.breakpoints


# ---------------------------------------------------------------------- what is carved


def test_the_plane_through_three_digits() -> None:
    net, plane = digits_slice()
    carving = pc.carve(net, plane)
    assert carving.layer_counts == (413, 1171, 1789)
    assert carving.n_doubtful == 0
    assert carving.volumes().sum() == pytest.approx(9)
    assert np.array_equal(carving.locate(carving.points), np.arange(1789))
    assert np.array_equal(net.patterns(plane.embed(carving.points)), carving.patterns)


@pytest.mark.parametrize("method", METHODS)
def test_a_slice_equals_the_restriction_of_the_whole_carving(method: str) -> None:
    net = cases.integers(3, [4, 3], 11, 3)
    box = pc.Box.cube(-2, 2, dim=3)
    origin, directions = ["0.1", "-0.3", "0.2"], [[1, 0, "1/3"], [0, 1, "-0.7"]]
    reach = pc.Polytope(
        [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], ["1/3", "-0.7"], ["-1/3", "0.7"]],
        [1, "1.9", "2.1", "2.3", "1.7", "1.8", "2.2"],
    )  # the part of the plane that lies in the box
    plane = pc.Slice(origin, directions, domain=reach)
    E, e = plane.embedding
    crossed = []
    for region in pc.carve(net, box):
        rows = []
        for (A, c), (first, stop) in zip(
            net.exact_preactivation_maps(region.pattern), [(0, 4), (4, 7)], strict=True
        ):
            forms = zip((A @ E).fractions(), (A @ e + c).fractions(), region.pattern[first:stop],
                        strict=True)  # fmt: skip
            rows += [[(1 if on else -1) * v for v in (*a, b)] for a, b, on in forms if any(a)]
        if strict_feasibility([*rows, *exact.domain_rows(plane)], 2):
            crossed.append(tuple(region.pattern.tolist()))
    assert patterns(pc.carve(net, plane, method=method)) == crossed
    assert len(crossed) > 10


@pytest.mark.parametrize("method", METHODS)
def test_a_segment_equals_a_one_dimensional_slice(method: str) -> None:
    net, _ = digits_slice()
    X = np.load(cases.DATA / "networks" / "digits_slice.npz")["X"]
    if method not in ("simplex", "vertices"):
        net = net[:2]  # one linear program a side: enough of them in two layers
    segment = pc.carve(net, pc.Segment(X[0], X[1]), method=method)
    line = pc.Slice(X[0], [X[1] - X[0]], domain=[(0, 1)])
    sliced = pc.carve(net, line, method=method)
    assert np.array_equal(segment.packed, sliced.packed)
    assert np.allclose(segment.breakpoints, sliced.breakpoints, rtol=0, atol=1e-12)
    assert len(segment.breakpoints) == len(segment) - 1
    assert (np.diff(segment.breakpoints) > 0).all()
    middles = np.convolve([0, *segment.breakpoints, 1], [0.5, 0.5], "valid")
    found = segment.locate(middles[:, None])
    assert sorted(found) == list(range(len(segment)))


def test_points_and_maps_are_in_the_slices_coordinates() -> None:
    net = cases.spec()["rand_3-16-16-16"].network
    plane = pc.Slice([0.1, 0, 0], [[1, 0, 0.5], [0, 1, -0.5]], domain=pc.Box.cube(-1, 1, dim=2))
    carving = pc.carve(net, plane)
    for region in list(carving)[::40]:
        W, c = region.affine_map()
        assert W.shape == (1, 2)
        assert net(plane.embed(region.point)) == pytest.approx(W @ region.point + c)
        A, b, _ = region.halfspaces()
        assert A.shape[1] == 2
        assert (A @ region.point < b).all()
        assert region.contains(region.point)
        corners = region.vertices()
        assert region.image(0) == pytest.approx(plane.embed(corners))
        hidden = np.maximum(plane.embed(corners) @ net.layers[0].weight.float64.T
                            + net.layers[0].bias.float64, 0)  # fmt: skip
        assert region.image(1) == pytest.approx(hidden, abs=1e-9)


def test_points_are_located_exactly_on_a_slice() -> None:
    """An embedding that float64 rounds away: the pattern is that of the exact input."""
    net = pc.Network.from_arrays([[[1, -1]]], relu_last=True)
    line = pc.Slice(["1", "1"], [["1e-30", 0]], domain=pc.Box([-1], [1]))
    carving = pc.carve(net, line)
    assert len(carving) == 2
    assert carving.locate([[-0.5], [0.5]]).tolist() == [0, 1]
    assert [r.contains([0.25]) for r in carving] == [False, True]


@relaxed
@given(
    data=st.data(),
    seed=st.integers(0, 10**6),
    method=st.sampled_from(["simplex", "vertices", "highs"]),
)
def test_small_integer_networks_against_exact_arithmetic(
    data: st.DataObject, seed: int, method: str
) -> None:
    k = data.draw(st.integers(1, 2))
    d = data.draw(st.integers(k, 4))
    entry = st.integers(-2, 2)
    vector = st.lists(entry, min_size=d, max_size=d)
    directions = data.draw(st.lists(vector, min_size=k, max_size=k))
    inner = data.draw(
        st.sampled_from(
            [None, pc.Box.cube(-1, 1, dim=k), pc.Polytope([[-1] * k, *np.eye(k)], [1, *[1] * k])]
        )
    )
    try:
        domain = pc.Slice(data.draw(vector), directions, domain=inner)
    except DomainError:
        return
    net = cases.integers(d, data.draw(st.sampled_from([[4], [3, 2], [2, 2, 2]])), seed, 2)
    carving = pc.carve(net, domain, method=method)
    right = patterns(carving) == exact.regions(net, domain)
    assert right or (method == "highs" and carving.n_doubtful > 0)


def test_a_flat_side_in_a_slice() -> None:
    """A flat box inside a slice: relative interior, and its coordinate is kept."""
    net = cases.integers(3, [4, 3], 5, 2)
    plane = pc.Slice([0, 0, 0], [[1, 1, 0], [0, 1, 1]], domain=pc.Box([-1, "0.5"], [1, "0.5"]))
    line = pc.Slice([0, "0.5", "0.5"], [[1, 1, 0]], domain=pc.Box([-1], [1]))
    carving, want = pc.carve(net, plane), pc.carve(net, line)
    assert patterns(carving) == patterns(want)
    assert (carving.points[:, 1] == 0.5).all()
    assert carving.volumes().sum() == pytest.approx(2)
    single = pc.carve(net, pc.Slice([0, 0, 0], [[1, 1, 0]], domain=pc.Box([1], [1])))
    assert patterns(single) == [tuple(locating.exact_pattern(net, ExactArray.of([1, 1, 0])))]


def test_all_of_a_line_is_a_space_of_its_own() -> None:
    net = cases.spec()["moons"].network
    line = pc.carve(net, pc.Slice([0, 0], [[1, 1]]))
    part = pc.carve(net, pc.Segment([-1000, -1000], [1000, 1000]))
    assert patterns(line) == patterns(part)
    assert line.bounded().sum() == len(line) - 2
    assert line.breakpoints == pytest.approx(2000 * part.breakpoints - 1000)
