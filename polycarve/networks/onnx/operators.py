"""Which nodes are read, which may be left off at the end, and what to do about the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polycarve.networks.onnx import entrywise, products, shaping
from polycarve.networks.onnx.values import Node, Result

Operator = Callable[[Node], Result]

# Nodes of other domains bear the domain before their name.
OPERATORS: Mapping[str, Operator] = {
    "Add": entrywise.add,
    "Cast": shaping.cast,
    "Concat": products.concat,
    "Constant": shaping.constant,
    "Div": entrywise.divide,
    "Dropout": shaping.dropout,
    "Flatten": shaping.flatten,
    "Gather": shaping.gather,
    "Gemm": products.gemm,
    "Identity": shaping.identity,
    "MatMul": products.matmul,
    "Mul": entrywise.multiply,
    "Neg": entrywise.negate,
    "Relu": entrywise.rectify,
    "Reshape": shaping.reshape,
    "Shape": shaping.shape,
    "Slice": shaping.slice_,
    "Squeeze": shaping.squeeze,
    "Sub": entrywise.subtract,
    "Sum": entrywise.sum_,
    "Transpose": shaping.transpose,
    "Unsqueeze": shaping.unsqueeze,
    "ai.onnx.ml.Scaler": entrywise.scaler,
}

SUPPORTED = (
    "Gemm, MatMul, Add, Sub, Mul, Div, Neg, Sum, Concat, Relu, Flatten, Reshape, Squeeze, "
    "Unsqueeze, Transpose (where it moves no number), Identity, Cast, Dropout, Constant, Scaler"
)

# What a classifier ends in. The regions are those of what it reads.
ENDINGS = frozenset(
    {
        "ArgMax",
        "ArgMin",
        "Hardmax",
        "LogSoftmax",
        "Sigmoid",
        "Softmax",
        "Tanh",
        "ai.onnx.ml.Binarizer",
        "ai.onnx.ml.Normalizer",
        "ai.onnx.ml.ZipMap",
    }
)

# What may follow such an ending: shapes, labels, and arithmetic on probabilities; no layer.
FOLLOWERS = ENDINGS | {
    "Add",
    "Cast",
    "Concat",
    "Div",
    "Flatten",
    "Gather",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "Less",
    "LessOrEqual",
    "Mul",
    "Neg",
    "Not",
    "Reshape",
    "Slice",
    "Squeeze",
    "Sub",
    "Transpose",
    "Unsqueeze",
    "Where",
    "ai.onnx.ml.ArrayFeatureExtractor",
    "ai.onnx.ml.LabelEncoder",
}

LEAVE_OFF = "drop_tail=True (--drop-tail) leaves this off: the regions do not depend on it"
IN_THE_MIDDLE = "it is not piecewise linear and other layers follow it; use a Relu there"

_ADVICE = {
    "BatchNormalization": "fold it into the layer before it when exporting",
    "If": "control flow; export the model for one fixed path",
    "Loop": "control flow; export the model for one fixed path",
    "Scan": "control flow; export the model for one fixed path",
}


def key_of(op: str, domain: str) -> str:
    """Return the name under which an operator is known here."""
    return op if domain in ("", "ai.onnx") else f"{domain}.{op}"


def advice(key: str) -> str:
    """Return what to do about a node that is not read."""
    if "." in key and not key.startswith("ai.onnx.ml."):
        return f"it belongs to {key.rpartition('.')[0]}; export it with standard operators"
    return _ADVICE.get(key, "not supported; rebuild it from operators that are")
