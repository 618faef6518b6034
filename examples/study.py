"""What the studies beside this file share: their command line, random networks, CSV and figure.

Every study is run as ``python examples/NAME.py --out DIR`` and writes ``NAME.csv`` and ``NAME.png``
into DIR. With ``--small`` it does the same on settings that take seconds. Needs
``pip install 'polycarve[plot]'``.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

import polycarve as pc

# Okabe and Ito: told apart by all kinds of eyes.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#777777"


class Settings(NamedTuple):
    """What a study was asked for on the command line."""

    out: Path
    small: bool


def settings(description: str, arguments: Sequence[str] | None = None) -> Settings:
    """Read the command line of a study, and let figures be drawn without a screen."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("studies"), help="folder for the files")
    parser.add_argument("--small", action="store_true", help="settings that take seconds")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    matplotlib.use("Agg")
    return Settings(given.out, given.small)


def random_network(widths: Sequence[int], seed: int) -> pc.Network:
    """Return a network of the widths given, input first and one output added.

    Weights are normal with variance 2 / fan-in, which keeps activations at one size from layer to
    layer; biases are normal with standard deviation 0.3, so that hyperplanes miss the origin.
    """
    rng = np.random.default_rng(seed)
    pairs = list(pairwise([*widths, 1]))
    weights = [rng.normal(0, np.sqrt(2 / n), (m, n)) for n, m in pairs]
    biases = [rng.normal(0, 0.3, m) for _, m in pairs]
    return pc.Network.from_arrays(weights, biases)


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with the same keys, those of the first as the head."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def save(figure: Any, path: Path) -> None:
    """Write a figure and let it go."""
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=130)
    plt.close(figure)
