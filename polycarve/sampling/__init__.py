"""What random inputs find of a network's regions, and how many they say there are."""

from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.richness import (
    ace,
    chao1,
    frequency_counts,
    good_toulmin,
    good_turing_mass,
    jackknife,
    observed,
)
from polycarve.sampling.samples import SampleEstimate, sample

__all__ = [
    "CountEstimate",
    "SampleEstimate",
    "ace",
    "chao1",
    "frequency_counts",
    "good_toulmin",
    "good_turing_mass",
    "jackknife",
    "observed",
    "sample",
]
