"""Sorted lists of packed patterns: what follows from the order, and how to find a row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BitArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]


def first_difference(packed: BitArray) -> IntArray:
    """Return, for each row but the first, the first bit in which it differs from the one before.

    The sorted patterns are the leaves of the tree of splits, read from left to right: two
    neighbours part where the split was made that separates them, and every split is met once.
    """
    if len(packed) < 2:
        return np.zeros(0, np.int64)
    change = packed[1:] ^ packed[:-1]
    byte = np.argmax(change != 0, axis=1)
    value = change[np.arange(len(change)), byte]
    leading = 8 - np.frexp(value.astype(np.float64))[1]
    return np.asarray(8 * byte + leading, dtype=np.int64)


def is_sorted(packed: BitArray) -> bool:
    """Whether the rows increase strictly."""
    return bool(rises(packed).all())


def rises(packed: BitArray) -> npt.NDArray[np.bool_]:
    """Whether each row but the first is greater than the one before, ``(R - 1,)``."""
    if len(packed) < 2 or not packed.shape[1]:
        return np.zeros(max(0, len(packed) - 1), np.bool_)
    at = np.argmax(packed[1:] != packed[:-1], axis=1)
    rows = np.arange(len(packed) - 1)
    return np.asarray(packed[1:][rows, at] > packed[:-1][rows, at])


def rows_under(packed: BitArray, bits: BitArray, n_bits: int) -> range:
    """Return the rows whose patterns begin with some bits: a range, since rows are sorted."""
    low = np.zeros(n_bits, np.uint8)
    high = np.ones_like(low)
    low[: len(bits)] = high[: len(bits)] = bits
    first = _count_before(packed, np.packbits(low).tobytes(), inclusive=False)
    return range(first, _count_before(packed, np.packbits(high).tobytes(), inclusive=True))


def _count_before(packed: BitArray, key: bytes, *, inclusive: bool) -> int:
    low, high = 0, len(packed)
    while low < high:
        middle = (low + high) // 2
        row = packed[middle].tobytes()
        if row < key or (inclusive and row == key):
            low = middle + 1
        else:
            high = middle
    return low


def lexicographic(packed: BitArray) -> IntArray:
    """Return the rows in the order of their patterns."""
    words = _words(packed).byteswap()  # as numbers of which the first neuron is the highest bit
    return np.lexsort(words.T[::-1])


def alike(packed: BitArray) -> tuple[IntArray, IntArray]:
    """Return an order of the rows in which equal ones follow each other, and where each run starts.

    Equal rows keep their order.
    """
    words = _words(packed)
    keys = _hashes(words)
    order = np.argsort(keys, kind="stable")
    ordered, keys = words[order], keys[order]
    fresh = (ordered[1:] != ordered[:-1]).any(axis=1)
    if np.any(fresh & (keys[1:] == keys[:-1])):  # two patterns of one hash may alternate
        order = np.lexsort(words.T)
        ordered = words[order]
        fresh = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(packed)), np.bool_), fresh]))
    return order, starts


class PatternTable:
    """Finds the rows of many patterns at once: sorted hashes, and a comparison to be sure."""

    def __init__(self, packed: BitArray) -> None:
        self.direct: IntArray | None = None
        if packed.shape[1] <= 2:  # so few patterns there are that each has a place of its own
            self.direct = np.full(1 << 16, -1, np.int64)
            self.direct[_short(packed)] = np.arange(len(packed))
            return
        self.words = _words(packed)
        keys = _hashes(self.words)
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]
        # As a rule all hashes differ; where some agree, so many rows have to be looked at.
        repeats = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(self.keys) != 0, [True]])))
        self.longest_run = int(repeats.max(initial=1))

    def find(self, packed: BitArray) -> IntArray:
        """Return the row of each pattern, or -1."""
        if self.direct is not None:
            return self.direct[_short(packed)]
        rows = np.full(len(packed), -1, np.int64)
        if not len(self.keys):
            return rows
        words = _words(packed)
        if words.shape[1] == 1:  # the hash is the pattern
            at = np.searchsorted(self.keys, words[:, 0])
            at[at == len(self.keys)] = 0
            return np.where(self.keys[at] == words[:, 0], self.order[at], -1)
        at = np.searchsorted(self.keys, _hashes(words))
        for step in range(self.longest_run):
            candidate = self.order[np.minimum(at + step, len(self.order) - 1)]
            same = (self.words[candidate] == words).all(axis=1)
            rows[same] = candidate[same]
        return rows


def _short(packed: BitArray) -> npt.NDArray[np.uint16]:
    """Return rows of at most two bytes as numbers."""
    number = np.zeros(len(packed), np.uint16)
    for column in packed.T:
        number = (number << np.uint16(8)) | column
    return number


def _words(packed: BitArray) -> WordArray:
    """Return rows as 64-bit words, the last one filled up with zeros."""
    n, width = packed.shape
    filled = np.zeros((n, max(1, (width + 7) // 8) * 8), np.uint8)
    filled[:, :width] = packed
    return filled.view(np.uint64)


def _hashes(words: WordArray) -> WordArray:
    """Mix the words of each row into one (multiplication by an odd constant, modulo 2^64)."""
    mixed = words[:, 0].copy()
    for column in range(1, words.shape[1]):
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed += words[:, column]
    return mixed
