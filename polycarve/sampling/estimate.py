"""What every estimator of the number of regions answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CountEstimate:
    """An estimate of the number of regions, and what it is worth.

    Attributes
    ----------
    name : str
    value : float
    standard_error : float or None
    interval : (low, high) or None
    n : int
        How many probes, lines, runs or points.
    is_unbiased : bool
    promise : str
        One sentence: what it can and cannot promise.
    is_baseline : bool
    """

    name: str
    value: float
    standard_error: float | None
    interval: tuple[float, float] | None
    n: int
    is_unbiased: bool
    promise: str
    is_baseline: bool
