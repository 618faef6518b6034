"""The affine maps of many patterns at once, with bounds on what rounding did to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.networks.activation import Activation
from polycarve.networks.network import Layer

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53

# Entries of the arrays of one chunk of patterns: few enough to stay in the processor's cache.
_MOST_ENTRIES = 1 << 17


class Maps(NamedTuple):
    """Affine maps ``x -> M[..., :-1] @ x + M[..., -1]`` in float64.

    Attributes
    ----------
    M : (n, n_units, d + 1) float64
    size : (n, n_units, d + 1) float64
        The same sums with all terms positive.
    unit : float
        Entries of ``M`` are off by at most ``unit * size``, rounded weights included.
    """

    M: FloatArray
    size: FloatArray
    unit: float


@np.errstate(over="ignore", invalid="ignore")  # what overflows has no bound, and says so
def affine_maps(layers: Sequence[Layer], input_dim: int, bits: BitArray) -> Maps:
    """Return the output of the last layer as an affine map of the inputs, for each pattern.

    Parameters
    ----------
    layers : sequence of Layer
        Not empty.
    bits : (n, N) uint8
        Patterns; neighbouring rows share the work for the layers in which they agree.
    """
    widest = max(input_dim, *(layer.n_units for layer in layers)) * (input_dim + 1)
    step = max(1, _MOST_ENTRIES // widest)
    n_units = layers[-1].n_units
    M = np.empty((len(bits), n_units, input_dim + 1))
    size = np.empty_like(M)
    for start in range(0, len(bits), step):
        part = slice(start, start + step)
        M[part], size[part] = _compose(layers, input_dim, bits[part])
    return Maps(M, size, _relative_error(layers))


def _compose(
    layers: Sequence[Layer], input_dim: int, bits: BitArray
) -> tuple[FloatArray, FloatArray]:
    n = len(bits)
    # The first bit in which a row differs from the one before: 0 starts a group at every layer.
    change = np.zeros(n, np.int64)
    differs = bits[1:] != bits[:-1]
    change[1:] = np.where(differs.any(axis=1), differs.argmax(axis=1), bits.shape[1] + 1)
    change[:1] = -1

    def groups(width: int) -> tuple[IntArray, IntArray]:
        """Return the first rows of the runs that agree in so many bits, and each row's run."""
        begins = change < width
        begins[:1] = True
        return np.flatnonzero(begins), np.cumsum(begins) - 1

    # Units come first here: then each layer is one product of two matrices.
    identity = np.eye(input_dim, input_dim + 1)[:, None]
    known = [(identity, identity, np.zeros(n, np.int64))]
    start = 0
    for layer in layers:
        rows, run = groups(start)
        W, b = layer.weight.float64, layer.bias.float64
        read = [known[k] for k in layer.inputs]
        M, size = (
            np.tensordot(matrix, np.concatenate([v[part][:, v[2][rows]] for v in read]), 1)
            for part, matrix in ((0, W), (1, np.abs(W)))
        )
        M[..., -1] += b[:, None]
        size[..., -1] += np.abs(b)[:, None]
        law = layer.activation
        if law is not None:
            rows, after = groups(start + layer.n_cuts)
            piece = bits[rows, start : start + layer.n_cuts].reshape(len(rows), layer.n_units, -1)
            (slope, offset), (steepness, shift) = _pieces(law, piece)
            before = run[rows]
            M, size, run = slope * M[:, before], steepness * size[:, before], after
            M[..., -1] += offset
            size[..., -1] += shift
            start += layer.n_cuts
        known.append((M, size, run))
    M, size, run = known[-1]
    return M[:, run].swapaxes(0, 1), size[:, run].swapaxes(0, 1)


def _pieces(law: Activation, piece: BitArray) -> list[tuple[FloatArray, FloatArray]]:
    """Return slopes ``(n_units, n, 1)`` and offsets ``(n_units, n)``, and their sizes."""
    jumps, cuts = (np.array([float(v) for v in part]) for part in (law.jumps, law.cuts))
    slope, offset = float(law.slope), float(law.offset)
    return [
        ((slope + (piece @ jumps).T)[..., None], offset - (piece @ (jumps * cuts)).T),
        (
            (abs(slope) + (piece @ np.abs(jumps)).T)[..., None],
            abs(offset) + (piece @ np.abs(jumps * cuts)).T,
        ),
    ]


def _relative_error(layers: Sequence[Layer]) -> float:
    known = [0.0]
    for layer in layers:
        error = max(known[k] for k in layer.inputs) + (layer.weight.shape[1] + 4) * UNIT_ROUNDOFF
        if layer.activation is not None:
            error += (len(layer.activation.cuts) + 6) * UNIT_ROUNDOFF
        known.append(error)
    return 1.01 * known[-1]


def same_maps(
    layers: Sequence[Layer], input_dim: int, here: BitArray, there: BitArray
) -> npt.NDArray[np.bool_]:
    """Whether pairs of patterns have one and the same map for a reason that needs no arithmetic.

    That is where no path of weights leads from the units whose pieces differ to the output.
    False means nothing.
    """
    n = len(here)
    differs = [np.zeros((n, input_dim), np.bool_)]
    start = 0
    for layer in layers:
        read = np.concatenate([differs[k] for k in layer.inputs], axis=1)
        used = (layer.weight.numerators != 0).astype(np.float32)
        z = read.astype(np.float32) @ used.T > 0
        law = layer.activation
        if law is not None:
            shape = (n, layer.n_units, len(law.cuts))
            pieces = [
                bits[:, start : start + layer.n_cuts].reshape(shape) for bits in (here, there)
            ]
            flips = (pieces[0] != pieces[1]).any(axis=2)
            pressed = pieces[0].sum(axis=2)
            is_flat = np.array(
                [law.slope + sum(law.jumps[:k]) == 0 for k in range(len(law.cuts) + 1)]
            )
            z = flips | (z & ~is_flat[pressed])
            start += layer.n_cuts
        differs.append(z)
    return np.asarray(~differs[-1].any(axis=1))
