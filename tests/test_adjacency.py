"""Who touches whom: against exact arithmetic, closed forms and the known traps."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb

import networkx as nx
import numpy as np
import pytest

import polycarve as pc
from polycarve import adjacency
from polycarve.adjacency import match_facets
from polycarve.adjacency_summary import diameter_interval
from polycarve.cells import FacetSources
from polycarve.errors import GeometryError, InputError, NumericalError
from polycarve.faces import f_vector
from polycarve.graph.columns import edge_columns
from polycarve.networks import examples
from tests import cases
from tests.oracles import exact, touching

# One neuron apart and not neighbours: behind x1 = 0 lies another region.
H1 = pc.Network.from_arrays(
    [[[1, 0], [1, 0], [0, 1]], [[2, -1, 0]]], [[0, 10, 0], [9]], relu_last=True
)
# One neuron apart, and meeting in the origin only.
H2 = pc.Network.from_arrays(
    [[[1, 0], [1, 0], [0, 1], [0, 1]], [[2, -1, -2, 1]]], [[0, 10, 0, 10], [0]], relu_last=True
)
# Zero biases in depth: two and three neurons flip at once.
D1 = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, 0], [1, 1]]], relu_last=True)
# Two neurons on one hyperplane.
D2 = pc.Network.from_arrays([[[1, 0], [-2, 0], [0, 1]]], relu_last=True)
SQUARE = pc.Box.cube(-3, 3, dim=2)


def edge_set(carving: pc.Carving) -> set[tuple[int, int]]:
    return {(i, j) for i, j in carving.adjacency().edges.tolist()}


def flips(carving: pc.Carving) -> dict[tuple[int, int], int]:
    """In how many neurons all pairs of regions differ."""
    bits = carving.patterns
    pairs = combinations(range(len(bits)), 2)
    return {(i, j): int((bits[i] != bits[j]).sum()) for i, j in pairs}


def patterns_of(carving: pc.Carving) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carving.patterns.tolist()]


# ---------------------------------------------------------------------- known traps


@pytest.mark.parametrize(("domain", "regions"), [(SQUARE, 8), (pc.Space(2), 10)])
def test_one_flip_apart_does_not_make_neighbours(domain: pc.Box | pc.Space, regions: int) -> None:
    carving = pc.carve(H1, domain)
    assert len(carving) == regions
    apart = {pair for pair, n in flips(carving).items() if n == 1} - edge_set(carving)
    codes = {tuple(carving[i].code for i in pair) for pair in apart}
    assert codes == {("iai|a", "aai|a"), ("iaa|a", "aaa|a")}


def test_regions_that_meet_in_a_corner_are_no_neighbours() -> None:
    carving = pc.carve(H2, SQUARE)
    assert len(carving) == 8
    apart = {pair for pair, n in flips(carving).items() if n == 1} - edge_set(carving)
    assert len(apart) == 4
    for i, j in apart:
        mine, theirs = carving[i].vertices(), carving[j].vertices()
        common = [v for v in mine if (np.abs(theirs - v).max(axis=1) < 1e-12).any()]
        assert np.allclose(common, [[0, 0]])


def test_neighbours_can_differ_in_several_neurons() -> None:
    carving = pc.carve(D1, SQUARE)
    distances = flips(carving)
    assert sorted(distances[pair] for pair in edge_set(carving)) == [1, 2, 2, 3]
    carving = pc.carve(D2, SQUARE)
    pair = carving["iaa"].index, carving["aia"].index
    assert pair in edge_set(carving)
    assert flips(carving)[pair] == 2
    facet = list(carving[pair[0]].neighbors).index(pair[1])
    row = carving.adjacency().offsets[pair[0]] + facet
    assert carving.adjacency().facet_carriers(row).tolist() == [0, 1]


def test_single_flips_would_miss_or_invent_neighbours() -> None:
    """The frequency of the trap in networks of no special make."""
    for seed, invented in {1: 2, 2: 3, 4: 1}.items():
        (case,) = (c for c in cases.ground_truths() if c.name == f"lcg seed {seed} box[-2,2]^2")
        carving = pc.carve(case.network, case.domain)
        single = {pair for pair, n in flips(carving).items() if n == 1}
        assert len(single - edge_set(carving)) == invented


# ---------------------------------------------------------------------- exact arithmetic

PLACES: list[tuple[int, list[int], pc.Box | pc.Space | pc.Polytope]] = [
    (1, [4, 3], pc.Space(1)),
    (2, [4, 3], pc.Box.cube(-2, 2, dim=2)),
    (2, [3, 3, 2], pc.Space(2)),
    (2, [3, 2], pc.Polytope([[-1, 0], [0, -1], [2, 3]], [1, 1, 2])),
    (2, [3, 2], pc.Polytope([[1, 1]], [1])),
    (3, [4, 2], pc.Box.cube(-1, 1, dim=3)),
    (3, [3, 2], pc.Space(3)),
]


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("dim", "widths", "domain"), PLACES, ids=str)
def test_neighbours_are_those_of_exact_arithmetic(
    dim: int, widths: list[int], domain: pc.Box | pc.Space | pc.Polytope, seed: int, biased: bool
) -> None:
    net = cases.integers(dim, widths, seed, 2, biased=biased)
    carving = pc.carve(net, domain)
    patterns = exact.regions(net, domain)
    assert patterns_of(carving) == patterns
    assert edge_set(carving) == touching.neighbors(net, domain, patterns)
    edges = edge_columns(carving.adjacency())
    for k, (i, j) in enumerate(zip(edges.source, edges.target, strict=True)):
        pair = patterns[i], patterns[j]
        assert edges.rank[k] == touching.rank_of_change(net, domain, *pair)
        assert edges.neurons.tuples()[k] == touching.neurons_between(net, domain, *pair)
        assert edges.neuron[k] == edges.neurons.tuples()[k][0]


@pytest.mark.parametrize("name", [name for name in cases.DEGENERATE if name != "flat side"])
def test_degenerate_neighbours_are_those_of_exact_arithmetic(name: str) -> None:
    net, domain = cases.DEGENERATE[name]()
    carving = pc.carve(net, domain)
    assert edge_set(carving) == touching.neighbors(net, domain, patterns_of(carving))


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_neighbours_need_no_exact_arithmetic(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there for what floats cannot tell, and these they can."""

    def refuse(found: object, facets: object) -> None:
        raise AssertionError(f"asked about {facets}")

    monkeypatch.setattr(adjacency, "_ask_exactly", refuse)
    assert pc.carve(*cases.DEGENERATE[name]()).adjacency().summary().components == 1


def test_neighbours_on_a_slice_are_those_of_the_plane() -> None:
    plane = pc.Slice([1, 0, -1], [[1, 2, 0], [0, 1, 1]], domain=pc.Box.cube(-2, 2, dim=2))
    net = cases.integers(3, [4, 3], 2, 2)
    carving = pc.carve(net, plane)
    assert len(carving) > 4
    assert edge_set(carving) == touching.neighbors(net, plane, patterns_of(carving))


def test_flat_sides_are_no_facets() -> None:
    net = cases.integers(3, [4, 3], 6, 2)
    flat = pc.carve(net, pc.Box([-2, 1, -2], [2, 1, 2]))
    plane = pc.carve(net, pc.Slice([0, 1, 0], [[1, 0, 0], [0, 0, 1]], domain=[(-2, 2), (-2, 2)]))
    assert len(flat) > 3
    assert edge_set(flat) == edge_set(plane)
    assert not set(flat.adjacency().source.tolist()) & {-3, -4}


def test_one_point_has_no_neighbours() -> None:
    carving = pc.carve(examples.fig19(), pc.Box([0, 1], [0, 1]))
    assert len(carving.adjacency().source) == 0
    assert carving[0].neighbors.tolist() == carving[0].facets.tolist() == []
    assert carving.adjacency().summary().diameter == (0, 0)


# ---------------------------------------------------------------------- closed forms


@pytest.mark.parametrize(("d", "m"), [(1, 4), (2, 5), (2, 10), (3, 6), (3, 10), (4, 8), (5, 8)])
def test_simple_arrangements_have_m_times_z_facets(d: int, m: int) -> None:
    rows = [[t**j for j in range(d)] for t in range(1, m + 1)]
    net = pc.Network.from_arrays([rows], [[-(t**d) for t in range(1, m + 1)]], relu_last=True)
    adjacency = pc.carve(net, pc.Space(d)).adjacency()
    assert len(adjacency.edges) == m * sum(comb(m - 1, j) for j in range(d))


def restricted(rows: list[list[Fraction]], k: int) -> list[list[Fraction]]:
    """The other hyperplanes' traces on the k-th, each once; rows are ``[a, c]``."""
    plane = rows[k]
    j = next(i for i, v in enumerate(plane) if v)
    traces = set()
    for row in rows:
        rest = [a - row[j] * p / plane[j] for a, p in zip(row, plane, strict=True)]
        rest = rest[:j] + rest[j + 1 :]
        if any(rest[:-1]):
            lead = next(v for v in rest if v)
            traces.add(tuple(v / lead for v in rest))
    return [list(row) for row in sorted(traces)]


ARRANGEMENTS = [
    case
    for case in cases.ground_truths()
    if len(case.network.widths) == 1
    and isinstance(case.domain, pc.Space)
    and 2 <= case.domain.dim <= 3
    and case.regions <= 60
]


@pytest.mark.parametrize("case", ARRANGEMENTS, ids=lambda case: case.name)
def test_facets_of_an_arrangement_are_the_regions_of_its_restrictions(
    case: cases.TruthCase,
) -> None:
    layer = case.network.layers[0]
    rows = [
        [*a, b]
        for a, b in zip(layer.weight.fractions(), layer.bias.fractions(), strict=True)
        if any(a)
    ]
    planes = {tuple(v / next(u for u in row if u) for v in row): row for row in rows}
    distinct = list(planes.values())
    d, facets = case.domain.dim, 0
    for k in range(len(distinct)):
        traces = restricted(distinct, k)
        if not traces:
            facets += 1
            continue
        net = pc.Network.from_arrays(
            [[row[:-1] for row in traces]], [[row[-1] for row in traces]], relu_last=True
        )
        facets += len(exact.regions(net, pc.Space(d - 1)))
    assert len(pc.carve(case.network, case.domain).adjacency().edges) == facets


F_VECTORS = {
    1: (53, 93, 41),
    2: (67, 117, 51),
    4: (78, 138, 61),
    7: (56, 101, 46),
}


@pytest.mark.parametrize("seed", F_VECTORS)
def test_faces_of_known_complexes(seed: int) -> None:
    (case,) = (c for c in cases.ground_truths() if c.name == f"lcg seed {seed} box[-2,2]^2")
    carving = pc.carve(case.network, case.domain)
    assert f_vector(carving.adjacency()) == F_VECTORS[seed]


@pytest.mark.parametrize(
    ("d", "domain", "faces"),
    [
        (1, pc.Space(1), (2, 3)),
        (1, pc.Box([-1], [2]), (4, 3)),
        (2, pc.Space(2), (4, 12, 9)),
        (2, pc.Box.cube(-1, 2, dim=2), (16, 24, 9)),
        (3, pc.Box.cube(-1, 2, dim=3), (64, 144, 108, 27)),
    ],
)
def test_faces_of_a_grid(d: int, domain: pc.Box | pc.Space, faces: tuple[int, ...]) -> None:
    rows = np.repeat(np.eye(d, dtype=int), 2, axis=0)
    net = pc.Network.from_arrays([rows], [[0, -1] * d], relu_last=True)
    assert f_vector(pc.carve(net, domain).adjacency()) == faces


def test_faces_that_are_not_counted() -> None:
    with pytest.raises(GeometryError, match="up to three dimensions"):
        f_vector(pc.carve(cases.integers(4, [3], 0), pc.Box.cube(-1, 1, dim=4)).adjacency())
    with pytest.raises(GeometryError, match="unbounded"):
        f_vector(pc.carve(cases.integers(3, [3], 0), pc.Space(3)).adjacency())


GENERIC = [name for name, case in cases.spec().items() if name[:4] == "rand" and case.regions < 2e4]


@pytest.mark.parametrize("name", GENERIC)
def test_generic_networks_have_few_neighbours_on_average(name: str) -> None:
    case = cases.spec()[name]
    summary = pc.carve(case.network, case.box).adjacency().summary()
    assert summary.mean_degree <= summary.mean_degree_bound == 2 * case.dim
    assert summary.components == 1
    assert summary.diameter is not None
    low, high = summary.diameter
    assert 0 < low <= high
    assert low <= summary.diameter_bound
    assert summary.unknown_facets == 0
    assert sum(summary.degree_counts) == case.regions
    ends = sum(k * n for k, n in enumerate(summary.degree_counts))
    assert ends == 2 * summary.shared_facets


# ---------------------------------------------------------------------- the columns


def test_columns_say_the_same_from_both_sides() -> None:
    adjacency = pc.carve(examples.moons(), pc.Space(2)).adjacency()
    inner = np.flatnonzero(adjacency.neighbor >= 0)
    mate = adjacency.mate[inner]
    assert (adjacency.mate[mate] == inner).all()
    assert (adjacency.region[mate] == adjacency.neighbor[inner]).all()
    assert (adjacency.mate[adjacency.neighbor < 0] == -1).all()
    matrix = adjacency.matrix()
    assert (matrix != matrix.T).nnz == 0
    assert matrix.sum() == 2 * len(adjacency.edges)
    assert (matrix.sum(axis=1) == adjacency.degrees).all()


@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_3-16-16-16", "rand_4-16-16"])
def test_trained_and_random_networks_are_generic(name: str) -> None:
    case = cases.spec()[name]
    found = pc.carve(case.network, case.box, method="vertices").facet_sources()
    assert found.is_generic.mean() > 0.98


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_facets_called_generic_lie_on_one_neuron_alone(dim: int) -> None:
    rng = np.random.default_rng(dim)
    counts = np.zeros(2, np.int64)
    for trial in range(150):
        widths = [dim, *rng.integers(1, 5, rng.integers(1, 4))]
        low = 3 if trial % 3 else 1000
        weights = [rng.integers(-low, low + 1, (n, m)) for m, n in pairwise(widths)]
        biases = [rng.integers(-low, low + 1, n) * (trial % 2) for n in widths[1:]]
        net = pc.Network.from_arrays(weights, biases, relu_last=True)
        box = pc.Box.cube(-2, 2, dim=dim)
        domain: pc.Box | pc.Space | pc.Polytope = [box, pc.Space(dim)][trial % 2]
        if trial % 5 == 0:
            domain = pc.Polytope([*np.eye(dim), *-np.eye(dim), [1] * dim], [2] * 2 * dim + [dim])
        carving = pc.carve(net, domain, method="vertices", keep="cells" if trial % 4 else None)
        known = carving.facet_sources()
        told = match_facets(carving, known)
        found = match_facets(carving, FacetSources.of(known.offsets, known.source))
        assert (told.neighbor == found.neighbor).all()
        assert (told.carriers == found.carriers).all()
        assert (told.carrier_offsets == found.carrier_offsets).all()
        counts += [known.is_generic.sum(), (~known.is_generic).sum()]
    assert (counts > 100).all()  # both kinds are met


@pytest.mark.parametrize("name", ["moons", "zero biases, three layers", "lcg seed 1 R^2"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_what_an_incomplete_carving_does_not_know_is_what_it_lacks(name: str, share: float) -> None:
    if name == "moons":
        net, domain = examples.moons(), pc.Box.cube(-3, 3, dim=2)
    elif name in cases.DEGENERATE:
        net, domain = cases.DEGENERATE[name]()
    else:
        (case,) = (c for c in cases.ground_truths() if c.name == name)
        net, domain = case.network, case.domain
    whole = pc.carve(net, domain)
    n = max(1, int(share * len(whole)))
    part = pc.carve(net, domain, limits=pc.Limits(max_regions=n))
    assert len(part) == n
    assert not part.complete
    theirs = whole.adjacency()
    ours = part.adjacency()
    last = theirs.offsets[n]
    assert ours.offsets.tolist() == theirs.offsets[: n + 1].tolist()
    assert ours.source.tolist() == theirs.source[:last].tolist()
    expected = theirs.neighbor[:last].copy()
    expected[expected >= n] = -2
    assert ours.neighbor.tolist() == expected.tolist()


def test_a_list_that_lacks_a_region_is_refused() -> None:
    whole = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    keep = np.arange(len(whole)) != 30
    lacking = pc.Carving(
        whole.network,
        whole.domain,
        whole.packed[keep],
        whole.points[keep],
        whole.point_is_interior[keep],
    )
    with pytest.raises(NumericalError, match="no region is listed"):
        lacking.adjacency()


# ---------------------------------------------------------------------- figures


@pytest.mark.parametrize("name", ["moons", "fig19", "rand_2-32-32-32", "rand_3-16-16-16"])
def test_diameter_is_that_of_networkx(name: str) -> None:
    case = cases.spec()[name]
    adjacency = pc.carve(case.network, case.box).adjacency()
    known = nx.diameter(nx.from_edgelist(adjacency.edges.tolist()))
    assert adjacency.summary().diameter == (known, known)
    matrix = adjacency.matrix()
    low, high = diameter_interval(matrix.indptr.astype(np.int64), matrix.indices, most_visits=0)
    assert low <= known <= high


def test_diameter_interval_of_graphs_of_all_kinds() -> None:
    graphs = [
        nx.path_graph(50),
        nx.cycle_graph(51),
        nx.star_graph(20),
        nx.grid_2d_graph(9, 14),
        nx.hypercube_graph(6),
        nx.complete_graph(2),
        nx.empty_graph(1),
        *(nx.from_edgelist([(k, k * seed // 7) for k in range(1, 80)]) for seed in range(6)),
    ]
    for graph in graphs:
        matrix = nx.to_scipy_sparse_array(graph, format="csr", dtype=np.int8)
        offsets, targets = matrix.indptr.astype(np.int64), matrix.indices
        known = nx.diameter(graph)
        assert diameter_interval(offsets, targets) == (known, known)
        low, high = diameter_interval(offsets, targets, most_visits=0)
        assert low <= known <= high


def test_summary_of_regions_with_points() -> None:
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    rng = np.random.default_rng(0)
    points = rng.uniform(-4, 4, (200, 2))
    summary = carving.adjacency().summary(points)
    rows = carving.locate(points)
    held = sorted(set(rows[rows >= 0].tolist()))
    degrees = carving.adjacency().degrees
    rest = [k for k in range(len(carving)) if k not in held]
    assert summary.points == 200
    assert summary.points_elsewhere == int((rows < 0).sum()) > 0
    assert summary.regions_with_points == len(held)
    assert summary.degrees_with_points == (degrees[held].mean(), degrees[rest].mean())
    assert "with points" in str(summary)
    assert carving.adjacency().summary(points[0]).points == 1
    with pytest.raises(InputError, match="points must be numbers"):
        carving.adjacency().summary([[1, 2, 3]])


def test_summary_is_a_table_and_plain_data() -> None:
    carving = pc.carve(examples.moons(), pc.Space(2))
    summary = carving.adjacency().summary([[0.0, 0.0]])
    lines = str(summary).splitlines()
    assert lines[0] == f"regions           {len(carving)}"
    assert len({line.index(line.split("  ", 1)[1].strip()) for line in lines[:8]}) == 1
    assert len(repr(summary)) < 80
    data = json.loads(json.dumps(summary.to_dict()))
    assert data["regions"] == 93
    assert data["diameter_bound"] == 6**3 - 1
    assert data["bounded_share"] == carving.bounded().mean()
    assert 0 < data["bounded_share"] < 1
    with pytest.raises(AttributeError):
        summary.regions = 1  # type: ignore[misc]


def test_summary_of_an_incomplete_carving_says_so() -> None:
    carving = pc.carve(examples.moons(), pc.Space(2), limits=pc.Limits(max_regions=20))
    summary = carving.adjacency().summary()
    assert not summary.complete
    assert summary.unknown_facets > 0
    assert "so far" in str(summary)
    assert "incomplete" in str(summary)
    assert "nothing known behind" in str(summary)


def test_summary_of_nothing() -> None:
    carving = pc.carve(examples.moons(), pc.Space(2), limits=pc.Limits(max_seconds=1e-9))
    assert len(carving) == 0
    summary = carving.adjacency().summary()
    assert summary.regions == summary.components == 0
    assert summary.diameter is None
    assert math.isnan(summary.mean_degree)
    assert json.loads(json.dumps(summary.to_dict(), allow_nan=False))["mean_degree"] is None
    assert "none" in str(summary)


# ---------------------------------------------------------------------- regions


def test_regions_know_their_neighbours() -> None:
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    adjacency = carving.adjacency()
    for index, region in enumerate(carving):
        assert region.facets.dtype == np.int64
        assert region.facets.tolist() == region.halfspaces().source.tolist()
        assert region.neighbors.tolist() == adjacency.of(index).tolist()
        assert ((region.facets < 0) == (region.neighbors == -1)).all()
    child = carving.children("iiiaa")[0]
    assert max(child.neighbors) < len(carving.at_layer(2))


def test_regions_of_no_carving_have_facets_but_no_neighbours() -> None:
    region = pc.region_at(examples.moons(), [0.3, 0.2])
    assert len(region.facets)
    with pytest.raises(InputError, match="belongs to no carving"):
        _ = region.neighbors


@pytest.mark.parametrize(
    ("net", "domain"),
    [
        (examples.moons(), pc.Box([-3, -1], [2, 3])),
        (cases.integers(1, [4, 3], 1, 3), pc.Box([-3], [2])),
        (cases.integers(3, [4, 3], 1, 3), pc.Box([-1, 0, -2], [1, 3, 1])),
        (cases.integers(4, [4], 1, 3), pc.Box.cube(-1, 2, dim=4)),
        (cases.integers(3, [4, 3], 1, 3), pc.Box([-1, 1, -2], [1, 1, 1])),
        (examples.moons(), pc.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])),
    ],
    ids=str,
)
def test_centroids_balance(net: pc.Network, domain: pc.Box | pc.Polytope) -> None:
    carving = pc.carve(net, domain)
    centres, volumes = carving.centroids(), carving.volumes()
    whole = carving.at_layer(0)
    assert volumes @ centres / volumes.sum() == pytest.approx(whole[0].centroid(), abs=1e-12)
    for region, centre in zip(carving, centres, strict=True):
        assert region.contains(centre)
        assert region.centroid() == pytest.approx(centre, abs=1e-15)


def test_centroids_of_simplices_are_means() -> None:
    for d in (2, 3, 5):
        A = [*(-np.eye(d, dtype=int)).tolist(), [1] * d]
        net = pc.Network.from_arrays([[[1] * d]], [[1]], relu_last=True)
        (region,) = pc.carve(net, pc.Polytope(A, [0] * d + [1]))
        assert region.centroid() == pytest.approx([1 / (d + 1)] * d, abs=1e-14)


def test_unbounded_regions_have_no_centroid() -> None:
    carving = pc.carve(examples.moons(), pc.Space(2))
    bounded = carving.bounded()
    assert np.isfinite(carving.centroids()).all(axis=1).tolist() == bounded.tolist()
    with pytest.raises(GeometryError, match="unbounded"):
        carving[int(np.argmin(bounded))].centroid()
    point = pc.carve(examples.fig19(), pc.Box([0, 1], [0, 1]))
    assert point[0].centroid().tolist() == point.centroids()[0].tolist() == [0, 1]
