"""The reference walk by itself: what it makes of a solver's answers, whatever they are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.splitting.method import METHODS
from polycarve.splitting.program import ACTIVE, INACTIVE, UNKNOWN, ZERO, compile_program
from polycarve.splitting.reference import Least, Reference, _raw_forms, _Run
from tests import cases

NET = pc.Network.from_arrays([[[1, 2]]], [[0.5]], relu_last=True)
BOX = pc.Box.cube(-1, 1, dim=2)


class Scripted:
    """A solver that answers what it is told, first for the least and then for the greatest."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.programs = self.pivots = 0

    def least(self, form, rows):
        self.programs += 1
        return self.answers[(self.programs - 1) % len(self.answers)]

    def centre(self, rows):
        return np.zeros(2)


def least(low, value, high):
    return Least(low, value, high)


def most(low, value, high):
    """As a solver says it of the negative form."""
    return Least(-high, -value, -low)


@pytest.mark.parametrize(
    ("answers", "mark", "doubts"),
    [
        ([least(-1, -1, -1), most(1, 1, 1)], UNKNOWN, 0),
        ([least(-2, -1, -0.1), most(0.1, 1, 5)], UNKNOWN, 0),
        ([least(0.1, 0.5, 2)], ACTIVE, 0),
        ([least(-5, -5, 3), most(-2, -1, -0.1)], INACTIVE, 0),
        # Values that seem to cross, or to be clear, count only if they are proven.
        ([least(-2, -0.9, math.inf), most(0.1, 1, 5)], ACTIVE, 1),
        ([least(-2, -2, -0.1), most(-math.inf, 1, 5)], INACTIVE, 1),
        ([least(-2, 0.5, 1), most(0.1, 1, 5)], ACTIVE, 1),
        ([least(-2, -1, -0.5), most(-1, -0.5, 0.1)], INACTIVE, 1),
        ([least(-1e-12, 0, 1e-12), most(-1e-12, 0, 1e-12)], ZERO, 1),
        ([least(-1e-12, -1e-12, 0), most(1, 1, 1)], ACTIVE, 1),
        ([least(-math.inf, 0, math.inf)] * 2, ZERO, 1),
    ],
)
def test_only_what_is_proven_is_beyond_doubt(answers, mark, doubts):
    run = _Run(compile_program(NET, BOX), 1e-8, Scripted(*answers))
    form = np.array([1.0, 2.0, 0.5, 0.0])
    assert run.decide(form, np.zeros((0, 4)), 0, np.zeros(1, np.int8)) == mark
    assert run.n_doubtful == doubts


def test_the_noise_of_a_form_blurs_it():
    for noise, mark, doubts in ((0.0, UNKNOWN, 0), (0.2, ACTIVE, 1), (2.0, ZERO, 1)):
        solver = Scripted(least(-0.1, -0.1, -0.1), most(1, 1, 1))
        run = _Run(compile_program(NET, BOX), 1e-8, solver)
        form = np.array([1.0, 2.0, 0.5, noise])
        assert run.decide(form, np.zeros((0, 4)), 0, np.zeros(1, np.int8)) == mark
        assert run.n_doubtful == doubts


def test_points_are_inside_if_every_cut_says_so():
    """A cut that was marked at a guess splits nothing, and yet the point has to agree with it."""

    class Guessing(Reference):
        name, resolution, budget = "guessing", 1e-8, 10

        def solver(self, program):
            return Scripted(least(-math.inf, 0, math.inf))

    case, inside = cases.spec()["moons"], []
    for bias in (-0.5, 0.5):  # marked inactive in any case
        net = pc.Network.from_arrays([[[1, 2]]], [[bias]], relu_last=True)
        program, engine = compile_program(net, BOX), Guessing()
        step = engine.advance(program, engine.start(program), budget=9, capacity=9, keep=True)
        assert (step.n_leaves, step.leaves.packed.tolist()) == (1, [[0]])
        inside += step.leaves.inside.tolist()
    assert inside == [True, False]
    program = compile_program(case.network, case.box)
    step = engine.advance(program, engine.start(program), budget=99, capacity=9, keep=True)
    assert not step.leaves.inside.any()


def cancelling(size, bias, *deeper):
    """The second layer's first form is a difference of large ones, and the second what is left."""
    weights = [
        [["0.1", "0.3"], ["0.7", "2.1"], ["0.7", "-0.45"]],
        [[7 * size, -size, 1], [0, 0, 1]],
    ]
    biases = [["0.9", "6.3", "2"], [bias, -2], *([0] * len(W) for W in deeper)]
    return pc.Network.from_arrays([*weights, *deeper], biases, relu_last=True)


NOISY = [cases.spec()["moons"].network, cancelling(10**9, -2), cancelling(10**9, -2, [[-1, 3]])]


@pytest.mark.parametrize("net", NOISY, ids=repr)
def test_noise_covers_what_rounding_does(net):
    """The forms of a region are its exact maps up to their noise."""
    program, worst = compile_program(net, BOX), 0.0
    for region in pc.carve(net, BOX):
        marks = np.where(region.pattern == 1, ACTIVE, INACTIVE)
        for layer, (A, c) in enumerate(net.exact_preactivation_maps(region.pattern)):
            forms = _raw_forms(program, marks, layer)
            for form, row, constant in zip(forms, A.fractions(), c.fractions(), strict=True):
                exact = [*row, constant]
                off = sum(abs(Fraction(v) - w) for v, w in zip(form[:-1], exact, strict=True))
                assert off <= Fraction(form[-1])
                worst = max(worst, float(off / Fraction(form[-1])) if off else 0.0)
    assert worst > 0.01  # and not by far more than need be


def test_a_plane_through_a_corner_is_in_doubt_where_rounding_moves_it():
    """0.7 x - 0.45 y - 1.15 touches the box in (1, -1); of billions, the rest is lost."""
    for size in (10**9, -(10**9), 10**11, -(10**11)):
        for method in METHODS:
            net = cancelling(size, "-3.15")
            carving = pc.carve(net, BOX, method=method)
            right = [region.code for region in carving] == ["aaa|ii", "aaa|ia"]
            assert right or carving.n_doubtful > 0, (size, method)
