"""Numbers at the ends of float64: kept exactly, settled, or refused; never silently lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import DomainError, GeometryError, NumericalError
from polycarve.splitting.method import METHODS


def net(W: Any, b: Any = None) -> pc.Network:
    return pc.Network.from_arrays([W], [b], relu_last=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("W", "b", "domain"),
    [
        ([[1e-200]], None, pc.Segment([-1e-200], [1e-200])),
        ([[1e-200]], None, pc.Box([-1e-200], [1e-200])),
        ([["1e-400"]], None, pc.Box([-1], [1])),
        ([[1, "1e-330"]], ["5e-31"], pc.Box(["-1e-31", "-1e300"], ["1e-31", "1e300"])),
        (
            [[1e-170, 0], [0, 1]],
            None,
            pc.Slice([0, 0], [[1e-170, 0], [0, 1]], domain=[(-1, 1)] * 2),
        ),
        ([[1]], None, pc.Segment([-5e-324], [5e-324])),
    ],
)
def test_what_underflows_is_refused(method: str, W: Any, b: Any, domain: Any) -> None:
    with pytest.raises(NumericalError, match="too small for float64 on this domain"):
        pc.carve(net(W, b), domain, method=method)


def test_small_numbers_that_do_not_matter_are_no_trouble() -> None:
    carving = pc.carve(net([[1e-310, 1], [1, "1e-400"]]), pc.Box([-1, -1], [1, 1]))
    assert (len(carving), carving.n_doubtful) == (4, 0)


def test_integers_of_few_bits_do_not_wrap() -> None:
    assert pc.Segment([np.uint8(3)], [np.uint8(1)]).directions.fractions() == [[-2]]
    segment = pc.Segment([np.int8(100)], [np.int8(-100)])
    assert pc.carve(net([[1]], [-5]), segment).breakpoints == pytest.approx([0.475])
    assert pc.Box.cube(np.int8(-100), np.int8(100), dim=1) == pc.Box([-100], [100])
    mixed = pc.Network.from_arrays([[[np.int64(100), 1e-5]]])
    assert mixed == pc.Network.from_arrays([[[100, 1e-5]]])
    assert len(pc.Polytope([[np.int64(1)]], [np.int64(1)]).A) == 1


@pytest.mark.parametrize("scale", [1e155, 1e-165, 1e-200])
def test_shapes_do_not_depend_on_the_size_of_rows(scale: float) -> None:
    A, b = np.array([[-1.0, 0], [0, -1], [1, 1]]), np.array([0, 0, 1.0])
    for rows in (np.full(3, scale), np.array([1, scale, 1])):
        carving = pc.carve(net([[1, -1]]), pc.Polytope(A * rows[:, None], b * rows))
        assert carving.volumes() == pytest.approx([0.25, 0.25])
        assert carving.chebyshev()[1] == pytest.approx([0.20710678] * 2)
        assert np.isfinite(carving.vertices()[1]).all()
    quarter = pc.carve(net([[1, 1]], [1]), pc.Polytope([[scale, 0], [0, 1]], [0, 0]))
    assert quarter.bounded().tolist() == [False, True]


@pytest.mark.parametrize("end", ["1e-18", "1e-22", "1e-26", "1e-31", "1e-250"])
def test_tiny_polytopes_are_polytopes(end: str) -> None:
    tiny = pc.Polytope([[1], [-1]], [end, 0])
    assert tiny.is_bounded
    assert len(pc.carve(net([["1"]], [f"-{end[:-1]}{int(end[-1]) + 1}"]), tiny)) == 2


def test_thin_polytopes_of_size_one_are_polytopes() -> None:
    A = [[-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1], [1, 2, 2, 1], [3, 1, 1, 3],
         [0, 1, 1, 1], [0, -1, -1, -1]]  # fmt: skip
    assert pc.Polytope(A, [0, 0, 2, 2, 2, 5, "1e-9", 0]).is_bounded


def test_huge_polytopes_are_polytopes() -> None:
    huge = pc.Polytope([[1], [-1]], ["1e308", "1e308"])
    assert len(pc.carve(net([[1]]), huge, method="simplex")) == 2
    with pytest.raises(NumericalError, match="Rescale"):
        pc.carve(net([[1]]), huge, method="vertices")


def test_shapes_that_float64_cannot_hold_are_refused() -> None:
    far = 3 * 10**15
    with pytest.raises(GeometryError, match="too thin"):
        pc.carve(net([[1]]), pc.Box([far], [far + 2])).volumes()


def test_independence_is_exact_and_quick() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 500))
    assert pc.Slice(np.zeros(500), rows).rank == 60
    whole = np.random.default_rng(0).integers(-9, 9, (20, 200))
    whole[-1] = whole[:-1].sum(axis=0)
    with pytest.raises(DomainError, match="20 directions span only 19"):
        pc.Slice(np.zeros(200), whole)


def test_the_real_fault_is_named() -> None:
    for build, message in [
        (lambda: pc.Slice([0, 0], [[1, 0]], domain=[(1, 0)]), "lo > hi"),
        (lambda: pc.Polytope([[1, 2]], [[1]]), "one number a row"),
        (lambda: pc.Polytope([], []), "All of R"),
        (lambda: pc.Polytope(None, None), "A is None; an array of numbers"),
        (lambda: pc.Segment(0, 1), "x0 is 0; an array of numbers"),
        (lambda: pc.Box.around([5, 5], 1, clip=(0, 1)), "further than radius"),
    ]:
        with pytest.raises(DomainError, match=message):
            build()
