"""Two small networks that come with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

from polycarve.networks.network import Network


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


def fig19() -> Network:
    """Return a network of three layers of two neurons each, all followed by a ReLU.

    Examples
    --------
    The second layer cuts the four regions of the first into 1, 3, 2 and 4:

    >>> import polycarve as pc
    >>> carving = pc.carve(fig19(), pc.Box.cube(-4, 6, dim=2))
    >>> carving.layer_counts
    (4, 10, 17)
    >>> [len(carving.children(region.code)) for region in carving.children()]
    [1, 3, 2, 4]
    >>> [region.code for region in carving.children()]
    ['ii', 'ai', 'ia', 'aa']
    """
    return _shipped("fig19")


def _shipped(name: str) -> Network:
    with as_file(files("polycarve.networks") / "data" / f"{name}.npz") as path:
        return Network.from_npz(path)
