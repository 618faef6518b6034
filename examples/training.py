"""Regions while a classifier of two moons is trained (torch).

`polycarve.CarveCallback` carves the module at chosen steps of an ordinary training loop.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from study import BLUE, GREEN, ORANGE, RED, save, settings, write_csv

import polycarve as pc

BOX = pc.Box([-2, "-1.5"], [3, 2])
WIDTHS = (2, 16, 16, 16, 2)


def moons(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return points on two interleaved half circles, with some noise, and their classes."""
    angle = rng.uniform(0, np.pi, n)
    label = rng.integers(0, 2, n)
    x = np.where(label, 1 - np.cos(angle), np.cos(angle))
    y = np.where(label, 0.5 - np.sin(angle), np.sin(angle))
    return np.stack([x, y], axis=1) + rng.normal(0, 0.08, (n, 2)), label


def train(n_steps: int, every: list[int]) -> tuple[pc.CarveCallback, Any]:
    """Return what was found while training, and the points trained on."""
    import torch

    torch.manual_seed(0)
    points, labels = moons(400, np.random.default_rng(0))
    inputs, targets = torch.tensor(points, dtype=torch.float32), torch.tensor(labels)
    layers: list[Any] = []
    for n_in, n_out in pairwise(WIDTHS):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    callback = pc.CarveCallback(BOX, steps=every, keep="carvings")
    for step in range(n_steps + 1):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        callback(step, model, loss=loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return callback, points


def main(arguments: list[str] | None = None) -> None:
    given = settings(__doc__, arguments)
    n_steps = 100 if given.small else 2000
    chosen = np.unique(np.geomspace(1, n_steps, 8 if given.small else 30).round().astype(int))
    callback, points = train(n_steps, [0, *chosen.tolist()])
    rows = []
    for record in callback.records:
        layers = {f"layer{k}": n for k, n in enumerate(record.layer_counts, start=1)}
        rows.append({"step": record.step, **layers, **record.values})
    write_csv(given.out / "training.csv", rows)
    draw(callback, points, given.out / "training.png")


def draw(callback: pc.CarveCallback, points: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    from polycarve.plot import plot_regions

    figure = plt.figure(figsize=(12, 4.6), layout="constrained")
    grid = figure.add_gridspec(2, 3, width_ratios=[1.3, 1, 1], height_ratios=[2, 1])
    upper = figure.add_subplot(grid[0, 0])
    lower = figure.add_subplot(grid[1, 0], sharex=upper)
    steps = callback.steps
    for k, color in enumerate((GREEN, ORANGE, BLUE)):
        counts = [record.layer_counts[k] for record in callback.records]
        upper.plot(steps, counts, color=color, marker=".", label=f"after layer {k + 1}")
    room = 1.2 * callback.counts.max()  # for the legend above the lines
    upper.set(xscale="symlog", ylabel="regions", title="regions while training", ylim=(0, room))
    upper.tick_params(labelbottom=False)
    upper.legend(fontsize=8, loc="upper center", ncols=3)
    lower.plot(steps, [record.values["loss"] for record in callback.records], color=RED)
    lower.set(yscale="log", xlabel="step", ylabel="loss")
    for ax in (upper, lower):
        ax.grid(alpha=0.25)
    for place, which in ((1, 0), (2, -1)):
        ax = figure.add_subplot(grid[:, place])
        carving = callback.carvings[which]
        plot_regions(carving, ax=ax)
        ax.scatter(*points.T, s=3, color="white", edgecolor="black", linewidth=0.3)
        ax.set_title(f"step {steps[which]}: {len(carving)} regions")
    save(figure, path)


if __name__ == "__main__":
    main()
