"""Networks that reach what theory allows, or whose number of regions is a known sequence.

Each constructor returns a `KnownNetwork`: exact weights, the number of regions, and where it holds.
Deep ones: `tent`, `folding`, `sharp_folding`, `sharp_one_dimensional`, `zonotope`, `bottleneck`.
The others have one hidden layer, whose units cut along the hyperplanes of an arrangement.
"""

from polycarve.theory.networks.arrangements import (
    cyclic,
    parallel_families,
    resonance,
    simple,
    threshold,
)
from polycarve.theory.networks.deep import (
    bottleneck,
    folding,
    sharp_folding,
    sharp_one_dimensional,
    tent,
    zonotope,
)
from polycarve.theory.networks.known import KnownNetwork
from polycarve.theory.networks.roots import (
    braid,
    catalan,
    linial,
    semiorder,
    shi,
    type_b,
    type_d,
)

__all__ = [
    "KnownNetwork",
    "bottleneck",
    "braid",
    "catalan",
    "cyclic",
    "folding",
    "linial",
    "parallel_families",
    "resonance",
    "semiorder",
    "sharp_folding",
    "sharp_one_dimensional",
    "shi",
    "simple",
    "tent",
    "threshold",
    "type_b",
    "type_d",
    "zonotope",
]
