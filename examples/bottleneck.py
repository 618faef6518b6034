"""One narrow layer: how its width, and its place, hold down the number of regions.

Behind a layer of width 1 all that follows sees one number: its hyperplanes are level sets of that
number, so that they never cross each other. Products of the layers' own counts do not see this;
the bound of Serra et al. does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from study import BLUE, GREY, RED, random_network, save, settings, write_csv

import polycarve as pc

BOX = pc.Box.cube(-3, 3, dim=2)
WIDTH = 12


def measure(place: int, narrow: int, seed: int) -> dict[str, Any]:
    """Return the numbers of a network whose hidden layer `place` (from 1) has `narrow` units."""
    widths = [WIDTH] * 3
    widths[place - 1] = narrow
    net = random_network((2, *widths), seed)
    return {
        "narrow_layer": place,
        "its_width": narrow,
        "seed": seed,
        "regions": pc.count_regions(net, BOX),
        "upper_bound": pc.bounds.serra(2, widths),
        "product": pc.bounds.naive(2, widths),
    }


def main(arguments: list[str] | None = None) -> None:
    given = settings(__doc__, arguments)
    narrow = [1, 2, 4] if given.small else [1, 2, 3, 4, 6, 8, 12]
    seeds = range(2 if given.small else 15)
    rows = [measure(p, n, seed) for p in (1, 2, 3) for n in narrow for seed in seeds]
    write_csv(given.out / "bottleneck.csv", rows)
    draw(rows, given.out / "bottleneck.png")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib import pyplot as plt

    from polycarve.plot import plot_regions

    figure, panels = plt.subplots(1, 4, figsize=(15, 4), layout="constrained")
    for place, ax in enumerate(panels[:3], start=1):
        of_place = [row for row in rows if row["narrow_layer"] == place]
        widths = sorted({row["its_width"] for row in of_place})
        exact = [[r["regions"] for r in of_place if r["its_width"] == w] for w in widths]
        for key, color, style, label in (
            ("product", GREY, "-.", "product of layers"),
            ("upper_bound", RED, "--", "Serra et al."),
        ):
            of_width = {row["its_width"]: row[key] for row in of_place}
            ax.plot(widths, [of_width[w] for w in widths], color=color, ls=style, label=label)
        ax.scatter(
            np.repeat(widths, [len(e) for e in exact]), np.concatenate(exact), color=BLUE, s=8
        )
        ax.plot(
            widths, [np.median(e) for e in exact], color=BLUE, marker="o", label="exact (median)"
        )
        ax.set(yscale="log", title=f"layer {place} is narrow", xlabel="its width", ylim=(1, None))
        ax.set_xticks(widths)
        ax.grid(alpha=0.25)
    panels[0].set_ylabel("regions in $[-3, 3]^2$")
    panels[0].legend(fontsize=8)
    carving = pc.carve(random_network((2, WIDTH, 1, WIDTH), 4), BOX)
    plot_regions(carving, ax=panels[3])
    panels[3].set_title(f"2-{WIDTH}-1-{WIDTH}: {len(carving)} regions")
    save(figure, path)


if __name__ == "__main__":
    main()
