"""What a sample says about the regions that it missed: the estimators of species richness.

Each takes ``counts``, how often each region seen was seen (zeros are left out). Below, ``S`` is
the number of regions seen, ``f_k`` the number of those seen exactly ``k`` times, and ``n`` the sum
of the counts. All of them presume points that are drawn independently, and none can see regions
too small to be met: there is no upper confidence bound for the number of regions that holds
whatever their sizes are. Networks have very many tiny regions, and on every network tried here all
of these numbers stay below the truth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError
from polycarve.sampling.estimate import CountEstimate
from polycarve.theory.arguments import whole

IntArray = npt.NDArray[np.int64]

# The sum of counts must fit in 64 bits.
_MOST_POINTS = 2.0**62

_UNSEEN = "regions too small to be met go unseen"


def frequency_counts(counts: Any) -> dict[int, int]:
    """Return ``{k: f_k}``: how many regions were seen exactly k times, for the k that occur.

    Examples
    --------
    >>> frequency_counts([5, 1, 2, 1, 1])
    {1: 3, 2: 1, 5: 1}
    """
    values, times = np.unique(_checked(counts), return_counts=True)
    return dict(zip(values.tolist(), times.tolist(), strict=True))


def observed(counts: Any) -> CountEstimate:
    """Return ``S``, the number of distinct regions seen.

    It never exceeds the number of regions; its expectation is ``sum of 1 - (1 - p_i)^n`` over
    regions of measures ``p_i``.

    Examples
    --------
    >>> observed([5, 1, 2, 1, 1]).value
    5.0
    """
    seen = _checked(counts)
    return _estimate("observed", float(len(seen)), seen, "A lower bound: the regions seen.")


def good_turing_mass(counts: Any) -> float:
    """Return ``f_1 / n``, an estimate of the share of the domain in regions not seen.

    It estimates a *mass*, the chance that one more point falls into a region not seen before, and
    says nothing of the number of such regions. Its bias is between 0 and ``1/n``.

    Raises
    ------
    InputError
        Nothing was counted.

    References
    ----------
    I. J. Good, *The population frequencies of species and the estimation of population
    parameters*, 1953 (the idea is A. M. Turing's).

    Examples
    --------
    >>> good_turing_mass([5, 1, 2, 1, 1])
    0.3
    """
    seen = _checked(counts)
    if not len(seen):
        raise InputError("no point was counted, so nothing is known of the rest; give counts.")
    return int((seen == 1).sum()) / int(seen.sum())


def chao1(counts: Any, *, bias_corrected: bool = False) -> CountEstimate:
    """Return Chao's estimate of the number of regions from those seen once and twice.

    ``S + a f_1^2 / (2 f_2)`` with ``a = (n - 1) / n``; bias-corrected, and where ``f_2`` is 0,
    ``S + a f_1 (f_1 - 1) / (2 (f_2 + 1))``. In expectation it is at most the number of regions
    (by the inequality of Cauchy and Schwarz, up to terms that vanish with n), and equal to it if
    all have the same measure. The standard error is that of the estimate about its own
    expectation: adding twice of it does not reach the truth.

    References
    ----------
    A. Chao, *Nonparametric estimation of the number of classes in a population*, 1984; A. Chao,
    *Estimating the population size for capture-recapture data with unequal catchability*, 1987
    (the variance).

    Examples
    --------
    >>> estimate = chao1([5, 1, 2, 1, 1])
    >>> round(estimate.value, 3), round(chao1([5, 1, 2, 1, 1], bias_corrected=True).value, 3)
    (9.05, 6.35)
    """
    seen = _checked(counts)
    f1, f2, n = _rare(seen, 1), _rare(seen, 2), int(seen.sum())
    a = (n - 1) / n if n else 0.0
    if f2 and not bias_corrected:
        r = f1 / f2
        value = len(seen) + a * f1 * r / 2
        variance = f2 * (a * r**2 / 2 + a**2 * r**3 + a**2 * r**4 / 4)
    else:
        g = f2 + 1
        value = len(seen) + a * f1 * (f1 - 1) / (2 * g)
        variance = a * f1 * (f1 - 1) / (2 * g) + a**2 * f1 * (2 * f1 - 1) ** 2 / (4 * g**2)
        if f2:
            variance += a**2 * f1**2 * f2 * (f1 - 1) ** 2 / (4 * g**4)
        elif value:
            variance -= a**2 * f1**4 / (4 * value)
    return _estimate(
        "chao1 bias-corrected" if bias_corrected else "chao1",
        value,
        seen,
        f"Below the truth in expectation: {_UNSEEN}.",
        math.sqrt(max(variance, 0.0)),
    )


def ace(counts: Any, *, rare: int = 10) -> CountEstimate:
    """Return the abundance-based coverage estimate of the number of regions.

    ``S_abund + S_rare / C + (f_1 / C) g^2``, where regions seen at most `rare` times are the rare
    ones, ``C = 1 - f_1 / n_rare`` is the share of rare points in regions seen more than once, and
    ``g^2 = max(S_rare / C * sum of k (k - 1) f_k / (n_rare (n_rare - 1)) - 1, 0)``. No bound in
    either direction. Not a number where every rare region was seen once.

    References
    ----------
    A. Chao, S.-M. Lee, *Estimating the number of classes via sample coverage*, 1992.

    Examples
    --------
    >>> ace([50, 1, 2, 1, 1]).value
    11.0
    """
    seen = _checked(counts)
    limit = whole(rare, "rare", least=1)
    few = seen[seen <= limit]
    n_rare, f1 = int(few.sum()), _rare(seen, 1)
    n_abundant = len(seen) - len(few)
    if not len(few):
        value = float(n_abundant)
    elif f1 == n_rare:
        return _estimate("ace", math.nan, seen, "Not defined: every rare region was seen once.")
    else:
        cover = 1 - f1 / n_rare
        pairs = float((few * (few - 1.0)).sum())
        spread = max(len(few) / cover * pairs / (n_rare * (n_rare - 1)) - 1, 0.0)
        value = n_abundant + len(few) / cover + f1 / cover * spread
    return _estimate("ace", value, seen, f"No bound, and as a rule below the truth: {_UNSEEN}.")


def jackknife(counts: Any, *, order: int = 1) -> CountEstimate:
    """Return the jackknife estimate of the number of regions, of order 1 or 2.

    ``S + f_1 (n - 1) / n``, and ``S + f_1 (2 n - 3) / n - f_2 (n - 2)^2 / (n (n - 1))``. Each
    order takes one more power of ``1/n`` out of the bias, as far as the bias has such powers: with
    many tiny regions it does not. No bound in either direction. The standard error is that of the
    estimate about its own expectation, and grows with the order.

    Parameters
    ----------
    counts : sequence of int
    order : 1 or 2

    References
    ----------
    K. P. Burnham, W. S. Overton, *Estimation of the size of a closed population when capture
    probabilities vary among animals*, 1978.

    Examples
    --------
    >>> jackknife([5, 1, 2, 1, 1]).value, round(jackknife([5, 1, 2, 1, 1], order=2).value, 3)
    (7.7, 9.389)
    """
    seen = _checked(counts)
    if whole(order, "order", least=1) > 2:
        raise InputError(f"order is {order}; the jackknives of order 1 and 2 are there.")
    name, n = f"jackknife{order}", int(seen.sum())
    if n < order:
        return _estimate(name, math.nan, seen, "Not defined for so few points.")
    more = {1: (n - 1) / n, 2: 0.0}
    if order == 2:
        more = {1: (2 * n - 3) / n, 2: -((n - 2) ** 2) / (n * (n - 1))}
    value = float(len(seen)) + sum(c * _rare(seen, k) for k, c in more.items())
    # A linear form of the f_k, which are nearly multinomial: sum of squares, less its square.
    squares = len(seen) + sum(((1 + c) ** 2 - 1) * _rare(seen, k) for k, c in more.items())
    return _estimate(
        name,
        value,
        seen,
        f"No bound, and as a rule below the truth: {_UNSEEN}.",
        math.sqrt(max(squares - value, 0.0)),
    )


def good_toulmin(counts: Any, t: float) -> float:
    """Return how many new regions ``t`` times as many points again would find.

    ``-sum of (-t)^k f_k``. Unbiased for points that come as a Poisson process, and usable up to
    ``t = 1``: beyond, its variance explodes.

    Parameters
    ----------
    counts : sequence of int
    t : float
        From 0 to 1.

    References
    ----------
    I. J. Good, G. H. Toulmin, *The number of new species, and the increase in population
    coverage, when a sample is increased*, 1956.

    Examples
    --------
    >>> good_toulmin([5, 1, 2, 1, 1], 0.5)
    1.28125
    """
    try:
        step = float(t)
    except (TypeError, ValueError):
        step = math.nan
    if not 0 <= step <= 1 or isinstance(t, (bool, str)):
        raise InputError(
            f"t is {t!r}; a number from 0 to 1 is needed. Further than twice the sample, this "
            f"extrapolation is worthless: draw more points instead."
        )
    return 0.0 - sum((-step) ** k * f for k, f in frequency_counts(counts).items())


def all_estimates(counts: Any) -> tuple[CountEstimate, ...]:
    """Return every estimate of the number of regions, the number seen first."""
    seen = _checked(counts)
    return (
        observed(seen),
        chao1(seen),
        chao1(seen, bias_corrected=True),
        ace(seen),
        jackknife(seen),
        jackknife(seen, order=2),
    )


def _estimate(
    name: str, value: float, counts: IntArray, promise: str, error: float | None = None
) -> CountEstimate:
    return CountEstimate(
        name=name,
        value=value,
        standard_error=error,
        interval=None,  # none that deserves the name exists
        n=int(counts.sum()),
        is_unbiased=False,
        promise=promise,
        is_baseline=False,
    )


def _rare(counts: IntArray, k: int) -> int:
    return int((counts == k).sum())


def _checked(counts: Any) -> IntArray:
    try:
        array = np.asarray(counts)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim == 1 and not array.size:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array < 0).any():
        raise InputError("counts must be a list of whole numbers, how often each region was seen.")
    if array.sum(dtype=np.float64) >= _MOST_POINTS:
        raise InputError("counts add up to more points than anyone counts: 2^62 or more.")
    return array[array > 0].astype(np.int64)
