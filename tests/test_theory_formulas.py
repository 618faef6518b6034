"""Bounds against the formulas as the theorems state them, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve import bounds
from polycarve.errors import InputError

MANY = settings(max_examples=300, deadline=None)

widths_lists = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def serra_sum(n0: int, widths: Sequence[int], ranks: Sequence[int]) -> int:
    """The sum over all index tuples, as the theorem states it."""
    total = 0
    for js in product(*(range(n + 1) for n in widths)):
        tops = [
            min(n0, *(n - j for n, j in zip(widths[:k], js, strict=False)), ranks[k])
            for k in range(len(widths))
        ]
        if all(j <= top for j, top in zip(js, tops, strict=True)):
            total += prod(comb(n, j) for n, j in zip(widths, js, strict=True))
    return total


@MANY
@given(
    n0=st.integers(0, 6),
    widths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    data=st.data(),
)
def test_serra_is_the_sum(n0: int, widths: list[int], data: st.DataObject) -> None:
    want = serra_sum(n0, widths, widths)
    assert bounds.serra(n0, widths) == want
    assert bounds.serra_recursion(n0, widths) == want
    assert bounds.hinz_van_de_geer(n0, widths) == want
    most = [widths[0], *map(min, widths, widths[1:])]
    ranks = [data.draw(st.integers(0, top)) for top in most]
    assert bounds.serra_with_ranks(n0, widths, ranks=ranks) == serra_sum(n0, widths, ranks)


@MANY
@given(n0=st.integers(0, 6), widths=widths_lists, data=st.data())
def test_stable_neurons_by_the_recursion(n0: int, widths: list[int], data: st.DataObject) -> None:
    on = [data.draw(st.integers(0, n)) for n in widths]
    off = [data.draw(st.integers(0, n - s)) for n, s in zip(widths, on, strict=True)]

    def following(layer: int, d: int) -> int:
        if layer == len(widths):
            return 1
        s = on[layer]
        u = widths[layer] - s - off[layer]
        return sum(
            comb(u, j) * following(layer + 1, min(d, s + u - j)) for j in range(min(d, u) + 1)
        )

    found = bounds.serra_with_stable(n0, widths, active=on, inactive=off)
    assert found == following(0, n0) <= bounds.serra(n0, widths)
    # Knowing less is safe.
    assert found <= bounds.serra_with_stable(n0, widths, active=on, inactive=[0] * len(off))
    assert found <= bounds.serra_with_stable(n0, widths, active=[0] * len(on), inactive=off)


@MANY
@given(n0=st.integers(0, 6), widths=widths_lists)
def test_matrix_form_gives_the_older_bounds(n0: int, widths: list[int]) -> None:
    form = bounds.hinz_van_de_geer
    assert form(n0, widths, histogram=bounds.trivial_histogram) == bounds.trivial(n0, widths)
    want = bounds.naive_min_dims(n0, widths)
    assert form(n0, widths, histogram=bounds.zaslavsky_histogram) == want
    # As one of the caller's own, which is checked: the dimensions that a sum of both allows.
    worse = form(
        n0,
        widths,
        histogram=lambda n, m: np.add(
            bounds.serra_histogram(n, m), bounds.zaslavsky_histogram(n, m)
        ),
    )
    assert worse >= want


@pytest.mark.parametrize(
    ("histogram", "words"),
    [
        (lambda n, m: [1] * m, "has 5 entries; it needs 6"),
        (lambda n, m: [0] * m + [2], "fewer than the 6"),
        (lambda n, m: [0] * m + [2 ** (m + 2 - n)], "allows less than histogram(0, 5)"),
        (lambda n, m: [0] * m + [2.0**m], "is 32.0; a whole number is needed"),
        (lambda n, m: [-1] + [2**m] * m, "must be at least 0"),
        (lambda n, m: 7, "a list of whole numbers is needed"),
    ],
)
def test_histograms_that_cannot_be_bounds(histogram: Any, words: str) -> None:
    with pytest.raises(InputError) as raised:
        bounds.hinz_van_de_geer(2, [5, 5], histogram=histogram)
    assert words in str(raised.value)


@MANY
@given(n0=st.integers(1, 5), n=st.integers(1, 16), last=st.integers(1, 5))
def test_uneven_split_is_the_best_split(n0: int, n: int, last: int) -> None:
    def best(parts: int, units: int) -> int:
        if parts == 0:
            return 1
        return max(
            ((p + 1 if p >= 3 else p) * best(parts - 1, units - p) for p in range(units + 1)),
            default=0,
        )

    found = bounds.uneven_split_lower(n0, [n, last]).value
    assert (found or 0) == best(n0, n) * bounds.zaslavsky(n0, last)


def test_maxout_layers() -> None:
    found = [bounds.maxout(2, [m], rank=k) for m, k in [(1, 3), (1, 4), (2, 3), (3, 3), (2, 4)]]
    assert found == [3, 4, 9, 19, 16]
    for ranks in ([2, 3, 4, 5], [1, 1], [3], [1, 4, 2]):
        sums = [
            prod(k - 1 for k, taken in zip(ranks, chosen, strict=True) if taken)
            for chosen in product((0, 1), repeat=len(ranks))
            if sum(chosen) <= 2
        ]
        assert bounds.maxout_layer(2, ranks) == sum(sums)
    assert bounds.maxout_layer(2, []) == bounds.maxout_layer(0, [5, 5]) == 1


# ---------------------------------------------------------------------- bad input

TAKING_WIDTHS: dict[str, dict[str, Any]] = {
    "all_bounds": {},
    "trivial": {},
    "order_of_growth": {},
    "naive": {},
    "naive_min_dims": {},
    "serra": {},
    "serra_recursion": {},
    "serra_with_ranks": {"ranks": [1]},
    "serra_with_stable": {"active": [0], "inactive": [0]},
    "hinz_van_de_geer": {},
    "leaky": {},
    "piecewise_linear": {"pieces": 3},
    "maxout": {"rank": 3},
    "maxout_serra": {"rank": 3},
    "pascanu_lower": {},
    "montufar_lower": {},
    "serra_lower": {},
    "serra_zonotope_lower": {},
    "arora_lower": {},
    "uneven_split_lower": {},
    "one_dimensional_maximum": {},
    "rule_of_thumb": {},
}


@pytest.mark.parametrize("name", TAKING_WIDTHS)
@pytest.mark.parametrize(
    ("n0", "widths", "words"),
    [
        (-1, [3], "n0 is -1; it must be at least 0"),
        (2.0, [3], "n0 is 2.0; a whole number is needed"),
        (True, [3], "n0 is True; a whole number is needed"),
        (None, [3], "n0 is None"),
        (2, [], "widths is empty"),
        (2, [3, 0], "widths[1] is 0; it must be at least 1"),
        (2, [-3], "widths[0] is -3"),
        (2, [3.5], "widths[0] is 3.5; a whole number is needed"),
        (2, np.array([3.0]), "a whole number is needed"),
        (2, np.array(3), "a list of whole numbers is needed"),
        (2, "35", "a list of whole numbers is needed"),
        (2, ["3"], "widths[0] is '3'"),
        (2, 3, "widths is 3; a list of whole numbers is needed"),
        (2, [[3]], "widths[0] is [3]"),
    ],
)
def test_bad_architectures(name: str, n0: Any, widths: Any, words: str) -> None:
    with pytest.raises(InputError) as raised:
        getattr(bounds, name)(n0, widths, **TAKING_WIDTHS[name])
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.zaslavsky(-1, 3), "d is -1"),
        (lambda: bounds.zaslavsky(2, 3.0), "m is 3.0"),
        (lambda: bounds.regions_by_recursion(2, -1), "m is -1"),
        (lambda: bounds.bounded_regions("2", 1), "d is '2'"),
        (lambda: bounds.faces(2, 5, k=3), "k is 3; faces of an arrangement in dimension 2"),
        (lambda: bounds.regions_of_rank(2, 5, rank=3), "span 2 dimensions at most"),
        (lambda: bounds.parallel_families(2, 5, members=-1), "members is -1"),
        (lambda: bounds.piecewise_linear(2, [5], pieces=0), "pieces is 0"),
        (lambda: bounds.maxout(2, [5], rank=0), "rank is 0"),
        (lambda: bounds.maxout_layer(2, [2, 0]), "ranks[1] is 0"),
        (lambda: bounds.maxout_layer(2, 4), "ranks is 4"),
        (lambda: bounds.serra_with_ranks(2, [5, 5], ranks=[2]), "ranks has 1 entries for 2 layers"),
        (lambda: bounds.serra_with_ranks(2, [5, 3], ranks=[2, 4]), "ranks[1] is 4"),
        (lambda: bounds.serra_with_ranks(2, [2, 5], ranks=[2, 3]), "smaller side, 2"),
        (
            lambda: bounds.serra_with_stable(2, [5], active=[3], inactive=[3]),
            "layer 1 has 5 neurons; 3 always active and 3 always inactive",
        ),
        (lambda: bounds.serra_with_stable(2, [5], active=[6], inactive=[0]), "active[0] is 6"),
    ],
)
def test_bad_arguments(call: Any, words: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert words in str(raised.value)


def test_public_access() -> None:
    assert pc.bounds is bounds is pc.theory.bounds
    assert pc.bounds.serra(2, [5, 5, 5]) == 4096
    assert "bounds" in pc.__all__
    for name in bounds.__all__:
        assert getattr(bounds, name).__doc__, name
