"""In which region each of many points lies, and which points lie on a boundary between regions.

Three passes, each over what the one before left in doubt: floats with one error bound a point;
floats with one a neuron, which also see what is zero because all that feeds it is inactive; and
exact arithmetic: forms of single neurons, which the points of a cell share, or, where many neurons
of a point are in doubt, as in a network deep enough to use up all digits, its values. A point whose
pre-activation is exactly zero lies on a boundary if the neuron's form on the point's cell is not
zero throughout the domain; where it is zero throughout, the neuron is inactive and cuts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain
from polycarve.networks import Network, evaluation
from polycarve.networks.locating import (
    UNDERFLOW,
    UNIT_ROUNDOFF,
    exact_preactivations,
    float_bits,
)
from polycarve.networks.network import Layer
from polycarve.rational import ExactArray
from polycarve.splitting.program import in_frame

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# Forms that are kept for the next points of their cell.
_MOST_FORMS = 1 << 14

# A point with more neurons in doubt is evaluated exactly, which costs about as much as one form.
_MOST_IN_DOUBT = 8

_Form = tuple[ExactArray, Fraction]


@dataclass
class RegionFinder:
    """Finds the patterns of points in a domain's free coordinates.

    Attributes
    ----------
    network : Network
        As a function of the free coordinates.
    """

    network: Network
    _forms: dict[tuple[bytes, int], _Form] = field(default_factory=dict)

    @classmethod
    def on(cls, network: Network, domain: Domain) -> RegionFinder:
        """Return the finder for a domain that is not a single point."""
        return cls(in_frame(network, domain))

    def find(self, points: FloatArray) -> tuple[BitArray, BoolArray]:
        """Return the packed patterns of points and which of them lie on a boundary.

        The pattern of a point on a boundary is not always that of a region.
        """
        bits, doubtful = float_bits(self.network, points, len(self.network.hidden))
        on_boundary = np.zeros(len(points), np.bool_)
        rows = np.flatnonzero(doubtful)
        if len(rows):
            settled, touching = self._settle(points[rows])
            bits[:, rows] = settled.T
            on_boundary[rows] = touching
        return np.ascontiguousarray(np.packbits(bits, axis=0).T), on_boundary

    def _settle(self, points: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return bits, ``(n, N)``, and who lies on a boundary, in exact arithmetic where needed."""
        layers = self.network.layers[: self.network.hidden[-1] + 1]
        bits, unsure = _bounded_bits(layers, points)
        touching = np.zeros(len(points), np.bool_)
        for row in np.flatnonzero(unsure.sum(axis=1) > _MOST_IN_DOUBT).tolist():
            bits[row], touching[row] = self._evaluated(layers, points[row : row + 1], unsure[row])
            unsure[row] = False
        start = 0
        for index, layer in enumerate(layers):
            part = slice(start, start + layer.n_cuts)
            start = part.stop
            open_rows = np.flatnonzero(unsure[:, part].any(axis=1) & ~touching)
            for rows in _alike(bits[open_rows, : part.start]):
                group = open_rows[rows]
                cell = bits[group[0]].astype(np.uint8)
                for cut in np.flatnonzero(unsure[group, part].any(axis=0)).tolist():
                    signs = self._signs(layers, index, cell, part.start, cut, points[group])
                    bits[group, part.start + cut] = signs > 0
                    touching[group] |= signs == 0
                    group = group[signs != 0]  # one boundary is enough
                    if not len(group):
                        break
        return bits, touching

    def _evaluated(
        self, layers: Sequence[Layer], point: FloatArray, unsure: BoolArray
    ) -> tuple[BoolArray, bool]:
        """Return the bits of one point, and whether it lies on a boundary, by its exact values."""
        cuts = exact_preactivations(self.network, ExactArray.of(point[0]))
        signs = np.concatenate([z.signs() for z in cuts])
        cell = (signs > 0).astype(np.uint8)
        start, hidden = 0, [k for k, layer in enumerate(layers) if layer.n_cuts]
        for index in hidden:
            for cut in range(layers[index].n_cuts):
                is_zero = unsure[start + cut] and signs[start + cut] == 0
                if is_zero and self._signs(layers, index, cell, start, cut, point)[0] == 0:
                    return signs > 0, True
            start += layers[index].n_cuts
        return signs > 0, False

    def _signs(
        self,
        layers: Sequence[Layer],
        index: int,
        cell: BitArray,
        n_before: int,
        cut: int,
        points: FloatArray,
    ) -> npt.NDArray[np.int8]:
        """Return the exact signs of a layer's cut at points; -1 where it is zero throughout."""
        key = (np.packbits(cell[:n_before]).tobytes(), n_before + cut)
        if key not in self._forms:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            self._forms[key] = self._form(layers, index, cell, cut)
        gradient, constant = self._forms[key]
        if not gradient.numerators.any():
            return np.full(len(points), 1 if constant > 0 else -1, np.int8)
        values = ExactArray.of(points) @ gradient + ExactArray.of([constant])
        return values.signs()

    def _form(self, layers: Sequence[Layer], index: int, cell: BitArray, cut: int) -> _Form:
        law = layers[index].activation
        assert law is not None
        unit, place = divmod(cut, len(law.cuts))
        A, c = evaluation.exact_unit_forms(
            layers, self.network.input_dim, cell, index, np.array([unit])
        )
        return A[0], c.fractions()[0] - law.cuts[place]


@np.errstate(over="ignore", invalid="ignore")  # what overflows stays in doubt
def _bounded_bits(layers: Sequence[Layer], points: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return the bits of points by floats, ``(n, N)``, and which of them rounding could change.

    Every value carries a bound on its error, and whether it is zero around the point: what an
    inactive unit puts out, and what is made of such units alone.
    """
    known = [(points, np.zeros_like(points), np.zeros(points.shape, np.bool_))]
    bits, unsure = [], []
    for layer in layers:
        x, error, gone = (
            np.concatenate([known[k][part] for k in layer.inputs], axis=1) for part in range(3)
        )
        W, b = layer.weight.float64, layer.bias.float64
        size = np.abs(W)
        z = x @ W.T + b
        # Products, sums and the rounding of the weights, and of the bound itself.
        rounding = (W.shape[1] + 4) * UNIT_ROUNDOFF
        z_error = 1.001 * (error @ size.T + rounding * (np.abs(x) @ size.T + np.abs(b))) + UNDERFLOW
        is_used = np.array(layer.weight.numerators != 0, dtype=np.float64)
        is_zero = (~gone @ is_used.T == 0) & (layer.bias.numerators == 0)[None]
        z[is_zero], z_error[is_zero] = 0.0, 0.0
        law = layer.activation
        if law is None:
            known.append((z, z_error, is_zero))
            continue
        cuts = np.array([float(cut) for cut in law.cuts])
        above = z[:, :, None] - cuts
        near = z_error[:, :, None] + 2 * UNIT_ROUNDOFF * (np.abs(z)[:, :, None] + np.abs(cuts))
        bits.append((above > 0).reshape(len(points), -1))
        unsure.append((~(np.abs(above) > near) & ~is_zero[:, :, None]).reshape(len(points), -1))
        is_off = is_zero | (above[:, :, 0] < -near[:, :, 0])
        value = law(z)
        steep = abs(float(law.slope)) + sum(abs(float(jump)) for jump in law.jumps)
        reach = steep * (np.abs(z) + np.abs(cuts).max()) + abs(float(law.offset))
        v_error = 1.001 * (steep * z_error + (len(cuts) + 4) * UNIT_ROUNDOFF * reach)
        if law.slope == 0 and law.offset == 0 and law.cuts[0] >= 0:
            value[is_off], v_error[is_off] = 0.0, 0.0
        else:
            is_off = np.zeros_like(is_off)
        known.append((value, v_error, is_off))
    return np.concatenate(bits, axis=1), np.concatenate(unsure, axis=1)


def _alike(bits: BoolArray) -> list[IntArray]:
    """Return the rows of each group of equal rows."""
    if not len(bits):
        return []
    if not bits.shape[1]:
        return [np.arange(len(bits))]
    packed = np.packbits(bits, axis=1)
    _, group = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    ends = np.flatnonzero(np.diff(group.ravel()[order])) + 1
    return np.split(order, ends)
