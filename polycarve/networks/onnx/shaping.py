"""Nodes that move no number: reshapes, identities, constants, and what shapes are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polycarve.errors import NetworkError
from polycarve.networks.onnx.files import array
from polycarve.networks.onnx.values import (
    MixedError,
    Node,
    Result,
    Tensor,
    UnreadableError,
    Value,
    is_whole,
    shape_of,
    told,
)

# TensorProto's numbers of float32, float16, float64 and bfloat16: fixed by the format.
FLOATS = (1, 10, 11, 16)


def reshaped(node: Node, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor in another shape."""
    try:
        return tensor.reshape(shape) if isinstance(tensor, np.ndarray) else tensor.reshaped(shape)
    except (ValueError, NetworkError):
        raise NetworkError(
            f"node {node.label}: a tensor of shape {told(tensor)} cannot become {shape}."
        ) from None


def reshape(node: Node) -> Result:
    tensor = node.input(0)
    wanted = node.integers(1, "shape")
    if wanted is None:
        raise NetworkError(f"node {node.label} does not say the shape that it makes.")
    before = shape_of(tensor)
    if not node.attributes.get("allowzero", 0):
        wanted = [
            before[axis] if n == 0 and axis < len(before) else n for axis, n in enumerate(wanted)
        ]
    if wanted.count(-1) == 1:
        rest = math.prod(n for n in wanted if n != -1)
        whole = math.prod(before)
        if rest <= 0 or whole % rest:
            if isinstance(tensor, Value) and tensor.batch is not None:
                raise MixedError
            raise NetworkError(f"node {node.label}: {told(tensor)} cannot be reshaped to {wanted}.")
        wanted[wanted.index(-1)] = whole // rest
    return reshaped(node, tensor, tuple(wanted))


def flatten(node: Node) -> Result:
    tensor = node.input(0)
    shape = shape_of(tensor)
    axis = int(node.attributes.get("axis", 1))
    if axis != len(shape):
        axis = node.axis(axis, len(shape))
    return reshaped(node, tensor, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def squeeze(node: Node) -> Result:
    tensor = node.input(0)
    shape = shape_of(tensor)
    axes = node.integers(1, "axes")
    if axes is None:
        axes = [axis for axis, n in enumerate(shape) if n == 1]
    gone = {node.axis(axis, len(shape)) for axis in axes}
    return reshaped(node, tensor, tuple(n for axis, n in enumerate(shape) if axis not in gone))


def unsqueeze(node: Node) -> Result:
    tensor = node.input(0)
    axes = node.integers(1, "axes")
    if axes is None:
        raise NetworkError(f"node {node.label} does not say where it puts new axes.")
    rank = len(shape_of(tensor)) + len(axes)
    added = {node.axis(axis, rank) for axis in axes}
    if len(added) < len(axes):
        raise NetworkError(f"node {node.label} puts two new axes in one place.")
    old = iter(shape_of(tensor))
    return reshaped(node, tensor, tuple(1 if k in added else next(old) for k in range(rank)))


def transpose(node: Node) -> Result:
    tensor = node.input(0)
    rank = len(shape_of(tensor))
    order = [int(n) for n in node.attributes.get("perm", range(rank)[::-1])]
    if sorted(order) != list(range(rank)):
        raise NetworkError(f"node {node.label}: {order} is no order of {rank} axes.")
    return transposed(tensor, order)


def transposed(tensor: Tensor, order: list[int]) -> Tensor:
    if isinstance(tensor, np.ndarray):
        return tensor.transpose(order)
    places = np.arange(tensor.size).reshape(tensor.features).transpose(order)
    if (places.ravel() != np.arange(tensor.size)).any():
        raise UnreadableError("it puts the computed numbers in another order; leave it out")
    batch = None if tensor.batch is None else order.index(tensor.batch)
    return Value(tensor.step, tuple(tensor.shape[axis] for axis in order), batch)


def identity(node: Node) -> Result:
    return node.input(0)


def cast(node: Node) -> Result:
    tensor = node.input(0)
    to_float = node.attribute("to") in FLOATS
    if isinstance(tensor, Value):
        if not to_float:
            raise UnreadableError("it makes the computed numbers whole; leave it out")
        return tensor
    if tensor.dtype.kind not in "fiuO":
        raise UnreadableError("it turns text or truth values into numbers; make them constants")
    if to_float or is_whole(tensor):
        return tensor
    with np.errstate(invalid="ignore"):
        whole = tensor.astype(np.int64)
    if (whole != tensor).any():
        raise UnreadableError("it makes fractions whole; give whole numbers")
    return whole


def dropout(node: Node) -> Result:
    training = node.optional(2)
    if training is not None and (isinstance(training, Value) or bool(training.any())):
        raise UnreadableError("it is in training mode; export the model in evaluation mode")
    return node.input(0)


def constant(node: Node) -> Result:
    kinds: dict[str, Any] = {
        "value": lambda tensor: array(tensor, node.label),
        "value_float": np.float64,
        "value_floats": np.float64,
        "value_int": np.int64,
        "value_ints": np.int64,
        "value_string": lambda text: np.array(text.decode()),
        "value_strings": lambda texts: np.array([text.decode() for text in texts]),
    }
    for name, read in kinds.items():
        if name in node.attributes:
            value = node.attributes[name]
            return np.asarray(read(value))
    raise UnreadableError("it holds no plain tensor; make it one (sparse ones are not read)")


def shape(node: Node) -> Result:
    whole = shape_of(node.input(0))
    start, end = node.attributes.get("start", 0), node.attributes.get("end")
    return np.array(whole[start:end], dtype=np.int64)


def gather(node: Node) -> Result:
    tensor, places = _known(node, 0), _known(node, 1)
    axis = node.axis(int(node.attributes.get("axis", 0)), tensor.ndim)
    if not is_whole(places):
        raise NetworkError(f"node {node.label}: places must be whole numbers.")
    try:
        return np.asarray(np.take(tensor, places, axis=axis))
    except IndexError:
        raise NetworkError(f"node {node.label} gathers from beyond the end.") from None


def slice_(node: Node) -> Result:
    tensor = _known(node, 0)
    starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
    if starts is None or ends is None:
        raise NetworkError(f"node {node.label} does not say where it slices.")
    axes = node.integers(3, "axes") or list(range(len(starts)))
    steps = node.integers(4, "steps") or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise NetworkError(f"node {node.label} does not say where it slices.")
    where: list[slice] = [slice(None)] * tensor.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        # An end before the beginning is how a file says "all the way down".
        last = None if step < 0 and end < -tensor.shape[axis] else end
        where[node.axis(axis, tensor.ndim)] = slice(start, last, step)
    return np.asarray(tensor[tuple(where)])


def _known(node: Node, place: int) -> Any:
    tensor = node.input(place)
    if isinstance(tensor, Value):
        raise UnreadableError("it picks from computed numbers; only constants are picked from")
    return tensor
