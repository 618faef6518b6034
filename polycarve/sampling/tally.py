"""How often each pattern was seen, and when first: counted in memory bounded by what differs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from polycarve.patterns import alike, lexicographic

BitArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]

# Rows that wait for being merged; more of them where more patterns are known already.
_LEAST_WAITING = 1 << 17

Rows = tuple[BitArray, IntArray, IntArray]


@dataclass
class Tally:
    """Counts packed patterns that come in pieces."""

    _waiting: list[Rows] = field(default_factory=list)
    _n_waiting: int = 0
    _n_known: int = 0

    def add(self, packed: BitArray, places: IntArray) -> None:
        """Count patterns, each seen at a place in the order of all points."""
        rows = _merged(packed, np.ones(len(packed), np.int64), places)
        self._waiting.append(rows)
        self._n_waiting += len(rows[0])
        if self._n_waiting > max(_LEAST_WAITING, 2 * self._n_known):
            self._merge()

    def _merge(self) -> None:
        packed, counts, first = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting = [_merged(packed, counts, first)]
        self._n_waiting = self._n_known = len(self._waiting[0][0])

    def result(self, n_bytes: int) -> Rows:
        """Return the distinct patterns in their order, how often and where first each was seen."""
        if not self._waiting:
            return np.zeros((0, n_bytes), np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._merge()
        packed, counts, first = self._waiting[0]
        order = lexicographic(packed)
        return packed[order], counts[order], first[order]


def _merged(packed: BitArray, counts: IntArray, first: IntArray) -> Rows:
    if not len(packed):
        return packed, counts, first
    order, starts = alike(packed)
    return (
        packed[order[starts]],
        np.add.reduceat(counts[order], starts),
        np.minimum.reduceat(first[order], starts),
    )
