"""Networks from plain arrays and from ``.npz`` files."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polycarve.errors import InputError, NetworkError
from polycarve.networks.activation import named
from polycarve.networks.network import Layer, Network
from polycarve.rational import ExactArray


def read(
    weights: Sequence[Any], biases: Sequence[Any] | None, *, activation: str, relu_last: bool
) -> Network:
    """See `Network.from_arrays`."""
    law = named(activation)
    weights = _listed(weights, "weights")
    biases = [None] * len(weights) if biases is None else _listed(biases, "biases")
    if len(weights) != len(biases):
        raise NetworkError(
            f"{len(weights)} weight matrices and {len(biases)} biases were given. "
            f"Give one bias for each matrix (None for zeros)."
        )
    layers = []
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        W = numbers(weight, f"weights of layer {k}")
        if W.ndim != 2:
            raise NetworkError(
                f"weights of layer {k} have shape {W.shape}; a matrix (n_out, n_in) is needed."
            )
        b = numbers(np.zeros(len(W)) if bias is None else bias, f"bias of layer {k}")
        follows = law if relu_last or k < len(weights) else None
        layers.append(Layer(W, b, follows, (k - 1,)))
    return Network(layers, layers[0].weight.shape[1] if layers else 0)


def _listed(values: Any, what: str) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise NetworkError(
            f"{what} is {values!r}; a list of one array a layer is needed."
        ) from None


def numbers(values: Any, what: str) -> ExactArray:
    """Read numbers exactly, naming what they are in the error."""
    try:
        exact = ExactArray.of(values)
        exact.float64  # noqa: B018 - kernels need it: fail here if there is none
    except InputError as error:
        raise NetworkError(f"{what}: {error}") from None
    return exact


def read_npz(path: str | Path, *, relu_last: bool | None) -> Network:
    """See `Network.from_npz`."""
    try:
        # Opened here, so that it is closed again whatever NumPy makes of it.
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = dict(file.items())
    except FileNotFoundError:
        raise NetworkError(f"{path}: no such file.") from None
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise NetworkError(f"{path} is not an .npz file of plain arrays.") from None
    count = sum(key.startswith("W") for key in arrays)
    missing = [key for k in range(max(count, 1)) for key in (f"W{k}", f"b{k}") if key not in arrays]
    if missing:
        raise NetworkError(
            f"{path} lacks {', '.join(missing)}. A network file holds W0, b0, W1, b1, ... "
            f"(weights (n_out, n_in)), and relu_last where a ReLU follows the last layer."
        )
    if relu_last is None:
        said = arrays.get("relu_last", np.array(False))
        if said.ndim or said.dtype.kind not in "bi":
            raise NetworkError(f"{path}: relu_last must be a single True or False.")
        relu_last = bool(said)
    return Network.from_arrays(
        [arrays[f"W{k}"] for k in range(count)],
        [arrays[f"b{k}"] for k in range(count)],
        relu_last=relu_last,
    )
