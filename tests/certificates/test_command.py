"""``polycarve certify``: proofs, files, and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

import polycarve as pc
from polycarve.cli import main
from tests import cases
from tests.certificates import damage
from tests.command_line import messages, schema

SCHEMA = schema("certify")
MOONS = str(cases.DATA / "networks" / "moons.npz")
BOX = ("--box", "-3", "3")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["certify", *args])


def test_prove_and_check(tmp_path: Path) -> None:
    path = str(tmp_path / "moons.gz")
    done = run(MOONS, *BOX, "--out", path)
    assert done.exit_code == 0, done.stderr
    assert "exactly 66 activation regions after 3 hidden layers (13, 43, 66" in done.stdout
    assert not messages(done)
    checked = run("--check", path)
    assert checked.exit_code == 0
    assert checked.stdout.startswith("PROVED\nThe network with SHA-256 ")
    as_json = json.loads(run("--check", path, "--json").stdout)
    jsonschema.validate(as_json, SCHEMA)
    assert as_json["proved"] is True
    assert as_json["message"] in checked.stdout


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "moons.gz"
    run(MOONS, *BOX, "--out", str(path))
    damage.write(path, damage.resized(damage.read(path)[:-1]))
    done = run("--check", str(path))
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.startswith("REFUSED line 66, region 62, layer 2, cut 0: its vector")
    done = run("--check", str(tmp_path / "none.gz"), "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["proved"] is False


def test_what_is_proven_as_json(tmp_path: Path) -> None:
    net = pc.Network.from_arrays([[[3]]], [[-0.3]], relu_last=True)
    carving = pc.carve(net, pc.Box([0], [0.1]))
    carving.save(tmp_path / "carving.npz")
    done = run(str(tmp_path / "carving.npz"), "--json", "--out", str(tmp_path / "proof.gz"))
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert found["regions"] == 2
    assert (found["added"], found["dropped"]) == (1, 0)
    assert found["network"] == net.digest
    assert found["file"] == str(tmp_path / "proof.gz")
    assert "1 regions that floating point" in run(str(tmp_path / "carving.npz")).stdout


@pytest.mark.parametrize(
    ("args", "status", "regions"),
    [
        ((*BOX, "--stop-layer", "1"), 0, 13),
        (("--space",), 0, 93),
        (("--segment", "0,0", "1/2,1"), 0, None),
        ((*BOX, "--max-seconds", "1e-9"), 3, 0),
    ],
)
def test_options(args: tuple[str, ...], status: int, regions: int | None, tmp_path: Path) -> None:
    done = run(MOONS, *args, "--json", "--out", str(tmp_path / "c.gz"))
    assert done.exit_code == status, done.stderr
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert regions in (None, found["regions"])
    assert found["proved"] == (tmp_path / "c.gz").exists() == (found["regions"] > 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give a network and a domain, or --check FILE"),
        ((MOONS,), "give one domain"),
        ((MOONS, "--check", "c.gz"), "--check FILE takes no network"),
        (("--check", "c.gz", "--space"), "--check FILE takes no network"),
        (("--check", "c.gz", "--out", "d.gz"), "no option but --json"),
        (("--check", "c.gz", "--workers", "1"), "no option but --json"),
        ((MOONS, *BOX, "--out", "."), "it is not a regular file"),
        ((MOONS, *BOX, "--out", MOONS), "is the file that is read"),
        ((MOONS, *BOX, "--out", "nowhere/c.gz"), "there is no folder"),
        ((MOONS, *BOX, "--workers", "0"), "workers is 0"),
        (("none.npz", *BOX), "no such file"),
    ],
)
def test_bad_usage(args: tuple[str, ...], message: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_carving_says_its_domain(tmp_path: Path) -> None:
    path = tmp_path / "carving.npz"
    pc.carve(*damage.PLACES["fig19"]()).save(path)
    before = path.read_bytes()
    for more, says in [
        (["--space"], "it says its domain"),
        (["--method", "simplex"], "it says its domain"),
        (["--stop-layer", "1"], "it says its domain"),
        (["--relu-last"], "it says its domain"),
        (["--out", str(path)], "is the file that is read"),
    ]:
        done = run(str(path), *more)
        assert done.exit_code == 2
        assert says in done.stderr
    assert path.read_bytes() == before


def test_time_is_for_the_carving_too() -> None:
    network = str(cases.DATA / "networks" / "rand_8-16-16.npz")  # a million regions
    done = run(network, "--box", "-1", "1", "--max-seconds", "0.01", "--json")
    assert done.exit_code == 3, done.stderr
    found = json.loads(done.stdout)
    assert not found["complete"]


def test_the_network_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "moons.npz"
    path.write_bytes(Path(MOONS).read_bytes())
    for verb in ("carve", "certify"):
        done = CliRunner().invoke(main, [verb, str(path), *BOX, "--out", str(path)])
        assert done.exit_code == 2
        assert "is the file that is read" in done.stderr
        assert path.read_bytes() == Path(MOONS).read_bytes()
