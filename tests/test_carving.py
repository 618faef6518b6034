"""What a carving answers once it is there."""

from __future__ import annotations

import numpy as np
import pytest

import polycarve as pc
from polycarve.networks import examples
from tests import cases


@pytest.fixture(scope="module")
def moons() -> pc.Carving:
    return pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))


def test_counts(moons: pc.Carving) -> None:
    assert len(moons) == 66
    assert moons.layer_counts == (13, 43, 66)
    assert moons.split_counts.shape == (15,)
    assert moons.split_counts.sum() == 65
    # Within a layer, the cuts of its neurons account for its growth.
    assert np.add.reduceat(moons.split_counts, [0, 5, 10]).tolist() == [12, 30, 23]
    assert moons.complete
    assert moons.stop_reason is None
    assert moons.n_doubtful == 0


def test_split_counts_by_hand() -> None:
    net = pc.Network.from_arrays([[[1, 0], [1, 0], [0, 1]]], [[0, -5, 0]], relu_last=True)
    carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2))
    assert carving.split_counts.tolist() == [1, 0, 2]


def test_order_is_lexicographic(moons: pc.Carving) -> None:
    rows = moons.patterns.tolist()
    assert rows == sorted(rows)
    assert moons.patterns.dtype == np.uint8
    assert moons.patterns.shape == (66, 15)


def test_regions_by_index_slice_code_and_prefix(moons: pc.Carving) -> None:
    region = moons[7]
    assert moons[region.code].index == 7
    assert moons[region.code.replace("|", "")].index == 7
    assert moons[-1].index == 65
    assert [r.index for r in moons[3:6]] == [3, 4, 5]
    assert [r.index for r in moons] == list(range(66))
    first = region.code.split("|")[0]
    under = moons[first]
    assert [r.index for r in under] == [r.index for r in moons if r.code.startswith(first)]
    assert len(moons[""]) == 66
    assert [r.code for r in moons["a"]] == [r.code for r in moons if r.code[0] == "a"]


def test_a_prefix_without_regions_is_an_empty_list() -> None:
    carving = pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2))
    assert carving["ii|aa|"] == []
    with pytest.raises(pc.PolycarveError, match="no region has the pattern"):
        carving["ii|aa|aa"]


def test_facts_of_the_three_layer_example() -> None:
    carving = pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2))
    children = {code: len(carving.children(code)) for code in ("ia", "aa", "ai", "ii")}
    assert children == {"ia": 2, "aa": 4, "ai": 3, "ii": 1}
    # Within layer 2: H6 is positive on all of ii; H5 is active only inside aa and ia.
    assert [r.code[-2:] for r in carving if r.code[3:5] == "ii"] == ["ia", "ia"]
    assert {r.code[3:5] for r in carving if r.pattern[4]} == {"aa", "ia"}
    assert len(carving.children("aa|ia")) == 3


def test_activation_counts_do_not_identify_regions() -> None:
    """Layer 3 of the moons network: 6 states, but only 4 numbers of active neurons."""
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    states = np.unique(carving.patterns[:, 10:], axis=0)
    assert len(states) == 6
    assert len(set(states.sum(axis=1))) == 4


def test_grids_miss_regions(moons: pc.Carving) -> None:
    for n, seen in ((100, 58), (500, 66)):
        line = np.linspace(-3, 3, n)
        grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        assert len(np.unique(moons.network.patterns(grid), axis=0)) == seen


def test_children_and_layers(moons: pc.Carving) -> None:
    assert [r.code for r in moons.children()] == [r.code for r in moons.at_layer(1)]
    total = sum(len(moons.children(r.code)) for r in moons.at_layer(2))
    assert total == 66
    coarse = moons.at_layer(1)
    assert coarse.layer_counts == (13,)
    assert coarse.patterns.shape == (13, 5)
    with pytest.raises(pc.PolycarveError, match="stops after layer 1"):
        coarse[0].affine_map()
    assert len(moons.at_layer(0)) == 1


def test_points_lie_in_their_regions(moons: pc.Carving) -> None:
    assert moons.point_is_interior.all()
    assert np.array_equal(moons.network.patterns(moons.points), moons.patterns)
    inside = np.array([region.contains(moons.points) for region in moons])
    assert np.array_equal(inside, np.eye(66, dtype=bool))


def test_contains_is_closed_and_exact() -> None:
    net = pc.Network.from_arrays([[["0.1", "-0.3"]]], relu_last=True)
    region = pc.carve(net, pc.Box.cube(0, 1, dim=2))["a"]
    # 0.1 x = 0.3 y exactly at (3, 1) / 4; at the neighbouring floats it is not.
    on = np.array([0.75, 0.25])
    assert region.contains(on)
    assert region.contains(np.nextafter(on, [1, 0]))
    assert not region.contains([0.75, np.nextafter(0.25, 1)])
    assert not region.contains([2.0, 0.5])  # on the boundary's line, but outside the box


def test_affine_map_is_the_network_on_the_region(moons: pc.Carving) -> None:
    for region in moons:
        W, c = region.affine_map()
        assert np.allclose(W @ region.point + c, moons.network(region.point), atol=1e-12)


def test_columns_cannot_be_written(moons: pc.Carving) -> None:
    for column in (moons.packed, moons.points, moons.point_is_interior):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_reprs_are_short(moons: pc.Carving) -> None:
    assert repr(moons[0]).startswith("Region(0: iiiii|")
    assert "66 regions" in repr(moons)
    wide = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(wide.network, wide.box, limits=pc.Limits(max_regions=1))
    assert len(repr(carving[0])) < 80
    assert "incomplete: stopped by regions" in repr(carving)


def test_first_regions_in_order(moons: pc.Carving) -> None:
    for most in (1, 10, 65):
        part = pc.carve(moons.network, moons.domain, limits=pc.Limits(max_regions=most))
        assert np.array_equal(part.packed, moons.packed[:most])
        assert (part.complete, part.stop_reason) == (False, "regions")
        assert part.layer_counts[-1] == most
    exactly = pc.carve(moons.network, moons.domain, limits=pc.Limits(max_regions=66))
    assert exactly.complete
    assert len(exactly) == 66


def test_out_of_time_says_so() -> None:
    case = cases.spec()["rand_10-12-12"]
    part = pc.carve(case.network, case.box, limits=pc.Limits(max_seconds=1e-9))
    assert (part.complete, part.stop_reason) == (False, "time")
    assert len(part) < case.regions


def test_progress_grows_to_one() -> None:
    case = cases.spec()["rand_2-128-128"]
    seen: list[tuple[float, int]] = []
    pc.carve(
        case.network,
        case.box,
        method="simplex",
        progress=lambda done, n: seen.append((done, n)),
    )
    assert seen == sorted(seen)
    assert seen[-1] == (pytest.approx(1.0), case.regions)
    assert len(seen) > 1


def test_interrupt_keeps_what_was_found() -> None:
    case = cases.spec()["rand_2-128-128"]

    def stop(done: float, n: int) -> None:
        raise KeyboardInterrupt

    part = pc.carve(case.network, case.box, method="simplex", progress=stop)
    assert part.stop_reason == "interrupt"
    assert 0 < len(part) < case.regions
    whole = pc.carve(case.network, case.box)
    assert np.array_equal(part.packed, whole.packed[: len(part)])


def test_progress_bar_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    case = cases.spec()["moons"]
    pc.carve(case.network, case.box, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "66 regions" in captured.err


def test_no_hidden_layers() -> None:
    carving = pc.carve(pc.Network.from_arrays([[[1, 2]]]), pc.Box.cube(-1, 1, dim=2))
    assert len(carving) == 1
    assert carving.layer_counts == ()
    assert carving[0].code == ""
    assert carving[""].affine_map()[0].tolist() == [[1.0, 2.0]]
    assert carving.split_counts.tolist() == []
    assert pc.count_regions(carving.network, carving.domain) == 1


def test_a_domain_of_one_point() -> None:
    net = examples.fig19()
    carving = pc.carve(net, pc.Box([1, "0.5"], [1, "0.5"]))
    assert len(carving) == 1
    assert carving.points.tolist() == [[1.0, 0.5]]
    assert np.array_equal(carving.patterns[0], net.patterns([1.0, 0.5]))
    assert pc.carve(net, carving.domain, stop_layer=1)[0].code == carving[0].code[:2]


def test_flat_sides_keep_their_coordinate() -> None:
    net = examples.moons()
    carving = pc.carve(net, pc.Box([-3, "0.25"], [3, "0.25"]))
    assert (carving.points[:, 1] == 0.25).all()
    assert np.array_equal(net.patterns(carving.points), carving.patterns)
    assert carving.domain.rank == 1


def test_region_at_agrees_with_carving(moons: pc.Carving) -> None:
    for region in moons:
        alone = pc.region_at(moons.network, region.point)
        assert alone.code == region.code
        assert alone.point_is_interior


def test_region_at_on_a_boundary() -> None:
    net = pc.Network.from_arrays([[[1, 0], [-1, 0]]], relu_last=True)
    with pytest.raises(pc.PolycarveError, match="boundary"):  # both inactive only where x1 = 0
        pc.region_at(net, [0, 1])
    one = pc.Network.from_arrays([[[1, 0]]], relu_last=True)
    region = pc.region_at(one, [0, 1])  # inactive, as is the whole left side
    assert region.code == "i"
    assert region.point_is_interior
    assert region.point[0] < 0
    dead = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, 1]]], relu_last=True)
    assert pc.region_at(dead, [-1, -1]).point.tolist() == [-1.0, -1.0]


def test_region_at_in_many_dimensions() -> None:
    rng = np.random.default_rng(0)
    net = pc.Network.from_arrays(
        [rng.normal(size=(64, 784)), rng.normal(size=(32, 64)), rng.normal(size=(10, 32))]
    )
    x = rng.uniform(size=784)
    region = pc.region_at(net, x)
    assert np.array_equal(region.pattern, net.patterns(x))
    W, c = region.affine_map()
    assert np.allclose(W @ x + c, net(x))


def test_count_regions_of_a_carving(moons: pc.Carving) -> None:
    assert pc.count_regions(moons) == 66
    assert pc.count_regions(moons, stop_layer=1) == 13
    part = pc.carve(moons.network, moons.domain, limits=pc.Limits(max_regions=5))
    with pytest.raises(pc.PolycarveError, match="incomplete"):
        pc.count_regions(part)


def test_select_method_says_why(moons: pc.Carving) -> None:
    choice = pc.select_method(moons.network, moons.domain)
    assert choice.method == "vertices" == moons.method
    assert "2 coordinates" in choice.reason
    for dim, method in ((5, "vertices"), (6, "simplex")):  # and one more: the space is unbounded
        net = pc.Network.from_arrays([np.eye(dim)], relu_last=True)
        assert pc.select_method(net, pc.Space(dim)).method == method
        assert pc.select_method(net, pc.Box.cube(0, 1, dim=dim)).method == "vertices"
