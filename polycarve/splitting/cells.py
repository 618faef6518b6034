"""Cells and leaves: what goes into a method and what comes out, as plain arrays.

**Cells** are one structured array, a row a cell; a piece of work is a slice of it. Common fields
(``k`` free coordinates, ``N`` cuts):

=============  ==============  ================================================================
``layer``      int32           the hidden layer (from 0) whose cuts are being decided
``depth``      int32           how often an ancestor was split; the cell weighs ``2**-depth``
``n_rows``     int32           how many rows the domain has, plus how many cuts split an ancestor
``fresh``      int32           1 before any cut of ``layer`` has been tried
``doubtful``   int32           1 if a decision on the way was doubtful
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
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.splitting.program import Program

Cells = npt.NDArray[np.void]


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
    """

    packed: npt.NDArray[np.uint8]
    points: npt.NDArray[np.float64]
    inside: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.packed)

    def first(self, n: int) -> Leaves:
        """Return the first n."""
        if n >= len(self):
            return self
        return Leaves(self.packed[:n], self.points[:n], self.inside[:n])


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
