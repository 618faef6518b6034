"""Nodes that compute entry by entry: sums, products with constants, and the ReLU."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from polycarve.errors import NetworkError
from polycarve.networks.onnx.broadcasting import (
    aligned,
    chosen,
    exact,
    origins,
    placed,
    plain,
    spread,
)
from polycarve.networks.onnx.values import (
    Affine,
    Constant,
    Node,
    Rectified,
    Result,
    Tensor,
    UnreadableError,
    Value,
    is_whole,
    one_sample,
    told,
)
from polycarve.rational import ExactArray


def add(node: Node) -> Result:
    return _summed(node, [node.input(0), node.input(1)], (1, 1))


def subtract(node: Node) -> Result:
    return _summed(node, [node.input(0), node.input(1)], (1, -1))


def sum_(node: Node) -> Result:
    parts = [node.input(place) for place in range(max(1, len(node.inputs)))]
    return _summed(node, parts, [1] * len(parts))


def negate(node: Node) -> Result:
    return _summed(node, [node.input(0)], [-1])


def _summed(node: Node, parts: Sequence[Tensor], signs: Sequence[int]) -> Result:
    constants = [part for part in parts if isinstance(part, np.ndarray)]
    if len(constants) == len(parts):
        return _folded(node, constants, signs)
    shape, batch = aligned(node, parts)
    features = one_sample(shape, batch)
    terms: list[tuple[Value, ExactArray | None]] = []
    bias = None
    for part, sign in zip(parts, signs, strict=True):
        if isinstance(part, Value):
            same = sign == 1
            weight = placed(part, features) if same else _scale(part, features, -1)
            terms.append((part, weight))
        else:
            vector = spread(exact(node, part), features)
            vector = vector if sign == 1 else -vector
            bias = vector if bias is None else bias + vector
    return Affine(tuple(terms), bias, shape, batch)


def _folded(node: Node, parts: Sequence[Constant], signs: Sequence[int]) -> Constant:
    aligned(node, parts)
    if all(is_whole(part) for part in parts):  # what shapes are made of
        return np.asarray(sum(sign * part for part, sign in zip(parts, signs, strict=True)))
    total = ExactArray.of(np.zeros((), dtype=np.int64))
    for part, sign in zip(parts, signs, strict=True):
        number = exact(node, part)
        total = total + (number if sign == 1 else -number)
    return plain(total)


def _scale(value: Value, features: tuple[int, ...], entries: ExactArray | int) -> ExactArray:
    return chosen(origins(value, features), value.size, entries)


def multiply(node: Node) -> Result:
    left, right = node.input(0), node.input(1)
    if isinstance(left, Value):
        if isinstance(right, Value):
            raise UnreadableError("it multiplies two computed values; one must be a constant")
        return _scaled(node, left, right, exact(node, right))
    if isinstance(right, Value):
        return _scaled(node, right, left, exact(node, left))
    aligned(node, [left, right])
    if is_whole(left) and is_whole(right):
        return np.asarray(left * right)
    return plain(exact(node, left) * exact(node, right))


def divide(node: Node) -> Result:
    over, under = node.input(0), node.input(1)
    if isinstance(under, Value):
        raise UnreadableError("it divides by a computed value; only a constant may divide")
    divisors = exact(node, under)
    if not divisors.numerators.all():
        raise NetworkError(f"node {node.label} divides by zero.")
    inverses = np.empty(divisors.shape, dtype=object)
    inverses.reshape(-1)[:] = [
        Fraction(divisors.denominator, n) for n in divisors.numerators.ravel().tolist()
    ]
    factor = exact(node, inverses)
    if isinstance(over, Value):
        return _scaled(node, over, under, factor)
    aligned(node, [over, under])
    if is_whole(over) and is_whole(under):  # what shapes are made of: nothing is negative there
        return np.asarray(over // under)
    return plain(exact(node, over) * factor)


def _scaled(node: Node, value: Value, constant: Constant, factor: ExactArray) -> Affine:
    shape, batch = aligned(node, [value, constant])
    features = one_sample(shape, batch)
    weight = _scale(value, features, spread(factor, features))
    return Affine(((value, weight),), None, shape, batch)


def scaler(node: Node) -> Result:
    """Return ``(x - offset) * scale``: scikit-learn's StandardScaler, in ai.onnx.ml."""
    value = node.input(0)
    if not isinstance(value, Value):
        raise UnreadableError("it scales a constant; make the result a constant")
    offset, scale = (np.array(node.attribute(name)) for name in ("offset", "scale"))
    shape, batch = aligned(node, [value, offset, scale])
    features = one_sample(shape, batch)
    if shape != value.shape:
        raise NetworkError(f"node {node.label} has {len(offset)} offsets for {told(value)}.")
    factor = spread(exact(node, scale), features)
    bias = -(spread(exact(node, offset), features) * factor)
    return Affine(((value, _scale(value, features, factor)),), bias, shape, batch)


def rectify(node: Node) -> Result:
    value = node.input(0)
    if not isinstance(value, Value):
        raise UnreadableError("it is the ReLU of a constant; make the result a constant")
    return Rectified(value)
