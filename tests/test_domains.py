"""Boxes and the whole space: exact bounds, closed membership, identity, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.domains import Domain, as_domain
from polycarve.errors import DomainError, InputError

TENTH = Fraction(1, 10)


def bounds(box):
    return box.lo.fractions(), box.hi.fractions()


# ---------------------------------------------------------------------- boxes


@pytest.mark.parametrize(
    ("box", "lo", "hi"),
    [
        (pc.Box(["0.1", "-1"], [Fraction(1, 7), "1e2"]), [TENTH, -1], [Fraction(1, 7), 100]),
        (pc.Box([0.1], [2**60 + 1]), [Fraction(0.1)], [2**60 + 1]),
        (pc.Box((0, 0), np.array([1, 0.5], dtype=np.float32)), [0, 0], [1, Fraction(1, 2)]),
        (pc.Box(np.array(["0.1"]), iter([1])), [TENTH], [1]),
        (pc.Box.cube("-0.1", "0.1", dim=3), [-TENTH] * 3, [TENTH] * 3),
        (pc.Box.around(["0.1", "0.5"], "0.2"), [-TENTH, 3 * TENTH], [3 * TENTH, 7 * TENTH]),
        (
            pc.Box.around(["0.1", "0.5", "0.95"], "0.2", clip=(0, 1)),
            [0, 3 * TENTH, Fraction(3, 4)],
            [3 * TENTH, 7 * TENTH, 1],
        ),
        (pc.Box.around([0.5], 0), [Fraction(1, 2)], [Fraction(1, 2)]),
        (pc.Box.around(np.array([1.0]), 2, clip=("-1/3", 3)), [Fraction(-1, 3)], [3]),
    ],
)
def test_bounds_are_kept_exactly(box, lo, hi):
    assert bounds(box) == (lo, hi)
    assert box.dim == box.input_dim == len(lo)
    assert box.is_bounded


@pytest.mark.parametrize(
    ("lo", "hi", "rank"),
    [([0], [1], 1), ([0, 5, 0], [1, 5, 1], 2), (["0.1"] * 4, ["0.1"] * 4, 0)],
)
def test_flat_sides_lower_the_rank(lo, hi, rank):
    box = pc.Box(lo, hi)
    assert box.rank == rank
    assert box.dim == len(lo)
    sides = box.exact_sides().fractions()
    assert len(sides) == 2 * rank
    assert all(sum(map(bool, side[:-1])) == 1 for side in sides)


def test_sides_are_positive_inside_and_zero_on_the_boundary():
    box = pc.Box(["0.1", 2, -1], ["0.3", 2, 5])
    inside, corner = [Fraction(1, 5), 2, 0], [Fraction(1, 10), 2, 5]
    sides = box.exact_sides().fractions()

    def values(point):
        return [sum((a * x for a, x in zip(side, point, strict=False)), side[-1]) for side in sides]

    assert values(inside) == [Fraction(1, 10), Fraction(1, 10), 1, 5]
    assert values(corner) == [0, Fraction(1, 5), 6, 0]


@pytest.mark.parametrize(
    ("bound", "point", "inside"),
    [
        ("0.1", 0.1, (True, False)),  # the float is a little more than the decimal
        ("0.1", math.nextafter(0.1, 0), (False, True)),
        ("0.3", 0.3, (False, True)),  # and here a little less
        ("0.3", math.nextafter(0.3, 1), (True, False)),
        (0.1, 0.1, (True, True)),
        ("0.5", 0.5, (True, True)),
        (0, -0.0, (True, True)),
        (0, 5e-324, (True, False)),
        (0, -5e-324, (False, True)),
        (2**53 + 1, 2.0**53, (False, True)),
        (2**53 + 1, 2.0**53 + 2, (True, False)),
        (0, math.nan, (False, False)),
        (0, math.inf, (False, False)),
    ],
)
def test_contains_compares_exactly_and_closed(bound, point, inside):
    above = pc.Box([bound], [2**60])
    below = pc.Box([-(2**60)], [bound])
    assert (above.contains([[point]])[0], below.contains([[point]])[0]) == inside
    if math.isfinite(point):
        assert inside == (Fraction(point) >= Fraction(bound), Fraction(point) <= Fraction(bound))


def test_contains_goes_by_rows_and_flat_sides_count():
    box = pc.Box([0, 1], [2, 1])
    points = [[0, 1], [2, 1], [1, 1], [1, 1.5], [-1, 1], [3, 1], [0, 0]]
    assert box.contains(points).tolist() == [True, True, True, False, False, False, False]
    assert box.contains(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    "X", [[0], [0, 0, 0], [[0]], [[0, 0, 0]], 5, "ab", ["a", "b"], [[1, 2], [3]], [1j, 0]], ids=repr
)
@pytest.mark.parametrize("domain", [pc.Box([0, 0], [1, 1]), pc.Space(2)], ids=repr)
def test_points_of_the_wrong_shape_are_in_no_domain(domain, X):
    with pytest.raises(InputError, match=r"\(n, 2\)"):
        domain.contains(X)


def test_coordinates_are_the_inputs():
    for domain in (pc.Box([0, 3], [1, 3]), pc.Space(2)):
        np.testing.assert_array_equal(domain.embed([[0.5, 3]]), [[0.5, 3.0]])
        assert domain.embed([[1, 2]]).dtype == np.float64


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (pc.Box([0, 0], [1, "0.5"]), "Box([0, 0], [1, 0.5])"),
        (pc.Box([0], [1]), "Box([0], [1])"),
        (pc.Box([1000000], [1000002]), "Box([1000000], [1000002])"),
        (pc.Box.cube(-3, 3, dim=2), "Box([-3, -3], [3, 3])"),
        (pc.Box.cube(-3, 3, dim=784), "Box.cube(-3, 3, dim=784)"),
        (pc.Box([0] * 9, [1] * 8 + [0]), "Box(9 coordinates, rank 8)"),
        (pc.Space(4), "Space(4)"),
    ],
)
def test_repr(domain, text):
    assert repr(domain) == text


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 1000])
def test_repr_is_short_whatever_the_numbers(dim):
    lo = [f"-{k + 1}.23456789e-100" for k in range(dim)]
    assert len(repr(pc.Box(lo, ["1.23456789e+100"] * dim))) < 80
    assert len(repr(pc.Box.cube("-1.23456789e-100", "1.23456789e+100", dim=dim))) < 80
    assert len(repr(pc.Box([0.1] * dim, [1 / 3] * dim))) < 80


def test_equal_domains_have_equal_digests():
    half = [pc.Box([0], [0.5]), pc.Box(["0"], ["1/2"]), pc.Box.around(["0.25"], "0.25")]
    assert len({box.digest for box in half}) == len(set(half)) == 1
    different = [
        *(half[0], pc.Box([0], ["0.50000000000000000001"]), pc.Box(["1e-30"], [0.5])),
        *(pc.Box([0, 0], [0.5, 0.5]), pc.Space(1), pc.Space(2), pc.Box([0.1], [1])),
        *(pc.Box(["0.1"], [1]), pc.Box([0, 1], [2, 3]), pc.Box([1, 0], [3, 2])),
    ]
    assert len({domain.digest for domain in different}) == len(set(different)) == len(different)
    assert half[0] != "box"
    assert all(len(domain.digest) == 64 for domain in different)


def test_later_changes_of_what_was_given_do_not_show():
    lo = np.array([0.0, 0.0])
    box = pc.Box(lo, [1, 1])
    lo[0] = 5
    assert bounds(box) == ([0, 0], [1, 1])


# ---------------------------------------------------------------------- the whole space


@pytest.mark.parametrize("dim", [1, 3, np.int64(2)])
def test_space(dim):
    space = pc.Space(dim)
    assert space.dim == space.input_dim == space.rank == dim
    assert not space.is_bounded
    assert space.exact_sides().shape == (0, dim + 1)
    huge = np.full((1, dim), 1e308)
    assert space.contains(np.concatenate([huge, -huge, np.full((1, dim), np.inf)])).tolist() == [
        *(True, True, False)
    ]


# ---------------------------------------------------------------------- pairs, and bad input


@pytest.mark.parametrize(
    "pairs",
    [[(0, 1), ("0.1", 2)], ((0, 1), ["0.1", 2.0]), iter([(0, 1), (TENTH, 2)])],
    ids=["list", "tuple", "iterator"],
)
def test_pairs_make_a_box(pairs):
    box = as_domain(pairs, 2)
    assert isinstance(box, Domain)
    assert box == pc.Box([0, "0.1"], [1, 2])


def test_an_array_of_pairs_makes_a_box_and_a_domain_is_itself():
    assert as_domain(np.array([[0, 1], [2, 3]]), 2) == pc.Box([0, 2], [1, 3])
    space = pc.Space(3)
    assert as_domain(space, 3) is space


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pc.Box([0, 2], [1, 1]), r"lo > hi in coordinate 1 \(2 > 1\)"),
        (lambda: pc.Box(["0.2"], ["0.1"]), r"lo > hi in coordinate 0 \(0.2 > 0.1\)"),
        (lambda: pc.Box([0.1], ["0.1"]), "lo > hi"),  # the float is a little larger
        (lambda: pc.Box([0], [1, 1]), "lo has 1 coordinates and hi has 2"),
        (lambda: pc.Box([math.nan], [1]), "lo: .*[Gg]ive"),
        (lambda: pc.Box([0, 0], [1, "nan"]), "hi: 'nan' is not a finite number"),
        (lambda: pc.Box([-math.inf], [1]), "lo: .*[Gg]ive"),
        (lambda: pc.Box([0], np.array([np.inf])), "hi: .*[Gg]ive"),
        (lambda: pc.Box([], []), r"lo has shape \(0,\)"),
        (lambda: pc.Box([[0]], [[1]]), r"lo has shape \(1, 1\)"),
        (lambda: pc.Box(np.array(0), np.array(1)), r"lo has shape \(\)"),
        (lambda: pc.Box(["x"], [1]), "lo: 'x' is not a finite number"),
        (lambda: pc.Box("ab", "cd"), "lo: "),
        (lambda: pc.Box("12", "34"), "lo: "),
        (lambda: pc.Box(0, 1), "lo is"),
        (lambda: pc.Box(None, None), "lo is"),
        (lambda: pc.Box([1j], [2]), "lo: 1j"),
        (lambda: pc.Box([None], [2]), "lo: None"),
        (lambda: pc.Box([[0], [0, 1]], [1, 1]), "lo: "),
        (lambda: pc.Box([0], ["1e-400"]), "so narrow"),
        (lambda: pc.Box([0], ["1e400"]), "too large for float64"),
        (lambda: pc.Box.cube(1, 0, dim=2), "lo > hi in coordinate 0"),
        (lambda: pc.Box.cube(math.nan, 1, dim=2), "lo: "),
        *(
            (lambda dim=dim: pc.Box.cube(0, 1, dim=dim), "dim is")
            for dim in (0, -1, 2.0, "2", None)
        ),
        *((lambda dim=dim: pc.Space(dim), "dim is") for dim in (0, -1, 2.0, "2", None, True)),
        (lambda: pc.Box.around([0], -1), "radius is -1; it must not be negative"),
        (lambda: pc.Box.around([0], math.nan), "radius: nan"),
        (lambda: pc.Box.around([0], [1]), "radius: "),
        (lambda: pc.Box.around(0, 1), "x is"),
        (lambda: pc.Box.around([[0]], 1), r"x has shape \(1, 1\)"),
        (lambda: pc.Box.around([5], 1, clip=(0, 1)), "nothing of the box"),
        (lambda: pc.Box.around([0], 1, clip=(1, 0)), "empty"),
        (lambda: pc.Box.around([0], 1, clip=(None, 1)), "clip: None"),
        (lambda: pc.Box.around([0], 1, clip=5), "clip"),
        (lambda: pc.Box.around([0], 1, clip=(0,)), "clip"),
        *(
            (lambda given=given: as_domain(given, 2), "is not a domain. Give a Box")
            for given in (None, 5, "ab", [1, 2], [(0, 1, 2), (0, 1, 2)], {0: 1, 1: 2}, pc.Box)
        ),
        (lambda: as_domain([], 2), "lo has shape"),
        (lambda: as_domain([(0, 1), (1, 0)], 2), "lo > hi in coordinate 1"),
        (lambda: as_domain([(0, 1), (0, math.nan)], 2), "hi: nan"),
        (lambda: as_domain([(0, 1)], 2), "has 1 coordinates and the network reads 2"),
        (lambda: as_domain(pc.Space(3), 2), "has 3 coordinates and the network reads 2"),
    ],
)
def test_what_is_no_domain_is_refused(make, message):
    with pytest.raises(DomainError, match=message):
        make()


@pytest.mark.parametrize("domain", [pc.Box([0], [1]), pc.Space(3), [(0, 1)] * 3], ids=repr)
def test_a_domain_must_fit_the_network(domain):
    net = pc.Network.from_arrays([[[1, 2]]], relu_last=True)
    for call in (pc.carve, pc.count_regions, pc.select_method):
        with pytest.raises(DomainError, match="and the network reads 2"):
            call(net, domain)
