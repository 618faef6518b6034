"""Patterns as people write them: ``aai|iaa``, ``a`` active, ``i`` inactive, bars between layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError, PatternError

BitArray = npt.NDArray[np.uint8]


def code_of(bits: Sequence[int] | BitArray, widths: Sequence[int]) -> str:
    """Return the code of a pattern of the given layer widths.

    Examples
    --------
    >>> code_of([1, 1, 0, 0, 1], (3, 2))
    'aai|ia'
    """
    letters = "".join("a" if bit else "i" for bit in bits)
    stops = np.cumsum([0, *widths]).tolist()
    return "|".join(letters[a:b] for a, b in pairwise(stops) if a < len(letters))


def prefix_bits(code: str, widths: Sequence[int]) -> BitArray:
    """Read a code or the beginning of one; bars may be left out, but not misplaced.

    Raises
    ------
    PatternError
        Letters other than ``a`` and ``i``, too many of them, or a bar inside a layer.

    Examples
    --------
    >>> prefix_bits("aai|i", (3, 2)).tolist()
    [1, 1, 0, 0]
    """
    if not isinstance(code, str):
        raise InputError(f"a code such as 'aai|i' is needed, not {code!r}.")
    total = sum(widths)
    example = code_of([1] * total, widths)
    shape = f"this network's codes look like {example[:40]}{'...' if len(example) > 40 else ''}"
    letters = code.replace("|", "")
    if set(letters) - {"a", "i"} or len(letters) > total:
        raise PatternError(f"{code!r} is not a pattern or the beginning of one; {shape}.")
    bits = np.frombuffer(letters.encode(), dtype=np.uint8) == ord("a")
    parts = code.split("|")
    fits = len(parts) <= len(widths) and len(parts[-1]) <= widths[len(parts) - 1]
    if len(parts) > 1 and not (
        fits and [len(part) for part in parts[:-1]] == list(widths[: len(parts) - 1])
    ):
        raise PatternError(f"{code!r} has a bar that is not between two layers; {shape}.")
    return np.asarray(bits, dtype=np.uint8)


def bits_of(pattern: Any, widths: Sequence[int]) -> BitArray:
    """Read a whole pattern from a code or an array of bits.

    Raises
    ------
    PatternError
        It is not exactly one bit for every neuron.
    """
    total = sum(widths)
    if isinstance(pattern, str):
        bits = prefix_bits(pattern, widths)
    else:
        try:
            values = np.asarray(pattern)
        except ValueError:
            values = np.empty(())
        if values.ndim != 1 or not np.all((values == 0) | (values == 1)):
            raise PatternError("a pattern is a code such as 'aai|ia' or a row of zeros and ones.")
        bits = values.astype(np.uint8)
    if len(bits) != total:
        raise PatternError(f"a pattern of this network has {total} bits; {len(bits)} were given.")
    return bits
