"""What a conditional statement answers, and a row of the table of all of them."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Bound(NamedTuple):
    """A number that a theorem gives under a condition, or the reason why it gives none.

    Attributes
    ----------
    value : int, Fraction or None
        An int for every theorem, a Fraction for the rule of thumb; None where the condition
        fails, so that nothing is claimed.
    reason : str
        Which condition fails and where; empty where there is a value.

    Examples
    --------
    >>> from polycarve.theory import bounds
    >>> bounds.montufar_lower(2, [5, 5, 5]).value
    256
    >>> bounds.montufar_lower(2, [1, 5, 5])
    Bound(value=None, reason='needs widths of at least n0 = 2; layer 1 has 1')
    """

    value: int | Fraction | None
    reason: str = ""


class BoundRow(NamedTuple):
    """One statement about an architecture, as `all_bounds` lists them.

    Attributes
    ----------
    name : str
        The function of `polycarve.bounds` that says more about it.
    kind : str
        ``"upper"``: no network of the architecture has more regions. ``"maximum"``: none has
        more, and one has as many. ``"lower"``: some network has at least as many, though a given
        one may have fewer. ``"rule of thumb"``: none of these.
    value : int, Fraction or None
        None where the statement's condition fails.
    reason : str
        Why there is no value; else empty.
    source : str
        Authors, year, theorem.
    """

    name: str
    kind: str
    value: int | Fraction | None
    reason: str
    source: str
