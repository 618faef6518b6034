"""Richness estimators: hand-computed values, their variances, and what they find on networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import polycarve as pc
from polycarve.errors import InputError
from polycarve.sampling import (
    ace,
    chao1,
    frequency_counts,
    good_toulmin,
    good_turing_mass,
    jackknife,
    observed,
)
from tests.lcg import lcg

Estimator = Callable[[npt.NDArray[np.int64]], float]


def seen(**times: int) -> list[int]:
    """Counts with so many regions seen so often: ``seen(f1=3, f2=1)`` is three once, one twice."""
    return [int(name[1:]) for name, many in times.items() for _ in range(many)]


# Ten regions once, four twice, three three times, two 7 times, one 40 times: n = 81, S = 20.
COUNTS = seen(f1=10, f2=4, f3=3, f7=2, f40=1)


def test_values_by_hand() -> None:
    assert frequency_counts(COUNTS) == {1: 10, 2: 4, 3: 3, 7: 2, 40: 1}
    assert observed(COUNTS).value == 20
    assert good_turing_mass(COUNTS) == 10 / 81
    assert chao1(COUNTS).value == pytest.approx(20 + 80 / 81 * 100 / 8)
    assert chao1(COUNTS, bias_corrected=True).value == pytest.approx(20 + 80 / 81 * 90 / 10)
    # 41 rare points in 19 regions; C = 31/41; sum k (k - 1) f_k = 8 + 18 + 84.
    cover = 31 / 41
    spread = 19 / cover * 110 / (41 * 40) - 1
    assert spread > 0
    assert ace(COUNTS).value == pytest.approx(1 + 19 / cover + 10 / cover * spread)
    assert ace(COUNTS, rare=6).value == pytest.approx(
        3 + 17 / (17 / 27) + max(17 / (17 / 27) * 26 / (27 * 26) - 1, 0)
    )
    assert jackknife(COUNTS).value == pytest.approx(20 + 10 * 80 / 81)
    assert jackknife(COUNTS, order=2).value == pytest.approx(
        20 + 10 * 159 / 81 - 4 * 79**2 / (81 * 80)
    )
    assert good_toulmin(COUNTS, 1) == 10 - 4 + 3 + 2 - 1
    assert good_toulmin(COUNTS, 0.5) == pytest.approx(
        5 - 4 / 4 + 3 / 8 + 2 / 128 - 1 / 2**40, rel=1e-12
    )
    assert good_toulmin(COUNTS, 0) == 0


def test_where_formulas_end() -> None:
    once = seen(f1=5)
    assert chao1(once).value == chao1(once, bias_corrected=True).value == 5 + 4 / 5 * 20 / 2
    assert math.isnan(ace(once).value)
    assert "seen once" in ace(once).promise
    assert ace(seen(f50=3)).value == 3
    assert jackknife([1]).value == 1
    assert math.isnan(jackknife([1], order=2).value)
    for estimate in (observed([]), chao1([]), ace([])):
        assert (estimate.value, estimate.n) == (0, 0)
    assert math.isnan(jackknife([]).value)
    assert frequency_counts([0, 3, 0]) == {3: 1}
    with pytest.raises(InputError, match="nothing is known of the rest"):
        good_turing_mass([0])


@pytest.mark.parametrize(
    "estimator",
    [
        lambda f, n: _chao1(f, n),
        lambda f, n: _chao1(f, n, corrected=True),
        lambda f, n: f.sum() + f[1] * (n - 1) / n,
        lambda f, n: f.sum() + f[1] * (2 * n - 3) / n - f[2] * (n - 2) ** 2 / (n * (n - 1)),
    ],
    ids=["chao1", "chao1 bias-corrected", "jackknife1", "jackknife2"],
)
def test_standard_errors_are_those_of_the_delta_method(
    estimator: Callable[[npt.NDArray[np.float64], int], float], request: pytest.FixtureRequest
) -> None:
    """With covariances ``f_i [i = j] - f_i f_j / S`` and slopes taken numerically."""
    name = request.node.callspec.id
    for counts in (COUNTS, seen(f1=3, f2=9, f4=2), seen(f1=40, f2=3, f5=50)):
        n, f = sum(counts), np.bincount(counts).astype(float)
        value = estimator(f, n)
        slopes = np.array(
            [
                (estimator(f + step, n) - estimator(f - step, n)) / 2e-4
                for step in 1e-4 * np.eye(len(f))
            ]
        )
        slopes[0] = 0  # nobody sees f_0
        variance = (slopes**2 * f).sum() - (slopes * f).sum() ** 2 / value
        (ours,) = (one for one in pc.sampling.all_estimates(counts) if one.name == name)
        assert ours.value == pytest.approx(value)
        assert ours.standard_error is not None
        if name == "chao1 bias-corrected":  # a published form, which drops a term of lower order
            assert ours.standard_error**2 == pytest.approx(variance, rel=0.1)
        else:
            assert ours.standard_error**2 == pytest.approx(variance, rel=1e-6)


def _chao1(f: npt.NDArray[np.float64], n: int, *, corrected: bool = False) -> float:
    a = (n - 1) / n
    if corrected:
        return float(f.sum() + a * f[1] * (f[1] - 1) / (2 * (f[2] + 1)))
    return float(f.sum() + a * f[1] ** 2 / (2 * f[2]))


def test_promises() -> None:
    for estimate in pc.sampling.all_estimates(COUNTS):
        assert estimate.interval is None
        assert not estimate.is_unbiased
        assert estimate.n == 81
        promise = estimate.promise.lower()
        assert "below the truth" in promise or "lower bound" in promise


# ------------------------------------------------------------- on networks with known regions

# Means and standard deviations of 200 repetitions by an earlier and independent program; None
# where only a mean is known. The last digit given is rounded.
TABLE: dict[int, dict[int, dict[str, tuple[float, float | None]]]] = {
    5: {
        300: {"observed": (113.4, None), "chao1": (170, 22), "ace": (173, None)}
        | {"jackknife2": (193, None), "mass": (0.171, None), "missing": (0.169, None)},
        1000: {"observed": (175.5, None), "chao1": (219, 17), "ace": (217, None)}
        | {"jackknife2": (246, None), "mass": (0.0495, None), "missing": (0.0498, None)},
        10_000: {"observed": (265.7, None), "chao1": (284, 9), "ace": (281, None)}
        | {"jackknife2": (300, None), "mass": (2.68e-3, None), "missing": (2.71e-3, None)},
        100_000: {"observed": (306.3, None), "chao1": (314, 6), "ace": (312, None)}
        | {"jackknife2": (321, None), "mass": (1.08e-4, None), "missing": (1.11e-4, None)},
    },
    9: {
        300: {"observed": (129.3, None), "chao1": (206, 26), "ace": (218, None)}
        | {"jackknife2": (232, None)},
        1000: {"observed": (211.6, None), "chao1": (271, 20), "ace": (270, None)}
        | {"jackknife2": (307, None)},
        10_000: {"observed": (331.6, None), "chao1": (359, 12), "ace": (351, None)}
        | {"jackknife2": (380, None)},
        100_000: {"observed": (386.5, None), "chao1": (398, 8), "ace": (395, None)}
        | {"jackknife2": (407, None)},
    },
}
ROUNDED = {"observed": 0.05, "chao1": 0.5, "ace": 0.5, "jackknife2": 0.5}
ESTIMATORS: dict[str, Estimator] = {
    "observed": lambda counts: observed(counts).value,
    "chao1": lambda counts: chao1(counts).value,
    "ace": lambda counts: ace(counts).value,
    "jackknife2": lambda counts: jackknife(counts, order=2).value,
    "mass": good_turing_mass,
}
REGIONS = {5: 327, 9: 411}


@cache
def shares(seed: int) -> npt.NDArray[np.float64]:
    """The exact areas of all regions over that of the box."""
    network, box, regions = lcg(seed)
    assert regions == REGIONS[seed]
    volumes = pc.carve(network, box).volumes()
    assert len(volumes) == REGIONS[seed]
    return volumes / volumes.sum()


def agrees(
    values: list[float], name: str, expected: tuple[float, float | None], repetitions: int = 200
) -> bool:
    """Whether two means are within four of their standard errors, both combined."""
    mean, deviation = expected
    own = float(np.std(values, ddof=1))
    error = math.hypot(own / math.sqrt(len(values)), (deviation or own) / math.sqrt(repetitions))
    half_digit = ROUNDED.get(name, 10 ** (math.floor(math.log10(mean)) - 2) / 2)
    return abs(float(np.mean(values)) - mean) <= 4 * error + half_digit


@pytest.mark.parametrize("seed", [5, 9])
@pytest.mark.parametrize("n", [300, 1000, 10_000, 100_000])
def test_means_over_multinomial_counts(seed: int, n: int) -> None:
    """Points that fall into regions of the exact areas: no network is evaluated."""
    p = shares(seed)
    draws = np.random.default_rng([seed, n]).multinomial(n, p, size=200)
    for name, expected in TABLE[seed][n].items():
        if name == "missing":
            values = [float(p[row == 0].sum()) for row in draws]
        else:
            values = [ESTIMATORS[name](row) for row in draws]
        assert agrees(values, name, expected), (name, np.mean(values), expected)
        if name not in ("mass", "missing"):
            assert np.mean(values) < REGIONS[seed]


@pytest.mark.parametrize("seed", [5, 9])
@pytest.mark.parametrize(
    ("n", "repetitions"), [(300, 100), (1000, 100), (10_000, 40), (100_000, 4)]
)
def test_means_over_points(seed: int, n: int, repetitions: int) -> None:
    network, box, _ = lcg(seed)
    rng = np.random.default_rng([seed, n, 1])
    samples = [pc.sample(network, box, n, rng=rng) for _ in range(repetitions)]
    assert all(one.n_on_boundary == 0 and one.counts.sum() == n for one in samples)
    for name, expected in TABLE[seed][n].items():
        if name in ESTIMATORS:
            values = [ESTIMATORS[name](one.counts) for one in samples]
            assert agrees(values, name, expected), (name, np.mean(values), expected)


def test_expectations() -> None:
    """Of S, of the mass and of what more points find there are closed forms."""
    p, n, t = shares(5), 1000, 0.5
    draws = np.random.default_rng(3).multinomial(n, p, size=2000)
    for values, expected in (
        ([observed(row).value for row in draws], (1 - (1 - p) ** n).sum()),
        ([good_turing_mass(row) for row in draws], (p * (1 - p) ** (n - 1)).sum()),
        # Poisson in place of multinomial changes this by less than 1/n of it.
        (
            [good_toulmin(row, t) for row in draws],
            (np.exp(-n * p) - np.exp(-n * (1 + t) * p)).sum(),
        ),
    ):
        error = np.std(values) / math.sqrt(len(values))
        assert abs(np.mean(values) - expected) <= 4 * error + expected / n


@pytest.mark.parametrize(
    "counts", [[1.5, 2.0], [-1, 2], [[1, 2]], "12", [1, [2]], None, [True, False]]
)
def test_counts_that_are_none(counts: object) -> None:
    with pytest.raises(InputError, match="counts must be a list of whole numbers"):
        chao1(counts)


@pytest.mark.parametrize("t", [-0.1, 1.5, math.nan, "1", None, True])
def test_extrapolation_beyond_twice_the_sample(t: object) -> None:
    with pytest.raises(InputError, match="a number from 0 to 1 is needed"):
        good_toulmin(COUNTS, t)  # type: ignore[arg-type]


def test_orders_and_limits() -> None:
    with pytest.raises(InputError, match="the jackknives of order 1 and 2 are there"):
        jackknife(COUNTS, order=3)
    with pytest.raises(InputError, match="order is 0"):
        jackknife(COUNTS, order=0)
    with pytest.raises(InputError, match="rare is 0"):
        ace(COUNTS, rare=0)


def test_sums_of_counts_do_not_wrap_round() -> None:
    with pytest.raises(InputError, match="more points than anyone counts"):
        observed([2**62] * 4)
    assert observed([2**60, 2**60]).n == 2**61
    big = ace([2**34, 2**34, 1, 1], rare=2**40)
    assert big.value == pytest.approx(6.0)  # 4, and 2 times a squared variation of 1
    assert math.copysign(1.0, good_toulmin([1, 1], 0)) == 1.0
