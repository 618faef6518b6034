"""The referee along a segment: pieces cut in rational arithmetic, one form after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from polycarve import Network
from polycarve.networks.network import Layer

Form = tuple[Fraction, Fraction]  # (p, q), meaning p + q t


@dataclass
class Piece:
    """An interval on which every value is affine, and the bits known there."""

    low: Fraction
    high: Fraction
    values: list[list[Form]]
    bits: tuple[int, ...] = ()


def pieces(net: Network, x0: Sequence[Any], x1: Sequence[Any]) -> list[Piece]:
    """All activation regions along a segment, in order of t, with their exact bounds."""
    ends = [(Fraction(a), Fraction(b)) for a, b in zip(x0, x1, strict=True)]
    found = [Piece(Fraction(0), Fraction(1), [[(a, b - a) for a, b in ends]])]
    for layer in net.layers:
        W, b = layer.weight.fractions(), layer.bias.fractions()
        found = [part for piece in found for part in through(layer, W, b, piece)]
    joined = found[:1]
    for piece in found[1:]:
        if piece.bits == joined[-1].bits:
            joined[-1].high = piece.high
        else:
            joined.append(piece)
    return joined


def through(layer: Layer, W: list[list[Fraction]], b: list[Fraction], piece: Piece) -> list[Piece]:
    """Take a piece through a layer, cut wherever a form of the layer vanishes."""
    read = [form for value in layer.inputs for form in piece.values[value]]
    z = [
        (
            sum((w * p for w, (p, _) in zip(row, read, strict=True)), shift),
            sum((w * q for w, (_, q) in zip(row, read, strict=True)), Fraction(0)),
        )
        for row, shift in zip(W, b, strict=True)
    ]
    law = layer.activation
    if law is None:
        return [Piece(piece.low, piece.high, [*piece.values, z], piece.bits)]
    roots = {(cut - p) / q for p, q in z for cut in law.cuts if q}
    places = [piece.low, *sorted(t for t in roots if piece.low < t < piece.high), piece.high]
    parts = []
    for low, high in pairwise(places):
        middle = (low + high) / 2
        bits, after = [], []
        for p, q in z:
            on = [p + q * middle > cut for cut in law.cuts]
            bits += map(int, on)
            P, Q = law.slope * p + law.offset, law.slope * q
            for cut, jump, bit in zip(law.cuts, law.jumps, on, strict=True):
                if bit:
                    P, Q = P + jump * (p - cut), Q + jump * q
            after.append((P, Q))
        parts.append(Piece(low, high, [*piece.values, after], (*piece.bits, *bits)))
    return parts
