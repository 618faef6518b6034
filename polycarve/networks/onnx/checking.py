"""What was read, compared with what onnx's own evaluator computes, layer by layer.

The evaluator runs the graph in float64: what a network means here is the real-valued function of
the file's numbers, and wider arithmetic comes nearer to it. Every layer is applied to the
evaluator's own values of what it reads, so that errors do not add up with depth, and the
difference is held against the rounding of one layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import NetworkError
from polycarve.networks.evaluation import preactivation
from polycarve.networks.network import Layer
from polycarve.networks.onnx.files import array, in_short
from polycarve.networks.onnx.shaping import FLOATS
from polycarve.networks.onnx.values import OPEN, Value

FloatArray = npt.NDArray[np.float64]

_DOUBLE = 11  # TensorProto's number of float64
_SAMPLES = 16


def compare(
    model: Any,
    nodes: Sequence[Any],
    entry: tuple[str, Value],
    layers: Sequence[Layer],
    made: Sequence[tuple[str, Value]],
    ends: Sequence[tuple[str, Value]],
) -> None:
    """Refuse layers that compute something else than the tensors they were read from.

    Parameters
    ----------
    model : onnx.ModelProto
    nodes : sequence of onnx.NodeProto
        Those that lead to the layers, in the graph's order.
    entry : name and Value of the input
    layers : sequence of Layer
    made : sequence of names and Values
        The tensor that holds the result of each layer.
    ends : sequence of names and Values
        Tensors that hold the result of the last layer once more, in another shape perhaps.
    """
    name, value = entry
    points = _points(value)
    asked = [*made, *ends]
    try:
        evaluator = _evaluator(model, nodes, name, [tensor for tensor, _ in asked])
        theirs = _run(evaluator, entry, points, asked)
    except NetworkError:
        raise
    except Exception as error:
        raise NetworkError(
            f"onnx's reference evaluator cannot run it, so nothing checks what was read: "
            f"{in_short(error)}"
        ) from None
    for number, layer in enumerate(layers):
        with np.errstate(all="ignore"):
            ours, allowed = _with_bound(layer, theirs)
            agrees = np.abs(ours - theirs[number + 1]) <= allowed
        is_finite = np.isfinite(allowed)
        if not is_finite.any(axis=0).all():
            raise NetworkError(
                f"the values of the tensor {made[number][0]!r} leave the range of float64, so "
                f"nothing checks what was read. Rescale the layers."
            )
        if not (agrees | ~is_finite).all():
            raise NetworkError(_differs(number + 1, made[number][0]))
    for place, (tensor, _) in enumerate(ends, start=len(made) + 1):
        if not np.array_equal(theirs[place], theirs[len(made)], equal_nan=True):
            raise NetworkError(_differs(len(made), tensor))


def _differs(number: int, tensor: str) -> str:
    return (
        f"layer {number} computes something else than the tensor {tensor!r} that it was read "
        f"from, by onnx's reference evaluator. If nothing in the file depends on the size of the "
        f"batch, please report it."
    )


def _points(value: Value) -> FloatArray:
    samples = _SAMPLES
    if value.batch is not None and value.shape[value.batch] != OPEN:
        runs = -(-_SAMPLES // value.shape[value.batch])
        samples = runs * value.shape[value.batch]
    # Near and far: what clips its values shows only where they are large.
    points = np.random.default_rng(0).normal(size=(samples, value.size))
    return points * 10.0 ** np.resize([-2, 0, 2, 4], samples)[:, None]


def _run(
    evaluator: Any,
    entry: tuple[str, Value],
    points: FloatArray,
    made: Sequence[tuple[str, Value]],
) -> list[FloatArray]:
    name, value = entry
    each = 1  # so many samples at a time
    if value.batch is not None:
        each = len(points) if value.shape[value.batch] == OPEN else value.shape[value.batch]
    found: list[list[FloatArray]] = [[] for _ in made]
    for first in range(0, len(points), each):
        shape = tuple(each if k == value.batch else n for k, n in enumerate(value.shape))
        fed = points[first : first + each].reshape(shape)  # the batch axis comes first, or is none
        with np.errstate(all="ignore"):
            outputs = evaluator.run([tensor for tensor, _ in made], {name: fed})
        for place, (output, (tensor, held)) in enumerate(zip(outputs, made, strict=True)):
            wanted = tuple(each if k == held.batch else n for k, n in enumerate(held.shape))
            if np.shape(output) != wanted:
                raise NetworkError(
                    f"the tensor {tensor!r} has the shape {np.shape(output)} by onnx's reference "
                    f"evaluator, and was read as {wanted}. Please report this file."
                )
            rows = output if held.batch is None else np.moveaxis(output, held.batch, 0)
            found[place].append(np.asarray(rows, dtype=np.float64).reshape(each, -1))
    return [points, *(np.concatenate(parts) for parts in found)]


def _with_bound(layer: Layer, known: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return a layer's values from what it reads, and how far rounding may lead from them."""
    W, b = layer.weight.float64, layer.bias.float64
    ours = preactivation(layer, known)
    read = np.concatenate([known[k] for k in layer.inputs], axis=1)
    size = np.abs(read) @ np.abs(W).T + np.abs(b)
    # The sum itself, and a dozen roundings of numbers that the graph computes from constants.
    steps = np.count_nonzero(W, axis=1) + 16
    if layer.activation is not None:
        ours = layer.activation(ours)
    return ours, steps * (2.0**-50 * size + 2.0**-1050)


# ---------------------------------------------------------------------- the graph in float64


def _evaluator(model: Any, nodes: Sequence[Any], entry: str, outputs: list[str]) -> Any:
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        [_widened(node) for node in nodes],
        model.graph.name or "graph",
        [helper.make_tensor_value_info(entry, _DOUBLE, None)],
        [helper.make_tensor_value_info(name, _DOUBLE, None) for name in outputs],
        [_wide(tensor) for tensor in model.graph.initializer if tensor.name in read],
    )
    opsets = [helper.make_opsetid(entry.domain, entry.version) for entry in model.opset_import]
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))


def _wide(tensor: Any) -> Any:
    from onnx import numpy_helper

    if tensor.data_type not in FLOATS:
        return tensor
    return numpy_helper.from_array(array(tensor, tensor.name).astype(np.float64), tensor.name)


def _widened(node: Any) -> Any:
    """Return a node that computes in float64 what it computes in a narrower type."""
    from onnx import AttributeProto, NodeProto, helper, numpy_helper

    wide = NodeProto()
    wide.CopyFrom(node)
    for entry in wide.attribute:
        if entry.type == AttributeProto.TENSOR:
            entry.t.CopyFrom(_wide(entry.t))
        elif node.op_type == "Cast" and entry.name == "to" and entry.i in FLOATS:
            entry.i = _DOUBLE
        elif node.op_type == "Constant" and entry.name in ("value_float", "value_floats"):
            numbers = np.array(helper.get_attribute_value(entry), dtype=np.float64)
            entry.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(numbers)))
    return wide
