"""Counts that are known from elsewhere: ground truths, closed forms, other programs."""

from __future__ import annotations

import numpy as np
import pytest

import polycarve as pc
from polycarve.networks import examples
from tests import cases


@pytest.mark.parametrize("case", cases.ground_truths(), ids=lambda case: case.name)
def test_ground_truth(case: cases.TruthCase) -> None:
    carving = pc.carve(case.network, case.domain)
    assert len(carving) == case.regions
    # Sorted and without repetition: neighbours differ, and the later one is the larger.
    rows = [row.tobytes() for row in carving.packed]
    assert rows == sorted(set(rows))


def test_there_are_106_ground_truths() -> None:
    assert len(cases.ground_truths()) == 106


@pytest.mark.parametrize("name", cases.spec())
def test_spec(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box)
    assert carving.layer_counts == case.layer_counts
    assert carving.split_counts.sum() == case.regions - 1
    assert carving.n_doubtful == 0
    assert carving.point_is_interior.all()
    some = np.random.default_rng(0).choice(len(carving), min(len(carving), 20_000), replace=False)
    want = np.unpackbits(carving.packed[some], axis=1, count=case.network.n_neurons)
    assert np.array_equal(case.network.patterns(carving.points[some]), want)


def test_there_are_19_spec_networks_on_boxes() -> None:
    assert len(cases.spec()) == 19


@pytest.mark.parametrize(
    ("name", "regions"),
    [("moons", 93), ("fig19", 17), ("rand_2-32-32-32", 5355), ("rand_3-16-16-16", 20295)],
)
def test_all_of_space(name: str, regions: int) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, pc.Space(case.dim))
    assert len(carving) == regions
    inside = carving.point_is_interior
    assert np.array_equal(case.network.patterns(carving.points[inside]), carving.patterns[inside])


def test_fig19_loses_a_region_when_a_bias_changes() -> None:
    net = examples.fig19()
    box = pc.Box.cube(-4, 6, dim=2)
    before = pc.carve(net, box)
    assert before.layer_counts == (4, 10, 17)
    biases = [np.array(layer.bias.float64) for layer in net.layers]
    biases[2][0] = -1.5
    weights = [layer.weight.float64 for layer in net.layers]
    after = pc.carve(pc.Network.from_arrays(weights, biases, relu_last=True), box)
    assert after.layer_counts == (4, 10, 16)
    codes = {region.code for region in after}
    assert {region.code for region in before} - codes == {"aa|ia|ii"}
    assert codes <= {region.code for region in before}
