"""Check a certificate of polycarve: ``python checker.py FILE``.

Nothing but Python's standard library and the integers of the file. Exit status: 0 if the file
proves what is then printed, 1 if it does not.

The file is gzip, one JSON value a line; integers are hexadecimal text, rationals a common
denominator and the numerators:

- line 1: format, version, SHA-256 of network and domain, hidden layers, regions, complete;
- line 2: the network; line 3: the domain;
- then a line a region, ``[pattern, witness, vector, ...]``, in the order of patterns. A pattern
  has one bit a cut (a ReLU has one cut), the first neuron highest. A witness is a point.

*Points* are in coordinates t: where the domain lies in a box, ``y = lo + t (hi - lo)`` with
``0 < t < 1``, flat sides left out; else ``t = y``. *Rows* are affine forms that are positive on
a cell: the sides of a polytope, then the cuts that split the cells it lies in. A *vector*
``q, row, m, row, m, ...`` shows that a form is not negative on a cell: q times the form, less the
sum of m times row, is not negative on the box (or, without a box, a constant not negative).

The proof. The domain's interior is split into cells: each by the first cut of the layer in hand
on which the regions listed below differ. A cut on which they agree must not cross the cell: a
vector shows its sign; or its form is constant there, and inactive if that is not positive. So all
of the domain, but for some hyperplanes, lies in the regions listed, each point in one; and each is
open and has a point. An incomplete list has no vectors: all cuts are rows, and it proves "at least".
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from bisect import bisect_left
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import and_, or_
from typing import Any

FORMAT, VERSION, LONGEST_LINE = "polycarve certificate", 1, 1 << 31
Row = list[int]


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The file does not prove what it says; the message says where."""


def need(holds: Any, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


# ---------------------------------------------------------------------- numbers


def integers(text: Any, what: str) -> list[int]:
    need(type(text) is str, f"{what}: not a text of integers")
    parts = text.split(" ") if text else []
    need(all(re.fullmatch("-?[0-9a-f]+", part) for part in parts), f"{what}: not hexadecimal")
    return [int(part, 16) for part in parts]


def whole(text: Any, least: int, what: str) -> int:
    numbers = integers(text, what)
    need(len(numbers) == 1 and numbers[0] >= least, f"{what}: not an integer from {least} on")
    return numbers[0]


def rationals(text: Any, count: int | None, what: str) -> list[Fraction]:
    denominator, *numbers = integers(text, what) or [0]
    need(denominator > 0 and count in (None, len(numbers)), f"{what}: not {count} rationals")
    return [Fraction(number, denominator) for number in numbers]


def scaled(row: list[Fraction]) -> Row:
    """Return a positive multiple in integers."""
    common = lcm(*(value.denominator for value in row))
    return [int(value * common) for value in row]


# ---------------------------------------------------------------------- network and domain


def read_network(entry: Any) -> tuple[int, list[Any], str]:
    """Return the input dimension, layers ``(inputs, W, b, law)``, and the SHA-256 of all."""
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
            jumps = tuple(rationals(layer["activation"]["jumps"], len(cuts), f"layer {k}: jumps"))
            slope, offset = rationals(layer["activation"]["start"], 2, f"layer {k}: first piece")
            need(cuts and list(cuts) == sorted(set(cuts)), f"layer {k}: its cuts do not increase")
            law, said = (cuts, jumps, slope, offset), f"{cuts} {jumps} {slope} {offset}"
        sha.update(f"layer {(n, m)} reads {inputs} then {said}\n".encode())
        for numbers in (W, b):
            common = lcm(*(number.denominator for number in numbers))
            text = ",".join(f"{int(number * common):x}" for number in numbers)
            sha.update(f"{common:x}:{text}\n".encode())
        sizes.append(n)
        layers.append((inputs, [W[i * m : i * m + m] for i in range(n)], b, law))
    need(layers, "the network has no layers")
    return sizes[0], layers, sha.hexdigest()


def read_domain(entry: Any) -> tuple[str, list[list[Fraction]], list[Row], bool]:
    """Return its text, its coordinates y as forms of t, the rows, and whether t is in a box."""
    kind = entry["kind"]
    if kind == "box":
        lo = rationals(entry["lo"], None, "lo")
        hi = rationals(entry["hi"], len(lo), "hi")
        need(lo and all(a <= b for a, b in zip(lo, hi, strict=True)), "the box is empty")
        sides = " ".join(f"[{a}, {b}]" for a, b in zip(lo, hi, strict=True))
        return f"box {sides}", coordinates(lo, hi), [], True
    dim = whole(entry["dim"], 1, "dimension of the domain")
    plain = coordinates([Fraction(0)] * dim, [Fraction(1)] * dim)
    if kind == "space":
        return f"space {dim}", plain, [], False
    need(kind == "polytope", "the domain is of an unknown kind")
    b = rationals(entry["b"], None, "b")
    A = rationals(entry["A"], dim * len(b), "A")
    lines = [[*A[i * dim : i * dim + dim], c] for i, c in enumerate(b)]
    text = "polytope " + "; ".join(" ".join(map(str, line)) for line in lines)
    need(all(any(line[:-1]) or line[-1] >= 0 for line in lines), "the polytope is empty")
    sides = [[*(-a for a in line[:-1]), line[-1]] for line in lines if any(line[:-1])]
    rows = [scaled(side) for side in sides]
    if entry["box"] is None:
        return text, plain, rows, False
    lo, hi = (rationals(entry["box"][side], dim, f"box: {side}") for side in ("lo", "hi"))
    need(all(a < b for a, b in zip(lo, hi, strict=True)), "the box around the polytope is empty")
    proofs = entry["box"]["proofs"]
    need(len(proofs) == 2 * dim, "the box around the polytope has not two proofs a coordinate")
    for side, proof in enumerate(proofs):  # lower sides, then upper ones
        j, sign = side % dim, 1 if side < dim else -1
        goal = [Fraction(sign * (i == j)) for i in range(dim)]
        goal.append(-lo[j] if side < dim else hi[j])
        shown = shows(proof, scaled(goal), rows, False, f"box around the polytope, side {side}")
        need(shown, f"side {side} of the box around the polytope is not proven")
    y = coordinates(lo, hi)
    return text, y, [scaled(combined(s[:-1], y, s[-1])) for s in sides], True


def coordinates(lo: list[Fraction], hi: list[Fraction]) -> list[list[Fraction]]:
    """Return y as forms of the t of the sides that are not flat."""
    free = [j for j, (a, b) in enumerate(zip(lo, hi, strict=True)) if a < b]
    return [[*((hi[j] - lo[j]) * (i == j) for i in free), lo[j]] for j in range(len(lo))]


def combined(weights: list[Fraction], forms: list[Any], constant: Fraction) -> list[Fraction]:
    """Return the form ``sum of weight * form + constant``."""
    total = [sum((w * v for w, v in zip(weights, c, strict=True) if w), Fraction(0))
             for c in zip(*forms, strict=True)]  # fmt: skip
    return [*total[:-1], total[-1] + constant]


# ---------------------------------------------------------------------- forms in integers


class Layers:
    """The network in integers: every layer's values, and forms, over a scale of its own.

    ``sums[k]`` is what layer k reads, summed up so far, as a row a unit. Setting a bit adds one
    column of the layers that read it times one form.
    """

    def __init__(self, layers: list[Any], start: list[list[Fraction]]) -> None:
        common = lcm(*(value.denominator for form in start for value in form))
        self.width, self.steps = len(start[0]), []
        values, readers = [(common, len(start))], [[] for _ in range(len(layers) + 1)]
        self.sums: list[list[Row]] = []
        for k, (inputs, W, b, law) in enumerate(layers):
            over = lcm(*(q.denominator for w in W for q in w)) * lcm(*(values[v][0] for v in inputs))
            scale = lcm(over, *(q.denominator for q in b))
            at = 0
            for v in inputs:
                of_value, size = values[v]
                columns = [[int(w[at + u] * (scale // of_value)) for w in W] for u in range(size)]
                readers[v].append((k, columns))
                at += size
            self.sums.append([[0] * (self.width - 1) + [int(c * scale)] for c in b])
            cuts, jumps, slope, offset = law or ((), (), Fraction(1), Fraction(0))
            finer = lcm(*(q.denominator for q in cuts))
            finest = finer * lcm(*(q.denominator for q in (*jumps, slope, offset)))
            values.append((scale * finest, len(W)))
            self.steps.append((
                finer, [int(cut * scale * finer) for cut in cuts],
                [int(jump * (finest // finer)) for jump in jumps],
                int(slope * finest), int(offset * scale * finest), readers[k + 1],
            ))  # fmt: skip
        whole_start = [[int(value * common) for value in form] for form in start]
        for unit, form in enumerate(whole_start):
            self.sums = self.add(self.sums, readers[0], unit, 1, form)

    def add(self, sums: Any, readers: Any, unit: int, factor: int, form: Row) -> Any:
        sums = list(sums)
        for k, columns in readers:
            sums[k] = [
                [x + w * factor * f for x, f in zip(row, form, strict=True)] if w else row
                for row, w in zip(sums[k], columns[unit], strict=True)
            ]
        return sums

    def forms(self, k: int, sums: Any) -> tuple[list[Row], Any]:
        """Return the forms of layer k's cuts, and the sums with the first pieces added."""
        finer, cuts, _, slope, offset, readers = self.steps[k]
        forms = [[*(finer * a for a in z[:-1]), finer * z[-1] - cut] for z in sums[k] for cut in cuts]
        if slope or offset:
            for unit, z in enumerate(sums[k]):
                piece = [*(slope * a for a in z[:-1]), slope * z[-1] + offset]
                sums = self.add(sums, readers, unit, 1, piece)
        return forms, sums

    def set(self, k: int, sums: Any, cut: int, form: Row) -> Any:
        """Return the sums once a cut of layer k is active."""
        _, _, jumps, _, _, readers = self.steps[k]
        unit, place = divmod(cut, len(jumps))
        return self.add(sums, readers, unit, jumps[place], form) if readers else sums


# ---------------------------------------------------------------------- the proof


def shows(vector: Any, goal: Row, rows: list[Row], in_box: bool, what: str) -> bool:
    """Whether a vector shows that a form is not negative where the rows are positive."""
    q, *pairs = integers(vector, what) or [0]
    need(q > 0 and len(pairs) % 2 == 0, f"{what}: not a factor and pairs of row and multiplier")
    rest = [q * value for value in goal]
    for row, factor in zip(pairs[::2], pairs[1::2], strict=True):
        need(0 <= row < len(rows), f"{what}: there is no row {row}")
        need(factor >= 0, f"{what}: a multiplier is negative")
        rest = [value - factor * a for value, a in zip(rest, rows[row], strict=True)]
    if in_box:
        return sum(min(a, 0) for a in rest[:-1]) + rest[-1] >= 0
    return not any(rest[:-1]) and rest[-1] >= 0


def see_witness(text: Any, rows: list[Row], dim: int, in_box: bool, what: str) -> None:
    denominator, *point = integers(text, f"{what}: witness") or [0]
    need(denominator > 0 and len(point) == dim, f"{what}: the witness is not {dim} rationals")
    need(not in_box or all(0 < t < denominator for t in point), f"{what}: witness not in the box")
    for k, row in enumerate(rows):
        value = sum(a * t for a, t in zip(row, [*point, denominator], strict=True))
        need(value > 0, f"{what}: the witness is not on the positive side of row {k}")


def prove(network: Layers, widths: list[int], rows: list[Row], in_box: bool,
          patterns: list[int], records: list[list[Any]], is_complete: bool) -> None:  # fmt: skip
    """See that the regions listed are just those there are."""
    hidden = [k for k, width in enumerate(widths) if width]
    left = dict(zip(hidden, (sum(widths[k:]) for k in hidden), strict=True))
    taken = 0  # vectors of the region in hand
    # Regions first .. stop - 1; layer; its forms; those not known to be decided; rows; sums.
    stack: list[Any] = [(0, len(patterns), -1, [], [], rows, network.sums)]
    while stack:
        first, stop, k, forms, unknown, rows, sums = stack.pop()
        line = f"region {first} (line {first + 4})"
        while True:
            every, some = (reduce(f, patterns[first:stop]) for f in (and_, or_))
            differing = []
            for cut in unknown:
                place = left[k] - 1 - cut
                is_active, form = every >> place & 1, forms[cut]
                what = f"{line}, layer {hidden.index(k) + 1}, cut {cut}"
                if is_active != some >> place & 1:
                    need(any(form[:-1]), f"{what}: listed on both sides, but its form is constant")
                    differing.append(cut)
                    continue
                goal = form if is_active else [-a for a in form]
                if not any(form[:-1]):
                    need(is_active == (form[-1] > 0), f"{what}: wrong side of a constant form")
                elif is_complete:
                    side = "inactive" if is_active else "active"
                    where = f"{what}: that it is nowhere {side} in regions {first} to {stop - 1}"
                    need(2 + taken < len(records[first]), f"{where} has no vector; is one missing?")
                    vector = records[first][2 + taken]
                    need(shows(vector, goal, rows, in_box, what), f"{where} is not what it shows")
                    taken += 1
                else:
                    rows = [*rows, goal]
                if is_active:
                    sums = network.set(k, sums, cut, form)
            if differing:
                cut, *unknown = differing
                place = left[k] - 1 - cut
                middle = bisect_left(patterns, (patterns[first] >> place | 1) << place, first, stop)
                form, against = forms[cut], [-a for a in forms[cut]]
                active = network.set(k, sums, cut, form)
                stack.append((middle, stop, k, forms, unknown, [*rows, form], active))
                stack.append((first, middle, k, forms, unknown, [*rows, against], sums))
                break
            k += 1
            if k == len(widths):
                see_witness(records[first][1], rows, network.width - 1, in_box, line)
                need(len(records[first]) == 2 + taken, f"{line}: it has more vectors than needed")
                taken = 0
                break
            forms, sums = network.forms(k, sums)
            unknown = list(range(len(forms)))


def check(path: Any) -> str:
    """Return the theorem that a file proves; raise `Refused` where it does not."""
    line = 0
    try:
        with gzip.open(path, "rb") as file:
            records: list[Any] = []
            while text := file.readline(LONGEST_LINE):
                line += 1
                records.append(json.loads(text))
        line = 0
        need(len(records) >= 3, "the file ends before the network and the domain")
        header, network, domain, *regions = records
        need(header["format"] == FORMAT, "no certificate of polycarve")
        need(header["version"] == VERSION, f"this checker reads version {VERSION}")
        line = 2
        dim, layers, sha = read_network(network)
        need(sha == header["network"], "the network is not the one of the header's SHA-256")
        line = 3
        slices = domain if domain["kind"] == "slice" else None
        text, y, rows, in_box = read_domain(domain["domain"] if slices else domain)
        if slices:
            origin = rationals(slices["origin"], dim, "origin")
            D = rationals(slices["directions"], dim * len(y), "directions")
            D = [D[i * dim : i * dim + dim] for i in range(len(y))]
            text = f"slice {' '.join(map(str, [*origin, *D]))} of {text}"
            y = [combined([d[j] for d in D], y, origin[j]) for j in range(dim)]
        need(len(y) == dim, f"the domain has {len(y)} coordinates; the network reads {dim}")
        place = hashlib.sha256(f"polycarve domain 1; {text}".encode()).hexdigest()
        need(place == header["domain"], "the domain is not the one of the header's SHA-256")
        line = 1
        hidden = [k for k, (_, _, _, law) in enumerate(layers) if law is not None]
        depth, is_complete = whole(header["layers"], 0, "layers"), header["complete"]
        need(depth <= len(hidden), f"layers: the network has only {len(hidden)} hidden layers")
        need(type(is_complete) is bool, "complete: neither true nor false")
        need(whole(header["regions"], 0, "regions") == len(regions), "not as many regions as it says")
        need(regions, "no region is listed")
        layers = layers[: hidden[depth - 1] + 1] if depth else []
        widths = [len(b) * len(law[0]) if law else 0 for _, _, b, law in layers]
        patterns = []
        for line, record in enumerate(regions, start=4):
            need(type(record) is list and len(record) >= 2, "not a list of pattern and witness")
            pattern = whole(record[0], 0, "pattern")
            need(pattern < 1 << sum(widths), "the pattern has more bits than there are cuts")
            need(not patterns or patterns[-1] < pattern, "patterns do not increase")
            patterns.append(pattern)
        line = 0
        prove(Layers(layers, y), widths, rows, in_box, patterns, regions, is_complete)
    except Refused as refusal:
        raise Refused(f"line {line}: {refusal}" if line else str(refusal)) from None
    except Exception as error:  # whatever a damaged or hostile file makes of the above
        raise Refused(f"line {line}: it cannot be read ({type(error).__name__})") from None
    counts = [len({p >> sum(widths[k + 1 :]) for p in patterns}) for k, w in enumerate(widths) if w]
    return theorem(sha, place, len(patterns), counts, is_complete=is_complete)


def theorem(network: str, domain: str, n: int, layer_counts: Any, *, is_complete: bool) -> str:
    after = f" ({', '.join(map(str, layer_counts))} after each)" if layer_counts else ""
    return (
        f"The network with SHA-256 {network}\n"
        f"has on the domain with SHA-256 {domain}\n"
        f"{'exactly' if is_complete else 'at least'} {n} activation regions after "
        f"{len(layer_counts)} hidden layers{after}: patterns of positive\n"
        "pre-activations that some open part of the domain has, by the real-valued function of "
        "the exact numbers."
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
