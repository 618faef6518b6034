"""Pictures on axes that others made: limits, scales, what lies there already, figures let go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import polycarve as pc
from polycarve.errors import InputError, PolycarveError
from polycarve.networks import examples
from polycarve.plot import plot_arrangement, plot_graph, plot_layers, plot_regions
from tests.pictures import SQUARE, area, axes, drawn, moons, shades

mpl.use("Agg")


pytestmark = pytest.mark.usefixtures("nothing_left_behind")


@pytest.fixture(scope="module")
def carving() -> pc.Carving:
    return moons()


def one_layer(W: Any, b: Any) -> pc.Network:
    return pc.Network.from_arrays([W], [b], relu_last=True)


def width_and_height(ax: Any) -> tuple[float, float]:
    return float(abs(np.diff(ax.get_xlim())[0])), float(abs(np.diff(ax.get_ylim())[0]))


# ---------------------------------------------------------------------- axes that will not do


def test_axes_that_bend_lines_are_refused(carving: pc.Carving) -> None:
    logarithmic = axes()
    logarithmic.set_yscale("log")
    for ax in (axes("polar"), axes("hammer"), logarithmic):
        for draw in (plot_regions, plot_graph):
            with pytest.raises(InputError, match="bend straight lines"):
                draw(carving, ax=ax)
        with pytest.raises(InputError, match="bend straight lines"):
            plot_arrangement([[1, 0]], [0], ax=ax)
        with pytest.raises(InputError, match="bend straight lines"):
            plot_layers(carving, axes=[axes(), ax, axes()])
        assert not ax.collections


def test_removed_axes_are_refused(carving: pc.Carving) -> None:
    ax = axes()
    ax.remove()
    with pytest.raises(InputError, match="were removed"):
        plot_regions(carving, ax=ax)


def test_panels_must_be_different_and_as_many_as_layers(carving: pc.Carving) -> None:
    for given in (axes(), [axes()] * 3, [axes(), axes()], {"axes": axes()}):
        with pytest.raises(InputError, match="3 different ones"):
            plot_layers(carving, axes=given)
    with pytest.raises(InputError, match="plot_layers takes axes="):
        plot_layers(carving, ax=axes())
    for color in (np.ones(66), ("layer", 1), 3):
        with pytest.raises(InputError, match='"active" or "layer" is needed'):
            plot_layers(carving, color=color)  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", [plot_regions, plot_layers, plot_graph, pc.image_volumes])
def test_what_is_no_carving(draw: Callable[..., Any]) -> None:
    given = (1,) if draw is pc.image_volumes else ()
    with pytest.raises(InputError, match="a Carving is needed"):
        draw(examples.moons(), *given)


# ---------------------------------------------------------------------- figures let go


@pytest.mark.parametrize(
    "draw",
    [
        lambda carving: plot_regions(carving, color="bad"),
        lambda carving: plot_regions(carving, cmap=3),
        lambda carving: plot_regions(carving, bounds=3),
        lambda carving: plot_regions(carving, points=[[1]]),
        lambda carving: plot_graph(carving, color="bad"),
        lambda carving: plot_layers(carving, bounds=3),
        lambda carving: plot_arrangement([[1, 0]], [0], bounds=3),
    ],
)
def test_no_figure_is_left_by_an_error(
    carving: pc.Carving, draw: Callable[[pc.Carving], Any]
) -> None:
    with pytest.raises(PolycarveError):
        draw(carving)
    assert not plt.get_fignums()


# ---------------------------------------------------------------------- what is on the axes


def test_what_was_drawn_before_is_left_alone(carving: pc.Carving) -> None:
    for draw in (
        lambda ax: plot_graph(carving, ax=ax),
        lambda ax: plot_arrangement([[1, 0], [0, 1]], [0, 0], ax=ax),
    ):
        ax = axes()
        own = ax.scatter([0, 1], [0, 1])
        draw(ax)
        assert own.get_alpha() is None
        assert ax.collections[1].get_alpha() < 1


def test_subfigures_and_insets(carving: pc.Carving) -> None:
    sub = Figure(layout="constrained").subfigures(1, 2)[0].add_subplot()
    inset = axes().inset_axes([0, 0, 0.5, 0.5])
    for ax in (sub, inset):
        assert plot_regions(carving, ax=ax, codes=True) is ax
        assert len(drawn(ax)) == 66


def test_limits_that_were_set_are_kept(carving: pc.Carving) -> None:
    ax = axes()
    ax.set_xlim(-1, 1)
    plot_regions(carving, ax=ax)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1, 1), (-3, 3))
    assert sum(map(area, drawn(ax))) == pytest.approx(12.0)
    smaller = pc.carve(examples.moons(), pc.Box.cube(-1, 1, dim=2))
    ax = plot_regions(carving, ax=axes())
    plot_regions(smaller, ax=ax)  # over the larger one
    assert (ax.get_xlim(), ax.get_ylim()) == ((-3, 3), (-3, 3))
    line = pc.carve(pc.theory.networks.tent(2).network, pc.Space(1))
    ax = axes()
    ax.set_xlim(0.1, 0.2)
    plot_regions(line, ax=ax)
    assert ax.get_xlim() == (0.1, 0.2)
    assert ax.get_title() == "6 activation regions (1 in view)"


def test_axes_stay_turned_round(carving: pc.Carving) -> None:
    ax = axes()
    ax.invert_xaxis()
    plot_regions(carving, ax=ax, codes=True)
    assert (ax.get_xlim(), ax.get_ylim()) == ((3, -3), (-3, 3))
    assert sum(map(area, drawn(ax))) == pytest.approx(36.0)


# ---------------------------------------------------------------------- windows


@pytest.mark.parametrize("at", [5, -300, 1e-3])
def test_lines_through_one_point_have_room_around_it(at: float) -> None:
    ax = plot_regions(pc.carve(one_layer([[1, 0], [0, 1]], [-at, -at]), pc.Space(2)), ax=axes())
    assert len(drawn(ax)) == 4
    assert width_and_height(ax) == pytest.approx((abs(at) / 2, abs(at) / 2))
    line = plot_regions(pc.carve(one_layer([[1]], [-at]), pc.Space(1)), ax=axes())
    assert width_and_height(line)[0] == pytest.approx(abs(at) / 2)


def test_crossings_that_differ_by_rounding_alone() -> None:
    W = np.array([[0.1, 0.2], [0.3, 0.7], [0.6, 1.1]])
    ax = plot_regions(pc.carve(one_layer(W, W @ [-0.3, -0.7]), pc.Space(2)), ax=axes())
    assert width_and_height(ax) == pytest.approx((0.35, 0.35), rel=1e-6)


def test_what_is_long_and_thin_fills_the_axes() -> None:
    for box, aspect in (([3, 3], 1.0), ([3, 24], 1.0), ([3, 300], "auto"), ([300, 3], "auto")):
        carving = pc.carve(examples.moons(), pc.Box(-np.array(box), box))
        ax = plot_regions(carving, ax=axes())
        assert ax.get_aspect() == aspect
        assert sum(map(area, drawn(ax))) == pytest.approx(4.0 * np.prod(box))
    long = pc.carve(one_layer(np.eye(3), [-1, -2, -3]), pc.Box([0, 0, 0], [1, 10, 1000]))
    ax = plot_regions(long, ax=axes("3d"))
    sides = np.asarray(ax.get_box_aspect())
    assert sides.max() <= 4.001 * sides.min()
    assert ax.get_zlim() == (0, 1000)


def test_the_output_of_a_long_thin_domain() -> None:
    """Points close beside each other in the long direction are not one in the short one."""
    network = pc.Network.from_arrays([[[1, 0], [0, 1e9]], [[0, 1]]])
    carving = pc.carve(network, pc.Box([-1000, -1e-8], [1000, 1e-8]))
    ax = plot_regions(carving, ax=axes(), color="output")
    values = np.asarray(ax.collections[1].get_array())
    assert (values.min(), values.max()) == pytest.approx((0.0, 10.0))


def test_windows_far_beyond_any_number(carving: pc.Carving) -> None:
    for bounds in ([(1e308, 1.1e308)] * 2, [(-1e308, 1e308)] * 2, [(0, 10**400)] * 2):
        with pytest.raises(InputError, match="bounds are"):
            plot_regions(carving, ax=axes(), bounds=bounds)


# ---------------------------------------------------------------------- incomplete ones


def test_hatching_is_not_seen_through_what_was_found() -> None:
    stopped = pc.carve(examples.moons(), SQUARE, limits=pc.Limits(max_regions=30))
    line = pc.carve(
        pc.theory.networks.tent(3).network, pc.Box([0], [1]), limits=pc.Limits(max_regions=4)
    )
    for ax in (plot_graph(stopped, ax=axes()), plot_regions(line, ax=axes())):
        (hatched,) = ax.patches
        assert hatched.get_hatch()
        faces, *others = ax.collections
        (white,) = (c for c in others if c.get_zorder() < faces.get_zorder())
        assert hatched.get_zorder() < white.get_zorder()
        assert white.get_alpha() is None
        np.testing.assert_array_equal(white.get_facecolor(), [[1, 1, 1, 1]])
        for ground, face in zip(white.get_paths(), faces.get_paths(), strict=True):
            np.testing.assert_array_equal(ground.vertices, face.vertices)
    assert hatched.get_extents().width == pytest.approx(ax.bbox.width)


# ---------------------------------------------------------------------- on top


def test_data_is_on_top_of_a_solid() -> None:
    carving = pc.carve(one_layer(np.eye(3), [0, 0, 0]), pc.Box.cube(-1, 1, dim=3))
    ax = plot_regions(carving, ax=axes("3d"), points=[[-0.5, 0.5, -0.5], [3, 0, 0]])
    cloud = ax.collections[-1]
    assert len(cloud.get_offsets()) == 1  # the other would float beside the axes
    assert not ax.computed_zorder
    assert all(cloud.get_zorder() > other.get_zorder() for other in ax.collections[:-1])


def test_codes_are_not_cut_off(carving: pc.Carving) -> None:
    ax = plot_regions(carving, ax=axes(), codes=True)
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    for text in ax.texts:
        x0, x1 = text.get_window_extent().intervalx
        assert frame.x0 <= x0
        assert x1 <= frame.x1


def test_names_of_coinciding_lines_are_beside_each_other() -> None:
    ax = plot_arrangement([[1, 0], [2, 0], [-1, 0], [0, 1]], [0, 0, 0, 0], ax=axes())
    assert ax.get_title() == "2 lines, 4 activation regions"
    assert {text.get_text() for text in ax.texts} >= {f"$H_{{{k}}}$" for k in range(1, 5)}
    ax.figure.canvas.draw()
    names = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(names) == 4
    for k, name in enumerate(names):
        assert not any(name.overlaps(other) for other in names[:k])


def test_a_long_title_is_broken(carving: pc.Carving) -> None:
    part = plot_graph(carving, ax=axes(), bounds=[(-1, 1), (-1, 1)])
    assert part.get_title() == "66 activation regions (20 in view),\n116 pairs of neighbours"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"color": np.ones(66) * 1j}, "color is a ndarray"),
        ({"color": [10**400] * 66}, "color is a list"),
        ({"color": [1e308, -1e308] * 33}, "values beyond"),
        ({"cmap": [1]}, "no colour map"),
        ({"linewidth": np.inf}, "linewidth is inf"),
        ({"linewidth": True}, "linewidth is True"),
        ({"points": [[np.nan, 0], [0, 0]]}, "1 of 2 points are not finite"),
        ({"points": [[0, 0], [1, 1]], "labels": [np.nan, 1.0]}, "none of them NaN"),
        ({"points": [[0, 0], [1, 1]], "labels": [None, "a"]}, "labels must be"),
        ({"marks": "abc"}, "list of three names"),
        ({"marks": 3}, "list of three names"),
        ({"marks": ["a", "b", "c"]}, "marks belong to a Slice"),
    ],
)
def test_bad_arguments(carving: pc.Carving, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot_regions(carving, ax=axes(), **given)


def test_values_that_are_not_numbers_are_grey(carving: pc.Carving) -> None:
    ax = plot_regions(carving, ax=axes(), color=[np.nan] * 65 + [np.inf], marks=None)
    assert len(np.unique(shades(ax), axis=0)) == 1
    assert len(drawn(ax)) == 66


def test_cells_pulled_apart_have_no_window() -> None:
    carving = pc.carve(one_layer(np.eye(3), [0, 0, 0]), pc.Box.cube(-1, 1, dim=3))
    with pytest.raises(InputError, match="bounds do not clip"):
        plot_regions(carving, ax=axes("3d"), view="exploded", bounds=[(0, 1)] * 3)
    with pytest.raises(InputError, match="three coordinates"):
        plot_regions(moons(), view="exploded")
    with pytest.raises(InputError, match="a whole number"):
        pc.image_volumes(carving, True)
