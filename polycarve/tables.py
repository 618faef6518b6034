"""Tables of text: columns aligned by their widest cell, and numbers of any size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

# Numbers of more digits are strings in JSON: Python may refuse to read them as numbers.
_MOST_DIGITS = 600


def align(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return rows of cells as lines, the columns `right` aligned at their right edge.

    Examples
    --------
    >>> print(align([["regions", "66"], ["neighbours", "3.5"]], right=[1]))
    regions      66
    neighbours  3.5
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def readable(value: int | Fraction | None, most_digits: int = 24) -> str:
    """Return a number for people: all digits up to so many; of longer numbers the first few."""
    if value is None:
        return "-"
    if isinstance(value, Fraction) and value.denominator > 1:
        if value < 10**6:
            return f"{float(value):.1f}"
        value = round(value)
    whole = int(value)
    if whole < 10**most_digits:
        return str(whole)
    shift = max(0, whole.bit_length() - 64)
    exponent, mantissa = divmod(math.log10(whole >> shift) + shift * math.log10(2), 1)
    first, carry = f"{10**mantissa:.3e}".split("e")  # 9.9999 becomes 1.000 and a carry
    return f"~{first}e{int(exponent) + int(carry)}"


def exact_json(value: int | Fraction | None) -> int | str | None:
    """Return a number as JSON can hold it exactly: fractions and very long numbers as strings."""
    if isinstance(value, Fraction):
        if value.denominator > 1:
            return f"{_digits(value.numerator)}/{_digits(value.denominator)}"
        value = value.numerator
    return value if value is None or value < 10**_MOST_DIGITS else _digits(value)


def _digits(value: int) -> str:
    """The decimal digits of a number of any size, by halves that Python agrees to print."""
    if value < 10**_MOST_DIGITS:
        return str(value)
    half = value.bit_length() * 3 // 20
    high, low = divmod(value, 10**half)
    return _digits(high) + _digits(low).zfill(half)
