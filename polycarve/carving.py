"""The result: `Carving`, the list of a domain's activation regions as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.cells import RegionCells, collect
from polycarve.domains import Domain
from polycarve.errors import (
    GeometryError,
    InputError,
    NumericalError,
    PatternError,
    RegionIndexError,
)
from polycarve.geometry import HalfspaceColumns
from polycarve.networks import Network, codes, locating
from polycarve.patterns import PatternTable, first_difference, rows_under
from polycarve.region import Region
from polycarve.shapes import Shapes, split
from polycarve.splitting import drive
from polycarve.splitting.facets import SplitTree
from polycarve.splitting.method import method_named
from polycarve.splitting.program import Program

if TYPE_CHECKING:
    import networkx as nx

    from polycarve.adjacency import Adjacency

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]

# Points looked up at a time: their activations stay in the processor's cache.
_CHUNK = 4096


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
        cells: RegionCells | None = None,
    ) -> None:
        self.network, self.domain = network, domain
        self.packed, self.points, self.point_is_interior = packed, points, point_is_interior
        self.n_layers = len(network.cut_widths) if n_layers is None else n_layers
        self.stop_reason, self.n_doubtful, self.method = stop_reason, n_doubtful, method
        self._kept_cells = cells
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
        return first_difference(self.packed)

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

    # ------------------------------------------------------------------ geometry

    @cached_property
    def _shapes(self) -> Shapes:
        return Shapes(self.network, self.domain, self.n_layers)

    @cached_property
    def _tree(self) -> SplitTree | None:
        """Who split whose ancestors; not known of an incomplete list."""
        return SplitTree(self._first_difference) if self.complete else None

    @property
    def program(self) -> Program:
        """What the kernels know of the network on the domain."""
        return self._shapes.program

    def find(self, packed: BitArray) -> npt.NDArray[np.int64]:
        """Return the index of the region of each packed pattern; -1 where there is none."""
        return self._table.find(packed)

    def facet_columns(self) -> HalfspaceColumns:
        """Return the facets of all regions: halfspaces in the domain's free coordinates.

        The same as `halfspaces`, but for a box's flat coordinates, which are left out here.
        """
        return self._facets

    def facet_sources(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return ``offsets`` and ``source`` of `facet_columns`, which may be quicker alone."""
        cells = self._known_cells
        if cells is None or "_facets" in self.__dict__:
            return self._facets.offsets, self._facets.source
        return cells.facet_offsets, cells.source

    @cached_property
    def _facets(self) -> HalfspaceColumns:
        if self._known_cells is not None:
            return self._shapes.facets_of(self.packed, self._known_cells)
        inside = self.point_is_interior
        return self._shapes.facets(self.patterns, self.points, inside, self._tree)

    def cells(self) -> RegionCells:
        """Return the vertices and the facets of all regions, and which lie on which.

        Kept by ``carve(..., keep="cells")``; else the domain is carved again, by the method
        ``vertices``, with recording on.

        Raises
        ------
        GeometryError
            There are too many dimensions for cells to be kept by their vertices, or the method
            does not find this very list again: one of doubtful regions, or with gaps.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 1]]], relu_last=True)
        >>> cells = pc.carve(net, pc.Box.cube(0, 1, dim=2)).cells()
        >>> cells.vertices.tolist(), cells.source.tolist()
        ([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [-1, -2, -3, -4])
        """
        if self._cells is None:
            raise GeometryError(
                f"the cells of {self!r} are not to be had: they are carved again by the method "
                f"'vertices', which takes up to 12 coordinates and has to find this very list. Use "
                f"halfspaces()."
            )
        return self._cells

    @cached_property
    def _cells(self) -> RegionCells | None:
        if self._kept_cells is not None:
            return self._kept_cells
        if not self._shapes.free.size or not self.program.n_layers:
            return None
        memory = drive.Memory(with_shapes=True)
        limits = drive.Limits(max_regions=max(1, len(self)))
        try:
            drive.run(self.program, method_named("vertices"), sink=memory, limits=limits)
        except (InputError, NumericalError):
            return None
        leaves = memory.collect(self.program)
        same = np.array_equal(leaves.packed, self.packed)
        return collect(self.program, leaves.shapes) if same and leaves.shapes is not None else None

    @property
    def _known_cells(self) -> RegionCells | None:
        """The cells where they are kept, or cheap to have and free of doubt."""
        if self._kept_cells is None and (self.method != "vertices" or self.n_doubtful):
            return None
        return self._cells

    def halfspaces(self) -> HalfspaceColumns:
        """Return `Region.halfspaces` of all regions as columns.

        Returns
        -------
        HalfspaceColumns
            Region i has the rows ``offsets[i] .. offsets[i + 1] - 1`` of ``A``, ``b``, ``source``.

        Notes
        -----
        Computed once and kept; about the cost of carving several times over.
        """
        return self._shapes.halfspaces(self._facets)

    def vertices(self) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Return `Region.vertices` of all regions as ``(offsets, points)``.

        Raises
        ------
        GeometryError
            A region is unbounded, or the dimension is out of reach.
        """
        cells = self._known_cells
        if cells is not None and self.domain.is_bounded:
            return cells.vertex_offsets, cells.vertices
        corners = [
            self._shapes.embedded(self._shapes.vertices(part, point))
            for part, point in zip(split(self._facets), self.points, strict=True)
        ]
        offsets = np.cumsum([0, *map(len, corners)]).astype(np.int64)
        return offsets, np.concatenate([np.zeros((0, self.domain.dim)), *corners])

    def volumes(self) -> FloatArray:
        """Return `Region.volume` of all regions, ``(R,)``; unbounded ones have ``inf``."""
        if not self._shapes.free.size:
            return np.ones(len(self))
        volumes = np.full(len(self), np.inf)
        cells = self._known_cells
        if cells is not None and self.domain.is_bounded:
            corners = cells.vertices[:, self._shapes.free]
            for row, (first, stop) in enumerate(pairwise(cells.vertex_offsets.tolist())):
                volumes[row] = geometry.volume(corners[first:stop])
            return volumes
        parts = zip(split(self._facets), self.points, self.bounded(), strict=True)
        for row, (part, point, is_bounded) in enumerate(parts):
            if is_bounded:
                volumes[row] = geometry.volume(self._shapes.vertices(part, point))
        return volumes

    def centroids(self) -> FloatArray:
        """Return `Region.centroid` of all regions, ``(R, d)``; not a number where unbounded."""
        if not self._shapes.free.size:
            return np.array(self.points)
        centres = np.full((len(self), self.domain.dim), np.nan)
        parts = zip(split(self._facets), self.points, self.bounded(), strict=True)
        for row, (part, point, is_bounded) in enumerate(parts):
            if is_bounded:
                middle = geometry.centroid(self._shapes.vertices(part, point))
                centres[row] = self._shapes.embedded(middle[None])[0]
        return centres

    @property
    def breakpoints(self) -> FloatArray:
        """Where a line goes from one region to the next, ``(R - 1,)``, rising: values of ``t``.

        Raises
        ------
        InputError
            The domain is no line, or the carving is incomplete.
        """
        if self.domain.rank != 1:
            raise InputError(
                f"{self.domain!r} is not a line, so its regions have no breakpoints between them. "
                f"Carve a polycarve.Segment(x0, x1)."
            )
        if not self.complete:
            raise InputError(
                f"this carving is incomplete (stopped by {self.stop_reason}), so some breakpoints "
                f"are not known. Carve without limits."
            )
        facets = self._facets
        right = (facets.source >= 0) & (facets.A[:, 0] > 0)  # every region but the last has one
        return np.sort(facets.b[right] / facets.A[right, 0]) + 0.0

    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each region is bounded, ``(R,)``."""
        if self.domain.is_bounded:
            return np.ones(len(self), np.bool_)
        return self._shapes.bounded(self._facets)

    def chebyshev(self) -> tuple[FloatArray, FloatArray]:
        """Return `Region.chebyshev` of all regions: centres ``(R, d)`` and radii ``(R,)``.

        Where balls of any radius fit, the centre is not a number and the radius is infinite.
        """
        if not self._shapes.free.size:
            return np.array(self.points), np.zeros(len(self))
        centres, radii = np.full((len(self), self.domain.dim), np.nan), np.full(len(self), np.inf)
        for row, part in enumerate(split(self._facets)):
            ball = geometry.chebyshev(part.A, part.b)
            radii[row] = ball.radius
            if np.isfinite(ball.radius):
                centres[row] = self._shapes.embedded(ball.centre[None])[0]
        return centres, radii

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
        The pattern behind a facet follows from the region's own affine forms, layer by layer, and
        is looked up in the list; where the list lacks it, exact arithmetic is asked. Computed once
        and kept.
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

    # ------------------------------------------------------------------ out of the hand

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
