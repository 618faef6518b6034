"""The box of inputs in a VNN-LIB 1 file: SMT-LIB commands over ``X_0, X_1, ...`` and ``Y_0, ...``.

A file is read in three steps: tokens become nested nodes (`parse`), declarations and assertions
are told apart (`input_box`), and assertions become bounds (`_Assertions`), kept exactly. None of
them calls itself, so that no nesting is too deep. What speaks of outputs alone is passed over;
whatever else is not a bound on a single input is refused by name.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from polycarve.domains.vnnlib_syntax import Node, Source, parse, read_text
from polycarve.errors import DomainError, InputError
from polycarve.rational import fraction

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_INPUT = re.compile(r"X_(0|[1-9][0-9]{0,8})")
_OUTPUT = re.compile(r"Y_(0|[1-9][0-9]{0,8})")

# Commands that say nothing about the inputs.
_IDLE = {"set-logic", "set-info", "set-option", "check-sat", "get-model", "exit"}
_COMPARISONS = {"<=", "<", ">=", ">", "="}
# Numbers of more bits than this come from no real file, and slow everything down.
_MOST_BITS = 1 << 17

# (input, 1): at most, (input, -1): minus at least; with a value and whether equality is allowed,
# in that order: of two bounds on a side, the smaller pair is the tighter one.
_Bounds = dict[tuple[int, int], tuple[Fraction, bool]]
_Form = dict[int, Fraction]  # coefficients by input, and the constant
_CONSTANT = -1


def input_box(path: str | Path) -> tuple[list[Fraction], list[Fraction]]:
    """Return the lower and the upper bounds of the inputs in a VNN-LIB 1 file.

    Numbers are kept as they are written: ``0.1`` is a tenth. Of several bounds on one side the
    tightest counts. Conditions on the outputs ``Y_0, Y_1, ...`` alone are passed over; so a
    disjunction is fine where every case states the same bounds on the inputs. A strict
    inequality counts as its closed one: the box has the same interior.

    Parameters
    ----------
    path : path-like
        Of an uncompressed text file in the SMT-LIB syntax of VNN-LIB 1.

    Returns
    -------
    lo, hi : lists of Fraction
        For ``X_0, X_1, ...`` in this order, ``lo[j] <= hi[j]``.

    Raises
    ------
    DomainError
        The file cannot be read, or what it says of the inputs is not a box: it ties inputs
        together or to outputs, leaves one without a bound, or differs from case to case.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "property.vnnlib"
    >>> _ = path.write_text('''
    ... (declare-const X_0 Real)
    ... (declare-const Y_0 Real)
    ... (assert (and (<= X_0 0.1) (>= X_0 (- 0.5))))
    ... (assert (<= Y_0 3))
    ... ''')
    >>> input_box(path)
    ([Fraction(-1, 2)], [Fraction(1, 10)])
    """
    source = Source(str(path), read_text(path))
    assertions = _Assertions(source)
    commands = parse(source)
    for command in commands:
        if command.head in ("vnnlib-version", "declare-network"):
            source.refuse(
                command,
                f"({command.head} ...) is VNN-LIB 2, and only VNN-LIB 1 is read. Save the property "
                f"in version 1, or give the bounds of the inputs as Box(lo, hi)",
            )
    for command in commands:
        if command.head in ("declare-const", "declare-fun"):
            assertions.declare(command)
        elif command.head == "assert" and len(command.items) == 2:
            continue
        elif command.head == "assert" or command.head not in _IDLE:
            assertions.refuse(
                command, "is neither a declaration of one number nor an assertion of one condition"
            )
    for command in commands:
        if command.head == "assert":
            assertions.add(command.items[1])
    return assertions.box()


class _Assertions:
    """What a file has said so far: the names it declares and the bounds of its inputs."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.names: set[str] = set()
        self.bounds: _Bounds = {}

    def declare(self, command: Node) -> None:
        name, *rest = [item.word or item.items for item in command.items[1:]] or [""]
        # (declare-fun X_0 () Real) says the same.
        wanted = ["Real"] if command.head == "declare-const" else [[], "Real"]
        if not isinstance(name, str) or rest != wanted:
            self.refuse(command, "declares no real number. Write (declare-const X_0 Real)")
        if not _INPUT.fullmatch(name) and not _OUTPUT.fullmatch(name):
            self.refuse(command, "is neither an input X_0, X_1, ... nor an output Y_0, Y_1, ...")
        if name in self.names:
            self.refuse(command, f"declares {name} a second time")
        self.names.add(name)

    def add(self, condition: Node) -> None:
        """Take in a condition: ``and``, ``or`` and comparisons, nested in any way."""
        todo, bounds = [condition], self.bounds
        # Disjunctions that are being read: the cases left, what the first of them states, and
        # what to go on with afterwards.
        waiting: list[tuple[Node, list[Node], _Bounds | None, list[Node], _Bounds]] = []
        while todo or waiting:
            if not todo:  # a case of the latest disjunction is complete
                node, cases, first, after, outer = waiting.pop()
                if first is not None and bounds != first:
                    self.refuse(
                        node,
                        "states different bounds on the inputs in its cases, and one box is "
                        "needed. Write a file for each case",
                    )
                if cases:
                    waiting.append((node, cases, bounds, after, outer))
                    todo, bounds = [cases.pop()], {}
                else:
                    for key, bound in bounds.items():
                        _tighten(outer, key, bound)
                    todo, bounds = after, outer
                continue
            node = todo.pop()
            parts = node.items[1:]
            if node.head in ("and", "or") and not parts:
                self.refuse(node, "joins no conditions")
            if node.head == "and":
                todo.extend(reversed(parts))
            elif node.head == "or":
                waiting.append((node, parts[:0:-1], None, todo, bounds))
                todo, bounds = [parts[0]], {}
            elif node.head in _COMPARISONS and len(parts) >= 2:
                for left, right in pairwise(parts):
                    self.compare(node, left, right, bounds)
            elif node.word != "true" and self.kinds(node) != {"Y"}:
                self.refuse(
                    node,
                    "is no bound on an input. Bounds are written (<= X_0 1) and (>= X_0 0), "
                    "joined by and",
                )

    def compare(self, node: Node, left: Node, right: Node, bounds: _Bounds) -> None:
        """Take in ``left <= right``, or what else the head of the node says."""
        kinds = self.kinds(left) | self.kinds(right)
        if kinds == {"Y"}:
            return
        if kinds == {"X", "Y"}:
            self.refuse(node, "ties an input to an output; bounds on inputs alone make a box")
        form = self.combine("-", [self.form(left), self.form(right)], node)
        constant = form.pop(_CONSTANT, Fraction(0))
        inputs = [(index, factor) for index, factor in form.items() if factor]
        if len(inputs) > 1:
            tied = "two" if len(inputs) == 2 else str(len(inputs))
            self.refuse(node, f"ties {tied} inputs together; a box bounds each by itself")
        closed, relation = "=" in node.head, node.head.strip("=") or "="
        if not inputs:
            holds = {"<": constant < 0, ">": constant > 0, "=": False}[relation]
            if not holds and not (closed and constant == 0):
                self.refuse(node, "never holds")
            return
        ((index, factor),) = inputs
        bound, rises = -constant / factor, factor > 0
        if relation == "=" or (relation == "<") == rises:
            _tighten(bounds, (index, 1), (bound, closed))
        if relation == "=" or (relation == ">") == rises:
            _tighten(bounds, (index, -1), (-bound, closed))

    def kinds(self, node: Node) -> set[str]:
        """Return whether inputs ("X") or outputs ("Y") occur in a node; refuse other names."""
        found, todo = set(), [node]
        while todo:
            part = todo.pop()
            if part.items:  # what stands first says what is done with the others
                todo.extend(part.items[0 if part.items[0].items else 1 :])
            elif part.word in self.names:
                found.add(part.word[0])
            elif part.word not in ("true", "false") and not _NUMBER.fullmatch(part.word):
                self.refuse(part, "is neither a number nor a declared input or output")
        return found

    def form(self, term: Node) -> _Form:
        """Return a term as a linear form of the inputs."""
        todo, done = [(term, False)], list[_Form]()
        while todo:
            node, is_open = todo.pop()
            parts = node.items[1:]
            if is_open:
                values = done[-len(parts) :]
                done[-len(parts) :] = [self.combine(node.head, values, node)]
            elif node.items:
                fewest = {"+": 1, "-": 1, "*": 2, "/": 2}.get(node.head)
                if fewest is None or len(parts) < fewest:
                    self.refuse(node, "is not a sum, difference, product or quotient")
                todo.append((node, True))
                todo.extend((part, False) for part in reversed(parts))
            elif name := _INPUT.fullmatch(node.word):
                done.append({int(name[1]): Fraction(1)})
            else:
                try:
                    done.append({_CONSTANT: fraction(node.word)})
                except InputError:  # true, or more digits than Python reads
                    self.refuse(node, "is no number, or too large or too small to work with")
        return done[0]

    def combine(self, operation: str, values: list[_Form], node: Node) -> _Form:
        """Return the sum, difference, product or quotient of linear forms."""
        first, *others = values
        if operation == "-" and not others:
            first, others = {}, values
        result = dict(first)
        for value in others:
            if operation in "+-":
                sign = 1 if operation == "+" else -1
                for key, number in value.items():
                    result[key] = result.get(key, Fraction(0)) + sign * number
                continue
            if operation == "*" and set(value) - {_CONSTANT}:
                result, value = value, result
            factor = value.get(_CONSTANT, Fraction(0))
            if set(value) - {_CONSTANT}:
                self.refuse(node, "is not linear in the inputs")
            if operation == "/" and not factor:
                self.refuse(node, "divides by zero")
            factor = factor if operation == "*" else 1 / factor
            result = {key: number * factor for key, number in result.items()}
        for number in result.values():
            if number.numerator.bit_length() + number.denominator.bit_length() > _MOST_BITS:
                self.refuse(node, "takes more digits than one can work with")
        return result

    def refuse(self, node: Node, why: str) -> NoReturn:
        self.source.refuse(node, f"{self.source.quote(node)} {why}")

    def box(self) -> tuple[list[Fraction], list[Fraction]]:
        """Return the bounds of all inputs; refuse if there is none on a side, or they cross."""
        path, n = self.source.path, sum(name[0] == "X" for name in self.names)
        if not n:
            raise DomainError(f"{path} declares no inputs: (declare-const X_0 Real) is missing.")
        if gaps := [j for j in range(n) if f"X_{j}" not in self.names]:
            raise DomainError(
                f"{path} declares {n} inputs, but not {_runs(gaps)}. Number them from X_0 on "
                f"without gaps."
            )
        missing = [
            f"no {side} bound on {_runs(free)}"
            for side, sign in (("lower", -1), ("upper", 1))
            if (free := [j for j in range(n) if (j, sign) not in self.bounds])
        ]
        if missing:
            raise DomainError(
                f"{path} states {' and '.join(missing)}. A box bounds every input on both sides."
            )
        lo, hi, crossing = [], [], []
        for j in range(n):
            (low, low_closed), (high, high_closed) = self.bounds[j, -1], self.bounds[j, 1]
            lo.append(-low)
            hi.append(high)
            if -low > high or (-low == high and not (low_closed and high_closed)):
                crossing.append(j)
        if crossing:
            raise DomainError(
                f"{path} states an empty box: no number is within the bounds of {_runs(crossing)}."
            )
        return lo, hi


def _tighten(bounds: _Bounds, key: tuple[int, int], bound: tuple[Fraction, bool]) -> None:
    bounds[key] = min(bound, bounds.get(key, bound))


def _runs(numbers: list[int]) -> str:
    """Name inputs, a run of three or more by its ends."""
    names: list[str] = []
    start = 0
    for k, number in enumerate(numbers):
        if k + 1 < len(numbers) and numbers[k + 1] == number + 1:
            continue
        run = numbers[start : k + 1]
        names += [f"X_{run[0]} to X_{number}"] if len(run) > 2 else [f"X_{j}" for j in run]
        start = k + 1
    return ", ".join(names)
