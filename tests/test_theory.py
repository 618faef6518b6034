"""Bounds: the tables they must give, the formulas they come from, and how they relate."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycarve import bounds

MANY = settings(max_examples=300, deadline=None)

widths_lists = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def values(rows: list[bounds.BoundRow], *kinds: str) -> dict[str, int]:
    return {row.name: row.value for row in rows if row.kind in kinds and row.value is not None}


# ---------------------------------------------------------------------- tables

# Column by column: naive, naive_min_dims, serra, pascanu, montufar, serra_lower, arora,
# uneven_split, Z(n0, N), N^d / d!. None: not claimed.
TABLE: dict[tuple[int, ...], tuple[Any, ...]] = {
    (2, 5, 5, 5): (4096, 4096, 4096, 64, 256, None, 100, 1024, 121, "225/2"),
    (2, 2, 2, 2): (64, 64, 30, 4, 4, None, 8, 4, 22, "18"),
    (2, 32, 32, 32): (
        *(148035889, 148035889, 148035889, 135424, 34668544, 44182609, 32768, 44182609),
        *(4657, "4608"),
    ),
    (3, 16, 16, 16): (
        *(338608873, 338608873, 338608873, 17425, 10890625, 32519232, 14848, 44262288),
        *(18473, "18432"),
    ),
    (4, 16, 16): (
        *(6335289, 6335289, 6335289, 10068, 644352, 1573125, 2048, 1573125),
        *(41449, "131072/3"),
    ),
    (8, 16): (39203, 39203, 39203, 39203, 39203, None, 256, 39203, 39203, "33554432/315"),
    (10, 12, 12): (
        *(16670889, 16670889, 9740372, 4083, 4083, None, 768, 16332),
        *(4540386, "3057647616/175"),
    ),
    (1, 4, 4, 4): (125, 125, 125, 80, 80, 125, 32, 125, 13, "12"),
    (784, 20, 20): (
        *(2**40, 1099511627776, 618679078298, None, None, None, 20480, None),
        *(2**40, None),
    ),
    (2, 1, 5, 5): (512, 72, 37, None, None, None, None, None, 67, "121/2"),
}


@pytest.mark.parametrize("architecture", TABLE, ids=str)
def test_table(architecture: tuple[int, ...]) -> None:
    n0, widths = architecture[0], list(architecture[1:])
    found = (
        bounds.naive(n0, widths),
        bounds.naive_min_dims(n0, widths),
        bounds.serra(n0, widths),
        bounds.pascanu_lower(n0, widths).value,
        bounds.montufar_lower(n0, widths).value,
        bounds.serra_lower(n0, widths).value,
        bounds.arora_lower(n0, widths).value,
        bounds.uneven_split_lower(n0, widths).value,
        bounds.zaslavsky(n0, sum(widths)),
        bounds.rule_of_thumb(n0, widths).value,
    )
    want = TABLE[architecture]
    assert found == (*want[:-1], want[-1] and Fraction(want[-1]))


def test_sixty_neurons_in_one_to_six_layers() -> None:
    def split(n0: int) -> list[int]:
        return [bounds.serra(n0, [60 // L] * L) for L in range(1, 7)]

    assert split(2) == [1831, 217156, 9393931, 214358881, 3077056399, 30840979456]
    assert max(split(10)) == split(10)[2] == 234503869074896296
    assert max(split(60)) == split(60)[0] == 2**60


def test_two_layers_behind_784_inputs() -> None:
    """A first layer as narrow as that is a bottleneck, the less the wider it is."""
    found = [bounds.serra(784, [k, 22 - k]) for k in range(1, 22)]
    assert found[:5] == [23, 254, 1794, 9109, 35443]
    assert found == sorted(found)
    assert found == [bounds.zaslavsky(k, 22) for k in range(1, 22)]


def test_layers_of_ten_behind_784_inputs() -> None:
    found = [bounds.serra(784, [10] * L) for L in range(1, 5)]
    assert found == [1024, 616666, 365139905, 216643797580]


@pytest.mark.parametrize(
    ("widths", "regions"),
    [
        ([1], 2),
        ([1, 1, 1], 4),
        ([7], 8),
        ([4, 4, 4], 125),
        ([3, 4, 5], 120),
        ([3, 3, 1], 32),
        ([2, 2], 7),
        ([2, 3], 9),
        ([1, 2, 3], 10),
        ([1, 5, 5], 37),
        ([1, 1, 6], 9),
    ],
)
def test_one_dimensional_maxima(widths: list[int], regions: int) -> None:
    assert bounds.one_dimensional_maximum(1, widths) == (regions, "")


@pytest.mark.parametrize("widths", [[2, 2, 2], [3, 2, 3], [1, 2, 2, 2], [3, 1, 3]])
def test_one_dimensional_maxima_that_are_not_known(widths: list[int]) -> None:
    value, reason = bounds.one_dimensional_maximum(1, widths)
    assert value is None
    assert "not known" in reason


# ---------------------------------------------------------------------- one layer


def test_hyperplanes_in_general_position() -> None:
    assert [bounds.zaslavsky(*dm) for dm in [(2, 5), (3, 6), (3, 10), (6, 9)]] == [16, 42, 176, 466]
    assert [bounds.bounded_regions(*dm) for dm in [(2, 5), (3, 6), (4, 8)]] == [6, 10, 35]
    assert [bounds.central_regions(*dm) for dm in [(2, 5), (3, 8), (5, 8)]] == [10, 58, 198]
    assert bounds.zaslavsky(5, 0) == bounds.zaslavsky(0, 5) == bounds.zaslavsky(0, 0) == 1
    assert bounds.zaslavsky(9, 4) == 16
    assert [bounds.bounded_regions(*dm) for dm in [(0, 0), (0, 3), (1, 0), (2, 2)]] == [1, 1, 0, 0]
    assert [bounds.central_regions(*dm) for dm in [(0, 3), (3, 0), (1, 4)]] == [1, 1, 2]
    assert [bounds.facets(*dm) for dm in [(0, 3), (3, 0), (1, 4), (3, 1)]] == [0, 0, 4, 1]
    assert [bounds.parallel_families(*args, members=k) for *args, k in [(2, 5, 2), (3, 4, 2)]] == [
        51,
        65,
    ]


@MANY
@given(d=st.integers(0, 9), m=st.integers(0, 14))
def test_one_layer_identities(d: int, m: int) -> None:
    regions = bounds.zaslavsky(d, m)
    assert regions == sum(comb(m, j) for j in range(d + 1))
    assert regions == bounds.regions_by_recursion(d, m)
    assert regions == bounds.parallel_families(d, m, members=1)
    assert regions == bounds.regions_of_rank(d, m, rank=min(d, m))
    assert bounds.faces(d, m, k=d) == regions
    assert bounds.faces(d, m, k=0) == (comb(m, d) if d else 1)
    if d:
        assert bounds.faces(d, m, k=d - 1) == bounds.facets(d, m)
    # Euler: the open cells of R^d, by dimension.
    assert sum((-1) ** k * bounds.faces(d, m, k=k) for k in range(d + 1)) == (-1) ** d
    # Every unbounded region reaches the hyperplane at infinity, which m - 1 traces determine.
    if d and m:
        assert regions - bounds.bounded_regions(d, m) == bounds.central_regions(d, m)


def test_power_exceeds_zaslavsky_exactly_where_claimed() -> None:
    for d, m in product(range(6), range(1, 9)):
        claimed = bounds.order_of_growth(d, [m]).value is not None
        assert claimed == (m**d >= bounds.zaslavsky(d, m)), (d, m)
    assert bounds.order_of_growth(2, [5, 5, 5]) == (15625, "")
    assert "layer 2" in bounds.order_of_growth(2, [5, 1]).reason


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("n0", range(7))
def test_all_reduce_to_zaslavsky_for_one_layer(n0: int, n: int) -> None:
    found = {
        bounds.naive(n0, [n]),
        bounds.naive_min_dims(n0, [n]),
        bounds.serra(n0, [n]),
        bounds.serra_recursion(n0, [n]),
        bounds.serra_with_ranks(n0, [n], ranks=[n]),
        bounds.serra_with_stable(n0, [n], active=[0], inactive=[0]),
        bounds.hinz_van_de_geer(n0, [n]),
        bounds.leaky(n0, [n]),
        bounds.maxout(n0, [n], rank=2),
        bounds.maxout_layer(n0, [2] * n),
        bounds.maxout_serra(n0, [n], rank=2),
    }
    assert found == {bounds.zaslavsky(n0, n)}
    assert values(bounds.all_bounds(n0, [n]), "maximum")["zaslavsky"] in found
    if n0:
        assert bounds.uneven_split_lower(n0, [n]).value in found
    if 1 <= n0 <= n:
        assert bounds.pascanu_lower(n0, [n]).value in found
        assert bounds.montufar_lower(n0, [n]).value in found
    if n0 == 1:
        assert bounds.one_dimensional_maximum(n0, [n]).value in found


# ---------------------------------------------------------------------- how they relate


@MANY
@given(n0=st.integers(0, 8), widths=widths_lists, rank=st.integers(1, 5))
def test_order_of_the_bounds(n0: int, widths: list[int], rank: int) -> None:
    rows = bounds.all_bounds(n0, widths)
    upper = values(rows, "upper", "maximum")
    lower = values(rows, "lower", "maximum")
    assert max(lower.values(), default=1) <= min(upper.values())
    assert upper["serra"] <= upper["naive_min_dims"] <= upper["naive"]
    assert upper["naive_min_dims"] <= upper["trivial"]
    assert upper["naive"] <= upper.get("order_of_growth", upper["naive"])
    if all(n >= 2 * n0 for n in widths[:-1]):
        assert upper["serra"] == upper["naive_min_dims"]
    best = lower.get("uneven_split_lower", 0)
    for weaker in ("montufar_lower", "serra_lower"):
        assert lower.get(weaker, 0) <= best
    assert lower.get("pascanu_lower", 0) <= lower.get("montufar_lower", 0)
    assert lower.get("arora_lower", 0) <= lower.get(
        "serra_zonotope_lower", lower.get("arora_lower", 0)
    )
    assert bounds.maxout(n0, widths, rank=rank) <= bounds.maxout_serra(n0, widths, rank=rank)
    assert bounds.leaky(n0, widths) == upper["naive_min_dims"]
    for row in rows:
        assert (row.value is None) == bool(row.reason)
        assert callable(getattr(bounds, row.name))


@MANY
@given(n0=st.integers(0, 8), widths=widths_lists, data=st.data())
def test_more_never_lowers_a_bound(n0: int, widths: list[int], data: st.DataObject) -> None:
    before = bounds.all_bounds(n0, widths)
    layer = data.draw(st.integers(0, len(widths) - 1))
    wider = [n + (k == layer) for k, n in enumerate(widths)]
    after = values(bounds.all_bounds(n0, wider), "upper", "maximum", "lower")
    for name, value in values(before, "upper", "lower").items():
        assert after[name] >= value, name
    if "one_dimensional_maximum" in after:
        earlier = values(before, "maximum").get("one_dimensional_maximum", 0)
        assert after["one_dimensional_maximum"] >= earlier
    for deeper in (bounds.all_bounds(n0 + 1, widths), bounds.all_bounds(n0, [*widths, 1])):
        later = values(deeper, "upper")
        for name, value in values(before, "upper").items():
            assert later.get(name, value) >= value, name


def test_wider_by_one_where_a_tail_would_break_it() -> None:
    """What is claimed for two layers of width 2 is not claimed for three."""
    assert bounds.serra_zonotope_lower(1, [2, 2]).value == 6
    assert bounds.serra_zonotope_lower(1, [2, 2, 2]).value is None
    assert bounds.serra_zonotope_lower(1, [2, 3, 2]).value is None
    assert bounds.serra_zonotope_lower(1, [2, 3, 3]).value == 32


# ---------------------------------------------------------------------- large numbers


def test_large_arguments_are_exact() -> None:
    assert bounds.zaslavsky(500, 5000) == sum(comb(5000, j) for j in range(501))
    assert bounds.zaslavsky(10**6, 5000) == bounds.trivial(3, [5000]) == 2**5000
    assert bounds.regions_by_recursion(40, 3000) == bounds.zaslavsky(40, 3000)
    narrow = [700, 900, 300, 1000]
    found = bounds.serra(784, narrow)
    assert found == bounds.serra_recursion(784, narrow) == bounds.hinz_van_de_geer(784, narrow)
    assert bounds.naive_min_dims(784, narrow) > found > 2**2000
    wide = [1024] * 6
    assert bounds.serra(150528, wide) == bounds.serra_recursion(150528, wide) > 2**1024
    assert bounds.montufar_lower(3, [3000] * 9).value == 1000**24 * bounds.zaslavsky(3, 3000)
    assert bounds.uneven_split_lower(1000, [2500, 9]).value == (2 * 4) ** 500 * 2**9
    assert bounds.rule_of_thumb(100, [5000]).value == Fraction(5000**100, prod(range(1, 101)))
    assert all(
        isinstance(row.value, (int, Fraction)) or row.reason
        for row in bounds.all_bounds(784, [4000, 3000])
    )


def test_plain_integers_whatever_was_given() -> None:
    found = bounds.serra(np.int64(2), np.array([5, 5, 5]))
    assert type(found) is int
    assert found == bounds.serra(2, (n for n in (5, 5, 5))) == 4096
    large = bounds.naive(np.int32(40), np.array([100, 100, 100], dtype=np.int8))
    assert large == bounds.zaslavsky(40, 100) ** 3
