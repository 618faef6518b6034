"""The tree of cells of a network, opened only where somebody looks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains import as_domain
from polycarve.errors import NumericalError
from polycarve.networks import as_network
from polycarve.patterns import first_difference
from polycarve.recursion import select_method
from polycarve.splitting.drive import advance
from polycarve.splitting.facets import SplitTree
from polycarve.splitting.method import Method, method_named
from polycarve.splitting.prefixes import Prefixes, cells_below, first_layers, in_steps
from polycarve.splitting.program import Program, compile_program

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# Leaves that a method may return at a time.
_CAPACITY = 1 << 16

# Neurons are taken together as long as they can part a cell into no more children than this.
_MOST_CHILDREN = 256

# What the cells that are handed to a method may take, in bytes.
_CELL_BYTES = 1 << 28


class OutOfTimeError(Exception):
    """The deadline has passed in the middle of a list."""


class TooManyError(Exception):
    """A list has become longer than is allowed."""


@dataclass
class Guard:
    """Ends a list that takes too long or gets too long."""

    deadline: float = math.inf
    most: float = math.inf

    @classmethod
    def within(cls, seconds: float | None) -> Guard:
        return cls(math.inf if seconds is None else time.monotonic() + seconds)

    def check(self, found: int) -> None:
        if time.monotonic() >= self.deadline:
            raise OutOfTimeError
        if found > self.most:
            raise TooManyError


@dataclass(frozen=True, eq=False)
class Children:
    """The cells of the next level inside some cells, one list after the other.

    Attributes
    ----------
    parents : Prefixes
    n_cuts : int
        How long patterns are on this level.
    offsets : (n + 1,) int64
        Parent i has the children ``offsets[i] .. offsets[i + 1] - 1``; at least one.
    packed, points, inside
        As in `polycarve.splitting.cells.Leaves`.
    """

    parents: Prefixes
    n_cuts: int
    offsets: IntArray
    packed: BitArray
    points: FloatArray
    inside: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def counts(self) -> IntArray:
        """How many children each parent has."""
        return np.diff(self.offsets)

    @cached_property
    def differences(self) -> IntArray:
        """The first cut in which neighbours in the list differ: between two parents, an old one."""
        return first_difference(self.packed)

    @cached_property
    def _tree(self) -> SplitTree:
        return SplitTree(self.differences)

    def take(self, rows: IntArray) -> Prefixes:
        """Return some of the children, given by rising row, as cells to go on with."""
        parent = np.searchsorted(self.offsets, rows, side="right") - 1
        before, known = self.parents, self.parents.bits.shape[1]
        parts = []
        for row, above in zip(rows.tolist(), parent.tolist(), strict=True):
            _, cuts = self._tree.ancestors(range(row, row + 1), self.n_cuts)
            parts.append(before.cuts[before.offsets[above] : before.offsets[above + 1]])
            parts.append(cuts[cuts >= known])  # the others part parents, not children
        sizes = np.array([len(part) for part in parts], np.int64).reshape(-1, 2).sum(axis=1)
        return Prefixes(
            before.n_layers + 1,
            np.unpackbits(self.packed[rows], axis=1, count=self.n_cuts),
            self.points[rows],
            self.inside[rows],
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([np.zeros(0, np.int64), *parts]),
        )


class CellTree:
    """The cells of a program, level by level: a level is a layer of the program.

    Listing the children of a cell is carving it by one layer, as `polycarve.carve` does.
    """

    def __init__(self, program: Program, method: Method) -> None:
        self.program, self.method = program, method
        self.n_doubtful = 0  # decisions of floating point on the way
        self._upto: dict[int, Program] = {}

    @classmethod
    def of(
        cls, net: Any, domain: Any, *, by_layer: bool = True, step: int | None = None
    ) -> CellTree | None:
        """Return the tree of a network on a domain; None if nothing can be cut.

        A level is a layer, or, if not `by_layer`, a few neurons of one: `step` of them.
        """
        network = as_network(net)
        place = as_domain(domain, network.input_dim)
        if place.rank == 0 or not network.cut_widths:
            return None
        program = compile_program(network, place)
        if not by_layer:
            program = in_steps(program, step or _few_neurons(program.n_free))
        return cls(program, method_named(select_method(network, place).method))

    @property
    def n_levels(self) -> int:
        return self.program.n_layers

    @property
    def root(self) -> Prefixes:
        """The domain."""
        return Prefixes.domain(self.program)

    def bytes_per_child(self, level: int) -> int:
        """Return about what a listed cell after some levels takes."""
        return int(self.program.starts[level]) // 8 + 8 * self.program.n_free + 16

    def children(self, parents: Prefixes, guard: Guard) -> Children:
        """List the children of cells, which are given in order and differ."""
        level = parents.n_layers + 1
        if level not in self._upto:
            self._upto[level] = first_layers(self.program, level)
        program = self._upto[level]
        size = program.n_free**2 * 8 + 8 * program.n_cuts + 512
        chunk = max(1, _CELL_BYTES // size)
        found = _List(program, guard)
        for start in range(0, len(parents), chunk):
            part = parents if chunk >= len(parents) else parents.take(slice(start, start + chunk))
            found.add(self.method, part)
        self.n_doubtful += found.n_doubtful
        return found.children(parents)


def _few_neurons(k: int) -> int:
    """Return how many planes part a cell of k dimensions into `_MOST_CHILDREN` at most."""
    n = 1
    while sum(math.comb(n + 1, j) for j in range(k + 1)) <= _MOST_CHILDREN:
        n = n + 1 if k > 1 else _MOST_CHILDREN - 1
    return n


class _List:
    """Children of cells as they are found."""

    def __init__(self, program: Program, guard: Guard) -> None:
        self.program, self.guard, self.n, self.n_doubtful = program, guard, 0, 0
        self.parts: list[tuple[IntArray, BitArray, FloatArray, npt.NDArray[np.bool_]]] = []

    def add(self, method: Method, parents: Prefixes) -> None:
        """Carve cells by one layer: those that the method cannot begin at by linear programs."""
        before = len(self.parts), self.n, self.n_doubtful
        try:
            cells, usable = cells_below(self.program, method, parents)
            if usable.all():
                self.run(method, parents, cells)
                return
        except NumericalError:
            if method.name == "highs":
                raise
            del self.parts[before[0] :]
            _, self.n, self.n_doubtful = before
            usable = np.zeros(len(parents), np.bool_)
        highs = method_named("highs")
        if len(parents) == 1:
            self.run(highs, parents, cells_below(self.program, highs, parents)[0])
            return
        for row in range(len(parents)):
            self.add(method, parents.take(slice(row, row + 1)))

    def run(self, method: Method, parents: Prefixes, cells: Any) -> None:
        self.guard.check(self.n)
        pieces = []
        while len(cells):
            step = advance(self.program, method.name, cells, method.budget, _CAPACITY, keep=True)
            cells, leaves = step.rest, step.leaves
            pieces.append((leaves.packed, leaves.points, leaves.inside))
            self.n += step.n_leaves
            self.n_doubtful += step.n_doubtful
            self.guard.check(self.n)
        packed, points, inside = (np.concatenate(part) for part in zip(*pieces, strict=True))
        counts = _runs(packed, parents.bits.shape[1])
        if len(counts) != len(parents):
            raise NumericalError(
                "floating point lost a cell on the way to its children. Rescale the inputs."
            )
        self.parts.append((counts, packed, points, inside))

    def children(self, parents: Prefixes) -> Children:
        counts, packed, points, inside = (
            np.concatenate(part) for part in zip(*self.parts, strict=True)
        )
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Children(parents, self.program.n_cuts, offsets, packed, points, inside)


def _runs(packed: BitArray, n_bits: int) -> IntArray:
    """Return the lengths of the runs of rows that agree in their first bits."""
    head = packed[:, : (n_bits + 7) // 8]
    if n_bits % 8:
        head = head.copy()
        head[:, -1] &= np.uint8(0xFF << (8 - n_bits % 8) & 0xFF)
    starts = np.flatnonzero((head[1:] != head[:-1]).any(axis=1)) + 1
    return np.diff(np.concatenate([[0], starts, [len(packed)]])).astype(np.int64)
