"""What must hold of every carving does, and each check sees the damage that it is there for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve.adjacency import Adjacency
from polycarve.checks import Report
from polycarve.domains import Domain
from polycarve.errors import InputError, NumericalError
from polycarve.faces import euler_characteristic
from polycarve.networks import examples
from tests import cases

NAMES = [
    "points",
    "order",
    "volumes",
    "facets",
    "adjacency",
    "connected",
    "continuity",
    "rank",
    "euler",
]
BOX = pc.Box.cube(-3, 3, dim=2)


def moons(domain: Domain = BOX, **keywords: Any) -> pc.Carving:
    return pc.carve(examples.moons(), domain, **keywords)


def damaged(carving: pc.Carving, **columns: Any) -> pc.Carving:
    """The same carving with other columns."""
    held = {name: getattr(carving, name) for name in ("packed", "points", "point_is_interior")}
    held |= columns
    return pc.Carving(
        columns.pop("network", carving.network),
        carving.domain,
        *(np.array(held[name]) for name in ("packed", "points", "point_is_interior")),
        n_layers=carving.n_layers,
        stop_reason=carving.stop_reason,
        method=carving.method,
    )


def rows_of(carving: pc.Carving, rows: Any) -> pc.Carving:
    return damaged(
        carving,
        packed=carving.packed[rows],
        points=carving.points[rows],
        point_is_interior=carving.point_is_interior[rows],
    )


def failed(report: Report) -> set[str]:
    return {finding.name for finding in report if finding.status == "failed"}


def skipped(report: Report) -> set[str]:
    return {finding.name for finding in report if finding.status == "skipped"}


# ---------------------------------------------------------------------- all is well

# Those of the specification with at most five dimensions that are carved in well under a second.
QUICK = [name for name, case in cases.spec().items() if case.dim <= 5 and case.regions <= 16_000]


@pytest.mark.parametrize("name", QUICK)
def test_networks_of_the_specification_pass(name: str) -> None:
    case = cases.spec()[name]
    report = pc.check(pc.carve(case.network, case.box))
    assert report.ok, str(report)
    assert skipped(report) == ({"euler"} if case.dim > 3 else set())


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_networks_pass(name: str) -> None:
    carving = pc.carve(*cases.DEGENERATE[name]())
    report = pc.check(carving)
    assert report.ok, str(report)
    may_skip = set() if carving.domain.is_bounded else {"volumes"}
    if carving.domain.rank > 2 and not carving.domain.is_bounded:
        may_skip.add("euler")
    if len(carving) == 1:
        may_skip |= {"continuity", "rank"}
    assert skipped(report) == may_skip


@pytest.mark.parametrize(
    "case", [c for c in cases.ground_truths() if c.regions <= 400], ids=lambda case: case.name
)
def test_ground_truths_pass(case: cases.TruthCase) -> None:
    report = pc.check(pc.carve(case.network, case.domain))
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("net", "domain"),
    [
        (examples.moons(), pc.Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1])),
        (examples.moons(), pc.Polytope([[1, 2]], [1])),
        (examples.moons(), pc.Polytope([[1, 2], [-1, -2]], [1, 1])),
        (examples.moons(), pc.Polytope([[-1, 0], [0, -1]], [1, 1])),
        (examples.moons(), pc.Segment([-3, -2], [3, 3])),
        (cases.integers(3, [4, 3], 2, 2), pc.Slice([0, 0, 0], [[1, 0, 1], [0, 1, 1]])),
        (cases.integers(3, [4, 3], 6, 2), pc.Box([-2, 1, -2], [2, 1, 2])),
        (examples.fig19(), pc.Box([0, 1], [0, 1])),
        (pc.Network.from_arrays([[[1, 2]]]), pc.Space(2)),
        (pc.Network.from_arrays([[[1, 2]]]), pc.Box.cube(0, 1, dim=2)),
    ],
    ids=str,
)
def test_domains_of_all_kinds_pass(net: pc.Network, domain: Domain) -> None:
    report = pc.check(pc.carve(net, domain))
    assert report.ok, str(report)
    assert report["euler"].status == "ok"


def test_carvings_of_the_first_layers_pass() -> None:
    for layer in range(4):
        report = pc.check(moons().at_layer(layer))
        assert report.ok, str(report)
        assert skipped(report) == ({"continuity", "rank"} if layer == 0 else set())


@pytest.mark.parametrize(
    ("domain", "number"),
    [
        (pc.Space(1), -1),
        (pc.Space(2), 1),
        (pc.Box.cube(0, 1, dim=3), 1),
        (pc.Polytope([[1, 0]], [0]), 0),
        (pc.Polytope([[1, 0], [-1, 0]], [1, 1]), -1),
        (pc.Polytope([[1, 0], [0, 1]], [1, 1]), 0),
        (pc.Polytope([[1, 0, 0], [-1, 0, 0]], [1, 1]), 1),
        (pc.Polytope([[1, 0, 0], [-1, 0, 0], [0, 1, 1], [0, -1, -1]], [1, 1, 1, 1]), -1),
        (pc.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]), 1),
    ],
    ids=str,
)
def test_euler_characteristic_of_domains(domain: Domain, number: int) -> None:
    assert euler_characteristic(domain) == number


# ---------------------------------------------------------------------- damage


@pytest.mark.parametrize("row", [0, 11, 30, 65])
def test_a_region_that_is_missing_shows(row: int) -> None:
    whole = moons()
    report = pc.check(rows_of(whole, np.arange(len(whole)) != row))
    assert {"volumes", "facets", "adjacency"} <= failed(report)
    assert not {"points", "order", "continuity", "rank"} & failed(report)
    assert not report.ok


def test_a_hole_shows_in_the_euler_characteristic() -> None:
    whole = moons()
    inner = [r.index for r in whole if (r.neighbors >= 0).all()]
    for row in inner[:5]:
        report = pc.check(rows_of(whole, np.arange(len(whole)) != row))
        assert "euler" in failed(report)
        assert report["euler"].note.endswith("= 0, and not 1")
    space = pc.carve(cases.integers(3, [4, 3], 1, 3), pc.Box.cube(-1, 1, dim=3))
    row = next(r.index for r in space if (r.neighbors >= 0).all())
    report = pc.check(rows_of(space, np.arange(len(space)) != row))
    assert {"euler", "volumes", "facets"} <= failed(report)


def test_a_list_in_two_parts_shows() -> None:
    line = moons(pc.Segment([-3, -2], [3, 3]))
    at = np.argsort(line.points[:, 0])[len(line) // 2]
    report = pc.check(rows_of(line, np.arange(len(line)) != at))
    assert {"connected", "volumes", "facets", "euler"} <= failed(report)
    assert report["connected"].measured == 2


def test_a_whole_side_of_a_hyperplane_that_is_missing_shows() -> None:
    """The list then looks as if the neuron never cut: its own adjacency has no fault."""
    whole = pc.carve(cases.integers(2, [4, 3], 2, 2), pc.Box.cube(-2, 2, dim=2))
    bits = whole.patterns
    neuron = next(
        k
        for k in reversed(range(bits.shape[1]))
        if 0 < bits[:, k].sum() < len(bits) and whole.split_counts[k]
    )
    part = rows_of(whole, bits[:, neuron] == 0)
    report = pc.check(part)
    assert {"volumes", "facets"} <= failed(report)


def test_a_flipped_bit_shows() -> None:
    whole = moons()
    for row, neuron in ((0, 0), (20, 7), (40, 14), (65, 10)):
        packed = np.array(whole.packed)
        packed[row, neuron >> 3] ^= 128 >> (neuron & 7)
        report = pc.check(damaged(whole, packed=packed))
        assert {"points", "facets", "adjacency"} <= failed(report)
        assert f"region {row}" in report["points"].note
        assert {"order", "volumes"} & failed(report)


@pytest.mark.parametrize("row", [0, 30, 65])
def test_a_region_that_is_there_twice_shows(row: int) -> None:
    whole = moons()
    report = pc.check(rows_of(whole, np.insert(np.arange(len(whole)), row, row)))
    assert {"order", "volumes", "facets"} <= failed(report)
    assert report["order"].measured == 1
    assert "points" not in failed(report)


def test_a_region_of_few_neurons_that_is_there_twice_shows() -> None:
    """Two rows that do not differ name no neuron that parts them: kernels must not look for it."""
    net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    whole = pc.carve(net, BOX, method="simplex")
    twice = rows_of(whole, [0, 0, 1, 2, 3])
    assert twice._tree is None
    assert {"order", "facets", "adjacency"} <= failed(pc.check(twice))
    with pytest.raises(NumericalError, match="has a facet on neuron"):
        twice.adjacency()


def test_a_wrong_order_is_no_tree_of_splits() -> None:
    whole = pc.carve(cases.integers(3, [6, 6], 2, 3), pc.Box.cube(-2, 2, dim=3), method="simplex")
    turned = rows_of(whole, np.arange(len(whole))[::-1])
    assert turned._tree is None
    edges = len(whole) - 1 - turned.adjacency().edges[:, ::-1]
    assert set(map(tuple, edges.tolist())) == set(map(tuple, whole.adjacency().edges.tolist()))
    assert failed(pc.check(turned)) == {"order"}


def test_a_wrong_order_shows() -> None:
    whole = moons()
    order = np.arange(len(whole))
    order[[10, 11]] = order[[11, 10]]
    report = pc.check(rows_of(whole, order))
    assert "order" in failed(report)
    assert not {"points", "volumes", "facets", "euler"} & failed(report)


def test_a_point_that_was_moved_shows() -> None:
    whole = moons()
    outside = np.array(whole.points)
    outside[7] = [3.5, 0]  # outside the domain
    report = pc.check(damaged(whole, points=outside))
    assert failed(report) == {"points"}
    assert report["points"].measured == 1
    assert "region 7" in report["points"].note
    elsewhere = np.array(whole.points)
    elsewhere[20] = elsewhere[21]
    report = pc.check(damaged(whole, points=elsewhere))
    assert "points" in failed(report)
    assert "region 20" in report["points"].note
    assert not {"order", "volumes", "facets", "euler"} & failed(report)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("domain", [BOX, pc.Space(2)], ids=str)
def test_a_point_that_is_no_number_shows(domain: Domain, value: float) -> None:
    whole = moons(domain, method="simplex")
    points = np.array(whole.points)
    points[7, 1] = value
    report = pc.check(damaged(whole, points=points))
    assert failed(report) == {"points"}
    assert "region 7" in report["points"].note


def test_a_pattern_that_a_constant_neuron_does_not_have_shows() -> None:
    net = pc.Network.from_arrays([[[0], [0]]], [[-1, -1]], relu_last=True)
    whole = pc.carve(net, pc.Box([-2], [2]), method="simplex")
    longer = damaged(rows_of(whole, [0, 0]), packed=np.packbits([[0, 0], [1, 1]], axis=1))
    assert {"points", "adjacency"} <= failed(pc.check(longer))
    with pytest.raises(NumericalError, match="facet on neuron 0, which is constant there"):
        longer.adjacency()


def test_a_point_that_is_not_proven_is_not_asked_for() -> None:
    whole = moons()
    inside = np.ones(len(whole), np.bool_)
    inside[5] = False
    moved = np.array(whole.points)
    moved[5] = moved[6]
    report = pc.check(damaged(whole, points=moved, point_is_interior=inside))
    assert report.ok, str(report)
    assert "1 regions have no proven one" in report["points"].note


def test_patterns_of_another_network_show() -> None:
    whole = moons()
    layers = [layer.weight.float64 for layer in whole.network.layers]
    other = pc.Network.from_arrays([-W for W in layers])
    report = pc.check(damaged(whole, network=other))
    assert {"points", "volumes", "facets"} <= failed(report)


def swapped(carving: pc.Carving) -> pc.Carving:
    """A carving whose adjacency names wrong neighbours, on both sides of two facets."""
    right = carving.adjacency()
    neighbor = np.array(right.neighbor)
    one, other = right.edge_facets[[5, -5]]
    neighbor[[one, other]] = neighbor[[other, one]]
    wrong = Adjacency(
        carving,
        right.offsets,
        right.source,
        neighbor,
        right.carrier_offsets,
        right.carriers,
    )
    copy = damaged(carving)
    copy.__dict__["_adjacency"] = wrong
    return copy


def test_wrong_neighbours_show() -> None:
    """Maps that do not belong together are apart, and by more than rank one."""
    hidden = cases.integers(2, [5, 4], 1, 3)
    weights = [layer.weight.float64 for layer in hidden.layers]
    net = pc.Network.from_arrays([*weights, [[1, 2, 0, 1], [0, 1, -1, 3], [2, 0, 1, 1]]])
    report = pc.check(swapped(pc.carve(net, BOX)))
    assert failed(report) == {"adjacency", "continuity", "rank"}
    assert report["adjacency"].measured == 4
    assert "regions" in report["continuity"].note
    assert (report["continuity"].measured or 0) > 1e-4


def test_one_output_is_of_rank_one_and_not_continuous_all_the_same() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    report = pc.check(swapped(pc.carve(case.network, case.box)), skip=["volumes", "euler"])
    assert failed(report) == {"adjacency", "continuity"}
    assert skipped(report) == {"volumes", "euler"}


# ---------------------------------------------------------------------- incomplete


def test_outputs_of_uneven_size_are_of_rank_one() -> None:
    """A long change can be little beside its map, and then its direction is known to few digits."""
    net = pc.Network.from_arrays([[[0.3, 0.7], [0.9, 0.1]], [[1, 1e9], [0.5, 0]]], [[0, 9], [0, 0]])
    report = pc.check(pc.carve(net, BOX))
    assert report.ok, str(report)
    assert report["rank"].measured is not None


def test_of_an_incomplete_carving_what_can_be_checked_is() -> None:
    part = moons(limits=pc.Limits(max_regions=30))
    report = pc.check(part)
    assert report.ok, str(report)
    assert skipped(report) == {"connected", "euler"}
    assert "incomplete" in report["connected"].note
    assert "at most" in report["volumes"].note
    twice = pc.check(rows_of(part, np.insert(np.arange(30), 3, 3)))
    assert {"order", "facets"} <= failed(twice)
    moved = np.array(part.points)
    moved[4] = moved[5]
    assert "points" in failed(pc.check(damaged(part, points=moved)))


def test_an_incomplete_carving_cannot_be_larger_than_the_domain() -> None:
    part = moons(limits=pc.Limits(max_regions=60))
    many = pc.check(rows_of(part, np.repeat(np.arange(60), 3)))
    assert "volumes" in failed(many)


def test_nothing_at_all_is_checked_too() -> None:
    nothing = moons(limits=pc.Limits(max_seconds=1e-9))
    assert len(nothing) == 0
    report = pc.check(nothing)
    assert report.ok
    assert {"connected", "continuity", "rank", "euler"} == skipped(report)


# ---------------------------------------------------------------------- the report


def test_report_is_a_table_and_plain_data() -> None:
    report = pc.check(moons())
    assert [finding.name for finding in report] == NAMES
    lines = str(report).splitlines()
    assert len(lines) == 1 + len(NAMES)
    assert lines[0].split() == ["check", "result", "measured", "tolerance"]
    assert [line.split()[:2] for line in lines[1:]] == [[name, "ok"] for name in NAMES]
    assert repr(report) == "Report(9 ok, 0 failed, 0 skipped)"
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is True
    assert [entry["name"] for entry in data["findings"]] == NAMES
    with pytest.raises(InputError, match=r"no check is called 'colour'\. There are: points"):
        report["colour"]


def test_checks_can_be_left_out() -> None:
    report = pc.check(moons(), skip=["volumes"])
    assert report["volumes"].status == "skipped"
    assert report["volumes"].note == "not asked for"
    with pytest.raises(InputError, match="no check is called 'volume'"):
        pc.check(moons(), skip=["volume"])
    with pytest.raises(InputError, match="give a list"):
        pc.check(moons(), skip="volumes")


def test_many_dimensions_skip_what_is_out_of_reach() -> None:
    net = cases.integers(10, [4], 1, 3)
    report = pc.check(pc.carve(net, pc.Box.cube(-1, 1, dim=10)))
    assert report.ok
    assert skipped(report) == {"volumes", "euler"}
    assert "out of reach" in report["volumes"].note
