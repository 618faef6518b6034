"""The arrays that the simplex kernels share, by name.

The outermost kernel takes them apart once, at its head, and hands single arrays on: every access
by name would cost more than the arithmetic around it.

Letters, here and in the kernels: k free coordinates, N cuts, L layers, W remembered points;
u, v points; E edges; f the form in hand; g a face's form; y prices; m rows of a cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8]


class Problem(NamedTuple):
    """The program (see `polycarve.splitting.program`); never written to."""

    k: int
    lower: Floats
    upper: Floats
    side_noise: Floats
    side_rows: Floats  # (k + 2, m) more sides: [a, c, rounding error] as columns
    size: Floats  # (k,) largest |u_j| in the box
    ratio: float  # proven rounding error over the typical one
    starts: Ints
    layer_of: Ints  # (N,)
    weights: Floats
    weight_starts: Ints
    sources: Ints
    source_starts: Ints
    bias: Floats
    homogeneous: Bytes
    fixed: Signs
    twins: Ints
    twin_signs: Signs


class Forms(NamedTuple):
    """The forms of all cuts on the cell in hand.

    ``values`` holds for each layer ``k + 1`` rows (coefficients, then constants) of its width, so
    that the inner loops run along it. ``errors`` bounds what rounding did to the values of a form
    in the box, ``sizes`` these values themselves.
    """

    values: Floats  # (N (k + 1),)
    errors: Floats  # (N,)
    sizes: Floats  # (N,)


class Cell(NamedTuple):
    """The cell in hand. ``info``: points remembered so far, exchanges since the last refresh,
    the place of the plane in the basis (or -1), the vertex's place among the points (or -1)."""

    marks: Signs  # (N,)
    row_cuts: Ints  # (m + N + 1,) -1 - r for side row r, then the cuts that split an ancestor
    rows: Floats  # (k + 2, m + N + 1) their forms, positive inside: [a, c, rounding error] columns
    basis: Ints  # (k,) faces
    E: Floats  # (k, k)
    v: Floats  # (k,)
    p: Floats  # (k,) an interior point
    witness: Floats  # (W, k + 1) remembered points; the last entry is 1 for sharp ones
    info: Ints  # (4,)


class Stack(NamedTuple):
    """Cells to do. ``ints``: layer, depth, rows, the cut split last (or -1), fresh, doubtful."""

    ints: Ints  # (S, 6)
    marks: Signs  # (S, widest layer)
    basis: Ints
    E: Floats
    v: Floats
    p: Floats
    witness: Floats
    info: Ints


class Room(NamedTuple):
    """Room to work in; nothing in it outlives a step."""

    f: Floats  # (k + 3,) the form in hand: [a, c, rounding error, size]
    y: Floats  # (k,)
    rates: Floats  # (2 k + m + N + 1,)
    gaps: Floats  # (2 (k + m + N + 1),)
    matrix: Floats  # (k, 2 k)
    point: Floats  # (k,)
    values: Floats  # (widest layer,)
    least: Floats  # (widest layer,)
    most: Floats  # (widest layer,)


class FacetRoom(NamedTuple):
    """Room to look for facets in."""

    low: Floats  # (k,) the box, one side of which is moved out at a time
    high: Floats  # (k,)
    known: Signs  # (2 k + m + N + 1,) what is known of each face
    basis: Ints  # where the walk stood before a face was taken away
    E: Floats
    v: Floats


class Corners(NamedTuple):
    """Corners along the path from the domain to the cell in hand: see `corners`."""

    points: Floats  # (P, k)
    bases: Ints  # (P, k)
    edges: Floats  # (P, k, k) in columns
    homes: Ints  # (P,) levels
    ages: Ints  # (P,) exchanges since the edges were computed anew
    free: Ints  # (P,) places that are free
    lists: Ints  # (N + 1, C) the corners of the cell at each level
    counts: Ints  # (N + 1,)


class Path(NamedTuple):
    """The path from the domain to the cell in hand, and what its faces are.

    ``ints``: the level of the cell in hand, and how many places for corners are free.
    """

    cuts: Ints  # (N + 1,) which cut led to each level
    gone: Ints  # (faces,) the level from which on a face is no facet
    beyond: Bytes  # (N + 1, faces) 1 for faces that are none on the active side of a split
    sizes: Floats  # (faces,)
    chain: Ints  # (N,) splits down to a region
    ahead: Ints  # (faces,) the corner of a face nearest to a split, on its inactive side
    behind: Ints  # (faces,) and on its active side
    values_ahead: Floats  # (faces,)
    values_behind: Floats  # (faces,)
    T: Floats  # (k, k) the edges in hand, in columns
    squares: Floats  # (k,) of their lengths
    plane: Floats  # (k + 1,) the row that splits
    ints: Ints  # (2,)


class NeighborRoom(NamedTuple):
    """Room to look for the pattern behind a facet in."""

    marks: Signs  # (N,) of the region
    beyond: Signs  # (N,) behind the facet
    factor: Floats  # (N,) which multiple of the facet's form each form is
    rest: Floats  # (N,) and what is left of it
    is_member: npt.NDArray[np.bool_]  # (N,) whether it vanishes on the facet


class Out(NamedTuple):
    """Leaves; with no rows, they are only counted."""

    packed: Bytes
    points: Floats
    inside: npt.NDArray[np.bool_]


# Places in the array of counters.
STEPS, PROGRAMS, PIVOTS, DOUBTS, LEAVES, ON_STACK = range(6)

# Marks of a cut in a cell. ZERO: its form vanishes on the cell; inactive, as is every multiple.
UNKNOWN, ACTIVE, INACTIVE, ZERO = 0, 1, -1, -2

EPS = 2.0**-53
GAMMA = 4.0 * EPS  # typical relative rounding error of a form's value
TINY = 1e-300  # what underflow may take from a product
