"""What every method answers to, and the list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from polycarve.errors import InputError
from polycarve.splitting.cells import Cells, Keep, Leaves
from polycarve.splitting.program import Program


@dataclass(frozen=True)
class Advance:
    """What became of some cells after a bounded amount of work.

    Attributes
    ----------
    n_leaves : int
    leaves : Leaves
        Empty where only the number was asked for.
    rest : Cells
        What is left to do, in the order of patterns; all of it comes after the leaves.
    n_doubtful : int
        Decisions that rounding could not settle.
    finished : float
        Sum of ``2**-depth`` over the leaves: the share of the tree that is done.
    counts : dict of str to int
        What the work consisted of, for benchmarks: linear programs, pivots.
    """

    n_leaves: int
    leaves: Leaves
    rest: Cells
    n_doubtful: int
    finished: float
    counts: dict[str, int]


class Method(Protocol):
    """A way to decide which hyperplanes cut a cell.

    ``resolution`` says how far apart, relative to data of size one, two hyperplanes must be for
    the method to tell them apart; what is closer counts as doubtful. ``budget`` is how many
    steps take a fraction of a second: how often the loop looks up from its work.
    """

    name: str
    resolution: float
    budget: int

    def start(self, program: Program) -> Cells:
        """Return the domain as a frontier."""

    def advance(
        self, program: Program, cells: Cells, *, budget: int, capacity: int, keep: Keep
    ) -> Advance:
        """Work on cells in order, for about `budget` steps and at most `capacity` leaves.

        Shapes are kept by the method ``vertices`` alone.
        """


def method_named(name: str) -> Method:
    """Return the method of a name; import what it needs only then."""
    if name == "simplex":
        from polycarve.splitting.simplex import Simplex

        return Simplex()
    if name == "vertices":
        from polycarve.splitting.vertices import Vertices

        return Vertices()
    if name == "highs":
        from polycarve.splitting.highs import Highs

        return Highs()
    if isinstance(name, str) and name.partition(":")[0] == "cvxpy":
        from polycarve.splitting.cvxpy import Cvxpy

        return Cvxpy(name)
    raise InputError(
        f"method {name!r} is unknown. Choose one of: {', '.join(METHODS)} (or cvxpy:SOLVER), "
        f"or 'auto'."
    )


METHODS = ("simplex", "vertices", "highs", "cvxpy")
