"""Certified carvings: the counts, and the repair of what is wrong or what floats cannot see."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve.certificate import Certificate, sharing
from tests import cases
from tests.certificates import damage
from tests.oracles import exact, polygons


def certified(carving: pc.Carving) -> Certificate:
    """The certificate of a carving, which the checker accepts."""
    certificate = carving.certify()
    assert certificate.proved
    assert certificate.check() == certificate.theorem
    assert certificate.carving.n_doubtful == 0 or not certificate.complete
    return certificate


def patterns(carving: pc.Carving) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carving.patterns.tolist()]


# ---------------------------------------------------------------------- counts


@pytest.mark.parametrize("case", cases.ground_truths(), ids=lambda case: case.name)
def test_ground_truth(case: cases.TruthCase) -> None:
    certificate = certified(pc.carve(case.network, case.domain))
    assert len(certificate.carving) == case.regions
    assert f"exactly {case.regions} activation regions" in certificate.theorem


_SPEC = [name for name, case in cases.spec().items() if case.regions <= 2000]


@pytest.mark.parametrize("name", _SPEC)
def test_spec(name: str) -> None:
    case = cases.spec()[name]
    certificate = certified(pc.carve(case.network, case.box))
    assert certificate.carving.layer_counts == case.layer_counts
    assert certificate.n_added == certificate.n_dropped == certificate.n_programs == 0
    assert certificate.carving.point_is_interior.all()


def test_there_are_networks_of_up_to_2000_regions() -> None:
    assert {"moons", "fig19", "rand_2-32-32-32", "rand_3-16-16-16"} <= set(_SPEC)


@pytest.mark.parametrize("name", damage.PLACES)
def test_places(name: str) -> None:
    network, domain = damage.PLACES[name]()
    certificate = certified(pc.carve(network, domain))
    assert certificate.n_vectors >= certificate.n_short + certificate.n_exact
    place = certificate.carving.domain
    if "bent" not in name and place.rank == place.dim:
        assert patterns(certificate.carving) == exact.regions(network, place)


@pytest.mark.parametrize("name", cases.DEGENERATE)
def test_degenerate_networks(name: str) -> None:
    network, domain = cases.DEGENERATE[name]()
    certificate = certified(pc.carve(network, domain))
    if name == "flat side":
        lo, hi = domain.lo.fractions(), domain.hi.fractions()
        inner = pc.Box([lo[0], lo[2]], [hi[0], hi[2]])
        plane = pc.Slice([0, lo[1], 0], [[1, 0, 0], [0, 0, 1]], domain=inner)
        assert patterns(certificate.carving) == exact.regions(network, plane)
    else:
        assert patterns(certificate.carving) == exact.regions(network, domain)


@pytest.mark.parametrize("name", ["bent units", "bent units on all of R^2"])
def test_bent_units_are_what_evaluation_says(name: str) -> None:
    carving = damage.carved(name)
    points = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    found = {tuple(row) for row in carving.network.patterns(points).tolist()}
    assert found <= set(patterns(carving))
    assert np.array_equal(carving.network.patterns(carving.points), carving.patterns)


def _networks(dim: int, numbers: Any) -> Any:
    """Small networks of one or two layers, of numbers that repeat themselves."""

    def listed(of: Any, n: int) -> Any:
        return st.lists(of, min_size=n, max_size=n)

    def two(width: int) -> Any:
        second = st.lists(listed(numbers, width), min_size=1, max_size=3)
        rows = listed(listed(numbers, dim), width)
        return st.tuples(rows, listed(numbers, width), second, listed(numbers, 3))

    return st.integers(1, 3).flatmap(two)


_DYADIC = st.builds(
    lambda n, e: Fraction(n, 2**e), st.integers(-5, 5), st.sampled_from([0, 1, 3, 50])
)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("kind", ["integers", "dyadic"])
def test_counts_are_those_of_brute_force(dim: int, kind: str) -> None:
    numbers = st.integers(-2, 2) if kind == "integers" else _DYADIC
    places = st.sampled_from(
        [pc.Space(dim), pc.Box.cube(-1, 1, dim=dim), pc.Box.cube(0, "1/3", dim=dim)]
    )

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(_networks(dim, numbers), places)
    def counts_agree(given: Any, place: Any) -> None:
        first, bias, second, last = given
        net = pc.Network.from_arrays([first, second], [bias, last[: len(second)]], relu_last=True)
        certificate = certified(pc.carve(net, place))
        assert patterns(certificate.carving) == exact.regions_by_brute_force(net, place)

    counts_agree()


# ---------------------------------------------------------------------- repair


def rebuilt(carving: pc.Carving, rows: Any, **columns: Any) -> pc.Carving:
    """A carving of other rows, told that they are all there are."""
    given = {
        "packed": carving.packed,
        "points": carving.points,
        "point_is_interior": carving.point_is_interior,
    } | columns
    held = [np.array(column[rows]) for column in given.values()]
    return pc.Carving(carving.network, carving.domain, *held, n_layers=carving.n_layers)


def assert_repaired(whole: pc.Carving, damaged: pc.Carving, added: int, dropped: int) -> None:
    certificate = certified(damaged)
    found = certificate.carving
    assert np.array_equal(found.packed, whole.packed)
    assert (certificate.n_added, certificate.n_dropped) == (added, dropped)
    inside = found.point_is_interior
    assert np.array_equal(found.locate(found.points[inside]), np.flatnonzero(inside))


_REPAIRED = ["fig19", "zero biases on a box", "all of R^3", "a plane", "a wedge", "bent units"]


@pytest.mark.parametrize("name", _REPAIRED)
def test_any_region_is_found_again(name: str) -> None:
    whole = damage.carved(name)
    rows = np.arange(len(whole))
    for row in rows[:: max(1, len(rows) // 12)]:
        assert_repaired(whole, rebuilt(whole, rows != row), 1, 0)


@pytest.mark.parametrize("name", [*_REPAIRED, "moons", "a point", "a triangle", "a flat box"])
def test_all_but_one_and_all_are_found_again(name: str) -> None:
    whole = damage.carved(name)
    rows = np.arange(len(whole))
    assert_repaired(whole, rebuilt(whole, rows[:0]), len(whole), 0)
    assert_repaired(whole, rebuilt(whole, rows[-1:]), len(whole) - 1, 0)
    assert_repaired(whole, rebuilt(whole, rows[len(rows) // 2 :]), len(rows) // 2, 0)


@pytest.mark.parametrize("name", _REPAIRED)
def test_damaged_lists_are_repaired(name: str) -> None:
    whole = damage.carved(name)
    rows, n = np.arange(len(whole)), len(whole)
    assert_repaired(whole, rebuilt(whole, np.append(rows, rows[-1])), 0, 1)
    assert_repaired(whole, rebuilt(whole, rows[::-1]), 0, 0)
    shifted = {"points": np.roll(whole.points, 1, axis=0)}
    assert_repaired(whole, rebuilt(whole, rows, **shifted), 0, 0)
    for points in (
        np.full_like(whole.points, np.nan),
        np.zeros_like(whole.points),
        whole.points * 1e30,
    ):
        assert_repaired(whole, rebuilt(whole, rows, points=points), 0, 0)
    rng = np.random.default_rng(1)
    listed = {row.tobytes() for row in whole.packed}
    for _ in range(12):
        row, bit = rng.integers(n), rng.integers(sum(whole.widths))
        bits = whole.patterns
        bits[row, bit] ^= 1
        packed = np.packbits(bits, axis=1)
        is_twin = packed[row].tobytes() in listed  # then one is missing, and one is there twice
        assert_repaired(whole, rebuilt(whole, rows, packed=packed), 1, 1)
        if not is_twin:  # a pattern that is nowhere, beside all that are somewhere
            both = {
                "packed": np.concatenate([whole.packed, packed[row : row + 1]]),
                "points": np.append(whole.points, whole.points[:1], axis=0),
                "point_is_interior": np.append(whole.point_is_interior, True),
            }
            assert_repaired(whole, rebuilt(whole, np.arange(n + 1), **both), 0, 1)


def test_random_lists_are_repaired() -> None:
    """Nothing of the list is right but the number of bits."""
    whole = damage.carved("zero biases on a box")
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (30, sum(whole.widths))).astype(np.uint8)
    points = rng.normal(size=(30, 2))
    damaged = pc.Carving(
        whole.network, whole.domain, np.packbits(bits, axis=1), points, np.ones(30, bool)
    )
    certificate = certified(damaged)
    assert np.array_equal(certificate.carving.packed, whole.packed)


# ---------------------------------------------------------------------- beyond floats


def _net(*layers: tuple[Any, Any]) -> pc.Network:
    return pc.Network.from_arrays([W for W, _ in layers], [b for _, b in layers], relu_last=True)


_SQUARE = pc.Box.cube(-1, 1, dim=2)
_DEEP = ([[1, -2, 1], [-1, 1, 2]], [1, 0])


def _spread(seed: int) -> pc.Network:
    """Weights of sizes from 1e-12 to 1e12."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> Any:
        return rng.normal(size=shape) * 10.0 ** rng.integers(-12, 13, size=shape)

    return _net((weights(5, 2), weights(5)), (weights(4, 5), weights(4)))


_BEYOND: dict[str, Callable[[], tuple[pc.Network, pc.Box]]] = {
    **{
        f"parallel at {gap:g}": lambda gap=gap: (
            _net(([[1, 2], [1, 2], [2, -1]], [0, gap, 0]), _DEEP),
            _SQUARE,
        )
        for gap in (1e-12, 1e-15, 1e-40)
    },
    **{
        f"nearly parallel by {gap:g}": lambda gap=gap: (
            _net(([[1, 2], [1, 2 + Fraction(gap)], [2, -1]], [0, 0, 0]), _DEEP),
            _SQUARE,
        )
        for gap in (1e-14, 1e-30)
    },
    "almost through one point": lambda: (
        _net(([[1, 0], [0, 1], [1, 1]], [-0.1, -0.2, -(0.1 + 0.2)]), _DEEP),
        _SQUARE,
    ),
    "a triangle of area 1e-32": lambda: (
        _net(([[1, 0], [0, 1], [-1, -1]], [0, 0, "1e-16"]), _DEEP),
        _SQUARE,
    ),
    "wide, with fine features": lambda: (
        _net(
            ([[1e8, 1], [1, 1e8], [1, 1], [1, -1]], [1, 1, 1e-8, 1e-8]),
            ([[1, -2, 1, 1], [-1, 1, 2, -3]], [1e-8, 0]),
        ),
        pc.Box.cube(-5e7, 5e7, dim=2),
    ),
    "close, far away": lambda: (
        _net(([[1, 1], [1, -1], [2, 1]], ["-2000.0000000001", "1e-13", -3000]), _DEEP),
        pc.Box([1000, 1000], ["1000.000001", 1001]),
    ),
    **{f"spread {seed}": lambda seed=seed: (_spread(seed), _SQUARE) for seed in range(8)},
}


@pytest.mark.parametrize("name", _BEYOND)
def test_what_floats_cannot_see(name: str) -> None:
    """An exact subdivision into polygons is the referee."""
    network, box = _BEYOND[name]()
    true = polygons.cells(network, box)
    certificate = certified(pc.carve(network, box))
    assert patterns(certificate.carving) == sorted(true)


def test_floats_do_not_see_some_of_these() -> None:
    """Else the tests above show little."""
    repaired = []
    for name, make in _BEYOND.items():
        certificate = pc.carve(*make()).certify()
        repaired += [name] * bool(certificate.n_added)
    assert len(repaired) >= 8, repaired


def test_a_region_between_two_floats() -> None:
    net = pc.Network.from_arrays([[[3]]], [[-0.3]], relu_last=True)
    carving = pc.carve(net, pc.Box([0], [0.1]))
    assert len(carving) == 1
    assert carving.n_doubtful > 0
    certificate = certified(carving)
    assert [region.code for region in certificate.carving] == ["i", "a"]
    assert certificate.carving.point_is_interior.tolist() == [True, False]
    assert len(pc.carve(net, pc.Box([0], [0.1]), exact=True)) == 2


def test_slivers_of_a_large_network() -> None:
    """The smallest cells of 2-256-256-256, a small box around each."""
    case = cases.spec()["rand_2-256-256-256"]
    carving = pc.carve(case.network, case.box, keep="cells")
    areas = carving.volumes()
    for row in np.argsort(areas)[:3]:
        assert areas[row] < 1e-13
        centre = carving.points[row]
        small = pc.Box.around(centre, 1e-6)
        certificate = certified(pc.carve(case.network, small))
        assert any(
            np.array_equal(found, carving.packed[row]) for found in certificate.carving.packed
        )
        assert certificate.n_short + certificate.n_exact > 100


# ---------------------------------------------------------------------- parts


def test_the_first_layers() -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box)
    for layer in range(4):
        certificate = certified(carving.at_layer(layer))
        assert len(certificate.carving) == (1, *case.layer_counts)[layer]
        assert certificate.carving.n_layers == layer
        assert f"after {layer} hidden layer" in certificate.theorem


def test_an_incomplete_carving_proves_at_least() -> None:
    case = cases.spec()["moons"]
    part = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=20))
    certificate = certified(part)
    assert not certificate.complete
    assert len(certificate.carving) == 20
    assert certificate.carving.stop_reason == "regions"
    assert "at least 20 activation regions" in certificate.theorem
    assert certificate.n_vectors == 0
    # What is not there is dropped from it, and nothing is added.
    bits = part.patterns
    bits[3] ^= 1
    wrong = pc.Carving(
        part.network,
        part.domain,
        np.packbits(bits, axis=1),
        np.array(part.points),
        np.array(part.point_is_interior),
        stop_reason="time",
    )
    certificate = certified(wrong)
    assert (len(certificate.carving), certificate.n_dropped, certificate.n_added) == (19, 1, 0)


def test_limits_while_much_is_missing() -> None:
    whole = damage.carved("moons")
    gap = rebuilt(whole, np.arange(len(whole)) > 60)
    certificate = gap.certify(limits=pc.Limits(max_regions=7))
    assert certificate.check() == certificate.theorem
    assert len(certificate.carving) == 7
    assert not certificate.complete


def test_numbers_beyond_float64() -> None:
    """A cut of all of R at 1e320, where no float64 is."""
    tiny, huge = "1e-160", "1e160"
    net = pc.Network.from_arrays([[[tiny], [1]]], [[f"-{huge}", 0]], relu_last=True)
    listed = pc.carve(net, pc.Space(1))
    certificate = certified(listed)
    assert [region.code for region in certificate.carving] == ["ii", "ia", "aa"]
    assert certificate.carving.point_is_interior.tolist() == [True, True, False]


def test_an_incomplete_carving_of_degenerate_cells() -> None:
    net = cases.integers(2, [4, 4], 3, 2, biased=False)
    whole = pc.carve(net, pc.Space(2))
    part = pc.carve(net, pc.Space(2), limits=pc.Limits(max_regions=len(whole) - 1))
    assert len(certified(part).carving) == len(whole) - 1


def test_limits_leave_what_is_proven() -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box)
    certificate = carving.certify(limits=pc.Limits(max_regions=10))
    assert certificate.check() == certificate.theorem
    assert "at least 10" in certificate.theorem
    assert np.array_equal(certificate.carving.packed, carving.packed[:10])
    assert len(certified(carving).carving) == 66
    assert carving.certify(limits=pc.Limits(max_regions=66)).complete
    nothing = carving.certify(limits=pc.Limits(max_seconds=1e-9))
    assert not nothing.proved
    assert not nothing.complete
    assert "Nothing is proven" in nothing.theorem
    assert repr(nothing).startswith("Certificate(nothing proved")
    with pytest.raises(pc.PolycarveError, match="nothing to save"):
        nothing.save("never-written.gz")


def test_progress_and_interruption() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box)
    seen: list[tuple[float, int]] = []

    def report(fraction: float, regions: int) -> None:
        seen.append((fraction, regions))
        if len(seen) == 2:
            signal.raise_signal(signal.SIGINT)

    certificate = carving.certify(progress=report)
    assert seen == sorted(seen)
    assert 0 < seen[-1][0] < 1
    assert certificate.carving.stop_reason == "interrupt"
    assert 0 < len(certificate.carving) < len(carving)
    assert certificate.check() == certificate.theorem


def test_work_that_is_shared_is_the_same() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box)
    alone = carving.certify()
    with ThreadPoolExecutor(2) as pool:
        shared = carving.certify(executor=pool, workers=2)
        stopped = carving.certify(executor=pool, workers=2, limits=pc.Limits(max_regions=100))
        gap = rebuilt(carving, np.arange(len(carving)) != 700)
        repaired = gap.certify(executor=pool, workers=2)
    assert shared.check() == alone.theorem
    assert (shared.n_vectors, shared.n_short) == (alone.n_vectors, alone.n_short)
    assert np.array_equal(shared.carving.packed, carving.packed)
    assert stopped.check() == stopped.theorem
    assert len(stopped.carving) == 100
    assert (repaired.n_added, repaired.n_dropped) == (1, 0)
    assert np.array_equal(repaired.carving.packed, carving.packed)


def test_a_worker_that_was_stopped_proves_no_more_than_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box, stop_layer=2)
    real, runs = sharing.prove_run, []

    def interrupted(work: Any, run: range, clock: Any) -> Any:
        runs.append(run)
        outcome = real(work, run, clock)
        if len(runs) == 2:
            del outcome.leaves[-3:]
            outcome.is_stopped = True
        return outcome

    monkeypatch.setattr(sharing, "prove_run", interrupted)
    with ThreadPoolExecutor(1) as pool:
        certificate = carving.certify(executor=pool)
    assert certificate.carving.stop_reason == "interrupt"
    assert not certificate.complete
    assert runs[1].stop - 3 <= len(certificate.carving) <= len(carving) - 3
    assert certificate.check() == certificate.theorem


def test_processes() -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box, stop_layer=2)
    certificate = certified(carving)
    assert carving.certify(workers=2).check() == certificate.theorem


def test_files_are_the_same_every_time(tmp_path: Any) -> None:
    case = cases.spec()["moons"]
    for name in ("a.gz", "b.gz"):
        pc.carve(case.network, case.box).certify().save(tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert (tmp_path / "a.gz").stat().st_size < 100 * 66


def test_carve_exact() -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box, exact=True, keep="cells")
    assert len(carving) == 66
    assert carving.complete
    assert carving.n_doubtful == 0
    assert abs(carving.volumes().sum() - 36) < 1e-9
    assert len(pc.carve(case.network, pc.Box([0, 0], [0, 0]), exact=True)) == 1
