"""Exact arithmetic: what all that is exact in polycarve stands on.

Numbers are kept as integers over one common denominator (`ExactArray`), so that sums and
products of matrices are integer operations. A float is the dyadic rational it stands for;
integers, `fractions.Fraction` and decimal strings are taken at their word. Plain Python
integers do the work; large matrix products go to python-flint where it is installed.

`strict_feasibility` is a small exact linear program: is the open cell
``{x : A @ x + c > 0}`` non-empty? It answers with a point, or with a proof that there is none.
"""

from polycarve.rational.arrays import ExactArray, fraction, stack
from polycarve.rational.systems import Feasibility, minimum, rank, solve, strict_feasibility

__all__ = [
    "ExactArray",
    "Feasibility",
    "fraction",
    "minimum",
    "rank",
    "solve",
    "stack",
    "strict_feasibility",
]
