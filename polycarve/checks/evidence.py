"""What the checks look at: facets and neighbours found from patterns alone."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.adjacency import Adjacency, match_facets
from polycarve.carving import Carving
from polycarve.cells import FacetSources
from polycarve.errors import GeometryError, NumericalError
from polycarve.geometry import HalfspaceColumns, Halfspaces
from polycarve.networks import locating
from polycarve.shapes import Shapes, joined, split

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class SkipError(Exception):
    """A check cannot be made; the message says why."""


class Evidence:
    """What several checks look at, computed from patterns alone and only once."""

    def __init__(self, carving: Carving) -> None:
        self.carving = carving
        self.free = carving.domain.free

    @cached_property
    def misplaced(self) -> BoolArray:
        """Regions whose interior point has another pattern or lies outside the domain."""
        carving = self.carving
        network = carving.network.along(carving.domain.embedding)
        right = np.asarray(np.isfinite(carving.points).all(axis=1))
        right[right] = carving.domain.contains(carving.points[right])
        rows = np.flatnonzero(right)  # others have no pattern
        for start in range(0, len(rows), 4096):
            part = rows[start : start + 4096]
            bits = locating.packed_patterns(network, carving.points[part], carving.n_layers)
            right[part] = (bits == carving.packed[part]).all(axis=1)
        return carving.point_is_interior & ~right

    @cached_property
    def _shape_columns(self) -> tuple[HalfspaceColumns, BoolArray, FloatArray]:
        """Facets of all regions, which of them have none to be found, and interior points."""
        carving = self.carving
        shapes = Shapes(carving.network, carving.domain, carving.n_layers)
        bits, points = carving.patterns, np.array(carving.points)
        trusted = carving.point_is_interior & ~self.misplaced
        parts: list[Halfspaces | None] = [None] * len(carving)

        def find(rows: npt.NDArray[np.int64]) -> None:
            found = shapes.facets(bits[rows], points[rows], trusted[rows])
            for row, part in zip(rows.tolist(), split(found), strict=True):
                # A form that vanishes bounds nothing: no input has such a pattern.
                if part.A.any(axis=1).all():
                    parts[row] = part

        def find_each(rows: npt.NDArray[np.int64]) -> None:
            for row in rows:
                try:
                    find(np.array([row]))
                except (GeometryError, NumericalError):
                    continue

        good = np.flatnonzero(trusted)
        try:
            find(good)
        except (GeometryError, NumericalError):
            find_each(good)
        find_each(np.flatnonzero(~trusted))
        lacking = np.array([part is None for part in parts], np.bool_)
        for row in np.flatnonzero(~trusted & ~lacking):
            part = parts[row]
            if part is not None and len(part.b):
                points[row, self.free] = geometry.chebyshev(part.A, part.b, most=1.0).centre
        d = len(self.free)
        none = Halfspaces(np.zeros((0, d)), np.zeros(0), np.zeros(0, np.int64))
        return joined([none if part is None else part for part in parts], d), lacking, points

    @property
    def facets(self) -> HalfspaceColumns:
        return self._shape_columns[0]

    @property
    def shapeless(self) -> BoolArray:
        return self._shape_columns[1]

    @property
    def points(self) -> FloatArray:
        return self._shape_columns[2]

    @cached_property
    def adjacency(self) -> Adjacency:
        """Who lies behind these facets; regions that are not listed are unknown."""
        carving = self.carving
        listed = Carving(
            carving.network,
            carving.domain,
            carving.packed,
            carving.points,
            carving.point_is_interior,
            n_layers=carving.n_layers,
            stop_reason=carving.stop_reason or "interrupt",  # nothing is taken for granted
        )
        return match_facets(listed, FacetSources.of(self.facets.offsets, self.facets.source))

    @cached_property
    def own(self) -> tuple[Adjacency, HalfspaceColumns]:
        """The carving's own adjacency with its facets, or, where it has none, what is above."""
        try:
            return self.carving.adjacency(), self.carving.facet_columns()
        except (GeometryError, NumericalError):
            return self.adjacency, self.facets

    def need_complete(self) -> None:
        if not self.carving.complete:
            raise SkipError("the carving is incomplete")

    def need_shapes(self) -> None:
        if self.shapeless.any():
            region = int(np.argmax(self.shapeless))
            raise SkipError(f"no interior or no corner of region {region} can be computed")
