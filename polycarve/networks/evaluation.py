"""Networks evaluated: at inputs, and as the affine maps that they are on a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polycarve.networks.activation import Activation
from polycarve.rational import ExactArray, stack

if TYPE_CHECKING:
    from polycarve.networks.network import Layer

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]
Map = tuple[FloatArray, FloatArray]
ExactMap = tuple[ExactArray, ExactArray]


def values(layers: Sequence[Layer], points: FloatArray) -> list[FloatArray]:
    """Return the inputs and the output of every layer."""
    out = [points]
    for layer in layers:
        z = preactivation(layer, out)
        out.append(layer.activation(z) if layer.activation else z)
    return out


def bits(layers: Sequence[Layer], points: FloatArray) -> list[BitArray]:
    """Return the pattern's part of every layer with an activation."""
    out, found = [points], []
    for layer in layers:
        z = preactivation(layer, out)
        if layer.activation:
            found.append(layer.activation.bits(z))
        out.append(layer.activation(z) if layer.activation else z)
    return found


def preactivation(layer: Layer, known: list[FloatArray]) -> FloatArray:
    """Apply a layer's affine map to the values it reads."""
    read = known[layer.inputs[0]]
    if len(layer.inputs) > 1:
        read = np.concatenate([known[k] for k in layer.inputs], axis=1)
    return np.asarray(read @ layer.weight.float64.T + layer.bias.float64)


def affine_values(
    layers: Sequence[Layer], input_dim: int, pattern: BitArray
) -> tuple[list[Map], list[Map]]:
    """Return every value as an affine map of the inputs, and the cuts' forms layer by layer."""
    known: list[Map] = [(np.eye(input_dim), np.zeros(input_dim))]
    forms: list[Map] = []
    start = 0
    for layer in layers:
        W, law = layer.weight.float64, layer.activation
        A = W @ np.concatenate([known[k][0] for k in layer.inputs])
        c = W @ np.concatenate([known[k][1] for k in layer.inputs]) + layer.bias.float64
        if law:
            cuts = np.array([float(cut) for cut in law.cuts])
            rows = np.repeat(np.arange(layer.n_units), len(cuts))
            forms.append((A[rows], c[rows] - np.tile(cuts, layer.n_units)))
            piece = pattern[start : start + layer.n_cuts].reshape(layer.n_units, -1)
            start += layer.n_cuts
            slope, offset = _pieces(law, piece)
            A, c = slope[:, None] * A, slope * c + offset
        known.append((A, c))
    return known, forms


def _pieces(activation: Activation, piece: BitArray) -> Map:
    """Return slope and offset of each unit's piece from its bits, shape (n_units, n_cuts)."""
    jumps = np.array([float(jump) for jump in activation.jumps])
    cuts = np.array([float(cut) for cut in activation.cuts])
    slope = float(activation.slope) + piece @ jumps
    offset = float(activation.offset) - piece @ (jumps * cuts)
    return slope, offset


def exact_maps(layers: Sequence[Layer], input_dim: int, pattern: BitArray) -> list[ExactMap]:
    """Return the cuts' forms layer by layer, composed exactly."""
    return exact_values(layers, input_dim, pattern)[1]


def exact_values(
    layers: Sequence[Layer], input_dim: int, pattern: BitArray
) -> tuple[list[ExactMap], list[ExactMap]]:
    """Return every value as an affine map of the inputs, and the cuts' forms, composed exactly."""
    zero = ExactArray.of(np.zeros(input_dim, dtype=np.int64))
    known: list[ExactMap] = [(ExactArray.eye(input_dim), zero)]
    forms: list[ExactMap] = []
    start = 0
    for layer in layers:
        A = layer.weight @ stack([known[k][0] for k in layer.inputs])
        c = layer.weight @ stack([known[k][1] for k in layer.inputs]) + layer.bias
        law = layer.activation
        if law:
            rows = np.repeat(np.arange(layer.n_units), len(law.cuts))
            forms.append((A[rows], c[rows] - ExactArray.of(list(law.cuts) * layer.n_units)))
            slope, offset = _exact_pieces(law, pattern[start : start + layer.n_cuts])
            start += layer.n_cuts
            A, c = slope[:, None] * A, slope * c + offset
        known.append((A.reduced(), c.reduced()))
    return known, forms


def _exact_pieces(law: Activation, bits: BitArray) -> ExactMap:
    """Return slope and offset of each unit's piece from a layer's bits, exactly."""
    slopes, offsets = [], []
    for piece in bits.reshape(-1, len(law.cuts)).tolist():
        passed = [
            (jump, cut) for jump, cut, bit in zip(law.jumps, law.cuts, piece, strict=True) if bit
        ]
        slopes.append(law.slope + sum(jump for jump, _ in passed))
        offsets.append(law.offset - sum(jump * cut for jump, cut in passed))
    return ExactArray.of(slopes), ExactArray.of(offsets)


def exact_unit_forms(
    layers: Sequence[Layer],
    input_dim: int,
    pattern: BitArray,
    index: int,
    units: npt.NDArray[np.intp],
) -> ExactMap:
    """Return a few units of ``layers[index]`` as exact affine maps of the inputs.

    The rows are taken back through the layers, so that this costs a few vectors times matrices;
    of the pattern only the bits before that layer matter.
    """
    starts = np.cumsum([0, *(layer.n_cuts for layer in layers[:index])]).tolist()
    sizes = [input_dim, *(layer.n_units for layer in layers[:index])]
    rows, constant = layers[index].weight[units], layers[index].bias[units]
    read: dict[int, ExactArray] = {}
    _share_out(rows, layers[index].inputs, sizes, read)
    for k in range(index - 1, -1, -1):
        if k + 1 not in read:
            continue
        rows, layer = read.pop(k + 1), layers[k]
        if layer.activation:
            bits = pattern[starts[k] : starts[k + 1]]
            slope, offset = _exact_pieces(layer.activation, bits)
            constant = constant + rows @ offset
            rows = rows * slope
        constant = (constant + rows @ layer.bias).reduced()
        _share_out((rows @ layer.weight).reduced(), layer.inputs, sizes, read)
    return read[0], constant


def _share_out(
    rows: ExactArray, inputs: Sequence[int], sizes: Sequence[int], read: dict[int, ExactArray]
) -> None:
    """Add rows over what a layer reads to the rows over each value."""
    at = 0
    for value in inputs:
        part = rows[:, at : at + sizes[value]]
        at += sizes[value]
        read[value] = read[value] + part if value in read else part
