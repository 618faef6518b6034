"""The figures on width and depth, tested by what they draw."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import polycarve as pc
from polycarve.networks import examples
from polycarve.plot import figures
from polycarve.plot.figures import counting, spaces
from tests.pictures import area, drawn, shades

mpl.use("Agg")
SQUARE = pc.Box.cube(-4, 6, dim=2)


# ---------------------------------------------------------------------- moons


def test_moons() -> None:
    curve, plane, _ = figures.moons().axes
    loss = curve.lines[0].get_ydata()
    assert len(loss) == 1500
    assert f"{loss[-1]:.2e}" == "3.71e-04"
    assert curve.get_title().endswith("3.71e-04")
    assert len(drawn(plane)) == 66
    assert sum(map(area, drawn(plane))) == pytest.approx(36.0)
    (image,) = plane.images
    raster = np.asarray(image.get_array())
    # Rows from below; the probability of class 1 at the middle of a pixel, from both scores.
    for row, column in ((0, 0), (20, 290), (150, 150), (280, 10), (299, 299)):
        x = -3 + 6 * (np.array([column, row]) + 0.5) / 300
        scores = np.exp(examples.moons()(x))
        assert raster[row, column] == pytest.approx(scores[1] / scores.sum())
    assert sum(len(cloud.get_offsets()) for cloud in plane.collections[1:]) == 1500


def test_the_shipped_training_is_that_of_the_shipped_weights() -> None:
    training = examples.moons_training()
    scores = examples.moons()(training.points)
    score = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(1500), training.labels]
    # The loss of the last step is taken before its update, so that this one is a little less.
    assert training.loss[-1] - 1e-6 < score.mean() < training.loss[-1]
    assert (np.bincount(training.labels) == 750).all()


def test_moons_layer_by_layer() -> None:
    panels = [ax for ax in figures.moons_layers().axes if ax.get_title()]
    assert [len(drawn(ax)) for ax in panels] == [13, 43, 66]
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    for layer in (1, 2):
        bits = carving.at_layer(layer).patterns[:, 5 * (layer - 1) :]
        np.testing.assert_array_equal(
            panels[layer - 1].collections[0].get_array(), bits.sum(axis=1)
        )
    weights = examples.moons().layers[-1].weight.float64[1]
    np.testing.assert_allclose(
        panels[2].collections[0].get_array(), carving.patterns[:, 10:] @ weights
    )


# ---------------------------------------------------------------------- counting


def test_four_lines() -> None:
    first, second, third = figures.lines().axes
    assert [len(drawn(ax)) for ax in (first, second, third)] == [7, 11, 11]
    for ax in (first, second, third):
        assert sum(map(area, drawn(ax))) == pytest.approx(16.0)  # all are in view, and fill it
    pieces = [line.get_xydata() for line in second.lines if line.get_linewidth() == 4.0]
    assert len(pieces) == len(pc.carve(counting.arrangement(3).network, counting.new_line())) == 4
    for piece in pieces:  # on the new line, each in one region of the other three
        np.testing.assert_allclose(piece @ counting.W[3] + counting.B[3], 0, atol=1e-12)
    middles = np.array([piece.mean(axis=0) for piece in pieces])
    assert len(np.unique(counting.arrangement(3).locate(middles))) == 4
    assert np.unique(shades(second), axis=0, return_counts=True)[1].tolist() in ([7, 4], [4, 7])
    assert second.get_title() == "$r(4, 2) = r(3, 2) + r(3, 1) = 7 + 4 = 11$"
    assert np.unique(shades(third), axis=0, return_counts=True)[1].tolist() in ([5, 6], [6, 5])
    (dots,) = [line for line in third.lines if line.get_marker() == "o"]
    assert len(dots.get_xydata()) == 6
    assert third.get_title().endswith("= 1 + 4 + 6 = 11$")
    # The dashed line is below every crossing, and meets the five regions painted alike.
    x = np.linspace(-2, 2, 4001)
    level = np.stack([x, np.full_like(x, counting._LEVEL)], axis=1)
    assert dots.get_ydata().min() > counting._LEVEL
    met = np.setdiff1d(np.unique(counting.arrangement(4).locate(level)), [-1])
    assert len(met) == 5
    np.testing.assert_array_equal(np.flatnonzero(third.collections[0].get_array()), met)


def test_growth() -> None:
    (ax,) = figures.growth().axes
    exact, leading = (line.get_xydata() for line in ax.lines)
    assert exact[:, 0].tolist() == leading[:, 0].tolist() == list(range(2, 50))
    # r(k, 10) is 2^k up to k = 10; and C(11, 0) + ... + C(11, 10) = 2^11 - 1.
    np.testing.assert_array_equal(exact[:10, 1], [*(2**k for k in range(2, 11)), 2047])
    assert leading[8, 1] == pytest.approx(10**10 / 3628800)


# ---------------------------------------------------------------------- depth


def test_images_of_the_first_layer_are_a_point_two_half_axes_and_a_quadrant() -> None:
    whole = pc.carve(examples.fig19(), pc.Space(2))
    found = {kind: (rank, corners) for rank, kind, corners in spaces.images(whole, 1)}
    assert {kind: rank for kind, (rank, _) in found.items()} == {0: 0, 1: 1, 2: 1, 3: 2}
    far = 100 * 10.0 * (1 - 1e-9)
    for kind, (_, corners) in found.items():
        bits = np.array([kind >> 1, kind & 1])
        assert (corners[:, bits == 0] == 0).all()  # exactly: these units are inactive
        assert corners.min() >= -1e-12
        assert np.abs(corners).sum(axis=1).min() < 1e-12  # all of them begin in the origin
        for axis in np.flatnonzero(bits):
            assert corners[:, axis].max() >= far  # and go on along each axis
    np.testing.assert_array_equal(found[0][1], np.zeros_like(found[0][1]))


def test_depth() -> None:
    panels = figures.depth().axes
    above, below = panels[:3], panels[3:]
    network = examples.fig19()
    carving = pc.carve(network, SQUARE)
    for layer, ax in enumerate(below, start=1):
        found = drawn(ax)
        assert len(found) == (4, 10, 17)[layer - 1]
        assert sum(map(area, found)) == pytest.approx(100.0)
        # The colour of each polygon is that of the pattern at its middle.
        middles = np.array([corners.mean(axis=0) for corners in found])
        bits = network.patterns(middles)[:, 2 * layer - 2 : 2 * layer]
        known = np.array([to_rgba(shade) for shade in spaces.CLASS_COLORS])
        np.testing.assert_allclose(shades(ax), known[bits @ [2, 1]])
        # Bent lines of the layers before, then of either neuron: all facets, each once.
        pieces = [len(part.get_segments()) for part in ax.collections[1:]]
        assert len(pieces) == (2 if layer == 1 else 3)
        assert sum(pieces) == len(carving.at_layer(layer).adjacency().edges)
    for layer, ax in enumerate(above, start=1):
        part = network.layers[layer - 1]
        lines = [line for line in ax.lines if line.get_linewidth() == 2.0]
        for line, w, b in zip(lines, part.weight.float64, part.bias.float64, strict=True):
            np.testing.assert_allclose(line.get_xydata() @ w + b, 0, atol=1e-9)
        arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
        assert len(arrows) == 2
        for arrow, w, b in zip(arrows, part.weight.float64, part.bias.float64, strict=True):
            assert w @ arrow.xy + b > 0  # towards the active side
    red, blue, yellow, green = (to_rgba(shade) for shade in spaces.CLASS_COLORS)
    points = [line for line in above[1].lines if line.get_marker() == "o"]
    assert [to_rgba(line.get_color()) for line in points] == [red]
    assert points[0].get_xydata().tolist() == [[0.0, 0.0]]
    thick = {to_rgba(line.get_color()): line for line in above[1].lines if line.get_linewidth() > 5}
    assert set(thick) == {blue, yellow}
    np.testing.assert_allclose(thick[blue].get_xdata(), 0, atol=1e-12)
    np.testing.assert_allclose(thick[yellow].get_ydata(), 0, atol=1e-12)
    (quadrant,) = above[1].patches
    assert quadrant.get_facecolor()[:3] == green[:3]
    assert not above[0].patches


def test_volumes() -> None:
    left, right = figures.volumes().axes
    for ax in (left, right):
        kept = [line for line in ax.lines if "keeps" in str(line.get_label())]
        lost = [line for line in ax.lines if "loses" in str(line.get_label())]
        assert sum(len(line.get_xdata()) for line in kept) > 3
        for line in kept:
            np.testing.assert_allclose(line.get_xdata(), line.get_ydata(), atol=1e-9)
        assert any(np.abs(line.get_xdata() - line.get_ydata()).max() > 0.05 for line in lost)
