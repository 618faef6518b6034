"""A network together with what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from polycarve.networks import Network


@dataclass(frozen=True)
class KnownNetwork:
    """A network with exact weights, whose number of activation regions is known.

    Attributes
    ----------
    network : Network
    regions : int
        How many activation regions it has, on `box` or on all of R^d.
    note : str
        What it shows, and which bound it reaches.
    input_dim : int
    box : tuple of (lo, hi) pairs, or None
        Where that holds, in the form that stands for a box wherever a domain is asked for. None
        is all of R^d.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.theory import networks
    >>> known = networks.tent(3)
    >>> known.regions, pc.count_regions(known.network, known.box)
    (8, 8)
    >>> known = networks.shi(3)
    >>> known.regions, pc.count_regions(known.network, pc.Space(known.input_dim))
    (16, 16)
    """

    network: Network
    regions: int
    note: str
    input_dim: int
    box: tuple[tuple[int | Fraction, int | Fraction], ...] | None = None


def one_layer(
    rows: Sequence[Sequence[int]], levels: Sequence[int | Fraction], regions: int, note: str
) -> KnownNetwork:
    """Return the network whose units cut all of R^d along ``row @ x = level``."""
    network = Network.from_arrays([rows], [[-level for level in levels]], relu_last=True)
    return KnownNetwork(network, regions, note, network.input_dim)
