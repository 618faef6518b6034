"""Nodes that are matrices times what they read: MatMul, Gemm, and Concat, which places blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from polycarve.errors import NetworkError
from polycarve.networks.onnx.broadcasting import (
    aligned,
    chosen,
    exact,
    origins,
    plain,
    spread,
)
from polycarve.networks.onnx.shaping import transposed
from polycarve.networks.onnx.values import (
    Affine,
    Constant,
    MixedError,
    Node,
    Result,
    Tensor,
    UnreadableError,
    Value,
    afforded,
    shape_of,
    told,
)
from polycarve.rational import ExactArray


def matmul(node: Node) -> Result:
    return _product(node, node.input(0), node.input(1))


def _product(node: Node, left: Tensor, right: Tensor) -> Affine:
    if isinstance(left, Value) and isinstance(right, Value):
        raise UnreadableError("it multiplies two computed values; one must be a constant")
    shapes = shape_of(left), shape_of(right)
    if not all(shapes) or shapes[0][-1] != shapes[1][-2:][0]:
        raise NetworkError(
            f"node {node.label}: matrices of shapes {told(left)} and {told(right)} do not fit "
            f"together."
        )
    if isinstance(left, Value) and isinstance(right, np.ndarray):
        matrix = right[:, None] if right.ndim == 1 else right
        return _applied(node, np.swapaxes(matrix, -1, -2), left, -1, vector=right.ndim == 1)
    if isinstance(left, np.ndarray) and isinstance(right, Value):
        matrix = left[None, :] if left.ndim == 1 else left
        return _applied(node, matrix, right, -2, vector=left.ndim == 1)
    raise UnreadableError("both its sides are constant; make their product a constant")


def _applied(node: Node, matrix: Constant, value: Value, axis: int, *, vector: bool) -> Affine:
    """Return a matrix applied along the last axis of a value, or along the one before it.

    As in NumPy, a value with a single axis is a row or a column for the time being, and the
    axis of a constant that is a vector is not kept.
    """
    if math.prod(matrix.shape[:-2]) != 1:
        raise UnreadableError("its constant is a stack of matrices; use one matrix for all")
    shape, batch = list(value.shape), value.batch
    # Axes that are dropped in the end, counted from there.
    passing = [axis] if vector else []
    if len(shape) == 1:
        shape.insert(0 if axis == -1 else 1, 1)
        batch = None if batch is None else batch + (axis == -1)
        passing.append(-3 - axis)
    lead = max(0, matrix.ndim - len(shape))
    shape = [1] * lead + shape
    batch = None if batch is None else batch + lead
    if batch == len(shape) + axis:
        raise MixedError
    features = [1 if k == batch else n for k, n in enumerate(shape)]
    before, after = math.prod(features[:axis]), math.prod(features[axis:][1:])
    matrix = matrix.reshape(matrix.shape[-2:])
    shape[axis] = len(matrix)
    kept = [k for k in range(len(shape)) if k - len(shape) not in passing]
    return Affine(
        ((value, _repeated(node, matrix, before, after)),),
        None,
        tuple(shape[k] for k in kept),
        None if batch is None else kept.index(batch),
    )


def _repeated(node: Node, matrix: Constant, before: int, after: int) -> ExactArray:
    """Return a matrix applied along one axis, with so many places before and after it."""
    if before == after == 1:
        return exact(node, matrix)
    n, m = matrix.shape
    size = (before * n * after, before * m * after)
    afforded(*size)
    i, r, c, j = np.ix_(*(np.arange(k) for k in (before, n, m, after)))
    rows, columns = (i * n + r + 0 * c) * after + j, (i * m + c + 0 * r) * after + j
    entries = spread(exact(node, matrix)[None, :, :, None], (before, n, m, after))
    return ExactArray.scattered(size, rows.ravel(), columns.ravel(), entries)


def gemm(node: Node) -> Result:
    left, right = _factor(node, 0, "transA"), _factor(node, 1, "transB")
    product = _product(node, left, right)
    ((value, weight),) = product.terms
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    if alpha != 1 and weight is not None:
        weight = exact(node, weight * exact(node, np.array(alpha)))
    terms, shape, batch = ((value, weight),), product.shape, product.batch
    added = node.optional(2)
    if added is None or beta == 0:
        return Affine(terms, None, shape, batch)
    whole = Value(0, shape, batch)
    if aligned(node, [whole, added])[0] != shape:
        raise NetworkError(f"node {node.label} adds {told(added)} to a matrix of {told(whole)}.")
    features = whole.features
    if isinstance(added, Value):  # a skip connection
        columns = origins(added, features)
        more = chosen(columns, added.size, exact(node, np.full(len(columns), beta)))
        return Affine((*terms, (added, more)), None, shape, batch)
    bias = spread(exact(node, added), features)
    if beta != 1:
        bias = exact(node, bias * exact(node, np.array(beta)))
    return Affine(terms, bias, shape, batch)


def _factor(node: Node, place: int, flag: str) -> Tensor:
    tensor = node.input(place)
    if len(shape_of(tensor)) != 2:
        raise NetworkError(
            f"node {node.label} multiplies matrices, but reads a tensor of shape {told(tensor)}."
        )
    return transposed(tensor, [1, 0]) if node.attributes.get(flag, 0) else tensor


def concat(node: Node) -> Result:
    parts = [node.input(place) for place in range(max(1, len(node.inputs)))]
    axis = node.axis(int(node.attribute("axis")), len(shape_of(parts[0])))
    constants = [part for part in parts if isinstance(part, np.ndarray)]
    if len(constants) == len(parts):
        return _joined(node, constants, axis)
    batches = {part.batch for part in parts if isinstance(part, Value)}
    batch = batches.pop()
    if batches or batch == axis or (batch is not None and constants):
        raise MixedError
    return _side_by_side(node, parts, axis, batch)


def _joined(node: Node, parts: Sequence[Constant], axis: int) -> Constant:
    try:
        return np.concatenate(parts, axis=axis)
    except ValueError:
        told = ", ".join(str(part.shape) for part in parts)
        raise NetworkError(f"node {node.label}: shapes {told} do not fit together.") from None


def _side_by_side(node: Node, parts: Sequence[Tensor], axis: int, batch: int | None) -> Affine:
    shapes = [part.features if isinstance(part, Value) else part.shape for part in parts]
    # Numbered, and joined as they will be: so each number tells where it goes.
    stops = np.cumsum([0, *map(math.prod, shapes)])
    numbered = [
        np.arange(start, start + math.prod(shape)).reshape(shape)
        for start, shape in zip(stops, shapes, strict=False)
    ]
    whole = _joined(node, numbered, axis)
    rows = np.argsort(whole, axis=None)
    terms: list[tuple[Value, ExactArray | None]] = []
    bias = np.zeros(whole.size, dtype=object)
    for part, start in zip(parts, stops.tolist(), strict=False):
        if isinstance(part, Value):
            size, own = part.size, rows[start : start + part.size]
            ones = ExactArray.of(np.ones(size, dtype=np.int64))
            weight = ExactArray.scattered((whole.size, size), own, np.arange(size), ones)
            terms.append((part, weight))
        else:
            bias[rows[start : start + part.size]] = plain(exact(node, part)).ravel()
    shape = list(whole.shape)
    if batch is not None:
        shape[batch] = next(part.shape[batch] for part in parts if isinstance(part, Value))
    return Affine(tuple(terms), exact(node, bias) if bias.any() else None, tuple(shape), batch)
