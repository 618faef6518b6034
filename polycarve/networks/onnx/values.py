"""What the tensors of a graph stand for while it is walked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import NetworkError
from polycarve.rational import ExactArray

Constant = npt.NDArray[Any]

# What stands for a batch size that the file leaves open: a prime larger than any dimension, so
# that whatever is computed from it can be told from what is not.
OPEN = 2**31 - 1

# Entries of a layer's matrix: the same in exact numbers takes gigabytes.
LARGEST = 10**8


class UnreadableError(Exception):
    """Why a node cannot become layers, and what to do about it."""


class MixedError(UnreadableError):
    """A node mixes samples, if the axis taken for the batch is one."""

    def __init__(self) -> None:
        super().__init__(
            "it mixes the batch axis with the others; keep the two apart (a Reshape to (-1, n), "
            "say), or export for a batch of one"
        )


@dataclass(frozen=True)
class Value:
    """A computed tensor: the vector of a step, in the shape in which the graph holds it.

    Attributes
    ----------
    step : int
        0 is the network's input, ``k`` the result of the ``k``-th step.
    shape : tuple of int
    batch : int or None
        The axis along which samples lie; None where a tensor holds one sample.
    """

    step: int
    shape: tuple[int, ...]
    batch: int | None

    @property
    def features(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return one_sample(self.shape, self.batch)

    @property
    def size(self) -> int:
        return math.prod(self.features)

    def reshaped(self, shape: tuple[int, ...]) -> Value:
        """Return the same numbers, in the same order, in another shape."""
        fits = math.prod(shape) == math.prod(self.shape)
        if self.batch is None:
            if not fits:
                raise NetworkError(f"{told(self)} cannot be reshaped to {shape}.")
            return Value(self.step, shape, None)
        samples, before = self.shape[self.batch], math.prod(self.shape[: self.batch])
        for axis, n in enumerate(shape):
            if fits and n == samples and math.prod(shape[:axis]) == before:
                return Value(self.step, shape, axis)
        raise MixedError


@dataclass(frozen=True)
class Affine:
    """The sum of matrices times values, plus a vector; a matrix that is None is the identity."""

    terms: tuple[tuple[Value, ExactArray | None], ...]
    bias: ExactArray | None
    shape: tuple[int, ...]
    batch: int | None


@dataclass(frozen=True)
class Rectified:
    """The ReLU of a value."""

    value: Value


Tensor = Value | Constant
Result = Value | Constant | Affine | Rectified


@dataclass(frozen=True)
class Node:
    """A node with its inputs looked up; an input that is left out is None."""

    label: str
    inputs: tuple[Tensor | None, ...]
    attributes: Mapping[str, Any]

    def optional(self, place: int) -> Tensor | None:
        return self.inputs[place] if place < len(self.inputs) else None

    def input(self, place: int) -> Tensor:
        found = self.optional(place)
        if found is None:
            raise NetworkError(f"node {self.label} lacks its input number {place + 1}.")
        return found

    def attribute(self, name: str) -> Any:
        if name not in self.attributes:
            raise NetworkError(f"node {self.label} lacks its attribute {name!r}.")
        return self.attributes[name]

    def integers(self, place: int, attribute: str) -> list[int] | None:
        """Return what newer operator sets give as an input and older ones as an attribute."""
        if attribute in self.attributes:
            return [int(n) for n in self.attributes[attribute]]
        found = self.optional(place)
        if found is None:
            return None
        if isinstance(found, Value):
            raise UnreadableError(f"its {attribute} depends on the input; make it a constant")
        if found.dtype.kind not in "iu":
            raise NetworkError(f"node {self.label}: {attribute} must be whole numbers.")
        return [int(n) for n in found.ravel()]

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise NetworkError(f"node {self.label}: there is no axis {axis} among {rank}.")
        return axis % rank


def one_sample(shape: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    """Return a shape with a batch of one."""
    return tuple(1 if axis == batch else n for axis, n in enumerate(shape))


def afforded(n: int, m: int) -> None:
    """Refuse a matrix that would fill the memory."""
    if n * m > LARGEST:
        raise UnreadableError(
            f"as a layer it would be a matrix of {n} x {m} numbers; fold it into the next layer "
            f"before exporting"
        )


def is_whole(array: Constant) -> bool:
    return bool(array.dtype.kind in "iu")


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    return tuple(np.shape(tensor)) if isinstance(tensor, np.ndarray) else tensor.shape


def told(tensor: Tensor) -> str:
    """Return a shape as errors write it."""
    shape = shape_of(tensor)
    batch = tensor.batch if isinstance(tensor, Value) else None
    names = ["batch" if axis == batch and n == OPEN else str(n) for axis, n in enumerate(shape)]
    return f"({', '.join(names)})"
