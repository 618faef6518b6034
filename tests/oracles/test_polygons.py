"""The referee of the plane agrees with the other one, and its polygons tile the box."""

import pytest

from polycarve import Box
from tests import cases
from tests.oracles import exact, polygons


@pytest.mark.parametrize("seed", range(12))
def test_polygons_are_the_regions_and_tile_the_box(seed: int) -> None:
    net = cases.integers(2, [4, 3, 3][: 2 + seed % 2], seed, 1 + seed % 3, biased=seed % 4 > 0)
    box = Box([-2, "-1/3"], [1, 1])
    found = polygons.cells(net, box)
    assert sorted(found) == exact.regions(net, box)
    areas = [polygons.area(polygon) for polygon in found.values()]
    assert min(areas) > 0
    assert sum(areas) == 4
