"""What random inputs, lines and walks find of a network's regions, and how many they say there are.

Points are weighed by volume: what they find stays below the number of regions (`sample`, and the
estimates of what it missed). Walks down the layers (`layer_probe`, `stochastic_enumeration`) and
lines (`random_lines`) are right on average.
"""

from polycarve.sampling.enumeration import stochastic_enumeration
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.lines import boundary_size, random_lines
from polycarve.sampling.probes import inverse_volume, knuth_probe, layer_probe
from polycarve.sampling.richness import (
    ace,
    all_estimates,
    chao1,
    frequency_counts,
    good_toulmin,
    good_turing_mass,
    jackknife,
    observed,
)
from polycarve.sampling.sample_estimate import SampleEstimate
from polycarve.sampling.samples import sample

__all__ = [
    "CountEstimate",
    "SampleEstimate",
    "ace",
    "all_estimates",
    "boundary_size",
    "chao1",
    "frequency_counts",
    "good_toulmin",
    "good_turing_mass",
    "inverse_volume",
    "jackknife",
    "knuth_probe",
    "layer_probe",
    "observed",
    "random_lines",
    "sample",
    "stochastic_enumeration",
]
