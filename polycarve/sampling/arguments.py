"""What estimators are asked for: chance, and confidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycarve.errors import InputError


def as_generator(rng: Any) -> np.random.Generator:
    """Return a generator from a seed, a generator, or None for one that differs every time."""
    if isinstance(rng, np.random.Generator):
        return rng
    is_seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool)
    if rng is not None and not (is_seed and rng >= 0):
        raise InputError(
            f"rng is {rng!r}; a seed (a whole number of at least 0), a numpy.random.Generator, or "
            f"None is needed."
        )
    return np.random.default_rng(rng)


def spawned(generator: np.random.Generator, n: int) -> list[np.random.Generator]:
    """Return generators that are independent of each other."""
    try:
        return generator.spawn(n)
    except TypeError:  # one with a seed of the old kind
        seeds = generator.integers(1 << 63, size=(n, 4), dtype=np.uint64).tolist()
        return [np.random.default_rng(seed) for seed in seeds]


def checked_confidence(confidence: Any) -> float:
    """Return a confidence level; refuse what is none."""
    number = isinstance(confidence, (int, float, np.number)) and not isinstance(confidence, bool)
    if not number or not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r}; a number between 0 and 1 is needed.")
    return float(confidence)
