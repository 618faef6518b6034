"""Networks read from ONNX graphs: every way of writing a layer, and exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import NetworkError

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

from tests.onnx_forms import FORMS, MEAN, STD, B, C, V, W, relu  # noqa: E402
from tests.onnx_models import evaluated, model, node, read, results, retyped, tensor  # noqa: E402

every_form = pytest.mark.parametrize("form", FORMS)


def samples(net, n=40):
    return np.random.default_rng(1).integers(-40, 41, (n, net.input_dim)) / 8.0


@every_form
def test_every_form_computes_what_it_says(form):
    made, function, n_layers = FORMS[form]
    net = read(made())
    X = samples(net)
    np.testing.assert_array_equal(net(X), function(X))  # dyadic numbers: nothing is rounded
    assert len(net.layers) == n_layers


@every_form
def test_every_form_is_evaluated_by_onnx_to_the_same(form):
    made = FORMS[form][0]()
    net = read(made)
    X = samples(net)
    np.testing.assert_array_equal(net(X), evaluated(made, X))


@every_form
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_form_in_other_types(form, dtype):
    made = FORMS[form][0]()
    wide = retyped(made, dtype)
    net = read(made)
    assert read(wide) == net  # small dyadic numbers are in all types


def test_two_biases_are_not_added_up():
    net = read(FORMS["two biases"][0]())
    assert [layer.inputs for layer in net.layers] == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(net.layers[1].weight.float64, np.eye(4))
    np.testing.assert_array_equal(net.layers[1].bias.float64, B)


# ---------------------------------------------------------------------- exact numbers


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_are_kept_exactly(dtype):
    rng = np.random.default_rng(2)
    weight, bias = (rng.normal(size=shape).astype(dtype) for shape in ((2, 3), 3))
    made = model(
        node("Gemm", "x W b", "h", alpha=0.1, beta=0.3), node("Relu", "h"),
        shape=("n", 2), constants={"W": weight, "b": bias}, dtype=dtype,
    )  # fmt: skip
    layer = read(made).layers[0]
    alpha, beta = Fraction(float(np.float32(0.1))), Fraction(float(np.float32(0.3)))
    want = [[alpha * Fraction(float(w)) for w in row] for row in weight.T]
    assert layer.weight.fractions() == want
    assert layer.bias.fractions() == [beta * Fraction(float(b)) for b in bias]


def test_quotients_are_exact():
    made = model(node("Div", "x c"), constants={"c": np.array([3.0, 0.1, -7.0])})
    weight = read(made).layers[0].weight.fractions()
    tenth = Fraction(float(np.float32(0.1)))
    zero = Fraction(0)
    assert weight == [
        [Fraction(1, 3), zero, zero],
        [zero, 1 / tenth, zero],
        [zero, zero, Fraction(-1, 7)],
    ]


def test_quotients_of_constants_are_exact():
    nodes = node("Div", "one c", "q"), node("Add", "q c", "s"), node("Mul", "x s")
    constants = {"one": np.array(1.0), "c": np.array([3.0, 5.0, -7.0])}
    weight = read(model(*nodes, constants=constants)).layers[0].weight.fractions()
    want = [Fraction(1, 3) + 3, Fraction(1, 5) + 5, Fraction(-1, 7) - 7]
    assert [weight[k][k] for k in range(3)] == want


def test_typed_and_raw_data_are_the_same():
    values = W.astype(np.float32).ravel().tolist()
    typed = helper.make_tensor("W", onnx.TensorProto.FLOAT, W.shape, values)
    assert not typed.raw_data
    raw = numpy_helper.from_array(W.astype(np.float32), "W")
    assert not raw.float_data
    nets = [read(model(node("MatMul", "x W"), more=[t])) for t in (typed, raw)]
    assert nets[0] == nets[1]


@pytest.mark.parametrize(
    ("attributes", "want"),
    [
        ({"value": tensor("", MEAN)}, MEAN),
        ({"value_float": 0.1}, np.float32(0.1)),
        ({"value_floats": [0.1, 2.0, 3.0]}, np.array([0.1, 2.0, 3.0], np.float32)),
        ({"value_int": 3}, 3),
        ({"value_ints": [1, 2, 3]}, np.array([1, 2, 3])),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_constants_of_every_kind(attributes, want):
    nodes = node("Constant", "", "k", **attributes), node("Cast", "k", "c", to=1)
    made = model(*nodes, node("Add", "x c"))
    bias = read(made).layers[0].bias
    assert bias.fractions() == [Fraction(float(b)) for b in np.broadcast_to(want, 3)]
    assert results(made) == ["constant", "constant", "layer 1: 3 -> 3"]


# ---------------------------------------------------------------------- what is not there


def test_what_the_output_does_not_depend_on_is_left_out():
    made = model(
        node("MatMul", "x W", "m"),
        node("Relu", "m", "dead"),
        node("Relu", "m", "measured"),
        node("Shape", "measured", "s"),
        node("Reshape", "m s", "f"),
        node("Relu", "f"),
        constants={"W": W},
    )
    assert results(made) == [
        "layer 1: 3 -> 4",
        "not used",
        "only its shape is used",
        "constant",
        "shape only",
        "relu of layer 1",
    ]
    assert read(made).widths == (4,)


def test_local_functions_are_expanded():
    inner = helper.make_function(
        "my", "Dense", ["a", "w"], ["c"],
        [helper.make_node("MatMul", ["a", "w"], ["b"]), helper.make_node("Relu", ["b"], ["c"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    made = model(node("Dense", "x W", domain="my"), constants={"W": W}, functions=[inner])
    net = read(made)
    assert net.widths == (4,)
    X = samples(net)
    np.testing.assert_array_equal(net(X), relu(X @ W))


def test_the_model_is_left_as_it_was():
    for form in FORMS.values():
        made = form[0]()
        before = made.SerializeToString(deterministic=True)
        read(made)
        assert made.SerializeToString(deterministic=True) == before


def test_paths_and_models_are_the_same(tmp_path):
    made = FORMS["normalised"][0]()
    path = tmp_path / "net.onnx"
    onnx.save(made, path)
    assert pc.Network.from_onnx(path) == pc.Network.from_onnx(str(path)) == read(made)


# ---------------------------------------------------------------------- the check


MISREADINGS = {
    "a bias is lost": ("Add", lambda result: result.__class__(result.terms, None, *_place(result))),
    "a tiny error in a bias": ("Gemm", lambda result: _nudged(result, bias=Fraction(1, 2**40))),
    "a tiny error in a weight": (
        "MatMul",
        lambda result: _nudged(result, weight=Fraction(1, 2**38)),
    ),
    "a layer is dropped": ("Sub", lambda result: result.terms[0][0]),
    "a relu is dropped": ("Relu", lambda result: result.value),
    "a quotient is a product": ("Div", lambda result: _inverted(result)),
}


def _place(result):
    return result.shape, result.batch


def _nudged(result, weight=0, bias=0):
    from polycarve.rational import ExactArray

    def moved(found, by):
        numbers = found.fractions()
        first = numbers[0] if found.ndim == 2 else numbers
        first[0] += by
        return ExactArray.of(numbers)

    ((value, matrix),) = result.terms
    matrix = moved(matrix, weight) if weight else matrix
    bias = moved(result.bias, bias) if bias else result.bias
    return result.__class__(((value, matrix),), bias, *_place(result))


def _inverted(result):
    from polycarve.rational import ExactArray

    ((value, matrix),) = result.terms
    turned = [[1 / q if q else q for q in row] for row in matrix.fractions()]
    return result.__class__(((value, ExactArray.of(turned)),), None, *_place(result))


@pytest.mark.parametrize("name", MISREADINGS)
def test_the_check_sees_a_misreading(name, monkeypatch):
    from polycarve.networks.onnx import operators

    op, wrong = MISREADINGS[name]
    made = model(
        node("Sub", "x mean", "c"), node("Div", "c std", "s"), node("Gemm", "s W B", "g"),
        node("Relu", "g", "r"), node("MatMul", "r V", "m"), node("Add", "m C"),
        constants={"mean": MEAN, "std": STD, "W": W, "B": B + 1, "V": V, "C": C + 1},
    )  # fmt: skip
    read(made)
    right = operators.OPERATORS[op]
    monkeypatch.setitem(operators.OPERATORS, op, lambda one: wrong(right(one)))
    with pytest.raises(NetworkError, match="computes something else than the tensor"):
        read(made)


def test_the_check_sees_what_depends_on_the_size_of_the_batch():
    nodes = node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Cast", "n", "f", to=1)
    made = model(*nodes, node("Mul", "x f"), constants={"zero": np.array(0)})
    with pytest.raises(NetworkError, match="computes something else"):
        read(made)


def test_the_check_sees_a_wrong_order_at_the_end(monkeypatch):
    from polycarve.networks.onnx import operators
    from polycarve.networks.onnx.values import Value

    def careless(one):
        given = one.input(0)
        return Value(given.step, (given.shape[0], 3, 2), 0)

    made = model(node("Relu", "x", "r"), node("Transpose", "r", perm=[0, 2, 1]), shape=("n", 2, 3))
    with pytest.raises(NetworkError, match="puts the computed numbers in another order"):
        read(made)
    monkeypatch.setitem(operators.OPERATORS, "Transpose", careless)
    with pytest.raises(NetworkError, match="computes something else than the tensor 'y'"):
        read(made)


def test_what_cannot_be_checked_is_refused():
    constants = {"a": np.full((3, 2), 1e200), "b": np.full((2, 2), 1e200)}
    nodes = node("MatMul", "x a", "h"), node("MatMul", "h b")
    with pytest.raises(NetworkError, match="'y' leave the range of float64"):
        read(model(*nodes, constants=constants, dtype="float64"))
    constants["b"] *= 1e-200
    assert read(model(*nodes, constants=constants, dtype="float64")).n_outputs == 2
