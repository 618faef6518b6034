"""ONNX files: opened without running anything, and their tensors decoded."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from polycarve.errors import MissingDependencyError, NetworkError
from polycarve.networks.onnx.values import Constant

OLDEST_OPSET = 7  # before it, Add and its kin broadcast in a way of their own


def name_of(given: Any) -> str:
    """Return what errors call a model."""
    return str(given) if isinstance(given, (str, PathLike)) else "the ONNX model"


def load(given: Any) -> Any:
    """Return the model of a path, or the model that was given, with all its numbers in it."""
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError("onnx", "onnx", "reading an ONNX file") from None
    if isinstance(given, onnx.ModelProto):
        outside = [tensor.name for tensor in _tensors(given.graph) if _is_outside(tensor)]
        if outside:
            raise NetworkError(
                f"the numbers of {outside[0]!r} lie in another file. Give the path of the model, "
                f"or load it with onnx.load."
            )
        return _checked(given)
    if not isinstance(given, (str, PathLike)):
        raise NetworkError(f"a {type(given).__name__} is neither a path nor an onnx.ModelProto.")
    path = Path(given)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NetworkError("no such file.") from None
    except OSError as error:
        raise NetworkError(f"it cannot be read: {error.strerror}.") from None
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # whatever the parser makes of bytes that are no message
        raise NetworkError("this is not an ONNX file, or it is cut off.") from None
    _fetch(model, path.parent)
    return _checked(model)


def _checked(model: Any) -> Any:
    import onnx.inliner

    if not model.ir_version or not model.HasField("graph"):
        raise NetworkError("it holds no ONNX graph; the file is something else, or cut off.")
    if model.graph.sparse_initializer:
        raise NetworkError("it stores sparse tensors, which are not read. Store them densely.")
    if not model.graph.node:
        raise NetworkError("its graph has no nodes, so there is nothing to carve.")
    if not all(isinstance(text, str) for text in _texts(model.graph)):
        raise NetworkError("some of its names are no text; the file is damaged.")
    opset = opset_of(model)
    if not opset:
        raise NetworkError("it does not say which operator set it uses; the file may be cut off.")
    if opset < OLDEST_OPSET:
        raise NetworkError(
            f"it uses operator set {opset}; {OLDEST_OPSET} or newer is needed. "
            f"onnx.version_converter.convert_version(model, 13) makes such a model."
        )
    if model.functions:
        try:
            model = onnx.inliner.inline_local_functions(model)
        except Exception as error:
            raise NetworkError(f"its functions cannot be expanded: {in_short(error)}") from None
    return model


def opset_of(model: Any) -> int:
    """Return the version of the standard operators, 0 where it is not said."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return int(max(versions, default=0))


def _texts(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield from (node.op_type, node.name, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    yield from (part.name for part in (*graph.input, *graph.output, *graph.initializer))


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def _is_outside(tensor: Any) -> bool:
    from onnx.external_data_helper import uses_external_data

    return bool(uses_external_data(tensor))


def _fetch(model: Any, folder: Path) -> None:
    """Read numbers that a model keeps in other files, which must lie in its folder."""
    from onnx.external_data_helper import load_external_data_for_model

    outside = [tensor for tensor in _tensors(model.graph) if _is_outside(tensor)]
    for tensor in outside:
        location = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
        place = (folder / location).resolve()
        if not location or not place.is_relative_to(folder.resolve()):
            raise NetworkError(
                f"the numbers of {tensor.name!r} lie in {location!r}, outside the model's folder. "
                f"Files there are not read; save the model again with its numbers beside it."
            )
        if not place.is_file():
            raise NetworkError(
                f"the numbers of {tensor.name!r} lie in {location!r}, which is missing. Put that "
                f"file beside the model."
            )
    if outside:
        try:
            load_external_data_for_model(model, str(folder))
        except Exception as error:
            raise NetworkError(f"numbers outside it cannot be read: {in_short(error)}") from None


def array(tensor: Any, name: str) -> Constant:
    """Return the numbers of a tensor as they are in the file."""
    from onnx import TensorProto, numpy_helper

    try:
        if any(n < 0 for n in tensor.dims):
            raise ValueError("a dimension is negative")
        numbers = np.asarray(numpy_helper.to_array(tensor))
    except Exception as error:
        raise NetworkError(f"the tensor {name!r} is broken: {in_short(error)}") from None
    if tensor.data_type == TensorProto.STRING:
        return numbers.astype(str)
    if tensor.data_type == TensorProto.BFLOAT16:
        with np.errstate(invalid="ignore"):
            return numbers.astype(np.float32)
    return numbers


def in_short(error: Exception) -> str:
    """Return an error of another package as part of one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) < 200 else f"{text[:200]}..."
