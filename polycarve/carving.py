"""The result: `Carving`, the list of a domain's activation regions as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain
from polycarve.errors import (
    InputError,
    PatternError,
    RegionIndexError,
)
from polycarve.networks import Network, codes, locating
from polycarve.patterns import PatternTable, rows_under
from polycarve.region import Region
from polycarve.region_columns import BitArray, RegionColumns

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import networkx as nx

    from polycarve.adjacency import Adjacency
    from polycarve.certificate import Certificate
    from polycarve.splitting.drive import Limits, Progress

# Points looked up at a time: their activations stay in the processor's cache.
_CHUNK = 4096


class Carving(RegionColumns, Sequence[Region]):
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

    # ------------------------------------------------------------------ regions

    def _region(self, index: int) -> Region:
        bits = np.unpackbits(self.packed[index], count=int(sum(self.widths)))
        return Region(
            self.network,
            self.domain,
            bits,
            self.points[index],
            point_is_interior=bool(self.point_is_interior[index]),
            index=index,
            shapes=self._shapes,
            tree=lambda: self._tree,
            beyond=lambda row: self._adjacency.of(row),
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
            rows = rows_under(self.packed, bits, sum(self.widths))
            if len(bits) < sum(self.widths):
                return [self._region(row) for row in rows]
            if not rows:
                raise PatternError(f"no region has the pattern {key!r}{self._partial_note()}.")
            return self._region(rows[0])
        try:
            index = range(len(self))[key]
        except IndexError:
            raise RegionIndexError(
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

    def locate(self, X: npt.ArrayLike) -> Any:
        """Return the index of the region whose pattern each point has.

        Parameters
        ----------
        X : array-like, shape (n, d) or (d,)
            Points in the domain's coordinates.

        Returns
        -------
        ndarray of int64, shape (n,), or int
            -1 outside the domain, and where no region (found so far) has the pattern: some
            patterns are attained on boundaries only. Patterns are decided exactly where float64
            could be wrong about them.

        Notes
        -----
        One forward pass with a running error bound, and a look-up of packed patterns.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
        >>> pc.carve(net, pc.Box.cube(-1, 1, dim=2)).locate([[-0.5, 0.5], [0, 0], [2, 0]])
        array([ 1,  0, -1])
        """
        points = self.domain.points(X)
        single = points.ndim == 1
        points = points[None] if single else points
        rows = np.full(len(points), -1, np.int64)
        for start in range(0, len(points), _CHUNK):
            chunk = points[start : start + _CHUNK]
            inside = np.flatnonzero(self.domain.contains(chunk))
            part = chunk if len(inside) == len(chunk) else chunk[inside]
            bits = locating.packed_patterns(self._shapes.along, part, self.n_layers)
            rows[start + inside] = self._table.find(bits)
        return int(rows[0]) if single else rows

    def find(self, packed: BitArray) -> npt.NDArray[np.int64]:
        """Return the index of the region of each packed pattern; -1 where there is none."""
        return self._table.find(packed)

    @cached_property
    def _table(self) -> PatternTable:
        return PatternTable(self.packed)

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

    # ------------------------------------------------------------------ neighbours

    def adjacency(self) -> Adjacency:
        """Return the facets of all regions and the region behind each.

        Raises
        ------
        NumericalError
            A facet inside the domain does not have exactly one region on either side: floats could
            not tell a contact from a facet.

        Notes
        -----
        Facets are found down the tree of splits, from each cell to its two halves. The pattern
        behind one follows from the region's own affine forms, layer by layer, and is looked up in
        the list; where the list lacks it, exact arithmetic is asked. Computed once and kept; a few
        times the cost of carving.
        """
        return self._adjacency

    @cached_property
    def _adjacency(self) -> Adjacency:
        from polycarve import adjacency

        return adjacency.find_adjacency(self)

    def graph(self, *attributes: str, most_bytes: float = 2e9) -> nx.Graph[int]:
        """Return the region graph as networkx knows it.

        Parameters
        ----------
        *attributes : str
            More than the plain ones: ``"volume"``, ``"radius"`` (of the largest ball inside),
            ``"centroid"``. Each costs about as much as the method of `Region` for every region.
        most_bytes : float
            Refuse a graph that is estimated to need more memory than this: about 800 bytes a
            region and 40 a number, and 600 an edge. That is some ten times what `adjacency` needs.

        Returns
        -------
        networkx.Graph
            Nodes ``0 .. R - 1`` with ``code``; ``prefixes``, the codes after each layer but the
            last; ``point``; ``bounded``; ``on_boundary``: whether a facet lies on the domain's
            boundary; ``unknown``: how many facets an incomplete carving knows nothing behind; and
            what was asked for (no ``centroid`` where unbounded). Edges join regions that share a
            facet, with ``neurons``, all that change sign or are zero there; ``neuron``, the first
            of them, and its ``layer``; ``rank``: that of the change of the affine map, 0 where what
            changes does not reach the output, else 1. ``G.graph`` has ``complete``, ``n_doubtful``,
            ``dimension``, ``layers``, ``regions``, and the digests of ``network`` and ``domain``.

        Raises
        ------
        InputError
            The graph would need more than `most_bytes`.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, -1]]])
        >>> G = pc.carve(net, pc.Box.cube(-1, 1, dim=2)).graph("volume")
        >>> G.nodes[3]["code"], G.nodes[3]["volume"], G.edges[2, 3]
        ('aa', 1.0, {'neuron': 1, 'neurons': (1,), 'layer': 1, 'rank': 1})
        """
        from polycarve import graph

        return graph.to_networkx(self, attributes, most_bytes=most_bytes)

    def layer_graph(self, layer: int, *attributes: str, most_bytes: float = 2e9) -> nx.Graph[int]:
        """Return the graph after so many layers: that of ``at_layer(layer)``.

        ``rank`` is then that of the change of the values after that layer.
        """
        return self.at_layer(layer).graph(*attributes, most_bytes=most_bytes)

    # ------------------------------------------------------------------ proof

    def certify(
        self,
        *,
        progress: Progress = None,
        limits: Limits | None = None,
        workers: int = 1,
        executor: Executor | None = None,
    ) -> Certificate:
        """Prove in exact arithmetic that these are the regions, and repair them if they are not.

        Parameters
        ----------
        progress : bool or callable, optional
            As for `polycarve.carve`.
        limits : Limits, optional
            Stop early, with what is proven by then: at least so many regions.
        workers : int
            Processes that share the work: a script then needs ``if __name__ == "__main__"``.
        executor : concurrent.futures.Executor, optional
            Do the work there instead; threads would only take turns.

        Returns
        -------
        Certificate
            With the ``theorem``, the corrected ``carving``, and ``save`` for a file that a program
            of its own checks. Of an incomplete carving, it says "at least".

        Raises
        ------
        DomainError
            The domain is of a kind that certificates do not know.

        Notes
        -----
        What is proven is about the real-valued function of the exact numbers of network and domain,
        without any assumption on them. Every region gets a rational point; every cut that does not
        split a cell, multipliers that show its sign there. Floating point proposes both, integers
        decide; about a millisecond a region.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[3]]], [[-0.3]], relu_last=True)
        >>> carving = pc.carve(net, pc.Box([0], [0.1]))  # active on the last 9e-18: between floats
        >>> len(carving), carving.n_doubtful
        (1, 1)
        >>> carving.certify()
        Certificate(proved: exactly 2 regions, 1 added, 0 dropped)
        """
        from polycarve import certificate

        return certificate.certify(
            self, progress=progress, limits=limits, workers=workers, executor=executor
        )

    # ------------------------------------------------------------------ out of the hand

    def plot(self, **options: Any) -> Any:
        """Draw the regions: `polycarve.plot.plot_regions`, with its options; return the Axes."""
        from polycarve import plot

        return plot.plot_regions(self, **options)

    def save(self, path: str | Path) -> None:
        """Write to an ``.npz`` file with the network and the domain inside, exactly.

        Written aside and renamed, so that no half-written file is left. `polycarve.load` reads it.
        """
        from polycarve import storage

        storage.save(self, path)

    def to_frame(self, *columns: str) -> Any:
        """Return a pandas DataFrame, a row a region.

        Parameters
        ----------
        *columns : str
            More than the plain ones: ``"volume"``, ``"radius"``, ``"facets"`` (their number).

        Returns
        -------
        pandas.DataFrame
            ``code``; ``layer1`` ...: the pattern's parts; ``active``: how many neurons are;
            ``x1`` ...: the point; ``bounded``; then what was asked for.
        """
        from polycarve import frames

        return frames.to_frame(self, columns)

    def _repr_html_(self) -> str:
        try:
            rows = {
                "regions": f"{len(self):,}"
                + ("" if self.complete else f" (stopped: {self.stop_reason})"),
                "after each layer": ", ".join(f"{n:,}" for n in self.layer_counts),
                "network": repr(self.network),
                "domain": repr(self.domain),
                "doubtful decisions": f"{self.n_doubtful:,}",
            }
            cells = (f"<tr><th>{k}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
            return f"<table>{''.join(cells)}</table>"
        except Exception:  # a display must never be what fails
            return "<table></table>"

    def __repr__(self) -> str:
        many = f"{len(self)} region{'' if len(self) == 1 else 's'}"
        state = "" if self.complete else f", incomplete: stopped by {self.stop_reason}"
        doubt = f", {self.n_doubtful} doubtful decisions" if self.n_doubtful else ""
        return f"Carving({many} of {self.network!r} on {self.domain!r}{state}{doubt})"


def single_region(network: Network, domain: Domain, n_layers: int) -> Carving:
    """Return the carving of a domain that is one point."""
    point = domain.frame.offset
    assert point is not None
    bits = locating.exact_pattern(network.along(domain.embedding), point)
    bits = bits[: sum(network.cut_widths[:n_layers])]
    packed = np.packbits(bits)[None] if len(bits) else np.zeros((1, 0), np.uint8)
    inside = np.array([point.is_float64])
    return Carving(network, domain, packed, point.float64[None].copy(), inside, n_layers=n_layers)
