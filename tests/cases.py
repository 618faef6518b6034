"""Networks and domains that many tests use, with what is known of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from polycarve import Box, Network, Space

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class SpecCase:
    """A network of ``data/networks`` with floating-point counts that two programs agree on."""

    name: str
    dim: int
    box: Box
    layer_counts: tuple[int, ...]

    @property
    def network(self) -> Network:
        return Network.from_npz(DATA / "networks" / f"{self.name}.npz")

    @property
    def regions(self) -> int:
        return self.layer_counts[-1]


@cache
def spec() -> dict[str, SpecCase]:
    cases = {}
    for name, entry in json.loads((DATA / "networks" / "spec.json").read_text()).items():
        if "layer_counts" in entry:
            dim = entry["widths"][0]
            box = Box.cube(*entry["box"], dim=dim)
            cases[name] = SpecCase(name, dim, box, tuple(entry["layer_counts"]))
    return cases


@dataclass(frozen=True)
class TruthCase:
    """A network with exact rational weights and a proven count."""

    name: str
    network: Network
    domain: Box | Space
    regions: int


@cache
def ground_truths() -> list[TruthCase]:
    cases = []
    for entry in json.loads((DATA / "groundtruth.json").read_text()):
        layers = [*entry["layers"], *([entry["out"]] if entry["out"] else [])]
        network = Network.from_arrays(
            [layer["W"] for layer in layers],
            [layer["b"] for layer in layers],
            relu_last=entry["out"] is None,
        )
        sides = entry["domain"]
        domain = (
            Space(entry["input_dim"])
            if sides is None
            else Box([lo for lo, _ in sides], [hi for _, hi in sides])
        )
        cases.append(TruthCase(entry["name"], network, domain, entry["counts"]["proper"]))
    return cases


def integers(
    dim: int, widths: list[int], seed: int, largest: int = 1, *, biased: bool = True
) -> Network:
    """A network of small integer weights: degenerate on purpose."""
    rng = np.random.default_rng(seed)
    weights, biases, before = [], [], dim
    for width in widths:
        weights.append(rng.integers(-largest, largest + 1, (width, before)))
        biases.append(rng.integers(-largest, largest + 1, width) * biased)
        before = width
    return Network.from_arrays(weights, biases, relu_last=True)


def _net(*layers: tuple[Any, Any]) -> Network:
    return Network.from_arrays([W for W, _ in layers], [b for _, b in layers], relu_last=True)


_SQUARE = Box.cube(-1, 1, dim=2)
_DEEP = ([[1, -2, 1], [-1, 1, 2]], [1, 0])


def _degenerate() -> dict[str, Callable[[], tuple[Network, Box | Space]]]:
    cases: dict[str, Callable[[], tuple[Network, Box | Space]]] = {
        "zero biases": lambda: (integers(2, [4, 4], 3, 2, biased=False), _SQUARE),
        "zero biases, three layers": lambda: (integers(3, [3, 3, 3], 5, biased=False), Space(3)),
        "repeated neuron": lambda: (
            _net(([[1, 2], [1, 2], [-1, 1]], [0, 0, 1]), _DEEP),
            _SQUARE,
        ),
        "negated copy": lambda: (_net(([[1, 2], [-1, -2], [-1, 1]], [1, -1, 0]), _DEEP), _SQUARE),
        "copies scaled by powers of two": lambda: (
            _net(([[1, 2], [4, 8], [-0.25, -0.5]], [1, 4, -0.25]), _DEEP),
            _SQUARE,
        ),
        "copy scaled by a third": lambda: (
            _net(
                ([[1, 2], [Fraction(1, 3), Fraction(2, 3)], [2, 1]], [1, Fraction(1, 3), 0]), _DEEP
            ),
            _SQUARE,
        ),
        "zero row, zero bias": lambda: (
            _net(([[0, 0], [1, 1], [1, -1]], [0, 0, 0]), _DEEP),
            _SQUARE,
        ),
        "zero row, positive bias": lambda: (
            _net(([[0, 0], [1, 1], [1, -1]], [2, 0, 0]), _DEEP),
            _SQUARE,
        ),
        "zero row, negative bias": lambda: (
            _net(([[0, 0], [1, 1], [1, -1]], [-2, 0, 0]), _DEEP),
            _SQUARE,
        ),
        "hyperplane on a box face": lambda: (
            _net(([[1, 0], [-1, 0], [1, 1]], [1, 1, 0]), _DEEP),
            _SQUARE,
        ),
        "hyperplane through a box corner": lambda: (
            _net(([[1, 1], [1, -1], [2, 1]], [2, 0, -1]), _DEEP),
            _SQUARE,
        ),
        "three through one point": lambda: (
            _net(([[1, 0], [0, 1], [1, 1]], ["-1/3", "-1/3", "-2/3"]), _DEEP),
            _SQUARE,
        ),
        "width-1 layers": lambda: (_net(([[2, 1]], [0]), ([[-3]], [2]), ([[5]], [-1])), _SQUARE),
        "dead layer": lambda: (
            _net(([[1, 2], [2, -1]], [0, 0]), ([[-1, -1], [-2, -1]], [-1, -1]), ([[1, 1]], [0])),
            _SQUARE,
        ),
        "dead zone": lambda: (
            _net(([[1, 0], [0, 1]], [0, 0]), ([[1, 0], [1, 1]], [0, 0])),
            _SQUARE,
        ),
        "flat side": lambda: (integers(3, [3, 3], 8), Box([-1, 0, -1], [1, 0, 2])),
        "sliver of a box": lambda: (integers(2, [4, 3], 9, 2), Box([-1, 0], [1, "1e-7"])),
        "box far away": lambda: (integers(2, [3, 3], 10, 3), Box([1000, 1000], [1001, 1002])),
    }
    for gap in (1e-5, 1e-7, 1e-9):
        cases[f"parallel at {gap:g}"] = lambda gap=gap: (
            _net(([[1, 2], [1, 2], [2, -1]], [0, gap, 0]), _DEEP),
            _SQUARE,
        )
        cases[f"nearly parallel by {gap:g}"] = lambda gap=gap: (
            _net(([[1, 2], [1, 2 + gap], [2, -1]], [0, 0, 0]), _DEEP),
            _SQUARE,
        )
    for seed in range(6):
        cases[f"weights in -1, 0, 1, plane, seed {seed}"] = lambda seed=seed: (
            integers(2, [4, 4], seed),
            _SQUARE if seed % 2 else Space(2),
        )
        cases[f"weights in -1, 0, 1, space, seed {seed}"] = lambda seed=seed: (
            integers(3, [4, 3], seed),
            Box.cube(-2, 2, dim=3) if seed % 2 else Space(3),
        )
    return cases


DEGENERATE = _degenerate()
