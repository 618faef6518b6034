"""Certificate files taken apart, damaged, and put together again."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polycarve as pc
from polycarve.networks import Activation, Layer, Network
from polycarve.rational import ExactArray
from tests import cases

FIRST = 3  # lines before the regions

Records = list[Any]


def read(path: Path) -> Records:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def write(path: Path, records: Records) -> Path:
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def resized(records: Records) -> Records:
    """Let the header say how many regions there are now."""
    records[0]["regions"] = f"{len(records) - FIRST:x}"
    return records


def leaky(dim: int = 2) -> Network:
    """A skip connection, an affine layer, a leaky unit and one with three pieces."""
    steps = Activation("steps", (-1, "1/2"), ("3/4", -1), slope="1/4", offset="1/3")
    bent = Activation("leaky", (0,), ("9/10",), slope="1/10")
    rows = cases.integers(dim, [3, 2, 2], 4, 3)
    of = [layer.weight for layer in rows.layers]
    return Network(
        [
            Layer(of[0], ExactArray.of(["1/3", 0, -1]), bent, (0,)),
            Layer(of[1], ExactArray.of([1, 0]), None, (1,)),
            Layer(
                ExactArray.of([[1, -2, 1, 1], [2, 1, -1, "1/7"]]),
                rows.layers[2].bias,
                steps,
                (2, 0),
            ),
        ],
        dim,
    )


PLACES: dict[str, Callable[[], tuple[Network, Any]]] = {
    "fig19": lambda: (cases.spec()["fig19"].network, cases.spec()["fig19"].box),
    "moons": lambda: (cases.spec()["moons"].network, cases.spec()["moons"].box),
    "zero biases on a box": lambda: (cases.integers(2, [4, 4], 3, 2, biased=False), [(-1, 1)] * 2),
    "all of R^3": lambda: (cases.integers(3, [3, 3], 5, 2), pc.Space(3)),
    "a line": lambda: (cases.integers(2, [4, 3], 1, 3), pc.Segment(["-1/3", -2], [1, "7/5"])),
    "a plane": lambda: (
        cases.integers(3, [4, 3], 2, 2),
        pc.Slice([0, "1/3", 1], [[1, 0, "1/2"], [0, 2, 1]], domain=[(-1, 1), (0, "2/3")]),
    ),
    "a flat box": lambda: (cases.integers(3, [3, 3], 8), pc.Box([-1, "1/3", -1], [1, "1/3", 2])),
    "a point": lambda: (cases.integers(2, [3, 2], 8), pc.Box(["1/3", 0], ["1/3", 0])),
    "a triangle": lambda: (
        cases.integers(2, [4, 3], 7, 3),
        pc.Polytope([[-1, 0], [0, "-1/3"], [1, 1], [0, 0]], [0, "1/7", 1, 0]),
    ),
    "a wedge": lambda: (
        cases.integers(2, [3, 3], 2, 2),
        pc.Polytope([[-1, 1], [-1, -2]], [0, "1/3"]),
    ),
    "part of a half-plane": lambda: (
        cases.integers(3, [3, 2], 6, 2),
        pc.Slice([0, 0, 1], [[1, 1, 0], [0, 1, 1]], domain=pc.Polytope([[1, 2]], [1])),
    ),
    "bent units": lambda: (leaky(), [(-1, 1)] * 2),
    "bent units on all of R^2": lambda: (leaky(), pc.Space(2)),
}


@dataclass(frozen=True)
class Damage:
    """Records that prove nothing any more, and what the refusal must say."""

    name: str
    records: Records
    message: str


@cache
def carved(name: str) -> pc.Carving:
    network, domain = PLACES[name]()
    return pc.carve(network, domain, exact=True)


def damages(whole: Records) -> Iterator[Damage]:
    """Damage a right certificate in every way that must not go unnoticed."""
    n = len(whole) - FIRST
    for i in range(n):
        where = f"region {i}"
        rest = resized(copy.deepcopy(whole[: FIRST + i] + whole[FIRST + i + 1 :]))
        says = r"^line \d+, region \d+" if n > 1 else "before any region"
        yield Damage(f"{where} deleted", rest, says)
        twice = resized(copy.deepcopy(whole[: FIRST + i + 1] + whole[FIRST + i :]))
        yield Damage(f"{where} twice", twice, f"line {FIRST + 2 + i}: patterns do not increase")
        others = [whole[FIRST + j][1] for j in range(n) if j != i]
        for j, witness in enumerate(others[:: max(1, len(others) // 3)]):
            moved = copy.deepcopy(whole)
            moved[FIRST + i][1] = witness
            says = rf"{where}: the witness is not on the positive side of row \d"
            yield Damage(f"{where}, witness of another {j}", moved, says)
        for at in range(2, len(whole[FIRST + i])):
            yield from _vector(whole, i, at)
    for i in range(n - 1):
        swapped = copy.deepcopy(whole)
        swapped[FIRST + i], swapped[FIRST + i + 1] = swapped[FIRST + i + 1], swapped[FIRST + i]
        says = f"line {FIRST + 2 + i}: patterns do not increase"
        yield Damage(f"regions {i} and {i + 1} swapped", swapped, says)
    yield from _flipped(whole)
    yield from _weights(whole)


def _vector(whole: Records, i: int, at: int) -> Iterator[Damage]:
    where = f"region {i}"
    less = copy.deepcopy(whole)
    del less[FIRST + i][at]
    yield Damage(f"{where} without vector {at}", less, rf"^line \d+, region {i}")
    q, *pairs = whole[FIRST + i][at].split(" ")
    for name, numbers, says in [
        ("negative factor", [f"-{q}", *pairs], "factor is not positive"),
        ("zero factor", ["0", *pairs], "factor is not positive"),
        ("odd", [q, *pairs, "1"], "no vector"),
        ("row beyond", [q, *pairs, "ffff", "1"], "there is no row 65535"),
        ("row below", [q, *pairs, "-1", "1"], "there is no row -1"),
        ("empty", [], "no vector"),
    ]:
        wrong = copy.deepcopy(whole)
        wrong[FIRST + i][at] = " ".join(numbers)
        yield Damage(f"{where}, vector {at}: {name}", wrong, f"{where}, layer .*{says}")
    for k in range(1, len(pairs), 2):
        wrong = copy.deepcopy(whole)
        negative = [*pairs[:k], f"-{pairs[k]}", *pairs[k + 1 :]]
        wrong[FIRST + i][at] = " ".join([q, *negative])
        yield Damage(
            f"{where}, vector {at}: negative multiplier", wrong, f"{where}, .* is negative"
        )


def _flipped(whole: Records) -> Iterator[Damage]:
    n_bits = max(int(record[0], 16).bit_length() for record in whole[FIRST:])
    listed = {int(record[0], 16) for record in whole[FIRST:]}
    for i in range(len(whole) - FIRST):
        for bit in range(n_bits):
            pattern = int(whole[FIRST + i][0], 16) ^ 1 << bit
            flipped = copy.deepcopy(whole)
            flipped[FIRST + i][0] = f"{pattern:x}"
            yield Damage(f"region {i}, bit {bit} flipped", flipped, r"^line \d+[:,]")
            if pattern not in listed:  # and put in its place
                flipped[FIRST:] = sorted(flipped[FIRST:], key=lambda record: int(record[0], 16))
                yield Damage(
                    f"region {i}, bit {bit} flipped and sorted", flipped, r"^line \d+, region"
                )


def _weights(whole: Records) -> Iterator[Damage]:
    for k in range(len(whole[1]["layers"])):
        for part in ("weight", "bias"):
            changed = copy.deepcopy(whole)
            numbers = changed[1]["layers"][k][part].split(" ")
            numbers[1] = f"{int(numbers[1], 16) + 1:x}"
            changed[1]["layers"][k][part] = " ".join(numbers)
            yield Damage(f"{part} of layer {k + 1}", changed, "line 2: the network is not that of")
