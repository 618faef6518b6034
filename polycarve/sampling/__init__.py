"""What random inputs, lines and walks say about the number of regions."""

from polycarve.sampling.enumeration import stochastic_enumeration
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.probes import inverse_volume, knuth_probe, layer_probe

__all__ = [
    "CountEstimate",
    "inverse_volume",
    "knuth_probe",
    "layer_probe",
    "stochastic_enumeration",
]
