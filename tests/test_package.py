"""The package as a whole: what importing costs, what the README and the command line promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polycarve
from tests import cases

ROOT = Path(__file__).parent.parent


def python(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )


def test_importing_loads_nothing_heavy() -> None:
    heavy = ["torch", "numba", "cvxpy", "matplotlib", "scipy", "networkx", "onnx", "pandas"]
    done = python("-c", f"import polycarve, sys; print([m for m in {heavy} if m in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_public_names_exist_and_are_documented() -> None:
    for name in polycarve.__all__:
        assert getattr(polycarve, name).__doc__, name
    assert set(polycarve.__all__) <= set(dir(polycarve))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        polycarve.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "block", re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
)
def test_readme_snippets(block: str, tmp_path: Path) -> None:
    script = tmp_path / "snippet.py"
    script.write_text(block)
    done = python("-W", "error", str(script))
    assert done.returncode == 0, done.stderr


def test_demo(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = python("-m", "polycarve", "demo", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "66 activation regions" in done.stdout
    lines = (out / "moons-regions.csv").read_text().splitlines()
    assert len(lines) == 67
    assert lines[1].startswith("0,iiiii|")
    assert (out / "moons-regions.png").stat().st_size > 10_000


def test_demo_without_a_writable_folder(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = python("-m", "polycarve", "demo", "--out", str(blocked / "below"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_first_run_says_that_it_compiles(tmp_path: Path) -> None:
    begin = (
        "import polycarve as pc;"
        "net = pc.Network.from_arrays([[[1.0]]], relu_last=True);"
        "carving = pc.carve(net, pc.Box([-1], [1]));"
    )
    script, more = begin + "print(len(carving))", begin + "print(len(carving.halfspaces().offsets))"
    cache = {"POLYCARVE_CACHE": str(tmp_path / "cache")}
    first, second = python("-c", script, **cache), python("-c", script, **cache)
    assert first.stdout.strip() == second.stdout.strip() == "2"
    assert "compiling kernels once" in first.stderr
    assert second.stderr == ""
    third, fourth = python("-c", more, **cache), python("-c", more, **cache)
    assert third.stdout.strip() == "3", third.stderr
    assert "compiling kernels once" in third.stderr  # others than the first run needed
    assert fourth.stderr == ""


def test_runs_without_a_writable_cache(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    script = "from polycarve.splitting.kernels.compilation import FOLDER; print(FOLDER)"
    assert python("-c", script, POLYCARVE_CACHE=str(blocked)).stdout.strip() == "None"


def test_compiled_and_interpreted_kernels_agree() -> None:
    """The kernels are plain Python: without the compiler they give the same bits."""
    script = (
        "import polycarve as pc; from polycarve.networks import examples;"
        "c = pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2));"
        "print(c.packed.tolist(), c.layer_counts)"
    )
    done = python("-c", script, NUMBA_DISABLE_JIT="1")
    case = cases.spec()["fig19"]
    carving = polycarve.carve(case.network, case.box)
    assert done.stdout.strip() == f"{carving.packed.tolist()} {carving.layer_counts}", done.stderr


def test_shipped_networks_are_those_of_the_tests() -> None:
    from polycarve.networks import examples

    for name in ("moons", "fig19"):
        ours, theirs = getattr(examples, name)(), cases.spec()[name].network
        assert ours.digest == theirs.digest
    assert np.isfinite(ours([0.0, 0.0])).all()
