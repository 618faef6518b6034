"""Networks from torch modules."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import MissingDependencyError, NetworkError, UnsupportedLayerError
from polycarve.networks.activation import RELU
from polycarve.networks.arrays import numbers
from polycarve.networks.network import Layer, Network
from polycarve.rational import ExactArray

FloatArray = npt.NDArray[np.float64]

# What a wrong layer changes is far above this, relative to the sums behind an output.
_AGREEMENT = 1e-6

_SOMETHING_ELSE = (
    "the module computes something else than its Linear and ReLU layers say. Does it have hooks, "
    "its own forward, or a Flatten in an unusual place? Rebuild it as a Sequential."
)


def read(module: Any) -> Network:
    """See `Network.from_torch`."""
    try:
        from torch import nn
    except ImportError:
        raise MissingDependencyError("torch", "torch", "reading a torch module") from None

    if not isinstance(module, nn.Module):
        raise NetworkError(f"a {type(module).__name__} is not a torch module.")
    parts = list(_leaves(module, ""))
    known = (nn.Linear, nn.ReLU, nn.Flatten, nn.Identity, nn.Dropout, nn.AlphaDropout)
    own = [
        name or type(part).__name__ for name, part in _modules(module, "") if _has_own_forward(part)
    ]
    if own:
        raise NetworkError(f"{', '.join(own)}: {_SOMETHING_ELSE}")
    unknown = [
        f"{name or 'the module'} ({type(part).__name__})"
        for name, part in parts
        if not isinstance(part, known)
    ]
    if unknown:
        raise UnsupportedLayerError(
            f"cannot read {', '.join(unknown)}. Supported: Linear, ReLU, Flatten, Dropout, "
            f"Identity, nested in Sequential. A final Softmax, Sigmoid or LogSoftmax can be "
            f"dropped: the regions do not depend on it."
        )
    for name, part in parts:
        if isinstance(part, nn.Linear):
            _check_weights(part, name)
    layers: list[Layer] = []
    width = next((part.in_features for _, part in parts if isinstance(part, nn.Linear)), 0)
    if not width:
        raise NetworkError("the module has no Linear layer, so there is nothing to carve.")
    input_dim = width
    for name, part in parts:
        before = len(layers)
        if isinstance(part, nn.Linear):
            weight, bias = _linear(part, name)
            if weight.shape[1] != width:
                raise NetworkError(
                    f"layer {name or 'Linear'} reads {weight.shape[1]} values but {width} come in."
                )
            layers.append(Layer(weight, bias, None, (before,)))
            width = weight.shape[0]
        elif isinstance(part, nn.ReLU):
            if layers and layers[-1].activation is None:
                last = layers.pop()
                layers.append(Layer(last.weight, last.bias, RELU, last.inputs))
            else:  # a ReLU of the input, or of another ReLU's output
                eye, zero = ExactArray.eye(width), ExactArray.of(np.zeros(width))
                layers.append(Layer(eye, zero, RELU, (before,)))
    net = Network(layers, input_dim)
    _compare(net, module)
    return net


def _modules(module: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Iterate over a module and what is nested in its Sequentials."""
    from torch import nn

    yield name, module
    if isinstance(module, nn.Sequential):
        for key, child in module._modules.items():
            yield from _modules(child, f"{name}.{key}" if name else key)


def _has_own_forward(part: Any) -> bool:
    """Whether a module of a known kind computes something of its own."""
    from torch import nn

    for kind in (nn.Sequential, nn.Linear, nn.ReLU, nn.Flatten, nn.Identity, nn.Dropout):
        if isinstance(part, kind):
            return bool(type(part).forward is not kind.forward or "forward" in vars(part))
    return False


def _leaves(module: Any, name: str) -> Iterator[tuple[str, Any]]:
    from torch import nn

    if isinstance(module, nn.Sequential):
        # _modules keeps a module that is used twice; children() would give it once.
        for key, child in module._modules.items():
            yield from _leaves(child, f"{name}.{key}" if name else key)
    else:
        yield name, module


def _linear(part: Any, name: str) -> tuple[ExactArray, ExactArray]:
    import torch

    where = f"layer {name or 'Linear'}"
    tensors = [part.weight, part.bias]
    weight, bias = (
        None if t is None else t.detach().cpu().to(torch.float64).numpy().copy() for t in tensors
    )
    if bias is None:
        bias = np.zeros(len(part.weight))
    return numbers(weight, f"weights of {where}"), numbers(bias, f"bias of {where}")


def _check_weights(part: Any, name: str) -> None:
    from torch.nn.parameter import UninitializedParameter
    from torch.nn.utils.parametrize import is_parametrized

    where = f"layer {name or 'Linear'}"
    if is_parametrized(part):  # before anything is read: reading may change such a layer
        raise NetworkError(
            f"{where} computes its weights from others (weight_norm, say). Make them "
            f"plain with torch.nn.utils.parametrize.remove_parametrizations on a copy."
        )
    for tensor in (part.weight, part.bias):
        if isinstance(tensor, UninitializedParameter) or (tensor is not None and tensor.is_meta):
            raise NetworkError(f"{where} has no weights yet. Run or load the module first.")
    if part.weight is None:
        raise NetworkError(f"{where} has no weights.")
    if part.weight.is_complex():
        raise NetworkError(f"{where} has complex weights. Real ones are needed.")


def _compare(net: Network, module: Any) -> None:
    """Run the module itself, on a copy, and refuse the network if it computes something else."""
    import torch

    # Near and far: what clips its values shows only where they are large.
    points = np.random.default_rng(0).normal(size=(16, net.input_dim))
    points *= np.repeat([0.01, 1.0, 100.0, 10000.0], 4)[:, None]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            clone = copy.deepcopy(module).cpu().to(torch.float64).eval()
    except Exception as error:
        raise NetworkError(
            f"the module cannot be copied, to check what it computes: {error} Remove hooks and "
            f"pruning from it first."
        ) from error
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            theirs = clone(torch.from_numpy(points)).numpy()
    except Exception as error:
        raise NetworkError(
            f"the module's own forward pass fails on inputs of shape (16, {net.input_dim}): {error}"
        ) from error
    ours, allowed = _with_bound(net, points)
    if theirs.shape != ours.shape or not (np.abs(theirs - ours) <= allowed).all():
        raise NetworkError(_SOMETHING_ELSE)


def _with_bound(net: Network, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the outputs, and how far another order of summation may lead from them."""
    value, error, size = points, np.zeros_like(points), np.abs(points)
    for layer in net.layers:
        W, b = layer.weight.float64, layer.bias.float64
        size = np.abs(value) @ np.abs(W).T + np.abs(b)
        error = error @ np.abs(W).T + (W.shape[1] + 4) * 2.0**-53 * size
        value = value @ W.T + b
        if layer.activation is not None:
            value = layer.activation(value)
    # The bound grows without measure in deep networks; what is summed last does not.
    return value, np.minimum(2 * error, _AGREEMENT * size)
