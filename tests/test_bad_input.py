"""Bad input gives one error of ours that says what to do; odd but meaningful input gives none."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest

import polycarve as pc
from polycarve.errors import (
    DomainError,
    InputError,
    NetworkError,
    NumericalError,
    PatternError,
    RegionIndexError,
    UnsupportedLayerError,
)

NET = pc.Network.from_arrays(
    [[[1, 0], [0, 1], [1, 1]], [[1, 1, -1], [1, -2, 0]], [[1, 2]]],
    [[0, 0, -1], ["-0.25", "0.5"], [0]],
)
BOX = pc.Box(["-0.9", "-0.8"], ["0.7", 1])
CARVING = pc.carve(NET, BOX)
REGION = CARVING[0]


@contextmanager
def refused(kind, message):
    """Expect one error of a kind: nothing else may show in the traceback."""
    with pytest.raises(pc.PolycarveError, match=message) as caught:
        yield
    error = caught.value
    assert type(error) is kind
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


def test_errors_are_what_callers_may_already_be_catching():
    for kind in (NetworkError, DomainError, InputError):
        assert issubclass(kind, (pc.PolycarveError, ValueError))
    assert issubclass(UnsupportedLayerError, NetworkError)
    assert issubclass(PatternError, LookupError)
    assert issubclass(NumericalError, ArithmeticError)
    with pytest.raises(ValueError, match="empty"):
        pc.Box([1], [0])
    with pytest.raises(LookupError, match="out of range"):
        CARVING[10**6]


# ---------------------------------------------------------------------- carving


ENTRIES = [pc.carve, pc.count_regions, pc.select_method]


@pytest.mark.parametrize("call", ENTRIES)
@pytest.mark.parametrize(
    ("net", "message"),
    [
        *((net, "is not a network. Give") for net in (None, 5, "net", {}, np.eye(2), pc.Network)),
        *((net, "is not a network. Give") for net in ([1, 2, 3], ([[1, 0]],), BOX)),
        ((5, 6), r"[Gg]ive|needed"),
        ((None, None), r"[Gg]ive|needed"),
        (([], []), "at least one affine map"),
        ((np.eye(2), np.eye(2)), "a matrix .* is needed"),
        (([[[1, 2]], [[1, 2]]], None), "layer 2 has weights of shape"),
        (([[[1, np.nan]]], None), "weights of layer 1: .*[Gg]ive"),
    ],
    ids=repr,
)
def test_what_is_no_network(call, net, message):
    with refused(NetworkError, message):
        call(net, BOX)


@pytest.mark.parametrize("call", ENTRIES)
@pytest.mark.parametrize(
    ("domain", "message"),
    [
        *((domain, "is not a domain. Give a Box") for domain in (5, "ab", NET, [1, 2], pc.Box)),
        ([], "one number a coordinate"),
        ([(0, 1), (1, 0)], "lo > hi in coordinate 1"),
        ([(0, 1), (0, "x")], "hi: 'x' is not a finite number"),
        ([(0, 1)], "has 1 coordinates and the network reads 2"),
        (pc.Space(3), "has 3 coordinates and the network reads 2"),
    ],
    ids=repr,
)
def test_what_is_no_domain_of_the_network(call, domain, message):
    with refused(DomainError, message):
        call(NET, domain)


def test_no_domain():
    for call in (pc.carve, pc.select_method):
        with refused(DomainError, "a NoneType is not a domain"):
            call(NET, None)
    with refused(InputError, r"a domain is needed: count_regions\(net, polycarve.Box"):
        pc.count_regions(NET)


@pytest.mark.parametrize("call", [pc.carve, pc.count_regions])
@pytest.mark.parametrize("domain", [BOX, pc.Space(2), pc.Box([1, 1], [1, 1])], ids=repr)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"method": name}, "Choose one of: simplex") for name in ("magic", "Auto", None, 3, [1])),
        *(
            ({"stop_layer": layer}, "stop_layer is .* a whole number from 0 to 2 is needed")
            for layer in (3, -1, 1.0, "1", [1])
        ),
        *(({"progress": given}, "progress is .* True, or a callable") for given in (5, "bar", [])),
    ],
    ids=repr,
)
def test_options_that_mean_nothing(call, domain, options, message):
    with refused(InputError, message):
        call(NET, domain, **options)


@pytest.mark.parametrize("limits", [5, "x", {"max_regions": 3}, pc.Limits, 0, False, [3]], ids=repr)
@pytest.mark.parametrize("net", [NET, ([[[1, 2]]], None)], ids=["cuts", "no cuts"])
def test_limits_of_another_type(net, limits):
    with refused(InputError, "Limits"):
        pc.carve(net, BOX, limits=limits)


@pytest.mark.parametrize("value", [0, -1, "3", np.nan, [3], 1j, np.array([3])], ids=repr)
@pytest.mark.parametrize("name", ["max_regions", "max_seconds"])
def test_limits_are_positive_numbers(name, value):
    with refused(InputError, rf"{name} is .* (positive|at least 1).* is needed"):
        pc.Limits(**{name: value})


@pytest.mark.parametrize("value", [0.5, 2.5, np.inf])
def test_regions_are_limited_to_a_whole_number(value):
    with refused(InputError, "max_regions is .* whole"):
        pc.Limits(max_regions=value)


def test_counting_a_carving():
    with refused(InputError, "a carving has its own domain"):
        pc.count_regions(CARVING, BOX)
    with refused(InputError, "a whole number from 0 to 2"):
        pc.count_regions(CARVING, stop_layer=3)
    part = pc.carve(NET, BOX, limits=pc.Limits(max_regions=3))
    with refused(InputError, "incomplete .* at least 3 regions. Carve again without limits"):
        pc.count_regions(part)


# ---------------------------------------------------------------------- points


@pytest.mark.parametrize(
    "x",
    [
        *([1], [1, 2, 3], [[1, 2]], [], [np.nan, 0], [0, np.inf], [None, 0], [1j, 0], ["a", 0]),
        *([[1], [2, 3]], "ab", None, 5, 0.5, np.array(5), np.array(0.5), np.zeros((2, 2)), {}),
    ],
    ids=repr,
)
def test_a_region_is_found_at_one_finite_point(x):
    with refused(InputError, r"[Gg]ive|coordinates"):
        pc.region_at(NET, x)


@pytest.mark.parametrize(
    "X",
    [[0], [0, 0, 0], [[0]], [[[0, 0]]], 5, None, [], "ab", ["a", "b"], [[1, 2], [3]], [1j, 0]],
    ids=repr,
)
def test_regions_contain_points_of_their_dimension(X):
    with refused(InputError, r"\(n, 2\) or \(2,\)|array of numbers"):
        REGION.contains(X)


def test_points_that_are_not_finite_lie_in_no_region():
    assert REGION.contains([[np.nan, 0], [0, np.inf]]).tolist() == [False, False]


# ---------------------------------------------------------------------- regions by name


@pytest.mark.parametrize(
    ("key", "kind", "message"),
    [
        *((key, RegionIndexError, f"out of range: there are {len(CARVING)}") for key in (99, -99)),
        *((key, InputError, "by index, slice or code") for key in (1.5, None, (0, 1), b"a", [0])),
        (slice(0.5, 2), InputError, "slice"),
        (slice(0, 2, 0), InputError, "slice"),
        ("xyz", PatternError, r"is not a pattern .* look like aaa\|aa"),
        ("aaaaaa", PatternError, r"is not a pattern .* look like aaa\|aa"),
        ("a|ai", PatternError, "has a bar that is not between two layers"),
        ("aa|", PatternError, "has a bar that is not between two layers"),
        ("iia|ii", PatternError, "no region has the pattern 'iia|ii'"),
    ],
    ids=repr,
)
def test_keys_that_name_no_region(key, kind, message):
    with refused(kind, message):
        CARVING[key]


@pytest.mark.parametrize(
    ("prefix", "kind", "message"),
    [
        ("aa", PatternError, "ends inside a layer"),
        ("aaa|a", PatternError, "ends inside a layer"),
        ("aaa|aa", PatternError, "covers all layers carved"),
        ("iia", PatternError, "no region has a pattern beginning with 'iia'"),
        ("b", PatternError, "is not a pattern"),
        (3, InputError, "code"),
        (None, InputError, "code"),
        ([1, 1, 1], InputError, "code"),
    ],
    ids=repr,
)
def test_prefixes_that_have_no_children(prefix, kind, message):
    with refused(kind, message):
        CARVING.children(prefix)


@pytest.mark.parametrize("layer", [3, -1, 1.0, "1", None, [1]], ids=repr)
def test_layers_that_are_not_there(layer):
    with refused(InputError, "layer is .* a whole number from 0 to 2 is needed"):
        CARVING.at_layer(layer)


def test_a_carving_that_stopped_early_has_no_maps_and_no_later_layers():
    coarse = pc.carve(NET, BOX, stop_layer=1)
    with refused(InputError, "Carve the whole network"):
        coarse[0].affine_map()
    with refused(InputError, "a whole number from 0 to 1"):
        coarse.at_layer(2)
    with refused(PatternError, "covers all layers carved"):
        coarse.children("aaa")


@pytest.mark.parametrize("pattern", ["aaa", "aaa|aaa", [1, 1, 1], [2] * 5, None, [[1], [0, 1]]])
def test_maps_need_a_whole_pattern(pattern):
    for call in (NET.affine_map, NET.preactivation_maps, NET.exact_preactivation_maps):
        with refused(PatternError, "pattern"):
            call(pattern)


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="module 'polycarve' has no attribute 'curve'"):
        _ = pc.curve
    assert set(pc.__all__) <= set(dir(pc))


# ---------------------------------------------------------------------- what is fine


@pytest.mark.parametrize("domain", [BOX, pc.Space(2), pc.Box([0, 1], [1, 1]), [(0, 0), (1, 1)]])
@pytest.mark.parametrize("method", ["simplex", "vertices", "highs"])
def test_a_network_without_hidden_layers_has_one_region(domain, method):
    net = pc.Network.from_arrays([[[1, 2]]], [["0.5"]])
    carving = pc.carve(net, domain, method=method)
    assert len(carving) == pc.count_regions(net, domain, method=method) == 1
    assert carving.layer_counts == ()
    assert carving.patterns.shape == (1, 0)
    assert carving.split_counts.shape == (0,)
    assert carving.complete
    assert (carving[0].code, carving[""].code) == ("", "")
    assert carving[0].contains(carving[0].point)
    W, c = carving[0].affine_map()
    assert (W.tolist(), c.tolist()) == ([[1.0, 2.0]], [0.5])
    assert pc.region_at(net, [0, 1]).code == ""
    with refused(PatternError, "no next one"):
        carving.children()


@pytest.mark.parametrize(
    ("weights", "bias", "codes"),
    [
        ([[0, 0], [0, 0], [0, 0]], [0, 1, -1], ["iai"]),
        ([[0, 0], [1, 0]], None, ["ii", "ia"]),
        ([[1, 1], [1, 1], [2, 2], [-1, -1]], None, ["iiia", "aaai"]),
        ([[1, 0], [1, 0], [1, 0]], [0, 0, -2], ["iii", "aai", "aaa"]),
        (np.eye(2, dtype=np.float16), np.zeros(2, np.float32), ["ii", "ia", "ai", "aa"]),
        (np.eye(2, dtype=bool), [False, False], ["ii", "ia", "ai", "aa"]),
        ([[Fraction(1, 3), "0.1"]], ["1/30"], ["i", "a"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["simplex", "vertices", "highs"])
def test_zero_rows_repeated_rows_and_numbers_of_any_type(weights, bias, codes, method):
    net = pc.Network.from_arrays([weights, np.ones((1, len(weights)))], [bias, None])
    for domain in (pc.Box.cube(-3, 3, dim=2), pc.Space(2), [(-3, "3.5")] * 2):
        carving = pc.carve(net, domain, method=method)
        assert [region.code for region in carving] == codes
        assert carving.layer_counts == (len(codes),)


def test_options_that_are_fine():
    calls = []
    carving = pc.carve(
        NET,
        BOX,
        limits=pc.Limits(max_regions=np.int64(10**9), max_seconds=np.float64(1e9)),
        progress=lambda fraction, regions: calls.append((fraction, regions)),
        stop_layer=np.int64(2),
    )
    assert calls[-1] == (1.0, len(carving))
    np.testing.assert_array_equal(carving.patterns, CARVING.patterns)
    assert pc.carve(NET, BOX, progress=False, limits=pc.Limits()).complete
    assert len(pc.carve(NET, BOX, stop_layer=0)) == 1
    assert carving[np.int64(-1)].index == len(carving) - 1
    assert [region.index for region in carving[::-2]] == [*range(len(carving))][::-2]
