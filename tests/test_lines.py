"""Random lines: which they meet, how often, and what follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import polycarve as pc
from polycarve.errors import InputError
from polycarve.networks import examples
from polycarve.sampling import boundary_size, random_lines
from polycarve.sampling.lines import _is_within, _regions_met, region_surfaces
from polycarve.sampling.surface import Surface
from polycarve.splitting.program import in_frame
from tests import cases
from tests.lcg import LCG, lcg

PLANE = [seed for seed, (widths, *_) in LCG.items() if widths[0] == 2]
SPACE = [seed for seed, (widths, *_) in LCG.items() if widths[0] == 3]
MOONS = pc.Box.cube(-3, 3, dim=2)
TRIANGLE = pc.Polytope([[-1, 0], [0, -1], [1, 1], [1, 1]], [0, 0, 1, 2])


@pytest.mark.parametrize("seed", PLANE)
def test_counts_of_integer_networks(seed: int) -> None:
    net, domain, regions = lcg(seed)
    found = random_lines(pc.carve(net, domain), 2000, rng=seed, confidence=0.999)
    assert found.standard_error is not None
    assert found.interval is not None
    assert abs(found.value - regions) <= 3 * found.standard_error
    assert found.interval[0] <= regions <= found.interval[1]
    assert found.is_unbiased


@pytest.mark.parametrize(
    ("seed", "deviation", "mean", "error"), [(5, 0.95, 326.2, 6.9), (9, 0.92, 405.7, 8.4)]
)
def test_numbers_on_record(seed: int, deviation: float, mean: float, error: float) -> None:
    """One line's relative deviation, and the mean of lines, as 2000 other lines gave them."""
    net, domain, regions = lcg(seed)
    carving = pc.carve(net, domain)
    batches = [random_lines(carving, 2000, rng=rng) for rng in range(8)]
    errors = np.array([found.standard_error for found in batches], np.float64)
    deviations = errors * math.sqrt(2000) / regions
    assert abs(deviations.mean() - deviation) <= 3 * deviations.std(ddof=1)
    value = np.mean([found.value for found in batches])
    assert abs(value - mean) <= 3 * math.hypot(errors.mean() / math.sqrt(8), error)
    assert abs(value - regions) <= 3 * errors.mean() / math.sqrt(8)


@pytest.mark.parametrize("seed", [1, 4, 8, *SPACE])
def test_every_region_is_met_as_often_as_its_surface_says(seed: int) -> None:
    net, domain, _ = lcg(seed)
    carving = pc.carve(net, domain)
    surface, n = Surface.of(domain), 8000
    shares = region_surfaces(carving) / surface.size
    ends = surface.lines(n, np.random.default_rng(seed))
    _, rows = _regions_met(carving, in_frame(net, domain), *ends)
    met = np.bincount(rows, minlength=len(carving))
    z = (met - n * shares) / np.sqrt(n * shares * (1 - shares))
    often = n * shares > 20
    assert often.sum() > 20
    assert np.abs(z[often]).max() < 4.5
    assert np.mean(z[often] ** 2) < 1.6


@pytest.mark.parametrize(
    "domain",
    [
        pc.Box([0, 0], [3, 1]),
        pc.Box([0, 5, 0], [3, 5, 1]),
        pc.Box([0, 0], [1, "1e-6"]),
        TRIANGLE,
        pc.Slice([1, 2, 3], [[1, 0, 1], [0, 2, 0]], domain=TRIANGLE),
        pc.Box([0, 0, 0], [1, 2, 5]),
        pc.Polytope([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [1, 2, 1]], [0, 0, 0, 1]),
    ],
    ids=repr,
)
def test_mean_chords(domain: Any) -> None:
    """The mean chord of isotropic uniform lines is pi area / perimeter, or 4 volume / surface."""
    net = pc.Network.from_arrays([[[1] * domain.input_dim]])
    size = float(pc.carve(net, domain).volumes()[0])
    surface = Surface.of(domain)
    start, end = surface.lines(20_000, np.random.default_rng(3))
    chords = np.linalg.norm(end - start, axis=1)
    expected = (math.pi if domain.rank == 2 else 4.0) * size / surface.size
    assert abs(chords.mean() - expected) <= 4 * chords.std() / math.sqrt(len(chords))
    slack = 1e-12 * np.abs(surface.b).max() + 1e-15
    for points in (start, end):
        assert (points @ surface.A.T <= surface.b + slack).all()
    # Both ends are distributed alike, over the surface as a whole.
    for side in range(len(surface.b)):
        on = [np.abs(p @ surface.A[side] - surface.b[side]) < 1e-9 for p in (start, end)]
        assert abs(on[0].mean() - on[1].mean()) < 4 * math.sqrt(0.5 / len(start))


def test_surfaces() -> None:
    for name in ("moons", "rand_3-16-16-16"):
        case = cases.spec()[name]
        carving = pc.carve(case.network, case.box)
        found = region_surfaces(carving)
        for row in range(0, len(carving), 40):
            hull = ConvexHull(carving[row].vertices())
            assert found[row] == pytest.approx(hull.area, rel=1e-9)


@pytest.mark.parametrize("seed", [4, 8, 11, 12])
def test_size_of_boundaries(seed: int) -> None:
    net, domain, _ = lcg(seed)
    exact = (region_surfaces(pc.carve(net, domain)).sum() - Surface.of(domain).size) / 2
    found = boundary_size(net, domain, 4000, rng=seed)
    assert found.standard_error is not None
    assert abs(found.value - exact) <= 3 * found.standard_error


def test_boundaries_on_the_domains_own_are_none() -> None:
    net = pc.Network.from_arrays([[[1, 0], [1, 0]]], [[-1, 1]], relu_last=True)
    box = pc.Box.cube(-1, 1, dim=2)
    found = boundary_size(net, box, 2000, rng=0)
    assert (found.value, found.interval) == (0, None)
    assert random_lines(pc.carve(net, box), 2000, rng=0).value == 1


def test_what_lies_beyond_a_boundary_by_rounding_only_is_left_out() -> None:
    net = pc.Network.from_arrays([[[1, 0], [1, 0], [0, 1]]], [[0, -1, 0]], relu_last=True)
    found = pc.carve_segments(
        net,
        [[-1e-15, 0.5], [0.5, -1], [-1, 0.5], [0.25, 0.5]],
        [[1 + 1e-15, 0.6], [0.5, 1], [1e-15, 0.6], [0.75, 0.5]],
    )
    assert found.n_regions.tolist() == [3, 2, 2, 1]
    assert _is_within(found).astype(int).tolist() == [0, 1, 0, 1, 1, 1, 0, 1]


def test_other_domains() -> None:
    net = cases.integers(3, [5, 5], 2, 2)
    for domain in (
        pc.Slice([0, 0, 1], [[1, 0, 1], [0, 1, 1]], domain=TRIANGLE),
        pc.Box([-1, 0, -1], [1, 0, "0.3"]),
        pc.Box([-1, "0.1", -1], [1, "0.1", "0.3"]),
    ):
        regions = pc.count_regions(net, domain)
        found = random_lines(pc.carve(net, domain), 3000, rng=1)
        assert found.standard_error is not None
        assert abs(found.value - regions) <= 3 * found.standard_error


def test_degenerate_networks() -> None:
    for name, build in cases.DEGENERATE.items():
        net, domain = build()
        if domain.rank != 2 or not domain.is_bounded:
            continue
        carving = pc.carve(net, domain)
        found = random_lines(carving, 400, rng=0)
        assert found.standard_error is not None
        shares = region_surfaces(carving) / Surface.of(domain).size
        missed = shares[400 * shares < 1]  # so thin that few lines meet them
        low = len(carving) - len(missed)
        assert found.value + 4 * found.standard_error >= low, name
        assert found.value - 4 * found.standard_error <= len(carving), name


def test_in_space_no_interval_is_claimed() -> None:
    found = random_lines(pc.carve(*lcg(11)[:2]), 100, rng=0)
    assert found.interval is None
    assert found.standard_error is not None
    assert "long tail" in found.promise


def test_networks_that_cut_nothing() -> None:
    flat = pc.Network.from_arrays([[[1, 2]]])
    assert random_lines(pc.carve(flat, MOONS), 10, rng=0).value == 1
    assert boundary_size(flat, MOONS, 10, rng=0).value == 0


def test_what_is_refused() -> None:
    net = examples.moons()
    carving = pc.carve(net, MOONS)
    for size in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="n_lines"):
            random_lines(carving, size)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="n_lines"):
            boundary_size(net, MOONS, size)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rng is"):
        random_lines(carving, 10, rng="0")
    with pytest.raises(InputError, match="confidence is"):
        boundary_size(net, MOONS, 10, confidence=2)
    partial = pc.carve(net, MOONS, limits=pc.Limits(max_regions=3))
    for wrong in (partial, net):
        with pytest.raises(InputError, match="complete Carving"):
            random_lines(wrong)  # type: ignore[arg-type]
    for domain in (pc.Space(2), pc.Segment([0, 0], [1, 1])):
        with pytest.raises(InputError, match="rank 2 or 3"):
            random_lines(pc.carve(net, domain))
        with pytest.raises(InputError, match="rank 2 or 3"):
            boundary_size(net, domain)
