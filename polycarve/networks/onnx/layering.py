"""The layers that come of a walk's steps, and what became of each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polycarve.errors import NetworkError
from polycarve.networks.activation import RELU
from polycarve.networks.network import Layer
from polycarve.networks.onnx.graphs import label_of
from polycarve.networks.onnx.values import LARGEST
from polycarve.networks.onnx.walking import Step, Walk
from polycarve.rational import ExactArray


class NodeRow(NamedTuple):
    """What became of one node of a graph."""

    node: str
    op: str
    result: str


@dataclass
class Draft:
    """A layer in the making: one step, or a product with its bias and its ReLU."""

    steps: list[Step]
    inputs: tuple[int, ...]
    weight: ExactArray | None
    bias: ExactArray | None
    is_relu: bool

    def layer(self) -> Layer:
        size = self.steps[-1].value.size
        if self.weight is None and size**2 > LARGEST:
            raise NetworkError(
                f"the tensor {self.steps[-1].tensor!r} would be a layer of {size} units that read "
                f"{size}; fold it into the next layer before exporting."
            )
        weight = ExactArray.eye(size) if self.weight is None else self.weight
        zeros = ExactArray.of(np.zeros(size, dtype=np.int64))
        bias = zeros if self.bias is None else self.bias
        return Layer(weight, bias, RELU if self.is_relu else None, self.inputs)


def drafted(steps: Sequence[Step], end: int) -> list[Draft]:
    """Return the layers that lead to a step.

    A constant that is added to a product, and the ReLU of a layer, join it where nothing
    else reads what is between: no number changes by that.
    """
    alive = {end}
    for k in range(end, 0, -1):
        if k in alive:
            alive.update(steps[k - 1].reads)
    readers = Counter(v for k in alive - {0} for v in steps[k - 1].reads)
    readers[end] += 1
    drafts: list[Draft] = []
    home = {0: 0}  # the layer that a step has become part of
    for k in sorted(alive - {0}):
        step = steps[k - 1]
        before = step.reads[0]
        alone = len(step.reads) == 1 and before > 0 and readers[before] == 1
        last = drafts[home[before] - 1] if alone else None
        if last is None or not _joins(step, last):
            inputs = tuple(home[v] for v in step.reads)
            drafts.append(Draft([step], inputs, step.weight, step.bias, step.is_relu))
            home[k] = len(drafts)
            continue
        last.steps.append(step)
        last.bias = last.bias if step.bias is None else step.bias
        last.is_relu = step.is_relu
        home[k] = home[before]
    return drafts


def _joins(step: Step, last: Draft) -> bool:
    """Whether a step only bends a layer, or only adds a bias to a product without one."""
    if last.is_relu:
        return False
    if step.is_relu:
        return True
    return step.weight is None and last.weight is not None and last.bias is None


def rows(walk: Walk, drafts: Sequence[Draft], layers: Sequence[Layer]) -> list[NodeRow]:
    """Return what became of each node of the graph, in its order."""
    results = dict(walk.results)
    results |= dict.fromkeys(walk.tail, "dropped")
    # What has a layer says so below; of the other steps only the shape is used.
    results |= {step.node: "only its shape is used" for step in walk.steps}
    for number, (draft, layer) in enumerate(zip(drafts, layers, strict=True), start=1):
        first, *others = draft.steps
        n, m = layer.weight.shape
        results[first.node] = f"layer {number}: {m} -> {n}{', relu' if first.is_relu else ''}"
        for step in others:
            results[step.node] = f"{'relu' if step.is_relu else 'bias'} of layer {number}"
    return [
        NodeRow(label_of(proto), proto.op_type, results.get(place, "not used"))
        for place, proto in enumerate(walk.nodes)
    ]
