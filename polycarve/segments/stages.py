"""A network as the sweep reads it: a stage a layer, with all that error bounds and twins need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polycarve.networks import RELU, Network
from polycarve.networks.network import Layer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SignArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]

UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, eq=False)
class Stage:
    """A layer, and the *forms* ``z - cut`` whose signs make its part of the pattern.

    Cuts whose forms are exact multiples of each other flip together: one form stands for them
    all. Cuts of constant forms never flip and have no form.

    Attributes
    ----------
    layer : Layer
    is_relu : bool
    is_read : bool
        Whether a later layer reads the output.
    expired : tuple of int
        The values that no later layer reads.
    first_cut : int
        The index of the layer's first cut among all ``N``.
    unit, cut : (n_forms,) int64 and float64
        A form is ``z[unit] - cut``.
    is_plain : bool
        Whether the forms are all pre-activations as they are.
    members, member_starts : int64
        The cuts that form ``f`` stands for, counted within the layer, are
        ``members[member_starts[f] : member_starts[f + 1]]``.
    form_of, sign_of : (n_cuts,) int64 and int8
        The form of each cut and the sign of its factor; sign 0 where the cut is constant.
    constant_bits : (n_cuts,) bool
        The state of each cut that is constant, else False.
    nonzero : (n_forms, m) float64
        1 where the exact coefficient is not zero, else 0.
    is_homogeneous : (n_forms,) bool
        Whether the exact constant is zero.
    spectral, frobenius, bias_norm : float
        Upper bounds of 2-norms: of the matrix, of all its entries, of the bias.
    row_norm, row_constant : (n_forms,) float64
        The same of each form: its coefficients, and the numbers added to them.
    rounding : float
        Bounds the relative rounding of an affine form of this length, with that of its numbers
        and of the inputs before.
    """

    layer: Layer
    is_relu: bool
    is_read: bool
    expired: tuple[int, ...]
    first_cut: int
    unit: IntArray
    cut: FloatArray
    is_plain: bool
    members: IntArray
    member_starts: IntArray
    form_of: IntArray
    sign_of: SignArray
    constant_bits: BoolArray
    nonzero: FloatArray
    is_homogeneous: BoolArray
    spectral: float
    frobenius: float
    bias_norm: float
    row_norm: FloatArray
    row_constant: FloatArray
    rounding: float

    @property
    def n_forms(self) -> int:
        return len(self.unit)

    def cuts_of(self, forms: IntArray) -> tuple[IntArray, IntArray]:
        """Return all cuts of some forms, and for each of them the place of its form in the list."""
        if len(self.members) == self.n_forms:
            return self.members[forms], np.arange(len(forms))
        first, last = self.member_starts[forms], self.member_starts[forms + 1]
        place = np.repeat(np.arange(len(forms)), last - first)
        within = np.arange(len(place)) - np.repeat(
            np.cumsum(last - first) - (last - first), last - first
        )
        return self.members[first[place] + within], place


def stages_of(network: Network) -> list[Stage]:
    """Return the stages of all layers that patterns depend on."""
    layers = network.layers[: network.hidden[-1] + 1] if network.hidden else ()
    last_reader = {v: k for k, layer in enumerate(layers, start=1) for v in layer.inputs}
    stages: list[Stage] = []
    first_cut = 0
    for k, layer in enumerate(layers, start=1):
        expired = tuple(v for v, last in last_reader.items() if last == k)
        stages.append(_stage(layer, k in last_reader, expired, first_cut))
        first_cut += layer.n_cuts
    return stages


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def _stage(layer: Layer, is_read: bool, expired: tuple[int, ...], first_cut: int) -> Stage:
    W, b, law = layer.weight.float64, layer.bias.float64, layer.activation
    n, m = W.shape
    cuts: Sequence[Fraction] = law.cuts if law else ()
    unit_of_cut = np.repeat(np.arange(n), len(cuts))
    groups, form_of, sign_of, bits = _twins(layer, cuts)
    leads = np.array([group[0] for group in groups], dtype=np.int64)
    unit = unit_of_cut[leads]
    cut = np.array([float(value) for value in cuts] * n)[leads]
    constants = [layer.bias.numerators[u] - c * layer.bias.denominator
                 for u in range(n) for c in cuts]  # fmt: skip
    row_norm = np.array([_norm(row) for row in W])
    return Stage(
        layer=layer,
        is_relu=law == RELU,
        is_read=is_read,
        expired=expired,
        first_cut=first_cut,
        unit=unit,
        cut=cut,
        is_plain=np.array_equal(unit, np.arange(n)) and not cut.any(),
        members=np.array([place for group in groups for place in group], dtype=np.int64),
        member_starts=np.cumsum([0, *map(len, groups)]).astype(np.int64),
        form_of=form_of,
        sign_of=sign_of,
        constant_bits=bits,
        nonzero=(layer.weight.numerators != 0).astype(np.float64)[unit],
        is_homogeneous=np.array([constants[lead] == 0 for lead in leads], dtype=np.bool_),
        spectral=spectral_bound(W),
        frobenius=_norm(row_norm),
        bias_norm=_norm(b),
        row_norm=row_norm[unit],
        row_constant=np.abs(b)[unit] + 2 * np.abs(cut),
        rounding=(m + 8) * UNIT_ROUNDOFF,
    )


def _twins(
    layer: Layer, cuts: Sequence[Fraction]
) -> tuple[list[list[int]], IntArray, SignArray, BoolArray]:
    """Gather the cuts whose forms are multiples of each other, exactly; set constant ones apart."""
    n, k = layer.n_units, len(cuts)
    form_of, sign_of = np.zeros(n * k, np.int64), np.zeros(n * k, np.int8)
    bits = np.zeros(n * k, np.bool_)
    groups: list[list[int]] = []
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    common = math.lcm(
        layer.weight.denominator, layer.bias.denominator, *(c.denominator for c in cuts)
    )
    rows = (layer.weight.numerators * (common // layer.weight.denominator)).tolist()
    biases = (layer.bias.numerators * (common // layer.bias.denominator)).tolist()
    shifts = [int(c * common) for c in cuts]
    for unit, (row, bias) in enumerate(zip(rows, biases, strict=True)):
        lead = next((value for value in row if value), 0)
        for place, shift in enumerate(shifts, start=unit * k):
            constant = bias - shift
            if not lead:
                bits[place] = constant > 0
                continue
            sign = 1 if lead > 0 else -1
            divisor = sign * math.gcd(*row, constant)
            key = tuple([value // divisor for value in row] + [constant // divisor])
            form, first = seen.setdefault(key, (len(groups), sign))
            if form == len(groups):
                groups.append([])
            groups[form].append(place)
            form_of[place], sign_of[place] = form, sign * first
    return groups, form_of, sign_of, bits


def _norm(values: FloatArray) -> float:
    """Return an upper bound of a 2-norm, which neither overflows nor underflows on the way."""
    largest = float(np.abs(values).max(initial=0.0))
    if not largest:
        return 0.0
    scaled = values / largest
    return largest * math.sqrt(float(scaled @ scaled)) * (1 + 1e-6)


def spectral_bound(W: FloatArray) -> float:
    """Return an upper bound of the largest singular value, a tenth or two above it.

    With ``G = W W^T``, it is at most the 16th root of the Frobenius norm of ``G^8``: three
    products, where a decomposition would take far longer on wide layers.
    """
    largest = float(np.abs(W).max())
    if not largest or not math.isfinite(largest):
        return largest
    power = W / largest
    power = power @ power.T if len(W) <= W.shape[1] else power.T @ power
    exponent, log_scale = 2, 0.0  # the exact power is exp(log_scale) * power
    for _ in range(3):
        scale = float(np.linalg.norm(power))
        power = power / scale
        power = power @ power
        exponent, log_scale = 2 * exponent, 2 * (log_scale + math.log(scale))
    root = (log_scale + math.log(float(np.linalg.norm(power)))) / exponent
    return largest * math.exp(root) * (1 + 1e-6)
