"""`polycarve plot` and `polycarve demo --figures`."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from click.testing import CliRunner, Result
from matplotlib import pyplot as plt

import polycarve as pc
from polycarve.cli import main
from polycarve.networks import examples
from polycarve.plot import figures
from tests import cases

mpl.use("Agg")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


def test_demo_writes_the_figures(tmp_path: Path) -> None:
    done = run("demo", "--figures", str(tmp_path / "figures"))
    assert done.exit_code == 0, done.stderr
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert written == sorted(f"{name}.png" for name in figures.FIGURES)
    for path in (tmp_path / "figures").iterdir():
        assert 10_000 < path.stat().st_size < 150_000
        assert path.read_bytes().startswith(b"\x89PNG")
    assert not plt.get_fignums()
    (tmp_path / "file").write_text("")
    done = run("demo", "--figures", str(tmp_path / "file" / "below"))
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "moons.npz"
    pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2)).save(path)
    return str(path)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--color", "layer:3", "--codes"),
        ("--color", "active:2", "--layer", "2"),
        ("--color", "output:1", "--bounds", "-1", "1", "0", "2"),
        ("--layers", "--color", "layer"),
        ("--graph",),
    ],
)
def test_plot_writes_pictures(tmp_path: Path, saved: str, options: tuple[str, ...]) -> None:
    for suffix, head in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        out = tmp_path / f"picture{suffix}"
        done = run("plot", saved, "--out", str(out), "--dpi", "40", *options)
        assert done.exit_code == 0, done.stderr
        assert done.stdout == f"wrote {out}\n"
        assert out.read_bytes().startswith(head)
    assert not plt.get_fignums()


def test_plot_of_a_solid(tmp_path: Path) -> None:
    case = cases.spec()["rand_3-16-16-16"]
    carved, out = tmp_path / "solid.npz", tmp_path / "solid.png"
    pc.carve(case.network, case.box).save(carved)
    assert run("plot", str(carved), "--out", str(out)).exit_code == 0
    assert run("plot", str(carved), "--out", str(out), "--layers", "--dpi", "60").exit_code == 0
    assert out.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "picture.gif"), "suffix '.gif' names no format of a picture"),
        (("--out", "picture"), "suffix '' names no format"),
        (("--out", "nowhere/picture.png"), "no folder"),
        (("--out", "a.png", "--layers", "--graph"), "--layers draws every layer"),
        (("--out", "a.png", "--color", "layer:x"), "--color layer:x"),
        (("--out", "a.png", "--color", "red"), "--color red: active"),
        (("--out", "a.png", "--color", "output"), "output:0 to output:1"),
        (("--out", "a.png", "--color", "layer:2", "--layers"), "with --layers, active"),
        (("--out", "a.png", "--layer", "7"), "layer is 7"),
        (("--out", "a.png", "--bounds", "1", "0", "0", "1"), "bounds are"),
        ((), "--out"),
    ],
)
def test_plot_refuses_in_words(
    tmp_path: Path,
    saved: str,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("plot", saved, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["moons.npz"]


def test_plot_refuses_to_overwrite_what_it_reads(tmp_path: Path, saved: str) -> None:
    link = tmp_path / "carving.png"
    link.symlink_to(saved)
    done = run("plot", saved, "--out", str(link))
    assert done.exit_code == 2
    assert "is the carving itself" in done.stderr
    assert len(pc.load(saved)) == 66


def test_plot_speaks_of_its_own_options(tmp_path: Path) -> None:
    line, none = tmp_path / "line.npz", tmp_path / "none.npz"
    pc.carve(pc.theory.networks.tent(2).network, pc.Space(1)).save(line)
    pc.carve(([[[1, 2]]], [[0]]), pc.Box.cube(-1, 1, dim=2)).save(none)
    out = str(tmp_path / "a.png")
    done = run("plot", str(line), "--out", out, "--bounds", "0", "1", "0", "1")
    assert (done.exit_code, "--bounds are of a plane" in done.stderr) == (2, True)
    done = run("plot", str(none), "--out", out, "--layers")
    assert (done.exit_code, "Leave out --layers" in done.stderr) == (2, True)


def test_demo_says_what_it_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moons-regions.png").mkdir()
    done = run("demo", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "moons-regions.png cannot be written" in done.stderr
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("demo", "--figures", str(tmp_path))
    assert done.exit_code == 2
    assert "polycarve[plot]" in done.stderr
