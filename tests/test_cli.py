"""The command line: streams, exit status, JSON, and errors of one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

import polycarve as pc
from polycarve.cli import main
from tests import cases
from tests.command_line import messages, schema

NETWORKS = cases.DATA / "networks"
MOONS = str(NETWORKS / "moons.npz")
SCHEMA = schema("carve")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


def test_carve_prints_the_counts() -> None:
    done = run("carve", MOONS, "--box", "-3", "3")
    assert done.exit_code == 0
    assert "after layer 2: 43 regions" in done.stdout
    assert "66 activation regions in" in done.stdout
    assert not messages(done)


@pytest.mark.parametrize(
    ("args", "status", "facts"),
    [
        (("--box", "-3", "3"), 0, {"regions": 66, "complete": True, "n_doubtful": 0}),
        (("--space",), 0, {"regions": 93, "layer_counts": [16, 52, 93]}),
        (("--space", "--stop-layer", "1"), 0, {"regions": 16, "layers_carved": 1}),
        (("--box", "-3", "3", "--max-regions", "9"), 3, {"regions": 9, "stop_reason": "regions"}),
        (("--box", "-3", "3", "--max-seconds", "1e-9"), 3, {"stop_reason": "time"}),
        (("--box", "-3", "3", "--method", "highs"), 0, {"regions": 66, "method": "highs"}),
        (("--box", "-3", "3", "--workers", "2"), 0, {"regions": 66, "seconds": None}),
        (("--box", "1/3", "0.5"), 0, {"complete": True}),
    ],
)
def test_carve_as_json(args: tuple[str, ...], status: int, facts: dict[str, object]) -> None:
    done = run("carve", MOONS, *args, "--json")
    assert done.exit_code == status, done.stderr
    assert not messages(done)
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    for name, value in facts.items():
        if name == "seconds":
            assert found["seconds"] > 0
        else:
            assert found[name] == value


def test_saved_carvings_are_described(tmp_path: Path) -> None:
    out = tmp_path / "moons.npz"
    done = run("carve", MOONS, "--box", "-3", "3", "--out", str(out), "--json")
    assert json.loads(done.stdout)["file"] == str(out)
    assert len(pc.load(out)) == 66
    told = run("info", str(out))
    assert told.exit_code == 0
    assert "66 activation regions" in told.stdout
    found = json.loads(run("info", str(out), "--json").stdout)
    jsonschema.validate(found, SCHEMA)
    assert found["seconds"] is None


def test_networks_are_described() -> None:
    told = run("info", MOONS)
    assert told.exit_code == 0
    assert "15 neurons in 3 hidden layers" in told.stdout
    assert "4: 5 -> 2" in told.stdout
    found = json.loads(run("info", MOONS, "--json").stdout)
    assert [layer["units"] for layer in found["layers"]] == [5, 5, 5, 2]
    assert found["layers"][-1]["activation"] is None
    assert (
        json.loads(run("info", MOONS, "--relu-last", "--json").stdout)["layers"][-1]["activation"]
        == "relu"
    )


def test_relu_last_is_read_from_the_file_or_the_option() -> None:
    box = ("--box", "-4", "6", "--json")
    fig19 = str(NETWORKS / "fig19.npz")
    assert json.loads(run("carve", fig19, *box).stdout)["regions"] == 17
    assert json.loads(run("carve", fig19, *box, "--no-relu-last").stdout)["regions"] == 10


def test_torch_files_need_trust(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    path = tmp_path / "net.pt"
    torch.save(module, path)
    refused = run("carve", str(path), "--box", "-1", "1")
    assert refused.exit_code == 2
    assert "--trust-pickle" in refused.stderr
    taken = run("carve", str(path), "--box", "-1", "1", "--trust-pickle", "--json")
    want = len(pc.carve(module, pc.Box.cube(-1, 1, dim=2)))
    assert json.loads(taken.stdout)["regions"] == want
    torch.save(module.state_dict(), path)
    told = run("info", str(path), "--trust-pickle")
    assert told.exit_code == 2
    assert "state_dict" in told.stderr
    path.write_bytes(b"nonsense")
    assert run("info", str(path), "--trust-pickle").exit_code == 2


def test_onnx_files_are_told_node_by_node(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from tests.onnx_models import model, node

    path = str(tmp_path / "net.onnx")
    nodes = node("MatMul", "x W", "m"), node("Relu", "m", "r"), node("Softmax", "r", "y")
    onnx.save(model(*nodes, shape=("n", 2), constants={"W": np.eye(2) + 1}), path)
    refused = run("info", path)
    assert refused.exit_code == 2
    assert "--drop-tail" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    told = run("info", path, "--drop-tail")
    assert told.exit_code == 0
    assert "  MatMul_m (MatMul): layer 1: 2 -> 2\n  Relu_r (Relu): relu of layer 1" in told.stdout
    found = json.loads(run("info", path, "--drop-tail", "--json").stdout)
    assert found["nodes"][2] == {"node": "Softmax_y", "op": "Softmax", "result": "dropped"}
    assert found["layers"] == [{"units": 2, "inputs": 2, "activation": "relu"}]
    carved = run("carve", path, "--space", "--drop-tail", "--json")
    assert json.loads(carved.stdout)["regions"] == 4
    assert "--relu-last" in run("info", path, "--relu-last").stderr
    for command in (("carve", MOONS, "--space"), ("info", MOONS), ("info", "net.pt")):
        done = run(*command, "--drop-tail")
        assert done.exit_code == 2
        assert "--drop-tail is for .onnx networks" in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("carve", "absent.npz", "--space"), "no such file"),
        (("carve", "absent.onnx", "--space"), "absent.onnx: no such file"),
        (("carve", MOONS), "give one domain"),
        (("carve", MOONS, "--space", "--box", "0", "1"), "give one domain"),
        (("carve", MOONS, "--box", "1", "0"), "lo > hi"),
        (("carve", MOONS, "--box", "0", "x"), "'x' is not a finite number"),
        (("carve", MOONS, "--box", "0"), "requires 2 arguments"),
        (("carve", MOONS, "--space", "--method", "magic"), "method 'magic' is unknown"),
        (("carve", MOONS, "--space", "--workers", "0"), "workers is 0"),
        (("carve", MOONS, "--space", "--workers", "two"), "not a valid integer"),
        (("carve", MOONS, "--space", "--max-regions", "0"), "max_regions is 0"),
        (("carve", MOONS, "--space", "--max-seconds", "-1"), "max_seconds is -1"),
        (("carve", MOONS, "--space", "--stop-layer", "9"), "stop_layer is 9"),
        (("carve", MOONS, "--space", "--out", "/no/such/folder/x.npz"), "no folder"),
        (("carve", MOONS, "--space", "--colour"), "No such option"),
        (("carve", str(NETWORKS / "spec.json"), "--space"), "networks are read from"),
        (("carve", "net.pt", "--space"), "pickle"),
        (("info", str(NETWORKS / "spec.json")), "networks are read from"),
        (("info", "absent.npz"), "no such file"),
        (("sing",), "No such command"),
    ],
)
def test_errors_are_one_line_and_status_two(args: tuple[str, ...], words: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_broken_network_files(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    path.write_bytes(Path(MOONS).read_bytes()[:500])
    assert run("carve", str(path), "--space").exit_code == 2
    np.savez(path, W0=np.eye(2))
    assert "lacks b0" in run("carve", str(path), "--space").stderr
    np.savez(path, W0=np.full((1, 2), np.nan), b0=np.zeros(1))
    assert "weights of layer 1" in run("info", str(path)).stderr


def test_help_and_version() -> None:
    assert run("--version").stdout.startswith("polycarve, version ")
    for verb in ("carve", "graph", "plot", "info", "demo"):
        done = run(verb, "--help")
        assert done.exit_code == 0
        assert verb in done.stdout
    assert run().exit_code == 2


# ---------------------------------------------------------------------- domains


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Domains in files, and what is wrong with some."""
    X = np.load(NETWORKS / "digits_slice.npz")["X"]
    np.savez(tmp_path / "square.npz", A=[[1, 0], [-1, 0], [0, 1], [0, -1]], b=[3, 3, 3, 3])
    np.savez(tmp_path / "digits.npz", origin=X[0], directions=[X[1] - X[0], X[2] - X[0]],
             lo=[-1, -1], hi=[2, 2])  # fmt: skip
    np.savez(tmp_path / "diagonal.npz", origin=[0, 0], directions=[[1, 1]])
    np.savez(tmp_path / "half.npz", origin=[0, 0], directions=[[1, 1]], lo=[0])
    np.savez(tmp_path / "strange.npz", C=[1])
    (tmp_path / "text.npz").write_text("A, b")
    bounds = [f"(assert ({op} X_{j} {v}))" for j in (0, 1) for op, v in ((">=", -3), ("<=", "3.0"))]
    declared = ["(declare-const X_0 Real)", "(declare-const X_1 Real)"]
    (tmp_path / "property.vnnlib").write_text("\n".join([*declared, *bounds]))
    (tmp_path / "open.vnnlib").write_text("\n".join([*declared, *bounds[:-1]]))
    return {path.stem: str(path) for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("network", "args", "regions"),
    [
        ("moons", ("--polytope", "square"), 66),
        ("moons", ("--vnnlib", "property"), 66),
        ("moons", ("--segment", "-3,-3", "3,3"), 13),
        ("moons", ("--slice", "diagonal"), 22),
        ("digits", ("--slice", "digits"), 1789),
    ],
)
def test_domains_by_name(
    network: str, args: tuple[str, ...], regions: int, files: dict[str, str]
) -> None:
    named = [files.get(arg, arg) for arg in args]
    done = run("carve", str(NETWORKS / f"{network}.npz"), *named, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert found["regions"] == regions


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give one domain"),
        (("--space", "--box", "0", "1"), "give one domain"),
        (("--polytope", "square", "--slice", "diagonal"), "give one domain"),
        (("--polytope", "nowhere.npz"), "nowhere.npz: no such file"),
        (("--vnnlib", "nowhere.vnnlib"), "nowhere.vnnlib"),
        (("--vnnlib", "open"), "X_1"),
        (("--polytope", "text"), "is not an .npz file"),
        (("--polytope", "strange"), "lacks A, b; it needs A, b"),
        (("--slice", "half"), "lacks hi; it needs origin, directions, lo, hi"),
        (("--segment", "0,0", "1"), "x1 has 1"),
        (("--segment", "0,0", "1,b"), "'b' is not a finite number"),
        (("--segment", "0,0,0", "1,2,3"), "3 coordinates and the network reads 2"),
        (("--slice", "digits"), "64 coordinates and the network reads 2"),
    ],
)
def test_domains_that_are_none(args: tuple[str, ...], message: str, files: dict[str, str]) -> None:
    done = run("carve", MOONS, *(files.get(arg, arg) for arg in args))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------------- the region graph


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "moons.npz"
    assert run("carve", MOONS, "--box", "-3", "3", "--out", str(path)).exit_code == 0
    return str(path)


def test_graph_prints_figures(saved: str) -> None:
    done = run("graph", saved)
    assert done.exit_code == 0, done.stderr
    assert not messages(done)
    assert "116 shared, 32 on the boundary" in done.stdout
    found = json.loads(run("graph", saved, "--json").stdout)
    assert found["regions"] == 66
    assert found["diameter"] == [12, 12]
    assert found["file"] is None


@pytest.mark.parametrize("suffix", ["graphml", "gexf", "json", "dot", "csv", "npz"])
def test_graph_writes_files(saved: str, suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{suffix}"
    done = run("graph", saved, "--out", str(out))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith(f"written to {out}\n")
    same = tmp_path / f"same.{suffix}"
    pc.write_graph(pc.load(saved), same)
    assert out.read_bytes() == same.read_bytes()


def test_graph_writes_what_is_asked_for(saved: str, tmp_path: Path) -> None:
    out = tmp_path / "g.json"
    args = ("--out", str(out), "--with", "volume", "--with", "radius", "--json")
    assert json.loads(run("graph", saved, *args).stdout)["file"] == str(out)
    nodes = json.loads(out.read_text())["nodes"]
    assert sum(node["volume"] for node in nodes) == pytest.approx(36)
    assert all(node["radius"] > 0 for node in nodes)


def test_graph_of_an_incomplete_carving_says_so(tmp_path: Path) -> None:
    path = tmp_path / "part.npz"
    run("carve", MOONS, "--space", "--max-regions", "9", "--out", str(path))
    done = run("graph", str(path))
    assert done.exit_code == 0, done.stderr
    assert "9 so far" in done.stdout
    assert "incomplete" in done.stdout
    assert json.loads(run("graph", str(path), "--json").stdout)["complete"] is False


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("graph", "absent.npz"), "no such file"),
        (("graph", MOONS), "is not a saved carving"),
        (("graph", str(NETWORKS / "spec.json")), "is not a saved carving"),
        (("graph", "{saved}", "--out", "g.txt"), "There are .graphml, .gexf, .json, .dot, .csv"),
        (("graph", "{saved}", "--out", "g"), "names no format"),
        (("graph", "{saved}", "--out", "/no/such/folder/g.json"), "there is no folder"),
        (("graph", "{saved}", "--out", "{saved}/g.json"), "there is no folder"),
        (("graph", "{saved}", "--out", "{saved}"), "is the carving itself"),
        (("graph", "{saved}", "--with", "colour"), "no attribute 'colour'"),
        (("graph", "{saved}", "--with", "volume"), "name one with --out"),
        (("graph", "{saved}", "--with", "volume", "--out", "{saved}.csv"), "holds no attributes"),
        (("graph",), "Missing argument"),
    ],
)
def test_graph_errors_are_one_line(args: tuple[str, ...], words: str, saved: str) -> None:
    before = Path(saved).read_bytes()
    done = run(*(arg.format(saved=saved) for arg in args))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert Path(saved).read_bytes() == before


def test_graph_without_pyarrow(saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("graph", saved, "--out", str(tmp_path / "g.parquet"))
    assert done.exit_code == 2
    assert "polycarve[parquet]" in done.stderr
