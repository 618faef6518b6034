"""What it costs to prove a carving, and to check the proof; how large the file is.

Run as `test_bench_carving.py` says. ``us_per_region`` and ``us_per_vector`` are of the proof or of
the checker; ``profile`` is where the proof's time goes, in per cent, as cProfile sees it: ``forms``
of layers, ``proposals`` by floats, ``vectors`` rounded and proven in integers, ``points``. No time
is asserted.
"""

from __future__ import annotations

import cProfile
import pstats
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from networks import load
from test_bench_acas import files

import polycarve as pc
from polycarve.certificate import checker

ACAS = "acas 1_1 property 3"

# By dimension, and by depth: a network after its first layers.
CASES = [
    ("moons", None),
    ("rand_2-32-32-32", 1),
    ("rand_2-32-32-32", 2),
    ("rand_2-32-32-32", None),
    ("rand_3-16-16-16", 1),
    ("rand_3-16-16-16", 2),
    ("rand_3-16-16-16", None),
    *(
        pytest.param(name, None, marks=pytest.mark.large)
        for name in ("rand_2-128-128", "rand_4-16-16", "rand_5-16-16", "rand_6-12-12", "rand_8-16")
    ),
    pytest.param(ACAS, None, marks=pytest.mark.large),
]

_PARTS = {
    "forms": ("next_layer", "set"),
    "proposals": ("propose",),
    "vectors": ("_short", "_exact", "_decided"),
    "points": ("_leaf",),
}


@cache
def carved(name: str, layer: int | None) -> pc.Carving:
    if name == ACAS:
        network, box = files()
        return pc.carve(pc.Network.from_onnx(network), pc.Box.from_vnnlib(box))
    case = load(name)
    carving = pc.carve(case.network, case.box, stop_layer=layer)
    assert layer is not None or len(carving) == case.regions
    return carving


def label(name: str, layer: int | None) -> str:
    return name if layer is None else f"{name}, layer {layer}"


def profile(carving: pc.Carving) -> dict[str, int]:
    """Where the time goes, in per cent."""
    profiler = cProfile.Profile()
    profiler.runcall(carving.certify)
    stats = pstats.Stats(profiler)
    spent = dict.fromkeys(_PARTS, 0.0)
    for (file, _, function), (_, _, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        for part, names in _PARTS.items():
            is_kernel = "kernels" in file
            if function in names and "polycarve" in file and not is_kernel:
                spent[part] += cumulative
    return {part: round(100 * time / stats.total_tt) for part, time in spent.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "layer"), CASES)
def test_proof(benchmark: Any, name: str, layer: int | None, tmp_path: Path) -> None:
    carving = carved(name, layer)
    benchmark.group = f"proof / {label(name, layer)}"
    carved("moons", None).certify()  # kernels are compiled before anything is timed
    certificate = benchmark.pedantic(carving.certify, rounds=3 if benchmark.enabled else 1)
    assert certificate.proved
    assert len(certificate.carving) == len(carving)
    certificate.save(tmp_path / "certificate.gz")
    size = (tmp_path / "certificate.gz").stat().st_size
    info = benchmark.extra_info
    info["regions"], info["vectors"] = len(carving), certificate.n_vectors
    info["exact"], info["programs"] = certificate.n_exact, certificate.n_programs
    info["bytes"] = size
    info["bytes_per_region"] = round(size / len(carving), 1)
    info["bytes_per_vector"] = round(size / max(1, certificate.n_vectors), 1)
    if benchmark.enabled:
        _each(benchmark, certificate)
        info["profile"] = profile(carving)


@pytest.mark.parametrize(("name", "layer"), CASES)
def test_checker(benchmark: Any, name: str, layer: int | None, tmp_path: Path) -> None:
    certificate = carved(name, layer).certify()
    path = tmp_path / "certificate.gz"
    certificate.save(path)
    benchmark.group = f"checker / {label(name, layer)}"
    said = benchmark.pedantic(checker.check, (path,), rounds=3 if benchmark.enabled else 1)
    assert said == certificate.theorem
    info = benchmark.extra_info
    info["regions"], info["vectors"] = len(certificate.carving), certificate.n_vectors
    if benchmark.enabled:
        _each(benchmark, certificate)


def _each(benchmark: Any, certificate: Any) -> None:
    seconds = benchmark.stats.stats.median
    info = benchmark.extra_info
    info["us_per_region"] = round(1e6 * seconds / len(certificate.carving), 1)
    info["us_per_vector"] = round(1e6 * seconds / max(1, certificate.n_vectors), 1)
