"""Pictures of carvings."""

from polycarve.plot.regions import plot_regions

__all__ = ["plot_regions"]
