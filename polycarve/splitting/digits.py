"""How many digits a network's numbers have: where float64 arithmetic rounds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from polycarve.rational import ExactArray

FloatArray = npt.NDArray[np.float64]

# Coefficients that are multiples of less have too many digits to ask how many.
_LEAST_QUANTUM = 2.0**-45
_MOST_NUMBERS = 1 << 16


def exact_below(
    forms: Sequence[tuple[Mapping[int, ExactArray], ExactArray]], size: FloatArray
) -> FloatArray:
    """Return, for each layer, how large the rounding error of a form may be for it to be exact.

    Coefficients of layer l are multiples of ``quanta[l]``, a power of two. All sums on the way to
    one are at most the form's error bound divided by four units of roundoff, and by the smallest
    size of a coordinate (or 1): up to 2**53 quanta, nothing is rounded. A factor of two is kept.

    Parameters
    ----------
    forms
        For each layer, its weights by source (0 is the coordinates) and its constants.
    size : (k,) float64
        How large coordinates get.
    """
    limits = np.full(len(forms), -1.0)
    quanta: list[float] = []
    for layer, (parts, constant) in enumerate(forms):
        quantum = min(
            _quantum(constant, 1.0),
            *(_quantum(part, quanta[s - 1] if s else 1.0) for s, part in parts.items()),
        )
        limits[layer] = 2.0 * min(float(size.min(initial=1.0)), 1.0) * quantum if quantum else -1.0
        if layer == 0 and all(_is_exact(part) for part in (constant, *parts.values())):
            limits[0] = 0.0  # no error at all
        quanta.append(quantum)
        if not quantum:
            break
    return limits


def _is_exact(numbers: ExactArray) -> bool:
    return numbers.numerators.size <= _MOST_NUMBERS and numbers.is_float64


def _quantum(numbers: ExactArray, unit: float) -> float:
    """Return a power of two, times `unit`, that numbers are multiples of; 0.0 if it is too small.

    Each of them has at most 53 binary digits then.
    """
    denominator, values = numbers.denominator, numbers.numerators.ravel()
    if denominator & (denominator - 1) or unit / denominator < _LEAST_QUANTUM:
        return 0.0
    for part in (values[:16], values):  # of most networks, few numbers tell
        if len(part) and np.abs(part).max() >= 2**53:
            return 0.0
    return unit / denominator
