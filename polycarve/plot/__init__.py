"""Pictures of carvings."""

from polycarve.plot.comparison import plot_comparison
from polycarve.plot.regions import plot_regions

__all__ = ["plot_comparison", "plot_regions"]
