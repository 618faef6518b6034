"""Broadcasts as matrices: which entry of a tensor each entry of a result comes from.

The numbers of a tensor are one vector in row-major order, of one sample; so a broadcast chooses
entries of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import NetworkError
from polycarve.networks.arrays import numbers
from polycarve.networks.onnx.values import (
    Constant,
    MixedError,
    Node,
    Tensor,
    UnreadableError,
    Value,
    afforded,
    told,
)
from polycarve.rational import ExactArray

Places = npt.NDArray[np.intp]


def exact(node: Node, array: Any) -> ExactArray:
    """Return constants exactly, or say that they are no numbers."""
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiuO":
        raise UnreadableError("it computes with text or truth values; make them numbers")
    with np.errstate(invalid="ignore"):  # NaN that cannot be cast is refused as any other
        return numbers(array, f"constants of node {node.label}")


def plain(found: ExactArray) -> Constant:
    """Return exact numbers as an array: of float64 if they are such, else of Fractions."""
    if found.is_float64:
        return found.float64
    values = np.empty(found.numerators.size, dtype=object)
    values[:] = [Fraction(n, found.denominator) for n in found.numerators.ravel().tolist()]
    return values.reshape(found.shape)


def spread(found: ExactArray, shape: tuple[int, ...]) -> ExactArray:
    """Return numbers broadcast to a shape, as one vector."""
    return ExactArray(np.broadcast_to(found.numerators, shape).ravel(), found.denominator)


def aligned(node: Node, parts: Sequence[Tensor]) -> tuple[tuple[int, ...], int | None]:
    """Return the common shape of tensors that are broadcast together, and its batch axis."""
    values = [part for part in parts if isinstance(part, Value)]
    # The batch axes, counted from the end, where shapes are aligned.
    batches = {(v.batch - len(v.shape), v.shape[v.batch]) for v in values if v.batch is not None}
    if len(batches) > 1:
        raise MixedError
    shapes = [part.features if isinstance(part, Value) else part.shape for part in parts]
    back, samples = batches.pop() if batches else (0, 1)
    if back and any(len(shape) >= -back and shape[back] != 1 for shape in shapes):
        raise MixedError
    try:
        common = list(np.broadcast_shapes(*shapes))
    except ValueError:
        all_told = " and ".join(map(told, parts))
        raise NetworkError(f"node {node.label}: shapes {all_told} do not fit together.") from None
    if not back:
        return tuple(common), None
    common[back] = samples
    return tuple(common), len(common) + back


def origins(value: Value, features: tuple[int, ...]) -> Places:
    """Return which entry of a value each entry of its broadcast is."""
    afforded(math.prod(features), value.size)
    places = np.arange(value.size).reshape(value.features)
    return np.broadcast_to(places, features).ravel()


def chosen(columns: Places, size: int, entries: ExactArray | int) -> ExactArray:
    """Return the matrix with one entry a row, in the given columns."""
    if isinstance(entries, int):
        entries = ExactArray.of(np.full(len(columns), entries))
    return ExactArray.scattered((len(columns), size), np.arange(len(columns)), columns, entries)


def placed(value: Value, features: tuple[int, ...]) -> ExactArray | None:
    """Return the matrix that broadcasts a value; None where it stays as it is."""
    # A broadcast only repeats entries: as many as before are the same ones.
    if math.prod(features) == value.size:
        return None
    return chosen(origins(value, features), value.size, 1)
