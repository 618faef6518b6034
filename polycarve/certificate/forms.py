"""Networks in integers: the forms of a layer's cuts, updated as bits are set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.certificate.places import Place, Row
from polycarve.networks import Activation, Network

FloatArray = npt.NDArray[np.float64]
Integers = npt.NDArray[np.object_]
Sums = tuple[Integers, ...]


@dataclass(frozen=True, eq=False)
class Stage:
    """A layer over a common denominator: the least there is for all patterns at once.

    Vectors in files are about these very integers, so the checker has the same denominators.

    Attributes
    ----------
    cuts : (n_cuts,) integers
        By how much each form is below its unit's.
    units : (n_cuts,) int
    jumps : (n_cuts,) integers
        The value of a unit grows by so many times the form where its bit is set.
    slope, offset : int
        The first piece.
    readers : list of (stage, matrix)
        Later layers, with what one step of this one's units is worth to theirs.
    """

    cuts: Integers
    units: npt.NDArray[np.int64]
    jumps: Integers
    slope: int
    offset: int
    readers: list[tuple[int, Integers]]

    @property
    def n_cuts(self) -> int:
        return len(self.cuts)


@dataclass(frozen=True, eq=False)
class LayerForms:
    """The forms of a layer's cuts on a cell.

    Attributes
    ----------
    k : int
        Which layer.
    start : int
        The first of its bits in a pattern.
    forms : (n, k + 1) integers
    rows : the same as lists
    floats, exponents
        See `rounded`.
    is_constant : (n,) bool
        Whether a form has no coefficients.
    """

    k: int
    start: int
    forms: Integers
    rows: list[Row]
    floats: FloatArray
    exponents: list[int]
    is_constant: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    def side(self, cut: int, *, active: bool) -> tuple[Row, FloatArray, int]:
        """Return the row that is positive on a side of a cut, in float64 too."""
        if active:
            return self.rows[cut], self.floats[cut], self.exponents[cut]
        return [-v for v in self.rows[cut]], -self.floats[cut], self.exponents[cut]


class Stages:
    """A network on a place: what each layer's cuts are, given the bits before."""

    def __init__(self, network: Network, place: Place, n_layers: int) -> None:
        hidden = network.hidden[:n_layers]
        layers = network.layers[: hidden[-1] + 1] if hidden else ()
        x = place.x
        scales, sizes = [x.denominator], [len(x)]
        readers: list[list[tuple[int, Integers]]] = [[] for _ in range(len(layers) + 1)]
        self.stages: list[Stage] = []
        sums: list[Integers] = []
        for k, layer in enumerate(layers):
            weight, bias = layer.weight.reduced(), layer.bias.reduced()
            law = layer.activation
            cuts = law.cuts if law else ()
            own = math.lcm(weight.denominator, bias.denominator, *(cut.denominator for cut in cuts))
            scale = own * math.lcm(*(scales[v] for v in layer.inputs))
            at = 0
            for v in layer.inputs:
                part = weight.numerators[:, at : at + sizes[v]]
                readers[v].append((k, part * (scale // weight.denominator // scales[v])))
                at += sizes[v]
            start = np.zeros((layer.n_units, place.k + 1), dtype=object)
            start[:, -1] = bias.numerators * (scale // bias.denominator)
            sums.append(start)
            stage, finer = _stage(law, layer.n_units, scale, readers[k + 1])
            self.stages.append(stage)
            scales.append(scale * finer)
            sizes.append(layer.n_units)
        for k, matrix in readers[0]:
            sums[k] = sums[k] + matrix @ x.numerators
        self.start: Sums = tuple(sums)
        self.bit_starts = [0, *np.cumsum([stage.n_cuts for stage in self.stages]).tolist()]

    def next_layer(self, k: int, sums: Sums) -> tuple[LayerForms | None, Sums]:
        """Return the forms of the first layer after k that cuts, and the sums on the way to it.

        None where there is no such layer.
        """
        for later in range(k + 1, len(self.stages)):
            forms, sums = self._forms(later, sums)
            if len(forms):
                rows = forms.tolist()
                floats, exponents = rounded(rows)
                constant = np.array([not any(row[:-1]) for row in rows])
                start = self.bit_starts[later]
                return LayerForms(later, start, forms, rows, floats, exponents, constant), sums
        return None, sums

    def _forms(self, k: int, sums: Sums) -> tuple[Integers, Sums]:
        """Return the forms of layer k's cuts, and the sums with the first pieces added."""
        stage, z = self.stages[k], sums[k]
        forms = z[stage.units]
        forms[:, -1] -= stage.cuts
        if stage.slope or stage.offset:
            piece = z * stage.slope
            piece[:, -1] += stage.offset
            sums = _added(sums, stage.readers, piece)
        return forms, sums

    def set(self, layer: LayerForms, sums: Sums, cuts: Sequence[int]) -> Sums:
        """Return the sums once some cuts of a layer are active."""
        stage = self.stages[layer.k]
        if not stage.readers or not len(cuts):
            return sums
        chosen = np.asarray(cuts)
        steps = layer.forms[chosen] * stage.jumps[chosen, None]
        return _added(sums, stage.readers, steps, stage.units[chosen])


def _stage(
    law: Activation | None, n_units: int, scale: int, readers: list[tuple[int, Integers]]
) -> tuple[Stage, int]:
    if law is None:
        none = np.zeros(0, dtype=object)
        return Stage(none, np.zeros(0, np.int64), none, 1, 0, readers), 1
    finer = math.lcm(*(value.denominator for value in (*law.jumps, law.slope, law.offset)))
    cuts = np.array([int(cut * scale) for cut in law.cuts] * n_units, dtype=object)
    jumps = np.array([int(jump * finer) for jump in law.jumps] * n_units, dtype=object)
    units = np.repeat(np.arange(n_units), len(law.cuts))
    slope, offset = int(law.slope * finer), int(law.offset * finer * scale)
    return Stage(cuts, units, jumps, slope, offset, readers), finer


def _added(
    sums: Sums, readers: list[tuple[int, Integers]], steps: Integers, units: Any = slice(None)
) -> Sums:
    held = list(sums)
    for k, matrix in readers:
        held[k] = held[k] + matrix[:, units] @ steps
    return tuple(held)


def rounded(rows: list[Row]) -> tuple[FloatArray, list[int]]:
    """Return forms in float64, the largest coefficient of each in [1, 2), and the exponents.

    ``float = integer * 2^-exponent``, nearly. A form without coefficients is scaled by its
    constant.
    """
    floats, exponents = [], []
    for row in rows:
        largest = max(map(abs, row[:-1]), default=0) or abs(row[-1])
        exponent = largest.bit_length() - 1
        # Sixty-four bits below the largest: what is cut off is beyond float64 of it.
        cut = max(0, exponent - 64)
        scale = 2.0 ** -(exponent - cut)
        floats.append([_float(value >> cut) * scale for value in row])
        exponents.append(exponent)
    return np.array(floats), exponents


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:  # a plane so far away that it is out of reach
        return 1e200 if value > 0 else -1e200
