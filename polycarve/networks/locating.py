"""Which pattern an input has, decided exactly: floats where they suffice, rationals elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.networks.activation import RELU
from polycarve.networks.network import Network
from polycarve.rational import ExactArray, stack

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]

UNIT_ROUNDOFF = 2.0**-53

# More than products that underflow can amount to: what is smaller is decided exactly.
UNDERFLOW = 2.0**-1000


def exact_preactivations(
    network: Network, x: ExactArray, pattern: BitArray | None = None
) -> list[ExactArray]:
    """Return each hidden layer's cuts ``z - cut`` at an input, exactly.

    Without a pattern these are the network's own; with one, those of the affine pieces that the
    pattern (one of whole layers, from the first) names, continued to the input.
    """
    values, cuts, start = [x], [], 0
    for layer in network.layers[: network.hidden[-1] + 1] if network.hidden else ():
        if pattern is not None and start >= len(pattern):
            break
        z = layer.weight @ stack([values[k] for k in layer.inputs]) + layer.bias
        act = layer.activation
        if act is None:
            values.append(z)
            continue
        shifted = z[:, None] - ExactArray.of(list(act.cuts))
        cuts.append(shifted.reshape(-1))
        bits = shifted.numerators > 0
        if pattern is not None:
            bits = pattern[start : start + layer.n_cuts].reshape(bits.shape).astype(bool)
        start += layer.n_cuts
        rectified = ExactArray(shifted.numerators * bits, shifted.denominator)
        value = ExactArray.of([act.slope]) * z + rectified @ ExactArray.of(list(act.jumps))
        values.append((value + ExactArray.of([act.offset])).reduced())
    return cuts


def exact_pattern(network: Network, x: Any) -> BitArray:
    """Return the pattern of an input of exact numbers."""
    cuts = exact_preactivations(network, ExactArray.of(x))
    bits = [(z.numerators > 0).astype(np.uint8) for z in cuts]
    return np.concatenate([np.zeros(0, np.uint8), *bits])


def in_closed_region(network: Network, pattern: BitArray, X: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether inputs lie in the closure of a pattern's region; a prefix of whole layers will do."""
    inside = np.ones(len(X), np.bool_)
    unsure = np.zeros(len(X), np.bool_)
    start = 0
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is decided exactly
        continued = _continued(network, pattern, X)
    for z, error in continued:
        bits = pattern[start : start + z.shape[1]].astype(bool)
        start += z.shape[1]
        signed = np.where(bits, z, -z)
        inside &= ~(signed < -error).any(axis=1)
        unsure |= ~(np.abs(signed) > error).all(axis=1)
    for row in np.flatnonzero(inside & unsure):
        cuts = exact_preactivations(network, ExactArray.of(X[row]), pattern)
        signs = np.concatenate([z.signs() for z in cuts])
        inside[row] = bool(np.all(np.where(pattern == 1, signs >= 0, signs <= 0)))
    return inside


def _continued(
    network: Network, pattern: BitArray, X: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Evaluate a pattern's affine pieces at inputs; return values and rounding-error bounds."""
    values: list[tuple[FloatArray, FloatArray, FloatArray]] = [(X, np.abs(X), np.zeros_like(X))]
    out: list[tuple[FloatArray, FloatArray]] = []
    start = 0
    for layer in network.layers:
        if start >= len(pattern):
            break
        x, size, error = (
            np.concatenate([values[k][part] for k in layer.inputs], axis=1) for part in range(3)
        )
        W, b = layer.weight.float64, layer.bias.float64
        z = x @ W.T + b
        z_size = size @ np.abs(W).T + np.abs(b)
        # Products, sums and the rounding of the weights, all in one bound.
        z_error = error @ np.abs(W).T + (W.shape[1] + 4) * UNIT_ROUNDOFF * z_size
        act = layer.activation
        if act is None:
            values.append((z, z_size, z_error))
            continue
        cuts = np.array([float(cut) for cut in act.cuts])
        jumps = np.array([float(jump) for jump in act.jumps])
        n = layer.n_cuts
        shifted = (z[:, :, None] - cuts).reshape(len(X), n)
        cut_size = np.repeat(z_size, len(cuts), axis=1) + np.tile(np.abs(cuts), layer.n_units)
        cut_error = np.repeat(z_error, len(cuts), axis=1) + 2 * UNIT_ROUNDOFF * cut_size
        out.append((shifted, cut_error))
        bits = pattern[start : start + n].astype(np.float64)
        start += n
        slope, offset = float(act.slope), float(act.offset)
        shape = (len(X), layer.n_units, len(cuts))
        value = slope * z + offset + (shifted * bits).reshape(shape) @ jumps
        v_size = (
            abs(slope) * z_size + abs(offset) + (cut_size * bits).reshape(shape) @ np.abs(jumps)
        )
        v_error = abs(slope) * z_error + (cut_error * bits).reshape(shape) @ np.abs(jumps)
        values.append((value, v_size, v_error + (len(cuts) + 4) * UNIT_ROUNDOFF * v_size))
    return out


def packed_patterns(network: Network, X: FloatArray, n_layers: int) -> BitArray:
    """Return the packed patterns of inputs after some layers, exact where floats are in doubt."""
    bits, doubtful = float_bits(network, X, n_layers)
    for point in np.flatnonzero(doubtful):
        bits[:, point] = exact_pattern(network, X[point])[: len(bits)]
    return np.ascontiguousarray(np.packbits(bits, axis=0).T)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is in doubt
def float_bits(
    network: Network, X: FloatArray, n_layers: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the bits of inputs, ``(N, n)``, and which inputs have one that rounding could change.

    The forward pass carries one error bound a point, in the maximum norm: an activation is off by
    at most ``error`` if those it reads are off by at most ``error`` and rounding adds its share.
    Points are columns, so that what is asked of all units runs along the points.
    """
    n = len(X)
    bits = np.empty((sum(network.cut_widths[:n_layers]), n), np.bool_)
    values, errors = [np.ascontiguousarray(X.T)], [np.zeros(n)]
    doubtful = np.zeros(n, np.bool_)
    at = 0
    for layer in network.layers[: network.hidden[n_layers - 1] + 1] if n_layers else ():
        several = len(layer.inputs) > 1
        x = (
            np.concatenate([values[k] for k in layer.inputs])
            if several
            else values[layer.inputs[0]]
        )
        error = (
            np.max([errors[k] for k in layer.inputs], axis=0)
            if several
            else errors[layer.inputs[0]]
        )
        W, b = layer.weight.float64, layer.bias.float64
        z = W @ x
        z += b[:, None]
        norm = np.abs(W).sum(axis=1).max()
        rounding = (W.shape[1] + 4) * UNIT_ROUNDOFF
        size = np.maximum(x.max(axis=0), -x.min(axis=0))
        error = error * norm + rounding * (size * norm + np.abs(b).max()) + UNDERFLOW
        law = layer.activation
        if law is None:
            values.append(z)
        elif law == RELU:  # it computes no sum, and is no steeper than one
            np.greater(z, 0.0, out=bits[at : at + layer.n_cuts])
            doubtful |= ~(np.abs(z).min(axis=0) > error)
            values.append(np.maximum(z, 0.0, out=z))
        else:
            for place, cut in enumerate(law.cuts):
                above = z - float(cut)
                bits[at + place : at + layer.n_cuts : len(law.cuts)] = above > 0
                doubtful |= ~(np.abs(above).min(axis=0) > error)
            value = law(z)
            steep = abs(float(law.slope)) + sum(abs(float(jump)) for jump in law.jumps)
            furthest = max(abs(float(cut)) for cut in law.cuts)
            reach = steep * (np.abs(z).max(axis=0) + furthest) + abs(float(law.offset))
            error = error * steep + rounding * reach  # pieces of opposite slopes may cancel
            values.append(value)
        at += layer.n_cuts
        errors.append(error)
    return bits, doubtful
