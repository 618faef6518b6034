"""Two small networks that come with the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.networks.network import Network

_DATA = files("polycarve.networks") / "data"


def moons() -> Network:
    """Return a trained classifier of two interleaved half circles, 2-5-5-5-2.

    Its weights are made by ``scripts/train_moons.py``. On the box ``[-3, 3]^2`` it has 66
    activation regions.

    Examples
    --------
    >>> moons()
    Network(2 -> relu 5 -> relu 5 -> relu 5 -> 2)
    """
    return _shipped("moons")


class Training(NamedTuple):
    """What a network was trained on, and how that went.

    Attributes
    ----------
    points : (n, d) float64
    labels : (n,) int64
    loss : (steps,) float64
        The loss of each step, taken before its update.
    """

    points: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]
    loss: npt.NDArray[np.float64]


def moons_training() -> Training:
    """Return the points that `moons` was trained on, their labels, and the loss of every step.

    Written by ``scripts/train_moons.py`` together with the weights; the numbers are float32.

    Examples
    --------
    >>> training = moons_training()
    >>> training.points.shape, f"{training.loss[-1]:.2e}"
    ((1500, 2), '3.71e-04')
    """
    with as_file(_DATA / "moons-training.npz") as path, np.load(path) as file:
        return Training(
            file["points"].astype(np.float64),
            file["labels"].astype(np.int64),
            file["loss"].astype(np.float64),
        )


def fig19() -> Network:
    """Return a network of three layers of two neurons each, all followed by a ReLU.

    Examples
    --------
    The second layer cuts the four regions of the first into 1, 2, 3 and 4:

    >>> import polycarve as pc
    >>> carving = pc.carve(fig19(), pc.Box.cube(-4, 6, dim=2))
    >>> carving.layer_counts
    (4, 10, 17)
    >>> [(region.code, len(carving.children(region.code))) for region in carving.children()]
    [('ii', 1), ('ia', 2), ('ai', 3), ('aa', 4)]

    Where the second layer is dead, the last neuron is active; the one before it is active only
    where the second neuron of the second layer is:

    >>> second = {region.code: carving.children(region.code) for region in carving.at_layer(2)}
    >>> {code: [child.code[-2:] for child in found] for code, found in second.items()}
    {'ii|ai': ['ii'], 'ia|ii': ['ia'], 'ia|ai': ['ii', 'ia'], 'ai|ia': ['ai'], 'ai|ai': ['ii'],
     'ai|aa': ['ii', 'ai'], 'aa|ii': ['ia'], 'aa|ia': ['ii', 'ia', 'ai'], 'aa|ai': ['ii', 'ia'],
     'aa|aa': ['ii', 'ia', 'ai']}
    """
    return _shipped("fig19")


def _shipped(name: str) -> Network:
    with as_file(_DATA / f"{name}.npz") as path:
        return Network.from_npz(path)
