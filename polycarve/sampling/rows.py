"""Estimates as rows of tables and as plain data."""

from __future__ import annotations

import math
from typing import Any

from polycarve.sampling.estimate import CountEstimate


def number(value: float) -> str:
    """Return a number of regions for people."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    if abs(value) < 1e9:
        return f"{value:,.{1 if abs(value) < 1e4 else 0}f}".removesuffix(".0")
    return f"{value:.3e}".replace("e+", "e")


def row(estimate: CountEstimate) -> tuple[str, str, str]:
    """Return name, value (with its standard error where there is one) and promise."""
    value = number(estimate.value)
    if estimate.standard_error is not None and math.isfinite(estimate.standard_error):
        value += f" ± {number(estimate.standard_error)}"
    return estimate.name, value, estimate.promise


def as_dict(estimate: CountEstimate) -> dict[str, Any]:
    """Return an estimate as plain data; what is not a number is None."""
    return {
        "name": estimate.name,
        "value": _finite(estimate.value),
        "standard_error": _finite(estimate.standard_error),
        "interval": None if estimate.interval is None else [*map(_finite, estimate.interval)],
        "n": estimate.n,
        "is_unbiased": estimate.is_unbiased,
        "is_baseline": estimate.is_baseline,
        "promise": estimate.promise,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
