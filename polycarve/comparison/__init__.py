"""Exact, sampled and theoretical numbers of regions, side by side."""

from polycarve.comparison.comparing import DEFAULT_LIMITS, compare
from polycarve.comparison.result import Comparison, Coverage

__all__ = ["DEFAULT_LIMITS", "Comparison", "Coverage", "compare"]
