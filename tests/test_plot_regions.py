"""Pictures of carvings, tested by what they draw: polygons, their areas, their colours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import polycarve as pc
from polycarve.errors import InputError, MissingDependencyError
from polycarve.networks import examples
from polycarve.plot import plot_arrangement, plot_graph, plot_layers, plot_regions
from polycarve.plot.canvas import PALETTE
from polycarve.plot.colors import read_color
from polycarve.plot.gradients import triangles
from polycarve.plot.windows import polygons
from tests import cases
from tests.oracles import polygons as referee

mpl.use("Agg")
SQUARE = pc.Box.cube(-3, 3, dim=2)


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


def axes(kind: str | None = None) -> Any:
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot(projection=kind)


def moons() -> pc.Carving:
    return pc.carve(examples.moons(), SQUARE)


def drawn(ax: Any) -> list[np.ndarray[Any, Any]]:
    """The corners of every polygon in the picture of regions."""
    return [path.vertices[:-1] for path in ax.collections[0].get_paths()]


def area(corners: np.ndarray[Any, Any]) -> float:
    x, y = (corners - corners[0]).T
    return float(0.5 * (x @ np.roll(y, -1) - np.roll(x, -1) @ y))


def shades(ax: Any) -> np.ndarray[Any, Any]:
    """The colour that each polygon is painted with."""
    ax.collections[0].update_scalarmappable()
    return np.asarray(ax.collections[0].get_facecolor())


# ---------------------------------------------------------------------- polygons


def test_polygons_are_those_of_the_exact_referee() -> None:
    carving = moons()
    ax = plot_regions(carving, ax=axes())
    truth = referee.cells(carving.network, SQUARE)
    found = drawn(ax)
    assert len(found) == len(truth) == 66
    for region, corners in zip(carving, found, strict=True):
        exact = truth[tuple(region.pattern.tolist())]
        assert len(corners) == len(exact)
        assert area(corners) == pytest.approx(float(referee.area(exact)), abs=1e-12)
    assert sum(map(area, found)) == pytest.approx(36.0)
    assert ax.get_xlim() == ax.get_ylim() == (-3, 3)


@pytest.mark.parametrize("domain", [pc.Space(2), pc.Polytope([[1, 0], [-1, 1]], [9, 9])])
def test_unbounded_regions_are_clipped_to_the_window(domain: pc.Space | pc.Polytope) -> None:
    network = examples.fig19()
    carving = pc.carve(network, domain)
    window = pc.Box([-1, 0], [3, 2])
    truth = referee.cells(network, window)
    by_bounds = plot_regions(carving, ax=axes(), bounds=[(-1, 3), (0, 2)])
    given = axes()
    given.set(xlim=(-1, 3), ylim=(0, 2))
    for ax in (by_bounds, plot_regions(carving, ax=given)):
        found = drawn(ax)
        values = ax.collections[0].get_array()
        assert len(found) == len(truth)
        assert sum(map(area, found)) == pytest.approx(8.0)
        # In the order of patterns, as the referee's are once sorted.
        for corners, pattern, value in zip(found, sorted(truth), values, strict=True):
            assert area(corners) == pytest.approx(float(referee.area(truth[pattern])), abs=1e-9)
            assert value == sum(pattern)
        assert "in view" in ax.get_title()


def test_centres_of_mass() -> None:
    carving = moons()
    np.testing.assert_allclose(polygons(carving, None).centroids(), carving.centroids(), atol=1e-9)


def test_default_window_shows_every_region_of_a_small_carving() -> None:
    ax = plot_regions(pc.carve(examples.fig19(), pc.Space(2)), ax=axes())
    assert len(drawn(ax)) == 17
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    assert sum(map(area, drawn(ax))) == pytest.approx((x1 - x0) * (y1 - y0))


@pytest.mark.parametrize(
    ("weights", "biases", "regions"),
    [
        ([[1, 1]], [0], 2),  # regions without any corner
        ([[1, 1], [2, 2], [-1, -1]], [0, 1, 4], 4),  # parallel lines
        ([[1, 0], [0, 1], [1, 1]], [0, 0, 0], 6),  # through one point
    ],
)
def test_windows_of_degenerate_carvings(
    weights: list[list[int]], biases: list[int], regions: int
) -> None:
    network = pc.Network.from_arrays([weights], [biases], relu_last=True)
    ax = plot_regions(pc.carve(network, pc.Space(2)), ax=axes())
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    assert len(drawn(ax)) == regions
    assert sum(map(area, drawn(ax))) == pytest.approx((x1 - x0) * (y1 - y0))


def test_polytopes_and_flat_boxes() -> None:
    triangle = pc.Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 3])
    ax = plot_regions(pc.carve(examples.fig19(), triangle), ax=axes())
    assert sum(map(area, drawn(ax))) == pytest.approx(12.5)
    network = pc.Network.from_arrays([[[1, 1, 1], [1, -1, 0]]], relu_last=True)
    flat = pc.carve(network, pc.Box([-1, "0.5", -1], [1, "0.5", 1]))
    ax = plot_regions(flat, ax=axes(), color=("output", 1))
    assert len(drawn(ax)) == len(flat) == 3
    assert sum(map(area, drawn(ax))) == pytest.approx(4.0)
    assert ax.get_ylabel() == "$x_{3}$"


def test_windows_that_miss_everything_are_empty() -> None:
    for color in ("active", ("output", 0), ("layer", 3)):
        ax = plot_regions(moons(), ax=axes(), bounds=[(10, 11), (10, 11)], color=color)
        ax.figure.canvas.draw()
        assert drawn(ax) == []
        assert ax.get_title() == "66 activation regions (0 in view)"


def test_incomplete_carvings_say_so_and_are_hatched() -> None:
    carving = pc.carve(examples.moons(), SQUARE, limits=pc.Limits(max_regions=30))
    ax = plot_regions(carving, ax=axes())
    assert len(drawn(ax)) == 30
    assert sum(map(area, drawn(ax))) < 35
    assert ax.get_title() == "at least 30 activation regions\n(incomplete: stopped by regions)"
    (blank,) = ax.patches
    assert blank.get_hatch()
    assert blank.get_zorder() < ax.collections[0].get_zorder()
    assert area(blank.get_xy()[:-1]) == pytest.approx(36.0)
    assert not plot_regions(moons(), ax=axes()).patches
    nothing = pc.carve(examples.moons(), SQUARE, limits=pc.Limits(max_seconds=1e-9))
    assert plot_regions(nothing, ax=axes(), color=("output", 1)).patches[0].get_hatch()


def test_eighty_thousand_regions(tmp_path: Any) -> None:
    case = cases.spec()["rand_2-256-256-256"]
    carving = pc.carve(case.network, case.box)
    ax = plot_regions(carving, ax=axes())
    assert len(drawn(ax)) == case.regions == 79_783
    assert sum(map(area, drawn(ax))) == pytest.approx(4.0)
    faces, edges = ax.collections
    assert faces.get_rasterized()
    assert edges.get_rasterized()
    assert edges.get_linewidth()[0] < 0.1
    assert ax.get_legend() is None
    ax.figure.savefig(tmp_path / "many.svg", dpi=50)  # polygons would take tens of megabytes
    assert (tmp_path / "many.svg").stat().st_size < 1e6


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


# ---------------------------------------------------------------------- refusals


def test_new_figures_are_pyplot_s_and_given_axes_are_not() -> None:
    ax = moons().plot()
    assert ax.figure.number in plt.get_fignums()
    plot_regions(moons(), ax=axes())
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ax": 3}, "ax is a int; a matplotlib Axes"),
        ({"color": "red"}, "color is 'red'"),
        ({"color": [1, 2]}, "66 values"),
        ({"color": ("layer", 4)}, "layer 4 is not among those carved"),
        ({"color": ("active", 1.5)}, "number of a layer or unit"),
        ({"color": "output"}, "there are 2 outputs"),
        ({"color": ("output", 2)}, "output 2 does not exist"),
        ({"color": object()}, "color is"),
        ({"bounds": [(1, 0), (0, 1)]}, "bounds are"),
        ({"bounds": [(0, float("nan")), (0, 1)]}, "bounds are"),
        ({"cmap": "nope"}, "no colour map"),
        ({"labels": [1]}, "labels belong to points"),
        ({"points": [[0, 0]], "labels": [1, 2]}, "one for each of 1 points"),
        ({"points": [[0, 0, 0]]}, "points must be numbers"),
        ({"linewidth": -1}, "linewidth is -1"),
        ({"view": "inside"}, "view is 'inside'"),
    ],
)
def test_bad_arguments(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot_regions(moons(), **{"ax": axes()} | given)


def test_what_cannot_be_drawn() -> None:
    network = pc.Network.from_arrays([np.eye(4)], relu_last=True)
    with pytest.raises(InputError, match=r"dimension 4.*Slice"):
        plot_regions(pc.carve(network, pc.Box.cube(-1, 1, dim=4)), ax=axes())
    with pytest.raises(InputError, match="single point"):
        plot_regions(pc.carve(examples.moons(), pc.Box([0, 0], [0, 0])), ax=axes())
    with pytest.raises(InputError, match="a Carving is needed"):
        plot_regions(examples.moons())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="projection='3d'; give plain ones"):
        plot_regions(moons(), ax=axes("3d"))
    with pytest.raises(InputError, match="not affine on its regions"):
        plot_regions(moons().at_layer(1), ax=axes(), color=("output", 0))


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (plot_regions, plot_layers, plot_graph):
        with pytest.raises(MissingDependencyError, match=r"polycarve\[plot\]"):
            draw(moons())
    with pytest.raises(MissingDependencyError, match=r"polycarve\[plot\]"):
        plot_arrangement([[1, 0]], [0])
