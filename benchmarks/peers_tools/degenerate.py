"""Degenerate networks with right answers that come from no tool of the comparison.

Hyperplanes coincide, or pass through one point, or through a corner; all numbers are small
integers, so that float32 holds them exactly. Where all hyperplanes pass through the origin, the
cube has as many regions as the whole space.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from pathlib import Path

TRUTHS = Path(__file__).parents[2] / "tests" / "data" / "groundtruth.json"

Matrix = list[list[int]]
Layers = tuple[tuple[Matrix, list[int]], ...]


@dataclass(frozen=True)
class Case:
    """Hidden layers on the cube ``[-1, 1]^d``.

    The tests' oracle counts its regions in exact arithmetic; ``truth`` names the entry of the
    tests' ground truths that must say the same. ``is_quick`` ones cost every tool next to nothing.
    """

    name: str
    layers: Layers
    truth: str = ""
    is_quick: bool = False

    @property
    def dim(self) -> int:
        return len(self.layers[0][0][0])


def _central(rows: Matrix) -> tuple[Matrix, list[int]]:
    return rows, [0] * len(rows)


def _resonance(dim: int) -> Matrix:
    return [list(row) for row in product((0, 1), repeat=dim) if any(row)]


def _braid(dim: int) -> Matrix:
    return [[int(k == i) - int(k == j) for k in range(dim)] for i, j in combinations(range(dim), 2)]


def _integers(widths: tuple[int, ...], seed: int, largest: int, biased: bool) -> Layers:
    draw = random.Random(seed).randint
    return tuple(
        (
            [[draw(-largest, largest) for _ in range(n_in)] for _ in range(n_out)],
            [draw(-largest, largest) if biased else 0 for _ in range(n_out)],
        )
        for n_in, n_out in pairwise(widths)
    )


# Four lines whose six crossings lie in the square: 11 regions.
_LINES = [[4, 1], [1, 4], [4, -3], [-1, 2]]
_SHIFTS = [1, -1, 0, 0]


def _and(rows: Matrix, biases: list[int]) -> Layers:
    """Return one layer: those lines and others."""
    return ((_LINES + rows, _SHIFTS + biases),)


def _with_copies(rows: Matrix, biases: list[int]) -> tuple[Matrix, list[int]]:
    """Return four neurons, the first two once more times -3, the others times 7."""
    factors = (-3, -3, 7, 7)
    more = [[k * entry for entry in row] for k, row in zip(factors, rows, strict=True)]
    return rows + more, biases + [k * bias for k, bias in zip(factors, biases, strict=True)]


_COPIED = _with_copies([[-65, 46], [96, -83], [-34, -69], [27, 95]], [-3, 0, 23, -12])
_COPIED_NEXT = _with_copies(
    [
        [-3, -6, 6, -9, 3, 4, -9, 5],
        [-1, -2, 9, -6, 1, -9, -9, -9],
        [8, -9, 3, -3, 4, -9, 7, -2],
        [5, 6, 8, -2, 2, -2, -2, 5],
    ],
    [-25, -94, 7, 43],
)

CASES = (
    Case("resonance arrangement in R^4", (_central(_resonance(4)),), truth="Resonance n=4"),
    Case("braid arrangement in R^4", (_central(_braid(4)),), is_quick=True),
    Case("repeated and negated neurons", (_COPIED,), is_quick=True),
    Case("the same in two layers", (_COPIED, _COPIED_NEXT)),
    Case("dead neuron", _and([[0, 0]], [0]), is_quick=True),
    Case("no biases, 2-8-8", _integers((2, 8, 8), 0, 9, biased=False)),
    Case("no biases, 2-6-6", _integers((2, 6, 6), 1, 9, biased=False)),
    Case("weights in -1, 0, 1, 2-8-8", _integers((2, 8, 8), 2, 1, biased=True)),
    Case("lines on sides and through a corner", _and([[1, 0], [0, -1], [1, 1]], [1, 1, 2])),
)


def case_named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def exact_count(name: str) -> int:
    """Count by the tests' oracle: depth first, exact linear programs, no float."""
    from polycarve import Box, Network
    from tests.oracles import exact

    case = case_named(name)
    net = Network.from_arrays(
        [W for W, _ in case.layers], [b for _, b in case.layers], relu_last=True
    )
    count = len(exact.regions(net, Box.cube(-1, 1, dim=case.dim)))
    if case.truth:
        entries = json.loads(TRUTHS.read_text())
        known = next(entry for entry in entries if entry["name"] == case.truth)
        if known["counts"]["proper"] != count:
            raise RuntimeError(f"oracle and ground truth disagree about {name}.")
    return count
