"""The shapes of regions: their facets and what follows, in the coordinates of their domain.

A `Shapes` belongs to a network and a domain and answers for any of their regions, one or many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.cells import RegionCells
from polycarve.domains import Domain, Polytope, Slice
from polycarve.errors import GeometryError, NumericalError, UnboundedError
from polycarve.geometry import Ball, HalfspaceColumns, Halfspaces
from polycarve.networks import Network
from polycarve.splitting.descent import find_codes
from polycarve.splitting.facets import SplitTree, find_facets, find_rows
from polycarve.splitting.program import Program, compile_program

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# The kernels keep dense vertices: beyond this, one linear program a row by HiGHS is faster.
_MOST_FREE = 64


class Shapes:
    """Geometry of the regions of a network (its first layers) on a domain.

    Polytopes are worked on in the domain's *free* coordinates: all but the flat ones of a box. The
    network is a function of the domain's coordinates here, composed with its embedding.
    """

    def __init__(self, network: Network, domain: Domain, n_layers: int) -> None:
        self.network, self.domain, self.n_layers = network, domain, n_layers

    @cached_property
    def program(self) -> Program:
        return compile_program(self.network, self.domain, self.n_layers)

    @cached_property
    def free(self) -> IntArray:
        """The coordinates in which the domain extends."""
        return self.domain.free

    @cached_property
    def along(self) -> Network:
        """The network as a function of the domain's coordinates."""
        return self.network.along(self.domain.embedding)

    @property
    def _level(self) -> FloatArray:
        """The values of the domain's flat coordinates, in their places."""
        offset = self.domain.frame.offset
        assert offset is not None
        return offset.float64

    # ------------------------------------------------------------------ facets

    def facets(
        self,
        bits: BitArray,
        points: FloatArray,
        inside: npt.NDArray[np.bool_],
        tree: SplitTree | None = None,
        first: int = 0,
    ) -> HalfspaceColumns:
        """Return the irredundant halfspaces of regions in free coordinates.

        Parameters
        ----------
        bits : (n, N)
        points : (n, d)
            In the domain's coordinates, interior where `inside` says so.
        tree, first
            The split tree of a complete list and where in it the regions begin.
        """
        if not len(self.free):
            return joined(
                [Halfspaces(np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64))] * len(bits), 0
            )
        if not self._has_kernels:
            return joined([self._facets_by_highs(row) for row in bits], len(self.free))
        inner = self._inner(np.packbits(bits, axis=1), points, inside)
        columns = find_facets(self.program, bits, inner, tree, first)
        self._refuse_thin(columns.offsets, columns.failed, first)
        return self._columns(columns.offsets, columns.sources, columns.rows)

    def facets_down(
        self,
        packed: BitArray,
        points: FloatArray,
        inside: npt.NDArray[np.bool_],
        tree: SplitTree,
    ) -> tuple[IntArray, IntArray] | None:
        """Return offsets and codes of the facets of all regions of a complete list.

        Codes are those of `find_rows`, in the order of the facets' sources. None where there are
        too many dimensions.
        """
        if not self._has_kernels:
            return None
        found = find_codes(self.program, packed, self._inner(packed, points, inside), tree)
        self._refuse_thin(found.offsets, found.failed, 0)
        return found.offsets, found.codes

    @property
    def _has_kernels(self) -> bool:
        return bool(self.program.n_layers) and 0 < len(self.free) <= _MOST_FREE

    def _inner(
        self, packed: BitArray, points: FloatArray, inside: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """Return interior points of regions in the frame's coordinates."""
        outside = np.flatnonzero(~(inside & np.isfinite(points).all(axis=1)))
        if len(outside):
            points = np.array(points)
            bits = np.unpackbits(packed[outside], axis=1, count=self.program.n_cuts)
            for row, pattern in zip(outside, bits, strict=True):
                points[row] = self._centre(pattern)
        return self._framed(points)

    def _refuse_thin(self, offsets: IntArray, failed: npt.NDArray[np.bool_], first: int) -> None:
        if self.domain.is_bounded:  # a polytope has more facets than dimensions
            failed = failed | (np.diff(offsets) <= len(self.free))
        if failed.any():
            raise GeometryError(
                f"region {first + int(np.argmax(failed))} is too thin for float64: no "
                f"vertex of it can be computed."
            )

    def facets_of(self, packed: BitArray, cells: RegionCells) -> HalfspaceColumns:
        """Return the same as `facets`, of regions whose facets are known."""
        sides = np.array(self.program.frame.sides)
        face_of = np.zeros(sides.max(initial=0) + 1, np.int64)
        face_of[sides[sides >= 0]] = np.flatnonzero(sides >= 0)
        side = np.maximum(-1 - cells.source, 0)
        codes = np.where(cells.source >= 0, cells.source, -1 - face_of[side])
        return self.columns_of(packed, cells.facet_offsets, codes)

    def sources_of(self, codes: IntArray) -> IntArray:
        """Return the neuron for a cut's code, and ``-1 - side`` for that of a face."""
        sides = np.array(self.program.frame.sides, dtype=np.int64)
        return np.where(codes >= 0, codes, -1 - sides[np.maximum(-1 - codes, 0)])

    def columns_of(self, packed: BitArray, offsets: IntArray, codes: IntArray) -> HalfspaceColumns:
        """Return the halfspaces of regions whose facets are known."""
        return self._columns(offsets, codes, find_rows(self.program, packed, offsets, codes))

    def _columns(self, offsets: IntArray, codes: IntArray, rows: FloatArray) -> HalfspaceColumns:
        """Return facets in the domain's free coordinates."""
        A, b = rows[:, :-1], rows[:, -1]
        if self.program.frame.is_cone:
            A, b = A[:, :-1], b - A[:, -1]
        self._restore(codes, A, b)
        return HalfspaceColumns(offsets, A + 0.0, b + 0.0, self.sources_of(codes))

    def _restore(self, sources: IntArray, A: FloatArray, b: FloatArray) -> None:
        """Give the rows of a polytope the numbers that it was given with."""
        place = self.domain.domain if isinstance(self.domain, Slice) else self.domain
        if isinstance(place, Polytope):
            rows = np.flatnonzero(sources < 0)
            sides = np.array(self.program.frame.sides)[-1 - sources[rows]]
            A[rows], b[rows] = place.A.float64[sides], place.b.float64[sides]

    def _framed(self, points: FloatArray) -> FloatArray:
        """Return points of the domain in the frame's coordinates."""
        if self.program.frame.is_cone:
            cone = np.concatenate([points, np.ones((len(points), 1))], axis=1)
            cone /= 2 * np.abs(cone).max(axis=1, keepdims=True)
            return np.asarray(cone, dtype=np.float64)
        return np.ascontiguousarray(points[:, self.free])

    def _all_rows(self, pattern: BitArray, *, exact: bool = False) -> Halfspaces:
        """Return every halfspace of a region, needed or not, in free coordinates.

        With `exact`, composed exactly and then rounded: what vanishes leaves no row of rounding
        errors behind.
        """
        missing = sum(self.network.cut_widths) - len(pattern)
        full = np.concatenate([pattern, np.zeros(missing, np.uint8)])
        if exact:
            exact_maps = self.along.exact_preactivation_maps(full)[: self.n_layers]
            maps = [(A.float64, c.float64) for A, c in exact_maps]
        else:
            maps = self.along.preactivation_maps(full)[: self.n_layers]
        d = self.domain.dim
        A = np.concatenate([np.zeros((0, d)), *(part[0] for part in maps)])
        c = np.concatenate([np.zeros(0), *(part[1] for part in maps)])
        sign = np.where(pattern == 1, -1.0, 1.0)
        A, b, source = sign[:, None] * A, -sign * c, np.arange(len(pattern))
        if len(self.free) < d:
            flat = np.setdiff1d(np.arange(d), self.free)
            b = b - A[:, flat] @ self._level[flat]
        A = A[:, self.free]
        used = (A != 0).any(axis=1)
        sides = self._sides()
        return Halfspaces(
            np.concatenate([sides.A, A[used]]),
            np.concatenate([sides.b, b[used]]),
            np.concatenate([sides.source, source[used]]),
        )

    def _sides(self) -> Halfspaces:
        """Return the domain's own halfspaces in free coordinates."""
        frame, n = self.domain.frame, len(self.free)
        A = np.concatenate([-np.eye(n), np.eye(n)])
        b = np.concatenate([-frame.lower.float64[:n], frame.upper.float64[:n]])
        sides = frame.sides[: 2 * n]
        if frame.is_cone:
            sides = (-1,) * (2 * n)
        if frame.rows is not None:
            rows = frame.rows.float64
            A = np.concatenate([A, -rows[:, :n]])
            b = np.concatenate([b, rows[:, n:].sum(axis=1)])  # in a cone, the constant is zero
            sides = (*sides, *frame.sides[2 * frame.n_free :])
        source = np.array(sides, dtype=np.int64)
        used = source >= 0
        order = np.argsort(source[used], kind="stable")
        return Halfspaces(A[used][order], b[used][order], -1 - source[used][order])

    def _facets_by_highs(self, pattern: BitArray) -> Halfspaces:
        rows = self._all_rows(pattern)
        kept = geometry.irredundant(rows.A, rows.b)
        kept = kept[np.argsort(rows.source[kept] < 0, kind="stable")]  # neurons before sides
        return Halfspaces(rows.A[kept], rows.b[kept], rows.source[kept])

    def _centre(self, pattern: BitArray) -> FloatArray:
        for exact in (False, True):
            rows = self._all_rows(pattern, exact=exact)
            with suppress(NumericalError):
                ball = geometry.chebyshev(rows.A, rows.b, most=1.0)
                if ball.radius > 0:
                    return np.asarray(self.embedded(ball.centre[None])[0])
        raise GeometryError("no float64 point is known inside this region, so it has no shape.")

    # ------------------------------------------------------------------ and what follows

    def embedded(self, points: FloatArray) -> FloatArray:
        """Return points in free coordinates in the domain's own."""
        if len(self.free) == self.domain.dim:
            return points
        full = np.empty((len(points), self.domain.dim))
        full[:] = self._level
        full[:, self.free] = points
        return np.asarray(full, dtype=np.float64)

    def halfspaces(self, columns: HalfspaceColumns) -> HalfspaceColumns:
        """Return facets in the domain's coordinates, flat sides included."""
        if len(self.free) == self.domain.dim:
            return columns
        d, at = self.domain.dim, self._level
        flat = np.setdiff1d(np.arange(d), self.free)
        ends = np.repeat(np.eye(d)[flat], 2, axis=0)
        ends[::2] *= -1
        level = np.stack([-at[flat], at[flat]], axis=1).ravel()
        source = np.stack([-1 - 2 * flat, -2 - 2 * flat], axis=1).ravel()
        parts = []
        for part in split(columns):
            A = np.zeros((len(part.b), d))
            A[:, self.free] = part.A
            parts.append(
                Halfspaces(
                    np.concatenate([A, ends]),
                    np.concatenate([part.b, level]),
                    np.concatenate([part.source, source]),
                )
            )
        return joined(parts, d)

    def bounded(self, columns: HalfspaceColumns) -> npt.NDArray[np.bool_]:
        """Whether each region is bounded."""
        n = len(columns.offsets) - 1
        if self.domain.is_bounded:
            return np.ones(n, np.bool_)
        return np.fromiter((geometry.is_bounded(part.A) for part in split(columns)), np.bool_, n)

    def vertices(self, part: Halfspaces, point: FloatArray) -> FloatArray:
        """Return a region's vertices in free coordinates."""
        if not len(self.free):
            return np.zeros((1, 0))
        if not self.domain.is_bounded and not geometry.is_bounded(part.A):
            raise UnboundedError(
                "the region is unbounded, so it has no volume and is not spanned by its vertices. "
                "Ask is_bounded first, or carve a Box."
            )
        try:
            return geometry.vertices(part.A, part.b, point[self.free])
        except UnboundedError:
            raise GeometryError(geometry.TOO_THIN) from None

    def ball(self, part: Halfspaces) -> Ball:
        """Return a region's largest ball, its centre in the domain's coordinates."""
        if not len(self.free):
            return Ball(self.embedded(np.zeros((1, 0)))[0], 0.0)
        ball = geometry.chebyshev(part.A, part.b)
        if np.isinf(ball.radius):
            raise GeometryError("the region holds balls of any radius, so there is no largest one.")
        return Ball(self.embedded(ball.centre[None])[0], ball.radius)


def split(columns: HalfspaceColumns) -> Iterator[Halfspaces]:
    """Iterate over the halfspaces of one region after the other."""
    for start, stop in zip(columns.offsets[:-1], columns.offsets[1:], strict=True):
        part = slice(start, stop)
        yield Halfspaces(columns.A[part], columns.b[part], columns.source[part])


def joined(parts: list[Halfspaces], dim: int) -> HalfspaceColumns:
    """Return the halfspaces of one region after the other as columns."""
    return HalfspaceColumns(
        np.cumsum([0, *(len(part.b) for part in parts)]).astype(np.int64),
        np.concatenate([np.zeros((0, dim)), *(part.A for part in parts)]),
        np.concatenate([np.zeros(0), *(part.b for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(part.source for part in parts)]),
    )
