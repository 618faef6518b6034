"""The result: `SegmentCarvings`, the breakpoints of many segments as columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError, RegionIndexError
from polycarve.networks import Network
from polycarve.segments.nodes import Found

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]


class SegmentCarvings:
    """Where the activation pattern changes along segments, and what flips there.

    Made by `polycarve.carve_segments`. Segment i is ``X0[i] + t * (X1[i] - X0[i])`` for
    ``0 <= t <= 1``. Its flips are the rows ``offsets[i] : offsets[i + 1]`` of the columns, in
    order of ``t`` and, where several neurons flip at once, of the neuron.

    Attributes
    ----------
    network : Network
    X0, X1 : (n, d) float64
        The ends.
    offsets : (n + 1,) int64
    breakpoints : (M,) float64
        Where a neuron flips, ``0 < t < 1``, as near as rounding lets its zero be found. Neurons
        that flip at the same place have the very same ``t``; different places have different
        ones.
    neurons : (M,) int64
        What flips there: an index among all N (among all cuts, where an activation has more
        than one).
    n_regions : (n,) int64
        Activation regions along each segment: one more than its breakpoints that differ.
    n_doubtful : (n,) int64
        Decisions on each segment that floating point could not settle and that were not
        settled exactly either; 0 means that rounding cannot have changed what flips, nor in
        which order.
    """

    def __init__(self, network: Network, X0: FloatArray, X1: FloatArray, found: Found) -> None:
        self.network, self.X0, self.X1 = network, X0, X1
        self.offsets = np.cumsum(np.concatenate([[0], found.n_flips])).astype(np.int64)
        self.breakpoints, self.neurons = found.breakpoints, found.neurons
        self.n_regions, self.n_doubtful = found.n_regions, found.n_doubtful
        self._first = found.first
        for column in (X0, X1, self.offsets, self.breakpoints, self.neurons, self.n_regions,
                       self.n_doubtful, self._first):  # fmt: skip
            column.flags.writeable = False

    def __len__(self) -> int:
        """Number of segments."""
        return len(self.n_regions)

    @property
    def total_doubtful(self) -> int:
        """Doubtful decisions on all segments together; 0 is what you want."""
        return int(self.n_doubtful.sum())

    def patterns(self, i: int) -> BitArray:
        """Return the patterns along segment i, in order of ``t``.

        Parameters
        ----------
        i : int

        Returns
        -------
        ndarray of uint8, shape (n_regions[i], N)
            1 where a neuron is active.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
        >>> pc.carve_segments(net, [-1, -2], [1, 1]).patterns(0)
        array([[0, 0],
               [1, 0],
               [1, 1]], dtype=uint8)
        """
        try:
            row = range(len(self))[i]
        except IndexError:
            raise RegionIndexError(
                f"index {i} is out of range: there are {len(self)} segments."
            ) from None
        except TypeError:
            raise InputError(f"segments are found by index; not by {i!r}.") from None
        if not isinstance(row, int):
            raise InputError(f"patterns are given one segment at a time; not by {i!r}.")
        part = slice(self.offsets[row], self.offsets[row + 1])
        t, neurons = self.breakpoints[part], self.neurons[part]
        n = sum(self.network.cut_widths)
        changes = np.zeros((int(self.n_regions[row]), n), np.uint8)
        changes[0] = np.unpackbits(self._first[row], count=n)
        region = np.cumsum(np.concatenate([[1], t[1:] != t[:-1]])[: len(t)]).astype(np.int64)
        changes[region, neurons] = 1
        return np.asarray(np.bitwise_xor.accumulate(changes, axis=0))

    def __repr__(self) -> str:
        doubts = f", {self.total_doubtful:,} doubtful" if self.total_doubtful else ""
        return (
            f"<SegmentCarvings: {len(self):,} segments, {self.n_regions.sum():,} regions{doubts}>"
        )
