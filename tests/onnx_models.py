"""ONNX models built by hand, and what they compute by an evaluation of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polycarve as pc

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

BATCH = ("batch", 3)

ELEMENT = {
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
}


def node(op: str, inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    """Return a node; names are given as one string, ``_`` for an input that is left out."""
    domain = attributes.pop("domain", "")
    names = ["" if name == "_" else name for name in inputs.split()]
    label = attributes.pop("name", f"{op}_{output.split()[0]}")
    return helper.make_node(op, names, output.split(), name=label, domain=domain, **attributes)


def tensor(name: str, values: Any, dtype: str | None = "float32") -> onnx.TensorProto:
    array = np.asarray(values)
    if dtype == "bfloat16":
        return helper.make_tensor(name, TensorProto.BFLOAT16, array.shape, array.ravel().tolist())
    if array.dtype.kind == "f" and dtype:
        array = array.astype(dtype)
    return numpy_helper.from_array(array, name)


def model(
    *nodes: onnx.NodeProto,
    shape: Sequence[int | str | None] | None = BATCH,
    constants: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("y",),
    dtype: str = "float32",
    opset: int = 17,
    ir: int = 8,
    listed: bool = False,
    inputs: Sequence[str] = ("x",),
    more: Sequence[onnx.TensorProto] = (),
    functions: Sequence[Any] = (),
) -> onnx.ModelProto:
    """Return a model of one input ``x`` (or of several of the same shape)."""
    stored = [tensor(name, value, dtype) for name, value in (constants or {}).items()]
    stored += more
    entries = [helper.make_tensor_value_info(name, ELEMENT[dtype], shape) for name in inputs]
    if listed:  # as old versions of the format wanted it, and in any order
        entries = [
            helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in stored
        ] + entries
    graph = helper.make_graph(
        list(nodes),
        "graph",
        entries,
        [helper.make_tensor_value_info(name, ELEMENT[dtype], None) for name in outputs],
        stored,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    opsets += [helper.make_opsetid(f.domain, 1) for f in functions]
    made = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    made.ir_version = ir
    return made


def evaluated(made: onnx.ModelProto, X: np.ndarray) -> np.ndarray:
    """Return what onnx's evaluator makes of samples, given as they are in the file's type."""
    stored = {t.name for t in made.graph.initializer}
    entry = next(entry for entry in made.graph.input if entry.name not in stored)
    kind = entry.type.tensor_type
    sizes = [axis.dim_value for axis in kind.shape.dim]
    dtype = {v: k for k, v in ELEMENT.items()}[kind.elem_type]
    evaluator = ReferenceEvaluator(made)
    if len(sizes) > 1 and sizes[0] == 0:
        fed = X.reshape(len(X), *sizes[1:]).astype(dtype)
        return np.asarray(evaluator.run(None, {entry.name: fed})[0]).reshape(len(X), -1)
    if X.shape[1] < np.prod(sizes):  # a batch of fixed size
        batches = X.reshape(-1, *sizes).astype(dtype)
        outputs = [evaluator.run(None, {entry.name: batch})[0] for batch in batches]
        return np.array(outputs).reshape(len(X), -1)
    rows = [evaluator.run(None, {entry.name: x.reshape(sizes).astype(dtype)})[0].ravel() for x in X]
    return np.array(rows)


def results(given: Any, **options: Any) -> list[str]:
    """Return what became of each node."""
    from polycarve.networks.onnx import account

    return [row.result for row in account(given, **options)[1]]


def read(made: onnx.ModelProto, **options: Any) -> pc.Network:
    return pc.Network.from_onnx(made, **options)


def vnncomp(name: str) -> Path | None:
    """Return the path of a file of the verification competition, where one lies near."""
    for folder in Path(__file__).resolve().parents:
        path = folder / "shared" / "data" / "vnncomp" / name
        if path.is_file():
            return path
    return None


def retyped(made: onnx.ModelProto, dtype: str) -> onnx.ModelProto:
    """Return a float32 model with another type of float in all places."""
    wide = onnx.ModelProto()
    wide.CopyFrom(made)
    for stored in wide.graph.initializer:
        if stored.data_type == TensorProto.FLOAT:
            stored.CopyFrom(tensor(stored.name, numpy_helper.to_array(stored), dtype))
    for entry in (*wide.graph.input, *wide.graph.output):
        if entry.type.tensor_type.elem_type == TensorProto.FLOAT:
            entry.type.tensor_type.elem_type = ELEMENT[dtype]
    for step in wide.graph.node:
        for attribute in step.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = ELEMENT[dtype]
    return wide
