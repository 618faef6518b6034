"""Check a certificate of polycarve: ``python checker.py FILE``.

Needs Python alone, and shares no code with what wrote the file. Exit status: 0 if the file proves
what is then printed, 1 if not, 2 for no file given.

The file is gzip, a JSON value a line; integers are hexadecimal text, rationals a denominator and
then numerators:

- line 1: format, version, SHA-256 of network and domain, hidden layers, regions, complete;
- line 2: the network; line 3: the domain;
- then a line a region, ``[pattern, witness, vector, ...]``, in the order of patterns. A pattern
  has one bit a cut (a ReLU has one cut), the first neuron highest. A witness is a point.

*Points* have coordinates t: where the domain lies in a box, ``y = lo + t (hi - lo)`` with
``0 < t < 1``, flat sides left out; else ``y = t``. *Rows* are affine forms that are positive on a
cell: the sides of a polytope, then the cuts that split the cells it lies in. A *vector*
``q, row, m, row, m, ...`` shows that a form is not negative on a cell: q times the form, less the
sum of m times row, is not negative on the box (without a box: is a constant, not negative). Forms
are integers over a common denominator a layer, see `in_integers`.

The proof. The domain's interior is split into cells, each by the first cut of the layer in hand on
which the regions listed below it differ. A cut on which they agree must not cross the cell: a
vector shows its sign there; or its form is a constant there, and inactive if not positive. So all
of the domain but parts of some hyperplanes is in the regions listed, each point in one, and each of
them is open and has a point. Of an incomplete list all cuts are rows: it proves "at least".
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import and_, or_
from typing import Any

FORMAT, VERSION, LONGEST_LINE = "polycarve certificate", 1, 1 << 31
Row = list[int]
Form = Sequence[Fraction | int]


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The file does not prove what it says; the message says where."""


def need(holds: Any, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


# ---------------------------------------------------------------------- reading


def integers(text: Any, what: str) -> list[int]:
    need(type(text) is str, f"{what}: no text")
    parts = text.split(" ") if text else []
    need(all(re.fullmatch("-?[0-9a-f]+", part) for part in parts), f"{what}: not hexadecimal")
    return [int(part, 16) for part in parts]


def whole(text: Any, least: int, what: str) -> int:
    numbers = integers(text, what)
    need(len(numbers) == 1 and numbers[0] >= least, f"{what}: not an integer from {least} on")
    return numbers[0]


def rationals(text: Any, count: int | None, what: str) -> list[Fraction]:
    denominator, *numbers = integers(text, what) or [0]
    need(denominator > 0, f"{what}: the denominator is not positive")
    need(count in (None, len(numbers)), f"{what}: not {count} rationals")
    return [Fraction(number, denominator) for number in numbers]


def common(*values: Iterable[Fraction | int]) -> int:
    return lcm(*(number.denominator for part in values for number in part))


def scaled(row: Form) -> Row:
    factor = common(row)
    return [int(value * factor) for value in row]


def combined(weights: Form, forms: Sequence[Form], constant: Fraction) -> list[Fraction]:
    """Return the form ``sum of weight * form + constant``."""
    columns = zip(*forms, strict=True)
    total = [sum((w * v for w, v in zip(weights, c, strict=True)), Fraction(0)) for c in columns]
    return [*total[:-1], total[-1] + constant]


def read_network(entry: Any) -> tuple[int, list[Any], str]:
    """Return the input dimension, layers ``(inputs, W, b, law)``, and the SHA-256 of it all."""
    sizes, layers = [whole(entry["input_dim"], 1, "input_dim")], []
    sha = hashlib.sha256(f"polycarve network 1; input {sizes[0]}\n".encode())
    for k, layer in enumerate(entry["layers"], start=1):
        inputs = tuple(integers(layer["inputs"], f"inputs of layer {k}"))
        need(inputs and all(0 <= value < k for value in inputs), f"layer {k} reads {inputs}")
        n, m = whole(layer["units"], 1, f"units of layer {k}"), sum(sizes[v] for v in inputs)
        W = rationals(layer["weight"], n * m, f"weight of layer {k}")
        b = rationals(layer["bias"], n, f"bias of layer {k}")
        law, said = None, "none"
        if layer["activation"] is not None:
            cuts = tuple(rationals(layer["activation"]["cuts"], None, f"cuts of layer {k}"))
            jumps = tuple(rationals(layer["activation"]["jumps"], len(cuts), f"jumps of layer {k}"))
            slope, offset = rationals(layer["activation"]["start"], 2, f"start of layer {k}")
            need(cuts and list(cuts) == sorted(set(cuts)), f"layer {k}: its cuts do not increase")
            law, said = (cuts, jumps, slope, offset), f"{cuts} {jumps} {slope} {offset}"
        sha.update(f"layer {(n, m)} reads {inputs} then {said}\n".encode())
        for numbers in (W, b):
            text = ",".join(f"{value:x}" for value in scaled(numbers))
            sha.update(f"{common(numbers):x}:{text}\n".encode())
        sizes.append(n)
        layers.append((inputs, [W[i * m : i * m + m] for i in range(n)], b, law))
    return sizes[0], layers, sha.hexdigest()


def read_domain(entry: Any, dim: int) -> tuple[str, list[Any], list[Row], bool]:
    """Return its text, the network's inputs as forms of t, rows, and whether t is in a box."""
    if entry["kind"] == "slice":
        origin = rationals(entry["origin"], dim, "origin")
        D = rationals(entry["directions"], None, "directions")
        D_rows = [D[at : at + dim] for at in range(0, len(D), dim)]
        need(D and len(D) % dim == 0, f"directions: not rows of {dim} rationals")
        text, y, rows, in_box = read_domain(entry["domain"], len(D_rows))
        x = [combined([d[j] for d in D_rows], y, origin[j]) for j in range(dim)]
        return f"slice {' '.join(map(str, [*origin, *D_rows]))} of {text}", x, rows, in_box
    box, rows = entry, []
    if entry["kind"] == "space":
        text, box = f"space {dim}", None
    elif entry["kind"] == "polytope":
        b = rationals(entry["b"], None, "b")
        A = rationals(entry["A"], dim * len(b), "A")
        lines = [[*A[i * dim : i * dim + dim], c] for i, c in enumerate(b)]
        need(all(any(line[:-1]) or line[-1] >= 0 for line in lines), "the polytope is empty")
        text = "polytope " + "; ".join(" ".join(map(str, line)) for line in lines)
        sides = [[*(-a for a in line[:-1]), line[-1]] for line in lines if any(line[:-1])]
        box, rows = entry["box"], [scaled(side) for side in sides]
    if box is None:
        return text, [[int(i == j) for i in range(dim)] + [0] for j in range(dim)], rows, False
    lo, hi = rationals(box["lo"], dim, "lo"), rationals(box["hi"], dim, "hi")
    need(all(a <= b for a, b in zip(lo, hi, strict=True)), "the box is empty")
    free = [j for j in range(dim) if lo[j] < hi[j]]
    y = [[*((hi[j] - lo[j]) * (i == j) for i in free), lo[j]] for j in range(dim)]
    if box is entry:
        need(entry["kind"] == "box", "the domain is of an unknown kind")
        return "box " + " ".join(f"[{a}, {b}]" for a, b in zip(lo, hi, strict=True)), y, [], True
    need(
        len(free) == dim and len(box["proofs"]) == 2 * dim, "the box around it is flat or unproven"
    )
    for side, proof in enumerate(box["proofs"]):  # y_j > lo_j for every j, then y_j < hi_j
        j, sign = side % dim, 1 if side < dim else -1
        goal = [*(Fraction(sign * (i == j)) for i in range(dim)), -lo[j] if side < dim else hi[j]]
        what = f"side {side} of the box around the polytope"
        need(shows(proof, scaled(goal), rows, False, what), f"{what} is not proven")
    return text, y, [scaled(combined(side[:-1], y, side[-1])) for side in sides], True


# ---------------------------------------------------------------------- the proof


def in_integers(layers: list[Any], x: list[Form]) -> tuple[list[Any], list[list[Row]]]:
    """Return the layers, and what each reads as far as it is known, over a scale for each."""
    values, steps, sums = [(common(*x), len(x))], [], []
    readers: list[list[Any]] = [[] for _ in range(len(layers) + 1)]
    for k, (inputs, W, b, law) in enumerate(layers):
        cuts, jumps, slope, offset = law or ((), (), 1, 0)
        scale, at = lcm(*(values[v][0] for v in inputs)) * common(*W, b, cuts), 0
        for v in inputs:
            over, size = values[v]
            columns = [[int(row[at + u] * (scale // over)) for row in W] for u in range(size)]
            readers[v].append((k, columns))
            at += size
        sums.append([[0] * (len(x[0]) - 1) + [int(c * scale)] for c in b])
        finer = common(jumps, [slope, offset])
        values.append((scale * finer, len(W)))
        forms = [int(cut * scale) for cut in cuts], [int(jump * finer) for jump in jumps]
        steps.append((*forms, int(slope * finer), int(offset * scale * finer), readers[k + 1]))
    for unit, form in enumerate(x):
        sums = add(sums, readers[0], unit, [int(value * values[0][0]) for value in form])
    return steps, sums


def add(sums: list[list[Row]], readers: list[Any], unit: int, form: Row) -> list[list[Row]]:
    """Return the sums with a form added to the value of a unit: one column times one row."""
    sums = list(sums)
    for k, columns in readers:
        sums[k] = [
            [x + w * f for x, f in zip(row, form, strict=True)] if w else row
            for row, w in zip(sums[k], columns[unit], strict=True)
        ]
    return sums


def shows(vector: Any, goal: Row, rows: list[Row], in_box: bool, what: str) -> bool:
    """Whether a vector shows that a form is not negative where the rows are positive."""
    q, *pairs = integers(vector, what) or [0]
    need(q > 0 and len(pairs) % 2 == 0, f"{what}: no vector, or its factor is not positive")
    rest = [q * value for value in goal]
    for row, factor in zip(pairs[::2], pairs[1::2], strict=True):
        need(0 <= row < len(rows), f"{what}: there is no row {row}")
        need(factor >= 0, f"{what}: a multiplier is negative")
        rest = [value - factor * a for value, a in zip(rest, rows[row], strict=True)]
    if in_box:
        return sum(min(a, 0) for a in rest[:-1]) + rest[-1] >= 0
    return not any(rest[:-1]) and rest[-1] >= 0


def see_witness(text: Any, rows: list[Row], dim: int, in_box: bool, what: str) -> None:
    denominator, *point = integers(text, f"{what}, witness") or [0]
    need(denominator > 0 and len(point) == dim, f"{what}: the witness is not {dim} rationals")
    need(not in_box or all(0 < t < denominator for t in point), f"{what}: witness not in the box")
    for k, row in enumerate(rows):
        value = sum(a * t for a, t in zip(row, [*point, denominator], strict=True))
        need(value > 0, f"{what}: the witness is not on the positive side of row {k}")


def prove(layers: list[Any], x: list[Form], rows: list[Row], in_box: bool, patterns: list[int],
          records: list[list[Any]], is_complete: bool) -> None:  # fmt: skip
    """See that the regions listed are just those that there are (or, incomplete, are there)."""
    steps, sums = in_integers(layers, x)
    widths = [len(W) * len(step[0]) for (_, W, _, _), step in zip(layers, steps, strict=True)]
    left = [sum(widths[k:]) for k in range(len(widths))]  # bits of a pattern from a layer on
    names = [sum(map(bool, widths[: k + 1])) for k in range(len(widths))]
    taken = 0  # vectors of the region in hand
    # Regions first .. stop - 1; layer; its forms; which are not settled; rows; sums.
    stack: list[Any] = [(0, len(patterns), -1, [], [], rows, sums)]
    while stack:
        first, stop, k, forms, unknown, rows, sums = stack.pop()
        line = f"line {first + 4}, region {first}"
        every, some = (reduce(f, patterns[first:stop]) for f in (and_, or_))
        while True:
            differing = []
            for cut in unknown:
                form, place = forms[cut], left[k] - 1 - cut
                what = f"{line}, layer {names[k]}, cut {cut}"
                is_active = every >> place & 1
                if is_active != some >> place & 1:
                    need(any(form[:-1]), f"{what}: on both sides, but its form is constant")
                    differing.append(cut)
                    continue
                goal = form if is_active else [-a for a in form]
                if not any(form[:-1]):
                    need(is_active == (form[-1] > 0), f"{what}: wrong side of a constant form")
                elif not is_complete:
                    rows = [*rows, goal]
                else:
                    side = "inactive" if is_active else "active"
                    claim = f"that it is nowhere {side} in regions {first} to {stop - 1}"
                    need(2 + taken < len(records[first]), f"{what}: no vector to show {claim}")
                    vector, taken = records[first][2 + taken], taken + 1
                    is_shown = shows(vector, goal, rows, in_box, what)
                    need(is_shown, f"{what}: its vector does not show {claim}")
                if is_active:
                    sums = activate(steps[k], sums, cut, form)
            if differing:
                cut, *unknown = differing
                form, place = forms[cut], left[k] - 1 - cut
                middle = bisect_left(patterns, (patterns[first] >> place | 1) << place, first, stop)
                active = activate(steps[k], sums, cut, form)
                stack.append((middle, stop, k, forms, unknown, [*rows, form], active))
                against = [-a for a in form]
                stack.append((first, middle, k, forms, unknown, [*rows, against], sums))
                break
            k += 1
            if k == len(steps):
                see_witness(records[first][1], rows, len(x[0]) - 1, in_box, line)
                need(len(records[first]) == 2 + taken, f"{line}: more vectors than are needed")
                taken = 0
                break
            cuts, _, slope, offset, readers = steps[k]
            forms = [[*z[:-1], z[-1] - cut] for z in sums[k] for cut in cuts]
            unknown = list(range(len(forms)))
            for unit, z in enumerate(sums[k] if slope or offset else ()):
                piece = [*(slope * a for a in z[:-1]), slope * z[-1] + offset]
                sums = add(sums, readers, unit, piece)


def activate(step: Any, sums: list[list[Row]], cut: int, form: Row) -> list[list[Row]]:
    _, jumps, _, _, readers = step
    unit, place = divmod(cut, len(jumps))
    return add(sums, readers, unit, [jumps[place] * a for a in form])


def check(path: Any) -> str:
    """Return the theorem that a file proves; raise `Refused` where it does not."""
    line = 0
    try:
        records: list[Any] = []
        with gzip.open(path, "rb") as file:
            while text := file.readline(LONGEST_LINE):
                line += 1
                records.append(json.loads(text))
        need(len(records) > 3, "the file ends before any region is listed")
        header, network, domain, *regions = records
        line = 1
        need(header["format"] == FORMAT, "no certificate of polycarve")
        need(header["version"] == VERSION, f"this checker reads version {VERSION}")
        depth, is_complete = whole(header["layers"], 0, "layers"), header["complete"]
        need(type(is_complete) is bool, "complete: neither true nor false")
        need(whole(header["regions"], 1, "regions") == len(regions), "regions: not so many lines")
        line = 2
        dim, layers, sha = read_network(network)
        need(sha == header["network"], "the network is not that of the header's SHA-256")
        hidden = [k for k, (_, _, _, law) in enumerate(layers) if law is not None]
        need(depth <= len(hidden), f"the network has only {len(hidden)} hidden layers")
        layers = layers[: hidden[depth - 1] + 1] if depth else []
        line = 3
        said, x, rows, in_box = read_domain(domain, dim)
        place = hashlib.sha256(f"polycarve domain 1; {said}".encode()).hexdigest()
        need(place == header["domain"], "the domain is not that of the header's SHA-256")
        widths = [len(b) * len(law[0]) for _, _, b, law in layers if law]
        patterns: list[int] = []
        for record in regions:
            line += 1
            need(type(record) is list and len(record) > 1, "no list of pattern and witness")
            pattern = whole(record[0], 0, "pattern")
            need(pattern < 1 << sum(widths), "the pattern has more bits than there are cuts")
            need(not patterns or patterns[-1] < pattern, "patterns do not increase")
            patterns.append(pattern)
        line = 0
        prove(layers, x, rows, in_box, patterns, regions, is_complete)
    except Refused as refusal:
        raise Refused(f"line {line}: {refusal}" if line else str(refusal)) from None
    except Exception as error:  # whatever a damaged or hostile file makes of all this
        where = f"line {line}" if line else "the file"
        raise Refused(f"{where}: it cannot be read ({type(error).__name__})") from None
    counts = [len({p >> sum(widths[k + 1 :]) for p in patterns}) for k in range(depth)]
    return theorem(sha, place, len(patterns), counts, is_complete=is_complete)


def theorem(network: str, domain: str, n: int, layer_counts: Any, *, is_complete: bool) -> str:
    """Return the statement in words."""
    after = f" ({', '.join(map(str, layer_counts))} after each)" if layer_counts else ""
    layers = f"{len(layer_counts)} hidden layer{'s' * (len(layer_counts) != 1)}"
    return (
        f"The network with SHA-256 {network}\n"
        f"has on the domain with SHA-256 {domain}\n"
        f"{'exactly' if is_complete else 'at least'} {n} activation region{'s' * (n != 1)} "
        f"after {layers}{after}: full-dimensional parts\n"
        "of the domain with one pattern of positive pre-activations, or of passed cuts.\n"
        "This is about the real-valued function of the exact numbers, not its evaluation in floats."
    )


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python checker.py FILE\n")
        return 2
    try:
        sys.stdout.write(f"PROVED\n{check(arguments[0])}\n")
    except Refused as refusal:
        sys.stdout.write(f"REFUSED {refusal}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
