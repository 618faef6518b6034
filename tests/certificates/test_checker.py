"""The checker: what it must refuse, with a word on where; and what happens if it did not look."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import polycarve as pc
from polycarve.certificate import checker
from tests import cases
from tests.certificates import damage
from tests.certificates.damage import FIRST, PLACES, Records

SOURCE = Path(checker.__file__)
SMALL = ["fig19", "a line", "a point", "a triangle", "a wedge", "zero biases on a box"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Records]:
    folder, known = tmp_path_factory.mktemp("certificates"), {}

    def certificate(name: str) -> Records:
        if name not in known:
            damage.carved(name).certify().save(folder / "certificate.gz")
            known[name] = damage.read(folder / "certificate.gz")
        return copy.deepcopy(known[name])

    return certificate


def verdict(path: Path, records: Records) -> str:
    """What a checker says of records: the refusal, or nothing if it accepts."""
    try:
        checker.check(damage.write(path, records))
    except checker.Refused as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("name", PLACES)
def test_right_certificates_are_accepted(
    name: str, certificates: Callable[[str], Records], tmp_path: Path
) -> None:
    assert verdict(tmp_path / "c.gz", certificates(name)) == ""


@pytest.mark.parametrize("name", SMALL)
def test_damaged_certificates_are_refused(
    name: str, certificates: Callable[[str], Records], tmp_path: Path
) -> None:
    seen = 0
    for damaged in damage.damages(certificates(name)):
        says = verdict(tmp_path / "c.gz", damaged.records)
        assert re.search(damaged.message, says), f"{damaged.name}: {says or 'accepted'}"
        seen += 1
    assert seen > 10


def test_every_region_of_moons_is_missed(
    certificates: Callable[[str], Records], tmp_path: Path
) -> None:
    whole = certificates("moons")
    for i in range(len(whole) - FIRST):
        rest = damage.resized(copy.deepcopy(whole[: FIRST + i] + whole[FIRST + i + 1 :]))
        assert "region" in verdict(tmp_path / "c.gz", rest)


def test_two_copies_of_a_neuron_listed_on_one_side(tmp_path: Path) -> None:
    """Each is implied by the other, and that must not count."""
    net = pc.Network.from_arrays([[[1], [1]]], relu_last=True)
    pc.carve(net, [(-1, 1)]).certify().save(tmp_path / "c.gz")
    records = damage.read(tmp_path / "c.gz")
    assert [record[0] for record in records[FIRST:]] == ["0", "3"]
    for kept in (0, 1):
        for vectors in ([], ["1 0 1", "1 0 1"], ["1 1 1", "1 0 1"], ["1", "1"]):
            region = [*records[FIRST + kept][:2], *vectors]
            says = verdict(tmp_path / "c.gz", damage.resized([*records[:FIRST], region]))
            assert "region 0, layer 1, cut 0: " in says


def test_hyperplanes_that_touch_are_not_crossed(tmp_path: Path) -> None:
    """A cut along a side of the box: listed on both sides, the thin one has no witness."""
    net = pc.Network.from_arrays([[[1]]], [[1]], relu_last=True)
    pc.carve(net, [(-1, 1)]).certify().save(tmp_path / "c.gz")
    records = damage.read(tmp_path / "c.gz")
    assert [record[0] for record in records[FIRST:]] == ["1"]
    for point in ("1 0", "2 0", "1000 0", "1000 1", "1 -1"):
        both = [*records[:FIRST], ["0", point], ["1", "2 1"]]
        assert "witness" in verdict(tmp_path / "c.gz", damage.resized(both))


def test_a_partial_list_proves_at_least(tmp_path: Path) -> None:
    case = cases.spec()["moons"]
    carving = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=9))
    carving.certify().save(tmp_path / "c.gz")
    records = damage.read(tmp_path / "c.gz")
    assert "at least 9 activation regions" in checker.check(tmp_path / "c.gz")
    assert all(len(record) == 2 for record in records[FIRST:])
    for i in range(9):
        moved = copy.deepcopy(records)
        moved[FIRST + i][1] = records[FIRST + (i + 1) % 9][1]
        assert f"region {i}: the witness" in verdict(tmp_path / "c.gz", moved)
    records[0]["complete"] = True
    assert "region 0, layer 1, cut 0: no vector" in verdict(tmp_path / "c.gz", records)


# ---------------------------------------------------------------------- what is no certificate


def _changes() -> dict[str, tuple[Callable[[Records], Any], str]]:
    def put(line: int, key: Any, value: Any) -> Callable[[Records], Any]:
        return lambda r: r[line].__setitem__(key, value)

    def layer(key: str, value: Any) -> Callable[[Records], Any]:
        return lambda r: r[1]["layers"][0].__setitem__(key, value)

    return {
        "another format": (put(0, "format", "x"), "line 1: no certificate"),
        "a later version": (put(0, "version", 2), "line 1: this checker reads version 1"),
        "version as text": (put(0, "version", "1"), "line 1: this checker"),
        "no version": (lambda r: r[0].pop("version"), "line 1: it cannot be read"),
        "header no object": (lambda r: r.__setitem__(0, []), "line 1: it cannot"),
        "complete 1": (put(0, "complete", 1), "line 1: complete"),
        "too few regions said": (put(0, "regions", "1"), "line 1: regions"),
        "regions a number": (put(0, "regions", 17), "line 1: regions: no text"),
        "no region": (lambda r: damage.resized(r).__delitem__(slice(3, None)), "before any region"),
        "too many layers": (put(0, "layers", "4"), "line 2: the network has only 3 hidden"),
        "fewer layers": (put(0, "layers", "2"), "more bits"),
        "negative layers": (put(0, "layers", "-1"), "line 1: layers"),
        "another domain's hash": (put(0, "domain", "0" * 64), "line 3: the domain is not"),
        "another network's hash": (put(0, "network", None), "line 2: the network is not"),
        "no layers": (put(1, "layers", []), "line 2"),
        "layers a number": (put(1, "layers", 3), "line 2: it cannot be read"),
        "input of no dimension": (put(1, "input_dim", "0"), "line 2: input_dim"),
        "reads itself": (layer("inputs", "1"), "line 2: layer 1 reads"),
        "reads nothing": (layer("inputs", ""), "line 2: layer 1 reads"),
        "no units": (layer("units", "0"), "line 2: units of layer 1"),
        "many units": (layer("units", "f" * 99), "line 2"),
        "weights too few": (layer("weight", "1 1"), "line 2: weight of layer 1: not 4"),
        "no denominator": (layer("bias", ""), "line 2: bias of layer 1"),
        "denominator 0": (layer("bias", "0 1 1"), "line 2: bias of layer 1"),
        "negative denominator": (layer("bias", "-1 1 1"), "line 2: bias of layer 1"),
        "activation text": (layer("activation", "relu"), "line 2: it cannot be read"),
        "no activation": (layer("activation", None), "line 2: the network is not"),
        "no cuts": (layer("activation", {"cuts": "1", "jumps": "1", "start": "1 0 0"}), "increase"),
        "cuts equal": (
            layer("activation", {"cuts": "1 0 0", "jumps": "1 1 1", "start": "1 0 0"}),
            "line 2: layer 1: its cuts do not increase",
        ),
        "unknown domain": (put(2, "kind", "ball"), "line 3: the domain is of an unknown kind"),
        "domain a list": (lambda r: r.__setitem__(2, []), "line 3: it cannot be read"),
        "box upside down": (
            lambda r: r[2].update(lo=r[2]["hi"], hi=r[2]["lo"]),
            "line 3: the box is empty",
        ),
        "box of another dimension": (put(2, "lo", "1 0 0 0"), "line 3: lo: not 2 rationals"),
        "other box": (put(2, "lo", "2 -9 -8"), "line 3: the domain is not"),
        "region an object": (lambda r: r.__setitem__(5, {}), "line 6: no list"),
        "region without witness": (lambda r: r.__setitem__(5, ["1"]), "line 6: no list"),
        "pattern a number": (put(5, 0, 3), "line 6: pattern: no text"),
        "pattern null": (put(5, 0, None), "line 6: pattern: no text"),
        "pattern negative": (put(5, 0, "-1"), "line 6: pattern: not an integer"),
        "pattern of two": (put(5, 0, "1 2"), "line 6: pattern: not an integer"),
        "pattern decimal": (put(5, 0, "1.5"), "line 6: pattern: not hexadecimal"),
        "pattern with underscore": (put(5, 0, "1_0"), "line 6: pattern: not hexadecimal"),
        "pattern with newline": (put(5, 0, "1\n"), "line 6: pattern: not hexadecimal"),
        "pattern with other digits": (put(5, 0, "\u0661"), "line 6: pattern: not hexadecimal"),
        "pattern too long": (put(-1, 0, "1" + "0" * 9), "the pattern has more bits"),
        "witness null": (put(5, 1, None), "line 6, region 2, witness: no text"),
        "witness empty": (put(5, 1, ""), "region 2: the witness is not 2 rationals"),
        "witness of three": (put(5, 1, "1 1 1 1"), "region 2: the witness is not 2"),
        "witness over 0": (put(5, 1, "0 1 1"), "region 2: the witness is not 2"),
        "witness over -1": (put(5, 1, "-1 -1 -1"), "region 2: the witness is not 2"),
        "witness outside": (put(5, 1, "1 0 0"), "region 2: witness not in the box"),
        "a line more": (lambda r: r.append(["ff", "1 0 0"]), "line 1: regions"),
        "a line less": (lambda r: r.pop(), "line 1: regions"),
    }  # fmt: skip


@pytest.mark.parametrize("name", _changes())
def test_what_is_no_certificate_is_refused(
    name: str, certificates: Callable[[str], Records], tmp_path: Path
) -> None:
    records = certificates("fig19")
    change, message = _changes()[name]
    change(records)
    assert message in verdict(tmp_path / "c.gz", records)


@pytest.mark.parametrize("name", ["fig19", "all of R^3", "a triangle"])
def test_whatever_is_accepted_lists_the_same_regions(
    name: str, certificates: Callable[[str], Records], tmp_path: Path
) -> None:
    """Numbers of the file are changed at random; some may still prove what they should."""
    whole, rng = certificates(name), random.Random(0)
    accepted = 0
    for _ in range(300):
        records = copy.deepcopy(whole)
        region = rng.choice(records[FIRST:])
        at = rng.randrange(len(region))
        numbers = region[at].split(" ")
        place = rng.randrange(len(numbers))
        number = int(numbers[place], 16)
        number = rng.choice([number + 1, number - 1, -number, 2 * number, number >> 1, 0, 1])
        numbers[place] = f"{number:x}"
        region[at] = " ".join(numbers)
        if not verdict(tmp_path / "c.gz", records):
            assert [r[0] for r in records[FIRST:]] == [r[0] for r in whole[FIRST:]]
            accepted += 1
    assert accepted < 200


def test_broken_files_are_refused(certificates: Callable[[str], Records], tmp_path: Path) -> None:
    path = damage.write(tmp_path / "c.gz", certificates("fig19"))
    good, text = path.read_bytes(), gzip.decompress(path.read_bytes())
    for broken in [
        b"",
        b"no gzip",
        good[: len(good) // 2],
        good + b"more",
        good[:-8] + b"\0" * 8,
        gzip.compress(text + b"\n"),
        gzip.compress(text.replace(b"]", b"", 1)),
        gzip.compress(text[:-2]),
        gzip.compress(b"\xff" + text),
        gzip.compress(b"[" * 100_000),
        gzip.compress(b"null\n" * 5),
        gzip.compress(text + text),
    ]:
        path.write_bytes(broken)
        with pytest.raises(checker.Refused):
            checker.check(path)
    with pytest.raises(checker.Refused, match="FileNotFound"):
        checker.check(tmp_path / "none.gz")


def test_it_runs_alone(certificates: Callable[[str], Records], tmp_path: Path) -> None:
    """Copied elsewhere, without the package, and without anything that is installed."""
    alone = tmp_path / "checker.py"
    alone.write_text(SOURCE.read_text())
    records = certificates("a triangle")
    good = damage.write(tmp_path / "good.gz", records)
    bad = damage.write(tmp_path / "bad.gz", damage.resized(records[:-1]))

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", "-W", "error", str(alone), *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    done = run(str(good))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PROVED\nThe network with SHA-256 ")
    done = run(str(bad))
    assert (done.returncode, done.stdout[:8], done.stderr) == (1, "REFUSED ", "")
    assert run().returncode == 2
    assert run(str(tmp_path / "none.gz")).returncode == 1


def test_it_needs_python_alone_and_asserts_nothing() -> None:
    tree = ast.parse(SOURCE.read_text())
    names = set()
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert)
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).partition(".")[0])
    assert names <= sys.stdlib_module_names | {"__future__"}


# ---------------------------------------------------------------------- checkers that do not look

# What is left out, and what such a checker then accepts.
_MUTANTS = [
    ("need(q > 0 and", "need(True and"),
    ("need(factor >= 0,", "need(True,"),
    ("need(0 <= row < len(rows),", "need(row < len(rows),"),
    ("sum(min(a, 0) for a in rest[:-1]) + rest[-1] >= 0", "rest[-1] >= 0"),
    ("sum(min(a, 0) for a in rest[:-1]) + rest[-1] >= 0", "True"),
    ("return not any(rest[:-1]) and rest[-1] >= 0", "return rest[-1] >= 0"),
    ("return not any(rest[:-1]) and rest[-1] >= 0", "return not any(rest[:-1])"),
    ("need(value > 0,", "need(value >= 0,"),
    ("need(value > 0,", "need(True,"),
    ("all(0 < t < denominator for t in point)", "all(0 <= t <= denominator for t in point)"),
    ("all(0 < t < denominator for t in point)", "True"),
    ("need(denominator > 0 and len(point)", "need(len(point)"),
    ("need(is_active == (form[-1] > 0),", "need(True,"),
    ("need(is_active == (form[-1] > 0),", "need(is_active == (form[-1] >= 0),"),
    ("need(is_shown,", "need(True,"),
    ("goal = form if is_active else [-a for a in form]", "goal = form"),
    ("need(len(records[first]) == 2 + taken,", "need(True,"),
    ("not patterns or patterns[-1] < pattern,", "not patterns or patterns[-1] <= pattern,"),
    ('need(sha == header["network"],', "need(True,"),
    ('need(place == header["domain"],', "need(True,"),
    ('need(whole(header["regions"], 1, "regions") == len(regions),', "need(True,"),
    ("need(shows(proof, scaled(goal), rows, False, what),", "need(True,"),
    ("need(pattern < 1 << sum(widths),", "need(True,"),
    ("elif not is_complete:", "elif True:"),
    ("[*rows, form], active", "rows, active"),
    ("[*rows, against], sums", "rows, sums"),
    ("rows = [*rows, goal]", "pass"),
]  # fmt: skip


def _mutant(number: int) -> Callable[[Path], str]:
    old, new = _MUTANTS[number]
    source = SOURCE.read_text()
    assert source.count(old) == 1, old
    module = ModuleType(f"mutant{number}")
    sys.modules[module.__name__] = module
    exec(compile(source.replace(old, new), module.__name__, "exec"), module.__dict__)
    return module.check  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def wrong(certificates: Callable[[str], Records]) -> list[Records]:
    """Certificates that must be refused, of as many kinds as there are things to look at."""
    found = [*_forged(certificates), *_changed(certificates("fig19"))]
    return found + [d.records for name in SMALL for d in damage.damages(certificates(name))]


def _changed(whole: Records) -> list[Records]:
    changed = []
    for change, _ in _changes().values():
        records = copy.deepcopy(whole)
        change(records)
        changed.append(records)
    return changed


def _forged(certificates: Callable[[str], Records]) -> list[Records]:
    """Lists that are wrong, with all that a careless checker might ask for."""
    forged = []

    def forge(net: pc.Network, domain: Any, regions: list[list[str]], **header: Any) -> None:
        carving = pc.carve(net, domain)
        records = _records(carving)
        records[FIRST:] = regions
        records[0].update(header)
        forged.append(damage.resized(records))

    def net(W: Any, b: Any) -> pc.Network:
        return pc.Network.from_arrays([W], [b], relu_last=True)

    # Constant forms: on the wrong side, at zero, on both sides.
    forge(net([[0]], [1]), [(-1, 1)], [["0", "2 1"]])
    forge(net([[0]], [0]), [(-1, 1)], [["1", "2 1"]])
    forge(net([[0], [1]], [0, 0]), [(-1, 1)], [["0", "4 1"], ["3", "4 3"]])
    # Witnesses on a side of the domain, on a cut, and outside.
    forge(net([[1]], [1]), [(-1, 1)], [["0", "1 0"], ["1", "2 1"]])
    copies = net([[1], [1]], [0, 0])
    forge(copies, [(-1, 1)], [["0", "4 1"], ["1", "2 1"], ["3", "4 3", "1 0 1"]])
    forge(net([[1]], [2]), [(-1, 1)], [["0", "1 -1"], ["1", "2 1"]])
    forge(net([[1]], [0]), pc.Polytope([[-1]], [0]), [["0", "1 -1"], ["1", "1 1"]])
    forge(net([[1]], [0]), pc.Polytope([[-1]], [0]), [["0", "-1 1"], ["1", "1 1"]])
    forge(net([[1]], [2]), [(-1, 1)], [["1", "1 0", "1"]])
    forge(net([[1]], [1]), pc.Polytope([[-1]], [0]), [["0", "-2 1"], ["1", "1 1"]])
    forge(net([[1]], [-2]), [(-1, 1)], [["0", "2 1"], ["1", "2 1"]])
    forge(net([[1]], [2]), [(-1, 1)], [["0", "2 1"], ["1", "2 1"]])
    # Nothing shows that a cut misses a cell, or what does shows the other side.
    forge(net([[1]], [0]), [(-1, 1)], [["0", "4 1"]])
    forge(net([[1]], [2]), [(-1, 1)], [["0", "2 1", "1"]])
    # Cuts shown to miss a cell that they cross.
    for vector in ("1", "0", "1 0 -1", "1 -1 1", "1 0 1", "1 0 2"):
        for domain in ([(-1, 1)], pc.Space(1), pc.Polytope([[-1]], [1])):
            forge(net([[1]], [0]), domain, [["0", "4 1", vector]])
            forge(net([[1]], [0]), domain, [["1", "4 3", vector]])
            forge(net([[-1]], [0]), domain, [["1", "4 1", vector]])
            forge(net([[1], [1]], [0, -1]), domain, [["0", "8 1", vector], ["2", "8 5", vector]])
    forge(net([[1], [1]], [0, "-1/2"]), pc.Space(1), [["0", "1 -1", "1 0 1"], ["2", "4 1", "1"]])
    # A partial list in which a pattern is nowhere.
    forge(net([[1], [1]], [0, 0]), [(-1, 1)], [["1", "4 1"]], complete=False)
    # A pattern beyond the network's, and a box that does not hold the polytope.
    forge(net([[1]], [2]), [(-1, 1)], [["2", "2 1"], ["3", "2 1"]])
    forge(net([[1]], [2]), [(-1, 1)], [["3", "2 1", "1"]])
    records = certificates("a triangle")
    records[2]["box"]["hi"] = records[2]["box"]["hi"].split(" ")[0] + " 1 1"
    forged.append(records)
    narrow = _records(pc.carve(net([[1]], ["-1/2"]), pc.Polytope([[-1], [1]], [0, 1])))
    narrow[2]["box"]["hi"] = "4 1"
    narrow[FIRST:] = [["0", "2 1", "1"]]
    forged.append(damage.resized(narrow))
    return forged


def _records(carving: pc.Carving) -> Records:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.gz"
        carving.certify().save(path)
        return damage.read(path)


@pytest.mark.parametrize("number", range(len(_MUTANTS)))
def test_every_look_is_needed(number: int, wrong: list[Records], tmp_path: Path) -> None:
    """A checker that leaves out one look accepts something that the real one refuses."""
    check = _mutant(number)
    for records in wrong:
        path = tmp_path / "c.gz"
        path.write_bytes(
            gzip.compress(b"".join(json.dumps(r).encode() + b"\n" for r in records), 1)
        )
        try:
            check(path)
        except Exception:
            continue
        with pytest.raises(checker.Refused):
            checker.check(path)
        return
    pytest.fail(f"nothing shows that {_MUTANTS[number][0]!r} is needed")


def test_no_forgery_is_accepted(wrong: list[Records], tmp_path: Path) -> None:
    accepted = [i for i, records in enumerate(wrong) if not verdict(tmp_path / "c.gz", records)]
    assert not accepted
