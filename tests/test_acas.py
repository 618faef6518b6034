"""The networks and properties of the verification competition, where they lie beside the project.

They are ``shared/data/vnncomp`` in a folder above; without it, every test here is skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import polycarve as pc
from polycarve.cli import main
from tests.onnx_models import vnncomp
from tests.oracles import exact


def place(name: str) -> Path:
    path = vnncomp(name)
    if path is None:
        pytest.skip(f"{name} of the verification competition is not in shared/data/vnncomp")
    return path


def acas(name: str) -> pc.Network:
    return pc.Network.from_onnx(place(f"ACASXU_run2a_{name}_batch_2000.onnx"))


def test_property_3_of_1_1() -> None:
    """The layer counts are those of another program's floating-point count."""
    net, box = acas("1_1"), pc.Box.from_vnnlib(place("acasxu_prop_3.vnnlib"))
    carving = pc.carve(net, box)
    assert carving.layer_counts == (39, 103, 499, 2918, 8010, 71930)
    assert carving.n_doubtful == 0
    assert np.array_equal(net.patterns(carving.points), carving.patterns)
    assert (carving.locate(carving.points[::50]) == np.arange(len(carving))[::50]).all()


def test_the_first_layers_of_1_1_are_certified() -> None:
    net, box = acas("1_1"), pc.Box.from_vnnlib(place("acasxu_prop_3.vnnlib"))
    certificate = pc.carve(net, box, stop_layer=3).certify()
    assert certificate.carving.layer_counts == (39, 103, 499)
    assert certificate.check() == certificate.theorem
    assert certificate.n_programs == 0


def test_property_4_of_3_3_has_a_flat_side() -> None:
    net, box = acas("3_3"), pc.Box.from_vnnlib(place("acasxu_prop_4.vnnlib"))
    assert (box.dim, box.rank) == (5, 4)
    carving = pc.carve(net, box)
    assert carving.n_doubtful == 0
    flat = next(j for j in range(5) if j not in box.free)
    free = pc.Box(box.lo[box.free], box.hi[box.free])
    origin = [box.lo.fractions()[j] if j == flat else 0 for j in range(5)]
    plane = pc.Slice(origin, np.eye(5, dtype=int)[box.free], domain=free)
    assert np.array_equal(pc.carve(net, plane).packed, carving.packed)
    assert len(carving) > 1000


@pytest.mark.parametrize("number", [1, 2])
def test_the_larger_properties_within_a_limit(number: int) -> None:
    net, box = acas("1_1"), pc.Box.from_vnnlib(place(f"acasxu_prop_{number}.vnnlib"))
    carving = pc.carve(net, box, limits=pc.Limits(max_regions=5000))
    assert len(carving) == 5000
    assert (carving.complete, carving.stop_reason) == (False, "regions")
    assert np.array_equal(net.patterns(carving.points), carving.patterns)


@pytest.mark.parametrize("name", ["test_nano", "test_tiny", "test_small"])
def test_the_three_small_networks(name: str) -> None:
    net = pc.Network.from_onnx(place(f"{name}.onnx"))
    for domain in (pc.Box([-1], [1]), pc.Space(1)):
        carving = pc.carve(net, domain)
        assert [tuple(row) for row in carving.patterns.tolist()] == exact.regions(net, domain)


def test_from_the_command_line() -> None:
    network, box = place("ACASXU_run2a_3_3_batch_2000.onnx"), place("acasxu_prop_4.vnnlib")
    done = CliRunner().invoke(main, ["carve", str(network), "--vnnlib", str(box), "--json"])
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["domain"]["rank"] == 4
    assert found["regions"] == found["layer_counts"][-1]
