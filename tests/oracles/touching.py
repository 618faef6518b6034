"""Which regions share a facet, and how their maps differ there: by fractions, slow and obvious."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from polycarve import Network
from polycarve.rational import strict_feasibility
from tests.oracles.exact import Place, Row, domain_rows, hidden_layers, inputs, preactivations


def region_rows(net: Network, domain: Place, pattern: tuple[int, ...]) -> list[Row]:
    """All forms that are positive inside a region; constant ones are left out."""
    values, at, rows = inputs(domain), 0, domain_rows(domain)
    for weights, biases in hidden_layers(net):
        forms = preactivations(weights, biases, values)
        values = []
        for form in forms:
            on = pattern[at]
            at += 1
            if any(form[:-1]):
                rows.append(form if on else [-v for v in form])
            values.append(form if on else [Fraction(0)] * len(form))
    return rows


def output_map(net: Network, domain: Place, pattern: tuple[int, ...]) -> list[Row]:
    """The network on a region as forms of the domain's coordinates."""
    values, at = inputs(domain), 0
    for layer in net.layers:
        forms = preactivations(layer.weight.fractions(), layer.bias.fractions(), values)
        if layer.activation is None:
            values = forms
            continue
        values = []
        for form in forms:
            values.append(form if pattern[at] else [Fraction(0)] * len(form))
            at += 1
    return values


def unit(row: Row) -> tuple[Fraction, ...]:
    """What all positive multiples of a form share."""
    lead = next(v for v in row if v)
    return tuple(v / abs(lead) for v in row)


def share_a_facet(
    net: Network, domain: Place, one: tuple[int, ...], other: tuple[int, ...]
) -> bool:
    """Whether two regions meet in a part of a hyperplane of full dimension there.

    They do if a hyperplane bounds both, from opposite sides, and some point of it satisfies all
    other rows of both strictly.
    """
    mine, theirs = (region_rows(net, domain, pattern) for pattern in (one, other))
    behind = {unit([-v for v in row]) for row in theirs}
    for common in {unit(row) for row in mine} & behind:
        against = tuple(-v for v in common)
        others = [row for row in mine + theirs if unit(row) not in (common, against)]
        if feasible_on(common, others, domain.dim):
            return True
    return False


def feasible_on(plane: tuple[Fraction, ...], rows: list[Row], dim: int) -> bool:
    """Whether a point of a hyperplane satisfies rows strictly: one coordinate is put in."""
    j = next(k for k, v in enumerate(plane) if v)
    put_in = []
    for row in rows:
        rest = [a - row[j] * p / plane[j] for a, p in zip(row, plane, strict=True)]
        put_in.append(rest[:j] + rest[j + 1 :])
    if any(not any(row[:-1]) and row[-1] <= 0 for row in put_in):
        return False
    put_in = [row for row in put_in if any(row[:-1])]
    return dim == 1 or bool(strict_feasibility(put_in, dim - 1))


def neighbors(net: Network, domain: Place, patterns: list[tuple[int, ...]]) -> set[tuple[int, int]]:
    """All pairs of regions ``i < j`` that share a facet."""
    return {
        (i, j)
        for i, j in combinations(range(len(patterns)), 2)
        if share_a_facet(net, domain, patterns[i], patterns[j])
    }


def rank_of_change(
    net: Network, domain: Place, one: tuple[int, ...], other: tuple[int, ...]
) -> int:
    """The rank of the difference of the linear parts of two regions' maps."""
    pairs = zip(output_map(net, domain, one), output_map(net, domain, other), strict=True)
    rows = [[a - b for a, b in zip(p, q, strict=True)][:-1] for p, q in pairs]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((k for k in range(rank, len(rows)) if rows[k][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for k in range(rank + 1, len(rows)):
            factor = rows[k][column] / rows[rank][column]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[rank], strict=True)]
        rank += 1
    return rank


def neurons_between(
    net: Network, domain: Place, one: tuple[int, ...], other: tuple[int, ...]
) -> tuple[int, ...]:
    """All neurons that are zero on the facet between two regions, but not on all of both."""
    mine, theirs = (region_rows(net, domain, pattern) for pattern in (one, other))
    behind = {unit([-v for v in row]) for row in theirs}
    (plane,) = (
        common
        for common in {unit(row) for row in mine} & behind
        if feasible_on(
            common,
            [row for row in mine + theirs if unit(row) not in (common, tuple(-v for v in common))],
            domain.dim,
        )
    )
    found = set()
    for pattern in (one, other):
        values, at = inputs(domain), 0
        for weights, biases in hidden_layers(net):
            forms = preactivations(weights, biases, values)
            values = []
            for form in forms:
                if any(form[:-1]) and unit(form) in (plane, tuple(-v for v in plane)):
                    found.add(at)
                values.append(form if pattern[at] else [Fraction(0)] * len(form))
                at += 1
    return tuple(sorted(found))
