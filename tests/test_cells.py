"""The cells of carvings: vertices and facets, against the facets found by linear programs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import GeometryError, InputError
from tests import cases

WHOLE = {"moons": 36, "fig19": 100, "rand_2-32-32-32": 4, "rand_3-16-16-16": 8, "rand_4-16-16": 16}
SPEC = ("moons", "fig19", "rand_2-32-32-32", "rand_3-16-16-16", "rand_4-16-16")


def assert_same_facets(carving: pc.Carving, other: pc.Carving) -> None:
    cells, facets = carving.cells(), other.facet_columns()
    assert np.array_equal(cells.facet_offsets, facets.offsets)
    assert np.array_equal(cells.source, facets.source)


def assert_sound(carving: pc.Carving) -> None:
    """Every vertex satisfies all halfspaces, and lies on those that it is said to lie on."""
    cells, (offsets, A, b, _) = carving.cells(), carving.facet_columns()
    vertices = cells.vertices[:, carving.domain.free]
    size = 1.0 + np.abs(vertices).max(initial=0.0)
    for region, (first, stop) in enumerate(pairwise(cells.vertex_offsets)):
        rows = slice(*offsets[region : region + 2])
        is_ray = cells.is_ray[first:stop]
        level = np.where(is_ray[:, None], 0.0, b[rows])
        slack = (level - vertices[first:stop] @ A[rows].T) / np.abs(A[rows]).sum(axis=1)
        assert (slack > -1e-9 * size).all()
        for place in range(slack.shape[1]):
            facet = int(cells.facet_offsets[region]) + place
            on = cells.incidence[slice(*cells.incidence_offsets[facet : facet + 2])] - first
            assert np.abs(slack[on, place]).max(initial=0.0) < 1e-9 * size


@pytest.mark.parametrize("name", SPEC)
def test_spec_networks(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box, keep="cells")
    again = pc.carve(case.network, case.box).cells()
    assert np.array_equal(carving.cells().vertices, again.vertices)
    assert np.array_equal(carving.cells().incidence, again.incidence)
    slow = pc.carve(case.network, case.box, method="simplex")
    assert_same_facets(carving, slow)
    assert_sound(carving)
    assert carving.volumes() == pytest.approx(slow.volumes(), rel=1e-6, abs=1e-12)
    assert carving.volumes().sum() == pytest.approx(
        np.prod(case.box.hi.float64 - case.box.lo.float64)
    )


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_families(name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    carving = pc.carve(net, domain, method="vertices")
    assert_same_facets(carving, pc.carve(net, domain, method="simplex"))
    assert_sound(carving)


def test_ground_truths() -> None:
    seen = 0
    for case in cases.ground_truths():
        carving = pc.carve(case.network, case.domain)
        if len(carving) > 400 or carving.method != "vertices":
            continue
        other = pc.carve(case.network, case.domain, method="simplex")
        assert_same_facets(carving, other)
        assert_sound(carving)
        cells = carving.cells()
        has_rays = [bool(cells.is_ray[a:b].any()) for a, b in pairwise(cells.vertex_offsets)]
        empty = np.diff(cells.vertex_offsets) == 0  # they contain a line
        assert np.array_equal(np.array(has_rays) | empty, ~other.bounded()), case.name
        seen += 1
    assert seen > 80


@pytest.mark.parametrize(
    "domain",
    [
        pc.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]),
        pc.Polytope([[-1, 0], [0, -1]], [0, 0]),
        pc.Slice([0, "0.5"], [[1, "1/3"]], domain=pc.Box([-1], [2])),
        pc.Segment([-1, -1], [2, 1]),
    ],
)
def test_other_domains(domain: pc.Polytope | pc.Slice) -> None:
    net = cases.spec()["moons"].network
    carving = pc.carve(net, domain, keep="cells")
    assert_same_facets(carving, pc.carve(net, domain, method="simplex"))
    assert_sound(carving)


def test_polygons_go_round_anticlockwise() -> None:
    case = cases.spec()["moons"]
    cells = pc.carve(case.network, case.box, keep="cells").cells()
    for first, stop in pairwise(cells.vertex_offsets):
        x, y = cells.vertices[first:stop].T
        turns = np.roll(x, -1) - x, np.roll(y, -1) - y
        cross = turns[0] * np.roll(turns[1], -1) - turns[1] * np.roll(turns[0], -1)
        assert (cross > 0).all()


def test_layers_limits_and_workers() -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box)
    assert_same_facets(carving.at_layer(2), pc.carve(case.network, case.box, method="simplex",
                                                     stop_layer=2))  # fmt: skip
    part = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=20))
    assert len(part.cells()) == 20
    shared = pc.carve(case.network, case.box, keep="cells", workers=2)
    assert np.array_equal(shared.cells().vertices, carving.cells().vertices)


def test_regions_thinner_than_other_geometry_can_hold() -> None:
    """Strips of 1e-10 of the box: their areas to ten digits."""
    net = pc.Network.from_arrays([[[1, 0], [1, 0]]], [[0, "-1e-10"]], relu_last=True)
    carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2), keep="cells")
    assert carving.volumes() == pytest.approx([2, 2e-10, 2 - 2e-10], rel=1e-6)


def test_domains_that_nothing_cuts() -> None:
    net = pc.Network.from_arrays([[[1, 2]], [[1]]])
    square = pc.Box.cube(0, 1, dim=2)
    corners = [[0, 0], [1, 0], [1, 1], [0, 1]]
    for carving in (
        pc.carve(pc.Network.from_arrays([[[1, 2]]]), square, keep="cells"),
        pc.carve(net, square, stop_layer=0),
        pc.carve(net, square).at_layer(0),
    ):
        cells = carving.cells()
        assert cells.vertices.tolist() == corners
        assert cells.source.tolist() == [-1, -2, -3, -4]
        assert carving.volumes().tolist() == [1]
        assert carving.halfspaces().source.tolist() == [-1, -2, -3, -4]
    point = pc.carve(net, pc.Box([0, 1], [0, 1])).cells()
    assert (point.vertices.tolist(), len(point.source), len(point)) == ([[0, 1]], 0, 1)


def test_what_is_refused() -> None:
    case = cases.spec()["rand_16-12"]
    carving = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=5))
    with pytest.raises(GeometryError, match="up to 12 coordinates"):
        carving.cells()
    with pytest.raises(InputError, match="needs the method 'vertices', not 'simplex'"):
        pc.carve(case.network, case.box, method="simplex", keep="cells")
    with pytest.raises(InputError, match="keep is 'all'"):
        pc.carve(case.network, case.box, keep="all")
