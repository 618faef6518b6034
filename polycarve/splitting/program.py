"""What a kernel is told about a network and a domain: plain arrays, derived exactly.

Every hidden layer becomes affine forms ``z`` that are rectified at zero, over *sources*:
the free coordinates of the domain's frame and the rectified forms of earlier layers. Affine
maps in a row, skip connections, embeddings and the linear part of an activation are composed
here in exact arithmetic and rounded once, so that a kernel knows nothing of any of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain, Frame
from polycarve.errors import NumericalError
from polycarve.networks import Network
from polycarve.networks.network import Layer
from polycarve.rational import ExactArray
from polycarve.splitting.digits import exact_below

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53

# What is smaller loses digits in float64, or soon will in products.
_SMALL = 2.0**-960

# Marks of a cut in a cell; the kernels have the same. ZERO: the form vanishes on the whole cell,
# so the cut is inactive there, and so is every multiple of the form, whatever its sign.
UNKNOWN, ACTIVE, INACTIVE, ZERO = 0, 1, -1, -2


@dataclass(frozen=True, eq=False)
class Program:
    """The arrays that a kernel works from. Sources ``0..k-1`` are coordinates, ``k + c`` cut c.

    Attributes
    ----------
    lower, upper : (k,) float64
        The box of the frame.
    side_noise : (2 k,) float64
        What rounding the box's bounds to float64 may have moved them by; lower sides first.
    side_rows : (k + 2, m) float64
        The domain's other faces as columns ``[a, c, rounding error]``, positive inside, the
        largest ``|a_j|`` in [1, 2).
    centre : (k,) float64
        A point inside the domain.
    starts : (L + 1,) int64
        Layer l owns the cuts ``starts[l] .. starts[l + 1] - 1``.
    weights : flat float64
        For each layer an ``(n_sources, n_cuts)`` matrix, beginning at ``weight_starts[l]``.
    sources : flat int64, beginning at ``source_starts[l]``
    bias : (N,) float64
    homogeneous : (L,) uint8
        1 where the constants of the layer's forms are exactly zero.
    exact_below : (L,) float64
        How large the rounding error of a form may be for it to be exact; see `digits`.
    fixed : (N,) int8
        The mark of cuts that exact arithmetic decides on the whole domain, else UNKNOWN.
    twins, twin_signs : (N,) int64, (N,) int8
        An earlier cut of the same layer of which the cut is an exact multiple (or -1), and the
        sign of the factor.
    noise_ratio : float
        Proven rounding error over the typical one that decisions use.
    """

    frame: Frame
    lower: FloatArray
    upper: FloatArray
    side_noise: FloatArray
    side_rows: FloatArray
    centre: FloatArray
    starts: IntArray
    weights: FloatArray
    weight_starts: IntArray
    sources: IntArray
    source_starts: IntArray
    bias: FloatArray
    homogeneous: npt.NDArray[np.uint8]
    exact_below: FloatArray
    fixed: npt.NDArray[np.int8]
    twins: IntArray
    twin_signs: npt.NDArray[np.int8]
    noise_ratio: float

    @property
    def n_free(self) -> int:
        return len(self.lower)

    @property
    def n_layers(self) -> int:
        return len(self.starts) - 1

    @property
    def n_cuts(self) -> int:
        return int(self.starts[-1])

    def unframe(self, points: FloatArray) -> FloatArray:
        """Return the domain's coordinates of points in the frame's free coordinates."""
        if self.frame.is_cone:
            return points[:, :-1] / points[:, -1:]
        if self.frame.matrix is None or self.frame.offset is None:
            return points
        return points @ self.frame.matrix.float64.T + self.frame.offset.float64


@dataclass(frozen=True)
class _Value:
    """An affine function of sources: ``sum of parts[s] @ source s, + constant``.

    A part is a matrix, or None for the identity; source 0 is the coordinates.
    """

    size: int
    parts: Mapping[int, ExactArray | None]
    constant: ExactArray | None = field(default=None)


def compile_program(network: Network, domain: Domain, stop_layer: int | None = None) -> Program:
    """Compose a network with a domain's frame into a `Program`.

    Parameters
    ----------
    network, domain
        Of matching dimensions.
    stop_layer : int, optional
        Use only the first so many hidden layers.
    """
    frame = domain.frame
    network = network.along(domain.embedding)
    hidden = network.hidden[:stop_layer]
    layers = network.layers[: hidden[-1] + 1] if hidden else ()
    forms = _exact_forms(layers, frame)
    widths = [len(constant) for _, constant in forms]
    starts = np.cumsum([0, *widths]).astype(np.int64)
    k = frame.n_free
    weights, sources, bias, twins, signs, fixed = [], [], [], [], [], []
    homogeneous: list[bool] = []
    beside = _directions(frame.rows)
    for layer, (parts, constant) in enumerate(forms):
        ids = []
        for source in sorted(parts):
            first, last = (0, k) if source == 0 else (k + starts[source - 1], k + starts[source])
            ids.append(np.arange(first, last, dtype=np.int64))
        sources.append(np.concatenate(ids) if ids else np.zeros(0, np.int64))
        blocks = [parts[source].float64.T for source in sorted(parts)]
        weights.append(np.concatenate([np.zeros((0, widths[layer])), *blocks]).ravel())
        bias.append(constant.float64)
        _refuse_underflow(parts, constant, frame if layer == 0 else None, layer)
        is_homogeneous = not constant.numerators.any() and (layer == 0 or homogeneous[-1])
        homogeneous.append(bool(is_homogeneous))
        rows = _integer_rows([parts[source] for source in sorted(parts)], constant)
        twin, sign = _twins(rows, int(starts[layer]))
        twins.append(twin)
        signs.append(sign)
        fixed.append(_fixed(rows, frame, layer, beside if layer == 0 else {}))
    # Copies: read-only arrays would be another type to the compiler than those sent to a worker.
    lower, upper = np.array(frame.lower.float64), np.array(frame.upper.float64)
    bounds = np.concatenate([lower, upper])
    exact = np.repeat([frame.lower.is_float64, frame.upper.is_float64], k)
    reach = max([k, *(len(s) for s in sources)])
    return Program(
        frame=frame,
        lower=lower,
        upper=upper,
        side_noise=np.where(exact, 0.0, UNIT_ROUNDOFF * np.abs(bounds)),
        side_rows=_side_rows(frame),
        centre=np.array(frame.centre),
        starts=starts,
        weights=np.concatenate([np.zeros(0), *weights]),
        weight_starts=np.cumsum([0, *(len(w) for w in weights)]).astype(np.int64),
        sources=np.concatenate([np.zeros(0, np.int64), *sources]),
        source_starts=np.cumsum([0, *(len(s) for s in sources)]).astype(np.int64),
        bias=np.concatenate([np.zeros(0), *bias]),
        homogeneous=np.array(homogeneous, dtype=np.uint8),
        exact_below=exact_below(forms, np.maximum(np.abs(lower), np.abs(upper))),
        fixed=np.concatenate([np.zeros(0, np.int8), *fixed]),
        twins=np.concatenate([np.zeros(0, np.int64), *twins]),
        twin_signs=np.concatenate([np.zeros(0, np.int8), *signs]),
        noise_ratio=max(1.0, (reach + k + 8) / 4),
    )


def in_frame(network: Network, domain: Domain) -> Network:
    """Return the network as a function of the coordinates of the domain's frame."""
    network, frame = network.along(domain.embedding), domain.frame
    if frame.matrix is None or frame.offset is None:
        return network
    return network.along((frame.matrix, frame.offset))


def _refuse_underflow(
    parts: dict[int, ExactArray], constant: ExactArray, frame: Frame | None, layer: int
) -> None:
    """Refuse forms of which float64 loses what matters; `frame` where they are of coordinates."""
    for part in parts.values():
        small = np.abs(part.float64) < _SMALL
        lost = np.zeros_like(small)
        lost[small] = part.numerators[small] != 0
        if frame is None:
            rows = (lost & (part.float64 == 0.0)).any(axis=1)
        else:
            reach = np.maximum(np.abs(frame.lower.float64), np.abs(frame.upper.float64))
            with np.errstate(over="ignore"):  # to infinity, which is not small
                size = np.abs(part.float64) @ reach + np.abs(constant.float64)
            rows = (lost * (_SMALL * reach)).max(axis=1, initial=0.0) > 2.0**-60 * size
            tiny = np.flatnonzero(size < _SMALL)
            rows[tiny] = (part.numerators[tiny] != 0).any(axis=1)
        if rows.any():
            raise NumericalError(
                f"hidden layer {layer + 1} has numbers too small for float64 on this domain "
                f"(neuron {int(np.argmax(rows))} of it is the first). Rescale layer or inputs."
            )


def _exact_forms(
    layers: tuple[Layer, ...], frame: Frame
) -> list[tuple[dict[int, ExactArray], ExactArray]]:
    """Return, for each hidden layer, its cuts' forms: a matrix a source, and the constants."""
    values = [_input(frame, layers[0].weight.shape[1])] if layers else []
    forms: list[tuple[dict[int, ExactArray], ExactArray]] = []
    for layer in layers:
        z = _affine(layer, [values[v] for v in layer.inputs])
        act = layer.activation
        if act is None:
            values.append(z)
            continue
        repeat = np.repeat(np.arange(layer.n_units), len(act.cuts))
        shifts = ExactArray.of(list(act.cuts))[np.tile(np.arange(len(act.cuts)), layer.n_units)]
        assert z.constant is not None
        parts = {s: _matrix(part, z.size)[repeat] for s, part in z.parts.items()}
        constant = z.constant[repeat] - shifts
        if frame.is_cone:  # every constant is a coefficient of the last coordinate
            parts, constant = _homogenise(parts, constant, frame.n_free)
        forms.append((parts, constant))
        values.append(_rectified(z, layer, len(forms), frame))
    return forms


def _input(frame: Frame, input_dim: int) -> _Value:
    if frame.is_cone:
        pick = np.eye(input_dim, frame.n_free, dtype=np.int64)
        return _Value(input_dim, {0: ExactArray.of(pick)})
    return _Value(input_dim, {0: frame.matrix}, frame.offset)


def _matrix(part: ExactArray | None, size: int) -> ExactArray:
    return ExactArray.eye(size) if part is None else part


def _affine(layer: Layer, read: list[_Value]) -> _Value:
    """Apply a layer's affine map to the concatenation of values."""
    parts: dict[int, ExactArray] = {}
    constant, column = layer.bias, 0
    for value in read:
        W = layer.weight if len(read) == 1 else layer.weight[:, column : column + value.size]
        column += value.size
        for source, part in value.parts.items():
            product = W if part is None else (W @ part).reduced()
            parts[source] = parts[source] + product if source in parts else product
        if value.constant is not None:
            constant = constant + W @ value.constant
    return _Value(layer.n_units, parts, constant.reduced())


def _rectified(z: _Value, layer: Layer, source: int, frame: Frame) -> _Value:
    """The value after an activation: its cuts as a new source, and its linear part."""
    act = layer.activation
    assert act is not None
    assert z.constant is not None
    plain = len(act.cuts) == 1 and act.jumps[0] == 1
    jumps = None
    if not plain:
        place = np.zeros((layer.n_units, layer.n_cuts), dtype=object)
        for unit in range(layer.n_units):
            place[unit, unit * len(act.cuts) : (unit + 1) * len(act.cuts)] = list(act.jumps)
        jumps = ExactArray.of(place)
    parts: dict[int, ExactArray | None] = {source: jumps}
    constant = None
    if act.slope:
        slope = ExactArray.of([act.slope])
        parts |= {s: _matrix(part, z.size) * slope for s, part in z.parts.items()}
        constant = z.constant * slope
    if act.offset:
        offset = ExactArray.of([act.offset] * layer.n_units)
        constant = offset if constant is None else constant + offset
    return _Value(layer.n_units, parts, constant)


def _homogenise(
    parts: dict[int, ExactArray], constant: ExactArray, k: int
) -> tuple[dict[int, ExactArray], ExactArray]:
    last = ExactArray.of(np.eye(1, k, k - 1, dtype=np.int64))
    column = constant[:, None] @ last
    parts = {**parts, 0: parts[0] + column if 0 in parts else column}
    return parts, ExactArray.of(np.zeros(len(constant), dtype=np.int64))


def _integer_rows(parts: list[ExactArray], constant: ExactArray) -> list[list[int]]:
    """Return each form's coefficients and constant, as integers over a common denominator."""
    common = math.lcm(constant.denominator, *(part.denominator for part in parts))
    blocks = [part.numerators * (common // part.denominator) for part in parts]
    last = constant.numerators[:, None] * (common // constant.denominator)
    return np.concatenate([*blocks, last], axis=1).tolist()  # type: ignore[no-any-return]


def _twins(rows: list[list[int]], start: int) -> tuple[IntArray, npt.NDArray[np.int8]]:
    twins = np.full(len(rows), -1, dtype=np.int64)
    signs = np.ones(len(rows), dtype=np.int8)
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    for i in _resembling(rows):
        row = rows[i]
        if not any(row[:-1]):
            continue
        key, sign = _direction(row)
        if key in seen:
            twins[i], signs[i] = start + seen[key][0], sign * seen[key][1]
        else:
            seen[key] = (i, sign)
    return twins, signs


def _resembling(rows: list[list[int]]) -> list[int]:
    """Return the rows that may be multiples of others: they share the quotient of two entries."""
    alike: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        used = [value for value in row if value]
        alike.setdefault((used[-1] << 40) // used[0] if used else 0, []).append(i)
    return sorted(i for group in alike.values() if len(group) > 1 for i in group)


def _direction(row: list[int]) -> tuple[tuple[int, ...], int]:
    """Return what all multiples of a form share, and the sign of the form's factor."""
    lead = next(value for value in row if value)
    sign = 1 if lead > 0 else -1
    divisor = math.gcd(*row) * sign
    return tuple(value // divisor for value in row), sign


def _directions(rows: ExactArray | None) -> dict[tuple[int, ...], int]:
    return {} if rows is None else dict(map(_direction, rows.numerators.tolist()))


def _side_rows(frame: Frame) -> FloatArray:
    """Return the frame's rows as kernels hold forms: scaled by powers of two, as columns."""
    k = frame.n_free
    if frame.rows is None:
        return np.zeros((k + 2, 0))
    forms = frame.rows.float64
    size = np.abs(forms[:, -1]) + np.abs(forms[:, :-1]) @ np.maximum(
        np.abs(frame.lower.float64), np.abs(frame.upper.float64)
    )
    back = ExactArray.of(forms)
    is_exact = ((frame.rows - back).numerators == 0).all(axis=1)
    noise = (4.0 + np.where(is_exact, 0.0, 1.0)) * UNIT_ROUNDOFF * size
    scale = np.ldexp(1.0, 1 - np.frexp(np.abs(forms[:, :-1]).max(axis=1))[1])
    return np.ascontiguousarray(np.concatenate([forms, noise[:, None]], axis=1).T * scale)


def _fixed(
    rows: list[list[int]], frame: Frame, layer: int, beside: dict[tuple[int, ...], int]
) -> npt.NDArray[np.int8]:
    """Decide exactly what needs no program.

    That is: constant forms, first-layer forms on a box, and multiples of the domain's sides.
    """
    marks = np.zeros(len(rows), dtype=np.int8)
    # In a cone the constants stand with the frame's last coordinate.
    place = frame.n_free - 1 if frame.is_cone else -1
    common = math.lcm(frame.lower.denominator, frame.upper.denominator)
    lo = (frame.lower.numerators * (common // frame.lower.denominator)).tolist()
    hi = (frame.upper.numerators * (common // frame.upper.denominator)).tolist()
    for i, row in enumerate(rows):
        constant = row[place]
        if sum(map(bool, row)) == bool(constant):
            marks[i] = ACTIVE if constant > 0 else INACTIVE if constant < 0 else ZERO
            continue
        key, sign = _direction(row) if beside else ((), 0)
        if key in beside:
            marks[i] = ACTIVE if sign == beside[key] else INACTIVE
        elif layer == 0 and not frame.is_cone:
            least = most = constant * common
            for a, low, high in zip(row, lo, hi, strict=False):
                least += a * (low if a > 0 else high)
                most += a * (high if a > 0 else low)
            marks[i] = ACTIVE if least >= 0 else INACTIVE if most <= 0 else UNKNOWN
    return marks
