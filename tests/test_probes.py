"""Probes and stochastic enumeration against the tree that a carving is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve.carving import Carving
from polycarve.errors import InputError, NumericalError
from polycarve.networks import examples
from polycarve.sampling import estimate as estimates
from polycarve.sampling import (
    inverse_volume,
    knuth_probe,
    layer_probe,
    stochastic_enumeration,
)
from polycarve.sampling.enumeration import _Enumeration
from polycarve.sampling.estimate import CountEstimate, mean_interval, standard_error
from polycarve.sampling.levels import CellTree, Guard, TooManyError
from polycarve.sampling.walks import Walk, child_by_halving, uniform_child
from polycarve.splitting import drive
from polycarve.splitting.method import method_named
from polycarve.splitting.prefixes import in_steps
from polycarve.splitting.program import compile_program
from tests import cases
from tests.lcg import LCG, lcg

MOONS = pc.Box.cube(-3, 3, dim=2)


def law(carving: Carving) -> tuple[Any, Any]:
    """What a layer-wise probe of each region is worth, and where its choices lie in [0, 1).

    From nothing but the list of codes: the cells of a layer are the different beginnings.
    """
    values = np.ones(len(carving))
    chances = np.zeros((len(carving), len(carving.widths)))
    codes = [region.code.split("|") for region in carving]
    for layer in range(len(carving.widths)):
        children: dict[tuple[str, ...], dict[str, int]] = {}
        for code in codes:
            inside = children.setdefault(tuple(code[:layer]), {})
            inside.setdefault(code[layer], len(inside))
        for row, code in enumerate(codes):
            inside = children[tuple(code[:layer])]
            values[row] *= len(inside)
            chances[row, layer] = (inside[code[layer]] + 0.5) / len(inside)
    return values, chances


def halving_law(carving: Carving, step: int) -> tuple[Any, Any]:
    """The same for Knuth's probe, which is given so many neurons of a layer at a time."""
    patterns = [tuple(row) for row in carving.patterns.tolist()]
    levels = [
        (at, min(at + step, stop))
        for stop, width in zip(np.cumsum(carving.widths).tolist(), carving.widths, strict=True)
        for at in range(stop - width, stop, step)
    ]
    beginnings = [Counter(p[:n] for p in patterns) for n in range(len(patterns[0]) + 1)]
    values, chances = np.ones(len(patterns)), np.zeros((len(patterns), len(levels)))
    for row, pattern in enumerate(patterns):
        for level, (first, stop) in enumerate(levels):
            share = 1.0
            for cut in range(first, stop):
                if beginnings[cut + 1][(*pattern[:cut], 1 - pattern[cut])]:
                    share /= 2
                    values[row] *= 2
                    chances[row, level] += share * pattern[cut]
            chances[row, level] += share / 2
    return values, chances


def tree_of(
    net: pc.Network, domain: Any, method: str | None = None, step: int | None = None
) -> CellTree:
    tree = CellTree.of(net, domain, by_layer=step is None, step=step)
    assert tree is not None
    return tree if method is None else CellTree(tree.program, method_named(method))


def small_cases() -> Iterator[tuple[str, pc.Network, Any]]:
    for name, build in cases.DEGENERATE.items():
        yield name, *build()
    for truth in cases.ground_truths():
        if truth.regions <= 300:
            yield truth.name, truth.network, truth.domain


SMALL = [pytest.param(net, domain, id=name) for name, net, domain in small_cases()]


# ------------------------------------------------------------------ the lists, and so the law


@pytest.mark.parametrize(("net", "domain"), SMALL)
def test_every_list_of_children_is_the_carvings(net: pc.Network, domain: Any) -> None:
    carving = pc.carve(net, domain)
    values, chances = law(carving)
    assert np.sum(1 / values) == pytest.approx(1)  # so that the mean is the number of regions
    for method in {"simplex", pc.select_method(net, domain).method}:
        walk = Walk(tree_of(net, domain, method), Guard(), None, uniform_child)
        assert walk.values(chances).tolist() == values.tolist()
        assert walk.known() == (len(carving), True)


@pytest.mark.parametrize(("net", "domain"), SMALL[::3])
def test_every_path_of_knuths_probe(net: pc.Network, domain: Any) -> None:
    carving = pc.carve(net, domain)
    values, chances = halving_law(carving, step=3)
    assert np.sum(1 / values) == 1
    walk = Walk(tree_of(net, domain, step=3), Guard(), None, child_by_halving)
    assert walk.values(chances).tolist() == values.tolist()


@pytest.mark.parametrize("name", ["rand_2-32-32-32", "rand_3-16-16-16", "rand_8-10-10"])
def test_every_list_of_larger_networks(name: str) -> None:
    case = cases.spec()[name]
    values, chances = law(pc.carve(case.network, case.box))
    walk = Walk(tree_of(case.network, case.box), Guard(), None, uniform_child)
    assert walk.values(chances).tolist() == values.tolist()


def test_cells_that_cannot_be_stood_in_are_left_to_linear_programs() -> None:
    net, domain = lcg(12)[:2]
    values, chances = law(pc.carve(net, domain))
    tree = tree_of(net, domain, "simplex")
    root = tree.children(tree.root, Guard())
    cells = root.take(np.arange(len(root)))
    cells.inside[::2] = False
    assert tree.children(cells, Guard()).counts.sum() == len(pc.carve(net, domain).at_layer(2))
    walk = Walk(tree_of(net, domain, "highs"), Guard(), None, uniform_child)
    assert walk.values(chances[::10]).tolist() == values[::10].tolist()


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("method", ["simplex", "vertices"])
def test_a_program_in_steps_is_the_same_program(method: str, step: int) -> None:
    for net, domain in [case.values for case in SMALL]:
        plain = compile_program(net, domain)
        memory = drive.Memory()
        drive.run(in_steps(plain, step), method_named(method), sink=memory)
        assert (memory.collect(plain).packed == pc.carve(net, domain).packed).all()


MULTIPLES = pc.Network.from_arrays(
    [
        [[1, 0], [0, 1], [-2, 0], [-3, 0], [2, 2]],
        [[1, 0, 0, 0, 0], [-1, 0, 0, 0, 0], [-2, 0, 0, 0, 0], [3, 0, 0, 0, 0], [0, 1, 1, 0, -1]],
        [[1, 1, -1, 1, 1], [-1, -2, 1, 0, -1], [2, 2, -2, 2, 2]],
    ],
    [[0, 0, 0, 0, 1], [0, 0, 0, 0, -1], [-1, 1, -2]],
    relu_last=True,
)


@pytest.mark.parametrize("step", [None, 1, 2])
@pytest.mark.parametrize("method", ["simplex", "vertices"])
def test_all_lists_together_are_the_carving(method: str, step: int | None) -> None:
    """To the last bit; also where multiples of a neuron stand in different steps of its layer."""
    for net, domain in [(MULTIPLES, MOONS), *(case.values for case in SMALL[::2])]:
        tree = tree_of(net, domain, method, step)
        cells = tree.root
        while cells.n_layers < tree.n_levels:
            children = tree.children(cells, Guard())
            cells = children.take(np.arange(len(children)))
        carving = pc.carve(net, domain)
        assert np.array_equal(cells.bits, carving.patterns)
        if carving.complete:
            offsets, cuts = carving._tree.ancestors(range(len(carving)), sum(carving.widths))
            assert np.array_equal(cells.offsets, offsets)
            assert np.array_equal(cells.cuts, cuts)


# ------------------------------------------------------------------ what theory says of the laws


def layer_values(carving: Carving) -> Any:
    """The values of `law`, from where neighbours in the list differ: for long lists."""
    values, before = np.ones(len(carving)), np.zeros(len(carving), np.int64)
    for stop in np.cumsum(carving.widths).tolist():
        here = np.concatenate([[0], np.cumsum(carving._first_difference < stop)])
        first = np.flatnonzero(np.diff(here, prepend=-1))
        values *= np.bincount(before[first])[before]
        before = here
    return values


def relative_deviation(values: Any) -> float:
    """Of a probe that is worth ``values[i]`` with the probability ``1 / values[i]``."""
    return float(np.sqrt(values.sum() / len(values) ** 2 - 1))


@pytest.mark.parametrize(
    ("name", "by_layer", "by_neuron"),
    [
        ("moons", 1.3, 2),
        ("rand_2-32-32-32", 1.4, 7),
        ("rand_2-128-128", 1.2, 69),
        ("rand_2-256-256-256", 1.9, 323),
    ],
)
def test_relative_deviations(name: str, by_layer: float, by_neuron: float) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box)
    values = layer_values(carving)
    assert round(relative_deviation(values), 1) == by_layer
    rows, n = range(len(carving)), sum(carving.widths)
    splits = np.diff(carving._tree.ancestors(rows, n)[0]) if carving._tree is not None else 0
    assert round(relative_deviation(2.0**splits)) == by_neuron


@pytest.mark.parametrize("seed", LCG)
def test_counts_of_integer_networks(seed: int) -> None:
    net, domain, regions = lcg(seed)
    carving = pc.carve(net, domain)
    values, _ = law(carving)
    assert len(carving) == regions
    found = layer_probe(net, domain, 400, rng=seed)
    error = relative_deviation(values) * regions / 20
    assert abs(found.value - regions) <= 3 * error + 1e-9
    runs = stochastic_enumeration(net, domain, 12, budget=12, rng=seed)
    assert runs.standard_error is not None
    assert abs(runs.value - regions) <= 3 * runs.standard_error


@pytest.mark.parametrize(
    "name", ["moons", "rand_2-32-32-32", "rand_2-128-128", "rand_4-16-16", "rand_10-12-12"]
)
def test_counts_of_real_networks(name: str) -> None:
    case = cases.spec()[name]
    for found in (
        layer_probe(case.network, case.box, 500, rng=1),
        stochastic_enumeration(case.network, case.box, 10, budget=30, rng=1),
    ):
        assert found.is_unbiased
        assert found.standard_error is not None
        assert found.interval is not None
        assert abs(found.value - case.regions) <= 3 * found.standard_error
        assert found.interval[0] <= case.regions <= found.interval[1]


# ------------------------------------------------------------------ intervals


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *(
            (name, n)
            for name in ("moons", "rand_2-32-32-32", "rand_2-128-128")
            for n in (100, 1000)
        ),
        ("rand_3-64-64-64", 100),
    ],
)
def test_intervals_cover_as_often_as_they_say(name: str, n: int) -> None:
    """By probes drawn from their exact law; those of the estimator are no narrower above."""
    case, trials = cases.spec()[name], 2000 if n == 100 else 700
    values = layer_values(pc.carve(case.network, case.box))
    worth, place = np.unique(values, return_inverse=True)
    shares = np.bincount(place.reshape(-1), 1 / values)
    drawn = np.random.default_rng(7).choice(worth, p=shares / shares.sum(), size=(trials, n))
    for confidence in (0.9, 0.95):
        covered = 0
        for sample in drawn:
            interval = mean_interval(sample, confidence)
            assert interval is not None
            covered += interval[0] <= case.regions <= interval[1]
        slack = 2 * math.sqrt(confidence * (1 - confidence) / trials)
        assert covered / trials >= confidence - slack


def test_students_interval_would_not_do() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    p = 1 / (values := layer_values(pc.carve(case.network, case.box)))
    drawn = np.random.default_rng(7).choice(values, p=p / p.sum(), size=(2000, 100))
    errors = drawn.std(axis=1, ddof=1) / 10
    covered = np.abs(drawn.mean(axis=1) - case.regions) <= 1.984 * errors
    assert covered.mean() < 0.95 - 2 * math.sqrt(0.95 * 0.05 / 2000)


def test_intervals_of_hardly_anything() -> None:
    assert mean_interval(np.array([3.0]), 0.95) is None
    assert mean_interval(np.array([3.0, 3.0, 3.0]), 0.95) is None
    low, high = mean_interval(np.arange(1.0, 101.0), 0.95) or (0.0, 0.0)
    assert 44 < low < 45.5
    assert 56 < high < 58
    wide = mean_interval(np.arange(1.0, 101.0), 0.99) or (0.0, 0.0)
    assert wide[0] < low
    assert high < wide[1]


# ------------------------------------------------------------------ stochastic enumeration


class Scripted:
    """A generator that makes given choices, then the first ones, and notes what there was."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.options = list(script), []  # type: tuple[list[int], list[int]]

    def choice(self, n: int, size: int, **_: Any) -> Any:
        step = len(self.options)
        self.options.append(math.comb(n, size))
        if step == len(self.script):
            self.script.append(0)
        return np.array(list(combinations(range(n), size))[self.script[step]])


@pytest.mark.parametrize("budget", [1, 2])
def test_the_mean_over_all_choices_is_the_number(budget: int) -> None:
    net = cases.integers(2, [3, 3, 3], 4, 2)
    domain = pc.Box.cube(-2, 2, dim=2)
    tree = tree_of(net, domain, step=2)
    regions = pc.count_regions(net, domain)
    assert regions > 8
    mean, script, n_runs = 0.0, [], 0  # type: tuple[float, list[int], int]
    while True:
        chance: Any = Scripted(script)
        value = _Enumeration(tree, Guard(), budget, chance).run()
        mean += value / math.prod(chance.options)
        n_runs += 1
        script = chance.script
        while script and script[-1] + 1 == chance.options[len(script) - 1]:
            script.pop()
        if not script:
            break
        script[-1] += 1
    assert n_runs > 10
    assert mean == pytest.approx(regions)


def test_exact_where_nothing_is_chosen() -> None:
    found = stochastic_enumeration(examples.moons(), MOONS, budget=66, rng=0)
    assert (found.value, found.interval, found.n, found.standard_error) == (66, (66, 66), 1, 0)


def test_layers_far_too_wide_to_list() -> None:
    rng = np.random.default_rng(0)
    sizes = [(64, 10), (64, 64), (64, 64)]
    net = pc.Network.from_arrays(
        [rng.normal(size=size) / np.sqrt(size[1]) for size in sizes],
        [rng.normal(size=size[0]) for size in sizes],
        relu_last=True,
    )
    box = pc.Box.cube(-10, 10, dim=10)
    with pytest.raises(InputError, match=r"more than 1,000 regions of layer 1 .* stochastic_enum"):
        layer_probe(net, box, 1, rng=0, limits=pc.Limits(max_regions=1000))
    found = stochastic_enumeration(net, box, 2, budget=20, rng=0)
    assert found.complete
    assert 1e8 < found.value < 1e25
    with pytest.raises(InputError, match="more than 100 cells"):
        stochastic_enumeration(net, box, 2, budget=20, rng=0, limits=pc.Limits(max_regions=100))


def test_lists_that_are_too_long_together_are_made_one_by_one() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    free = layer_probe(case.network, case.box, 50, rng=3)
    tight = layer_probe(case.network, case.box, 50, rng=3, limits=pc.Limits(max_regions=166))
    assert tight.value == free.value
    tree = tree_of(case.network, case.box)
    with pytest.raises(TooManyError):
        tree.children(tree.root, Guard(most=165))


# ------------------------------------------------------------------ what is said, and refused


def test_seeds_generators_and_time_do_not_change_what_probes_find() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    one = layer_probe(case.network, case.box, 70, rng=5)
    same = layer_probe(case.network, case.box, 70, rng=np.random.default_rng(5))
    timed = layer_probe(case.network, case.box, 70, rng=5, limits=pc.Limits(max_seconds=1e6))
    assert one == same == timed
    assert one != layer_probe(case.network, case.box, 70, rng=6)
    assert layer_probe(case.network, case.box, 3).n == 3


class Clock:
    """A clock that is past the deadline after so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def monotonic(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks > 0 else 100.0


def test_time_that_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases.spec()["rand_2-32-32-32"]
    limits = pc.Limits(max_seconds=50)
    whole = layer_probe(case.network, case.box, 1000, rng=0)
    monkeypatch.setattr("polycarve.sampling.levels.time", Clock(60))
    found = layer_probe(case.network, case.box, 1000, rng=0, limits=limits)
    assert 0 < found.n < 1000
    assert (found.complete, found.is_unbiased) == (False, False)
    assert "cut short" in repr(found)
    assert found.value != whole.value
    monkeypatch.setattr("polycarve.sampling.levels.time", Clock(150))
    runs = stochastic_enumeration(case.network, case.box, 1000, budget=5, rng=0, limits=limits)
    assert 0 < runs.n < 1000
    assert (runs.complete, runs.is_unbiased) == (False, False)
    for estimate in (layer_probe, stochastic_enumeration, knuth_probe):
        monkeypatch.setattr("polycarve.sampling.levels.time", Clock(2))
        with pytest.raises(InputError, match="ran out before the first"):
            estimate(case.network, case.box, limits=limits)


def test_baselines_have_no_plus_minus() -> None:
    carving = pc.carve(examples.moons(), MOONS)
    for found in (
        knuth_probe(examples.moons(), MOONS, 50, rng=0),
        inverse_volume(carving, 50, rng=0),
    ):
        assert found.is_baseline
        assert found.is_unbiased
        assert (found.standard_error, found.interval) == (None, None)
        assert "±" not in str(found) + repr(found)


def test_inverse_volumes() -> None:
    for seed, deviation in ((5, 20.7), (9, 21.2)):
        net, domain, regions = lcg(seed)
        carving = pc.carve(net, domain)
        shares = carving.volumes() / carving.volumes().sum()
        assert round(math.sqrt(np.sum(1 / shares) / regions**2 - 1), 1) == deviation
    carving = pc.carve(*lcg(4)[:2])
    shares = carving.volumes() / 16
    error = math.sqrt((np.sum(1 / shares) - 61**2) / 50_000)
    assert abs(inverse_volume(carving, 50_000, rng=2).value - 61) <= 3 * error


def test_where_nothing_is_cut() -> None:
    flat = pc.Network.from_arrays([[[1, 2]]])
    net = examples.moons()
    point = pc.Box([1, 1], [1, 1])
    for network, domain in ((flat, MOONS), (net, point)):
        for found in (
            layer_probe(network, domain, 5),
            stochastic_enumeration(network, domain),
        ):
            assert (found.value, found.standard_error, found.interval) == (1, 0, (1, 1))
        assert knuth_probe(network, domain).value == 1
    dead = pc.Network.from_arrays([[[1, 0]], [[-1]], [[1]]], [[0], [-1], [1]], relu_last=True)
    assert layer_probe(dead, MOONS, 4, rng=0).interval == (2, 2)


def test_one_layer_is_counted() -> None:
    net, domain, regions = lcg(7)
    found = layer_probe(net, domain, 3, rng=0)
    assert (found.value, found.standard_error, found.interval) == (regions, 0, (regions, regions))
    assert layer_probe(net, domain, 1, rng=0).interval == (regions, regions)


def test_a_single_probe_has_no_error() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    found = layer_probe(case.network, case.box, 1, rng=0)
    assert (found.standard_error, found.interval) == (None, None)


def test_domains_of_all_kinds() -> None:
    net = cases.integers(3, [4, 4], 2, 2)
    triangle = pc.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    for domain in (
        pc.Space(3),
        pc.Slice([0, 0, 1], [[1, 0, 1], [0, 1, 1]], domain=triangle),
        pc.Slice([0, 0, 1], [[1, 0, 1], [0, 1, 1]]),
        pc.Segment([-1, -1, -1], [1, 2, 1]),
        pc.Box([-1, 0, -1], [1, 0, "0.3"]),
    ):
        carving = pc.carve(net, domain)
        values, chances = law(carving)
        walk = Walk(tree_of(net, domain), Guard(), None, uniform_child)
        assert walk.values(chances).tolist() == values.tolist()


def test_many_inputs() -> None:
    rng = np.random.default_rng(0)
    net = pc.Network.from_arrays(
        [rng.normal(size=(8, 60)), rng.normal(size=(8, 8))], relu_last=True
    )
    box = pc.Box.around(rng.normal(size=60).tolist(), 0.3)
    carving = pc.carve(net, box)
    values, chances = law(carving)
    walk = Walk(tree_of(net, box), Guard(), None, uniform_child)
    rows = np.arange(0, len(values), 7)
    assert walk.values(chances[rows]).tolist() == values[rows].tolist()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rng": "seed"}, "rng is 'seed'"),
        ({"rng": -1}, "rng is -1"),
        ({"rng": True}, "rng is True"),
        ({"rng": 1.5}, "rng is 1.5"),
        ({"limits": 3}, "limits is 3"),
    ],
)
def test_bad_arguments(keywords: dict[str, Any], message: str) -> None:
    for estimate in (layer_probe, knuth_probe, stochastic_enumeration):
        with pytest.raises(InputError, match=message):
            estimate(examples.moons(), MOONS, **keywords)


def test_bad_sizes() -> None:
    net = examples.moons()
    for size in (0, -5, 2.5, True, None):
        for estimate in (layer_probe, knuth_probe, stochastic_enumeration):
            with pytest.raises(InputError, match="n_"):
                estimate(net, MOONS, size)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="budget"):
            stochastic_enumeration(net, MOONS, budget=size)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="n_points"):
            inverse_volume(pc.carve(net, MOONS), size)  # type: ignore[arg-type]
    for confidence in (0, 1, 95, "high", True):
        with pytest.raises(InputError, match="confidence"):
            layer_probe(net, MOONS, confidence=confidence)  # type: ignore[arg-type]
    partial = pc.carve(net, MOONS, limits=pc.Limits(max_regions=3))
    for carving in (partial, pc.carve(net, pc.Space(2)), net):
        with pytest.raises(InputError, match="complete Carving"):
            inverse_volume(carving)  # type: ignore[arg-type]


def test_doubtful_decisions_are_spoken_of() -> None:
    """Folds so deep that floats have no digits left: most regions are lost on the way."""
    known = pc.theory.networks.sharp_folding(2, [8] * 40)
    box = pc.Box.cube(0, 1, dim=2)
    for estimate in (
        layer_probe(known.network, box, 3, rng=0),
        knuth_probe(known.network, box, 3, rng=0),
        stochastic_enumeration(known.network, box, 2, budget=20, rng=0),
    ):
        assert estimate.value < known.regions / 1e6
        assert estimate.n_doubtful > 0
        assert not estimate.is_unbiased
        assert f"{estimate.n_doubtful:,} decisions were doubtful" in str(estimate)
    sure = layer_probe(examples.moons(), pc.Box.cube(-3, 3, dim=2), 5, rng=0)
    assert (sure.n_doubtful, sure.is_unbiased) == (0, True)


@pytest.mark.parametrize("size", [1e-300, 1e150, 1e300])
def test_numbers_whose_squares_and_sums_are_beyond_floats(size: float) -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, 9.0, 4.0])
    huge = size * values
    assert estimates.mean(huge) == pytest.approx(size * 3.5)
    error, ends = standard_error(values), mean_interval(values, 0.95)
    assert error is not None
    assert ends is not None
    assert standard_error(huge) == pytest.approx(size * error)
    assert mean_interval(huge, 0.95) == pytest.approx([size * end for end in ends])
    assert estimates.mean(np.full(9, 1.7e308)) == pytest.approx(1.7e308)
    with pytest.raises(NumericalError, match="too large for a float"):
        estimates.mean(np.array([1.0, np.inf]))


def test_estimates_are_readable() -> None:
    for value in (1.0, 66.25, 1.5e6, 3e17, 0.0):
        for error in (None, 0.0, value / 7):
            found = CountEstimate("x" * 40, value, error, None, 10**6, True, "Fine.", False, False)
            assert len(repr(found)) < 80
            assert str(found).endswith("Fine.")
