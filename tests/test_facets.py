"""Facets of all regions at once, against a linear program a face and against each region alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

import polycarve as pc
from polycarve.cells import FacetSources
from polycarve.errors import NumericalError
from polycarve.splitting import descent
from tests import cases

Domain = pc.Box | pc.Space | pc.Polytope

SHAPES = {4: [6, 4], 5: [6, 4], 6: [7, 3], 7: [8, 2], 8: [9]}


def network(dim: int, *, is_integer: bool) -> pc.Network:
    if is_integer:
        return cases.integers(dim, SHAPES[dim], dim, 1)
    rng = np.random.default_rng(dim)
    widths = [dim, *SHAPES[dim]]
    pairs = list(zip(widths[1:], widths[:-1], strict=True))
    weights = [rng.normal(size=pair) for pair in pairs]
    return pc.Network.from_arrays(weights, [rng.normal(size=n) for n, _ in pairs], relu_last=True)


def facets_by_highs(net: pc.Network, region: pc.Region) -> list[int]:
    """Take away one face after the other, cuts first and the last of them first of all."""
    dim = len(region.point)
    A, b = [], []
    for side in range(2 * dim):
        A.append(np.eye(dim)[side // 2] * (1.0 if side % 2 else -1.0))
        b.append(2.0)
    for weight, constant in net.preactivation_maps(region.pattern):
        A += list(weight)
        b += list(constant)
    signs = np.where(region.pattern == 1, -1.0, 1.0)
    rows = np.array(A)
    rows[2 * dim :] *= signs[:, None]
    level = np.array(b)
    level[2 * dim :] *= -signs
    size = np.abs(rows).sum(axis=1)
    kept = size > 0
    for face in range(len(rows) - 1, -1, -1):
        if not kept[face]:
            continue
        others = kept.copy()
        others[face] = False
        found = linprog(
            -rows[face] / size[face],
            A_ub=np.concatenate([rows[others], rows[face : face + 1]]),
            b_ub=np.concatenate([level[others], level[face : face + 1] + size[face]]),
            bounds=(None, None),
        )
        assert found.status == 0
        kept[face] = -found.fun > level[face] / size[face] + 1e-7
    sources = np.flatnonzero(kept)
    cuts, sides = sources[sources >= 2 * dim] - 2 * dim, sources[sources < 2 * dim]
    return [*cuts.tolist(), *(-1 - sides).tolist()]


@pytest.mark.parametrize("is_integer", [False, True], ids=["random", "integers"])
@pytest.mark.parametrize("dim", SHAPES)
def test_facets_are_those_of_a_linear_program_a_face(dim: int, is_integer: bool) -> None:
    net = network(dim, is_integer=is_integer)
    carving = pc.carve(net, pc.Box.cube(-2, 2, dim=dim), method="simplex")
    offsets, source, _ = carving.facet_sources()
    rows = np.random.default_rng(0).choice(len(carving), 10, replace=False)
    for row in rows.tolist():
        own = source[offsets[row] : offsets[row + 1]].tolist()
        assert own == facets_by_highs(net, carving[row])


def assert_as_alone(carving: pc.Carving) -> FacetSources:
    """The facets of all regions are those that each has when asked alone."""
    found = carving.facet_sources()
    columns = carving.facet_columns()
    assert np.array_equal(columns.offsets, found.offsets)
    assert np.array_equal(columns.source, found.source)
    for row, region in enumerate(carving):
        part = slice(*found.offsets[row : row + 2])
        own = region.halfspaces()
        n = len(own.b) - 2 * (carving.domain.dim - carving.domain.rank)
        assert found.source[part].tolist() == own.source[:n].tolist()
        assert np.array_equal(columns.A[part], own.A[:n, carving.domain.free])
        assert np.array_equal(columns.b[part], own.b[:n])
    return found


def places(dim: int) -> list[Domain]:
    cube = [*np.eye(dim), *-np.eye(dim)]
    rows = [*cube, [1] * dim, [2] * dim, [1] * dim]  # two of these are no sides of it
    return [
        pc.Box.cube(-2, 2, dim=dim),
        pc.Space(dim),
        pc.Polytope(rows, [2] * 2 * dim + [dim, 4 * dim, dim + 1]),
        pc.Polytope([[1] * dim, [-1, *[0] * (dim - 1)]], [1, 1]),
    ]


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("largest", [1, 3])
@pytest.mark.parametrize("dim", [2, 3, 4, 6])
def test_facets_of_all_regions_are_those_of_each_alone(
    dim: int, largest: int, biased: bool
) -> None:
    widths = {2: [5, 4, 2], 3: [5, 4], 4: [5, 3], 6: [7]}[dim]
    net = cases.integers(dim, widths, dim + largest, largest, biased=biased)
    for domain in places(dim):
        assert_as_alone(pc.carve(net, domain, method="simplex"))


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_facets_are_those_of_each_region_alone(name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    assert_as_alone(pc.carve(net, domain, method="simplex"))


def nearly_parallel(seed: int) -> tuple[pc.Network, pc.Box]:
    """Two planes a hair apart: where both are met, edges are long and digits few."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 7))
    widths = [dim, int(rng.integers(4, 8)), int(rng.integers(2, 5))]
    pairs = list(zip(widths[1:], widths[:-1], strict=True))
    weights = [rng.normal(size=pair) for pair in pairs]
    biases = [rng.normal(size=n) for n, _ in pairs]
    weights[0][1] = weights[0][0] + 10.0 ** -rng.integers(4, 10) * rng.normal(size=dim)
    biases[0][1] = biases[0][0]
    return pc.Network.from_arrays(weights, biases, relu_last=True), pc.Box.cube(-2, 2, dim=dim)


@pytest.mark.parametrize("seed", [2, 12, 57, 102, 242])
def test_facets_of_thin_regions_are_those_of_each_alone(seed: int) -> None:
    assert_as_alone(pc.carve(*nearly_parallel(seed), method="simplex"))


@pytest.mark.parametrize(("chunk", "corners", "numbers"), [(1, 64, 1 << 21), (7, 3, 0), (64, 0, 0)])
def test_facets_do_not_depend_on_the_room_for_them(
    chunk: int, corners: int, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = cases.spec()["rand_3-16-16-16"]
    carving = pc.carve(case.network, case.box, method="simplex")
    known = carving.facet_sources()
    monkeypatch.setattr(descent, "_CHUNK", chunk)
    monkeypatch.setattr(descent, "_LIST", corners)
    monkeypatch.setattr(descent, "_MOST_NUMBERS", numbers)
    again = pc.carve(case.network, case.box, method="simplex").facet_sources()
    assert np.array_equal(known.offsets, again.offsets)
    assert np.array_equal(known.source, again.source)


def test_every_facet_inside_is_one_from_either_side() -> None:
    net = network(8, is_integer=False)
    carving = pc.carve(net, pc.Box.cube(-2, 2, dim=8), method="simplex")
    adjacency = carving.adjacency()
    is_inner = adjacency.source >= 0
    assert (adjacency.neighbor[is_inner] >= 0).all()
    mates: npt.NDArray[np.int64] = adjacency.mate[is_inner]
    assert np.array_equal(adjacency.mate[mates], np.flatnonzero(is_inner))
    # One layer: a region and the one behind a facet differ in the facet's neuron alone.
    assert np.array_equal(adjacency.source[mates], adjacency.source[is_inner])


@pytest.mark.parametrize("lacking", [0, 17, -1])
def test_a_region_that_lacks_shows(lacking: int) -> None:
    net = network(5, is_integer=False)
    whole = pc.carve(net, pc.Box.cube(-2, 2, dim=5), method="simplex")
    keep = np.arange(len(whole)) != lacking % len(whole)
    part = pc.Carving(
        whole.network,
        whole.domain,
        whole.packed[keep],
        whole.points[keep],
        whole.point_is_interior[keep],
    )
    with pytest.raises(NumericalError, match="no region is listed"):
        part.adjacency()
