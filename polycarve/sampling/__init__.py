"""What random inputs, lines and walks say about the number of regions."""

from polycarve.sampling.enumeration import stochastic_enumeration
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.lines import boundary_size, random_lines
from polycarve.sampling.probes import inverse_volume, knuth_probe, layer_probe

__all__ = [
    "CountEstimate",
    "boundary_size",
    "inverse_volume",
    "knuth_probe",
    "layer_probe",
    "random_lines",
    "stochastic_enumeration",
]
