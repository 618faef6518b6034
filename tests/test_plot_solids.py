"""Pictures of carvings of three dimensions and of lines, tested by what they draw."""

from __future__ import annotations

from typing import Any
from unittest import mock

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import polycarve as pc
from polycarve.errors import InputError
from polycarve.networks import examples
from polycarve.plot import plot_layers, plot_regions, solids
from polycarve.plot.windows import Window
from tests import cases

mpl.use("Agg")
CUBE = pc.Box.cube(-1, 1, dim=3)


def axes(kind: str | None = "3d") -> Any:
    return Figure(layout="constrained").add_subplot(projection=kind)


def faces(
    carving: pc.Carving, bounds: Any = None, view: str = "cutaway"
) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """The polygons in space, and the region of each; as many as there are in the picture."""
    made: list[solids.Faces] = []
    find = getattr(solids, view)

    def kept(*args: Any) -> solids.Faces:  # what is drawn, and found once
        made.append(find(*args))
        return made[-1]

    index = np.arange(len(carving), dtype=float)
    with mock.patch.object(solids, view, kept):
        ax = plot_regions(carving, ax=axes(), bounds=bounds, view=view, color=index)
    (parts,) = made
    np.testing.assert_array_equal(ax.collections[0].get_array(), parts.region)
    return parts.polygons, np.array(parts.region, dtype=int)


def measure(corners: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
    """The area of a flat polygon in space, and its centre."""
    middle = corners.mean(axis=0)
    there = np.roll(corners, -1, axis=0)
    cross = np.cross(corners - middle, there - middle)
    return float(np.linalg.norm(cross.sum(axis=0)) / 2), middle


@pytest.mark.parametrize(
    "network",
    [
        cases.spec()["rand_3-16-16-16"].network,
        pc.Network.from_arrays([np.eye(3)], relu_last=True),  # the cuts lie on the hyperplanes
        pc.Network.from_arrays([[[1, 0, 0], [-1, 0, 0], [1, 1, 1], [2, 2, 2]]], relu_last=True),
    ],
)
def test_the_cutaway_shows_the_regions_behind_it(network: pc.Network) -> None:
    carving = pc.carve(network, CUBE)
    polygons, region = faces(carving)
    sizes, middles = zip(*map(measure, polygons), strict=True)
    # Three sides of 2 x 2 without a quarter each, and three quarters inside.
    assert sum(sizes) == pytest.approx(12.0)
    middles = np.array(middles)
    towards = np.array([1, -1, 1])
    on_outside = np.isclose(middles * towards, 1).argmax(axis=1)
    is_outside = np.isclose(middles * towards, 1).any(axis=1)
    assert np.array(sizes)[is_outside].sum() == pytest.approx(9.0)
    on_cut = np.isclose(middles, 0).argmax(axis=1)
    axis = np.where(is_outside, on_outside, on_cut)
    behind = middles - 1e-7 * np.eye(3)[axis] * towards  # a little into the solid
    large = np.array(sizes) > 1e-6
    np.testing.assert_array_equal(carving.locate(behind)[large], region[large])


def test_cuts_on_hyperplanes_away_from_the_origin() -> None:
    network = pc.Network.from_arrays([np.eye(3)], [[-4, -4, -4]], relu_last=True)
    carving = pc.carve(network, pc.Box.cube(3, 5, dim=3))
    polygons, region = faces(carving)
    assert len(polygons) == 12  # none of them twice
    assert sum(measure(polygon)[0] for polygon in polygons) == pytest.approx(12.0)
    # The cut-out corner is that of one region, and is not seen.
    assert set(range(8)) - set(region.tolist()) >= {int(carving.locate([4.5, 3.5, 4.5]))}


def test_two_hundred_thousand_regions_are_cut_open() -> None:
    case = cases.spec()["rand_3-64-64-64"]
    carving = pc.carve(case.network, case.box, keep="cells")
    polygons, region = faces(carving)
    assert 5_000 < len(polygons) < 20_000
    assert len(np.unique(region)) < len(carving) / 10
    assert sum(measure(polygon)[0] for polygon in polygons) == pytest.approx(12.0)


def test_unbounded_and_pointed_solids() -> None:
    rng = np.random.default_rng(0)
    network = pc.Network.from_arrays(
        [rng.normal(size=(6, 3))], [rng.normal(size=6)], relu_last=True
    )
    space, box = pc.carve(network, pc.Space(3)), pc.carve(network, CUBE)
    seen, where = faces(space, [(-1, 1)] * 3)
    truth, there = faces(box)
    assert sum(measure(polygon)[0] for polygon in seen) == pytest.approx(12.0)
    assert len(seen) == len(truth)
    for row in np.unique(there):  # the same area of every pattern
        same = int(space.find(box.packed[row : row + 1])[0])
        here, exact = (
            sum(measure(p)[0] for p, k in zip(polygons, owner, strict=True) if k == region)
            for polygons, owner, region in ((seen, where, same), (truth, there, row))
        )
        assert here == pytest.approx(exact)
    assert faces(space)[0]
    simplex = pc.Polytope([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [1, 1, 1]], [0, 0, 0, 2])
    assert faces(pc.carve(network, simplex))[0]
    assert not faces(box, [(5, 6)] * 3)[0]


def test_the_exploded_view_shows_what_faces_the_viewer() -> None:
    network = pc.Network.from_arrays([np.eye(3)], relu_last=True)
    carving = pc.carve(network, CUBE)
    polygons, region = faces(carving, view="exploded")
    assert len(polygons) == 24  # three sides of eight cubes
    assert all(measure(polygon)[0] == pytest.approx(1.0) for polygon in polygons)
    np.testing.assert_array_equal(np.bincount(region), np.full(8, 3))
    middle = np.mean([measure(p)[1] for p, k in zip(polygons, region, strict=True) if k == 7], 0)
    # Seen from +x, -y, +z; then pulled outwards.
    np.testing.assert_allclose(middle, np.array([2, 1, 2]) / 3 + 0.35 * 0.5)
    with pytest.raises(InputError, match="unbounded"):
        plot_regions(pc.carve(network, pc.Space(3)), ax=axes(), view="exploded")
    case = cases.spec()["rand_3-16-16-16"]
    with pytest.raises(InputError, match="would hide each other"):
        plot_regions(pc.carve(case.network, case.box), ax=axes(), view="exploded")


def test_other_colours_and_limits_of_solids() -> None:
    network = pc.Network.from_arrays([np.eye(3), [[1, 1, 1]]])
    carving = pc.carve(network, CUBE)
    ax = plot_regions(carving, ax=axes(), color="output")
    middles = [measure(polygon)[1] for polygon in faces(carving)[0]]
    np.testing.assert_allclose(ax.collections[0].get_array(), network(middles)[:, 0])
    assert len(plot_layers(carving)) == 1
    with pytest.raises(InputError, match="projection='3d'"):
        plot_regions(carving, ax=axes(None))
    with pytest.raises(InputError, match="codes are written"):
        plot_regions(carving, ax=axes(), codes=True)
    stopped = pc.carve(network, CUBE, limits=pc.Limits(max_regions=3))
    assert "incomplete" in plot_regions(stopped, ax=axes()).get_title()
    plt.close("all")


# ---------------------------------------------------------------------- lines


def test_a_line_is_drawn_as_intervals_under_the_graph() -> None:
    tent = pc.theory.networks.tent(3).network
    carving = pc.carve(tent, pc.Box([0], [1]))
    ax = plot_regions(carving, ax=axes(None))
    bands = [path.get_extents() for path in ax.collections[0].get_paths()]
    ends = np.sort([(band.x0, band.x1) for band in bands], axis=0)
    np.testing.assert_allclose(ends[1:, 0], carving.breakpoints)
    np.testing.assert_allclose(ends[:-1, 1], carving.breakpoints)
    (line,) = ax.lines
    x, y = line.get_xydata()[~np.isnan(line.get_xydata()).any(axis=1)].T
    assert set(np.round(y, 12)) == {0.0, 1.0}  # the teeth, exactly
    np.testing.assert_allclose(y, tent(x[:, None])[:, 0])
    np.testing.assert_array_equal(ax.collections[0].get_array(), carving.patterns.sum(axis=1))


def test_other_lines() -> None:
    tent = pc.theory.networks.tent(2).network
    space = pc.carve(tent, pc.Space(1))
    ax = plot_regions(space, ax=axes(None), bounds=[(-1, 3)], color="output")
    bands = [path.get_extents() for path in ax.collections[0].get_paths()]
    assert sum(band.width for band in bands) == pytest.approx(4.0)
    assert len(bands) == len(space) == 6
    assert plot_regions(space, ax=axes(None)).get_xlim()[0] < 0
    segment = pc.carve(examples.moons(), pc.Segment([-3, -3], [3, 3]))
    ax = plot_regions(segment, ax=axes(None), color=("layer", 3))
    assert ax.get_xlim() == (0, 1)
    assert len(ax.lines) == 2
    early = plot_regions(segment.at_layer(1), ax=axes(None))
    assert not early.lines  # the output is not affine on these
    stopped = pc.carve(tent, pc.Box([0], [1]), limits=pc.Limits(max_regions=2))
    ax = plot_regions(stopped, ax=axes(None))
    assert "incomplete" in ax.get_title()
    assert len(ax.collections[0].get_paths()) == 2
    for bounds in ([(1, 0)], 3, [("a", 1)]):
        with pytest.raises(InputError, match="bounds are"):
            plot_regions(space, ax=axes(None), bounds=bounds)


def test_windows_have_corners_anticlockwise() -> None:
    window = Window(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    assert window.corners == [(0, 1), (2, 1), (2, 3), (0, 3)]
