"""Cells and leaves: what goes into a method and what comes out, as plain arrays.

**Cells** are one structured array, a row a cell; a piece of work is a slice of it. Common fields
(``k`` free coordinates, ``N`` cuts):

=============  ==============  ================================================================
``layer``      int32           the hidden layer (from 0) whose cuts are being decided
``depth``      int32           how often an ancestor was split; the cell weighs ``2**-depth``
``n_rows``     int32           how many rows the domain has, plus how many cuts split an ancestor
``fresh``      int32           1 before any cut of ``layer`` has been tried
``doubtful``   int32           not 0 if a decision on the way was doubtful, or near to it
``rows``       int32 (m + N,)  the rows of the domain (``-1 - r`` for row r of m), then those
                               cuts, in order; the last one is the latest split
``marks``      int8 (N,)       1 active, -1 inactive, -2 zero on the cell, 0 not decided
``point``      float64 (k,)    an interior point
=============  ==============  ================================================================

A method may add fields of its own (`cell_dtype`). They travel with the cell, so that the result
does not depend on where a run was interrupted or by whom it is continued.

**Leaves** are `Leaves`: packed patterns, interior points and whether these are proven interior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polycarve.splitting.program import Program

Cells = npt.NDArray[np.void]

Keep = bool | Literal["facets", "shapes"]
"""Whether leaves are kept or only counted; with ``"facets"``, where their facets come from too, and
with ``"shapes"`` their vertices besides."""


@dataclass(frozen=True)
class Shapes:
    """The vertices and facets of leaves, one leaf after the other, in free coordinates.

    Where only facets were kept, there are no corners and no links.

    Attributes
    ----------
    generic : (n,) bool
        Whether each facet of a leaf is known to lie on the hyperplane of one cut alone.
    counts : (n, 2) int64
        How many vertices and facets each leaf has.
    corners : (V, k) float64
    codes : (F,) int64
        Where facets come from: a cut, or ``-1 - face`` for a face of the frame.
    link_counts : (F,) int64
        How many vertices each facet has.
    links : int64
        Which they are, counted from the first of their leaf.
    """

    generic: npt.NDArray[np.bool_]
    counts: npt.NDArray[np.int64]
    corners: npt.NDArray[np.float64]
    codes: npt.NDArray[np.int64]
    link_counts: npt.NDArray[np.int64]
    links: npt.NDArray[np.int64]

    def first(self, n: int) -> Shapes:
        """Return those of the first n leaves."""
        v, f = self.counts[:n].sum(axis=0)
        i = int(self.link_counts[:f].sum())
        return Shapes(
            self.generic[:n],
            self.counts[:n],
            self.corners[:v],
            self.codes[:f],
            self.link_counts[:f],
            self.links[:i],
        )

    @classmethod
    def joined(cls, parts: Sequence[Shapes]) -> Shapes:
        """Return the shapes of several lists of leaves as one."""
        names = ("generic", "counts", "corners", "codes", "link_counts", "links")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Leaves:
    """Regions found, in order.

    Attributes
    ----------
    packed : (n, ceil(N / 8)) uint8
        Patterns, most significant bit first: rows sort as patterns do.
    points : (n, k) float64
        Points in free coordinates.
    inside : (n,) bool
        Whether the point is proven to be interior.
    shapes : Shapes, optional
        Where they were asked for.
    """

    packed: npt.NDArray[np.uint8]
    points: npt.NDArray[np.float64]
    inside: npt.NDArray[np.bool_]
    shapes: Shapes | None = None

    def __len__(self) -> int:
        return len(self.packed)

    def first(self, n: int) -> Leaves:
        """Return the first n."""
        if n >= len(self):
            return self
        shapes = self.shapes.first(n) if self.shapes is not None else None
        return Leaves(self.packed[:n], self.points[:n], self.inside[:n], shapes)


def cell_dtype(program: Program, extra: Sequence[Any] = ()) -> np.dtype[np.void]:
    """Return the dtype of cells of a program, with a method's own fields appended."""
    n, k = program.n_cuts, program.n_free
    m = program.side_rows.shape[1]
    return np.dtype(
        [
            ("layer", np.int32),
            ("depth", np.int32),
            ("n_rows", np.int32),
            ("fresh", np.int32),
            ("doubtful", np.int32),
            ("rows", np.int32, (m + n,)),
            ("marks", np.int8, (n,)),
            ("point", np.float64, (k,)),
            *extra,
        ]
    )


def root_cell(program: Program, dtype: np.dtype[np.void]) -> Cells:
    """Return the whole domain as a frontier of one cell."""
    cells = np.zeros(1, dtype=dtype)
    cells["fresh"] = 1
    m = program.side_rows.shape[1]
    cells["n_rows"] = m
    cells["rows"][:, :m] = -1 - np.arange(m)
    cells["point"] = program.centre
    return cells


def packed_width(n_cuts: int) -> int:
    """Bytes that hold a pattern."""
    return (n_cuts + 7) // 8
