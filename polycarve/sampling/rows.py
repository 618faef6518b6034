"""Estimates as rows of tables and as plain data."""

from __future__ import annotations

import math
from typing import Any

from polycarve.sampling.estimate import CountEstimate

# From here on numbers are written with exponents.
_LONG = 1e9


def number(value: float) -> str:
    """Return a number of regions for people."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    if abs(value) < _LONG:
        return f"{value:,.{1 if abs(value) < 1e4 else 0}f}".removesuffix(".0")
    return f"{value:.3e}".replace("e+", "e")


def with_error(estimate: CountEstimate) -> str:
    """Return the value of an estimate, with its standard error where there is one."""
    value, error = estimate.value, estimate.standard_error
    if error is None or not math.isfinite(error) or error == 0:
        return number(value)
    if abs(value) >= _LONG:
        return f"{number(value)} ± {error:.1e}".replace("e+", "e")
    return f"{number(value)} ± {number(error)}"


def row(estimate: CountEstimate) -> tuple[str, str, str]:
    """Return name, value and promise."""
    return estimate.name, with_error(estimate), estimate.promise


def as_dict(estimate: CountEstimate) -> dict[str, Any]:
    """Return an estimate as plain data; what is not a number is None."""
    return {
        "name": estimate.name,
        "value": _finite(estimate.value),
        "standard_error": _finite(estimate.standard_error),
        "interval": None if estimate.interval is None else [*map(_finite, estimate.interval)],
        "confidence": estimate.confidence,
        "n": estimate.n,
        "complete": estimate.complete,
        "is_unbiased": estimate.is_unbiased,
        "is_baseline": estimate.is_baseline,
        "n_doubtful": estimate.n_doubtful,
        "promise": estimate.promise,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
