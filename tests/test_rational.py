"""Exact numbers and the exact linear program, against Fractions, SciPy and their own proofs."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from polycarve import rational
from polycarve.errors import InputError
from polycarve.rational import (
    ExactArray,
    fraction,
    minimum,
    rank,
    solve,
    stack,
    strict_feasibility,
)

RATIONALS = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)


def matrix(rng, *shape):
    """An array of random Fractions, some of them zero or negative."""
    numerators = rng.integers(-9, 10, shape).astype(object)
    return numerators * Fraction(1) / rng.integers(1, 8, shape).astype(object)


# ---------------------------------------------------------------------- single numbers


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (0.1, Fraction(3602879701896397, 2**55)),
        (5e-324, Fraction(1, 2**1074)),
        (2.2250738585072014e-308, Fraction(1, 2**1022)),
        (1.7976931348623157e308, Fraction((2**53 - 1) * 2**971)),
        (-0.0, Fraction(0)),
        (np.float16(6e-8), Fraction(1, 2**24)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.float64(0.5), Fraction(1, 2)),
        (np.longdouble(3) / 4, Fraction(3, 4)),
        (7, Fraction(7)),
        (10**40, Fraction(10**40)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (True, Fraction(1)),
        (np.bool_(False), Fraction(0)),
        (Fraction(2, 3), Fraction(2, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("-1e-3", Fraction(-1, 1000)),
        ("1/3", Fraction(1, 3)),
        (np.str_("2.50"), Fraction(5, 2)),
    ],
)
def test_fraction_takes_numbers_at_their_word(raw, value):
    exact = fraction(raw)
    assert type(exact) is Fraction
    assert exact == value


def test_fraction_of_a_long_double_keeps_all_its_bits():
    eps = np.finfo(np.longdouble).eps
    assert fraction(np.longdouble(1) + eps) - 1 == Fraction(2) ** int(np.log2(eps))


@pytest.mark.parametrize(
    "raw",
    [
        *(math.nan, -math.inf, np.float16("nan"), np.float32("inf"), np.longdouble("nan")),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), "nan", "inf", "abc", "", "1/0"),
        *(None, 1j, np.complex64(1), b"1", [1], (1, 2), {}, np.array([1.5]), object()),
    ],
    ids=lambda raw: type(raw).__name__ if type(raw) is object else repr(raw),
)
def test_fraction_refuses_what_is_not_a_finite_real_number(raw):
    with pytest.raises(InputError, match="is not a finite number"):
        fraction(raw)


# ---------------------------------------------------------------------- arrays of them


def test_every_finite_float16_is_read_exactly():
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    exact = ExactArray.of(halves)
    assert exact.fractions() == [Fraction(float(half)) for half in halves]
    assert exact.is_float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_of_all_magnitudes_are_read_exactly(dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    raw = np.random.default_rng(0).integers(0, np.iinfo(bits).max, 400, dtype=bits).view(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.concatenate([raw[np.isfinite(raw)], np.array([tiny, -3 * tiny, 0, 1], dtype)])
    exact = ExactArray.of(values)
    assert exact.fractions() == [Fraction(float(value)) for value in values]
    assert exact.is_float64
    np.testing.assert_array_equal(exact.float64, values.astype(np.float64))


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        (np.array([2**53 + 1, -(2**62) - 1]), [2**53 + 1, -(2**62) - 1]),
        (np.array([2**64 - 1], dtype=np.uint64), [2**64 - 1]),
        (np.array([-128, 127], dtype=np.int8), [-128, 127]),
        (np.array([True, False]), [1, 0]),
        (np.array([1, 3], dtype=np.longdouble) / 2, [Fraction(1, 2), Fraction(3, 2)]),
        (np.array(["0.1", "1/3"]), [Fraction(1, 10), Fraction(1, 3)]),
        (np.array([0.5, Fraction(1, 3), 2, "0.1"], dtype=object), None),
        ([0.5, Fraction(1, 3), 2, "0.1"], None),
        ([[0.5, Fraction(1, 3)], [2, "0.1"]], None),
        ([np.float32(0.5), Decimal("0.1"), True], [Fraction(1, 2), Fraction(1, 10), 1]),
        ([], []),
        ([[], []], [[], []]),
        (np.zeros((0, 3)), []),
        ("0.25", Fraction(1, 4)),
        (7, 7),
        (np.array(0.5), Fraction(1, 2)),
        (np.array(5), 5),
    ],
    ids=repr,
)
def test_arrays_of_any_kind_are_read_exactly(raw, values):
    if values is None:
        values = [Fraction(1, 2), Fraction(1, 3), 2, Fraction(1, 10)]
        values = values if np.ndim(raw) == 1 else [values[:2], values[2:]]
    exact = ExactArray.of(raw)
    assert exact.fractions() == values
    assert exact.shape == np.shape(raw)
    assert exact.ndim == np.ndim(raw)
    assert exact.denominator > 0
    assert all(type(n) is int for n in np.ravel(exact.numerators))
    assert ExactArray.of(exact) is exact


@pytest.mark.parametrize(
    "raw",
    [
        *([[1, 2], [3]], [[1.0, 2.0], [3.0]], [[1, 2], 3], [np.zeros((2, 2)), np.zeros((2, 3))]),
        *([1, None], [1j], np.array([1j]), np.array([b"1"]), np.array(["2020"], "M8[Y]"), "x"),
        *([math.nan], [1.0, math.inf], np.array([np.nan], np.float32), [1, math.nan], None, {}),
        np.array([np.inf], np.longdouble),
    ],
    ids=repr,
)
def test_what_is_not_an_array_of_finite_real_numbers_is_refused(raw):
    with pytest.raises(InputError, match=r"[Gg]ive"):
        ExactArray.of(raw)


def test_later_changes_of_what_was_given_do_not_show():
    for raw in (np.array([1.0, 2.0]), np.array([1, 2]), np.array([1, 2], dtype=object)):
        exact = ExactArray.of(raw)
        raw[0] = 9
        assert exact.fractions() == [1, 2]
        np.testing.assert_array_equal(exact.float64, [1.0, 2.0])
        with pytest.raises(ValueError, match="read-only"):
            exact.float64[0] = 9


@given(st.lists(st.fractions(), min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
def test_the_float64_view_is_the_nearest_float(values):
    exact = ExactArray.of(values)
    for value, near in zip(values, exact.float64.tolist(), strict=True):
        assert near == float(value)
        gap = abs(Fraction(near) - value)
        assert gap <= abs(Fraction(math.nextafter(near, math.inf)) - value)
        assert gap <= abs(Fraction(math.nextafter(near, -math.inf)) - value)
    assert exact.is_float64 == all(Fraction(float(v)) == v for v in values)


@pytest.mark.parametrize(
    ("raw", "same"),
    [(["0.5"], True), (["0.1"], False), ([2**53], True), ([2**53 + 1], False), (["1e-400"], False)],
)
def test_is_float64_says_whether_the_view_is_exact(raw, same):
    assert ExactArray.of(raw).is_float64 is same


def test_a_number_too_large_for_float64_is_kept_but_has_no_view():
    exact = ExactArray.of(["1e400"])
    assert exact.fractions() == [Fraction(10) ** 400]
    with pytest.raises(InputError, match="too large for float64"):
        _ = exact.float64


# ---------------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("seed", range(5))
def test_arithmetic_agrees_with_fractions(seed):
    rng = np.random.default_rng(seed)
    a, b, row = matrix(rng, 3, 4), matrix(rng, 3, 4), matrix(rng, 4)
    A, B, r = ExactArray.of(a), ExactArray.of(b), ExactArray.of(row)
    assert (A + B).fractions() == (a + b).tolist()
    assert (A - B).fractions() == (a - b).tolist()
    assert (-A).fractions() == (-a).tolist()
    assert (A * B).fractions() == (a * b).tolist()
    assert (A * r).fractions() == (a * row).tolist()
    assert (A[:, :1] * B).fractions() == (a[:, :1] * b).tolist()
    assert (A @ B.reshape(4, 3)).fractions() == (a @ b.reshape(4, 3)).tolist()
    assert (A @ r).fractions() == (a @ row).tolist()
    assert (r @ r).fractions() == row @ row
    assert A[1].fractions() == a[1].tolist()
    assert A[1, 2].fractions() == a[1, 2]
    assert A[[2, 0, 2]].fractions() == a[[2, 0, 2]].tolist()
    assert (A.signs() == np.sign((a * 10**9).astype(float))).all()
    assert A.reshape(2, -1).fractions() == a.reshape(2, -1).tolist()
    assert stack([A, B]).fractions() == np.concatenate([a, b]).tolist()
    assert stack([A, B], axis=1).fractions() == np.concatenate([a, b], axis=1).tolist()
    low = (A + B).reduced()
    assert low.fractions() == (a + b).tolist()
    assert low.denominator == math.lcm(*(q.denominator for q in (a + b).ravel()))


def test_single_numbers_can_be_calculated_with():
    a, b = ExactArray.of(["0.5", 3])
    assert [(a + b).fractions(), (a * b).fractions(), (-a).fractions()] == [
        Fraction(7, 2),
        Fraction(3, 2),
        Fraction(-1, 2),
    ]


def test_products_over_nothing_are_zero():
    empty = ExactArray.of(np.zeros((2, 0))) @ ExactArray.of(np.zeros((0, 3)))
    assert empty.fractions() == [[0, 0, 0]] * 2
    assert (ExactArray.of(np.zeros((2, 0))) @ ExactArray.of([])).fractions() == [0, 0]
    assert ExactArray.eye(2).fractions() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("with_flint", [True, False])
@pytest.mark.parametrize("columns", [(), (25,)])
def test_large_products_are_the_same_with_and_without_flint(monkeypatch, with_flint, columns):
    n = 25 if columns else 100
    if with_flint:
        pytest.importorskip("flint")
    else:
        monkeypatch.setattr(rational.arrays, "flint", None)
    rng = np.random.default_rng(1)
    a, b = matrix(rng, n, n) * 10**30, matrix(rng, n, *columns) / 7**25
    product = ExactArray.of(a) @ ExactArray.of(b)
    assert product.fractions() == (a @ b).tolist()
    assert all(type(value) is int for value in product.numerators.ravel())


@pytest.mark.parametrize("shape", [(40,), (40, 30)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_products_with_one_entry_a_row_or_column(side, shape):
    """Diagonals, choices, and rows without an entry take a way of their own."""
    rng = np.random.default_rng(3)
    sparse = np.full((60, 40), Fraction(0))
    rows = rng.permutation(60)[:45]
    sparse[rows, rng.integers(0, 40, 45)] = matrix(rng, 45) * 10**30 / 7
    other = matrix(rng, *shape)
    pair = (sparse, other) if side == "left" else (other.T, sparse.T)
    if side == "right" and len(shape) == 1:
        pair = (matrix(rng, 70, 40), sparse.T)
    product = ExactArray.of(pair[0]) @ ExactArray.of(pair[1])
    assert product.fractions() == (pair[0] @ pair[1]).tolist()
    assert all(type(value) is int for value in product.numerators.ravel())


def test_scattered_entries_are_those_of_the_dense_matrix():
    entries = ExactArray.of([Fraction(1, 3), Fraction(-5), Fraction(7, 2)])
    places = np.array([2, 0, 1]), np.array([1, 1, 3])
    found = ExactArray.scattered((4, 5), *places, entries)
    dense = np.full((4, 5), Fraction(0))
    dense[places] = entries.fractions()
    assert found.fractions() == dense.tolist()
    assert found.float64.tolist() == dense.astype(float).tolist()
    assert not found.is_float64
    assert ExactArray.scattered(
        (1, 1), places[1][:1] * 0, places[1][:1] * 0, entries[2:]
    ).is_float64


# ---------------------------------------------------------------------- linear systems


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize("seed", range(4))
def test_solve_solves(n, seed):
    rng = np.random.default_rng(100 * n + seed)
    while True:  # a determinant in floats is good enough to avoid singular ones
        a, x = matrix(rng, n, n), matrix(rng, n)
        if n == 0 or abs(np.linalg.det(a.astype(float))) > 1e-6:
            break
    assert solve(ExactArray.of(a), ExactArray.of(a @ x)) == x.tolist()


@pytest.mark.parametrize(
    "singular", [[[0]], [[1, 2], [2, 4]], [[0, 1], [0, 2]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]]
)
def test_solve_says_none_for_singular_systems(singular):
    n = len(singular)
    assert solve(ExactArray.of(singular), ExactArray.of([1] * n)) is None
    assert solve(ExactArray.of(singular), ExactArray.of([0] * n)) is None


def test_solve_exchanges_rows_where_a_pivot_is_zero():
    assert solve(ExactArray.of([[0, 1], [1, 0]]), ExactArray.of(["1/3", 5])) == [5, Fraction(1, 3)]


# ---------------------------------------------------------------------- strict feasibility


def answer_with_proof(rows, dim):
    """Ask, check the answer by the proof that comes with it, and return it as a bool."""
    answer = strict_feasibility(rows, dim)
    assert (answer.point is None) != (answer.multipliers is None)
    if answer.point is not None:
        assert len(answer.point) == dim
        for row in rows:
            assert sum((a * x for a, x in zip(row, answer.point, strict=False)), row[-1]) > 0
    else:
        weights = answer.multipliers
        assert len(weights) == len(rows)
        assert min(weights) >= 0
        assert max(weights) > 0
        sums = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(dim)]
        assert sums == [0] * dim
        assert sum(w * row[-1] for w, row in zip(weights, rows, strict=True)) <= 0
    assert bool(answer) == (answer.point is not None)
    return bool(answer)


def systems(numbers):
    return st.integers(0, 4).flatmap(
        lambda dim: st.tuples(
            st.just(dim),
            st.lists(st.lists(numbers, min_size=dim + 1, max_size=dim + 1), max_size=9),
        )
    )


@given(systems(st.integers(-2, 2)))
@settings(max_examples=400, deadline=None)
def test_feasibility_of_degenerate_systems_is_proven(system):
    dim, rows = system
    answer_with_proof(rows, dim)


@given(systems(RATIONALS))
@settings(max_examples=150, deadline=None)
def test_feasibility_of_rational_systems_is_proven(system):
    dim, rows = system
    answer_with_proof(rows, dim)


CUBE = [[1, 0, 0, 1], [-1, 0, 0, 1], [0, 1, 0, 1], [0, -1, 0, 1], [0, 0, 1, 1], [0, 0, -1, 1]]


@pytest.mark.parametrize(
    ("rows", "dim", "feasible"),
    [
        ([], 0, True),
        ([], 3, True),
        ([[1]], 0, True),
        ([[0]], 0, False),
        ([[2], [-1]], 0, False),
        ([[0, 0, 1]], 2, True),
        ([[0, 0, 0]], 2, False),
        ([[1, 0, 5], [0, 0, -1]], 2, False),
        ([[1, 0], [-1, 1]], 1, True),  # 0 < x < 1
        ([[1, 0], [-1, 0]], 1, False),  # 0 < x < 0: the closed sets touch
        ([[1, -1], [-1, 0]], 1, False),  # 1 < x < 0
        ([[1, 0], [1, 0], [2, 0], [1, 7]], 1, True),  # duplicates and a redundant row
        ([[1, 0], [1, 0], [-1, 0], [-2, 0]], 1, False),
        ([[1, 0, 0], [0, 1, 0]], 2, True),  # an unbounded cone
        ([[1, 0, 0], [0, 1, 0], [-1, -1, 0]], 2, False),  # cones that meet in their apex
        ([[1, 0, 0], [0, 1, 0], [-1, -1, 1]], 2, True),  # a triangle
        ([[1, 0, 0], [0, 1, 0], [1, 1, 0], [-1, -1, Fraction(1, 10**30)]], 2, True),  # a tiny one
        ([[1, 1, 0], [-1, -1, 0]], 2, False),  # an empty strip
        ([[1, 1, 0], [-1, -1, 1]], 2, True),  # an unbounded strip
        (CUBE, 3, True),
        ([*CUBE, [1, 1, 1, -3]], 3, False),  # touches a corner of the cube
        ([*CUBE, [1, 1, 0, -2]], 3, False),  # touches an edge
        ([*CUBE, [1, 0, 0, -1]], 3, False),  # touches a face
        ([*CUBE, [100, 100, 100, -299]], 3, True),  # cuts a corner off
        ([[0, 1, 0], [0, -1, 1]], 2, True),  # says nothing about x
    ],
)
def test_feasibility_of_known_systems(rows, dim, feasible):
    assert answer_with_proof(rows, dim) is feasible


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_feasibility_agrees_with_the_widest_margin_of_highs(dim):
    rng = np.random.default_rng(dim)
    seen = set()
    for _ in range(60):
        box = [[s * (k == j) for k in range(dim)] + [4] for j in range(dim) for s in (1, -1)]
        n = int(rng.integers(1, 3 * dim + 2))
        loose = np.column_stack([rng.integers(-50, 51, (n, dim)), rng.integers(-99, 100, n)])
        rows = np.array([*box, *loose.tolist()], dtype=float)
        # Maximise t with a @ x + c >= t for every row.
        best = linprog(
            [0.0] * dim + [-1.0],
            A_ub=np.column_stack([-rows[:, :-1], np.ones(len(rows))]),
            b_ub=rows[:, -1],
            bounds=[(None, None)] * (dim + 1),
        )
        assert best.status == 0
        if abs(best.fun) < 1e-6:
            continue
        expected = -best.fun > 0
        assert answer_with_proof([*box, *loose.tolist()], dim) == expected
        seen.add(expected)
    assert seen == {True, False}


# ---------------------------------------------------------------------- least values, rank


@pytest.mark.parametrize("seed", range(60))
def test_least_values_are_those_of_vertices(seed):
    """Of a bounded polytope, by trying every vertex; unbounded where a ray of the cone falls."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 4))
    rows = rng.integers(-2, 3, (int(rng.integers(1, 5)), dim + 1))
    rows[:, -1] = np.abs(rows[:, -1])  # the origin satisfies all of them
    box = np.concatenate([np.eye(dim), -np.eye(dim)]).astype(int)
    bounded = np.concatenate([rows, np.column_stack([box, np.full(2 * dim, 3)])])
    objective = rng.integers(-3, 4, dim + 1)
    best = None
    for chosen in combinations(range(len(bounded)), dim):
        A = ExactArray.of(bounded[list(chosen), :-1])
        corner = solve(A, ExactArray.of(-bounded[list(chosen), -1]))
        if corner is None:
            continue
        values = [
            sum(a * x for a, x in zip(row[:-1].tolist(), corner, strict=True)) + int(row[-1])
            for row in [*bounded, objective]
        ]
        if min(values[:-1]) >= 0 and (best is None or values[-1] < best):
            best = values[-1]
    assert minimum(bounded.tolist(), objective.tolist()) == best
    # Without the box it falls for ever exactly if it still falls in a box a thousand times as
    # large (vertices are at most 2^3 * 3! away).
    free = minimum(rows.tolist(), objective.tolist())
    far = bounded.copy()
    far[len(rows) :, -1] = 3000
    at_most = minimum(far.tolist(), objective.tolist())
    assert free == (None if at_most < minimum([[*r[:-1], min(r[-1], 1000)] for r in far.tolist()],
                                              objective.tolist()) else at_most)  # fmt: skip


@given(st.data())
def test_rank_is_that_of_independent_rows(data):
    k, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    entry = st.fractions(-3, 3, max_denominator=5)
    left = data.draw(st.lists(st.lists(entry, min_size=k, max_size=k), min_size=n, max_size=n))
    right = data.draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=k, max_size=k))
    product = ExactArray.of(left) @ ExactArray.of(right)
    assert rank(product) <= min(k, n)
    # The largest minor that is not zero, by the singular systems that `solve` refuses.
    largest = 0
    for size in range(1, n + 1):
        for rows in combinations(range(n), size):
            for columns in combinations(range(n), size):
                minor = product[list(rows)][:, list(columns)]
                if solve(minor, ExactArray.of([0] * size)) is not None:
                    largest = size
    assert rank(product) == largest
