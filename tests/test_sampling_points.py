"""Which region each point lies in, and where points are drawn: against exact lists and volumes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve import theory
from polycarve.networks import Activation, Layer, Network, examples
from polycarve.networks.locating import exact_pattern
from polycarve.rational import ExactArray
from polycarve.sampling import forward
from tests import cases
from tests.lcg import lcg

SQUARE = pc.Box.cube(-1, 1, dim=2)
TRIANGLE = pc.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])


def strictly_inside(carving: pc.Carving, point: list[Fraction]) -> str | None:
    """The code of the region in whose interior a point lies, by exact forms; None on a boundary.

    `point` is in the domain's coordinates. Forms that vanish on the domain are no boundaries.
    """
    free = carving.domain.free.tolist()
    along = carving.network.along(carving.domain.embedding)
    found = []
    for region in carving:
        bits = iter(region.pattern.tolist())
        for A, c in along.exact_preactivation_maps(region.pattern):
            for row, constant in zip(A.fractions(), c.fractions(), strict=True):
                value = constant + sum(a * x for a, x in zip(row, point, strict=True))
                is_on = next(bits) == 1
                if any(row[j] for j in free) and not (value > 0 if is_on else value < 0):
                    break
            else:
                continue
            break
        else:
            found.append(region.code)
    assert len(found) <= 1
    return found[0] if found else None


def cancelling() -> Network:
    """The second layer subtracts a neuron from its double: zero where both are active."""
    return Network.from_arrays(
        [[[1, 0], [2, 0], [1, 1]], [[2, -1, 0], [2, -1, 1], [-2, 1, 0]], [[1, 1, 0], [1, -1, 1]]],
        relu_last=True,
    )


def with_skip_and_other_units() -> Network:
    tanh = Activation("hard tanh", cuts=(-1, 1), jumps=(1, -1), offset=-1)
    relu3 = Activation("relu3", cuts=(0, 3), jumps=(1, -1))

    def numbers(values: Any) -> ExactArray:
        return ExactArray.of(np.array(values))

    return Network(
        [
            Layer(numbers([[4, 1], [-2, 4]]), numbers([0, 1]), tanh, (0,)),
            Layer(numbers([[2, 0, 4, 0], [1, -1, 0, 2]]), numbers([2, 0]), None, (1, 0)),
            Layer(numbers([[1, 0, 1, 0], [0, 1, 0, -1]]), numbers([-1, 0]), relu3, (2, 1)),
        ],
        2,
    )


def places() -> dict[str, tuple[Network, Any]]:
    found = {
        name: make()
        for name, make in cases.DEGENERATE.items()
        if "seed" not in name or name.endswith(("1", "3"))
    }
    found |= {
        "cancelling": (cancelling(), SQUARE),
        "skip and other units": (with_skip_and_other_units(), SQUARE),
        "no hidden layer": (Network.from_arrays([[[1, 2]]]), SQUARE),
        "segment": (cases.integers(3, [3, 3], 4), pc.Segment([-1, -2, 1], [1, 2, 0])),
        "slice": (
            cases.integers(3, [4, 3], 5),
            pc.Slice([0, 0, 1], [[1, 1, 0], [0, 1, "1/2"]], domain=SQUARE),
        ),
        "triangle": (cases.integers(2, [4, 3], 1, 2), TRIANGLE),
        "flat and no float": (cases.integers(2, [3, 2], 1), pc.Box(["1/3", -1], ["1/3", 1])),
    }
    return {name: case for name, case in found.items() if case[1].is_bounded}


@pytest.mark.parametrize("name", places())
@pytest.mark.parametrize("most", [0, 8])
def test_grid_points_one_by_one(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Corners, faces and hyperplanes: every grid point is looked up in the exact regions."""
    monkeypatch.setattr(forward, "_MOST_IN_DOUBT", most)
    network, domain = places()[name]
    side = 9 if domain.rank == 2 else 5 if domain.rank > 2 else 65
    found = pc.sample(network, domain, grid=side)
    carving = pc.carve(network, domain)
    tally, outside = Counter[str | None](), 0
    low, high = domain.bounds()
    frame = domain.frame
    flat = [Fraction(0)] * domain.dim if frame.offset is None else frame.offset.fractions()
    ticks = [np.linspace(low[j], high[j], side) for j in domain.free]
    for values in np.array(np.meshgrid(*ticks, indexing="ij")).reshape(len(ticks), -1).T:
        point = list(flat)
        for j, value in zip(domain.free.tolist(), values.tolist(), strict=True):
            point[j] = Fraction(value)
        form = [*point, Fraction(1)]
        sides = domain.exact_sides().fractions()
        if all(sum(a * x for a, x in zip(row, form, strict=True)) >= 0 for row in sides):
            tally[strictly_inside(carving, point)] += 1
        else:
            outside += 1
    assert found.n_on_boundary == tally.pop(None, 0)
    assert dict(zip(found.codes(), found.counts.tolist(), strict=True)) == tally
    assert list(found.codes()) == sorted(found.codes(), key=lambda c: c.replace("a", "z"))
    assert (found.n_outside, found.n) == (outside, side**domain.rank - outside)


def test_networks_so_deep_that_floats_have_no_digits_left() -> None:
    """Three hundred neurons of each point are in doubt: one exact evaluation settles them all."""
    network = theory.networks.sharp_folding(2, [8] * 40).network
    points = np.random.default_rng(0).random((20, 2))
    found = pc.sample(network, pc.Box.cube(0, 1, dim=2), points=points)
    assert found.n_on_boundary == 0
    assert {tuple(row) for row in found.patterns} == {
        tuple(exact_pattern(network, point)) for point in points
    }
    finder = forward.RegionFinder.on(network, pc.Box.cube(0, 1, dim=2))
    finder.find(points)
    assert not finder._forms  # each would cost as much as a point


# ---------------------------------------------------------------------- where points are drawn


def thin(dim: int) -> pc.Polytope:
    """A rod along the diagonal of a cube, of which it fills less than 1/200."""
    rng = np.random.default_rng(dim)
    axes = np.linalg.qr(np.column_stack([np.ones(dim), rng.normal(size=(dim, dim - 1))]))[0].T
    reach = np.array([1.0] + [1e-3 if dim == 2 else 0.02] * (dim - 1))
    return pc.Polytope(np.concatenate([axes, -axes]), np.concatenate([reach, reach]))


UNIFORM = {
    "box": (examples.moons(), pc.Box.cube(-3, 3, dim=2), "uniform"),
    "three dimensions": (cases.integers(3, [4, 3], 5), pc.Box([-2, 0, -1], [1, 1, 2]), "uniform"),
    "flat side": (cases.integers(3, [3, 3], 8), pc.Box([-1, 0, -1], [1, 0, 2]), "uniform"),
    "segment": (cases.integers(3, [3, 3], 4), pc.Segment([-1, -2, 1], [1, 2, 0]), "uniform"),
    "slice": (
        cases.integers(3, [4, 3], 5),
        pc.Slice([0, 0, 1], [[1, 1, 0], [0, 1, "1/2"]], domain=SQUARE),
        "uniform",
    ),
    "triangle": (
        lcg(4)[0],
        TRIANGLE,
        "about 0.5",
    ),
    "slice of a triangle": (
        cases.integers(3, [5, 4], 2, 3),
        pc.Slice([0, 0, 0], [[1, 1, 0], [0, 1, 2]], domain=TRIANGLE),
        "about 0.5",
    ),
    "thin polytope": (lcg(4)[0], thin(2), "by simplices"),
    "simplex of which a box has little": (
        cases.integers(6, [4, 3], 3, 2),
        pc.Polytope(np.vstack([-np.eye(6), np.ones((1, 6))]), [0] * 6 + [2]),
        "by simplices",
    ),
    "thin polytope, three dimensions": (lcg(11)[0], thin(3), "by simplices"),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_regions_are_met_as_often_as_they_are_large(name: str) -> None:
    network, domain, how = UNIFORM[name]
    n = 20_000
    found = pc.sample(network, domain, n, rng=7)
    assert how in found.how
    assert (found.n, found.n_outside, found.counts.sum()) == (n, 0, n - found.n_on_boundary)
    carving = pc.carve(network, domain)
    volumes = carving.volumes()
    expected = n * volumes / volumes.sum()
    met = np.zeros(len(carving))
    met[carving.find(found.packed)] = found.counts
    assert met.sum() == found.counts.sum()  # nothing but regions of the list
    assert len(carving) >= 3
    large = expected >= 5
    chi2 = ((met - expected)[large] ** 2 / expected[large]).sum()
    assert abs(chi2 - large.sum()) <= 4 * np.sqrt(2 * large.sum())
