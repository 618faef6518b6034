"""The tools that are compared: which job of each answers which output, and what it is.

Nothing here imports them, nor NumPy: the process that gives orders stays small, because what it
occupies could show in its children's peak memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

OUTPUTS = {
    "patterns": "the regions, each one identified",
    "points": "patterns, and a point inside every region",
    "facets": "patterns, and the irredundant halfspaces of every region",
    "vertices": "patterns, and the vertices of every region",
}


@dataclass(frozen=True)
class Tool:
    """A program, or one method of polycarve.

    ``jobs`` says what is run for an output; where two outputs come out of one job, it is run
    once. ``planar`` are the outputs that it gives in the plane only.
    """

    name: str
    program: str
    module: str
    package: str
    jobs: dict[str, str]
    returns: str
    arithmetic: str
    method: str = ""
    planar: frozenset[str] = frozenset()

    def job(self, output: str, dim: int) -> str | None:
        """Return the job that answers an output in a dimension, None where there is none."""
        return None if dim != 2 and output in self.planar else self.jobs.get(output)

    @property
    def is_installed(self) -> bool:
        return self.program == "polycarve" or find_spec(self.package) is not None

    @property
    def version(self) -> str:
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "(version unknown)" if self.is_installed else "not installed"


POLYCARVE = Tool(
    name="polycarve",
    program="polycarve",
    module="run_polycarve",
    package="polycarve",
    method="auto",
    jobs={"patterns": "points", "points": "points", "facets": "facets", "vertices": "vertices"},
    returns="patterns and points in one go, so that its figures for both are the same; facets and "
    "vertices from these, the time of the carving included",
    arithmetic="float64 with error bounds; decisions that these leave open are counted as doubtful",
)
AFFINITREE = Tool(
    name="affinitree",
    program="affinitree",
    module="run_affinitree",
    package="affinitree",
    jobs={"patterns": "tree", "points": "points", "vertices": "vertices"},
    returns="a decision tree whose leaves are the regions; a path stands for a pattern, which is "
    "not read out. Points are Chebyshev centres by its own linear programs, vertices come from its "
    "function for plots in the plane. Its halfspaces are those of a path, redundant ones among "
    "them: no facets",
    arithmetic="float64",
    planar=frozenset({"vertices"}),
)
REGIONCAM = Tool(
    name="regioncam",
    program="regioncam",
    module="run_regioncam",
    package="regioncam",
    jobs={output: output for output in OUTPUTS},
    returns="a subdivision of the square into faces, with edges and vertices, in the plane only. "
    "Patterns are read from the affine maps of the faces, points are the means of a face's "
    "vertices, facets the lines through its edges",
    arithmetic="float32",
    planar=frozenset(OUTPUTS),
)
HIGHS = Tool(
    name="HiGHS",
    program="HiGHS",
    module="run_highs",
    package="highspy",
    jobs={"patterns": "points", "points": "points"},
    returns="patterns and points of the plain recursion in Python: a linear program for each side "
    "of a neuron that the cell's known point does not settle. One model lives throughout: rows "
    "are added and removed, and every program starts from the basis of the one before",
    arithmetic="float64; feasibility to 1e-9, signs to 1e-9",
)
PEERS = (AFFINITREE, REGIONCAM, HIGHS)


def polycarve_method(name: str) -> Tool:
    """Return polycarve with a method by name, which is compared by patterns and points alone."""
    jobs = {"patterns": "points", "points": "points"}
    return replace(POLYCARVE, name=f"polycarve {name}", method=name, jobs=jobs)
