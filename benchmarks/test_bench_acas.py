"""ACAS Xu from its files: reading, carving property 3, and the whole in a process of its own.

Skipped where ``shared/data/vnncomp`` does not lie in a folder above.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from networks import load  # noqa: F401 - makes the tests importable

import polycarve as pc
from tests.onnx_models import vnncomp

REGIONS = 71_930


def files() -> tuple[Path, Path]:
    network, box = vnncomp("ACASXU_run2a_1_1_batch_2000.onnx"), vnncomp("acasxu_prop_3.vnnlib")
    if network is None or box is None:
        pytest.skip("the files of the verification competition are not in shared/data/vnncomp")
    return network, box


@pytest.mark.benchmark(min_rounds=3)
def test_reading(benchmark: Any) -> None:
    network, box = files()
    benchmark.group = "onnx and vnnlib / acas 1_1 property 3"
    net, domain = benchmark(lambda: (pc.Network.from_onnx(network), pc.Box.from_vnnlib(box)))
    assert (net.n_neurons, domain.rank) == (300, 5)


@pytest.mark.benchmark(min_rounds=3)
def test_carving(benchmark: Any) -> None:
    network, box = files()
    net, domain = pc.Network.from_onnx(network), pc.Box.from_vnnlib(box)
    benchmark.group = "simplex / acas 1_1 property 3"
    carving = benchmark(lambda: pc.carve(net, domain, method="simplex"))
    assert len(carving) == REGIONS
    benchmark.extra_info["regions"] = REGIONS
    if benchmark.stats:
        benchmark.extra_info["regions_per_second"] = REGIONS / benchmark.stats["median"]


@pytest.mark.benchmark(min_rounds=3)
def test_command_line(benchmark: Any) -> None:
    """Start, imports, files, carving and printing."""
    network, box = files()
    benchmark.group = "command line / acas 1_1 property 3"
    command = [sys.executable, "-m", "polycarve", "carve", str(network), "--vnnlib", str(box)]
    done = benchmark(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
    assert f"{REGIONS:,} activation regions" in done.stdout
    benchmark.extra_info["regions"] = REGIONS
