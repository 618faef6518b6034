"""What `pc.sample` counts, how it shows, and numbers that do not depend on chunks."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import polycarve as pc
from polycarve import patterns
from polycarve.errors import DomainError, InputError, NetworkError
from polycarve.networks import Network, examples
from polycarve.sampling import draws, samples, tally
from tests import cases
from tests.test_sampling_points import SQUARE, UNIFORM, cancelling, thin

MOONS, AROUND = examples.moons(), pc.Box.cube(-3, 3, dim=2)


@pytest.mark.parametrize("name", ["moons", "rand_2-32-32-32", "rand_8-10-10"])
def test_given_points_against_a_dictionary(name: str) -> None:
    case = cases.spec()[name]
    rng = np.random.default_rng(0)
    lo, hi = case.box.bounds()
    X = rng.uniform(lo, hi, (120, case.dim))
    X[90:] = X[:30]
    found = pc.sample(case.network, case.box, points=X)
    expected: dict[tuple[int, ...], list[int]] = {}
    for place, x in enumerate(X):
        values = [Fraction(v) for v in x.tolist()]
        bits: list[int] = []
        for layer in case.network.layers:
            rows = zip(layer.weight.fractions(), layer.bias.fractions(), strict=True)
            z = [b + sum(w * v for w, v in zip(row, values, strict=True)) for row, b in rows]
            if layer.activation is not None:
                bits += [int(v > 0) for v in z]
                z = [max(v, Fraction(0)) for v in z]
            values = z
        expected.setdefault(tuple(bits), []).append(place)
    assert sorted(expected) == [tuple(row) for row in found.patterns.tolist()]
    for row, count, first in zip(found.patterns, found.counts, found.first_seen, strict=True):
        seen = expected[tuple(row.tolist())]
        assert (count, first) == (len(seen), seen[0])
    assert found.frequencies.sum() == pytest.approx(1)
    steps, regions = found.saturation
    assert steps.tolist()[0] == 1
    assert steps.tolist()[-1] == 120
    for m, many in zip(steps.tolist(), regions.tolist(), strict=True):
        assert many == sum(seen[0] < m for seen in expected.values())


def test_the_grid_of_the_text() -> None:
    assert len(pc.sample(MOONS, AROUND, grid=100)) == 58
    assert len(pc.sample(MOONS, AROUND, grid=500)) == 66


def test_given_points_may_lie_anywhere() -> None:
    X = [[0.5, 0.5], [2, 0], [-0.5, 0.5], [0, 0.25]]
    net = Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    found = pc.sample(net, SQUARE, points=X)
    assert (found.n, found.n_outside, found.n_on_boundary) == (3, 1, 1)
    assert found.codes() == ["ia", "aa"]
    everywhere = pc.sample(net, pc.Space(2), points=X)
    assert (everywhere.n, everywhere.n_outside) == (4, 0)
    assert everywhere.n_on_boundary == 2  # (2, 0) too


def test_points_alone_on_boundaries() -> None:
    net = Network.from_arrays([[[1, 0]]], relu_last=True)
    found = pc.sample(net, SQUARE, points=[[0, 0.5], [0, 0.25]])
    assert (len(found), found.n, found.n_on_boundary, found.missing_mass) == (0, 2, 2, None)
    assert "not counted as regions" in str(found)
    assert found.saturation[1].tolist() == [0, 0]


def test_a_single_point_is_one_region() -> None:
    net = Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    for domain in (pc.Box([0, 1], [0, 1]), pc.Box(["1/3", 0], ["1/3", 0])):
        for found in (pc.sample(net, domain, 10, rng=0), pc.sample(net, domain, grid=3)):
            assert (len(found), found.n_on_boundary) == (1, 0)
            assert found.codes() == [pc.carve(net, domain)[0].code]


# ---------------------------------------------------------------------- numbers that stand still


def same(one: pc.SampleEstimate, other: pc.SampleEstimate) -> bool:
    return (
        one.to_dict() == other.to_dict()
        and np.array_equal(one.packed, other.packed)
        and np.array_equal(one.counts, other.counts)
        and np.array_equal(one.first_seen, other.first_seen)
    )


@pytest.mark.parametrize("name", ["box", "triangle", "thin polytope", "flat side"])
def test_chunks_do_not_show(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, domain, _ = UNIFORM[name]
    given = np.random.default_rng(1).uniform(-1, 1, (300, domain.dim))
    calls: list[dict[str, Any]] = [{"n": 3000, "rng": 5}, {"grid": 30}, {"points": given}]
    whole = [pc.sample(network, domain, **call) for call in calls]
    assert same(whole[0], pc.sample(network, domain, 3000, rng=np.random.default_rng(5)))
    assert not same(whole[0], pc.sample(network, domain, 3000, rng=6))
    monkeypatch.setattr(samples, "_CHUNK_POINTS", 7)
    monkeypatch.setattr(tally, "_LEAST_WAITING", 5)
    for call, expected in zip(calls, whole, strict=True):
        assert same(pc.sample(network, domain, **call), expected)


def test_parts_by_the_clock_hold_the_same_points() -> None:
    one = pc.sample(MOONS, AROUND, 5000, rng=3)
    far = time.monotonic() + 1e6
    source = draws.uniform(AROUND, 5000, np.random.default_rng(3))
    assert same(one, samples.run(MOONS, AROUND, source, deadline=far))


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_deadlines_are_looked_at_between_few_points(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1, 1, 2, 4, ... points: each can take seconds in a deep network."""
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(looks) >= steps))
    monkeypatch.setattr(samples, "time", clock)
    source = draws.uniform(AROUND, 5000, np.random.default_rng(3))
    found = samples.run(MOONS, AROUND, source, deadline=0.5)
    assert not found.is_whole
    assert found.n == 1 << steps


def test_grids_of_any_fineness_are_begun_at_once() -> None:
    """Without a list of all the values of a coordinate; in the widest of boxes too."""
    source = draws.grid(pc.Box.cube(-1, 1, dim=1), 10**9)
    first, _ = next(iter(source.draw(3)))
    assert first[:, 0].tolist() == [-1.0, -1.0 + 2 / (10**9 - 1), -1.0 + 4 / (10**9 - 1)]
    wide = pc.Box.cube(-1.5e308, 1.5e308, dim=1)
    (points, _), *_ = draws.grid(wide, 5).draw(9)
    assert points[:, 0] == pytest.approx([-1.5e308, -0.75e308, 0.0, 0.75e308, 1.5e308])
    (points, _), *_ = draws.grid(pc.Box.cube("0.1", "0.7", dim=1), 13).draw(20)
    low, high = pc.Box.cube("0.1", "0.7", dim=1).inner_bounds
    assert points[:, 0].tolist() == np.linspace(low[0], high[0], 13).tolist()


def test_hashes_that_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases.spec()["rand_2-128-128"]
    expected = pc.sample(case.network, case.box, 5000, rng=0)

    def poor(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return words[:, 0] & np.uint64(3)

    monkeypatch.setattr(patterns, "_hashes", poor)
    assert same(pc.sample(case.network, case.box, 5000, rng=0), expected)


def test_random_points_of_networks_that_are_zero_in_many_places() -> None:
    """Zero biases and cancelling neurons leave zeros at most points; all are told apart."""
    for network in (cases.integers(2, [6, 6, 6], 3, 2, biased=False), cancelling()):
        found = pc.sample(network, SQUARE, 20_000, rng=0)
        carving = pc.carve(network, SQUARE)
        assert found.n_on_boundary == 0
        assert set(found.codes()) <= {region.code for region in carving}


def test_numbers_of_any_size() -> None:
    tiny, huge = Fraction(1, 2**700), 2**900
    for network in (
        Network.from_arrays([[[tiny, -tiny]], [[tiny]]], relu_last=True),  # products underflow
        Network.from_arrays([[[huge, -huge]], [[huge]]], relu_last=True),  # and overflow
    ):
        found = pc.sample(network, SQUARE, points=[[0.5, 0.25], [0.25, 0.5], [0.5, 0.5]])
        assert (found.codes(), found.n_on_boundary) == (["i|i", "a|a"], 1)


def test_products_that_vanish_in_part() -> None:
    """0.4 t + 0.4 t - 0.6 t is positive, but -t in float64 where t is the smallest number."""
    t = Fraction(1, 2**1074)
    network = Network.from_arrays([[[t, t, -t]]], relu_last=True)
    cube = pc.Box.cube(-1, 1, dim=3)
    for scale, code in ((1, "a"), (-1, "i")):
        X = scale * np.array([[0.4, 0.4, 0.6]])
        assert pc.sample(network, cube, points=X).codes() == [code]


# ---------------------------------------------------------------------- how it shows


def test_what_people_see() -> None:
    found = pc.sample(MOONS, AROUND, 1000, rng=0)
    assert repr(found).startswith(f"SampleEstimate({len(found)} regions seen by 1000 points")
    lines = str(found).splitlines()
    assert lines[0].split()[:2] == ["points", "1,000"]
    names = [estimate.name for estimate in found.estimates]
    assert names == ["observed", "chao1", "chao1 bias-corrected", "ace", "jackknife1", "jackknife2"]
    assert found._repr_html_().count("<tr>") == len(lines)
    assert found.missing_mass == found.frequency_counts[1] / 1000
    assert found.extrapolate(0.5) == pc.sampling.good_toulmin(found.counts, 0.5)


def test_a_grid_says_nothing_of_what_it_missed() -> None:
    found = pc.sample(MOONS, AROUND, grid=20)
    assert [estimate.name for estimate in found.estimates] == ["observed"]
    assert found.missing_mass is None
    with pytest.raises(InputError, match="the points of a grid are not drawn at random"):
        found.extrapolate()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"n": 0}, "n is 0; it must be at least 1"),
        ({"n": -5}, "n is -5"),
        ({"n": 1e5}, "n is 100000.0; a whole number is needed"),
        ({"n": True}, "n is True"),
        ({"rng": "seed"}, "rng is 'seed'; a seed"),
        ({"rng": -1}, "rng is -1"),
        ({"rng": 1.0}, "rng is 1.0"),
        ({"rng": True}, "rng is True"),
        ({"rng": np.random.RandomState(0)}, "a numpy.random.Generator, or None is needed"),
        ({"rng": "seed", "grid": 3}, "rng is 'seed'"),
        ({"n": 10, "grid": 10}, "n and grid were given; one of"),
        ({"grid": 10, "points": [[0, 0]]}, "grid and points were given"),
        ({"grid": 1}, "grid is 1; it must be at least 2"),
        ({"grid": 10**5}, r"100000\^2 points; more than"),
        ({"points": [[0, 0, 0]]}, r"shape \(n, 2\)"),
        ({"points": [0, 0]}, "at least one row of 2 numbers"),
        ({"points": np.zeros((0, 2))}, "at least one row of 2 numbers"),
        ({"points": [[0, np.nan]]}, "NaN or infinite"),
        ({"points": "points"}, r"shape \(n, 2\)"),
    ],
)
def test_bad_arguments(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pc.sample(MOONS, AROUND, **keywords)


def test_bad_places() -> None:
    quadrant = pc.Polytope([[-1, 0], [0, -1]], [0, 0])
    plane = pc.Slice([0, 0], [[1, 1]])
    for domain in (pc.Space(2), quadrant, plane):
        with pytest.raises(DomainError, match="unbounded: no uniform distribution"):
            pc.sample(MOONS, domain)
        with pytest.raises(DomainError, match="unbounded: no grid covers it"):
            pc.sample(MOONS, domain, grid=3)
    with pytest.raises(DomainError, match="the domain has 3 coordinates"):
        pc.sample(MOONS, pc.Box.cube(0, 1, dim=3))
    with pytest.raises(NetworkError, match="is not a network"):
        pc.sample("moons", AROUND)
    with pytest.raises(DomainError, match="cannot be cut into simplices"):
        pc.sample(cases.integers(10, [2], 0), thin(10), 5)
