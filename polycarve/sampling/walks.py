"""Probes on their way down the tree of cells, and by which rule they choose it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError
from polycarve.sampling.levels import CellTree, Children, Guard, OutOfTimeError, TooManyError
from polycarve.splitting.prefixes import Prefixes

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# The longest list of children, unless limits say otherwise: in cells, and in bytes.
_MOST_LISTED = 250_000
_MOST_BYTES = 1 << 30

# Cells whose children are listed together.
_CHUNK = 64

# Which of its children each probe goes on with, and what its value is multiplied by. Arguments:
# the children, the parent each probe stands on, and a number in [0, 1) for each.
Rule = Callable[[Children, IntArray, FloatArray], tuple[IntArray, FloatArray]]


def uniform_child(
    children: Children, parents: IntArray, chance: FloatArray
) -> tuple[IntArray, FloatArray]:
    counts = children.counts[parents]
    place = np.minimum((chance * counts).astype(np.int64), counts - 1)
    return children.offsets[parents] + place, counts.astype(np.float64)


def child_by_halving(
    children: Children, parents: IntArray, chance: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Walk down the tree of splits, each side of which is as likely as the other."""
    rows, factors = np.empty(len(parents), np.int64), np.empty(len(parents))
    differences = children.differences
    for i, (parent, left) in enumerate(zip(parents.tolist(), chance.tolist(), strict=True)):
        low, high = children.offsets[parent : parent + 2].tolist()
        factors[i] = 1.0
        while high - low > 1:  # the first split among these is at the lowest cut
            split = low + 1 + int(np.argmin(differences[low : high - 1]))
            left *= 2.0
            factors[i] *= 2.0
            if left < 1.0:
                high = split
            else:
                low, left = split, left - 1.0
        rows[i] = low
    return rows, factors


class Walk:
    """Probes that go down together: what stands on the same cell shares a list of its children."""

    def __init__(self, tree: CellTree, guard: Guard, most: int | None, rule: Rule) -> None:
        self.tree, self.guard, self.rule = tree, guard, rule
        self.most_given = most
        # How many children each cell that was met has, level by level.
        self.counts: list[dict[bytes, int]] = [{} for _ in range(tree.n_levels)]
        self.first: Children | None = None

    def values(self, chances: FloatArray) -> FloatArray:
        """Return the values of probes, ``(n,)``: of those finished when time runs out."""
        n, at = len(chances), 0
        size = n if np.isinf(self.guard.deadline) else 1
        done: list[FloatArray] = []
        try:
            while at < n:
                done.append(self.run(chances[at : at + size]))
                at += size
                size *= 2
        except OutOfTimeError:
            if not done:
                raise InputError(
                    f"the time limit ran out before the first probe was done, in layer "
                    f"{self.level + 1} of {self.tree.n_levels}. Allow for more time, or use "
                    f"stochastic_enumeration with a small budget."
                ) from None
        return np.concatenate(done)

    def run(self, chances: FloatArray) -> FloatArray:
        values, at = np.ones(len(chances)), np.zeros(len(chances), np.int64)
        cells = self.tree.root
        for level in range(self.tree.n_levels):
            self.level = level
            cells, at = self.step(cells, at, chances[:, level], values)
        return values

    def step(
        self, cells: Prefixes, at: IntArray, chance: FloatArray, values: FloatArray
    ) -> tuple[Prefixes, IntArray]:
        """Take all probes to the next level; probe i stands on cell ``at[i]``."""
        parts, beyond, moved = [], 0, np.empty_like(at)
        is_last = cells.n_layers + 1 == self.tree.n_levels
        todo = [range(i, min(i + _CHUNK, len(cells))) for i in range(0, len(cells), _CHUNK)][::-1]
        order = np.argsort(at, kind="stable")
        bounds = np.searchsorted(at[order], np.arange(len(cells) + 1))
        while todo:
            part = todo.pop()
            whole_list = len(part) == len(cells)
            try:
                children = self.children(
                    cells if whole_list else cells.take(slice(part.start, part.stop))
                )
            except TooManyError:
                if len(part) == 1:
                    raise self.too_many() from None
                middle = (part.start + part.stop) // 2
                todo += [range(middle, part.stop), range(part.start, middle)]
                continue
            probes = order[bounds[part.start] : bounds[part.stop]]
            rows, factors = self.rule(children, at[probes] - part.start, chance[probes])
            values[probes] *= factors
            if not is_last:
                distinct, place = np.unique(rows, return_inverse=True)
                parts.append(children.take(distinct))
                moved[probes] = beyond + place.reshape(-1)
                beyond += len(distinct)
        return (cells if is_last else Prefixes.joined(parts)), moved

    def children(self, cells: Prefixes) -> Children:
        """List children, within the limits."""
        if cells.n_layers == 0 and self.first is not None:
            return self.first
        self.guard.most = self.most(cells.n_layers)
        children = self.tree.children(cells, self.guard)
        known = self.counts[cells.n_layers]
        for bits, count in zip(cells.bits, children.counts.tolist(), strict=True):
            known[bits.tobytes()] = count
        if cells.n_layers == 0:
            self.first = children
        return children

    def most(self, level: int) -> int:
        if self.most_given is not None:
            return self.most_given
        return min(_MOST_LISTED, _MOST_BYTES // self.tree.bytes_per_child(level + 1))

    def too_many(self) -> InputError:
        return InputError(
            f"one cell has more than {self.most(self.level):,} regions of layer {self.level + 1} "
            f"inside it: too many to list. Use stochastic_enumeration, or allow for more with "
            f"limits=polycarve.Limits(max_regions=...)."
        )

    def known(self) -> tuple[float, bool]:
        """Return how many cells were seen on a level at most, and whether these are all regions.

        On every level different cells are disjoint, and none is without a region.
        """
        seen = [sum(level.values()) for level in self.counts]
        met = [len(level) for level in self.counts]
        is_all = all(after == before for before, after in zip(seen, met[1:], strict=False))
        return float(max(seen)), is_all
