"""The networks that are timed: files, boxes and counts from ``tests/data/networks``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from polycarve.domains import Box
from polycarve.networks import Network
from polycarve.splitting.program import Program, compile_program

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "networks"


@dataclass(frozen=True)
class Case:
    """A network on a box, with the number of regions it has there."""

    network: Network
    box: Box
    program: Program
    regions: int


def load(name: str) -> Case:
    spec = json.loads((FOLDER / "spec.json").read_text(encoding="utf-8"))[name]
    network = Network.from_npz(FOLDER / f"{name}.npz", relu_last=spec["relu_after"][-1])
    box = Box.cube(*spec["box"], dim=spec["widths"][0])
    return Case(network, box, compile_program(network, box), spec["regions"])
