"""Tables of text: columns aligned by their widest cell."""

from __future__ import annotations

from collections.abc import Sequence


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
