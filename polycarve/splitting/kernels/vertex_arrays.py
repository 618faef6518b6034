"""The arrays that the kernels of method ``vertices`` share, by name.

The outermost kernel takes them apart once, at its head, and hands single arrays on.

Letters, here and in the kernels: k free coordinates, N cuts, L layers, m rows of the domain, V
columns, W words of bits; u a point; v, p, q vertices; z values of a form at vertices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.splitting.kernels.arrays import Bytes, Floats, Ints, Signs

Cuts = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]


class Problem(NamedTuple):
    """The program (see `polycarve.splitting.program`); never written to."""

    k: int
    lower: Floats
    upper: Floats
    side_noise: Floats
    side_rows: Floats  # flat (k + 2, m)
    side_kinds: Bytes  # (m,)
    size: Floats  # (k,) largest |u_j| in the box
    ratio: float  # proven rounding error over the typical one
    starts: Ints
    layer_of: Ints  # (N,)
    weights: Floats
    weight_starts: Ints
    first_weights: Ints  # (L,) where a layer's weights on the layer before begin, or -1
    sources: Ints
    source_starts: Ints
    bias: Floats
    homogeneous: Bytes
    exact_below: Floats  # (L,) forms are exact whose error is not above that
    fixed: Signs
    twins: Ints
    twin_signs: Signs
    n_twins: Ints  # (L,)
    is_special: npt.NDArray[np.bool_]  # (N,) fixed, or with a twin


class Path(NamedTuple):
    """What leads from the domain to the cell in hand; what a cell on the stack shares with it."""

    marks: Signs  # (N,), then zeros up to a multiple of eight
    eights: Words  # the same memory, eight marks to a word
    row_cuts: Ints  # (m + N + 1,) -1 - r for row r of the domain, then the cuts that split
    order: Cuts  # (N,) active cuts, layer by layer in the order in which they were found to be
    rows: Floats  # flat (k + 2, 2 k + m + N + 1): [a, c, 1 / rho], sides of the box first
    kinds: Bytes  # what is known of the rows' forms
    forms_at: Ints  # (L,) where in `sums` the forms of a layer are
    sums: Floats  # slots for every layer, see `sums.py`; slot s + 1 adds to slot s
    slots_at: Ints  # (L + 1,) where a layer's slots begin
    sizes: Floats  # (N,) how large forms get in the box
    blur: Floats  # (N,) typical rounding error of their values


class Arena(NamedTuple):
    """Where cells are kept: those on the stack lie below the cell in hand."""

    X: Floats  # (k + 1, V)
    B: Words  # (W, V)
    lists: Cuts  # cuts that cross a cell
    stack: Ints  # (N + 2, 14)


class Room(NamedTuple):
    """Room to work in; nothing in it outlives a step."""

    z: Floats  # (V,) as the two below, or the widest layer if that is more
    share: Floats  # how far along an edge the plane is met
    length: Floats
    near: Words  # (V,)
    places: Ints  # (5, V) vertices above, on and below a plane; ends of edges
    values: Floats  # (2 k + m + N + 1,)
    spare: Floats  # (k,)
    centre: Floats  # (k,)
    least: Floats  # (widest layer,)
    most: Floats  # (widest layer,)
    states: Signs  # (widest layer,)


class Given(NamedTuple):
    """The cells to carve, rows in order."""

    ints: Ints  # (n, 5) layer, depth, rows, fresh, doubtful
    rows: Cuts
    marks: Signs
    order: Cuts


class Out(NamedTuple):
    """Leaves; with no rows, they are only counted."""

    packed: Bytes
    points: Floats
    found: npt.NDArray[np.bool_]
    generic: npt.NDArray[np.bool_]  # (leaves,) whether each facet is known to lie on one cut alone
    shape_counts: Ints  # (leaves, 2) vertices and facets of each, if shapes are asked for
    corners: Floats  # (V, k); with no rows, only facets are written
    codes: Ints  # (F,) the source of each facet
    link_counts: Ints  # (F,) how many vertices it has
    links: Ints  # (I,) which of its cell's they are
    owners: Cuts  # (m + N + 2, 64 W) see `owners.py`; empty where no shapes are asked for


# Places in the array of counters.
(STEPS, DOUBTS, LEAVES, ON_STACK, NEXT, SPLITS, VERTICES, CORNERS, FACETS, LINKS) = range(10)

# Columns of the stack: the cell's layer and depth, its number of rows, the cut split last if the
# cell is its active side (or -1); whether its layer is yet to be entered, what is doubtful of it;
# its columns; where the cuts to try are, and how many; the slot of its sums, and how many active
# cuts are in them; where columns and lists are free.
(LAYER, DEPTH, ROWS, CUT, FRESH, DOUBTFUL, START, STOP, FIRST, COUNT, SLOT, ORDER, TOP,
 LIST_TOP) = range(14)

# What is doubtful of a cell, as bits: a decision on the way; and whether, on the way, some cut came
# too near a vertex to be told from one that touches, so that facets may lie on several cuts.
UNSURE, TOUCHED = 1, 2

# Why the kernel came back.
DONE, FULL, BUDGET, OVERFLOW, THIN, COLUMNS, WORDS, LISTS, SLOTS, SHAPES = range(10)
