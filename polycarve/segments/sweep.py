"""Breakpoints of many segments at once in float64, layer by layer, with proven error bounds.

A *node* is a place ``t`` on a segment where the values of layers are known: its two ends, and
every breakpoint found so far. Between two nodes, on a *piece*, all values are affine.

Why the bounds hold. Take the values kept at the nodes as functions on the whole segment, affine
on each piece. An affine map takes them to its forms, off by its rounding; a rectifier cuts a form
at its own zero, a new node, and moves no value by more than the form was off. So every form is
within a bound ``E`` of the true one, at all ``t``: an ordinary forward bound, in which the places
of breakpoints do not appear. Let the *reach* of a breakpoint be the interval around it where its
form is within ``E`` of zero. If no form is within ``E`` of zero at a node, and no two reaches
meet, then in each reach the true form is affine and has one zero, and there are no other zeros:
the breakpoints found are the true ones, in their true order. Where any of this fails, a doubt is
counted. A form may also vanish at a node since all that it is made of vanishes there, exactly;
then the argument is the same, with a reach around that node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polycarve.segments.forms import USUAL, Forms
from polycarve.segments.nodes import Found, NewNodes, Nodes, joined
from polycarve.segments.stages import UNIT_ROUNDOFF, Stage

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Values beyond this are left to exact arithmetic: their squares could overflow.
_LARGEST = 1e140

# What a norm can miss of each value because its square underflows.
_SMALLEST = 2.0**-500

# More than underflow can take from a product.
_TINY = 2.0**-1070

# What interpolation can add to the error of a value, relative to the largest one.
_INTERPOLATION = 16 * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class _Value:
    """What a layer reads or puts out, at all nodes.

    Attributes
    ----------
    rows : (P, m) float64
    error, size : (S,) float64
        Bounds in the 2-norm, anywhere on each segment.
    has_true_zeros : bool
        Whether a zero among the rows is one for certain.
    """

    rows: FloatArray
    error: FloatArray
    size: FloatArray
    has_true_zeros: bool


class _TooLargeError(Exception):
    """More values than may be held at a time."""


@np.errstate(all="ignore")  # bounds see to it
def sweep(
    stages: list[Stage], X0: FloatArray, X1: FloatArray, doubts: IntArray, most: int
) -> Found:
    """Find the breakpoints of segments.

    Parameters
    ----------
    stages
    X0, X1 : (S, d) float64
        The ends, which may be rounded.
    doubts : (S,) int64
        What is in doubt from the outset.
    most : int
        Part the segments where a layer would have more values than this at all nodes.
    """
    try:
        return _Sweep(stages, X0, X1, doubts, most).run()
    except _TooLargeError:
        half = len(X0) // 2
    parts = (slice(half), slice(half, None))
    return joined([sweep(stages, X0[p], X1[p], doubts[p], most) for p in parts])


class _Sweep:
    def __init__(
        self, stages: list[Stage], X0: FloatArray, X1: FloatArray, doubts: IntArray, most: int
    ) -> None:
        self.stages, self.most = stages, most
        self.nodes = Nodes(doubts)
        ends = np.stack([X0, X1], axis=1).reshape(2 * len(X0), X0.shape[1])
        self.values = {0: _Value(ends, np.zeros(len(X0)), self.sizes(ends), has_true_zeros=True)}
        self.first: list[BoolArray] = [np.zeros((len(X0), 0), np.bool_)]

    def run(self) -> Found:
        for k, stage in enumerate(self.stages, start=1):
            self.pass_layer(k, stage)
        return self.nodes.found(np.packbits(np.concatenate(self.first, axis=1), axis=1))

    def sizes(self, rows: FloatArray) -> FloatArray:
        """Bound the 2-norm of values anywhere on each segment: it is largest at some node."""
        squares = np.maximum.reduceat(np.einsum("ij,ij->i", rows, rows), self.nodes.starts[:-1])
        return np.asarray(np.sqrt(squares) + rows.shape[1] * _SMALLEST)

    def pass_layer(self, k: int, stage: Stage) -> None:
        """Find the breakpoints of one layer, and the values that it puts out."""
        several = len(self.nodes.doubts) > 1
        if several and len(self.nodes) * max(stage.layer.weight.shape) > self.most:
            raise _TooLargeError
        x = self.read(stage.layer.inputs)
        for key in stage.expired:
            del self.values[key]
        z = x.rows @ stage.layer.weight.float64.T
        z += stage.layer.bias.float64
        floor = x.rows.shape[1] * _TINY * (1.0 + x.size)
        # Where a decision is in doubt already, later ones are judged by the usual error.
        usual = np.minimum(x.error, USUAL * x.size)
        inherited = np.where(self.nodes.doubts > 0, usual, x.error)
        off = inherited + stage.rounding * x.size
        size = stage.spectral * x.size + stage.bias_norm
        error = stage.spectral * inherited + np.sqrt(z.shape[1]) * floor
        error += stage.rounding * (stage.frobenius * x.size + stage.bias_norm)
        wild = ~((size < _LARGEST) & (error < _LARGEST))
        if wild.any():  # these go on without breakpoints, whatever their values
            self.nodes.doubts += wild
            z[wild[self.nodes.segment]] = stage.cut.min(initial=0.0) - 1.0
            size[wild] = off[wild] = floor[wild] = error[wild] = 0.0
        if stage.layer.activation is None:
            if stage.is_read:
                self.values[k] = _Value(z, error, self.sizes(z), has_true_zeros=False)
            return
        at = z if stage.is_plain else z[:, stage.unit] - stage.cut
        read = x.rows if x.has_true_zeros else None
        slack = 8 * (k + 1) * UNIT_ROUNDOFF  # 3 in t for a layer, twice, and once in a reach
        forms = Forms.of(stage, self.nodes, at, (x.size, off, floor, slack), read)
        if forms.zeros is not None:
            cut, place = stage.cuts_of(forms.zeros.form)
            _put_at_cuts(z, forms.zeros.node[place], cut, stage)
        self.first.append(forms.first_bits())
        forms.flip_at_nodes()
        new, group, form = forms.crossings()
        old, fresh = self.nodes.insert(new)
        cut, place = stage.cuts_of(form)
        flipping = fresh[group[place]]
        self.nodes.flip(flipping, stage.first_cut + cut)
        for key, value in self.values.items():
            rows = _with_new(value.rows, old, fresh, new)
            error_there = value.error + _INTERPOLATION * value.size
            # Inputs have two signs; they can seem to be zero where they cross it.
            self.values[key] = _Value(
                rows, error_there, value.size, value.has_true_zeros and key > 0
            )
        if stage.is_read:
            z = _with_new(z, old, fresh, new)
            _put_at_cuts(z, flipping, cut, stage)
            self.values[k] = self.activated(stage, z, size, error + _INTERPOLATION * size)

    def read(self, inputs: tuple[int, ...]) -> _Value:
        """Return the concatenation of values."""
        if len(inputs) == 1:
            return self.values[inputs[0]]
        parts = [self.values[v] for v in inputs]
        return _Value(
            np.concatenate([part.rows for part in parts], axis=1),
            np.sum([part.error for part in parts], axis=0),
            np.sum([part.size for part in parts], axis=0),
            all(part.has_true_zeros for part in parts),
        )

    def activated(self, stage: Stage, z: FloatArray, size: FloatArray, error: FloatArray) -> _Value:
        """Apply the activation of a stage to pre-activations of a size and an error."""
        law = stage.layer.activation
        assert law is not None
        if stage.is_relu:
            np.maximum(z, 0.0, out=z)
            return _Value(z, error, self.sizes(z), has_true_zeros=True)
        jumps = [abs(float(jump)) for jump in law.jumps]
        steep = abs(float(law.slope)) + sum(jumps)
        level = abs(float(law.offset)) + sum(
            jump * abs(float(cut)) for jump, cut in zip(jumps, law.cuts, strict=True)
        )
        rounding = (len(jumps) + 8) * UNIT_ROUNDOFF
        error = steep * error + rounding * (steep * size + np.sqrt(z.shape[1]) * level)
        rows = law(z)
        return _Value(rows, error + z.shape[1] * _TINY, self.sizes(rows), has_true_zeros=False)


def _with_new(rows: FloatArray, old: IntArray, fresh: IntArray, new: NewNodes) -> FloatArray:
    """Put in rows for new nodes, between those of the nodes around them.

    Something may become zero here that is none, by underflow. No harm is done: it is not zero
    at one of these nodes, and so far below all bounds that what is made of it is in doubt there.
    """
    if not len(fresh):
        return rows
    merged = np.empty((len(old) + len(fresh), rows.shape[1]))
    merged[old] = rows
    start, step = rows[new.anchor], rows[new.other]
    step -= start
    step *= new.share[:, None]
    step += start
    merged[fresh] = step
    return merged


def _put_at_cuts(z: FloatArray, node: IntArray, cut: IntArray, stage: Stage) -> None:
    """Put pre-activations exactly where they are known to be: ``cut[i]`` at ``node[i]``."""
    law = stage.layer.activation
    assert law is not None
    cuts = np.array([float(value) for value in law.cuts])
    z[node, cut // len(cuts)] = cuts[cut % len(cuts)]
