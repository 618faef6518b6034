"""The parts of an ONNX graph: names, attributes, who makes what, and its one input."""

from __future__ import annotations

from typing import Any

from polycarve.errors import NetworkError
from polycarve.networks.onnx.files import in_short
from polycarve.networks.onnx.shaping import FLOATS
from polycarve.networks.onnx.values import OPEN


def label_of(node: Any) -> str:
    """Return the name of a node, or of its first output where it has none."""
    return str(node.name or next(iter(node.output), "") or node.op_type)


def attributes_of(node: Any, label: str) -> dict[str, Any]:
    from onnx import helper

    try:
        return {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
    except Exception as error:
        raise NetworkError(f"node {label} is broken: {in_short(error)}") from None


def producers_of(graph: Any, nodes: list[Any]) -> dict[str, int]:
    made: dict[str, int] = {}
    given = {entry.name for entry in [*graph.input, *graph.initializer]}
    for place, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in made or name in given:
                raise NetworkError(f"node {label_of(node)} makes {name!r}, which is there already.")
            made[name] = place
    if not graph.output:
        raise NetworkError("its graph has no output.")
    return made


def entry_of(graph: Any) -> Any:
    """Return the one input of a graph; parameters may be listed as inputs too."""
    stored = {tensor.name for tensor in graph.initializer}
    entries = [entry for entry in graph.input if entry.name not in stored]
    read = {name for node in graph.node for name in node.input}
    read |= {output.name for output in graph.output}
    entries = [entry for entry in entries if entry.name in read] or entries
    if len(entries) != 1:
        names = ", ".join(entry.name for entry in entries) or "none"
        raise NetworkError(
            f"a network with one input is needed; this graph's inputs are {names}. Weights must "
            f"be stored in it as initialisers."
        )
    return entries[0]


def batches_of(entry: Any) -> list[int | None]:
    """Return the axes that may be the batch, the likelier ones first."""
    kind = entry.type.tensor_type
    if not entry.type.HasField("tensor_type") or kind.elem_type not in FLOATS:
        raise NetworkError(f"its input {entry.name} is no tensor of floats. One is needed.")
    if not kind.HasField("shape"):
        raise NetworkError(
            f"its input {entry.name} has no shape. Say it when exporting, as in (batch, 4)."
        )
    sizes = [axis.dim_value for axis in kind.shape.dim]
    if any(n <= 0 for n in sizes[1:]) or (len(sizes) == 1 and sizes[0] <= 0):
        names = [str(axis.dim_value or axis.dim_param or "?") for axis in kind.shape.dim]
        raise NetworkError(
            f"its input {entry.name} has the shape ({', '.join(names)}); only a first axis, the "
            f"batch, may be open. Export it with the others fixed."
        )
    if len(sizes) < 2 or sizes[0] == 1:
        return [None]
    return [0] if sizes[0] <= 0 else [0, None]


def shape_of_entry(entry: Any, batch: int | None) -> tuple[int, ...]:
    sizes = [axis.dim_value for axis in entry.type.tensor_type.shape.dim]
    return tuple(OPEN if axis == batch and n <= 0 else n for axis, n in enumerate(sizes))
