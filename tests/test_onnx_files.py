"""ONNX files that are refused: broken, unsupported or ambiguous, each in one clear line."""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import MissingDependencyError, NetworkError, UnsupportedLayerError

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from tests.onnx_models import model, node, read, results, tensor  # noqa: E402

W = np.arange(12.0).reshape(3, 4) - 5
SQUARE = np.eye(4) - 0.5
DENSE = node("MatMul", "x W", "m")
RELU = node("Relu", "m", "r")


def small(*nodes, **options):
    constants = {"W": W, "S": SQUARE, **options.pop("constants", {})}
    return model(DENSE, RELU, *nodes, constants=constants, **options)


# ---------------------------------------------------------------------- nodes that are not read


def test_all_unsupported_nodes_are_named_at_once():
    made = small(
        node("LeakyRelu", "r", "a"),
        node("Conv", "a K", "b", name="first conv"),
        node("Gelu", "b", "c", name="", domain="com.example"),
        node("MatMul", "c S", "d"),
        node("Conv", "d K", "e"),
        node("Mul", "r r", "f"),
        node("Div", "one r", "g"),
        node("MatMul", "r r", "h"),
        node("BatchNormalization", "r s s s s", "i"),
        node("If", "true", "j", then_branch=helper.make_graph([], "t", [], [])),
        node("Cast", "r", "k", to=TensorProto.INT64),
        node("Sum", "e f g h i j k"),
        constants={"one": np.array(1.0), "true": np.array(True), "s": np.ones(4), "K": W},
    )
    for options in ({}, {"drop_tail": True}):
        with pytest.raises(UnsupportedLayerError) as caught:
            read(made, **options)
        message = str(caught.value)
        for named in (
            "LeakyRelu_a (LeakyRelu)", "first conv (Conv), Conv_e (Conv): not supported",
            "c (com.example.Gelu): it belongs to com.example",
            "Mul_f (Mul), MatMul_h (MatMul): it multiplies two computed values",
            "Div_g (Div): it divides by a computed value",
            "BatchNormalization_i (BatchNormalization): fold it", "If_j (If): control flow",
            "Cast_k (Cast): it makes the computed numbers whole", "Supported: Gemm, MatMul",
        ):  # fmt: skip
            assert named in message
        assert "\n" not in message
        assert "drop_tail" not in message


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([node("Dropout", "r p yes")], "Dropout_y .*training mode"),
        ([node("Dropout", "r", "d mask"), node("Where", "mask d r")], "more than its first output"),
        ([node("Transpose", "t", "u"), node("Relu", "u")], "puts the computed numbers in another"),
        ([node("Gather", "r zero")], "picks from computed numbers"),
        ([node("Reshape", "r r")], "its shape depends on the input"),
        ([node("MatMul", "S S", "q"), node("MatMul", "r q")], "both its sides are constant"),
        ([node("MatMul", "r stack")], "stack of matrices"),
        ([node("Relu", "S", "q"), node("MatMul", "r q")], "ReLU of a constant"),
        ([node("Add", "r yes")], "text or truth values"),
        ([node("Cast", "half", "i", to=7), node("Reshape", "r i")], "makes fractions whole"),
        ([node("Constant", "", "c", value_string="a"), node("Add", "r c")], "text or truth"),
        ([node("Flatten", "r", "y", axis=0)], "mixes the batch axis"),
        ([node("Reshape", "r flat")], "mixes the batch axis"),
        ([node("Reshape", "r fixed")], "mixes the batch axis"),
        ([node("MatMul", "S r")], "mixes the batch axis|do not fit"),
        ([node("Concat", "r r", axis=0)], "mixes the batch axis"),
        ([node("Gemm", "r S", "y", transA=1)], "mixes the batch axis|do not fit"),
        ([node("Squeeze", "r zeros")], "mixes the batch axis"),
        ([node("Add", "r S")], "mixes the batch axis"),
    ],
)
def test_nodes_that_are_no_layer(nodes, why):
    made = small(
        node("Unsqueeze", "r ones", "e"), node("Concat", "e e", "t", axis=1), *nodes,
        constants={
            "p": np.array(0.5), "yes": np.array(True), "zero": np.array([0]),
            "zeros": np.array([0]), "ones": np.array([1]), "half": np.array(0.5),
            "flat": np.array([1, -1]), "fixed": np.array([1, 4]), "stack": np.ones((2, 4, 4)),
        },
    )  # fmt: skip
    with pytest.raises(NetworkError, match=why) as caught:
        read(made)
    assert str(caught.value).startswith("the ONNX model: ")


# ---------------------------------------------------------------------- the end of a classifier

LABEL = [
    node("ArgMax", "p", "best", axis=1, keepdims=0),
    node("Cast", "best", "label", to=TensorProto.INT64),
]
ENDS = {
    "Softmax": ([node("Softmax", "s", "y")], ["y"]),
    "LogSoftmax": ([node("LogSoftmax", "s", "y")], ["y"]),
    "Sigmoid": ([node("Sigmoid", "s", "y")], ["y"]),
    "ArgMax": ([node("ArgMax", "s", "a", axis=1), node("Squeeze", "a one", "y")], ["y"]),
    "a label and what it is made of": ([node("Softmax", "s", "p"), *LABEL], ["label", "p"]),
    "the layer itself and its Softmax": ([node("Softmax", "s", "p")], ["s", "p"]),
    "the layer in two shapes": (
        [node("Unsqueeze", "s one", "u"), node("Sigmoid", "u", "y")],
        ["y"],
    ),
    "two classes": (
        [
            node("Sigmoid", "s", "p"),
            node("Sub", "unit p", "q"),
            node("Concat", "q p", "z", axis=1),
            node("ZipMap", "z", "y", domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
        ],
        ["y"],
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_a_classifier_ends_in_is_dropped_on_demand(end):
    nodes, outputs = ENDS[end]
    constants = {"one": np.array([1]), "unit": np.array(1.0)}
    made = small(node("MatMul", "r S", "s"), *nodes, outputs=outputs, constants=constants)
    with pytest.raises(UnsupportedLayerError, match=r"drop_tail=True \(--drop-tail\) leaves"):
        read(made)
    net = read(made, drop_tail=True)
    assert net == read(small(node("MatMul", "r S", "y")))
    assert "dropped" in results(made, drop_tail=True)
    assert results(made, drop_tail=True)[2] == "layer 2: 4 -> 4"


def test_a_tail_of_several_layers_is_refused():
    nodes = node("Softmax", "m", "a"), node("Sigmoid", "r", "b"), node("Add", "a b")
    with pytest.raises(NetworkError, match="it ends in several layers, m and r; one is needed"):
        read(small(*nodes), drop_tail=True)


def test_matrices_that_fill_the_memory_are_refused():
    for nodes, why in (
        ([node("Mul", "x two")], "a matrix of 20000 x 20000 numbers; fold it"),
        ([node("Relu", "x", "a"), node("Add", "x a")], "a matrix of 20000 x 40000 numbers"),
        ([node("Relu", "x")], "would be a layer of 20000 units that read 20000"),
    ):
        made = model(*nodes, shape=("n", 20000), constants={"two": np.array(2.0)})
        with pytest.raises(NetworkError, match=why):
            read(made)
    big = model(node("MatMul", "x W"), shape=("n", 200, 200), constants={"W": np.zeros((200, 200))})
    with pytest.raises(NetworkError, match="a matrix of 40000 x 40000 numbers"):
        read(big)


def test_drop_tail_of_a_network_without_one_changes_nothing():
    made = small(node("MatMul", "r S"))
    assert read(made, drop_tail=True) == read(made)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Sigmoid", "r", "s"), node("MatMul", "s S")],
        [node("Sigmoid", "r", "s"), node("Relu", "s")],
        [node("Softmax", "r", "s"), node("Clip", "s")],
        [node("Softmax", "r", "s"), node("MatMul", "s S", "t"), node("Softmax", "t")],
    ],
)
def test_nothing_is_dropped_from_the_middle(nodes):
    with pytest.raises(UnsupportedLayerError, match="not piecewise linear and other layers"):
        read(small(*nodes), drop_tail=True)


def test_piecewise_linear_ends_are_not_dropped():
    with pytest.raises(UnsupportedLayerError, match="Clip_y"):
        read(small(node("Clip", "r")), drop_tail=True)


@pytest.mark.parametrize("drop_tail", [False, True])
@pytest.mark.parametrize(
    "nodes", [[node("MatMul", "r S", "y")], [node("Softmax", "m", "y")]], ids=["layers", "tails"]
)
def test_several_outputs_are_refused(nodes, drop_tail):
    with pytest.raises(NetworkError, match=r"2 outputs|leaves this off|several layers"):
        read(small(*nodes, outputs=["y", "r"]), drop_tail=drop_tail)


# ---------------------------------------------------------------------- graphs that are no network


def changed(change, **options):
    made = small(node("MatMul", "r S"), **options)
    change(made)
    return made


def without(*fields):
    def change(made):
        for name in fields:
            made.ClearField(name)

    return lambda: changed(change)


def open_axis(place, name=""):
    def change(made):
        axis = made.graph.input[0].type.tensor_type.shape.dim[place]
        axis.Clear()
        if name:
            axis.dim_param = name

    return lambda: changed(change)


def broken_tensor(**fields):
    def change(made):
        stored = made.graph.initializer[0]
        for name, value in fields.items():
            stored.ClearField(name)
            if isinstance(value, list):
                getattr(stored, name).extend(value)
            else:
                setattr(stored, name, value)

    return lambda: changed(change)


GRAPHS = {
    "nothing": (onnx.ModelProto, "holds no ONNX graph"),
    "no graph": (without("graph"), "holds no ONNX graph"),
    "no nodes": (lambda: changed(lambda m: m.graph.ClearField("node")), "no nodes"),
    "sparse weights": (
        lambda: changed(lambda m: m.graph.sparse_initializer.add()),
        "sparse tensors, which are not read",
    ),
    "no operator set": (without("opset_import"), "does not say which operator set"),
    "an old operator set": (lambda: small(opset=6), "operator set 6; 7 or newer"),
    "no output": (lambda: changed(lambda m: m.graph.ClearField("output")), "no output"),
    "no input": (lambda: changed(lambda m: m.graph.ClearField("input")), "inputs are none"),
    "two inputs": (
        lambda: model(node("Add", "x z"), inputs=["x", "z"]),
        "this graph's inputs are x, z",
    ),
    "weights as input": (lambda: model(node("MatMul", "x W"), inputs=["x", "W"]), "are x, W"),
    "an output that nothing makes": (lambda: small(outputs=["gone"]), "output reads 'gone'"),
    "an input that nothing makes": (
        lambda: small(node("Add", "r gone")),
        "node Add_y reads 'gone', which nothing before it makes",
    ),
    "nodes out of order": (
        lambda: model(node("Relu", "m"), DENSE, constants={"W": W}),
        "node Relu_y reads 'm'",
    ),
    "a name made twice": (lambda: small(node("Relu", "m", "r")), "makes 'r', which is there"),
    "a name that is stored too": (lambda: small(node("Relu", "m", "W")), "makes 'W'"),
    "a node without output": (
        lambda: changed(lambda m: m.graph.node[2].ClearField("output")),
        "reads 'y', which nothing",
    ),
    "an open second axis": (open_axis(1, "d"), r"has the shape \(batch, d\).*only a first axis"),
    "an open second axis without a name": (open_axis(1), r"\(batch, \?\)"),
    "an open axis alone": (lambda: small(shape=("n",)), "only a first axis"),
    "no shape": (lambda: small(shape=None), "has no shape"),
    "whole numbers": (lambda: model(node("Relu", "x"), dtype="int64"), "no tensor of floats"),
    "a constant output": (
        lambda: small(node("Add", "S S")),
        "output y does not depend on its input",
    ),
    "the input itself": (lambda: model(node("Identity", "x")), "output is its input"),
    "a matrix that does not fit": (
        lambda: small(node("MatMul", "r W")),
        r"matrices of shapes \(batch, 4\) and \(3, 4\) do not fit",
    ),
    "a bias that does not fit": (
        lambda: small(node("Add", "r b"), constants={"b": np.ones(3)}),
        "do not fit",
    ),
    "a bias that is too large": (
        lambda: small(node("Gemm", "r S b"), constants={"b": np.ones((1, 1, 4))}),
        "adds",
    ),
    "Gemm of a vector": (lambda: small(node("Gemm", "x W"), shape=(3,)), "multiplies matrices"),
    "a division by zero": (
        lambda: small(node("Div", "r z"), constants={"z": np.array([1.0, 0, 2, 3])}),
        "divides by zero",
    ),
    "NaN": (lambda: small(node("Add", "r z"), constants={"z": np.array(np.nan)}), "NaN"),
    "an infinite weight": (
        lambda: small(node("Mul", "r z"), constants={"z": np.array(np.inf)}),
        "NaN or infinite",
    ),
    "too few numbers": (broken_tensor(raw_data=b"\0" * 8), "tensor 'W' is broken"),
    "negative dimensions": (broken_tensor(dims=[-1, 4]), "tensor 'W' is broken"),
    "an unknown type": (broken_tensor(data_type=99), "tensor 'W' is broken"),
    "no axis there": (lambda: small(node("Concat", "r r", axis=5)), "no axis 5"),
    "no attribute": (lambda: small(node("Concat", "r r")), "lacks its attribute 'axis'"),
    "no second input": (lambda: small(node("MatMul", "r")), "lacks its input number 2"),
    "a wrong reshape": (
        lambda: small(node("Reshape", "r to"), shape=(1, 3), constants={"to": np.array([5])}),
        "cannot become",
    ),
    "a wrong reshape with a rest": (
        lambda: small(node("Reshape", "r to"), shape=(1, 3), constants={"to": np.array([3, -1])}),
        "cannot be reshaped",
    ),
    "a shape of fractions": (
        lambda: small(node("Reshape", "r to"), constants={"to": np.array([4.0])}),
        "must be whole numbers",
    ),
    "an axis that is longer than one": (
        lambda: small(node("Squeeze", "r to"), shape=(1, 3), constants={"to": np.array([1])}),
        "cannot become",
    ),
    "no order of axes": (lambda: small(node("Transpose", "r", perm=[0, 0])), "no order of 2 axes"),
    "numbers elsewhere": (
        lambda: changed(lambda m: outside(m, "weights.bin")),
        "'W' lie in another file",
    ),
    "a function that is not there": (
        lambda: small(node("Dense", "r", domain="my")),
        r"Dense_y \(my.Dense\): it belongs to my",
    ),
}


def outside(made, location, **entries):
    stored = made.graph.initializer[0]
    stored.ClearField("raw_data")
    stored.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        stored.external_data.add(key=key, value=str(value))


@pytest.mark.parametrize("graph", GRAPHS)
def test_graphs_that_are_no_network(graph, tmp_path):
    make, why = GRAPHS[graph]
    with pytest.raises(NetworkError, match=why) as caught:
        read(make())
    assert str(caught.value).startswith("the ONNX model: ")
    assert "\n" not in str(caught.value)
    assert str(2**31 - 1) not in str(caught.value)  # what stands for an open batch
    if graph == "numbers elsewhere":
        return
    path = tmp_path / "net.onnx"
    path.write_bytes(make().SerializeToString())
    with pytest.raises(NetworkError, match=why) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"PK\x03\x04" + bytes(60), b"solver: adam\n", b"\x80\x04."]
)
def test_files_that_are_not_onnx(data, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with pytest.raises(NetworkError, match=r"net\.onnx: (this is not an ONNX|it holds no ONNX)"):
        read(path)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    made = small(node("MatMul", "r S"))
    del made.opset_import[1:]  # a version that no node needs could be cut off unseen
    whole = made.SerializeToString()
    path = tmp_path / "net.onnx"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(NetworkError, match=r"net\.onnx"):
            read(path)


def test_a_file_with_a_wrong_byte_is_read_or_refused(tmp_path):
    whole = small(node("MatMul", "r S")).SerializeToString()
    path = tmp_path / "net.onnx"
    refused = 0
    for place in range(len(whole)):
        spoilt = bytearray(whole)
        spoilt[place] ^= 0xFF
        path.write_bytes(bytes(spoilt))
        try:
            read(path)
        except NetworkError:
            refused += 1
    assert refused > len(whole) // 4


@pytest.mark.parametrize("given", [None, 5, b"net.onnx", np.eye(2)], ids=repr)
def test_what_is_no_model_is_refused(given):
    with pytest.raises(NetworkError, match=r"neither a path nor an onnx\.ModelProto"):
        read(given)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(NetworkError, match=r"absent\.onnx: no such file"):
        read(tmp_path / "absent.onnx")
    with pytest.raises(NetworkError, match="cannot be read"):
        read(tmp_path)


def saved(folder: Path, location: str, **entries):
    path = folder / "net.onnx"
    path.write_bytes(changed(lambda m: outside(m, location, **entries)).SerializeToString())
    return path


def test_numbers_in_a_file_beside_the_model_are_read(tmp_path):
    data = W.astype(np.float32).tobytes()
    (tmp_path / "weights.bin").write_bytes(bytes(16) + data)
    path = saved(tmp_path, "weights.bin", offset=16, length=len(data))
    assert read(path) == read(small(node("MatMul", "r S")))
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "w").write_bytes(data)
    assert read(saved(tmp_path, "below/w")) == read(small(node("MatMul", "r S")))


@pytest.mark.parametrize(
    "location", ["../weights.bin", "/weights.bin", "", "below/../../weights.bin"]
)
def test_numbers_outside_the_folder_are_not_read(location, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(W.astype(np.float32).tobytes())
    path = saved(folder, location.replace("/weights", f"{tmp_path}/weights", location[:1] == "/"))
    with pytest.raises(NetworkError, match="outside the model's folder"):
        read(path)


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(W.astype(np.float32).tobytes())
    os.symlink(tmp_path / "weights.bin", folder / "link")
    with pytest.raises(NetworkError, match="outside the model's folder"):
        read(saved(folder, "link"))


def test_numbers_that_are_missing_or_too_few(tmp_path):
    with pytest.raises(NetworkError, match=r"'W' lie in 'weights\.bin', which is missing"):
        read(saved(tmp_path, "weights.bin"))
    (tmp_path / "weights.bin").write_bytes(bytes(20))
    for entries in ({}, {"offset": 100}, {"length": 48}, {"offset": -4}):
        with pytest.raises(NetworkError, match=r"numbers outside it|is broken"):
            read(saved(tmp_path, "weights.bin", **entries))


def test_a_missing_package_is_named(monkeypatch):
    real = builtins.__import__

    def without_onnx(name, *args, **kwargs):
        if name.split(".")[0] == "onnx":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_onnx)
    with pytest.raises(MissingDependencyError, match=r"pip install 'polycarve\[onnx\]'"):
        pc.Network.from_onnx("net.onnx")


def test_an_error_of_the_evaluator_is_passed_on(monkeypatch):
    def fails(*_):
        raise RuntimeError("no\nway")

    monkeypatch.setattr("polycarve.networks.onnx.checking._evaluator", fails)
    with pytest.raises(NetworkError, match=r"evaluator cannot run it.*: no way"):
        read(small(node("MatMul", "r S")))


def test_unused_tensors_may_be_broken():
    made = small(node("MatMul", "r S"), more=[tensor("spare", np.zeros(2))])
    made.graph.initializer[-1].raw_data = b"\0"
    assert read(made) == read(small(node("MatMul", "r S")))
