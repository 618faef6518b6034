"""The region graph for other programs: a networkx view, and file formats."""

from polycarve.graph.columns import check_attributes
from polycarve.graph.files import check_folder, write_graph, writer_for
from polycarve.graph.view import to_networkx

__all__ = ["check_attributes", "check_folder", "to_networkx", "write_graph", "writer_for"]
