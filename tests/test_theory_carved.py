"""Carved networks against the bounds and closed forms that speak of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polycarve as pc
from polycarve import bounds
from polycarve.networks import Activation, Layer
from polycarve.rational import rank
from polycarve.theory import networks
from tests import cases

relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_within_bounds(regions: int, n0: int, widths: tuple[int, ...]) -> None:
    for row in bounds.all_bounds(n0, widths):
        if row.kind in ("upper", "maximum") and row.value is not None:
            assert regions <= row.value, row
    assert regions <= bounds.hinz_van_de_geer(n0, widths)
    assert regions <= bounds.serra_recursion(n0, widths)


# ---------------------------------------------------------------------- closed forms, carved


@pytest.mark.parametrize(("d", "m"), [(1, 4), (2, 2), (2, 7), (3, 6), (4, 6)])
def test_bounded_regions_and_facets_of_simple_arrangements(d: int, m: int) -> None:
    carving = pc.carve(networks.simple(d, m).network, pc.Space(d))
    assert carving.bounded().sum() == bounds.bounded_regions(d, m)
    assert carving.halfspaces().offsets[-1] == 2 * bounds.facets(d, m)
    # With one layer, regions share a facet exactly where one neuron differs.
    P = carving.patterns.astype(int)
    distances = np.abs(P[:, None] - P[None]).sum(axis=2)
    assert (distances == 1).sum() == 2 * bounds.facets(d, m)


@pytest.mark.parametrize(("n", "bounded"), [(3, 4), (4, 27)])
def test_bounded_regions_of_shi(n: int, bounded: int) -> None:
    carving = pc.carve(networks.shi(n).network, pc.Space(n - 1))
    assert carving.bounded().sum() == bounded == (n - 1) ** (n - 1)


def test_hyperplanes_of_low_rank() -> None:
    rng = np.random.default_rng(0)
    for r in (1, 2):
        W = rng.integers(-5, 6, (6, r)) @ rng.integers(-5, 6, (r, 4))
        net = pc.Network.from_arrays([W], [rng.integers(-9, 10, 6)], relu_last=True)
        regions = pc.count_regions(net, pc.Space(4))
        assert regions <= bounds.regions_of_rank(4, 6, rank=rank(net.layers[0].weight))


# ---------------------------------------------------------------------- any network


@st.composite
def drawn(draw: st.DrawFn) -> tuple[pc.Network, Any]:
    """A network of small whole numbers, low ranks among them, and a domain."""
    dim = draw(st.integers(1, 4))
    widths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    largest = draw(st.sampled_from([1, 3, 20]))
    weights, biases, before = [], [], dim
    for width in widths:
        W = rng.integers(-largest, largest + 1, (width, before))
        if draw(st.booleans()):
            W = W[:, :1] @ rng.integers(-1, 2, (1, before)) + (W if draw(st.booleans()) else 0)
        weights.append(W)
        biases.append(rng.integers(-largest, largest + 1, width))
        before = width
    net = pc.Network.from_arrays(weights, biases, relu_last=True)
    place = draw(
        st.sampled_from(
            [
                pc.Space(dim),
                pc.Box.cube(-1, 1, dim=dim),
                pc.Box([-1] * dim, [1] * (dim - 1) + [-1]),
                pc.Segment([-9] * dim, [7] + [8] * (dim - 1)),
            ]
        )
    )
    return net, place


@relaxed
@given(drawn())
def test_no_network_exceeds_an_upper_bound(drawing: tuple[pc.Network, Any]) -> None:
    net, domain = drawing
    carving = pc.carve(net, domain)
    regions, n0 = len(carving), domain.rank
    assert_within_bounds(regions, n0, net.widths)
    ranks = [rank(layer.weight) for layer in net.layers]
    assert regions <= bounds.serra_with_ranks(n0, net.widths, ranks=ranks)
    ends = np.cumsum(net.widths)[:-1]
    states = np.split(carving.patterns, ends, axis=1)
    active = [int(bits.all(axis=0).sum()) for bits in states]
    inactive = [int((~bits.any(axis=0)).sum()) for bits in states]
    stable = bounds.serra_with_stable(n0, net.widths, active=active, inactive=inactive)
    assert regions <= stable <= bounds.serra(n0, net.widths)


@pytest.mark.parametrize("case", cases.ground_truths(), ids=lambda case: case.name)
def test_ground_truths_stay_within_the_bounds(case: cases.TruthCase) -> None:
    assert_within_bounds(case.regions, case.domain.rank, case.network.widths)


ACTIVATIONS = [
    Activation("leaky", cuts=(Fraction(0),), jumps=(Fraction(9, 10),), slope=Fraction(1, 10)),
    Activation("three", cuts=(Fraction(-1), Fraction(1)), jumps=(Fraction(1), Fraction(-2)),
               slope=Fraction(1)),
    Activation("hardtanh", cuts=(Fraction(-1), Fraction(1)), jumps=(Fraction(1), Fraction(-1)),
               offset=Fraction(-1)),
]  # fmt: skip


@relaxed
@given(drawing=drawn(), law=st.sampled_from(ACTIVATIONS))
def test_no_network_of_other_units_exceeds_its_bound(
    drawing: tuple[pc.Network, Any], law: Activation
) -> None:
    plain, domain = drawing
    net = pc.Network(
        [Layer(layer.weight, layer.bias, law, layer.inputs) for layer in plain.layers],
        plain.input_dim,
    )
    pieces = len(law.cuts) + 1
    regions = pc.count_regions(net, domain)
    assert regions <= bounds.piecewise_linear(domain.rank, net.widths, pieces=pieces)


Line = tuple[Fraction, ...]  # (a, b): the values a t + b


def maxout_pieces(layers: list[list[list[tuple[int, ...]]]]) -> int:
    """Pieces of [0, 1] by the function that each unit takes; a function is its weights and bias."""
    pieces: list[tuple[Fraction, Fraction, list[Line]]] = [
        (Fraction(0), Fraction(1), [(Fraction(1), Fraction(0))])
    ]
    for layer in layers:
        after: list[tuple[Fraction, Fraction, list[Line]]] = []
        for lo, hi, read in pieces:
            units = [[composed(function, read) for function in unit] for unit in layer]
            cuts = {
                (q[1] - p[1]) / (p[0] - q[0])
                for unit in units
                for p, q in combinations(unit, 2)
                if p[0] != q[0]
            }
            before = None
            for left, right in pairwise([lo, *sorted(t for t in cuts if lo < t < hi), hi]):
                middle = (left + right) / 2
                taken = [max(unit, key=lambda line: line[0] * middle + line[1]) for unit in units]
                if taken == before:
                    after[-1] = (after[-1][0], right, taken)
                else:
                    after.append((left, right, taken))
                before = taken
        pieces = after
    return len(pieces)


def composed(function: tuple[int, ...], read: list[Line]) -> Line:
    *weights, bias = function
    slope = sum((w * a for w, (a, _) in zip(weights, read, strict=True)), Fraction(0))
    return slope, sum((w * b for w, (_, b) in zip(weights, read, strict=True)), Fraction(bias))


@relaxed
@given(
    widths=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    k=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_no_maxout_network_on_a_line_exceeds_its_bounds(
    widths: list[int], k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    layers, before = [], 1
    for width in widths:
        numbers = rng.integers(-9, 10, (width, k, before + 1)).tolist()
        layers.append([[tuple(row) for row in unit] for unit in numbers])
        before = width
    pieces = maxout_pieces(layers)
    assert pieces <= bounds.maxout(1, widths, rank=k) <= bounds.maxout_serra(1, widths, rank=k)
    if len(widths) == 1:
        assert pieces <= bounds.maxout_layer(1, [k] * widths[0])
