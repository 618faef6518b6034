"""Colours, what lies on top, layers, graphs and lines, tested by what they draw."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import polycarve as pc
from polycarve.errors import InputError
from polycarve.networks import examples
from polycarve.plot import plot_arrangement, plot_graph, plot_layers, plot_regions
from polycarve.plot.canvas import PALETTE
from polycarve.plot.colors import read_color
from polycarve.plot.gradients import triangles
from polycarve.plot.windows import polygons
from tests import cases
from tests.pictures import SQUARE, area, axes, drawn, moons, shades

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


# ---------------------------------------------------------------------- colours


def test_colours_by_active_neurons() -> None:
    carving = moons()
    ax = plot_regions(carving, ax=axes())
    count = carving.patterns.sum(axis=1)
    np.testing.assert_array_equal(ax.collections[0].get_array(), count)
    painted = shades(ax)
    for value in np.unique(count):  # equal counts, one colour; different counts, different ones
        assert len(np.unique(painted[count == value], axis=0)) == 1
    assert len(np.unique(painted, axis=0)) == len(np.unique(count))
    second = plot_regions(carving, ax=axes(), color=("active", 2))
    np.testing.assert_array_equal(
        second.collections[0].get_array(), carving.patterns[:, 5:10].sum(axis=1)
    )


def test_colours_by_the_pattern_of_a_layer() -> None:
    carving = moons()
    ax = plot_regions(carving, ax=axes(), color=("layer", 3))
    own = carving.patterns[:, 10:]
    painted = shades(ax)
    pairs = np.unique(np.concatenate([own, np.round(painted * 255)], axis=1), axis=0)
    assert len(pairs) == len(np.unique(own, axis=0)) == len(np.unique(painted, axis=0)) == 6
    known = np.array([to_rgba(shade) for shade in PALETTE])
    assert np.abs(painted[:, None] - known).max(axis=2).min(axis=1).max() < 1e-9
    bar = ax.figure.axes[-1]
    assert [label.get_text() for label in bar.get_yticklabels()] == [
        "iiiai", "iiaai", "iiaaa", "iaaia", "iaaai", "iaaaa",
    ]  # fmt: skip


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_neighbours_of_different_patterns_are_told_apart(layer: int) -> None:
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box)
    coloring = read_color(("layer", layer), carving)
    own = carving.patterns[:, 32 * (layer - 1) : 32 * layer]
    edges = carving.adjacency().edges
    differ = (own[edges[:, 0]] != own[edges[:, 1]]).any(axis=1)
    assert differ.any()
    assert not differ.all()
    shade = coloring.values[edges]
    np.testing.assert_array_equal(shade[:, 0] != shade[:, 1], differ)
    assert coloring.entries == ()  # no legend of hundreds of entries


def test_colours_by_a_column() -> None:
    carving = pc.carve(examples.fig19(), pc.Space(2))
    ax = plot_regions(carving, ax=axes(), color=carving.volumes())
    grey = np.array(to_rgba("#d9d9d9"))
    is_grey = (shades(ax) == grey).all(axis=1)
    np.testing.assert_array_equal(is_grey, ~carving.bounded())
    names = np.where(carving.bounded(), "bounded", "unbounded")
    ax = plot_regions(carving, ax=axes(), color=names)
    assert len(np.unique(shades(ax), axis=0)) == 2


def test_the_output_is_drawn_as_it_is() -> None:
    carving = moons()
    parts = polygons(carving, None)
    values = carving.network(parts.corners)[:, 1]
    corners, heights = triangles(parts, values)
    x, y = (corners[:, 1:] - corners[:, :1]).transpose(2, 0, 1)
    assert 0.5 * np.abs(x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]).sum() == pytest.approx(36.0)
    truth = carving.network(corners.reshape(-1, 2))[:, 1]
    np.testing.assert_allclose(heights.ravel(), truth, atol=1e-9)
    assert np.ptp(heights, axis=1).max() <= np.ptp(values) / 48 + 1e-12
    ax = plot_regions(carving, ax=axes(), color=("output", 1))
    faces, mesh = ax.collections
    assert mesh.get_zorder() < faces.get_zorder()
    np.testing.assert_allclose(mesh.get_array(), heights.ravel(), atol=1e-9)
    assert len(faces.get_paths()) == 66
    assert not len(faces.get_facecolor())
    one = pc.carve(([[[1, -1]]], [[0]]), SQUARE)  # no hidden layer, one output
    assert plot_regions(one, ax=axes(), color="output").collections


# ---------------------------------------------------------------------- on top


def test_points_lie_on_top() -> None:
    training = examples.moons_training()
    ax = plot_regions(moons(), ax=axes(), points=training.points, labels=training.labels)
    clouds = ax.collections[1:]
    assert [len(cloud.get_offsets()) for cloud in clouds] == [750, 750]
    assert all(cloud.get_zorder() > ax.collections[0].get_zorder() for cloud in clouds)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
    ax.figure.canvas.draw()  # the legend is beside the axes, not over the data
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())


def test_codes_and_marks() -> None:
    ax = plot_regions(pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2)), ax=axes(), codes=True)
    truth = pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2))
    assert 8 <= len(ax.texts) < 17
    for text in ax.texts:  # in the region of that code
        assert truth[truth.locate(text.get_position())].code == text.get_text()
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
    X = np.load(cases.DATA / "networks" / "digits_slice.npz")["X"]
    network = pc.Network.from_npz(cases.DATA / "networks" / "digits.npz")
    place = pc.Slice(X[0], [X[1] - X[0], X[2] - X[0]], domain=pc.Box.cube(-1, 2, dim=2))
    carving = pc.carve(network, place)
    ax = plot_regions(carving, ax=axes(), marks=["2", "1", "7"])
    assert len(drawn(ax)) == 1789
    assert sum(map(area, drawn(ax))) == pytest.approx(9.0)
    assert [tuple(line.get_xydata()[0]) for line in ax.lines] == [(0, 0), (1, 0), (0, 1)]
    np.testing.assert_allclose(place.embed([line.get_xydata()[0] for line in ax.lines]), X)
    assert [text.get_text() for text in ax.texts] == ["2", "1", "7"]
    assert not plot_regions(carving, ax=axes(), marks=False).lines


# ---------------------------------------------------------------------- layers, graph, lines


def test_layers() -> None:
    carving = moons()
    panels = plot_layers(carving)
    assert [len(drawn(ax)) for ax in panels] == [13, 43, 66]
    for layer, ax in enumerate(panels, start=1):
        coarse = carving.at_layer(layer)
        own = coarse.patterns[:, 5 * (layer - 1) :].sum(axis=1)
        np.testing.assert_array_equal(ax.collections[0].get_array(), own)
    assert len(plt.get_fignums()) == 1
    assert len(plot_layers(carving, axes=Figure().subplots(1, 3), color="layer")) == 3
    with pytest.raises(InputError, match="one a layer, 3"):
        plot_layers(carving, axes=[axes()])
    with pytest.raises(InputError, match="no layer was carved"):
        plot_layers(carving.at_layer(0))
    with pytest.raises(InputError, match="color is 'output'"):
        plot_layers(carving, color="output")


@pytest.mark.parametrize("domain", [SQUARE, pc.Space(2)])
def test_graph_edges_stay_in_their_two_regions(domain: pc.Box | pc.Space) -> None:
    carving = pc.carve(examples.moons(), domain)
    ax = plot_graph(carving, ax=axes(), bounds=[(-3, 3), (-3, 3)])
    lines = np.array(ax.collections[1].get_segments())
    inside = pc.carve(examples.moons(), SQUARE)
    assert len(lines) == len(inside.adjacency().edges) == 116
    assert len(ax.collections[2].get_offsets()) == 66
    for share in (0.1, 0.5, 0.9):  # from either node towards the shared facet
        for end in (0, 2):
            points = lines[:, end] + share * (lines[:, 1] - lines[:, end])
            found = carving.locate(points)
            np.testing.assert_array_equal(found, carving.locate(lines[:, end]))
            assert (found >= 0).all()
    with pytest.raises(InputError, match="drawn on planes"):
        plot_graph(pc.carve(examples.moons(), pc.Segment([0, 0], [1, 1])), ax=axes())


def test_arrangement() -> None:
    W, b = [[1, 0], [0, 1], [1, 1], [0, 0]], [0, 0, -1, 1]
    ax = plot_arrangement(W, b, ax=axes())
    assert ax.get_title() == "3 lines, 7 activation regions"
    assert len(drawn(ax)) == 7
    assert len(ax.lines) == 3
    for line, w, c in zip(ax.lines, W, b, strict=False):
        np.testing.assert_allclose(line.get_xydata() @ w + c, 0, atol=1e-12)
    names = [text.get_text() for text in ax.texts if text.get_text()]
    assert names == ["$H_{1}$", "$H_{2}$", "$H_{3}$"]
    rng = np.random.default_rng(0)
    many = plot_arrangement(rng.normal(size=(30, 2)), rng.normal(size=30), ax=axes())
    assert many.get_title().startswith("30 lines, 466 activation regions")
    with pytest.raises(InputError, match="W has 3 columns"):
        plot_arrangement([[1, 2, 3]], [0], ax=axes())
