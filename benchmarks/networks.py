"""The networks that are timed: those of the tests, with their programs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from polycarve.domains import Box
from polycarve.networks import Network
from polycarve.splitting.program import Program, compile_program

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests are no installed package
from tests import cases


@dataclass(frozen=True)
class Case:
    """A network on a box, with the number of regions it has there."""

    network: Network
    box: Box
    program: Program
    regions: int


def load(name: str) -> Case:
    case = cases.spec()[name]
    network = case.network
    return Case(network, case.box, compile_program(network, case.box), case.regions)
