"""VNN-LIB files: the box is read exactly, in whatever way it is written, or refused by name."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycarve.domains.vnnlib import input_box
from polycarve.errors import DomainError

DATA = next(
    (
        place
        for parent in Path(__file__).resolve().parents
        if (place := parent / "shared" / "data" / "vnncomp").is_dir()
    ),
    None,
)
HEAD = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n"
UNIT = "(assert (and (<= X_0 1) (>= X_0 0) (<= X_1 1) (>= X_1 0)))\n"


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "given.vnnlib"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return input_box(path)

    return read


def refusal(read, text):
    with pytest.raises(DomainError) as caught:
        read(text)
    assert "given.vnnlib" in str(caught.value)
    assert len(str(caught.value).replace(str(caught.value).split("given.vnnlib")[0], "")) < 300
    return str(caught.value)


# ---------------------------------------------------------------------- what is read


@pytest.mark.skipif(DATA is None, reason="the VNN-COMP files are not there")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_acas_xu_properties(number):
    path = DATA / f"acasxu_prop_{number}.vnnlib"
    want = {}
    for relation, index, value in re.findall(r"\(([<>])= X_(\d) (\S+?)\)", path.read_text()):
        assert want.setdefault((relation, int(index)), Fraction(Decimal(value))) is not None
    assert len(want) == 10
    lo, hi = input_box(path)
    assert lo == [want[">", j] for j in range(5)]
    assert hi == [want["<", j] for j in range(5)]
    assert input_box(str(path)) == (lo, hi)


@pytest.mark.parametrize(
    ("bounds", "lo", "hi"),
    [
        ("(assert (<= X_0 0.1)) (assert (>= X_0 -0.1))", "-1/10", "1/10"),
        ("(assert (>= 0.1 X_0)) (assert (<= -0.1 X_0))", "-1/10", "1/10"),
        ("(assert (<= -1 X_0 2.50))", "-1", "5/2"),
        ("(assert (< X_0 1e-3)) (assert (> X_0 -1.5E+2))", "-150", "1/1000"),
        ("(assert (and (<= X_0 (/ 1 3)) (>= X_0 (- (/ 1 3)))))", "-1/3", "1/3"),
        ("(assert (= X_0 0.3))", "3/10", "3/10"),
        ("(assert (= 0 (- X_0 (* 2 0.25))))", "1/2", "1/2"),
        ("(assert (<= (* 2 X_0) 1)) (assert (<= (* X_0 (- 4)) 1))", "-1/4", "1/2"),
        ("(assert (<= (+ X_0 1) 3 )) (assert (<= (- 1 X_0) (/ X_0 (- 2)) 5))", "2", "2"),
        ("(assert (<= (- X_0) 7)) (assert (<= (+ X_1 X_0 (- X_1)) 8))", "-7", "8"),
        ("(assert (<= X_0 3)) (assert (<= X_0 2)) (assert (>= X_0 0 -1))", "0", "2"),
        ("(assert (<= X_0 2)) (assert (<= X_0 3)) (assert (>= X_0 -1)) (assert (>= X_0 0))", 0, 2),
        ("(assert (or (and (<= X_0 1) (>= X_0 0))))", "0", "1"),
        ("(assert (and (and (<= X_0 1)) (and (>= X_0 0) true)))", "0", "1"),
        ("(assert(and(<= |X_0| 1)(>= X_0 ; a remark ) (\n 0)))", "0", "1"),
        ("(assert (<= 0 X_0 1)) (assert (<= 1 1 2)) (assert (> 1 (/ 1 2))) (assert true)", 0, 1),
        ("(set-logic QF_LRA) (assert (<= +.5 X_0 5.)) (check-sat) (exit)", "1/2", "5"),
    ],
)
def test_spellings(read, bounds, lo, hi):
    text = HEAD + bounds + "(assert (<= 0 X_1 1)) (assert (<= Y_0 3))"
    assert read(text) == ([Fraction(lo), 0], [Fraction(hi), 1])


@pytest.mark.parametrize(
    "condition",
    [
        "(<= Y_0 Y_1)",
        "(or (<= Y_0 0) (>= Y_1 (* Y_0 Y_0)))",
        "(or (and (<= Y_0 0) (>= Y_1 0)) (not (= Y_1 (f Y_0 3))))",
        "(=> (<= Y_0 0) (<= Y_1 0))",
        # Every case states the same box, in its own words and amid conditions on the outputs.
        "(or (and (<= X_0 1) (<= Y_0 0)) (and (>= 2 (* X_0 2)) (>= Y_0 1) (<= X_0 4)))",
        "(or (and (or (<= Y_0 0) (<= Y_1 0)) (<= X_0 1)) (and (<= X_0 1)) (<= X_0 1))",
        "(and (>= 1 X_0) (or (<= Y_0 0) (<= Y_1 0)))",
    ],
)
def test_outputs_are_passed_over(read, condition):
    text = HEAD + f"(declare-fun Y_1 () Real) (assert {condition})" + UNIT
    assert read(text) == ([0, 0], [1, 1])


def test_bounds_within_cases_count(read):
    cases = [
        "(and (<= 0.1 X_0 0.2) (<= 3 X_1 4) (<= Y_0 0))",
        "(and (<= 3 X_1 4 5) (<= 0.1 X_0 0.2))",
    ]
    lo, hi = read(HEAD + f"(assert (or {' '.join(cases)}))")
    assert lo == [Fraction(1, 10), 3]
    assert hi == [Fraction(1, 5), 4]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_marks(read, end):
    text = ("; a remark\n" + HEAD + UNIT).replace("\n", end)
    assert read("\ufeff" + text) == ([0, 0], [1, 1])
    assert "line 5:" in refusal(read, text.replace("(<= X_0 1)", "(<= X_9 1)"))


def test_depth_is_no_obstacle(read):
    depth = 50_000

    def nest(opening, inner, closing=")"):
        return opening * depth + inner + closing * depth

    box = (
        f"(assert {nest('(and ', '(<= 0 X_0)')}) (assert {nest('(or ', '(<= X_0 1)')})"
        f"(assert (<= {nest('(- ', 'X_1')} 1)) (assert (>= {nest('(+ 1 ', 'X_1')} {depth}))"
        f"(assert {nest('(or (<= Y_0 1) (and ', '(<= Y_0 2)', '))')})"
    )
    assert read(HEAD + box) == ([0, 0], [1, 1])
    assert "never closed" in refusal(read, "(" * depth)
    assert "neither" in refusal(read, HEAD + f"(assert {nest('(not ', 'Q')})")


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("(<= (+ X_0 X_1) 1)", r"\(<= \(\+ X_0 X_1\) 1\) ties two inputs together"),
        ("(<= X_0 X_1)", "ties two inputs"),
        ("(<= X_0 Y_0)", "ties an input to an output"),
        ("(or (<= Y_0 1) (>= (+ X_0 Y_0) 1))", r"\(>= \(\+ X_0 Y_0\) 1\) ties an input to an out"),
        ("(or (<= X_0 0.5) (<= X_0 0.6))", "different bounds .* in its cases"),
        ("(or (and (<= X_0 0.5) (<= Y_0 0)) (<= Y_0 1))", "different bounds"),
        ("(or (<= Y_0 1) (<= X_0 0.5))", "different bounds"),
        ("(or (or (<= X_0 0) (<= X_1 0)) (<= X_0 0))", r"\(or \(<= X_0 0\) \(<= X_1 0\)\) states"),
        ("(<= (* X_0 X_0) 1)", r"\(\* X_0 X_0\) is not linear"),
        ("(<= (/ 1 X_0) 1)", "is not linear"),
        ("(<= (/ X_0 0) 1)", "divides by zero"),
        ("(<= (abs X_0) 1)", r"\(abs X_0\) is not a sum"),
        ("(<= (/ X_0) 1)", "is not a sum"),
        ("(<= (-) X_0)", "is not a sum"),
        ("(<= true X_0)", "true is no number"),
        ("(not (<= X_0 1))", r"\(not \(<= X_0 1\)\) is no bound on an input"),
        ("(distinct X_0 1)", "is no bound"),
        ("(=> (<= X_0 1) (<= Y_0 1))", "is no bound"),
        ("(<= X_0)", "is no bound"),
        ("X_0", "is no bound"),
        ("false", "is no bound"),
        ("()", r"\(\) is neither"),
        ("(and)", "joins no conditions"),
        ("(or)", "joins no conditions"),
        ("(< 1 1)", "never holds"),
        ("(= 1 (/ 2 3))", "never holds"),
        ("(< X_0 X_0)", "never holds"),
        ("(<= X_2 1)", "X_2 is neither a number nor a declared"),
        ("(<= Y_9 1)", "Y_9 is neither"),
        ("(<= x_0 1)", "x_0 is neither"),
        ("(<= X_0 0,5)", "0,5 is neither"),
        ("(<= X_0 1/3)", "1/3 is neither"),
        ("(<= X_0 1_000)", "1_000 is neither"),
        ("(<= X_0 nan)", "nan is neither"),
        ("(<= X_0 \u0661)", "is neither"),
        ("(<= X_0 1e999999999)", "1e999999999 is no number, or too large"),
        (f"(<= X_0 {'9' * 6000})", "too large"),
        (f"(<= (* {'1e9999 ' * 8}X_0) 1)", "more digits"),
    ],
)
def test_conditions_that_are_no_bounds(read, condition, why):
    message = refusal(read, HEAD + UNIT + f"\n(assert {condition})")
    assert re.search(rf"line 6: .*{why}", message), message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "declares no inputs"),
        ("; nothing\n", "declares no inputs"),
        ("(declare-const Y_0 Real)", "declares no inputs"),
        ("(declare-const X_0 Real)\n(declare-const X_2 Real)", "2 inputs, but not X_1"),
        ("(declare-const X_7 Real)", "1 inputs, but not X_0"),
        ("(declare-const X_0 Real)(declare-const X_0 Real)", "line 1: .* X_0 a second time"),
        ("\n(declare-const X_0 Int)", r"line 2: \(declare-const X_0 Int\) declares no real"),
        ("(declare-const X_0)", "declares no real"),
        ("(declare-const)", "declares no real"),
        ("(declare-const (X_0) Real)", "declares no real"),
        ("(declare-fun X_0 (Real) Real)", "declares no real"),
        ("(declare-const X_00 Real)", "neither an input"),
        ("(declare-const X_0_1 Real)", "neither an input"),
        ("(declare-const Z_0 Real)", "neither an input"),
        (f"(declare-const X_{'9' * 5000} Real)", "neither an input"),
        ("(define-fun a () Real 1)", "neither a declaration"),
        (HEAD + UNIT + "(assert (<= X_0 1) (<= X_1 1))", "line 5: .* of one condition"),
        (HEAD + UNIT + "(assert)", "line 5"),
        (HEAD + UNIT + "()", "line 5"),
        (HEAD + UNIT + "(assert (<= X_0 0.5)))", r"line 5: this \) closes nothing"),
        (HEAD + UNIT + "(assert\n(<= X_0 0.5)", r"line 5: this \( is never closed. .* cut off"),
        (HEAD + "(assert (<= X_0 0.", r"line 4: this \( is never closed"),
        (HEAD + '(set-info "a)', 'line 4: the quotation mark " is never closed'),
        (HEAD + "(assert (<= |X_0 1))", "line 4: the quotation mark | is never closed"),
        ("X_0 <= 1", "line 1: 'X_0' stands outside"),
        (HEAD, "no lower bound on X_0, X_1 and no upper bound on X_0, X_1"),
        (HEAD + "(assert (<= X_1 1)) (assert (<= 0 X_0 1))", "no lower bound on X_1. "),
        (HEAD + "(assert (>= X_1 1)) (assert (<= 0 X_0 1))", "no upper bound on X_1. "),
        (HEAD + UNIT + "(assert (>= X_1 2))", "empty box: .* of X_1"),
        (HEAD + UNIT + "(assert (< X_0 0))(assert (= X_1 3))", "empty box: .* of X_0, X_1"),
        (HEAD + UNIT + "(assert (>= X_0 1))(assert (< X_0 1))", "empty box: .* of X_0"),
        ("(vnnlib-version <2.0>)\n(declare-network N\n(declare-input X Real [2]))", "VNN-LIB 2"),
        ("; new\n(declare-network N (declare-input X Real [2]))", "line 2: .* VNN-LIB 2"),
        (b"\x1f\x8b\x08\x00", "compressed"),
        (b"\x7fELF\x00\x01", "no text"),
        (b"\xff\xfe(\x00", "no text"),
        (b"(declare-const X_\xe9 Real)", "no text"),
    ],
)
def test_files_that_state_no_box(read, text, why):
    assert re.search(why, refusal(read, text))


def test_all_inputs_without_a_bound_are_named(read):
    names = "".join(f"(declare-const X_{j} Real)" for j in range(900))
    free = {3, 5, 6, *range(10, 800), 899}
    bounds = "".join(f"(assert (<= 0 X_{j} 1))" for j in range(900) if j not in free)
    message = refusal(read, names + bounds)
    assert message.count("bound on X_3, X_5, X_6, X_10 to X_799, X_899") == 2


def test_paths_without_a_file(tmp_path):
    for path, why in (
        (tmp_path / "absent.vnnlib", "absent.vnnlib: no such file"),
        (tmp_path, "is a folder"),
        (f"{__file__}/below", "cannot be read"),
        ("a\0b", "cannot be read"),
        (7, "7 is no path"),
    ):
        with pytest.raises(DomainError, match=why):
            input_box(path)


# ---------------------------------------------------------------------- any box, any spelling

decimals = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(-(10**17), 10**17) | st.integers(-9, 9),
    st.integers(-30, 30),
)


@st.composite
def number(draw, value):
    """Spell a decimal in one of the ways that SMT-LIB and its users have for it."""
    quotient = Fraction(value)
    size = abs(quotient)
    shift = draw(st.integers(-3, 3))
    spellings = [
        str(value),
        f"{value:f}",
        f"{value.scaleb(-shift)}e{shift}" if "E" not in str(value.scaleb(-shift)) else str(value),
        f"(/ {quotient.numerator} {quotient.denominator})",
        f"(- {'-' if quotient > 0 else ''}{Decimal(abs(value)):f})" if value else "0.0",
        f"(- 1 (- 1 {value:f}))",
        f"(* {value:f} 1.0)",
        f"(- (/ {-quotient.numerator} {quotient.denominator}))",
        f"(+ {value:f} {size.numerator} (- {size.numerator}))",
    ]
    return draw(st.sampled_from(spellings))


@st.composite
def bound(draw, name, value, side):
    """Spell ``name <= value`` (side 1) or ``name >= value`` (side -1)."""
    text = draw(number(value))
    strict = draw(st.sampled_from(["", "="]))
    less, more = ("<", ">") if side == 1 else (">", "<")
    factor = draw(st.sampled_from(["2", "0.125"]))
    return draw(
        st.sampled_from(
            [
                f"({less}= {name} {text})",
                f"({less}{strict}\t{name}\n{text} )",
                f"({more}= {text} {name})",
                f"({more}{strict} (* {factor} {text}) (* {name} {factor}))",
                f"({less}= (- {name} {text}) 0)",
                f"({more}= (- {name}) (- {text}))",
                f"(and ({less}= {name} {text}) ; so be it\n (>= 1 0.5 0))",
            ]
        )
    )


@st.composite
def files(draw):
    ends = draw(st.lists(st.tuples(decimals, decimals), min_size=1, max_size=5))
    # A strict bound on a flat side leaves nothing.
    ends = [tuple(sorted(pair)) for pair in ends if pair[0] != pair[1]] or [
        (Decimal(0), Decimal(1))
    ]
    parts = [draw(bound(f"X_{j}", lo, -1)) for j, (lo, _) in enumerate(ends)]
    parts += [draw(bound(f"X_{j}", hi, 1)) for j, (_, hi) in enumerate(ends)]
    for j in draw(st.sets(st.integers(0, len(ends) - 1))):  # looser bounds that change nothing
        parts.append(draw(bound(f"X_{j}", ends[j][1] + abs(ends[j][1]) + 1, 1)))
    parts += ["(<= Y_0 Y_1)"] * draw(st.integers(0, 2))
    parts = draw(st.permutations(parts))
    shape = draw(st.sampled_from(["asserts", "and", "or", "cases", "mixed"]))
    if shape == "asserts":
        conditions = parts
    elif shape in ("and", "or"):
        conditions = [f"({shape} (and {' '.join(parts)}))"]
    elif shape == "cases":
        again = draw(st.permutations(parts))
        conditions = [f"(or (and {' '.join(parts)} (<= Y_0 0))\n (and {' '.join(again)}))"]
    else:
        half = len(parts) // 2
        conditions = [*parts[:half], f"(or (and (and {' '.join(parts[half:])})))"]
    names = [*(f"X_{j}" for j in range(len(ends))), "Y_0", "Y_1"]
    lines = [f"(declare-const {name} Real)" for name in draw(st.permutations(names))]
    lines += [f"(assert {condition})" for condition in conditions]
    return draw(st.sampled_from(["\n", " ", "\n; remark (\n"])).join(lines), ends


@settings(max_examples=200, deadline=None)
@given(given=files())
def test_any_box_in_any_spelling(tmp_path_factory, given):
    text, ends = given
    path = tmp_path_factory.getbasetemp() / "spelling.vnnlib"
    path.write_text(text)
    lo, hi = input_box(path)
    assert lo == [Fraction(low) for low, _ in ends]
    assert hi == [Fraction(high) for _, high in ends]


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from('()X_01Y.<=>;|"- \n') | st.characters(), max_size=60))
def test_no_text_brings_it_down(tmp_path_factory, text):
    """Whatever the text: a box, or a refusal."""
    path = tmp_path_factory.getbasetemp() / "any.vnnlib"
    path.write_text(HEAD + UNIT + text, encoding="utf-8", errors="replace")
    try:
        lo, hi = input_box(path)
    except DomainError as error:
        said = str(error)
    else:
        said = str(path) if all(low <= high for low, high in zip(lo, hi, strict=True)) else ""
    assert "any.vnnlib" in said
