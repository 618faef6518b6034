"""Pictures of carvings, drawn exactly; matplotlib is loaded on first use.

Every function takes the axes to draw on and returns them, and none of them shows anything.
"""

from polycarve.plot.arrangements import plot_arrangement
from polycarve.plot.comparison import plot_comparison
from polycarve.plot.graphs import plot_graph
from polycarve.plot.layers import plot_layers
from polycarve.plot.regions import plot_regions

__all__ = ["plot_arrangement", "plot_comparison", "plot_graph", "plot_layers", "plot_regions"]
