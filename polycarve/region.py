"""`Region`: one activation region, with its geometry on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.domains import Domain
from polycarve.errors import InputError
from polycarve.geometry import Ball, HalfspaceColumns, Halfspaces
from polycarve.networks import Network, codes, locating
from polycarve.shapes import Shapes, split
from polycarve.splitting.facets import SplitTree

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
        shapes: Shapes | None = None,
        tree: Callable[[], SplitTree | None] | None = None,
        beyond: Callable[[int], npt.NDArray[np.int64]] | None = None,
    ) -> None:
        self.network, self.domain = network, domain
        self.pattern, self.point = pattern, point
        self.point_is_interior, self.index = point_is_interior, index
        self._given_shapes, self._tree, self._beyond = shapes, tree, beyond

    @property
    def widths(self) -> tuple[int, ...]:
        """Pattern bits of each hidden layer that the pattern covers."""
        return widths_of(self.network, len(self.pattern))

    @property
    def code(self) -> str:
        """The pattern as people write it, such as ``aai|iaa``."""
        return codes.code_of(self.pattern, self.widths)

    def affine_map(self) -> tuple[FloatArray, FloatArray]:
        """Return ``(W, c)``: on this region the network is ``W @ x + c``.

        Returns
        -------
        W : ndarray, shape (n_outputs, d)
        c : ndarray, shape (n_outputs,)
            In the domain's coordinates, composed in float64. A network without an output layer has
            its last hidden activations as output.

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
        return self._shapes.along.affine_map(self.pattern)

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
        inside[inside] = locating.in_closed_region(self._shapes.along, self.pattern, points[inside])
        return bool(inside[0]) if single else inside

    # ------------------------------------------------------------------ geometry

    @cached_property
    def _shapes(self) -> Shapes:
        return self._given_shapes or Shapes(self.network, self.domain, len(self.widths))

    @cached_property
    def _facets(self) -> Halfspaces:
        """The irredundant halfspaces, in the domain's free coordinates."""
        columns = self._shapes.facets(
            self.pattern[None],
            self.point[None],
            np.array([self.point_is_interior]),
            self._tree() if self._tree else None,
            self.index or 0,
        )
        return next(split(columns))

    def halfspaces(self) -> Halfspaces:
        """Return the region as ``A @ x <= b`` without redundant rows.

        Returns
        -------
        Halfspaces
            ``A`` (outward normals), ``b`` and ``source``: the neuron's index among all N, or
            ``-1 - k`` for side k of the domain. Of coincident rows, a domain's side stands before
            a neuron's, and an earlier neuron before a later one. Rows are in the order of neurons,
            then of sides; the flat sides of a box come last, two for each.

        Notes
        -----
        Each candidate is taken away once, to see by a linear program whether the region grows. In
        a complete carving, candidates are the cuts that split an ancestor. All geometry is in
        floating point, and less sharp than the list of regions: the shapes of regions thinner than
        about 1e-7 of the box can be wrong, or are refused as too thin.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [1, 1]]], relu_last=True)
        >>> region = pc.carve(net, pc.Box.cube(-1, 1, dim=2))["aa"]
        >>> A, b, source = region.halfspaces()
        >>> source.tolist()
        [0, 1, -2, -4]
        """
        columns = HalfspaceColumns(np.array([0, len(self._facets.b)]), *self._facets)
        return next(split(self._shapes.halfspaces(columns)))

    def vertices(self) -> FloatArray:
        """Return the vertices, ``(n, d)`` in the domain's coordinates; in the plane in order.

        Raises
        ------
        GeometryError
            The region is unbounded, or the dimension is out of Qhull's reach (more than nine).

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 1]]], relu_last=True)
        >>> pc.carve(net, pc.Box.cube(0, 1, dim=2))["a"].vertices().tolist()
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        """
        return self._shapes.embedded(self._free_vertices)

    @cached_property
    def _free_vertices(self) -> FloatArray:
        return self._shapes.vertices(self._facets, self.point)

    def volume(self) -> float:
        """Return the volume, relative to the domain where that has flat sides.

        Raises
        ------
        GeometryError
            As for `vertices`.
        """
        return geometry.volume(self._free_vertices) if self._shapes.free.size else 1.0

    def centroid(self) -> FloatArray:
        """Return the centre of mass, ``(d,)`` in the domain's coordinates.

        Raises
        ------
        GeometryError
            As for `vertices`.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 1]]], relu_last=True)
        >>> pc.carve(net, pc.Box.cube(0, 3, dim=2))["a"].centroid()
        array([1.5, 1.5])
        """
        if not self._shapes.free.size:
            return np.array(self.point)
        return np.asarray(self._shapes.embedded(geometry.centroid(self._free_vertices)[None])[0])

    @property
    def is_bounded(self) -> bool:
        """Whether the region is bounded; always on a box."""
        return self.domain.is_bounded or geometry.is_bounded(self._facets.A)

    def chebyshev(self) -> Ball:
        """Return the largest ball inside: ``(centre, radius)``, by a linear program.

        Raises
        ------
        GeometryError
            The region holds balls of any radius.
        """
        return self._shapes.ball(self._facets)

    def image(self, layer: int) -> FloatArray:
        """Return the region's vertices in the space after a layer, ``(n, n_layer)``.

        Parameters
        ----------
        layer : int
            0 for the inputs, up to the number of hidden layers the pattern covers.

        Raises
        ------
        GeometryError
            The region is unbounded.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 2]]], relu_last=True)
        >>> pc.carve(net, pc.Box.cube(-1, 1, dim=2))["ia"].image(1).tolist()
        [[0.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 2.0]]
        """
        if not isinstance(layer, (int, np.integer)) or not 0 <= layer <= len(self.widths):
            raise InputError(
                f"layer is {layer!r}; a whole number from 0 to {len(self.widths)} is needed."
            )
        corners = self.vertices()
        if layer == 0:
            return self.domain.embed(corners)
        W, c = self._shapes.along[:layer].affine_map(self.pattern[: sum(self.widths[:layer])])
        return np.asarray(corners @ W.T + c)

    # ------------------------------------------------------------------ neighbours

    @property
    def facets(self) -> npt.NDArray[np.int64]:
        """What each facet lies on: a neuron among all N, or ``-1 - k`` for side k of the domain.

        Neurons by rising index, then sides; a box's flat sides are no facets. Of several neurons on
        one hyperplane the first stands for all.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
        >>> region = pc.carve(net, pc.Box.cube(-1, 1, dim=2))["ia"]
        >>> region.facets, region.neighbors
        (array([ 0,  1, -1, -4]), array([ 3,  0, -1, -1]))
        """
        return self._facets.source

    @property
    def neighbors(self) -> npt.NDArray[np.int64]:
        """The index of the region behind each of the `facets`.

        -1 is the domain's boundary, -2 what an incomplete carving does not know.

        Raises
        ------
        InputError
            The region is of `polycarve.region_at`, which lists no others.

        Notes
        -----
        Asks `Carving.adjacency`: the first call finds the neighbours of all regions.
        """
        if self._beyond is None or self.index is None:
            raise InputError(
                "this region belongs to no carving, so its neighbours have no indices. Take it "
                "from polycarve.carve(...), or ask for its facets."
            )
        return self._beyond(self.index)

    # ------------------------------------------------------------------ display

    def _repr_svg_(self) -> str | None:
        """Draw a bounded region of a plane domain; None for any other."""
        try:
            corners = self.vertices()
            if corners.shape[1] != 2:
                return None
            low, extent = corners.min(axis=0), np.ptp(corners, axis=0).max()
            x, y = ((corners - low) / extent * 100).T
            path = " ".join(f"{a:.2f},{100 - b:.2f}" for a, b in zip(x, y, strict=True))
            return (
                '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="120" '
                f'viewBox="-10 -10 120 120"><title>{self.code[:60]}</title>'
                f'<polygon points="{path}" fill="#cfe0f3" stroke="#1f3b5c"/></svg>'
            )
        except Exception:  # a display must never be what fails
            return None

    def __eq__(self, other: object) -> bool:
        """Whether both are the region of one pattern of equal networks on equal domains."""
        return (
            isinstance(other, Region)
            and np.array_equal(self.pattern, other.pattern)
            and self.domain == other.domain
            and self.network == other.network
        )

    def __hash__(self) -> int:
        return hash((self.pattern.tobytes(), self.domain, self.network))

    def __repr__(self) -> str:
        code = self.code if len(self.code) <= 40 else f"{self.code[:37]}..."
        where = "" if self.index is None else f"{self.index}: "
        return f"Region({where}{code})"


def widths_of(network: Network, n_bits: int) -> tuple[int, ...]:
    """Return the widths of the leading layers that have so many bits together."""
    widths: list[int] = []
    for width in network.cut_widths:
        if sum(widths) == n_bits:
            break
        widths.append(width)
    return tuple(widths)
