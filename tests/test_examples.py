"""The studies: each writes its figure and its table, here on small settings."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("matplotlib")
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in set(sys.modules) - before:  # names such as "training" are taken elsewhere too
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


def run(name: str, folder: Path) -> list[dict[str, Any]]:
    importlib.import_module(name).main(["--small", "--out", str(folder)])
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (folder / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    return rows


def test_every_study_is_tried() -> None:
    studies = {path.stem for path in FOLDER.glob("*.py")} - {"study"}
    assert studies == {"width_and_depth", "bottleneck", "undercount", "training"}


def test_width_and_depth(tmp_path: Path) -> None:
    for row in run("width_and_depth", tmp_path):
        assert int(row["seen"]) <= int(row["regions"]) <= int(row["upper_bound"])
        assert row["depth"] != "1" or row["upper_bound"] == row["one_layer_as_many_neurons"]


def test_bottleneck(tmp_path: Path) -> None:
    rows = run("bottleneck", tmp_path)
    for row in rows:
        assert int(row["regions"]) <= int(row["upper_bound"]) <= int(row["product"])
    assert any(row["upper_bound"] != row["product"] for row in rows)


def test_undercount(tmp_path: Path) -> None:
    rows = run("undercount", tmp_path)
    for row in rows:
        assert int(row["seen"]) <= int(row["regions"])
    moons = [int(row["seen"]) for row in rows if row["network"] == "moons"]
    assert moons == sorted(moons)
    assert moons[0] < 66


def test_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rows = run("training", tmp_path)
    assert [int(row["step"]) for row in rows][:2] == [0, 1]
    assert len({row["layer3"] for row in rows}) > 1
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])
