"""Pictures of carvings, tested by what they draw: polygons and their areas; and refusals."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import polycarve as pc
from polycarve.errors import InputError, MissingDependencyError
from polycarve.networks import examples
from polycarve.plot import plot_arrangement, plot_graph, plot_layers, plot_regions
from polycarve.plot.windows import polygons
from tests import cases
from tests.oracles import polygons as referee
from tests.pictures import SQUARE, area, axes, drawn, moons

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


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
    carving = pc.carve(case.network, case.box, keep="cells")
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
