"""Every way of writing a layer in ONNX, with what it computes in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.onnx_models import model, node, onnx

RNG = np.random.default_rng(5)
W, V = RNG.integers(-8, 9, (3, 4)) / 4.0, RNG.integers(-8, 9, (4, 2)) / 4.0
S = RNG.integers(-8, 9, (4, 4)) / 4.0
B, C = RNG.integers(-4, 5, 4) / 8.0, RNG.integers(-4, 5, 2) / 8.0
MEAN, STD = np.array([0.5, -1.0, 2.0]), np.array([2.0, 0.25, 4.0])
RELU = node("Relu", "h", "r")
OUT = node("MatMul", "r V", "y")


def relu(x):
    return np.maximum(x, 0)


def hidden(*before, **options):
    """A model with nodes that make ``h`` of ``x``, a ReLU, and one more matrix."""
    constants = {"W": W, "V": V, "B": B, "C": C, "S": S, **options.pop("constants", {})}
    return model(*before, RELU, OUT, constants=constants, **options)


def shaped(shape, *before, rest=(), **options):
    """A model whose nodes make rows ``f`` of an input of some shape."""
    return hidden(*before, node("Gemm", "f W B", "h"), *rest, shape=shape, **options)


def plain(x):
    return relu(x @ W + B) @ V


def scaled(x):
    return relu((x - MEAN) / STD @ W + B) @ V


DROPOUT = {"ratio": np.array(0.5), "no": np.array(False)}
SHAPE = [
    node("Shape", "x", "s"),
    node("Gather", "s zero", "n", axis=0),
    node("Unsqueeze", "n axis", "n1"),
    node("Concat", "n1 rest", "wanted", axis=0),
    node("Reshape", "x wanted", "f"),
]
SHAPED = {
    "zero": np.array(0, np.int64),
    "axis": np.array([0], np.int64),
    "rest": np.array([-1], np.int64),
}

Case = tuple[Callable[[], "onnx.ModelProto"], Callable[[np.ndarray], np.ndarray], int]

# name: the model, what it computes, and how many layers it is read as
FORMS: dict[str, Case] = {
    "Gemm": (lambda: hidden(node("Gemm", "x W B", "h")), plain, 2),
    "Gemm, transposed": (
        lambda: hidden(node("Gemm", "x T B", "h", transB=1), constants={"T": W.T}),
        plain,
        2,
    ),
    "Gemm, square and transposed": (
        lambda: hidden(node("Gemm", "x W B", "g"), node("Gemm", "g S", "h", transB=1)),
        lambda x: relu((x @ W + B) @ S.T) @ V,
        3,
    ),
    "Gemm with factors": (
        lambda: hidden(node("Gemm", "x W B", "h", alpha=0.5, beta=-3.0)),
        lambda x: relu(0.5 * x @ W - 3 * B) @ V,
        2,
    ),
    "Gemm without a bias": (lambda: hidden(node("Gemm", "x W", "h")), lambda x: relu(x @ W) @ V, 2),
    "Gemm that leaves its bias out": (
        lambda: hidden(node("Gemm", "x W _", "h")),
        lambda x: relu(x @ W) @ V,
        2,
    ),
    "Gemm with beta zero": (
        lambda: hidden(node("Gemm", "x W B", "h", beta=0.0)),
        lambda x: relu(x @ W) @ V,
        2,
    ),
    "Gemm and then Add": (
        lambda: hidden(node("Gemm", "x W", "g"), node("Add", "g B", "h")),
        plain,
        2,
    ),
    "Gemm with a scalar bias": (
        lambda: hidden(node("Gemm", "x W b", "h"), constants={"b": np.array(0.5)}),
        lambda x: relu(x @ W + 0.5) @ V,
        2,
    ),
    "Gemm with a row as bias": (
        lambda: hidden(node("Gemm", "x W b", "h"), constants={"b": B[None]}),
        plain,
        2,
    ),
    "Gemm of a column, transposed": (
        lambda: hidden(node("Gemm", "x W B", "h", transA=1), shape=(3, 1)),
        plain,
        2,
    ),
    "Gemm with the matrix first": (
        lambda: model(
            node("Gemm", "T x b", "h"),
            RELU,
            shape=(3, 1),
            constants={"T": W.T, "b": B[:, None]},
            outputs=["r"],
        ),
        lambda x: relu(x @ W + B),
        1,
    ),
    "MatMul and Add": (
        lambda: hidden(node("MatMul", "x W", "m"), node("Add", "m B", "h")),
        plain,
        2,
    ),
    "the bias first": (
        lambda: hidden(node("MatMul", "x W", "m"), node("Add", "B m", "h")),
        plain,
        2,
    ),
    "MatMul and Sub": (
        lambda: hidden(node("MatMul", "x W", "m"), node("Sub", "m N", "h"), constants={"N": -B}),
        plain,
        2,
    ),
    "two biases": (
        lambda: hidden(
            node("MatMul", "x W", "m"), node("Add", "m B", "a"), node("Add", "a B", "h")
        ),
        lambda x: relu(x @ W + 2 * B) @ V,
        3,
    ),
    "no bias": (lambda: hidden(node("MatMul", "x W", "h")), lambda x: relu(x @ W) @ V, 2),
    "no relu": (lambda: model(node("MatMul", "x W", "y"), constants={"W": W}), lambda x: x @ W, 1),
    "a relu at the end": (
        lambda: model(node("MatMul", "x W", "m"), node("Relu", "m"), constants={"W": W}),
        lambda x: relu(x @ W),
        1,
    ),
    "a relu of the input": (
        lambda: model(node("Relu", "x", "r"), node("MatMul", "r W", "y"), constants={"W": W}),
        lambda x: relu(x) @ W,
        2,
    ),
    "a relu of a relu": (
        lambda: model(
            node("MatMul", "x W", "m"),
            node("Relu", "m", "a"),
            node("Relu", "a"),
            constants={"W": W},
        ),
        lambda x: relu(x @ W),
        2,
    ),
    "a row alone": (
        lambda: hidden(node("MatMul", "x W", "m"), node("Add", "m B", "h"), shape=(3,)),
        plain,
        2,
    ),
    "the matrix before a vector": (
        lambda: hidden(
            node("MatMul", "T x", "m"), node("Add", "m B", "h"), shape=(3,), constants={"T": W.T}
        ),
        plain,
        2,
    ),
    "the matrix before columns": (
        lambda: hidden(
            node("Transpose", "x", "t", perm=[1, 0]),
            node("MatMul", "T t", "m"),
            node("Add", "m b", "a"),
            node("Transpose", "a", "h"),
            constants={"T": W.T, "b": B[:, None]},
        ),
        plain,
        2,
    ),
    "a vector as matrix": (
        lambda: model(node("MatMul", "x w", "h"), node("Relu", "h"), constants={"w": MEAN}),
        lambda x: relu(x @ MEAN)[:, None],
        1,
    ),
    "two vectors": (
        lambda: model(node("MatMul", "w x"), shape=(3,), constants={"w": MEAN}),
        lambda x: (x @ MEAN)[:, None],
        1,
    ),
    "a stack of one matrix": (
        lambda: model(node("MatMul", "x W3"), constants={"W3": W[None]}),
        lambda x: x @ W,
        1,
    ),
    "along the last of three axes": (
        lambda: model(node("MatMul", "x W"), shape=("n", 2, 3), constants={"W": W}),
        lambda x: (x.reshape(-1, 2, 3) @ W).reshape(-1, 8),
        1,
    ),
    "along the middle of three axes": (
        lambda: model(node("MatMul", "T x"), shape=("n", 3, 2), constants={"T": W.T}),
        lambda x: (W.T @ x.reshape(-1, 3, 2)).reshape(-1, 8),
        1,
    ),
    "normalised": (
        lambda: hidden(
            node("Sub", "x mean", "c"),
            node("Div", "c std", "s"),
            node("Gemm", "s W B", "h"),
            constants={"mean": MEAN, "std": STD},
        ),
        scaled,
        4,
    ),
    "normalised by numbers": (
        lambda: hidden(
            node("Sub", "x mean", "c"),
            node("Div", "c std", "s"),
            node("Gemm", "s W B", "h"),
            constants={"mean": np.array(0.5), "std": np.array([[4.0]])},
        ),
        lambda x: relu((x - 0.5) / 4 @ W + B) @ V,
        4,
    ),
    "normalised by channel": (
        lambda: hidden(
            node("Sub", "x mean", "c"),
            node("Div", "c std", "s"),
            node("Flatten", "s", "f"),
            node("MatMul", "f U", "h"),
            shape=("n", 2, 1, 3),
            constants={
                "mean": np.array([0.5, -1.0]).reshape(2, 1, 1),
                "std": np.array([2.0, 4.0]).reshape(1, 2, 1, 1),
                "U": np.vstack([W, -2 * W]),
            },
        ),
        lambda x: relu((x[:, :3] - 0.5) / 2 @ W - (x[:, 3:] + 1) / 4 @ W * 2) @ V,
        4,
    ),
    "a scaler of scikit-learn": (
        lambda: hidden(
            node("Scaler", "x", "s", domain="ai.onnx.ml", offset=[0.5, -1.0, 2.0], scale=[2.0]),
            node("Gemm", "s W B", "h"),
        ),
        lambda x: relu((x - MEAN) * 2 @ W + B) @ V,
        3,
    ),
    "one less": (
        lambda: hidden(
            node("Sub", "one x", "n"), node("Gemm", "n W B", "h"), constants={"one": np.array(1.0)}
        ),
        lambda x: relu((1 - x) @ W + B) @ V,
        3,
    ),
    "negated": (
        lambda: hidden(node("Neg", "x", "n"), node("Gemm", "n W B", "h")),
        lambda x: relu(-x @ W + B) @ V,
        3,
    ),
    "scaled, the constant first": (
        lambda: hidden(node("Mul", "k x", "n"), node("Gemm", "n W B", "h"), constants={"k": STD}),
        lambda x: relu(x * STD @ W + B) @ V,
        3,
    ),
    "scaled and shifted is one layer": (
        lambda: model(
            node("Mul", "x k", "m"), node("Add", "m mean"), constants={"k": STD, "mean": MEAN}
        ),
        lambda x: x * STD + MEAN,
        1,
    ),
    "one number made many": (
        lambda: model(
            node("Add", "x B", "h"),
            node("Relu", "h", "r"),
            node("Mul", "r r4"),
            shape=("n", 1),
            constants={"B": B, "r4": B[::-1].copy()},
        ),
        lambda x: relu(x + B) * B[::-1],
        2,
    ),
    "flattened": (
        lambda: shaped((1, 1, 1, 3), node("Flatten", "x", "f")),
        plain,
        2,
    ),
    "flattened from the last axis": (
        lambda: shaped(("n", 3, 1, 1), node("Flatten", "x", "f", axis=-3)),
        plain,
        2,
    ),
    "reshaped": (
        lambda: shaped(
            ("n", 3, 1), node("Reshape", "x to", "f"), constants={"to": np.array([-1, 3])}
        ),
        plain,
        2,
    ),
    "reshaped, the batch copied": (
        lambda: shaped(
            ("n", 1, 3), node("Reshape", "x to", "f"), constants={"to": np.array([0, -1])}
        ),
        plain,
        2,
    ),
    "reshaped, zeros allowed": (
        lambda: shaped(
            (1, 3, 1),
            node("Reshape", "x to", "f", allowzero=1),
            constants={"to": np.array([1, -1])},
        ),
        plain,
        2,
    ),
    "reshaped by its own shape": (
        lambda: shaped(("n", 3, 1), *SHAPE, constants=SHAPED),
        plain,
        2,
    ),
    "squeezed": (
        lambda: shaped(
            ("n", 1, 3), node("Squeeze", "x axes", "f"), constants={"axes": np.array([-2])}
        ),
        plain,
        2,
    ),
    "squeezed in older files": (
        lambda: shaped(("n", 1, 3), node("Squeeze", "x", "f", axes=[1]), opset=11),
        plain,
        2,
    ),
    "squeezed of all, and made a row again": (
        lambda: shaped(
            (1, 1, 3),
            node("Squeeze", "x", "q"),
            node("Unsqueeze", "q axes", "f"),
            constants={"axes": np.array([0])},
        ),
        plain,
        2,
    ),
    "identities": (
        lambda: shaped(
            ("n", 3),
            node("Identity", "x", "i"),
            node("Cast", "i", "c", to=11),
            node("Cast", "c", "f", to=1),
        ),
        plain,
        2,
    ),
    "dropout": (
        lambda: shaped(("n", 3), node("Dropout", "x ratio no", "f"), constants=DROPOUT),
        plain,
        2,
    ),
    "dropout in older files": (
        lambda: shaped(("n", 3), node("Dropout", "x", "f", ratio=0.5), opset=10),
        plain,
        2,
    ),
    "weights by way of other nodes": (
        lambda: hidden(
            node("Transpose", "T", "t"),
            node("Identity", "t", "i"),
            node("Cast", "i", "c", to=1),
            node("Reshape", "c to", "w"),
            node("Unsqueeze", "B zero", "b"),
            node("Gemm", "x w b", "h"),
            constants={"T": W.T, "to": np.array([3, 4]), "zero": np.array([0])},
        ),
        plain,
        2,
    ),
    "weights made of constants": (
        lambda: hidden(
            node("Mul", "W half", "w"),
            node("Sub", "B one", "c"),
            node("Neg", "c", "b"),
            node("Gemm", "x w b", "h"),
            constants={"half": np.array(0.5), "one": np.array(1.0)},
        ),
        lambda x: relu(x @ W / 2 + 1 - B) @ V,
        2,
    ),
    "parameters listed as inputs": (
        lambda: hidden(node("Gemm", "x W B", "h"), listed=True, ir=3, opset=8),
        plain,
        2,
    ),
    "a skip connection": (
        lambda: hidden(
            node("Gemm", "x W B", "m"),
            node("Relu", "m", "a"),
            node("MatMul", "a S", "s"),
            node("Add", "s a", "h"),
        ),
        lambda x: relu(relu(x @ W + B) @ S + relu(x @ W + B)) @ V,
        4,
    ),
    "a skip connection inside Gemm": (
        lambda: hidden(
            node("Gemm", "x W B", "m"),
            node("Relu", "m", "a"),
            node("Gemm", "a S a", "h", beta=2.0),
        ),
        lambda x: relu(relu(x @ W + B) @ S + 2 * relu(x @ W + B)) @ V,
        3,
    ),
    "a relu beside what it reads": (
        lambda: hidden(node("Gemm", "x W B", "m"), node("Relu", "m", "a"), node("Sub", "m a", "h")),
        lambda x: relu(x @ W + B - relu(x @ W + B)) @ V,
        4,
    ),
    "twice the same value": (
        lambda: hidden(node("Gemm", "x W B", "m"), node("Add", "m m", "h")),
        lambda x: relu(2 * (x @ W + B)) @ V,
        3,
    ),
    "a sum of four": (
        lambda: hidden(
            node("Gemm", "x W B", "m"), node("Relu", "m", "a"), node("Sum", "m a B m", "h")
        ),
        lambda x: relu(2 * (x @ W + B) + relu(x @ W + B) + B) @ V,
        4,
    ),
    "side by side": (
        lambda: model(
            node("MatMul", "x W", "m"),
            node("Relu", "m", "a"),
            node("Concat", "x a x", axis=-1),
            constants={"W": W},
        ),
        lambda x: np.hstack([x, relu(x @ W), x]),
        2,
    ),
    "side by side in the middle": (
        lambda: model(
            node("MatMul", "x W", "m"),
            node("Concat", "m x", "c", axis=2),
            node("Flatten", "c"),
            shape=("n", 2, 3),
            constants={"W": W},
        ),
        lambda x: np.concatenate([x.reshape(-1, 2, 3) @ W, x.reshape(-1, 2, 3)], axis=2).reshape(
            -1, 14
        ),
        2,
    ),
    "a constant beside": (
        lambda: model(
            node("Concat", "one x", "c", axis=0),
            node("MatMul", "U c"),
            shape=(3,),
            constants={"one": np.array([2.0]), "U": np.vstack([B, W]).T},
        ),
        lambda x: x @ W + 2 * B,
        2,
    ),
    "two branches": (
        lambda: hidden(
            node("Gemm", "x W B", "m"),
            node("MatMul", "x W", "n"),
            node("Relu", "n", "b"),
            node("Relu", "m", "a"),
            node("Add", "a b", "h"),
        ),
        lambda x: relu(relu(x @ W + B) + relu(x @ W)) @ V,
        4,
    ),
    "a batch of fixed size": (
        lambda: shaped(
            (4, 3, 1), node("Reshape", "x to", "f"), constants={"to": np.array([4, -1])}
        ),
        plain,
        2,
    ),
    "axes of which none is a batch": (
        lambda: shaped((3, 1), node("Reshape", "x to", "f"), constants={"to": np.array([1, 3])}),
        plain,
        2,
    ),
    "a column per sample": (
        lambda: model(
            node("Add", "x b", "a"), node("Relu", "a"), shape=(3, 1), constants={"b": MEAN[:, None]}
        ),
        lambda x: relu(x + MEAN),
        1,
    ),
}
