"""Networks as data: what is accepted, what they compute, how they are cut, named and told apart."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import InputError, NetworkError, PatternError
from polycarve.networks import RELU, Activation, Layer, Network, codes, examples
from polycarve.rational import ExactArray

ONE = Fraction(1)
HARDTANH = Activation("hardtanh", cuts=(-ONE, ONE), jumps=(ONE, -ONE), offset=-ONE)
LEAKY = Activation("leaky", cuts=(0 * ONE,), jumps=(ONE * 9 / 10,), slope=ONE / 10)
# The same functions as one would write them by hand.
BY_HAND = {
    "relu": lambda z: max(z, Fraction(0)),
    "hardtanh": lambda z: min(max(z, Fraction(-1)), Fraction(1)),
    "leaky": lambda z: z if z > 0 else z / 10,
}


def numbers(rng, *shape):
    return ExactArray.of(rng.integers(-9, 10, shape) / 4)


def chain(widths, law, seed):
    """A network with one activation in every layer but the last, and few coincidences."""
    rng, shift = np.random.default_rng(seed), ExactArray.of(["1/7"])
    layers = [
        Layer(numbers(rng, n, m), numbers(rng, n) + shift, law, (k,))
        for k, (m, n) in enumerate(pairwise(widths))
    ]
    layers[-1] = replace(layers[-1], activation=None)
    return Network(layers, widths[0])


def skipping(seed=0):
    """Two affine maps in a row, three kinds of activation, and layers that read earlier values."""
    rng = np.random.default_rng(seed)
    plan = [
        ((3, 2), RELU, (0,)),
        ((2, 5), None, (0, 1)),
        ((2, 4), HARDTANH, (2, 0)),
        ((3, 5), LEAKY, (3, 1)),
        ((1, 7), None, (4, 0, 3)),
    ]
    return Network(
        [Layer(numbers(rng, *s), numbers(rng, s[0]), law, read) for s, law, read in plan], 2
    )


def forward(net, x):
    """Output and pattern of one input in Fractions, straight from the definition."""
    values, bits = [[Fraction(v) for v in x]], []
    for layer in net.layers:
        read = [v for k in layer.inputs for v in values[k]]
        z = [
            sum((w * v for w, v in zip(row, read, strict=True)), b)
            for row, b in zip(layer.weight.fractions(), layer.bias.fractions(), strict=True)
        ]
        if layer.activation:
            bits += [int(value > cut) for value in z for cut in layer.activation.cuts]
            z = [BY_HAND[layer.activation.name](value) for value in z]
        values.append(z)
    return np.array(values[-1], dtype=float), tuple(bits)


NETS = {
    "relu": chain([2, 5, 4, 3], RELU, 0),
    "hardtanh": chain([2, 4, 3, 2], HARDTANH, 1),
    "hardtanh 1-D": chain([1, 4, 3, 1], HARDTANH, 2),
    "leaky": chain([2, 4, 4, 2], LEAKY, 3),
    "leaky 1-D": chain([1, 5, 4, 1], LEAKY, 4),
    "skipping": skipping(),
}
every_net = pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())


# ---------------------------------------------------------------------- from arrays

W, V = [[1, 2], [3, 4], [5, 6]], [[1, 2, 3]]


@pytest.mark.parametrize(
    ("weights", "biases", "message"),
    [
        ([], None, "at least one affine map"),
        ([W, W], None, r"layer 2 has weights of shape \(3, 2\) but reads 3 values"),
        ([W], [[1, 2]], r"layer 1 has 3 units and a bias of shape \(2,\)"),
        ([W], [[[1, 2, 3]]], r"bias of shape \(1, 3\)"),
        ([W], [5], r"bias of shape \(\)"),
        ([W], [np.array(5)], r"bias of shape \(\)"),
        ([W, V], [[0, 0, 0]], "2 weight matrices and 1 biases"),
        ([W], [None, None], "1 weight matrices and 2 biases"),
        ([[1, 2]], None, r"weights of layer 1 have shape \(2,\)"),
        ([np.array(5)], None, r"weights of layer 1 have shape \(\)"),
        (np.eye(2), None, r"weights of layer 1 have shape \(2,\)"),
        ([np.zeros((0, 2)), np.zeros((1, 0))], None, "layer 1 has no units"),
        ([np.zeros((2, 0))], None, "at least one input"),
        ([W, [[1, np.nan, 0]]], None, "weights of layer 2: .*[Gg]ive"),
        ([W, np.array([[1, np.inf, 0]])], None, "weights of layer 2: .*[Gg]ive"),
        ([W, V], [[0, 0, 0], [np.inf]], "bias of layer 2: .*[Gg]ive"),
        ([[[1, 2], [3]]], None, "weights of layer 1: .*[Gg]ive"),
        ([[[1j]]], None, "weights of layer 1: .*[Gg]ive"),
        ([[["x"]]], None, "weights of layer 1: 'x'"),
        ([None], None, "weights of layer 1: None"),
        (None, None, "weights"),
        (5, None, "weights"),
        ([W], 5, "bias"),
    ],
)
def test_arrays_that_make_no_network_are_refused(weights, biases, message):
    with pytest.raises(NetworkError, match=message):
        pc.Network.from_arrays(weights, biases)


@pytest.mark.parametrize("activation", ["gelu", "ReLU", None, ["relu"]])
def test_unknown_activations_are_refused(activation):
    with pytest.raises(NetworkError, match=r"not supported. Supported: relu"):
        pc.Network.from_arrays([W], activation=activation)


@pytest.mark.parametrize(
    "half", [0.5, np.float16(0.5), np.float32(0.5), Fraction(1, 2), "0.5", "1/2"], ids=repr
)
def test_equal_numbers_of_any_type_make_equal_networks(half):
    net = pc.Network.from_arrays([[[half, 2]], [[1]]], [[half], None])
    same = pc.Network.from_arrays([np.array([[0.5, 2.0]]), np.array([[1]])], [[0.5], [0]])
    assert net.digest == same.digest
    assert net == same
    assert hash(net) == hash(same)
    assert len(net.digest) == 64


def test_numbers_are_kept_exactly():
    net = pc.Network.from_arrays([[["0.1", Fraction(1, 3)]]], [[2**60 + 1]])
    assert net.layers[0].weight.fractions() == [[Fraction(1, 10), Fraction(1, 3)]]
    assert net.layers[0].bias.fractions() == [2**60 + 1]
    assert net.digest != pc.Network.from_arrays([[[0.1, 1 / 3]]], [[2**60 + 1]]).digest
    half = np.array([[0.1, 3]], dtype=np.float16)
    kept = pc.Network.from_arrays([half]).layers[0].weight.fractions()
    assert kept == [[Fraction(float(half[0, 0])), 3]]


def test_every_change_changes_the_digest():
    base = {"weights": [W, V], "biases": [[1, 2, 3], [4]], "relu_last": False}
    other = [
        base,
        base | {"weights": [[[1, 2], [3, 4], [5, 7]], V]},
        base | {"weights": [W, [[1, 2, "3.0000000000000000001"]]]},
        base | {"biases": [[1, 2, 4], [4]]},
        base | {"biases": [[1, 2, 3], None]},
        base | {"relu_last": True},
        base | {"weights": [W, V, [[1]]], "biases": [[1, 2, 3], [4], [0]]},
    ]
    digests = {pc.Network.from_arrays(**case).digest for case in other}
    for law in (RELU, LEAKY, HARDTANH, None):
        digests.add(Network([Layer(ExactArray.eye(1), ExactArray.of([0]), law, (0,))], 1).digest)
    assert len(digests) == len(other) + 4


def test_the_digest_is_of_the_numbers_not_of_their_denominator():
    half, sixths = ExactArray.of(["1/2"]), ExactArray.of(["1/3"]) + ExactArray.of(["1/6"])
    nets = [Network([Layer(ExactArray.eye(1), b, RELU, (0,))], 1) for b in (half, sixths)]
    assert nets[0].digest == nets[1].digest


@pytest.mark.parametrize(
    ("relu_last", "widths", "text"),
    [(False, (3,), "Network(2 -> relu 3 -> 1)"), (True, (3, 1), "Network(2 -> relu 3 -> relu 1)")],
)
def test_the_last_layer_is_hidden_only_if_a_relu_follows(relu_last, widths, text):
    net = pc.Network.from_arrays([W, V], relu_last=relu_last)
    assert (net.widths, net.cut_widths, net.n_neurons) == (widths, widths, sum(widths))
    assert (net.input_dim, net.n_outputs, repr(net)) == (2, 1, text)
    assert net.patterns(np.zeros((4, 2))).shape == (4, sum(widths))
    assert len(repr(pc.Network.from_arrays([np.eye(3)] * 50))) < 80


@pytest.mark.parametrize("read", [(1,), (-1,), (5,), ()])
def test_layers_read_earlier_values_only(read):
    weight = ExactArray.of(np.zeros((1, len(read))))
    with pytest.raises(NetworkError, match=r"layer 1 reads"):
        Network([Layer(weight, ExactArray.of([0]), RELU, read)], 1)


# ---------------------------------------------------------------------- evaluation


@pytest.mark.parametrize("relu_last", [False, True])
def test_evaluation_agrees_with_a_plain_forward_pass(relu_last):
    rng = np.random.default_rng(7)
    weights = [rng.normal(size=shape) for shape in [(6, 4), (5, 6), (3, 5)]]
    biases = [rng.normal(size=n) for n in (6, 5, 3)]
    net = pc.Network.from_arrays(weights, biases, relu_last=relu_last)
    value, bits = rng.normal(size=(50, 4)), []
    X = value
    for k, (A, b) in enumerate(zip(weights, biases, strict=True)):
        value = value @ A.T + b
        if relu_last or k < 2:
            bits.append(value > 0)
            value = np.where(value > 0, value, 0)
    np.testing.assert_allclose(net(X), value, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(net.patterns(X), np.concatenate(bits, axis=1))
    assert net.patterns(X).dtype == np.uint8
    np.testing.assert_allclose(net(X[3].tolist()), value[3], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(net.patterns(X[3]), net.patterns(X)[3])


def test_no_inputs_have_no_values_and_no_patterns():
    net = NETS["relu"]
    assert net(np.zeros((0, 2))).shape == (0, 3)
    assert net.patterns(np.zeros((0, 2))).shape == (0, 9)


@pytest.mark.parametrize(
    "X", [[1], [1, 2, 3], [[1]], [[[1, 2]]], 5, [], "ab", [[1, 2], [3]], [1j, 0]], ids=repr
)
def test_inputs_of_the_wrong_shape_are_refused(X):
    net = NETS["relu"]
    for call in (net, net.patterns):
        with pytest.raises(InputError, match=r"\(n, (2|d)\) or \((2|d),\)"):
            call(X)


@every_net
def test_values_patterns_and_maps_follow_the_definition(net):
    rng = np.random.default_rng(11)
    X = rng.integers(-(2**12), 2**12, (40, net.input_dim)) / 2**10
    for x, y, bits in zip(X, net(X), net.patterns(X), strict=True):
        value, pattern = forward(net, x.tolist())
        assert tuple(bits) == pattern
        assert tuple(pc.region_at(net, x).pattern) == pattern
        for A, c in (net.affine_map(bits), net.affine_map(codes.code_of(bits, net.cut_widths))):
            np.testing.assert_allclose([y, A @ x + c], [value, value], rtol=0, atol=1e-11)


def test_a_cut_is_passed_only_beyond_it():
    one, zero = ExactArray.eye(1), ExactArray.of([0])
    for law, x, on, beyond in [
        (RELU, 0, [0], [1]),
        (HARDTANH, -1, [0, 0], [1, 0]),
        (HARDTANH, 1, [1, 0], [1, 1]),
    ]:
        net = Network([Layer(one, zero, law, (0,))], 1)
        assert net.patterns([[x], [np.nextafter(x, 9)]]).tolist() == [on, beyond]


@every_net
def test_exact_maps_are_the_float_maps_without_rounding(net):
    x = [Fraction(1, 3), Fraction(-2, 7)][: net.input_dim]
    _, pattern = forward(net, x)
    exact, floats = net.exact_preactivation_maps(pattern), net.preactivation_maps(pattern)
    assert len(exact) == len(floats) == len(net.widths)
    z = []
    for (A, c), (A64, c64) in zip(exact, floats, strict=True):
        np.testing.assert_allclose(A.float64, A64, rtol=0, atol=1e-11)
        np.testing.assert_allclose(c.float64, c64, rtol=0, atol=1e-11)
        z.append((A @ ExactArray.of(x) + c).fractions())
    assert tuple(int(v > 0) for row in z for v in row) == pattern


def test_exact_maps_by_hand():
    net = pc.Network.from_arrays([[["0.1"], [-1]], [["1/3", 1]], [[1]]], [[1, "0.5"], ["0.2"], [0]])
    (A, a), (B, b) = net.exact_preactivation_maps("ai|a")
    assert A.fractions() == [[Fraction(1, 10)], [-1]]
    assert a.fractions() == [1, Fraction(1, 2)]
    assert B.fractions() == [[Fraction(1, 30)]]
    assert b.fractions() == [Fraction(1, 3) + Fraction(1, 5)]
    assert net.affine_map("ai|i")[0] == [[0.0]]


@every_net
@pytest.mark.parametrize("method", ["simplex", "vertices", "highs"])
def test_carving_finds_whatever_inputs_are_tried(net, method):
    box = pc.Box.cube(-3, 3, dim=net.input_dim)
    carving = pc.carve(net, box, method=method)
    found = set(map(tuple, carving.patterns.tolist()))
    assert len(found) == len(carving)
    rng = np.random.default_rng(5)
    tried = {
        forward(net, [Fraction(int(v), 10**6 + 3) for v in row])[1]
        for row in rng.integers(-3 * 10**6, 3 * 10**6, (1500, net.input_dim))
    }
    assert tried <= found
    assert len(tried) > 0.8 * len(found)
    for region in carving:
        value, pattern = forward(net, region.point.tolist())
        assert pattern == tuple(region.pattern)
        assert region.contains(region.point)
        A, c = region.affine_map()
        np.testing.assert_allclose(A @ region.point + c, value, rtol=0, atol=1e-9)


# ---------------------------------------------------------------------- slices


@pytest.mark.parametrize("relu_last", [False, True])
@pytest.mark.parametrize("cut", [1, 2, 3, -1, -2])
def test_the_two_parts_of_a_network_compose_to_it(relu_last, cut):
    rng = np.random.default_rng(2)
    shapes = [(5, 2), (4, 5), (3, 4), (2, 3)]
    net = pc.Network.from_arrays([rng.normal(size=s) for s in shapes], relu_last=relu_last)
    first, rest = net[:cut], net[cut:]
    at = cut if cut > 0 else len(net.widths) + cut
    assert (first.widths, rest.widths) == (net.widths[:at], net.widths[at:])
    X = rng.normal(size=(20, 2))
    np.testing.assert_allclose(rest(first(X)), net(X), rtol=0, atol=1e-12)
    assert net[:] == net
    assert net[1:2].widths == net[1:][:1].widths == net.widths[1:2]
    assert net[1:2] == net[1:][:1]


def test_slices_keep_affine_maps_in_a_row_and_end_at_activations():
    one, zero = ExactArray.eye(2), ExactArray.of([0, 0])
    laws = [None, RELU, None, RELU, None, None]
    net = Network([Layer(one, zero, law, (k,)) for k, law in enumerate(laws)], 2)
    assert [len(part.layers) for part in (net[:1], net[1:2], net[:2], net[1:], net[2:])] == [
        *(2, 2, 4, 4, 2)
    ]
    assert net[2:].widths == ()


@pytest.mark.parametrize("key", [slice(0), slice(1, 1), slice(2, 1), slice(-9, 0), slice(2, 2)])
def test_slices_that_hold_nothing_are_refused(key):
    with pytest.raises(NetworkError, match="holds no affine map"):
        NETS["relu"][key]
    with pytest.raises(NetworkError, match="holds no affine map"):
        pc.Network.from_arrays([W, V], relu_last=True)[2:]


@pytest.mark.parametrize(
    "key", [0, -1, "a", (0, 1), slice(None, None, 2), slice(1.5, None), slice("a")], ids=repr
)
def test_networks_are_sliced_by_whole_numbers_only(key):
    with pytest.raises(InputError, match="slice a network by its activations"):
        NETS["relu"][key]


def test_a_network_is_not_cut_across_a_skip_connection():
    net = NETS["skipping"]
    x = [0.5, -0.25]
    assert net[:2].widths == net.widths[:2]
    with pytest.raises(NetworkError, match="skip connection"):
        net[1:]
    one, zero = ExactArray.of([[1, 1]]), ExactArray.of([0])
    deep = Network(
        [
            Layer(ExactArray.eye(2), ExactArray.of([0, 0]), RELU, (0,)),
            Layer(one, zero, RELU, (1,)),
            Layer(ExactArray.of([[1, 2, 3]]), zero, RELU, (2, 1)),
        ],
        2,
    )
    np.testing.assert_array_equal(deep[1:](deep[:1](x)), deep(x))


# ---------------------------------------------------------------------- codes and files


@pytest.mark.parametrize(
    ("code", "bits"),
    [
        ("aai|ia", [1, 1, 0, 0, 1]),
        ("aaiia", [1, 1, 0, 0, 1]),
        ("aai|i", [1, 1, 0, 0]),
        ("aai|", [1, 1, 0]),
        ("ai", [1, 0]),
        ("", []),
    ],
)
def test_codes_are_read_whole_or_from_the_beginning(code, bits):
    assert codes.prefix_bits(code, (3, 2)).tolist() == bits
    if len(bits) == 5:
        assert codes.bits_of(code, (3, 2)).tolist() == bits
        assert codes.bits_of(bits, (3, 2)).tolist() == bits
        assert codes.code_of(bits, (3, 2)) == "aai|ia"
    else:
        for partial in (code, bits):
            with pytest.raises(PatternError, match=f"has 5 bits; {len(bits)} were given"):
                codes.bits_of(partial, (3, 2))


@pytest.mark.parametrize("code", ["aaiiaa", "x", "AAI", "a a", "10", "aai|ia|a"])
def test_what_is_no_code_is_refused(code):
    with pytest.raises(PatternError, match=r"is not a pattern .* look like aaa\|aa"):
        codes.prefix_bits(code, (3, 2))


@pytest.mark.parametrize("code", ["a|ai|ia", "aai|i|a", "|aai", "aai||ia", "aa|", "aai||", "|"])
def test_bars_stand_between_layers(code):
    with pytest.raises(PatternError, match="has a bar that is not between two layers"):
        codes.prefix_bits(code, (3, 2))


@pytest.mark.parametrize("bits", [[2, 0], [0.5, 1], [[0, 1]], 1, None, ["a", "i"], [[0], [1, 0]]])
def test_what_is_no_row_of_bits_is_refused(bits):
    with pytest.raises(PatternError, match="a row of zeros and ones"):
        codes.bits_of(bits, (2,))


@pytest.mark.parametrize(
    ("said", "asked", "widths"),
    [(None, None, (3,)), (True, None, (3, 1)), (True, False, (3,)), (False, True, (3, 1))],
)
def test_npz_files_are_read_as_written(tmp_path, said, asked, widths):
    keys = {} if said is None else {"relu_last": said}
    np.savez(tmp_path / "net.npz", W0=W, b0=[1, 2, 3], W1=V, b1=[4], **keys)
    net = pc.Network.from_npz(str(tmp_path / "net.npz"), relu_last=asked)
    again = pc.Network.from_arrays([W, V], [[1, 2, 3], [4]], relu_last=len(widths) == 2)
    assert net.widths == widths
    assert net == again


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "lacks W0, b0"),
        ({"W0": W}, "lacks b0"),
        ({"W1": W, "b1": [0] * 3}, "lacks W0, b0"),
        ({"W0": W, "b0": [0] * 3, "W2": V, "b2": [0]}, "lacks W1, b1"),
        ({"W0": np.array([[Fraction(1)]]), "b0": [0]}, "not an .npz file of plain arrays"),
        ({"W0": W, "b0": [0]}, "bias of shape"),
        ({"W0": W, "b0": [0] * 3, "relu_last": [True, False]}, "relu_last"),
    ],
)
def test_npz_files_that_hold_no_network_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "net.npz", **arrays)
    with pytest.raises(NetworkError, match=message):
        pc.Network.from_npz(tmp_path / "net.npz")


@pytest.mark.parametrize("name", ["none.npz", "text.npz", "empty.npz", ".", "single.npy"])
def test_files_that_are_no_npz_are_refused(tmp_path, name):
    (tmp_path / "text.npz").write_text("W0")
    (tmp_path / "empty.npz").touch()
    np.save(tmp_path / "single.npy", np.eye(2))
    with pytest.raises(NetworkError, match=r"no such file|is not an \.npz file"):
        pc.Network.from_npz(tmp_path / name)


def test_shipped_examples():
    moons, fig19 = examples.moons(), examples.fig19()
    assert (moons.widths, fig19.widths) == ((5, 5, 5), (2, 2, 2))
    assert pc.carve(moons, pc.Box.cube(-3, 3, dim=2)).layer_counts == (13, 43, 66)
    assert pc.carve(fig19, pc.Box.cube(-4, 6, dim=2)).layer_counts == (4, 10, 17)
    assert examples.moons() == moons != fig19
