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
    with as_file(files("polycarve.networks") / "data" / f"{name}.npz") as path:
        return Network.from_npz(path)
