"""The same sweep in exact arithmetic, for the few segments that floats leave in doubt.

On each piece every value is kept as an affine function ``p + q t``, integers over one
denominator for all pieces: breakpoints, whose denominators grow, never enter into values.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polycarve.networks import RELU, Network
from polycarve.networks.network import Layer
from polycarve.rational import ExactArray, stack
from polycarve.segments.nodes import Found, told_apart

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class _Pieces:
    """Pieces of several segments, in order.

    Attributes
    ----------
    segment : (Q,) int64
    low, high : list of Fraction
        Where each piece begins and ends.
    values : dict
        ``(2 Q, m)`` exact arrays: the rows of ``p``, and below them those of ``q``.
    states : list of (Q, n_cuts) bool arrays
        The states of the cuts of each layer that has some.
    """

    def __init__(self, x0: ExactArray, x1: ExactArray) -> None:
        n = len(x0)
        self.segment = np.arange(n)
        self.low, self.high = [Fraction(0)] * n, [Fraction(1)] * n
        self.values = {0: stack([x0, x1 - x0])}
        self.states: list[BoolArray] = []

    def __len__(self) -> int:
        return len(self.low)

    def ends(self, forms: ExactArray, places: list[Fraction]) -> npt.NDArray[np.int8]:
        """Return the signs of forms at one end of each piece."""
        p, q = forms.numerators[: len(self)], forms.numerators[len(self) :]
        above = np.array([t.numerator for t in places], dtype=object)[:, None]
        below = np.array([t.denominator for t in places], dtype=object)[:, None]
        return ExactArray(p * below + q * above, 1).signs()

    def cut(self, forms: ExactArray) -> IntArray:
        """Cut pieces where forms cross zero, and note all states; return the pieces' parents."""
        n = len(self)
        low, high = self.ends(forms, self.low), self.ends(forms, self.high)
        inside: list[dict[Fraction, list[int]]] = [{} for _ in range(n)]
        for piece, form in np.argwhere(low * high < 0).tolist():
            p, q = forms.numerators[piece, form], forms.numerators[n + piece, form]
            inside[piece].setdefault(Fraction(-p, q), []).append(form)
        parent = np.repeat(np.arange(n), [len(found) + 1 for found in inside])
        # Before its crossing, a form has the sign of the piece's low end, if that has any.
        states = (np.where(low != 0, low, high) > 0)[parent]
        lows: list[Fraction] = []
        highs: list[Fraction] = []
        for piece, found in enumerate(inside):
            places = sorted(found)
            first = len(lows)
            lows += [self.low[piece], *places]
            highs += [*places, self.high[piece]]
            for k, place in enumerate(places, start=first + 1):
                states[k : first + len(places) + 1, found[place]] ^= True
        self.low, self.high, self.segment = lows, highs, self.segment[parent]
        self.states = [state[parent] for state in self.states]
        self.states.append(states)
        both = np.concatenate([parent, n + parent])
        self.values = {key: value[both] for key, value in self.values.items()}
        return both


def sweep(network: Network, x0: ExactArray, x1: ExactArray) -> Found:
    """Find the breakpoints of segments with ends ``x0`` and ``x1``, (S, d) each, exactly."""
    layers = network.layers[: network.hidden[-1] + 1] if network.hidden else ()
    last_reader = {v: k for k, layer in enumerate(layers, start=1) for v in layer.inputs}
    pieces = _Pieces(x0, x1)
    for k, layer in enumerate(layers, start=1):
        z = _affine(layer, pieces)
        for value, last in last_reader.items():
            if last == k:
                del pieces.values[value]
        if layer.activation is not None:
            z = _activated(layer, z, pieces)
        if k in last_reader:
            pieces.values[k] = z.reduced()
    return _found(pieces, len(x0))


def _affine(layer: Layer, pieces: _Pieces) -> ExactArray:
    read = stack([pieces.values[v] for v in layer.inputs], axis=1)
    product = read @ ExactArray(layer.weight.numerators.T, layer.weight.denominator)
    return product + _on_constants(layer.bias, len(pieces))


def _on_constants(numbers: ExactArray, n: int) -> ExactArray:
    """Return numbers as what is added to the constants of n pieces, with nothing for the slopes."""
    rows = np.tile(numbers.numerators, (n, 1))
    return ExactArray(np.concatenate([rows, 0 * rows]), numbers.denominator)


def _activated(layer: Layer, z: ExactArray, pieces: _Pieces) -> ExactArray:
    law = layer.activation
    assert law is not None
    cuts = ExactArray.of(list(law.cuts) * layer.n_units)
    forms = z[:, np.repeat(np.arange(layer.n_units), len(law.cuts))]
    forms = forms - _on_constants(cuts, len(pieces))
    both = pieces.cut(forms)
    forms = forms[both]
    active = np.tile(pieces.states[-1], (2, 1))
    rectified = ExactArray(forms.numerators * active, forms.denominator)
    if law == RELU:
        return rectified
    bent = rectified.reshape(len(both), layer.n_units, -1) @ ExactArray.of(list(law.jumps))
    straight = z[both] * ExactArray.of([law.slope])
    offset = _on_constants(ExactArray.of([law.offset] * layer.n_units), len(pieces))
    return bent + straight + offset


def _found(pieces: _Pieces, n: int) -> Found:
    states = np.concatenate([np.zeros((len(pieces), 0), np.bool_), *pieces.states], axis=1)
    starts = np.searchsorted(pieces.segment, np.arange(n))
    flips = states[1:] != states[:-1]
    flips[starts[1:] - 1] = False
    piece, cut = np.nonzero(flips)
    t = np.array([float(place) for place in pieces.low])
    for first, stop in zip(starts, [*starts[1:], len(pieces)], strict=True):
        t[first + 1 : stop] = told_apart(t[first + 1 : stop].tolist())
    return Found(
        n_regions=np.bincount(pieces.segment, minlength=n),
        n_flips=np.bincount(pieces.segment[piece + 1], minlength=n),
        n_doubtful=np.zeros(n, np.int64),
        breakpoints=t[piece + 1],
        neurons=cut,
        first=np.packbits(states[starts], axis=1),
    )
