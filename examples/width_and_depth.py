"""Regions against width at fixed depth, and against depth at fixed width.

What a network has (exact, and what a sample of points finds of it) beside what its architecture
could have: polynomial in the width, exponential in the depth. Random networks stay far below.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from study import BLUE, GREEN, GREY, ORANGE, RED, random_network, save, settings, write_csv

import polycarve as pc

BOX = pc.Box.cube(-3, 3, dim=2)
DEPTH, WIDTH = 2, 8
POINTS = 10_000


def measure(study: str, widths: tuple[int, ...], seed: int) -> dict[str, Any]:
    """Return the numbers of one random network."""
    net = random_network((2, *widths), seed)
    lower = pc.bounds.uneven_split_lower(2, widths).value
    return {
        "study": study,
        "width": widths[0],
        "depth": len(widths),
        "seed": seed,
        "regions": pc.count_regions(net, BOX),
        "seen": len(pc.sample(net, BOX, POINTS, rng=seed)),
        "upper_bound": pc.bounds.serra(2, widths),
        "maximum_at_least": "" if lower is None else lower,
        "one_layer_as_many_neurons": pc.bounds.zaslavsky(2, sum(widths)),
    }


def main(arguments: list[str] | None = None) -> None:
    given = settings(__doc__, arguments)
    small = [2, 4, 8]
    across = small if given.small else [2, 4, 8, 16, 32, 64, 128]
    down = [1, 2, 3] if given.small else list(range(1, 9))
    seeds = range(2 if given.small else 5)
    rows = [measure("width", (w,) * DEPTH, seed) for w in across for seed in seeds]
    rows += [measure("depth", (WIDTH,) * n, seed) for n in down for seed in seeds]
    write_csv(given.out / "width_and_depth.csv", rows)
    draw(rows, given.out / "width_and_depth.png")


LINES = (
    # key, label, colour, line style, marker
    ("upper_bound", "upper bound (Serra et al.)", RED, "--", ""),
    ("maximum_at_least", "some network has", ORANGE, ":", ""),
    ("one_layer_as_many_neurons", "most with one layer", GREY, "-.", ""),
    ("regions", "exact (median)", BLUE, "-", "o"),
    ("seen", f"seen by {POINTS:,} points", GREEN, "-", "v"),
)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
    for ax, axis in zip(panels, ("width", "depth"), strict=True):
        of_study = [row for row in rows if row["study"] == axis]
        values = values_of(rows, axis)
        for key, label, color, style, marker in LINES:
            heights = [median(row[key] for row in of_study if row[axis] == v) for v in values]
            ax.plot(values, heights, color=color, ls=style, marker=marker, ms=5, label=label)
        singles = [(row[axis], row["regions"]) for row in of_study]
        ax.scatter(*zip(*singles, strict=True), color=BLUE, s=10, alpha=0.5)
        ax.set(yscale="log", xlabel="neurons a layer" if axis == "width" else "hidden layers")
        ax.set_xticks(values, values)
        ax.grid(alpha=0.25)
    panels[0].set_xscale("log")
    panels[0].set_xticks(values_of(rows, "width"), values_of(rows, "width"))
    panels[0].minorticks_off()
    panels[0].set(title=f"{DEPTH} hidden layers", ylabel="regions in $[-3, 3]^2$")
    panels[1].set(title=f"{WIDTH} neurons a layer")
    panels[0].legend(loc="upper left", fontsize=8)
    save(figure, path)


def median(values: Iterable[Any]) -> float:
    """Return the median; not a number where the statement makes no claim."""
    known = [value for value in values if value != ""]
    return float(np.median(known)) if known else np.nan


def values_of(rows: list[dict[str, Any]], axis: str) -> list[int]:
    return sorted({row[axis] for row in rows if row["study"] == axis})


if __name__ == "__main__":
    main()
