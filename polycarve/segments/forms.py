"""The forms of a layer at all nodes: their signs, where they vanish, where they cross zero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polycarve.segments.nodes import NewNodes, Nodes
from polycarve.segments.stages import Stage

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SignArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]

# The error that is usual, relative to what a form is made of. Proven bounds are often far above
# it: what lies between is in doubt, but the computed sign is the better guess there. What is even
# nearer to zero is taken for zero: integer weights and zero biases make it so.
USUAL = 2.0**-44


@dataclass(frozen=True, eq=False)
class Zeros:
    """Forms that vanish at nodes, or are taken for it: ``form[i]`` at ``node[i]``."""

    node: IntArray
    form: IntArray


@dataclass(frozen=True, eq=False)
class Forms:
    """The forms of a stage at all nodes, and how far they may be off.

    Attributes
    ----------
    at : (P, n_forms) float64
    size, error, floor : (S,) float64
        Form f is off by at most ``row_norm[f] * error + rounding * row_constant[f] + floor``,
        anywhere on a segment, and is made of values of that 2-norm.
    slack : float
        How far rounding may have moved nodes, beside what their forms are off.
    above : (P, n_forms) bool
        Whether the form is positive.
    zeros : Zeros or None
        Where it is zero.
    """

    stage: Stage
    nodes: Nodes
    at: FloatArray
    size: FloatArray
    error: FloatArray
    floor: FloatArray
    slack: float
    above: BoolArray
    zeros: Zeros | None

    @classmethod
    def of(
        cls,
        stage: Stage,
        nodes: Nodes,
        at: FloatArray,
        off: tuple[FloatArray, FloatArray, FloatArray, float],
        read: FloatArray | None,
    ) -> Forms:
        """Tell the signs of forms, for `off` their size, error, floor and slack.

        They are made of what is `read`; None where its zeros may be none in truth.
        """
        size, error, floor, slack = off
        bound = stage.row_norm.max(initial=0.0) * error.max() + floor.max()
        bound += stage.rounding * stage.row_constant.max(initial=0.0)
        above = at > bound
        forms = cls(stage, nodes, at, size, error, floor, slack, above, None)
        below = at < -bound
        if np.count_nonzero(above) + np.count_nonzero(below) == at.size:
            return forms
        node, form = np.nonzero(~(above | below))
        value = at[node, form]
        above[node, form] = value > 0
        proven, usual = forms.bounds(node, form)
        unsure = ~(np.abs(value) > proven)
        node, form, value, usual = node[unsure], form[unsure], value[unsure], usual[unsure]
        if not len(node):
            return forms
        is_true = np.zeros(len(node), np.bool_)
        if read is not None:
            is_true = _vanishes(stage, read, node, form) & (value == 0.0)
        nodes.doubt(node[~is_true])
        is_zero = is_true | (np.abs(value) <= usual)
        node, form = node[is_zero], form[is_zero]
        above[node, form] = False
        return replace(forms, zeros=Zeros(node, form)) if len(node) else forms

    def bounds(self, node: IntArray, form: IntArray) -> tuple[FloatArray, FloatArray]:
        """How far forms may be off on the segments of nodes, and how far they usually are."""
        stage, segment = self.stage, self.nodes.segment[node]
        norm, constant = stage.row_norm[form], stage.row_constant[form]
        proven = norm * self.error[segment] + stage.rounding * constant + self.floor[segment]
        return proven, np.minimum(proven, USUAL * (norm * self.size[segment] + constant))

    @cached_property
    def signs(self) -> SignArray:
        """The signs at all nodes; only needed where there are zeros."""
        signs = 2 * self.above.view(np.int8) - np.int8(1)
        if self.zeros is not None:
            signs[self.zeros.node, self.zeros.form] = 0
        return signs

    def first_bits(self) -> BoolArray:
        """Return the states of all cuts on the first piece of each segment: (S, n_cuts)."""
        stage, first = self.stage, self.nodes.starts[:-1]
        bits = np.tile(stage.constant_bits, (len(first), 1))
        if not stage.n_forms:
            return bits
        if self.zeros is None:
            signs = 2 * self.above[first].view(np.int8) - np.int8(1)
        else:
            signs = self.signs[first]
            signs = np.where(signs == 0, self.signs[first + 1], signs)
        return np.asarray(bits | (signs[:, stage.form_of] * stage.sign_of > 0))

    def flip_at_nodes(self) -> None:
        """Note the flips at nodes that are there already, of forms that vanish there.

        Between two nodes a form has the sign that it has at either of them, if it has one.
        """
        if self.zeros is None:
            return
        nodes, zeros, signs = self.nodes, self.zeros, self.signs
        for side in (-1, 1):  # as far as the form is near zero, no other breakpoint may lie
            beyond = zeros.node + side
            inside = (beyond >= 0) & (beyond < len(nodes))
            inside[inside] = nodes.segment[beyond[inside]] == nodes.segment[zeros.node[inside]]
            node, form, beyond = zeros.node[inside], zeros.form[inside], beyond[inside]
            sloped = signs[beyond, form] != 0
            node, form, beyond = node[sloped], form[sloped], beyond[sloped]
            length = np.abs(nodes.t[beyond] - nodes.t[node])
            near = self.bounds(node, form)[0] * length / np.abs(self.at[beyond, form])
            np.maximum.at(nodes.reach, node, near + self.slack)
        inner = ~nodes.is_end[zeros.node]
        node, form = zeros.node[inner], zeros.form[inner]
        cut, place = self.stage.cuts_of(form)
        node, form = node[place], form[place]
        factor = self.stage.sign_of[cut]
        flips = (factor * signs[node - 1, form] > 0) != (factor * signs[node + 1, form] > 0)
        nodes.flip(node[flips], self.stage.first_cut + cut[flips])

    def crossings(self) -> tuple[NewNodes, IntArray, IntArray]:
        """Find where forms cross zero between nodes.

        Returns
        -------
        new : NewNodes
        group, form : (K,) int64
            The forms that cross, and in which of the new nodes each does.
        """
        at, nodes = self.at, self.nodes
        crosses = self.above[1:] != self.above[:-1]
        crosses[nodes.starts[1:-1] - 1] = False
        if self.zeros is not None:
            node, form = self.zeros.node, self.zeros.form
            before, after = node > 0, node < len(crosses)
            crosses[node[before] - 1, form[before]] = False
            crosses[node[after], form[after]] = False
        piece, form = np.divmod(np.flatnonzero(crosses), max(1, self.stage.n_forms))
        here, there = np.abs(at[piece, form]), np.abs(at[piece + 1, form])
        anchor = piece + (there < here)  # from the nearer end
        share = np.minimum(here, there) / (here + there)
        start = nodes.t[anchor]
        step = nodes.t[2 * piece + 1 - anchor] - start
        t = start + share * step
        per_value = np.abs(step) / (here + there)
        proven, usual = (bound * per_value + self.slack for bound in self.bounds(piece, form))
        order = np.lexsort((t, piece))
        new = NewNodes(piece, anchor, share, t, proven).taken(order)
        group, new = _merged(new, usual[order], nodes)
        return new, group, form[order]


def _vanishes(stage: Stage, read: FloatArray, node: IntArray, form: IntArray) -> BoolArray:
    """Whether forms are zero since no value that they are made of, nor their constant, is not."""
    places, at = np.unique(node, return_inverse=True)
    live = (read[places] != 0.0).astype(np.float64) @ stage.nonzero.T
    return np.asarray(stage.is_homogeneous[form] & (live[at, form] == 0.0))


def _merged(new: NewNodes, usual: FloatArray, nodes: Nodes) -> tuple[IntArray, NewNodes]:
    """Make one node of those that are as near as rounding usually takes them.

    That leaves a doubt, but most often they coincide in truth.
    """
    apart = np.ones(len(new.t), np.bool_)
    apart[1:] = (np.diff(new.t) > usual[1:] + usual[:-1]) | (np.diff(new.piece) != 0)
    group = np.cumsum(apart) - 1
    if apart.all():
        return group, new
    nodes.doubt(new.piece[~apart])
    first = np.flatnonzero(apart)
    low = np.minimum.reduceat(new.t - new.reach, first)
    high = np.maximum.reduceat(new.t + new.reach, first)
    merged = new.taken(first)
    return group, replace(merged, reach=np.maximum(high - merged.t, merged.t - low))
