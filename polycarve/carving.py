"""The result: `Carving`, the list of a domain's activation regions as columns, and `Region`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain
from polycarve.errors import InputError, PatternError
from polycarve.networks import Network, codes, locating

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]


class Region:
    """One activation region: a pattern, and the geometry that follows from it.

    Obtained from a `Carving` by index or code, or from `polycarve.region_at`.

    Attributes
    ----------
    network, domain
    pattern : (N,) uint8
    point : (d,) float64
        A point of the region, in the domain's coordinates; interior if `point_is_interior`.
    index : int or None
        The row of the carving it was taken from.
    """

    def __init__(
        self,
        network: Network,
        domain: Domain,
        pattern: BitArray,
        point: FloatArray,
        *,
        point_is_interior: bool = True,
        index: int | None = None,
    ) -> None:
        self.network, self.domain = network, domain
        self.pattern, self.point = pattern, point
        self.point_is_interior, self.index = point_is_interior, index

    @property
    def widths(self) -> tuple[int, ...]:
        """Pattern bits of each hidden layer that the pattern covers."""
        return _widths_of(self.network, len(self.pattern))

    @property
    def full_pattern(self) -> BitArray:
        """The pattern, filled up with inactive neurons where the carving stopped early."""
        missing = sum(self.network.cut_widths) - len(self.pattern)
        return np.concatenate([self.pattern, np.zeros(missing, np.uint8)])

    @property
    def code(self) -> str:
        """The pattern as people write it, such as ``aai|iaa``."""
        return codes.code_of(self.pattern, self.widths)

    def affine_map(self) -> tuple[FloatArray, FloatArray]:
        """Return ``(W, c)``: on this region the network is ``W @ x + c``.

        Returns
        -------
        W : ndarray, shape (n_outputs, input_dim)
        c : ndarray, shape (n_outputs,)
            In inputs ``x``, composed in float64. A network without an output layer has its
            last hidden activations as output.

        Raises
        ------
        InputError
            The carving stopped at an earlier layer, so the region has no single map.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, -1]]])
        >>> pc.region_at(net, [1, -1]).affine_map()
        (array([[1., 0.]]), array([0.]))
        """
        if len(self.pattern) < sum(self.network.cut_widths):
            raise InputError(
                f"the carving stops after layer {len(self.widths)} of "
                f"{len(self.network.cut_widths)}, and the network is not affine on its regions. "
                f"Carve the whole network."
            )
        return self.network.affine_map(self.pattern)

    def contains(self, X: npt.ArrayLike) -> Any:
        """Whether points lie in the closed region, decided exactly.

        Parameters
        ----------
        X : array-like, shape (n, d) or (d,)
            In the domain's coordinates; each float stands for the number it is.

        Returns
        -------
        ndarray of bool, shape (n,), or bool

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
        >>> pc.region_at(net, [1, 1]).contains([[2, 3], [0, 0], [-1, 0]])
        array([ True,  True, False])
        """
        points = self.domain.points(X)
        single = points.ndim == 1
        points = points[None] if single else points
        inside = self.domain.contains(points)
        inputs = self.domain.embed(points)
        inside[inside] = locating.in_closed_region(self.network, self.pattern, inputs[inside])
        return bool(inside[0]) if single else inside

    def __repr__(self) -> str:
        code = self.code if len(self.code) <= 40 else f"{self.code[:37]}..."
        where = "" if self.index is None else f"{self.index}: "
        return f"Region({where}{code})"


class Carving(Sequence[Region]):
    """Every activation region of a network on a domain, in the order of their patterns.

    Made by `polycarve.carve`. A sequence of `Region`; the data are columns.

    Attributes
    ----------
    network, domain
    packed : (R, ceil(N / 8)) uint8
        Patterns, eight to the byte, first neuron in the highest bit.
    points : (R, d) float64
        A point of each region, in the domain's coordinates.
    point_is_interior : (R,) bool
        Whether that point is proven to lie in the region's interior. False where no float64
        could be shown to.
    complete : bool
        Whether these are all regions.
    stop_reason : None, "regions", "time" or "interrupt"
        What ended it early.
    n_doubtful : int
        Decisions that floating point could not settle; 0 means that rounding cannot have
        changed the list.
    method : str
    """

    def __init__(
        self,
        network: Network,
        domain: Domain,
        packed: BitArray,
        points: FloatArray,
        point_is_interior: npt.NDArray[np.bool_],
        *,
        n_layers: int | None = None,
        stop_reason: str | None = None,
        n_doubtful: int = 0,
        method: str = "",
    ) -> None:
        self.network, self.domain = network, domain
        self.packed, self.points, self.point_is_interior = packed, points, point_is_interior
        self.n_layers = len(network.cut_widths) if n_layers is None else n_layers
        self.stop_reason, self.n_doubtful, self.method = stop_reason, n_doubtful, method
        for column in (packed, points, point_is_interior):
            column.flags.writeable = False

    # ------------------------------------------------------------------ counts

    @property
    def complete(self) -> bool:
        return self.stop_reason is None

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def widths(self) -> tuple[int, ...]:
        """Pattern bits of each layer that was carved."""
        return self.network.cut_widths[: self.n_layers]

    @cached_property
    def _first_difference(self) -> npt.NDArray[np.int64]:
        """For each region but the first, the first neuron in which it differs from the one before.

        The sorted patterns are the leaves of the tree of splits, read from left to right: two
        neighbours part where the split was made that separates them, and every split is met once.
        """
        if len(self) < 2:
            return np.zeros(0, np.int64)
        change = self.packed[1:] ^ self.packed[:-1]
        byte = np.argmax(change != 0, axis=1)
        value = change[np.arange(len(change)), byte]
        leading = 8 - np.frexp(value.astype(np.float64))[1]
        return np.asarray(8 * byte + leading, dtype=np.int64)

    @property
    def layer_counts(self) -> tuple[int, ...]:
        """Regions after each hidden layer; lower bounds where the carving is incomplete."""
        stops = np.cumsum(self.widths)
        counts = np.bincount(self._first_difference, minlength=int(sum(self.widths)) + 1)
        below = np.concatenate([[0], np.cumsum(counts)])
        return tuple(int(1 + below[stop]) if len(self) else 0 for stop in stops)

    @property
    def split_counts(self) -> npt.NDArray[np.int64]:
        """How many cells each neuron cut: shape ``(N,)``, summing to ``R - 1``."""
        return np.bincount(self._first_difference, minlength=int(sum(self.widths)))

    # ------------------------------------------------------------------ patterns

    @property
    def patterns(self) -> BitArray:
        """All patterns, unpacked: ``(R, N)`` of zeros and ones."""
        return np.unpackbits(self.packed, axis=1, count=int(sum(self.widths)))

    def _region(self, index: int) -> Region:
        bits = np.unpackbits(self.packed[index], count=int(sum(self.widths)))
        return Region(
            self.network,
            self.domain,
            bits,
            self.points[index],
            point_is_interior=bool(self.point_is_interior[index]),
            index=index,
        )

    @overload
    def __getitem__(self, key: int) -> Region: ...
    @overload
    def __getitem__(self, key: slice) -> list[Region]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a region by index or whole code; a list by slice or by a code's beginning."""
        if isinstance(key, str):
            bits = codes.prefix_bits(key, self.widths)
            rows = self._rows_under(bits)
            if len(bits) < sum(self.widths):
                return [self._region(row) for row in rows]
            if not rows:
                raise PatternError(f"no region has the pattern {key!r}{self._partial_note()}.")
            return self._region(rows[0])
        try:
            index = range(len(self))[key]
        except IndexError:
            raise PatternError(
                f"index {key} is out of range: there are {len(self)} regions."
            ) from None
        except (TypeError, ValueError):
            raise InputError(
                f"regions are found by index, slice or code; not by {key!r}."
            ) from None
        return self._region(index) if isinstance(index, int) else [self._region(i) for i in index]

    def __iter__(self) -> Iterator[Region]:
        return (self._region(row) for row in range(len(self)))

    def _partial_note(self) -> str:
        return "" if self.complete else " among those found so far"

    def _rows_under(self, bits: BitArray) -> range:
        """Return the rows whose patterns begin with some bits: a range, since rows are sorted."""
        low = np.zeros(int(sum(self.widths)), np.uint8)
        high = np.ones_like(low)
        low[: len(bits)] = high[: len(bits)] = bits
        first = self._count_before(np.packbits(low).tobytes(), inclusive=False)
        return range(first, self._count_before(np.packbits(high).tobytes(), inclusive=True))

    def _count_before(self, key: bytes, *, inclusive: bool) -> int:
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            row = self.packed[middle].tobytes()
            if row < key or (inclusive and row == key):
                low = middle + 1
            else:
                high = middle
        return low

    # ------------------------------------------------------------------ layers

    def at_layer(self, layer: int) -> Carving:
        """Return the coarser carving after so many hidden layers.

        Parameters
        ----------
        layer : int
            From 0 (the domain as one region) to the number of layers carved.

        Returns
        -------
        Carving
            With patterns ``(R, N_layer)``; its regions have no affine map of the whole network.
        """
        if not isinstance(layer, (int, np.integer)) or not 0 <= layer <= self.n_layers:
            raise InputError(
                f"layer is {layer!r}; a whole number from 0 to {self.n_layers} is needed."
            )
        width = int(sum(self.widths[:layer]))
        starts = np.concatenate(
            [[True] if len(self) else [], self._first_difference < width]
        ).astype(np.bool_)
        coarse = self.packed[starts, : (width + 7) // 8].copy()
        if width % 8:
            coarse[:, -1] &= np.uint8(0xFF << (8 - width % 8) & 0xFF)
        return Carving(
            self.network,
            self.domain,
            coarse,
            self.points[starts],
            self.point_is_interior[starts],
            n_layers=int(layer),
            stop_reason=self.stop_reason,
            n_doubtful=self.n_doubtful,
            method=self.method,
        )

    def children(self, prefix: str = "") -> list[Region]:
        """Return the regions of the next layer inside a prefix.

        Parameters
        ----------
        prefix : str
            A code that ends at a layer boundary; ``""`` is the whole domain.

        Returns
        -------
        list of Region
            Whose patterns are one layer longer than the prefix.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, -1]]], relu_last=True)
        >>> carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2))
        >>> [region.code for region in carving.children("aa")]
        ['aa|i', 'aa|a']
        """
        bits = codes.prefix_bits(prefix, self.widths)
        stops = np.cumsum([0, *self.widths]).tolist()
        if len(bits) not in stops:
            raise PatternError(f"{prefix!r} ends inside a layer; give the codes of whole layers.")
        layer = max(k for k, stop in enumerate(stops) if stop == len(bits))
        if layer == self.n_layers:
            raise PatternError(f"{prefix!r} covers all layers carved; there is no next one.")
        found: list[Region] = self.at_layer(layer + 1)[prefix] if stops[layer + 1] else []
        if not found:
            raise PatternError(
                f"no region has a pattern beginning with {prefix!r}{self._partial_note()}."
            )
        return found

    def __repr__(self) -> str:
        many = f"{len(self)} region{'' if len(self) == 1 else 's'}"
        state = "" if self.complete else f", incomplete: stopped by {self.stop_reason}"
        doubt = f", {self.n_doubtful} doubtful decisions" if self.n_doubtful else ""
        return f"Carving({many} of {self.network!r} on {self.domain!r}{state}{doubt})"


def _widths_of(network: Network, n_bits: int) -> tuple[int, ...]:
    """Return the widths of the leading layers that have so many bits together."""
    widths: list[int] = []
    for width in network.cut_widths:
        if sum(widths) == n_bits:
            break
        widths.append(width)
    return tuple(widths)


def single_region(network: Network, domain: Domain, n_layers: int) -> Carving:
    """Return the carving of a domain that is one point."""
    point = domain.frame.offset
    assert point is not None
    bits = locating.exact_pattern(network, point)
    bits = bits[: sum(network.cut_widths[:n_layers])]
    packed = np.packbits(bits)[None] if len(bits) else np.zeros((1, 0), np.uint8)
    inside = np.array([point.is_float64])
    return Carving(network, domain, packed, point.float64[None].copy(), inside, n_layers=n_layers)
