"""Affine maps of many patterns at once, against one at a time and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.networks import Activation, Layer, Network, examples, maps
from polycarve.networks.evaluation import exact_values
from polycarve.rational import ExactArray
from tests import cases

HARD_TANH = Activation(
    "hardtanh", (Fraction(-1), Fraction(1)), (Fraction(1), Fraction(-1)), offset=Fraction(-1)
)
LEAKY = Activation("leaky", (Fraction(0),), (Fraction(9, 10),), slope=Fraction(1, 10))


def strange(seed: int) -> Network:
    """Skip connections, several pieces a unit, and slopes that no float64 is."""
    rng = np.random.default_rng(seed)

    def layer(n: int, m: int, law: Activation | None, inputs: tuple[int, ...]) -> Layer:
        weight, bias = rng.integers(-9, 10, (n, m)), rng.integers(-9, 10, n)
        return Layer(ExactArray.of(weight), ExactArray(bias.astype(object), 7), law, inputs)

    return Network(
        [
            layer(3, 2, HARD_TANH, (0,)),
            layer(2, 3, None, (1,)),
            layer(3, 4, LEAKY, (2, 0)),
            layer(2, 6, None, (1, 3)),
        ],
        2,
    )


@pytest.mark.parametrize("net", [examples.moons(), examples.fig19(), strange(0), strange(1)])
@pytest.mark.parametrize("room", [1, 100, 1 << 17])
def test_maps_are_right_within_their_bound(
    net: Network, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "_MOST_ENTRIES", room)
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, (60, sum(net.cut_widths))).astype(np.uint8)
    bits = np.unique(bits, axis=0) if room > 1 else bits
    found = maps.affine_maps(net.layers, net.input_dim, bits)
    assert found.M.shape == (len(bits), net.n_outputs, net.input_dim + 1)
    assert 0 < found.unit < 1e-13
    for row, pattern in enumerate(bits):
        A, c = exact_values(net.layers, net.input_dim, pattern)[0][-1]
        for unit, (a, b) in enumerate(zip(A.fractions(), c.fractions(), strict=True)):
            for place, value in enumerate([*a, b]):
                error = abs(Fraction(float(found.M[row, unit, place])) - value)
                assert error <= found.unit * float(found.size[row, unit, place])


def test_rows_that_agree_share_work_and_nothing_else() -> None:
    net = cases.spec()["rand_3-16-16-16"].network
    bits = pc.carve(net, pc.Box.cube(-1, 1, dim=3)).patterns
    at_once = maps.affine_maps(net.layers, 3, bits)
    shuffled = np.random.default_rng(0).permutation(len(bits))
    apart = maps.affine_maps(net.layers, 3, bits[shuffled])
    bound = 2 * at_once.unit * at_once.size[shuffled]
    assert (np.abs(at_once.M[shuffled] - apart.M) <= bound).all()


@pytest.mark.parametrize("net", [examples.moons(), strange(0), cases.integers(2, [3, 3], 4)])
def test_maps_that_are_the_same_for_a_reason_are_the_same(net: Network) -> None:
    rng = np.random.default_rng(3)
    n_bits = sum(net.cut_widths)
    here = rng.integers(0, 2, (400, n_bits)).astype(np.uint8)
    there = here ^ (rng.random((400, n_bits)) < 0.1)
    same = maps.same_maps(net.layers, net.input_dim, here, there)
    assert same.any()
    assert not same.all()
    for row in np.flatnonzero(same):
        one, other = (
            exact_values(net.layers, net.input_dim, bits[row])[0][-1] for bits in (here, there)
        )
        assert not (one[0] - other[0]).numerators.any()
        assert not (one[1] - other[1]).numerators.any()
