"""Exact numbers as domains are given them, and errors that say which ones are wrong."""

from __future__ import annotations

from typing import Any

from polycarve.errors import DomainError, InputError
from polycarve.rational import ExactArray, fraction


def exact(values: Any, what: str) -> ExactArray:
    """Read an array of numbers that have a float64 near them."""
    if isinstance(values, ExactArray):
        return values
    if isinstance(values, str):
        raise DomainError(f"{what}: {values!r} is not a sequence of numbers.")
    try:
        numbers = ExactArray.of(values if hasattr(values, "__array__") else list(values))
        numbers.float64  # noqa: B018 - kernels need it: fail here if there is none
    except TypeError:
        raise DomainError(f"{what} is {values!r}; an array of numbers is needed.") from None
    except InputError as error:
        raise DomainError(f"{what}: {error}") from None
    return numbers


def vector(values: Any, what: str, per: str = "coordinate") -> ExactArray:
    """Read one number a coordinate, or whatever there is one for."""
    numbers = exact(values, what)
    if numbers.ndim != 1 or not len(numbers):
        raise DomainError(f"{what} has shape {numbers.shape}; one number a {per} is needed.")
    return numbers


def number(value: Any, what: str) -> Any:
    try:
        return fraction(value)
    except InputError as error:
        raise DomainError(f"{what}: {error}") from None
