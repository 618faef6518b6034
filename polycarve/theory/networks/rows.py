"""Hyperplanes in general position: points of the moment curve."""

from __future__ import annotations


def moments(dim: int, count: int) -> list[list[int]]:
    """Return ``count`` vectors ``(1, t, ..., t^(dim-1))``: any ``dim`` of them are independent.

    The numbers ``t`` are whole, one after the other, and about 0, which keeps the powers small.
    """
    return [[t**k for k in range(dim)] for t in _parameters(count)]


def simple_rows(dim: int, count: int) -> tuple[list[list[int]], list[int]]:
    """Return ``(rows, levels)`` of ``count`` hyperplanes ``row @ x = level`` in general position.

    With ``level = t^dim``, ``dim + 1`` of them with a common point would make a Vandermonde
    determinant vanish.
    """
    return moments(dim, count), [t**dim for t in _parameters(count)]


def _parameters(count: int) -> range:
    return range(-((count - 1) // 2), count // 2 + 1)
