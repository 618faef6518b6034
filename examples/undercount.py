"""How a sample of n points undercounts, as n grows; and what estimates make of it.

Small regions are never met: to see one takes about as many points as it fits into the box. What
estimates of the number of unseen species make of it helps a little, and as a rule stays below the
truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from study import BLUE, GREEN, GREY, ORANGE, random_network, save, settings, write_csv

import polycarve as pc
from polycarve.networks import examples


def networks(small: bool) -> dict[str, tuple[pc.Network, pc.Box]]:
    """Return the networks by name, each with its box."""
    chosen = {"moons": (examples.moons(), pc.Box.cube(-3, 3, dim=2))}
    shapes = [(2, 8, 8)] if small else [(2, 32, 32, 32), (3, 16, 16, 16), (5, 12, 12)]
    for widths in shapes:
        name = "-".join(map(str, widths))
        chosen[name] = (random_network(widths, 0), pc.Box.cube(-1, 1, dim=widths[0]))
    return chosen


def main(arguments: list[str] | None = None) -> None:
    given = settings(__doc__, arguments)
    most = 10_000 if given.small else 1_000_000
    rows = []
    for name, (net, box) in networks(given.small).items():
        exact = pc.count_regions(net, box)
        n = 100
        while n <= most:
            found = pc.sample(net, box, n, rng=n)
            estimates = {one.name: one.value for one in found.estimates}
            rows.append(
                {
                    "network": name,
                    "regions": exact,
                    "points": n,
                    "seen": len(found),
                    "chao1": round(estimates["chao1"], 1),
                    "jackknife2": round(estimates["jackknife2"], 1),
                    "unseen_share_of_volume": found.missing_mass,
                }
            )
            n *= 10
    write_csv(given.out / "undercount.csv", rows)
    draw(rows, given.out / "undercount.png")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["network"] for row in rows))
    size = (3.6 * len(names), 3.8)
    figure, panels = plt.subplots(1, len(names), figsize=size, layout="constrained", squeeze=False)
    for ax, name in zip(panels[0], names, strict=True):
        of_net = [row for row in rows if row["network"] == name]
        points, exact = [row["points"] for row in of_net], of_net[0]["regions"]
        ax.axhline(1, color=GREY, ls="--", label="exact")
        for key, color, mark, label in (
            ("seen", BLUE, "o", "seen"),
            ("chao1", ORANGE, "s", "Chao1"),
            ("jackknife2", GREEN, "^", "second jackknife"),
        ):
            shares = [row[key] / exact for row in of_net]
            ax.plot(points, shares, color=color, marker=mark, ms=5, label=label)
        ax.set(xscale="log", ylim=(0, 1.1), title=f"{name}: {exact:,} regions", xlabel="points")
        ax.grid(alpha=0.25)
    panels[0][0].set_ylabel("share of the exact number")
    panels[0][0].legend(loc="lower right", fontsize=8)
    save(figure, path)


if __name__ == "__main__":
    main()
