"""What the theorems are asked about: whole numbers, and widths layer by layer."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from reprlib import repr as short
from typing import Any

from polycarve.errors import InputError


def whole(value: Any, what: str, *, least: int = 0) -> int:
    """Read a whole number of at least `least`; floats and booleans are none."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InputError(f"{what} is {short(value)}; a whole number is needed.")
    if number < least:
        raise InputError(f"{what} is {short(number)}; it must be at least {least}.")
    return number


def architecture(n0: Any, widths: Any) -> tuple[int, tuple[int, ...]]:
    """Read an input dimension and the widths of the hidden layers, of which there is one or more.

    The dimension may be 0: that of a domain with one point.
    """
    dim = whole(n0, "n0")
    given = listed(widths, "widths")
    if not given:
        raise InputError(
            "widths is empty; give the width of each hidden layer. (A network without hidden "
            "layers has one region.)"
        )
    return dim, tuple(whole(n, f"widths[{k}]", least=1) for k, n in enumerate(given))


def per_layer(given: Any, what: str, most: tuple[int, ...], limit: str) -> tuple[int, ...]:
    """Read one whole number a layer, none above the layer's entry of `most`."""
    values = listed(given, what)
    if len(values) != len(most):
        raise InputError(
            f"{what} has {len(values)} entries for {len(most)} layers; give one a layer."
        )
    numbers = tuple(whole(value, f"{what}[{k}]") for k, value in enumerate(values))
    for k, (number, top) in enumerate(zip(numbers, most, strict=True)):
        if number > top:
            raise InputError(f"{what}[{k}] is {number}; it cannot exceed {limit}, {top}.")
    return numbers


def listed(given: Any, what: str) -> list[Any]:
    """Read a sequence of entries."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) and _has_length(given):
        return list(given)
    raise InputError(f"{what} is {short(given)}; a list of whole numbers is needed.")


def _has_length(given: Any) -> bool:
    return getattr(given, "shape", None) != ()  # an array without axes calls itself iterable
