"""Bounds on the number of activation regions: one function a theorem, exact integers.

The first argument is the dimension of the domain (of a carving, ``carving.domain.rank``), the
second the widths of the hidden layers, each of which reads the one before (see
`polycarve.theory.upper` for skip connections). Upper bounds are plain integers and hold for every
network of the architecture. A statement with a condition, as every lower bound is, returns a
`Bound`: a value, or None with the reason. `all_bounds` puts those that need nothing but the
architecture of a ReLU network into one table. Theorems of Serra, Tjandraatmadja and Ramalingam are
numbered as in their text on OpenReview; the print of 2018 may number them otherwise.

>>> import polycarve as pc
>>> pc.bounds.serra(2, [5, 5, 5])
4096
>>> pc.bounds.uneven_split_lower(2, [5, 5, 5])
Bound(value=1024, reason='')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polycarve.theory.arguments import architecture
from polycarve.theory.arrangements import (
    bounded_regions,
    central_regions,
    faces,
    facets,
    parallel_families,
    regions_by_recursion,
    regions_of_rank,
    zaslavsky,
)
from polycarve.theory.bound import Bound, BoundRow
from polycarve.theory.growth import MOST_BITS, order_of_growth, rule_of_thumb
from polycarve.theory.lower import (
    arora_lower,
    montufar_lower,
    pascanu_lower,
    serra_lower,
    serra_zonotope_lower,
    uneven_split_lower,
)
from polycarve.theory.matrix_form import (
    hinz_van_de_geer,
    serra_histogram,
    trivial_histogram,
    zaslavsky_histogram,
)
from polycarve.theory.one_dimension import one_dimensional_maximum
from polycarve.theory.other_units import (
    leaky,
    maxout,
    maxout_layer,
    maxout_serra,
    piecewise_linear,
)
from polycarve.theory.upper import (
    naive,
    naive_min_dims,
    serra,
    serra_recursion,
    serra_with_ranks,
    serra_with_stable,
    trivial,
)

__all__ = [
    "Bound",
    "BoundRow",
    "all_bounds",
    "arora_lower",
    "bounded_regions",
    "central_regions",
    "faces",
    "facets",
    "hinz_van_de_geer",
    "leaky",
    "maxout",
    "maxout_layer",
    "maxout_serra",
    "montufar_lower",
    "naive",
    "naive_min_dims",
    "one_dimensional_maximum",
    "order_of_growth",
    "parallel_families",
    "pascanu_lower",
    "piecewise_linear",
    "regions_by_recursion",
    "regions_of_rank",
    "rule_of_thumb",
    "serra",
    "serra_histogram",
    "serra_lower",
    "serra_recursion",
    "serra_with_ranks",
    "serra_with_stable",
    "serra_zonotope_lower",
    "trivial",
    "trivial_histogram",
    "uneven_split_lower",
    "zaslavsky",
    "zaslavsky_histogram",
]


def all_bounds(n0: int, widths: Sequence[int]) -> list[BoundRow]:
    """Return every statement about the architecture of a ReLU network, as rows of a table.

    Parameters
    ----------
    n0 : int
        Dimension of the domain.
    widths : sequence of int
        Of the hidden layers.

    Returns
    -------
    list of BoundRow
        ``(name, kind, value, reason, source)``: upper bounds, maxima, lower bounds, and a rule of
        thumb. What applies to given weights, or to other units than ReLUs, is not among them.
        A power of millions of digits is not written down: a reason stands in its place.

    Examples
    --------
    >>> for row in all_bounds(2, [2, 2, 2])[3:6]:
    ...     print(row.name, row.kind, row.value, row.reason)
    naive_min_dims upper 64
    serra upper 30
    zaslavsky maximum None needs a single hidden layer; there are 3
    """
    d, ns = architecture(n0, widths)
    rows = []
    for name, kind, law, source in _STATEMENTS:
        answer = law(d, ns)
        value, reason = answer if isinstance(answer, Bound) else (answer, "")
        rows.append(BoundRow(name, kind, value, reason, source))
    return rows


def _patterns(d: int, ns: Sequence[int]) -> Bound:
    if sum(ns) > MOST_BITS:
        return Bound(None, "2^N has too many digits to be written down")
    return Bound(trivial(d, ns))


def _one_layer(d: int, ns: Sequence[int]) -> Bound:
    if len(ns) > 1:
        return Bound(None, f"needs a single hidden layer; there are {len(ns)}")
    return Bound(zaslavsky(d, ns[0]))


_SERRA = "Serra, Tjandraatmadja, Ramalingam 2018"

_STATEMENTS: list[tuple[str, str, Callable[[int, Sequence[int]], int | Bound], str]] = [
    ("trivial", "upper", _patterns, "number of patterns"),
    ("order_of_growth", "upper", order_of_growth, "O(k^(dL)) without its constant"),
    ("naive", "upper", naive, "product of Zaslavsky's numbers"),
    ("naive_min_dims", "upper", naive_min_dims, "Montufar 2017"),
    ("serra", "upper", serra, f"{_SERRA}, Theorem 1"),
    ("zaslavsky", "maximum", _one_layer, "Zaslavsky 1975, Theorem A"),
    ("one_dimensional_maximum", "maximum", one_dimensional_maximum, f"{_SERRA}, Theorem 5"),
    ("pascanu_lower", "lower", pascanu_lower, "Pascanu, Montufar, Bengio 2014"),
    ("montufar_lower", "lower", montufar_lower, "Montufar, Pascanu, Cho, Bengio 2014"),
    ("arora_lower", "lower", arora_lower, "Arora, Basu, Mianjy, Mukherjee 2018"),
    ("serra_lower", "lower", serra_lower, f"{_SERRA}, Theorem 6"),
    ("serra_zonotope_lower", "lower", serra_zonotope_lower, f"{_SERRA}, Theorem 7"),
    ("uneven_split_lower", "lower", uneven_split_lower, "folds of montufar_lower and serra_lower"),
    ("rule_of_thumb", "rule of thumb", rule_of_thumb, "N^d/d!, no bound; Hanin, Rolnick 2019"),
]
