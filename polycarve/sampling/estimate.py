"""An estimated number, with what can be said for it; and intervals for means of skewed data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from polycarve.errors import NumericalError

FloatArray = npt.NDArray[np.float64]

# Samples of a skewed distribution show less skewness than it has, since its tail is rare. So what
# they show is taken so many times, and at least so many coefficients of variation: a log-normal
# distribution has that many or more.
_SKEWNESS_FACTOR = 1.5
_LEAST_SKEWNESS = 3.0


@dataclass(frozen=True)
class CountEstimate:
    """An estimate of the number of regions.

    Attributes
    ----------
    name : str
        The estimator.
    value : float
    standard_error : float or None
        None where there is none that can be trusted, or none that can be computed.
    interval : (float, float) or None
        A confidence interval for the number, where one can be stated.
    n : int
        Points, probes, lines or runs that were done.
    is_unbiased : bool
        Whether the expectation of `value` is the number of regions.
    promise : str
        One sentence: what the estimate can and cannot promise.
    is_baseline : bool
        Whether it is only there to be compared with.
    complete : bool
        False when a time limit cut it short.
    confidence : float or None
        How often such an interval is meant to cover the number.
    n_doubtful : int
        Decisions on the way that floating point could not make for sure. Where there are any,
        regions may be missing, and nothing said of the estimate allows for that.

    Examples
    --------
    >>> estimate = CountEstimate("some way", 65.0, 2.0, (61.2, 69.1), 100, True, "Good.", False,
    ...                          confidence=0.95)
    >>> estimate
    <CountEstimate: some way, 65.0 ± 2.0 (n=100)>
    >>> print(estimate)
    some way: 65.0 ± 2.0 (95 % interval 61.2 to 69.1; n = 100, unbiased). Good.
    """

    name: str
    value: float
    standard_error: float | None
    interval: tuple[float, float] | None
    n: int
    is_unbiased: bool
    promise: str
    is_baseline: bool
    complete: bool = True
    confidence: float | None = None
    n_doubtful: int = 0

    def with_doubts(self, n: int) -> CountEstimate:
        """Return the estimate after so many doubtful decisions, which it then speaks of."""
        if not n:
            return self
        doubt = f"{n:,} decisions were" if n > 1 else "1 decision was"
        promise = f"{doubt} doubtful in floating point: regions may be missing. {self.promise}"
        return replace(self, n_doubtful=n, is_unbiased=False, promise=promise)

    def __repr__(self) -> str:
        begin = f"<CountEstimate: {self.name[:24]}, {self._number()}"
        note = "" if self.complete else ", cut short"
        whole = f"{begin} (n={self.n}{note})>"
        return whole if len(whole) < 80 else f"{begin}{note}>"

    def __str__(self) -> str:
        notes = []
        if self.interval is not None:
            width = self.interval[1] - self.interval[0]
            low, high = (_rounded(end, min(width, abs(end) / 10)) for end in self.interval)
            level = "" if self.confidence is None else f"{100 * self.confidence:g} % "
            notes.append(f"{level}interval {low} to {high}")
        words = [f"n = {self.n:,}"]
        if self.is_unbiased:
            words.append("unbiased")
        if self.is_baseline:
            words.append("a baseline")
        if not self.complete:
            words.append("cut short")
        notes.append(", ".join(words))
        return f"{self.name}: {self._number()} ({'; '.join(notes)}). {self.promise}"

    def _number(self) -> str:
        if self.standard_error is None:
            return _rounded(self.value, self.value / 100)
        error = self.standard_error
        return f"{_rounded(self.value, error)} ± {_rounded(error, error)}"


def _rounded(value: float, scale: float) -> str:
    """Write a number to about two digits of `scale`."""
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    if not scale > 0:
        return f"{value:,.6g}"
    digits = int(np.clip(1 - np.floor(np.log10(scale)), -9, 4))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def mean(values: FloatArray) -> float:
    """Return the mean of positive values; refuse one that is beyond any float."""
    if not np.isfinite(values).all():
        raise NumericalError("the estimate is too large for a float: beyond 1e308.")
    size = _power_of_two(values)
    return float((values / size).mean()) * size


def standard_error(values: FloatArray) -> float | None:
    """Return the standard error of the mean of independent values; None for fewer than two."""
    if len(values) < 2:
        return None
    size = _power_of_two(values)
    return float((values / size).std(ddof=1) / np.sqrt(len(values))) * size


def mean_interval(values: FloatArray, confidence: float) -> tuple[float, float] | None:
    """Return a confidence interval for the mean of a positive, skewed distribution.

    Parameters
    ----------
    values : (n,) float64
        Drawn independently.
    confidence : float

    Returns
    -------
    (float, float) or None
        None for fewer than two values and where all are equal: such a sample does not say how far
        others would lie away.

    Notes
    -----
    Student's interval is too low on skewed data: the mean and its standard error are too small
    together, where the tail was missed. Hall's transformation of the t-statistic corrects for
    skewness. The upper end is his, for more skewness than the sample shows; the lower end, where
    Student's errs on the safe side, is left as it is.

    References
    ----------
    P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society
    B 54, 1992.

    Examples
    --------
    >>> low, high = mean_interval(np.array([1.0, 2.0, 2.0, 3.0, 9.0, 4.0]), 0.95)
    >>> round(low, 2), round(high, 2)
    (0.48, 11.23)
    """
    from scipy.special import stdtrit

    size = _power_of_two(values)
    values = values / size
    n, error = len(values), standard_error(values)
    if error is None or not error > 1e-12 * abs(values.mean()):
        return None
    mean, spread = float(values.mean()), float(values.std())
    t = float(stdtrit(n - 1, (1 + confidence) / 2))
    shown = float((((values - mean) / spread) ** 3).mean())
    assumed = max(_SKEWNESS_FACTOR * shown, _LEAST_SKEWNESS * error * np.sqrt(n) / mean)
    low = mean - error * t
    high = mean - error * _untransformed(-t, assumed / np.sqrt(n))
    return low * size, high * size


def _power_of_two(values: FloatArray) -> float:
    """Return the size of values: divided by it, their sums and squares do not overflow."""
    return float(np.ldexp(1.0, int(np.frexp(np.abs(values).max())[1]) - 1))


def _untransformed(x: float, a: float) -> float:
    """Return the t of which Hall's transformation ``t + a t^2 / 3 + a^2 t^3 / 27 + a / 6`` is x."""
    if abs(a) < 1e-6:
        return x
    return float(3 / a * (np.cbrt(1 + a * (x - a / 6)) - 1))
