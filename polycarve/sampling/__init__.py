"""What random inputs find of a network's regions, and how many they say there are."""

from polycarve.sampling.estimate import CountEstimate
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
    "chao1",
    "frequency_counts",
    "good_toulmin",
    "good_turing_mass",
    "jackknife",
    "observed",
    "sample",
]
