"""Networks to compare on, and what else needs NumPy or polycarve before anything is timed.

Run as ``python -m peers_tools.making '{...}'``: makes the network that is asked for, as a file of
arrays ``W0, b0, ...``, and prints what there is to say about it. All tools get the hidden layers
only: the last affine map cuts nothing.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from peers_tools import degenerate

Layers = list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]

N_SAMPLES, N_EPOCHS, BATCH, RATE = 1024, 20, 64, 3e-3


def initial(widths: list[int], seed: int) -> Layers:
    """Return torch's default initialisation: all uniform within one over the root of the fan-in."""
    rng = np.random.default_rng([seed, *widths])
    layers = []
    for n_in, n_out in pairwise(widths):
        bound = n_in**-0.5
        weight = rng.uniform(-bound, bound, (n_out, n_in))
        layers.append((weight, rng.uniform(-bound, bound, n_out)))
    return layers


def task(dim: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the samples of a smooth function on the cube, of mean near 0 and variance near 1."""
    X = np.random.default_rng(0).uniform(-1, 1, (N_SAMPLES, dim))
    waves = np.sin(np.pi * X) + np.cos(np.pi * (X + np.roll(X, 1, axis=1)))
    return X, waves.mean(axis=1) * dim**0.5


def forward(layers: Layers, X: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Return what goes into every layer, and the output last."""
    values = [X]
    for k, (weight, bias) in enumerate(layers):
        z = values[-1] @ weight.T + bias
        values.append(z if k + 1 == len(layers) else np.maximum(z, 0.0))
    return values


def train(layers: Layers, seed: int) -> Layers:
    """Fit the task by Adam on the mean square error."""
    X, y = task(layers[0][0].shape[1])
    rng = np.random.default_rng(seed)
    numbers = [array.copy() for layer in layers for array in layer]
    means, squares = ([np.zeros_like(array) for array in numbers] for _ in range(2))
    step = 0
    for _ in range(N_EPOCHS):
        for rows in np.split(rng.permutation(N_SAMPLES), N_SAMPLES // BATCH):
            step += 1
            current = list(zip(numbers[::2], numbers[1::2], strict=True))
            values = forward(current, X[rows])
            error = 2 / BATCH * (values[-1] - y[rows, None])
            for k in reversed(range(len(current))):
                gradients = (error.T @ values[k], error.sum(axis=0))
                error = (error @ current[k][0]) * (values[k] > 0)
                for at, gradient in zip((2 * k, 2 * k + 1), gradients, strict=True):
                    means[at] += 0.1 * (gradient - means[at])
                    squares[at] += 0.001 * (gradient**2 - squares[at])
                    mean, square = means[at] / (1 - 0.9**step), squares[at] / (1 - 0.999**step)
                    numbers[at] -= RATE * mean / (np.sqrt(square) + 1e-8)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def loss(layers: Layers) -> float:
    X, y = task(layers[0][0].shape[1])
    return float(np.mean((forward(layers, X)[-1][:, 0] - y) ** 2))


def make(order: dict[str, Any]) -> dict[str, Any]:
    """Write the network of an order.

    Return how well it does its task, or how many regions it has, where there is an answer.
    """
    said: dict[str, Any] = {}
    if "case" in order:
        hidden = [
            (np.array(W, dtype=np.float64), np.array(b, dtype=np.float64))
            for W, b in degenerate.case_named(order["case"]).layers
        ]
        said["count"] = degenerate.exact_count(order["case"])
    elif "copy" in order:
        with np.load(order["copy"]) as file:
            n = sum(key.startswith("W") for key in file.files)
            hidden = [(file[f"W{k}"], file[f"b{k}"]) for k in range(n - 1)]
    else:
        layers = initial(order["widths"], order["seed"])
        if order["weights"] == "trained":
            layers = train(layers, order["seed"])
        # One of the tools reads float32: rounded to it, the numbers are the same for all.
        layers = [(W.astype(np.float32).astype(float), b.astype(np.float32).astype(float))
                  for W, b in layers]  # fmt: skip
        said["loss"] = loss(layers)
        hidden = layers[:-1]
    arrays: dict[str, Any] = {}
    for k, (weight, bias) in enumerate(hidden):
        arrays |= {f"W{k}": weight, f"b{k}": bias}
    np.savez(order["path"], **arrays)
    return said


def read(path: str) -> Layers:
    with np.load(path) as file:
        return [(file[f"W{k}"], file[f"b{k}"]) for k in range(len(file.files) // 2)]


def about() -> dict[str, Any]:
    """Say which methods polycarve has, and what is at work here."""
    import polycarve
    from polycarve.splitting.method import METHODS

    return {
        "methods": [name for name in ("simplex", "vertices") if name in METHODS],
        "polycarve": getattr(polycarve, "__version__", ""),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(about() if "about" in given else make(given)))
