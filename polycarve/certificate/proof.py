"""The walk over the tree that a sorted list of patterns is, in exact arithmetic.

At a node, the list below it is a run of regions. Cuts of the layer in hand on which all of them
agree are settled there, each by a vector; what is left splits, at the lowest cut, in two. At the
end of a region's path a rational point shows that it is there.

Where the list is wrong, the walk finds what is right. A cut that a point of the cell contradicts
stays open until it is the lowest: then it splits, and the side on which no region is listed is
carved exactly. A region without a point is dropped, with all below the first empty cell on its
path. What comes of that is walked once more, so that the proof is one of the list as it then is.

A walk may own only a run of regions, and with it the nodes whose first region lies there: then
others, for the rest, can be done elsewhere at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.certificate.exact import carve_exactly
from polycarve.certificate.forms import LayerForms, Stages, Sums, rounded
from polycarve.certificate.multipliers import FAR, Cell, Vector
from polycarve.certificate.places import Place, Point, Row

BitArray = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


@dataclass(eq=False)
class Regions:
    """A sorted list of patterns, with what is known of points in them.

    Attributes
    ----------
    bits : (R, N) uint8
    points : (R, d) float64
        In the domain's coordinates; taken for witnesses where they are right.
    witnesses : list of R points or None
        Rational ones, to be tried first.
    """

    bits: BitArray
    points: FloatArray
    witnesses: list[Point | None]

    def __len__(self) -> int:
        return len(self.bits)


class Leaf(NamedTuple):
    """A region that is there, its witness, and the vectors met first on the way to it."""

    bits: BitArray
    witness: Point
    point: FloatArray  # near the witness, in the domain's coordinates
    is_interior: bool  # whether that is known to lie in the region too
    vectors: list[Vector]


@dataclass(eq=False)
class Outcome:
    """What a walk found: the regions in order, and whether the list was just that."""

    leaves: list[Leaf] = field(default_factory=list)
    is_changed: bool = False
    is_stopped: bool = False
    counts: Counter[str] = field(default_factory=Counter)


class _Node(NamedTuple):
    first: int
    stop: int
    layer: LayerForms | None
    unknown: IntArray  # cuts of the layer that are not settled above
    depth: int  # rows of the cell above
    row: tuple[Row, FloatArray, int] | None  # and its own
    sums: Sums


class Walk:
    """One walk over a list of regions.

    Parameters
    ----------
    stages, place
        The network on the domain.
    regions : Regions
    is_complete : bool
        Whether cuts are to be proven not to cross where the list says so; else all cuts are rows.
    own : range, optional
        Rows of the list whose nodes are proven.
    may_repair : bool
        Whether to go on, and carve what is missing, where the list is wrong.
    must_stop : callable, optional
        Told how many regions are done; whether to leave it at that.
    """

    def __init__(
        self,
        stages: Stages,
        place: Place,
        regions: Regions,
        *,
        is_complete: bool,
        own: range | None = None,
        may_repair: bool = True,
        must_stop: Callable[[int], bool] | None = None,
    ) -> None:
        self.stages, self.place, self.regions = stages, place, regions
        self.is_complete, self.must_stop = is_complete, must_stop
        self.may_repair = may_repair
        self.own = range(len(regions)) if own is None else own
        self.cell = Cell(place.k, place.in_box)
        self.runs: list[tuple[int, int]] = []  # for each row of the cell, the regions below it
        self.outcome = Outcome(counts=self.cell.counts)
        self.vectors: list[Vector] = []
        self.dropped_to = 0  # regions before this one are done with
        near = place.points(regions.points)
        near[~(np.abs(near) < FAR)] = 0.5
        self.sums_of_points = np.concatenate([np.zeros((1, place.k)), np.cumsum(near, axis=0)])

    def run(self) -> Outcome:
        """Walk, and return what was found; an interrupt leaves it at what is done."""
        for row in zip(self.place.rows, *rounded(self.place.rows), strict=True):
            self.cell.add(*row)
            self.runs.append((0, len(self.regions)))
        everything = (0, len(self.regions), None, np.zeros(0, np.int64), len(self.cell.rows), None)
        root = _Node(*everything, self.stages.start)
        self.stack = [root] if len(self.regions) else []
        try:
            if not len(self.regions):
                self._carve(root, np.zeros(self.regions.bits.shape[1], np.uint8))
            while self.stack and not self._is_done():
                node = self.stack.pop()
                if node.first < self.dropped_to or node.stop <= self.own.start:
                    continue
                if node.first >= self.own.stop:
                    break
                self.cell.cut_to(node.depth)
                del self.runs[node.depth :]
                if node.row is not None:
                    self._add(node.row, node)
                self._visit(node)
        except KeyboardInterrupt:
            self.outcome.is_stopped = True
        return self.outcome

    def _is_done(self) -> bool:
        if self.must_stop is not None and self.must_stop(len(self.outcome.leaves)):
            self.outcome.is_stopped = True
        return self.outcome.is_stopped or (self.outcome.is_changed and not self.may_repair)

    def _add(self, row: tuple[Row, FloatArray, int], node: _Node) -> None:
        self.cell.add(*row)
        self.runs.append((node.first, node.stop))

    # ------------------------------------------------------------------ nodes

    def _visit(self, node: _Node) -> None:
        layer, unknown, sums = node.layer, node.unknown, node.sums
        while True:
            if layer is not None:
                unknown, sums = self._settle(node, layer, unknown, sums)
                if len(unknown):
                    self._split(node, layer, unknown, sums)
                    return
            layer, sums = self.stages.next_layer(-1 if layer is None else layer.k, sums)
            if layer is None:
                self._end(node)
                return
            unknown = np.arange(len(layer))

    def _settle(
        self, node: _Node, layer: LayerForms, unknown: IntArray, sums: Sums
    ) -> tuple[IntArray, Sums]:
        """Settle the cuts that the list has on one side; return the others."""
        listed = self.regions.bits[node.first : node.stop, layer.start + unknown]
        every: BoolArray = np.asarray(listed.all(axis=0))
        some = np.asarray(listed.any(axis=0))
        agrees = every == some
        cuts, active = unknown[agrees], every[agrees]
        is_constant = layer.is_constant[cuts]
        is_settled = np.ones(len(cuts), np.bool_)
        for place in np.flatnonzero(is_constant).tolist():
            is_settled[place] = active[place] == (layer.rows[cuts[place]][-1] > 0)
        proven = np.flatnonzero(~is_constant).tolist()
        goals = [layer.side(cuts[place], active=active[place]) for place in proven]
        if not self.is_complete:
            for goal in goals:
                self._add(goal, node)
        elif goals and node.first >= self.own.start:
            is_settled[proven] = self._prove(node, goals)
        sums = self.stages.set(layer, sums, cuts[is_settled & active])
        rest = np.concatenate([unknown[~agrees], cuts[~is_settled]])
        return np.sort(rest), sums

    def _prove(self, node: _Node, goals: Sequence[tuple[Row, FloatArray, int]]) -> list[bool]:
        total = self.sums_of_points[node.stop] - self.sums_of_points[node.first]
        near = total / (node.stop - node.first)
        rows, floats, exponents = zip(*goals, strict=True)
        holds = []
        for answer in self.cell.show(rows, np.array(floats), exponents, near):
            if isinstance(answer, list):
                self.vectors.append(answer)
            else:
                self.outcome.is_changed = True
            # In an empty cell everything holds; the regions listed there are dropped in the end.
            holds.append(not isinstance(answer, Point))
        return holds

    def _split(self, node: _Node, layer: LayerForms, unknown: IntArray, sums: Sums) -> None:
        cut, rest = int(unknown[0]), unknown[1:]
        column = self.regions.bits[node.first : node.stop, layer.start + cut]
        middle = node.stop - int(column.sum())
        after = (sums, self.stages.set(layer, sums, [cut]))
        runs = ((node.first, middle), (middle, node.stop))
        depth = len(self.cell.rows)
        if layer.is_constant[cut]:  # and listed on the wrong side
            self.outcome.is_changed = True
            side = int(layer.rows[cut][-1] > 0)
            self._go_on(node, _Node(*runs[side], layer, rest, depth, None, after[side]), cut, side)
            return
        for side in (1, 0):
            row = layer.side(cut, active=bool(side))
            self._go_on(node, _Node(*runs[side], layer, rest, depth, row, after[side]), cut, side)

    def _go_on(self, node: _Node, side_node: _Node, cut: int, side: int) -> None:
        """Put a side of a cut on the stack; carve it where no region is listed there."""
        if side_node.first < side_node.stop:
            self.stack.append(side_node)
            return
        if not (self.is_complete and self.may_repair):
            return
        assert side_node.layer is not None
        bits = self.regions.bits[node.first].copy()
        bits[side_node.layer.start + cut] = side
        self._carve(side_node, bits)

    def _carve(self, node: _Node, bits: BitArray) -> None:
        """Carve a cell in which no region is listed."""
        self.outcome.is_changed = True
        self.cell.cut_to(node.depth)
        if node.row is not None:
            self.cell.add(*node.row)
        for found, witness in carve_exactly(
            self.stages, self.cell, node.layer, node.unknown, node.sums, bits
        ):
            if self._is_done():
                break
            point = self.place.rounded(witness)
            self.outcome.leaves.append(Leaf(found, witness, point, False, []))
        self.cell.cut_to(node.depth)

    # ------------------------------------------------------------------ ends

    def _end(self, node: _Node) -> None:
        if node.stop - node.first > 1:  # equal patterns
            self.outcome.is_changed = True
        leaf = self._leaf(node.first)
        if leaf is None:
            self._drop()
        else:
            self.outcome.leaves.append(leaf)
            self.vectors = []

    def _leaf(self, row: int) -> Leaf | None:
        bits, given = self.regions.bits[row], self.regions.points[row]
        exact = self._inside(given)
        if exact is not None:
            return Leaf(bits, exact, given, True, self.vectors)
        witness = self.regions.witnesses[row]
        if witness is None or not self.cell.holds(witness):
            found = self.cell.inner_point()
            if found is None:
                return None
            witness = self.cell.simplified(found)
        point = self.place.rounded(witness)
        return Leaf(bits, witness, point, self._inside(point) is not None, self.vectors)

    def _inside(self, y: FloatArray) -> Point | None:
        """Return the exact t of a float64 point that lies in the cell, else None."""
        point = self.place.point(y)
        return point if point is not None and self.cell.holds(point) else None

    def _drop(self) -> None:
        """Leave out the regions below the first empty cell on the way here."""
        self.outcome.is_changed = True
        least, most = 0, len(self.cell.rows)  # so many rows are possible, so many are not
        while most - least > 1:
            middle = (least + most) // 2
            if self.cell.inner_point(middle) is None:
                most = middle
            else:
                least = middle
        self.dropped_to = self.runs[most - 1][1]
