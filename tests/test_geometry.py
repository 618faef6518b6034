"""Shapes of regions against Qhull, linear programs and closed forms."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial import ConvexHull, HalfspaceIntersection

import polycarve as pc
from polycarve import geometry
from polycarve.errors import GeometryError, UnboundedError
from polycarve.networks import examples
from polycarve.shapes import Shapes
from tests import cases

SMALL = ["moons", "fig19", "rand_2-32-32-32", "rand_3-16-16-16", "rand_3-32-32", "rand_4-16-16"]


def all_halfspaces(region: pc.Region) -> np.ndarray:
    """Every neuron's halfspace and every side of the box, needed or not: ``A @ x + c <= 0``."""
    maps = region.network.preactivation_maps(region.pattern)
    A, c = np.concatenate([m[0] for m in maps]), np.concatenate([m[1] for m in maps])
    sign = np.where(region.pattern == 1, -1.0, 1.0)
    rows = np.concatenate([sign[:, None] * A, (sign * c)[:, None]], axis=1)
    rows = rows[np.abs(rows[:, :-1]).max(axis=1) > 0]
    d, box = region.domain.dim, region.domain
    low = np.concatenate([-np.eye(d), box.lo.float64[:, None]], axis=1)
    high = np.concatenate([np.eye(d), -box.hi.float64[:, None]], axis=1)
    return np.concatenate([rows, low, high])


@pytest.mark.parametrize("name", SMALL)
def test_volumes_add_up(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box)
    lo, hi = case.box.lo.float64, case.box.hi.float64
    assert carving.volumes().sum() == pytest.approx(np.prod(hi - lo), rel=1e-9)


@pytest.mark.parametrize("name", ["moons", "rand_3-16-16-16", "rand_4-16-16"])
def test_vertices_are_those_that_qhull_finds_from_all_halfspaces(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box)
    for row in np.random.default_rng(0).choice(len(carving), 40, replace=False):
        region = carving[int(row)]
        theirs = HalfspaceIntersection(all_halfspaces(region), region.point).intersections
        ours = region.vertices()
        apart = np.abs(theirs[:, None] - ours[None]).max(axis=2)
        assert apart.min(axis=1).max() < 1e-8  # each of theirs is one of ours
        assert apart.min(axis=0).max() < 1e-8  # and the other way round
        assert region.volume() == pytest.approx(ConvexHull(theirs).volume, rel=1e-7)


@pytest.mark.parametrize("name", ["moons", "rand_3-16-16-16", "rand_6-12-12"])
def test_every_halfspace_is_a_facet_and_no_other_is(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box)
    shapes = Shapes(case.network, case.box, len(case.network.widths))
    for row in np.random.default_rng(1).choice(len(carving), 15, replace=False):
        region = carving[int(row)]
        by_highs = next(iter([shapes._facets_by_highs(region.pattern)]))
        A, b, source = region.halfspaces()
        assert source.tolist() == by_highs.source.tolist()
        assert np.allclose(A, by_highs.A, atol=1e-9)
        assert np.allclose(b, by_highs.b, atol=1e-9)
        assert (A @ region.point < b).all()


def test_bulk_and_single_answers_agree() -> None:
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    halves, volumes = carving.halfspaces(), carving.volumes()
    offsets, corners = carving.vertices()
    centres, radii = carving.chebyshev()
    for row, region in enumerate(carving):
        part = slice(halves.offsets[row], halves.offsets[row + 1])
        A, b, source = region.halfspaces()
        assert np.array_equal(halves.A[part], A)
        assert np.array_equal(halves.b[part], b)
        assert np.array_equal(halves.source[part], source)
        assert volumes[row] == pytest.approx(region.volume(), rel=1e-9)
        assert np.allclose(corners[offsets[row] : offsets[row + 1]], region.vertices(), atol=1e-12)
        ball = region.chebyshev()
        assert np.array_equal(centres[row], ball.centre)
        assert radii[row] == ball.radius
        # The ball touches the faces and crosses none.
        slack = (b - A @ ball.centre) / np.linalg.norm(A, axis=1)
        assert slack.min() == pytest.approx(ball.radius, rel=1e-6)


def test_interior_facets_come_in_pairs() -> None:
    """Every facet inside the box is one of exactly two regions, so their number is even."""
    for name in ("moons", "rand_2-32-32-32", "rand_3-16-16-16", "rand_5-16-16"):
        case = cases.spec()[name]
        columns = pc.carve(case.network, case.box).halfspaces()
        assert (columns.source >= 0).sum() % 2 == 0


@pytest.mark.parametrize("d", [2, 3])
def test_facets_of_a_simple_arrangement(d: int) -> None:
    """m planes in general position have ``m * Z(d - 1, m - 1)`` facets, each on two regions."""
    m = 6
    rows = [[t**j for j in range(d)] for t in range(1, m + 1)]
    net = pc.Network.from_arrays([rows], [[-(t**d) for t in range(1, m + 1)]], relu_last=True)
    carving = pc.carve(net, pc.Space(d))
    lower = {2: 1 + (m - 1), 3: 1 + (m - 1) + (m - 1) * (m - 2) // 2}[d]
    columns = carving.halfspaces()
    assert len(columns.source) == 2 * m * lower
    assert (columns.source >= 0).all()  # the cut-off of the cone is never reported


def test_bounded_regions_of_arrangements() -> None:
    entries = json.loads((cases.DATA / "groundtruth.json").read_text())
    seen = 0
    for entry, case in zip(entries, cases.ground_truths(), strict=True):
        if "bounded" in entry["counts"] and case.regions < 400:
            carving = pc.carve(case.network, case.domain)
            assert carving.bounded().sum() == entry["counts"]["bounded"], case.name
            seen += 1
    assert seen > 30


def test_coincident_faces_are_one_facet() -> None:
    """A side of the box stands before a neuron on it, an earlier neuron before a later one."""
    net = pc.Network.from_arrays(
        [[[1, 0], [0, 1], [0, 2], [0, -1], [1, 0]]], [[1, 0, 0, 0, 1]], relu_last=True
    )
    region = pc.carve(net, pc.Box.cube(-1, 1, dim=2))["aaaia"]
    assert region.halfspaces().source.tolist() == [1, -1, -2, -4]
    assert region.volume() == 2.0


def test_faces_that_only_touch_are_no_facets() -> None:
    net = pc.Network.from_arrays([[[1, 1], [1, -1], [1, 0]]], [[2, 0, 0]], relu_last=True)
    for region in pc.carve(net, pc.Box.cube(-1, 1, dim=2)):
        assert 0 not in region.halfspaces().source


def test_degenerate_vertices_are_found_once() -> None:
    net = pc.Network.from_arrays([np.eye(3), [[1, 1, 1]]], [[0, 0, 0], [-3]], relu_last=True)
    carving = pc.carve(net, pc.Box.cube(0, 1, dim=3))
    assert len(carving) == 1
    assert len(carving[0].vertices()) == 8
    pyramid = pc.Network.from_arrays(
        [[[1, 0, -1], [-1, 0, -1], [0, 1, -1], [0, -1, -1]]], [[0] * 4], relu_last=True
    )
    inner = pc.carve(pyramid, pc.Box([-2, -2, 0], [2, 2, 1]))["iiii"]
    assert len(inner.vertices()) == 5  # four faces meet in the apex
    assert inner.volume() == pytest.approx(4 / 3)


def test_one_dimension() -> None:
    net = pc.Network.from_arrays([[[1], [1]]], [[0, "-0.5"]], relu_last=True)
    carving = pc.carve(net, pc.Box([-1], [1]))
    assert [region.vertices().ravel().tolist() for region in carving] == [
        [-1, 0],
        [0, 0.5],
        [0.5, 1],
    ]
    assert carving.volumes().tolist() == [1.0, 0.5, 0.5]
    line = pc.carve(net, pc.Space(1))
    assert line.bounded().tolist() == [False, True, False]
    assert line.volumes().tolist() == [np.inf, 0.5, np.inf]


def test_flat_sides() -> None:
    carving = pc.carve(examples.moons(), pc.Box([-3, "0.25"], [3, "0.25"]))
    assert carving.volumes().sum() == pytest.approx(6.0)
    A, b, source = carving[0].halfspaces()
    assert source[-2:].tolist() == [-3, -4]
    assert (A[-2:].tolist(), b[-2:].tolist()) == ([[0.0, -1.0], [0.0, 1.0]], [-0.25, 0.25])
    assert (carving[0].vertices()[:, 1] == 0.25).all()
    point = pc.carve(examples.moons(), pc.Box([1, 1], [1, 1]))
    assert point.volumes().tolist() == [1.0]
    assert point[0].vertices().tolist() == [[1.0, 1.0]]


def test_images_are_what_the_network_makes_of_the_vertices() -> None:
    carving = pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2))
    for region in carving:
        corners = region.vertices()
        assert np.array_equal(region.image(0), corners)
        for layer in (1, 2, 3):
            assert np.allclose(region.image(layer), carving.network[:layer](corners), atol=1e-12)
    with pytest.raises(pc.PolycarveError, match="layer is 4"):
        carving[0].image(4)


def test_unbounded_regions_say_so() -> None:
    carving = pc.carve(examples.fig19(), pc.Space(2))
    region = next(region for region in carving if not region.is_bounded)
    for question in (region.vertices, region.volume, lambda: region.image(1)):
        with pytest.raises(pc.PolycarveError, match="unbounded"):
            question()
    with pytest.raises(pc.PolycarveError, match="unbounded"):
        carving.vertices()
    assert np.isinf(carving.volumes()[region.index])
    half = pc.carve(pc.Network.from_arrays([[[1, 0]]], relu_last=True), pc.Space(2))[0]
    with pytest.raises(pc.PolycarveError, match="balls of any radius"):
        half.chebyshev()


def test_too_many_dimensions_say_so() -> None:
    case = cases.spec()["rand_16-12"]
    region = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=1))[0]
    with pytest.raises(pc.PolycarveError, match="out of reach in 16 dimensions"):
        region.vertices()
    assert region.chebyshev().radius > 0


def test_regions_without_a_carving_have_geometry() -> None:
    carving = pc.carve(examples.moons(), pc.Space(2))
    for row in (0, 10, 50):
        alone = pc.region_at(carving.network, carving.points[row])
        assert alone.halfspaces().source.tolist() == carving[row].halfspaces().source.tolist()
    rng = np.random.default_rng(0)
    wide = pc.Network.from_arrays(
        [rng.normal(size=(12, 100)), rng.normal(size=(6, 12))], relu_last=True
    )
    region = pc.region_at(wide, rng.normal(size=100))
    A, b, source = region.halfspaces()
    assert A.shape == (len(source), 100)
    assert (A @ region.point < b).all()
    assert not region.is_bounded


def test_incomplete_and_coarse_carvings_have_geometry() -> None:
    case = cases.spec()["moons"]
    whole = pc.carve(case.network, case.box)
    part = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=20))
    assert np.array_equal(part.volumes(), whole.volumes()[:20])
    coarse = whole.at_layer(1)
    assert coarse.volumes().sum() == pytest.approx(36)
    for region in coarse:
        inside = [child.index for child in whole[region.code]]
        assert whole.volumes()[inside].sum() == pytest.approx(region.volume())


def test_slivers() -> None:
    net = pc.Network.from_arrays([[[1, 0], [1, 0]]], [[0, "-1e-9"]], relu_last=True)
    carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2))
    assert carving.volumes().tolist() == pytest.approx([2, 2e-9, 2], rel=1e-6)


def test_irredundant_by_hand() -> None:
    A = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [1, 0]])
    assert geometry.irredundant(A, np.array([1.0, 1, 1, 1, 3, 1])).tolist() == [0, 1, 2, 3]
    assert geometry.irredundant(A, np.array([1.0, 1, 1, 1, 1, 1])).tolist() == [0, 1, 2, 3, 4]


def test_displays() -> None:
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    assert carving[0]._repr_svg_().startswith("<svg")
    assert pc.carve(carving.network, pc.Space(2))[0]._repr_svg_() is None
    assert "<th>regions</th><td>66</td>" in carving._repr_html_()
    assert len(carving._repr_html_()) < 1000


def test_regions_that_hold_balls_of_any_radius() -> None:
    """The only region of a network whose float decisions are doubtful is all of R."""
    net = pc.Network.from_arrays([[[0.0]], [[-1.0]]], [[1.0], [1.0]], relu_last=True)
    carving = pc.carve(net, pc.Space(1))
    assert carving.bounded().tolist() == [False]
    assert carving.volumes().tolist() == [np.inf]
    assert carving.halfspaces().offsets.tolist() == [0, 0]


@pytest.mark.parametrize(("dim", "width", "seed"), [(6, 4, 2), (6, 4, 7), (5, 6, 34), (5, 6, 52)])
def test_volumes_in_five_and_six_dimensions(dim: int, width: int, seed: int) -> None:
    W = np.random.default_rng(seed).normal(size=(width, dim))
    net = pc.Network.from_arrays([W], [np.full(width, 0.1)], relu_last=True)
    volumes = pc.carve(net, pc.Box.cube(-1, 1, dim=dim)).volumes()
    assert volumes.sum() == pytest.approx(2**dim, rel=1e-6)


def test_regions_too_thin_for_a_shape_say_so() -> None:
    W = [
        [-2.013430100443335, 0.3024300398963677],
        [0.8384609097231884, 0.030575719948327126],
        [-2.013430101385501, 0.3024300389020741],
        [-2.013430100443335, 0.3024300398963677],
    ]
    net = pc.Network.from_arrays([W], [[0.1, 0.2, 0.1, 0.100000001]], relu_last=True)
    carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2))
    try:
        assert (carving.volumes() > 0).all()
    except pc.PolycarveError as error:
        assert "too thin" in str(error)  # noqa: PT017


def test_one_point_has_a_shape_of_its_own() -> None:
    net = examples.fig19()
    for at in (1, "1/3"):
        carving = pc.carve(net, pc.Box([at, 0], [at, 0]))
        assert carving.volumes().tolist() == [1.0]
        assert carving[0].chebyshev().radius == 0
        assert carving.chebyshev()[1].tolist() == [0.0]
        assert carving[0].halfspaces().source.tolist() == [-1, -2, -3, -4]


def test_corners_at_infinity_are_an_error_and_no_warning() -> None:
    A = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
    with pytest.raises(UnboundedError, match="unbounded"):
        geometry.vertices(A, np.ones(5), np.zeros(3))


def test_vertices_about_a_point_on_a_face_are_refused() -> None:
    cube = np.concatenate([np.eye(3), -np.eye(3)])
    with pytest.raises(GeometryError, match="too thin"):
        geometry.vertices(cube, np.ones(6), np.array([1.0, 0, 0]))


@pytest.mark.parametrize("seed", range(12))
def test_forms_that_only_rounding_keeps_from_zero_bound_nothing(seed: int) -> None:
    """The third neuron is the sum of the first two, and one of the next layer their difference."""
    first, second = np.random.default_rng(seed).integers(-9, 10, (2, 2)).tolist()
    rows = [first, second, [a + b for a, b in zip(first, second, strict=True)]]
    net = pc.Network.from_arrays(
        [[[Fraction(v, 10) for v in row] for row in rows], [[1, 1, -1], [1, -1, 0]]],
        [[5, 5, 10], [0, Fraction(1, 10)]],
        relu_last=True,
    )
    box = pc.Box.cube(-1, 1, dim=2)
    whole = pc.carve(net, box, method="simplex")
    assert [region.code for region in whole] == ["aaa|ii", "aaa|ia"]
    part = pc.carve(net, box, method="simplex", limits=pc.Limits(max_regions=1))
    assert part[0].facets.tolist() == whole[0].facets.tolist()
    assert part[0].facets[0] == 4
    report = pc.check(whole)
    assert report.ok, str(report)
