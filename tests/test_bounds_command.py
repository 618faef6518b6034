"""``polycarve bounds``: the table, the JSON, and what it refuses."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import pytest
from click.testing import CliRunner, Result

import polycarve as pc
from polycarve.cli import main
from polycarve.errors import InputError
from tests.command_line import schema

SCHEMA = schema("bounds")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["bounds", *args])


def test_table() -> None:
    done = run("2", "5", "5", "5")
    assert done.exit_code == 0
    assert done.stderr == ""
    title, head, *lines = done.stdout.splitlines()
    assert title == "dimension 2, 3 hidden layers of 5, 5, 5: 15 neurons"
    assert head.split() == ["bound", "kind", "regions", "source"]
    rows = pc.bounds.all_bounds(2, [5, 5, 5])
    assert [line.split()[0] for line in lines] == [row.name for row in rows]
    by_name = {line.split()[0]: line for line in lines}
    assert by_name["serra"].split()[:3] == ["serra", "upper", "4096"]
    assert "112.5" in by_name["rule_of_thumb"]
    assert "not claimed: needs widths of at least 3 n0 = 6" in by_name["serra_lower"]
    # Aligned: the numbers end, and the sources begin, in one column.
    end = head.index("regions") + len("regions")
    assert all(line[end - 1] != " " and line[end : end + 2] == "  " for line in lines)


def test_numbers_of_any_size_are_readable() -> None:
    lines = {line.split()[0]: line.split() for line in run("3", "9999", "9999").stdout.splitlines()}
    # 2^19998 = 10^6019.998...
    assert lines["trivial"][2] == "~9.951e6019"
    assert lines["naive"][2] == str(pc.bounds.naive(3, [9999, 9999]))


@pytest.mark.parametrize(
    "args",
    [("2", "5", "5", "5"), ("784", "20", "20"), ("0", "4"), ("1", "2", "2", "2"), ("8", "16")],
)
def test_json(args: tuple[str, ...]) -> None:
    done = run(*args, "--json")
    assert done.exit_code == 0
    assert done.stderr == ""
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    n0, *widths = map(int, args)
    assert (found["input_dim"], found["widths"]) == (n0, widths)
    for row, want in zip(found["bounds"], pc.bounds.all_bounds(n0, widths), strict=True):
        value = row.pop("value")
        assert (value is None) == (want.value is None)
        assert value is None or Fraction(value) == want.value
        assert row == {key: entry for key, entry in want._asdict().items() if key != "value"}


def test_json_of_numbers_that_python_does_not_print() -> None:
    found = json.loads(run("700", "8000", "8000", "--json").stdout)
    jsonschema.validate(found, SCHEMA)
    written = {row["name"]: row["value"] for row in found["bounds"]}
    for name, want in (("trivial", 2**16000), ("serra", pc.bounds.serra(700, [8000, 8000]))):
        digits = written[name]
        value = 0
        for start in range(0, len(digits), 500):
            part = digits[start : start + 500]
            value = value * 10 ** len(part) + int(part)
        assert value == want


@pytest.mark.parametrize("args", [("1000000000", "5", "5"), ("5", str(10**30))])
def test_numbers_of_more_digits_than_memory_holds_are_told_of(args: tuple[str, ...]) -> None:
    done = run(*args, "--json")
    jsonschema.validate(json.loads(done.stdout), SCHEMA)
    assert "too many digits" in done.stdout
    written = {row["name"]: row["value"] for row in json.loads(done.stdout)["bounds"]}
    assert written["serra"] == pc.bounds.serra(*map(int, args[:1]), [*map(int, args[1:])])
    with pytest.raises(InputError, match="too many digits"):
        pc.bounds.trivial(5, [10**30])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "nothing was given; name the input dimension"),
        (("2",), "widths is empty"),
        (("2", "0"), "widths[0] is 0; it must be at least 1"),
        (("2", "5", "-5"), "widths[1] is -5"),
        (("-2", "5"), "n0 is -2"),
        (("2", "5.5"), "'5.5' is not a whole number"),
        (("2", "five"), "'five' is not a whole number"),
        (("2,5,5",), "'2,5,5' is not a whole number"),
        (("2", "5", "--jsn"), "No such option"),
        (("2", "5", "-x"), "No such option"),
    ],
)
def test_errors_are_one_line_and_status_two(args: tuple[str, ...], words: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_help() -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert "N0 WIDTH..." in done.stdout
