"""`Network`: a piecewise-linear network as frozen data, kept exactly as it was given."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError, NetworkError
from polycarve.networks import codes, evaluation
from polycarve.networks.activation import Activation
from polycarve.rational import ExactArray

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Layer:
    """One affine map ``W @ v + b``, followed by an activation or by none.

    Attributes
    ----------
    weight : ExactArray, shape (n, m)
    bias : ExactArray, shape (n,)
    activation : Activation or None
    inputs : tuple of int
        The values whose concatenation it reads: 0 is the network's input, ``k`` the output of
        the ``k``-th layer of `Network.layers` (counted from 1).
    """

    weight: ExactArray
    bias: ExactArray
    activation: Activation | None
    inputs: tuple[int, ...]

    @property
    def n_units(self) -> int:
        return self.weight.shape[0]

    @property
    def n_cuts(self) -> int:
        """Bits this layer adds to a pattern; 0 where no activation follows."""
        return self.n_units * len(self.activation.cuts) if self.activation else 0


class Network:
    """A ReLU network: affine maps as given, each followed by an activation or none.

    Build one with `from_arrays`, `from_torch`, `from_onnx` or `from_npz`. Numbers are kept exactly
    (``layers[k].weight.numerators`` over a common denominator) with a float64 view beside
    (``layers[k].weight.float64``). Nothing is folded and nothing can be changed.

    Slicing cuts at activations: ``net[:2]`` runs up to and including the second activation,
    ``net[2:]`` is what follows it.

    Attributes
    ----------
    layers : tuple of Layer
    input_dim, n_outputs : int
    widths : tuple of int
        Units of each hidden layer, that is, of each layer that an activation follows.
    n_neurons : int
        ``sum(widths)``.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, -1]]], [[0, 0], [0]])
    >>> net
    Network(2 -> relu 2 -> 1)
    >>> net([3.0, 1.0]), net.patterns([[3.0, -1.0]])
    (array([2.]), array([[1, 0]], dtype=uint8))
    """

    def __init__(self, layers: Sequence[Layer], input_dim: int) -> None:
        self.layers = tuple(layers)
        self.input_dim = int(input_dim)
        if not self.layers:
            raise NetworkError("a network needs at least one affine map; none was given.")
        sizes = [self.input_dim]
        for k, layer in enumerate(self.layers, start=1):
            if not layer.inputs or not all(0 <= value < k for value in layer.inputs):
                raise NetworkError(
                    f"layer {k} reads {layer.inputs}; it may read values 0 to {k - 1}."
                )
            read = sum(sizes[value] for value in layer.inputs)
            if layer.weight.ndim != 2 or layer.weight.shape[1] != read:
                raise NetworkError(
                    f"layer {k} has weights of shape {layer.weight.shape} but reads {read} values. "
                    f"Weights are (n_out, n_in), with n_in the number of outputs before."
                )
            if layer.bias.shape != (layer.n_units,):
                raise NetworkError(
                    f"layer {k} has {layer.n_units} units and a bias of shape {layer.bias.shape}. "
                    f"Give one bias a unit."
                )
            if layer.n_units == 0:
                raise NetworkError(f"layer {k} has no units. Remove it or give it some.")
            sizes.append(layer.n_units)
        if self.input_dim < 1:
            raise NetworkError("a network needs at least one input coordinate; this one has none.")
        self._is_frozen = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_frozen" in self.__dict__:
            raise AttributeError(f"a Network cannot be changed: {name} is fixed. Build a new one.")
        super().__setattr__(name, value)

    # ------------------------------------------------------------------ building

    @classmethod
    def from_arrays(
        cls,
        weights: Sequence[Any],
        biases: Sequence[Any] | None = None,
        *,
        activation: str = "relu",
        relu_last: bool = False,
    ) -> Network:
        """Build a network from weight matrices and bias vectors.

        Parameters
        ----------
        weights : sequence of (n_out, n_in) arrays
            Floats of any precision, integers, Fractions or decimal strings; kept exactly.
        biases : sequence of (n_out,) arrays, optional
            ``None``, or ``None`` for single layers, means zeros.
        activation : str
            What follows every layer but the last: ``"relu"``.
        relu_last : bool
            Whether it follows the last layer too, which then counts as hidden.

        Raises
        ------
        NetworkError
            Shapes that do not chain, or numbers that are not finite.

        Examples
        --------
        >>> import polycarve as pc
        >>> pc.Network.from_arrays([[["0.1"], [1]]], relu_last=True)
        Network(1 -> relu 2)
        """
        from polycarve.networks import arrays

        return arrays.read(weights, biases, activation=activation, relu_last=relu_last)

    @classmethod
    def from_npz(cls, path: str | Path, *, relu_last: bool | None = None) -> Network:
        """Read ``W0, b0, W1, b1, ...`` from an ``.npz`` file.

        Parameters
        ----------
        path : path-like
        relu_last : bool, optional
            Whether a ReLU follows the last layer. Default: what the file says in a key
            ``relu_last``, else no.
        """
        from polycarve.networks import arrays

        return arrays.read_npz(path, relu_last=relu_last)

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """Read a torch ``nn.Sequential`` (nested ones too).

        Parameters
        ----------
        module : torch.nn.Module
            Linear, ReLU, Flatten, Dropout and Identity layers, in any nesting of Sequential.
            It is left as it is; dropout is read as in evaluation.

        Returns
        -------
        Network
            Checked against the module's own forward pass on a float64 copy.

        Raises
        ------
        UnsupportedLayerError
            Names every layer that cannot be read.
        NetworkError
            The module computes something else than its layers say (hooks, own ``forward``).
        """
        from polycarve.networks import torch

        return torch.read(module)

    @classmethod
    def from_onnx(cls, path: Any, *, drop_tail: bool = False) -> Network:
        """Read an ONNX file of affine and ReLU nodes, with skip connections.

        Parameters
        ----------
        path : path-like or onnx.ModelProto
        drop_tail : bool
            Leave off what a classifier ends in, after the last layer: Softmax, Sigmoid, ArgMax,
            and the labels made of them. The regions do not depend on it.

        Returns
        -------
        Network
            The real-valued function of the file's numbers, of one sample: the numbers of an input
            tensor are one vector, in row-major order. Every affine node is a layer, kept as read.
            Checked layer by layer against onnx's reference evaluator, on random inputs.

        Raises
        ------
        UnsupportedLayerError
            Names every node that cannot be read, and what to do about it.
        NetworkError
            The file is broken, or is no function of one input with one output.
        MissingDependencyError
            The package onnx is not installed.
        """
        from polycarve.networks import onnx

        return onnx.read(path, drop_tail=drop_tail)

    # ------------------------------------------------------------------ shape

    @cached_property
    def hidden(self) -> tuple[int, ...]:
        """Indices into `layers` of the layers that can cut."""
        return tuple(k for k, layer in enumerate(self.layers) if layer.activation is not None)

    @property
    def _carving_layers(self) -> tuple[Layer, ...]:
        """The layers up to the last hidden one: those that patterns depend on."""
        return self.layers[: self.hidden[-1] + 1] if self.hidden else ()

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(self.layers[k].n_units for k in self.hidden)

    @cached_property
    def cut_widths(self) -> tuple[int, ...]:
        """Pattern bits of each hidden layer (for ReLU the same as `widths`)."""
        return tuple(self.layers[k].n_cuts for k in self.hidden)

    @property
    def n_neurons(self) -> int:
        """Hidden units in all."""
        return sum(self.widths)

    @property
    def n_outputs(self) -> int:
        return self.layers[-1].n_units

    def __repr__(self) -> str:
        parts = [str(self.input_dim)]
        for layer in self.layers:
            name = f"{layer.activation.name} " if layer.activation else ""
            parts.append(f"{name}{layer.n_units}")
        text = " -> ".join(parts)
        if len(text) > 60:
            text = f"{parts[0]} -> {len(self.layers) - 1} layers -> {parts[-1]}"
        return f"Network({text})"

    def __getitem__(self, key: slice) -> Network:
        try:
            start, stop, step = key.indices(len(self.hidden))
        except (AttributeError, TypeError, ValueError):
            step = 0
        if step != 1:
            raise InputError("slice a network by its activations: net[:2], net[1:], net[1:3].")
        first = self.hidden[start - 1] + 1 if start else 0
        last = (
            len(self.layers)
            if stop == len(self.hidden) and key.stop is None
            else (self.hidden[stop - 1] + 1 if stop else 0)
        )
        if first >= last:
            raise NetworkError(
                f"net[{key.start}:{key.stop}] of {self!r} holds no affine map. "
                f"It has {len(self.hidden)} activations."
            )
        moved = []
        for k in range(first, last):
            layer = self.layers[k]
            if any(value < first for value in layer.inputs):
                raise NetworkError(
                    f"layer {k + 1} reads a value from before the slice; a network cannot be "
                    f"cut across a skip connection."
                )
            inputs = tuple(value - first for value in layer.inputs)
            moved.append(Layer(layer.weight, layer.bias, layer.activation, inputs))
        entry = self.input_dim if first == 0 else self.layers[first - 1].n_units
        return Network(moved, entry)

    def along(self, embedding: tuple[ExactArray, ExactArray] | None) -> Network:
        """Return the network as a function of ``y``, where its inputs are ``E @ y + e``.

        Patterns stay what they are. ``None`` stands for inputs that are ``y`` themselves.
        """
        if embedding is None:
            return self
        entry = Layer(*embedding, None, (0,))
        moved = (
            Layer(layer.weight, layer.bias, layer.activation, tuple(v + 1 for v in layer.inputs))
            for layer in self.layers
        )
        return Network((entry, *moved), embedding[0].shape[1])

    # ------------------------------------------------------------------ evaluation

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Evaluate in float64: ``(d,)`` to ``(n_outputs,)``, ``(n, d)`` to ``(n, n_outputs)``."""
        points, single = self._points(X)
        output = evaluation.values(self.layers, points)[-1]
        return output[0] if single else output

    def patterns(self, X: npt.ArrayLike) -> BitArray:
        """Return the activation patterns of inputs by a float64 forward pass.

        Parameters
        ----------
        X : array-like, shape (n, d) or (d,)

        Returns
        -------
        ndarray of uint8, shape (n, N) or (N,)
            1 where a pre-activation is positive. Within rounding of a boundary the bit is
            that of the float64 computation.
        """
        points, single = self._points(X)
        bits = np.concatenate(
            [np.zeros((len(points), 0), np.uint8), *evaluation.bits(self._carving_layers, points)],
            axis=1,
        )
        return bits[0] if single else bits

    def affine_map(self, pattern: Any) -> tuple[FloatArray, FloatArray]:
        """Return ``(W, c)`` with ``net(x) == W @ x + c`` for inputs of a pattern.

        Parameters
        ----------
        pattern : str or array-like of N bits
            A code such as ``"aai|iaa|ai"`` or an array of zeros and ones.

        Returns
        -------
        W : ndarray, shape (n_outputs, d)
        c : ndarray, shape (n_outputs,)
        """
        bits = codes.bits_of(pattern, self.cut_widths)
        return evaluation.affine_values(self.layers, self.input_dim, bits)[0][-1]

    def preactivation_maps(self, pattern: Any) -> list[tuple[FloatArray, FloatArray]]:
        """Return the affine maps ``(A, c)`` of the pre-activations of each hidden layer.

        On inputs of the pattern, ``A @ x + c`` are the pre-activations of that layer, less the
        activation's cuts: one row a bit of the pattern, positive where the bit is set. For ReLU,
        these are the pre-activations themselves. Composed in float64.
        """
        bits = codes.bits_of(pattern, self.cut_widths)
        return evaluation.affine_values(self._carving_layers, self.input_dim, bits)[1]

    def exact_preactivation_maps(self, pattern: Any) -> list[tuple[ExactArray, ExactArray]]:
        """Return the same maps as `preactivation_maps`, composed exactly."""
        bits = codes.bits_of(pattern, self.cut_widths)
        return evaluation.exact_maps(self._carving_layers, self.input_dim, bits)

    # ------------------------------------------------------------------ identity

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the exact numbers and the structure, as hexadecimal.

        Equal for networks of the same exact numbers, whatever types they were given in.
        """
        sha = hashlib.sha256(f"polycarve network 1; input {self.input_dim}\n".encode())
        for layer in self.layers:
            act = layer.activation
            law = "none" if act is None else f"{act.cuts} {act.jumps} {act.slope} {act.offset}"
            sha.update(f"layer {layer.weight.shape} reads {layer.inputs} then {law}\n".encode())
            for numbers in (layer.weight, layer.bias):
                lowest = numbers.reduced()
                text = ",".join(f"{n:x}" for n in lowest.numerators.ravel().tolist())
                sha.update(f"{lowest.denominator:x}:{text}\n".encode())
        return sha.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    # ------------------------------------------------------------------ inside

    def _points(self, X: npt.ArrayLike) -> tuple[FloatArray, bool]:
        try:
            points = np.asarray(X if not np.iscomplexobj(X) else None, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("inputs must be an array of numbers, (n, d) or (d,).") from None
        single = points.ndim == 1
        points = points[None, :] if single else points
        if points.ndim != 2 or points.shape[1] != self.input_dim:
            raise InputError(
                f"inputs have shape {np.shape(X)}; this network needs (n, {self.input_dim}) or "
                f"({self.input_dim},)."
            )
        return points, single


def as_network(given: Any) -> Network:
    """Return a network from a Network, a torch module or ``(weights, biases)``."""
    if isinstance(given, Network):
        return given
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return Network.from_arrays(given[0], given[1])
    if hasattr(given, "state_dict") and hasattr(given, "forward"):
        return Network.from_torch(given)
    raise NetworkError(
        f"a {type(given).__name__} is not a network. Give a polycarve.Network, a torch module, "
        f"or (weights, biases)."
    )
