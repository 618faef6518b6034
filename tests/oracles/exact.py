"""The referee: region lists in exact rational arithmetic, slow and obvious.

Nothing here uses floats or the code under test, but for the exact linear program of
`polycarve.rational`, which has oracles of its own.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from polycarve import Box, Network, Polytope, Slice, Space
from polycarve.rational import strict_feasibility

Row = list[Fraction]
Place = Box | Space | Polytope | Slice


def hidden_layers(net: Network) -> list[tuple[list[Row], Row]]:
    """Weights and biases of a plain chain in which every layer but perhaps the last is hidden."""
    layers = []
    for layer in net.layers:
        if layer.activation is not None:
            layers.append((layer.weight.fractions(), layer.bias.fractions()))
    return layers


def domain_rows(domain: Place) -> list[Row]:
    """Sides of the domain as forms that are positive inside; flat sides must not occur."""
    if isinstance(domain, Slice):
        return domain_rows(domain.domain)
    if isinstance(domain, Space):
        return []
    if isinstance(domain, Polytope):
        sides = zip(domain.A.fractions(), domain.b.fractions(), strict=True)
        return [[*(-v for v in a), b] for a, b in sides if any(a)]
    rows = []
    lo, hi = domain.lo.fractions(), domain.hi.fractions()
    for j, (low, high) in enumerate(zip(lo, hi, strict=True)):
        unit = [Fraction(int(i == j)) for i in range(len(lo))]
        rows += [[*unit, -low], [*(-u for u in unit), high]]
    return rows


def preactivations(weights: list[Row], biases: Row, values: list[Row]) -> list[Row]:
    """Affine forms of a layer over the forms of the values it reads."""
    return [
        [
            sum((w * v[j] for w, v in zip(row, values, strict=True)), Fraction(0))
            + (b if j == len(values[0]) - 1 else 0)
            for j in range(len(values[0]))
        ]
        for row, b in zip(weights, biases, strict=True)
    ]


def inputs(domain: Place) -> list[Row]:
    """The network's inputs as forms of the domain's coordinates."""
    if isinstance(domain, Slice):
        columns = zip(*domain.directions.fractions(), strict=True)
        origin = domain.origin.fractions()
        return [[*column, start] for column, start in zip(columns, origin, strict=True)]
    dim = domain.dim
    return [[Fraction(int(i == j)) for i in range(dim + 1)] for j in range(dim)]


def regions(net: Network, domain: Place) -> list[tuple[int, ...]]:
    """All patterns with an open set of inputs, in order: depth first, one exact LP a side."""
    layers, dim = hidden_layers(net), domain.dim
    found: list[tuple[int, ...]] = []

    def descend(layer: int, values: list[Row], rows: list[Row], bits: tuple[int, ...]) -> None:
        if layer == len(layers):
            found.append(bits)
            return
        forms = preactivations(*layers[layer], values)

        def split(unit: int, rows: list[Row], signs: tuple[int, ...]) -> None:
            if unit == len(forms):
                after = [
                    form if on else [Fraction(0)] * (dim + 1)
                    for form, on in zip(forms, signs, strict=True)
                ]
                descend(layer + 1, after, rows, bits + signs)
                return
            form = forms[unit]
            if not any(form[:-1]):
                split(unit + 1, rows, (*signs, int(form[-1] > 0)))
                return
            for on in (0, 1):
                side = form if on else [-v for v in form]
                if strict_feasibility([*rows, side], dim):
                    split(unit + 1, [*rows, side], (*signs, on))

        split(0, rows, ())

    descend(0, inputs(domain), domain_rows(domain), ())
    return found


def regions_by_brute_force(net: Network, domain: Place) -> list[tuple[int, ...]]:
    """The same by trying all ``2^N`` patterns, one exact LP each."""
    layers, dim = hidden_layers(net), domain.dim
    found = []
    for bits in product((0, 1), repeat=net.n_neurons):
        values, rows, at, possible = inputs(domain), domain_rows(domain), 0, True
        for weights, biases in layers:
            forms = preactivations(weights, biases, values)
            values = []
            for form in forms:
                on = bits[at]
                at += 1
                if any(form[:-1]):
                    rows.append(form if on else [-v for v in form])
                elif on != (form[-1] > 0):
                    possible = False
                values.append(form if on else [Fraction(0)] * (dim + 1))
        if possible and strict_feasibility(rows, dim):
            found.append(bits)
    return found
