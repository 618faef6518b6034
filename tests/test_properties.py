"""Small integer networks against brute force, and relations that hold whatever the count."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polycarve as pc
from tests.oracles import exact

relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def networks(draw: st.DrawFn, max_neurons: int = 6) -> pc.Network:
    dim = draw(st.integers(1, 3))
    widths = draw(
        st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(
            lambda widths: sum(widths) <= max_neurons
        )
    )
    entry = st.integers(-2, 2)
    weights, biases, before = [], [], dim
    for width in widths:
        weights.append(
            draw(
                st.lists(
                    st.lists(entry, min_size=before, max_size=before),
                    min_size=width,
                    max_size=width,
                )
            )
        )
        biases.append(draw(st.lists(entry, min_size=width, max_size=width)))
        before = width
    return pc.Network.from_arrays(weights, biases, relu_last=True)


def domain_for(net: pc.Network, unbounded: bool) -> pc.Box | pc.Space:
    return pc.Space(net.input_dim) if unbounded else pc.Box.cube(-1, 1, dim=net.input_dim)


def parts(net: pc.Network) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return (
        [np.array(layer.weight.float64) for layer in net.layers],
        [np.array(layer.bias.float64) for layer in net.layers],
    )


def rebuilt(weights: list[np.ndarray], biases: list[np.ndarray]) -> pc.Network:
    return pc.Network.from_arrays(weights, biases, relu_last=True)


def patterns(carving: pc.Carving) -> set[tuple[int, ...]]:
    return {tuple(row) for row in carving.patterns.tolist()}


@relaxed
@given(net=networks(), unbounded=st.booleans())
def test_brute_force(net: pc.Network, unbounded: bool) -> None:
    domain = domain_for(net, unbounded)
    found = [tuple(row) for row in pc.carve(net, domain).patterns.tolist()]
    assert found == exact.regions_by_brute_force(net, domain)


@relaxed
@given(net=networks(), unbounded=st.booleans(), seed=st.integers(0, 99))
def test_permuting_neurons_permutes_patterns(net: pc.Network, unbounded: bool, seed: int) -> None:
    domain, rng = domain_for(net, unbounded), np.random.default_rng(seed)
    weights, biases = parts(net)
    order = [rng.permutation(len(b)) for b in biases]
    for k, places in enumerate(order):
        weights[k], biases[k] = weights[k][places], biases[k][places]
        if k + 1 < len(weights):
            weights[k + 1] = weights[k + 1][:, places]
    starts = np.cumsum([0, *net.widths])
    columns = np.concatenate([start + places for start, places in zip(starts, order, strict=False)])
    want = {tuple(row) for row in pc.carve(net, domain).patterns[:, columns].tolist()}
    assert patterns(pc.carve(rebuilt(weights, biases), domain)) == want


@relaxed
@given(net=networks(), unbounded=st.booleans(), seed=st.integers(0, 99))
def test_scaling_neurons_by_powers_of_two_changes_nothing(
    net: pc.Network, unbounded: bool, seed: int
) -> None:
    domain, rng = domain_for(net, unbounded), np.random.default_rng(seed)
    weights, biases = parts(net)
    for k in range(len(weights)):
        scale = 2.0 ** rng.integers(-20, 21, len(biases[k]))
        weights[k], biases[k] = weights[k] * scale[:, None], biases[k] * scale
        if k + 1 < len(weights):
            weights[k + 1] = weights[k + 1] / scale
    scaled = rebuilt(weights, biases)
    before, after = (pc.carve(n, domain, method="simplex") for n in (net, scaled))
    assert np.array_equal(before.packed, after.packed)
    assert np.array_equal(before.points, after.points)
    assert before.n_doubtful == after.n_doubtful
    # Which sums are exact, and so beyond doubt, does depend on how far apart the numbers are.
    before, after = (pc.carve(n, domain, method="vertices") for n in (net, scaled))
    assert np.array_equal(before.packed, after.packed)


@relaxed
@given(net=networks(), seed=st.integers(0, 99))
def test_scaling_inputs_and_the_box_changes_nothing(net: pc.Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, biases = parts(net)
    scale = 2.0 ** rng.integers(-8, 9, net.input_dim)
    weights[0] = weights[0] / scale
    carving = pc.carve(net, domain_for(net, False))
    scaled = pc.carve(rebuilt(weights, biases), pc.Box(-scale, scale))
    assert np.array_equal(carving.packed, scaled.packed)


@relaxed
@given(net=networks(), seed=st.integers(0, 99))
def test_shearing_space_changes_nothing(net: pc.Network, seed: int) -> None:
    """An invertible change of the inputs maps the regions of R^d one to one."""
    rng = np.random.default_rng(seed)
    shear = np.eye(net.input_dim) + np.triu(rng.integers(-2, 3, (net.input_dim,) * 2), 1)
    weights, biases = parts(net)
    weights[0] = weights[0] @ shear
    space = domain_for(net, True)
    assert np.array_equal(
        pc.carve(net, space).packed, pc.carve(rebuilt(weights, biases), space).packed
    )


@relaxed
@given(net=networks(), unbounded=st.booleans())
def test_negating_a_first_neuron_keeps_the_first_count(net: pc.Network, unbounded: bool) -> None:
    domain = domain_for(net, unbounded)
    weights, biases = parts(net)
    weights[0][0], biases[0][0] = -weights[0][0], -biases[0][0]
    negated = pc.carve(rebuilt(weights, biases), domain, stop_layer=1)
    assert len(negated) == len(pc.carve(net, domain, stop_layer=1))


@relaxed
@given(net=networks(), seed=st.integers(0, 99))
def test_mirroring_an_input_mirrors_the_regions(net: pc.Network, seed: int) -> None:
    weights, biases = parts(net)
    weights[0] = weights[0] * np.random.default_rng(seed).choice([-1, 1], net.input_dim)
    domain = domain_for(net, False)
    assert patterns(pc.carve(net, domain)) == patterns(pc.carve(rebuilt(weights, biases), domain))


@relaxed
@given(net=networks(max_neurons=5), unbounded=st.booleans())
def test_idle_neurons_add_nothing(net: pc.Network, unbounded: bool) -> None:
    """An always-inactive neuron, or a copy without outgoing weights, leaves the count alone."""
    domain = domain_for(net, unbounded)
    weights, biases = parts(net)
    dead = np.zeros((1, weights[0].shape[1]))
    weights[0] = np.concatenate([weights[0], dead, weights[0][:1]])
    biases[0] = np.concatenate([biases[0], [-1.0], biases[0][:1]])
    if len(weights) > 1:
        weights[1] = np.pad(weights[1], ((0, 0), (0, 2)))
    assert len(pc.carve(rebuilt(weights, biases), domain)) == len(pc.carve(net, domain))


@relaxed
@given(net=networks())
def test_larger_domains_have_no_fewer_regions(net: pc.Network) -> None:
    inner = patterns(pc.carve(net, pc.Box.cube(0, 1, dim=net.input_dim)))
    outer = patterns(pc.carve(net, pc.Box.cube(-1, 1, dim=net.input_dim)))
    space = patterns(pc.carve(net, pc.Space(net.input_dim)))
    assert inner <= outer <= space


@relaxed
@given(net=networks(), unbounded=st.booleans())
def test_layers_only_refine(net: pc.Network, unbounded: bool) -> None:
    carving = pc.carve(net, domain_for(net, unbounded))
    counts = carving.layer_counts
    assert list(counts) == sorted(counts)
    for layer in range(len(net.widths) + 1):
        alone = pc.carve(net, carving.domain, stop_layer=layer)
        assert np.array_equal(alone.packed, carving.at_layer(layer).packed)
        assert len(alone) == (counts[layer - 1] if layer else 1)


@relaxed
@given(net=networks(max_neurons=5), seed=st.integers(0, 99))
def test_cutting_the_domain_counts_what_the_cut_cuts(net: pc.Network, seed: int) -> None:
    """The two halves of a box have the box's regions and once more those that the plane cuts."""
    if net.input_dim == 1:
        return
    at = float(np.random.default_rng(seed).integers(-9, 10)) / 16 + 1 / 64
    d = net.input_dim
    weights, biases = parts(net)
    plane = np.eye(1, d)
    weights[0] = np.concatenate([weights[0], plane])
    biases[0] = np.concatenate([biases[0], [-at]])
    if len(weights) > 1:
        weights[1] = np.pad(weights[1], ((0, 0), (0, 1)))
    left = pc.Box([-1] * d, [at] + [1] * (d - 1))
    right = pc.Box([at] + [-1] * (d - 1), [1] * d)
    both = len(pc.carve(rebuilt(weights, biases), pc.Box.cube(-1, 1, dim=d)))
    assert len(pc.carve(net, left)) + len(pc.carve(net, right)) == both


@relaxed
@given(net=networks())
def test_a_flat_side_is_a_network_of_fewer_inputs(net: pc.Network) -> None:
    if net.input_dim == 1:
        return
    weights, biases = parts(net)
    biases[0] = biases[0] + weights[0][:, -1] * 0.5
    weights[0] = weights[0][:, :-1]
    d = net.input_dim
    flat = pc.Box([-1] * (d - 1) + [0.5], [1] * (d - 1) + [0.5])
    want = pc.carve(rebuilt(weights, biases), pc.Box.cube(-1, 1, dim=d - 1))
    assert np.array_equal(pc.carve(net, flat).packed, want.packed)
