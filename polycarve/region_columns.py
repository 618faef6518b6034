"""The columns of a carving: patterns and points, and the shapes of all regions at once."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.cells import FacetSources, RegionCells, collect, collect_sources, single_point
from polycarve.domains import Domain
from polycarve.errors import GeometryError, InputError, NumericalError
from polycarve.geometry import HalfspaceColumns
from polycarve.networks import Network
from polycarve.patterns import first_difference, is_sorted
from polycarve.shapes import Shapes, split
from polycarve.splitting import drive
from polycarve.splitting.cells import Keep
from polycarve.splitting.cells import Shapes as LeafShapes
from polycarve.splitting.facets import SplitTree
from polycarve.splitting.method import method_named
from polycarve.splitting.program import Program, compile_program

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]


class RegionColumns:
    """What a carving knows of all its regions together; `polycarve.Carving` adds each of them."""

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

    @property
    def kept_cells(self) -> RegionCells | None:
        """The cells that ``carve(..., keep="cells")`` kept, if it did."""
        return self._kept_cells

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

    # ------------------------------------------------------------------ geometry

    @cached_property
    def _shapes(self) -> Shapes:
        return Shapes(self.network, self.domain, self.n_layers)

    @cached_property
    def _tree(self) -> SplitTree | None:
        """Who split whose ancestors; not known of an incomplete list, nor of one out of order."""
        is_tree = self.complete and is_sorted(self.packed)
        return SplitTree(self._first_difference) if is_tree else None

    @property
    def program(self) -> Program:
        """What the kernels know of the network on the domain."""
        return self._shapes.program

    def facet_columns(self) -> HalfspaceColumns:
        """Return the facets of all regions: halfspaces in the domain's free coordinates.

        The same as `halfspaces`, but for a box's flat coordinates, which are left out here.
        """
        return self._facets

    def facet_sources(self) -> FacetSources:
        """Return ``offsets`` and ``source`` of `facet_columns`, which are quicker to have alone.

        And of which regions each facet is known to lie on one neuron's hyperplane only.
        """
        if self._kept_cells is not None or "_cells" in self.__dict__:
            cells = self._known_cells
            if cells is not None:
                return FacetSources(cells.facet_offsets, cells.source, cells.is_generic)
        elif self._is_plain and self._shapes.free.size and self.n_layers:
            shapes = self._carve_again("facets")
            if shapes is not None:
                return collect_sources(self.program, shapes)
        if "_facets" not in self.__dict__ and self._facets_down is not None:
            offsets, codes = self._facets_down
            return FacetSources.of(offsets, self._shapes.sources_of(codes))
        return FacetSources.of(self._facets.offsets, self._facets.source)

    @cached_property
    def _facets_down(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """Offsets and codes of all facets, where the tree of splits is known and of use."""
        if self._tree is None or not is_sorted(self.packed):
            return None
        return self._shapes.facets_down(
            self.packed, self.points, self.point_is_interior, self._tree
        )

    @cached_property
    def _facets(self) -> HalfspaceColumns:
        if self._known_cells is not None and self.n_layers:
            return self._shapes.facets_of(self.packed, self._known_cells)
        if self._facets_down is not None:
            return self._shapes.columns_of(self.packed, *self._facets_down)
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
        if not self._shapes.free.size:
            return single_point(self.points[0])
        shapes = self._carve_again("shapes")
        return None if shapes is None else collect(self._recorded_program, shapes)

    @property
    def _recorded_program(self) -> Program:
        if self.n_layers:
            return self.program
        # A neuron that is always active cuts nothing either.
        always = Network.from_arrays([[[0] * self.network.input_dim]], [[1]], relu_last=True)
        return compile_program(always, self.domain)

    def _carve_again(self, keep: Keep) -> LeafShapes | None:
        """Return what the method ``vertices`` records; None if it does not find this very list."""
        program, memory = self._recorded_program, drive.Memory(keep=keep)
        limits = drive.Limits(max_regions=max(1, len(self)))
        try:
            drive.run(program, method_named("vertices"), sink=memory, limits=limits)
        except (InputError, NumericalError):
            return None
        leaves = memory.collect(program)
        is_same = np.array_equal(leaves.packed, self.packed) or not self.n_layers
        return leaves.shapes if is_same else None

    @property
    def _is_plain(self) -> bool:
        """Whether vertices are cheap to have and free of doubt."""
        return self.method == "vertices" and not self.n_doubtful

    @property
    def _known_cells(self) -> RegionCells | None:
        """The cells where they are kept, or cheap to have and free of doubt."""
        return self._cells if self._kept_cells is not None or self._is_plain else None

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
            if corners.shape[1] == 2:
                return geometry.areas(cells.vertex_offsets, corners)
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
