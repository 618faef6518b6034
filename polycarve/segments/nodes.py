"""Nodes: the places on segments where values are known, and what flips there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Found:
    """Breakpoints of segments, as columns: those of a segment stand together, in order.

    Attributes
    ----------
    n_regions, n_flips, n_doubtful : (S,) int64
    breakpoints, neurons : (M,) float64 and int64
    first : (S, ceil(N / 8)) uint8
        The pattern that each segment begins with, packed.
    """

    n_regions: IntArray
    n_flips: IntArray
    n_doubtful: IntArray
    breakpoints: FloatArray
    neurons: IntArray
    first: BitArray


def joined(parts: list[Found]) -> Found:
    """Put what was found on some segments after what was found on others."""
    names = ("n_regions", "n_flips", "n_doubtful", "breakpoints", "neurons", "first")
    return Found(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class NewNodes:
    """Nodes to be put in, ordered: each lies a share of the way from a node to its neighbour."""

    piece: IntArray
    anchor: IntArray
    share: FloatArray
    t: FloatArray
    reach: FloatArray

    @property
    def other(self) -> IntArray:
        return 2 * self.piece + 1 - self.anchor

    def taken(self, places: IntArray) -> NewNodes:
        """Return some of them."""
        return NewNodes(
            self.piece[places],
            self.anchor[places],
            self.share[places],
            self.t[places],
            self.reach[places],
        )


class Nodes:
    """The nodes of some segments, in order, segment after segment. Piece ``p`` ends at ``p + 1``.

    Attributes
    ----------
    t : (P,) float64
    reach : (P,) float64
        How far from ``t`` the true breakpoint may be, or what flips there be near zero.
    segment : (P,) int64
    starts : (S + 1,) int64
        The first node of each segment.
    doubts : (S,) int64
    """

    def __init__(self, doubts: IntArray) -> None:
        n = len(doubts)
        self.t = np.tile([0.0, 1.0], n)
        self.reach = np.zeros(2 * n)
        self.segment = np.repeat(np.arange(n), 2)
        self.starts = np.arange(0, 2 * n + 1, 2)
        self.doubts = doubts.copy()
        self._flips: list[tuple[IntArray, IntArray]] = []

    def __len__(self) -> int:
        return len(self.t)

    @property
    def is_end(self) -> npt.NDArray[np.bool_]:
        """Whether each node is an end of its segment."""
        ends = np.zeros(len(self), np.bool_)
        ends[self.starts[:-1]] = ends[self.starts[1:] - 1] = True
        return ends

    def doubt(self, nodes: IntArray) -> None:
        """Count a doubt for each of some nodes."""
        self.doubts += np.bincount(self.segment[nodes], minlength=len(self.doubts))

    def flip(self, nodes: IntArray, cuts: IntArray) -> None:
        """Note that cuts flip at nodes."""
        self._flips.append((nodes, cuts))

    def insert(self, new: NewNodes) -> tuple[IntArray, IntArray]:
        """Put in new nodes; return the indices that the old ones and the new ones have then."""
        n, k = len(self), len(new.piece)
        before = np.cumsum(np.bincount(new.piece + 1, minlength=n))
        old = np.arange(n) + before
        fresh = new.piece + 1 + np.arange(k)
        for name, values in (
            ("t", new.t),
            ("reach", new.reach),
            ("segment", self.segment[new.piece]),
        ):
            column = getattr(self, name)
            merged = np.empty(n + k, column.dtype)
            merged[old], merged[fresh] = column, values
            setattr(self, name, merged)
        self.starts = np.append(old[self.starts[:-1]], n + k)
        self._flips = [(old[nodes], cuts) for nodes, cuts in self._flips]
        return old, fresh

    def found(self, first: BitArray) -> Found:
        """Return all flips, ordered, with what is in doubt about their order."""
        gap, reach = np.diff(self.t), self.reach[1:] + self.reach[:-1]
        meets = ~(gap > reach)
        meets[self.starts[1:-1] - 1] = False
        self.doubt(np.flatnonzero(meets))
        for segment in np.unique(self.segment[:-1][meets]):
            part = slice(self.starts[segment] + 1, self.starts[segment + 1] - 1)
            self.t[part] = told_apart(self.t[part].tolist())
        none = np.zeros(0, np.int64)
        nodes = np.concatenate([none, *(nodes for nodes, _ in self._flips)])
        cuts = np.concatenate([none, *(cuts for _, cuts in self._flips)])
        order = np.lexsort((cuts, nodes))
        nodes, cuts = nodes[order], cuts[order]
        return Found(
            n_regions=np.diff(self.starts) - 1,
            n_flips=np.bincount(self.segment[nodes], minlength=len(self.doubts)),
            n_doubtful=self.doubts,
            breakpoints=self.t[nodes],
            neurons=cuts,
            first=first,
        )


def told_apart(t: list[float]) -> list[float]:
    """Return places that rise strictly between 0 and 1: equal ones moved by an ulp or so.

    Different breakpoints can have the same nearest float; they are still to be told apart.
    """
    t = list(t)
    low = 0.0
    for k, place in enumerate(t):
        t[k] = low = max(place, math.nextafter(low, 2.0))
    high = 1.0
    for k in reversed(range(len(t))):
        t[k] = high = min(t[k], math.nextafter(high, -1.0))
    return t
