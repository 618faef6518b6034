"""Train the network that the package ships as ``polycarve.networks.examples.moons``.

    python scripts/train_moons.py moons.npz moons-training.npz

Needs scikit-learn for the data and torch for the training. A classifier 2-5-5-5-2 with ReLUs
learns two interleaved half circles: 1500 full-batch steps of Adam on the cross-entropy, in
float32, inputs as `make_moons` returns them. The weights are written as float64, which holds
them exactly; the second file holds the points, their labels, and the loss of every step.

What is reproduced: with torch 2.13.0 (CPU) and scikit-learn 1.9.1 the weights come out equal to
the shipped ones bit for bit, and the loss of the last step, taken before its update, is
3.71e-04. Torch promises no such equality from one release or processor to another; where the
difference printed is not zero, the shipped file is the reference. Trained in float64 from the
same initial weights, the result differs by about 4e-6.
"""

from __future__ import annotations

import argparse
import random
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import make_moons
from torch import nn

SEED = 37
WIDTHS = (2, 5, 5, 5, 2)
STEPS = 1500
LEARNING_RATE = 0.003

Arrays = dict[str, npt.NDArray[Any]]


def train() -> tuple[nn.Sequential, Arrays]:
    """Return the trained network, and the data with the loss of every step."""
    # Only torch's generator, which draws the initial weights, shows in the result; the other two
    # are seeded so that nothing random is left.
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002
    torch.manual_seed(SEED)
    points, labels = make_moons(1500, noise=0.05, random_state=SEED)
    inputs, targets = torch.tensor(points, dtype=torch.float32), torch.tensor(labels)

    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(WIDTHS):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])  # no ReLU after the last map

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    training: Arrays = {
        "points": inputs.numpy(),
        "labels": labels.astype(np.uint8),
        "loss": np.array(losses, dtype=np.float32),
    }
    return model, training


def arrays_of(model: nn.Sequential) -> Arrays:
    """Return ``W0, b0, W1, b1, ...`` in float64."""
    linear = [layer for layer in model if isinstance(layer, nn.Linear)]
    arrays: Arrays = {}
    for k, layer in enumerate(linear):
        arrays[f"W{k}"] = layer.weight.detach().double().numpy()
        arrays[f"b{k}"] = layer.bias.detach().double().numpy()
    return arrays


def largest_difference(arrays: Arrays) -> float:
    """Return how far the arrays are from the shipped ones, in the largest entry."""
    with (
        as_file(files("polycarve.networks") / "data" / "moons.npz") as path,
        np.load(path) as shipped,
    ):
        return max(float(np.abs(array - shipped[key]).max()) for key, array in arrays.items())


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the network of two moons.")
    parser.add_argument("path", type=Path, help="where to write the weights, an .npz file")
    parser.add_argument("training", type=Path, help="where to write the data and the losses")
    args = parser.parse_args()
    model, training = train()
    arrays = arrays_of(model)
    np.savez(args.path, **arrays, relu_last=np.array(False))
    np.savez_compressed(args.training, **training)
    print(f"final loss: {training['loss'][-1]:.2e}")
    print(f"largest difference to the shipped weights: {largest_difference(arrays):.1e}")


if __name__ == "__main__":
    main()
