"""The walk along an ONNX graph, which turns its nodes into affine maps and ReLUs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from polycarve.errors import NetworkError, UnsupportedLayerError
from polycarve.networks.onnx import operators
from polycarve.networks.onnx.files import array, in_short
from polycarve.networks.onnx.graphs import attributes_of, label_of, producers_of, shape_of_entry
from polycarve.networks.onnx.values import (
    Affine,
    MixedError,
    Node,
    Rectified,
    Result,
    Tensor,
    UnreadableError,
    Value,
    afforded,
    one_sample,
)
from polycarve.rational import ExactArray, stack


@dataclass(frozen=True)
class Step:
    """An affine map of earlier values, or the ReLU of one, as one node says it."""

    node: int
    tensor: str
    value: Value
    reads: tuple[int, ...]
    weight: ExactArray | None  # None is the identity
    bias: ExactArray | None  # None is zero
    is_relu: bool


class Unread:
    """What an input is that comes from a node that cannot be read."""


UNREAD = Unread()


class Walk:
    """A graph read from its input to its outputs; samples lie along one axis, or along none.

    Attributes
    ----------
    steps : list of Step
        Numbered from 1 by values; 0 is the input.
    refused : dict
        The nodes that cannot be read, with the reason for each.
    is_mixed : bool
        Whether that is because samples are not kept apart.
    ends : dict
        The tensors that are the output, by their names, once `end` has found them.
    """

    def __init__(self, model: Any, entry: Any, batch: int | None) -> None:
        self.graph = model.graph
        self.nodes = list(model.graph.node)
        self.input = Value(0, shape_of_entry(entry, batch), batch)
        self.steps: list[Step] = []
        self.refused: dict[int, str] = {}
        self.blocked: set[int] = set()
        self.is_mixed = False
        self.origin = producers_of(self.graph, self.nodes)
        self.results: dict[int, str] = {}
        self.ends: dict[str, Value] = {}
        self._stored = {tensor.name: tensor for tensor in self.graph.initializer}
        self.tensors: dict[str, Tensor | Unread] = {entry.name: self.input}
        self.needed = self._needed()
        for place in sorted(self.needed):
            self._read(place)

    # ------------------------------------------------------------------ the walk

    def _needed(self) -> set[int]:
        """Return the nodes on which the outputs depend."""
        found: set[int] = set()
        open_ = [output.name for output in self.graph.output]
        while open_:
            place = self.origin.get(open_.pop())
            if place is not None and place not in found:
                found.add(place)
                open_.extend(self.nodes[place].input)
        return found

    def _read(self, place: int) -> None:
        proto = self.nodes[place]
        label, key = label_of(proto), operators.key_of(proto.op_type, proto.domain)
        inputs = [self._tensor(name, f"node {label}") for name in proto.input]
        readable = [tensor for tensor in inputs if not isinstance(tensor, Unread)]
        result: Tensor | Unread = UNREAD
        if len(proto.output) == 0 or not proto.output[0]:
            raise NetworkError(f"node {label} has no output.")
        if len(readable) < len(inputs) and key in {*operators.OPERATORS, *operators.FOLLOWERS}:
            self.blocked.add(place)
        elif key not in operators.OPERATORS:
            self.refused[place] = operators.advice(key)
        else:
            node = Node(label, tuple(readable), attributes_of(proto, label))
            try:
                result = self._kept(operators.OPERATORS[key](node), place, proto.output[0])
            except UnreadableError as reason:
                self.refused[place] = str(reason)
                self.is_mixed |= isinstance(reason, MixedError)
            except NetworkError:
                raise
            except (TypeError, ValueError, IndexError, ArithmeticError, MemoryError) as error:
                # Attributes of the wrong kind, absurd sizes: whatever a damaged file may hold.
                raise NetworkError(f"node {label} is broken: {in_short(error)}") from None
        self.tensors[proto.output[0]] = result
        for name in proto.output[1:]:
            self.tensors[name] = UNREAD
            if name and not isinstance(result, Unread) and self._is_read(name):
                self.refused[place] = "more than its first output is used; use that one alone"

    def _tensor(self, name: str, reader: str) -> Tensor | Unread | None:
        if not name:
            return None
        if name not in self.tensors:
            if name not in self._stored:
                raise NetworkError(f"{reader} reads {name!r}, which nothing before it makes.")
            self.tensors[name] = array(self._stored[name], name)
        return self.tensors[name]

    def _is_read(self, name: str) -> bool:
        outputs = [output.name for output in self.graph.output]
        return name in outputs or any(name in self.nodes[k].input for k in self.needed)

    def _kept(self, result: Result, place: int, tensor: str) -> Tensor:
        """Return what later nodes read of a result, which may be a new step."""
        if isinstance(result, Affine):
            reads, weight = _joined(result)
            value = Value(len(self.steps) + 1, result.shape, result.batch)
            self.steps.append(Step(place, tensor, value, reads, weight, result.bias, False))
            return value
        if isinstance(result, Rectified):
            before = result.value
            value = Value(len(self.steps) + 1, before.shape, before.batch)
            self.steps.append(Step(place, tensor, value, (before.step,), None, None, True))
            return value
        if isinstance(result, Value):
            self.results[place] = "no change" if self._keeps_shape(place) else "shape only"
        else:
            self.results[place] = "constant"
        return result

    def _keeps_shape(self, place: int) -> bool:
        return self.nodes[place].op_type in ("Identity", "Cast", "Dropout")

    # ------------------------------------------------------------------ the end

    @property
    def tail(self) -> set[int]:
        """The nodes without which the network is read."""
        return {*self.refused, *self.blocked}

    def end(self, drop_tail: bool) -> int:
        """Return the step that is the output, or say all that stands in its way."""
        tail = self.tail
        reasons = {place: self._reason(place) for place in sorted(self.refused)}
        if any(why != operators.LEAVE_OFF for why in reasons.values()):
            unknown = [k for k in self.blocked if self._key(k) not in operators.OPERATORS]
            reasons |= {k: operators.advice(self._key(k)) for k in sorted(unknown)}
            supported = f" Supported: {operators.SUPPORTED}."
            raise UnsupportedLayerError(self._complaint(reasons) + supported)
        if reasons and not drop_tail:
            raise UnsupportedLayerError(self._complaint(reasons))
        names = [output.name for output in self.graph.output]
        ends = [name for name in names if self.origin.get(name) not in tail]
        if len(names) > 1 and not drop_tail:
            raise NetworkError(
                f"it has {len(names)} outputs, {', '.join(names)}; one is needed. "
                f"onnx.utils.extract_model makes a file with one of them."
            )
        ends += [name for place in sorted(tail) for name in self.nodes[place].input]
        found = {name: self._tensor(name, "its output") for name in ends}
        self.ends = {n: tensor for n, tensor in found.items() if isinstance(tensor, Value)}
        last = {tensor.step: name for name, tensor in self.ends.items()}
        if len(last) > 1:
            raise NetworkError(
                f"it ends in several layers, {' and '.join(last.values())}; one is needed. "
                f"onnx.utils.extract_model makes a file with one of them."
            )
        if not last:
            raise NetworkError(f"its output {names[0]} does not depend on its input.")
        return last.popitem()[0]

    def _reason(self, place: int) -> str:
        key = self._key(place)
        if key not in operators.ENDINGS:
            return self.refused[place]
        follow = {self._key(later) for later in self._later(place)}
        return operators.LEAVE_OFF if follow <= operators.FOLLOWERS else operators.IN_THE_MIDDLE

    def _key(self, place: int) -> str:
        return operators.key_of(self.nodes[place].op_type, self.nodes[place].domain)

    def _later(self, place: int) -> set[int]:
        """Return the needed nodes that depend on a node."""
        later: set[int] = set()
        made = {*self.nodes[place].output} - {""}
        for other in sorted(self.needed):
            if other > place and made & {*self.nodes[other].input}:
                later.add(other)
                made |= {*self.nodes[other].output} - {""}
        return later

    def _complaint(self, reasons: dict[int, str]) -> str:
        told = []
        # By reason: a deep network of one unsupported kind is one sentence.
        for reason in dict.fromkeys(reasons.values()):
            names = [
                f"{label_of(self.nodes[place])} ({self._key(place)})"
                for place, why in reasons.items()
                if why == reason
            ]
            told.append(f"{', '.join(names)}: {reason}")
        return f"cannot read {'; '.join(told)}."


def _joined(result: Affine) -> tuple[tuple[int, ...], ExactArray | None]:
    """Return the values that a sum reads, each once, and one matrix for all of them."""
    sizes = {value.step: value.size for value, _ in result.terms}
    if len(result.terms) > 1:
        afforded(math.prod(one_sample(result.shape, result.batch)), sum(sizes.values()))
    found: dict[int, ExactArray | None] = {}
    for value, weight in result.terms:
        if value.step not in found:
            found[value.step] = weight
            continue
        before = found[value.step]
        both = [ExactArray.eye(value.size) if w is None else w for w in (before, weight)]
        found[value.step] = both[0] + both[1]
    if len(found) == 1:
        return tuple(found), next(iter(found.values()))
    blocks = [ExactArray.eye(sizes[k]) if w is None else w for k, w in found.items()]
    return tuple(found), stack(blocks, axis=1)
