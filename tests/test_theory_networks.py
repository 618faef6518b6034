"""Networks of known counts: the counts, the bounds they reach, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve import bounds
from polycarve.errors import InputError
from polycarve.theory import networks
from polycarve.theory.networks import KnownNetwork
from tests import cases
from tests.test_theory_carved import assert_within_bounds

# Constructor, arguments, regions: as published or as found by exact programs.
KNOWN: list[tuple[str, tuple[Any, ...], int]] = [
    *(("tent", (L,), 2**L) for L in range(1, 8)),
    ("folding", (1, [3, 3, 4]), 45),
    ("folding", (1, [2, 3, 2]), 18),
    ("folding", (1, [4, 4, 4]), 80),
    ("folding", (2, [4, 3]), 28),
    ("folding", (2, [4, 4, 3]), 112),
    ("folding", (2, [6, 3]), 63),
    ("folding", (2, [4, 4, 5]), 256),
    ("folding", (3, [6, 3]), 64),
    ("folding", (3, [6, 4]), 120),
    ("folding", (2, [5, 5, 5]), 576),
    ("folding", (3, [7]), 64),
    ("folding", (3, [3, 2]), 4),
    ("folding", (4, [8, 5]), 496),
    ("sharp_folding", (2, [6, 3]), 112),
    ("sharp_folding", (2, [6, 6]), 352),
    ("sharp_folding", (2, [5, 5, 5]), 1024),
    ("sharp_folding", (3, [10, 4]), 1200),
    ("sharp_folding", (1, [3, 3, 1]), 32),
    ("sharp_folding", (1, [4, 2]), 15),
    ("sharp_one_dimensional", ([3],), 4),
    ("sharp_one_dimensional", ([3, 3],), 16),
    ("sharp_one_dimensional", ([4, 4, 4],), 125),
    ("sharp_one_dimensional", ([3, 4, 5],), 120),
    ("sharp_one_dimensional", ([5, 5, 5],), 216),
    ("sharp_one_dimensional", ([3, 3, 3, 3],), 256),
    ("bottleneck", (2, [1, 5, 5]), 37),
    ("bottleneck", (1, [1, 3]), 5),
    ("bottleneck", (3, [1]), 2),
    ("zonotope", (2, [6]), 6),
    ("zonotope", (2, [10]), 10),
    ("zonotope", (3, [8]), 14),
    ("zonotope", (3, [10]), 22),
    ("zonotope", (4, [10]), 30),
    ("zonotope", (2, [6, 3]), 24),
    ("zonotope", (2, [8, 3, 3]), 128),
    ("zonotope", (3, [8, 3]), 56),
    ("zonotope", (3, [6, 4]), 40),
    ("zonotope", (1, [2, 3]), 8),
    ("simple", (2, 5), 16),
    ("simple", (2, 10), 56),
    ("simple", (3, 6), 42),
    ("simple", (3, 10), 176),
    ("simple", (4, 8), 163),
    ("simple", (5, 8), 219),
    ("simple", (6, 9), 466),
    ("simple", (3, 2), 4),
    ("cyclic", (2, 5), 10),
    ("cyclic", (3, 6), 32),
    ("cyclic", (3, 8), 58),
    ("cyclic", (4, 7), 84),
    ("cyclic", (5, 8), 198),
    ("cyclic", (1, 4), 2),
    *(("braid", (n,), k) for n, k in zip(range(2, 7), (2, 6, 24, 120, 720), strict=True)),
    *(("type_b", (n,), k) for n, k in zip(range(1, 5), (2, 8, 48, 384), strict=True)),
    *(("type_d", (n,), k) for n, k in zip(range(2, 6), (4, 24, 192, 1920), strict=True)),
    *(("shi", (n,), k) for n, k in zip(range(2, 6), (3, 16, 125, 1296), strict=True)),
    *(("linial", (n,), k) for n, k in zip(range(2, 7), (2, 7, 36, 246, 2104), strict=True)),
    *(("catalan", (n,), k) for n, k in zip(range(2, 6), (4, 30, 336, 5040), strict=True)),
    *(("semiorder", (n,), k) for n, k in zip(range(2, 6), (3, 19, 183, 2371), strict=True)),
    *(("resonance", (n,), k) for n, k in zip(range(1, 6), (2, 6, 32, 370, 11292), strict=True)),
    *(("threshold", (n,), k) for n, k in zip(range(1, 5), (4, 14, 104, 1882), strict=True)),
]

FAMILIES = [((2, 3), 2, 19), ((2, 5), 2, 51), ((3, 4), 2, 65), ((2, 4), 3, 67), ((3, 2), 3, 16)]


def place(known: KnownNetwork) -> Any:
    return known.box or pc.Space(known.input_dim)


@pytest.mark.parametrize(("name", "args", "regions"), KNOWN, ids=str)
def test_known_counts(name: str, args: tuple[Any, ...], regions: int) -> None:
    known = getattr(networks, name)(*args)
    assert known.regions == regions
    assert known.input_dim == known.network.input_dim
    assert known.note
    assert pc.count_regions(known.network, place(known)) == regions
    assert_within_bounds(regions, known.input_dim, known.network.widths)


@pytest.mark.parametrize(("args", "members", "regions"), FAMILIES)
def test_parallel_families(args: tuple[int, int], members: int, regions: int) -> None:
    known = networks.parallel_families(*args, members=members)
    assert known.regions == regions == pc.count_regions(known.network, pc.Space(args[0]))
    # A unit with so many cuts makes one such family.
    assert bounds.piecewise_linear(*args[:1], [args[1]], pieces=members + 1) == regions


def test_published_sequences_beyond_what_is_carved() -> None:
    assert networks.type_b(5).regions == 3840
    assert networks.shi(6).regions == 16807
    assert networks.catalan(6).regions == 95040
    assert networks.semiorder(6).regions == 38703
    assert networks.resonance(6).regions == 1066044
    assert networks.threshold(5).regions == 94572


# ---------------------------------------------------------------------- bounds that are reached

REACHED: list[tuple[str, tuple[Any, ...], str]] = [
    ("folding", (2, [4, 4, 5]), "montufar_lower"),
    ("folding", (3, [6, 9, 4]), "montufar_lower"),
    ("folding", (1, [2, 3, 2]), "montufar_lower"),
    ("sharp_folding", (2, [5, 5, 5]), "uneven_split_lower"),
    ("sharp_folding", (3, [10, 4]), "uneven_split_lower"),
    ("sharp_folding", (2, [6, 8, 6]), "serra_lower"),
    ("sharp_folding", (1, [3, 3, 1]), "one_dimensional_maximum"),
    ("sharp_one_dimensional", ([3, 4, 5],), "one_dimensional_maximum"),
    ("sharp_one_dimensional", ([3, 4, 5],), "serra"),
    ("bottleneck", (1, [1, 3, 4]), "one_dimensional_maximum"),
    ("bottleneck", (4, [1, 3, 4]), "serra"),
    ("zonotope", (3, [8, 3, 3]), "serra_zonotope_lower"),
    ("zonotope", (3, [8]), "arora_lower"),
    ("simple", (3, 10), "zaslavsky"),
]


@pytest.mark.parametrize(("name", "args", "bound"), REACHED, ids=str)
def test_bounds_are_reached(name: str, args: tuple[Any, ...], bound: str) -> None:
    known = getattr(networks, name)(*args)
    rows = bounds.all_bounds(known.input_dim, known.network.widths)
    assert {row.name: row.value for row in rows}[bound] == known.regions


def test_two_units_and_then_n_reach_their_maximum() -> None:
    """A valley cut at n heights; the second layer has two zeros a unit."""
    for n in range(1, 6):
        net = pc.Network.from_arrays(
            [[[1], [-1]], [[1, 1]] * n], [[0, -1], [-k for k in range(1, n + 1)]], relu_last=True
        )
        regions = bounds.one_dimensional_maximum(1, [2, n]).value
        assert pc.count_regions(net, pc.Space(1)) == regions == 3 + 2 * n


def test_on_the_whole_line_the_tent_has_two_regions_more() -> None:
    assert pc.count_regions(networks.tent(1).network, pc.Space(1)) == 3
    for depth in range(2, 7):
        assert pc.count_regions(networks.tent(depth).network, pc.Space(1)) == 2**depth + 2


def test_tent_regions_have_equal_lengths() -> None:
    known = networks.tent(5)
    assert np.allclose(pc.carve(known.network, known.box).volumes(), 2.0**-5)
    ends = known.network([[0.0], [0.5], [1.0], [1 / 32]])[:, 0]
    assert ends.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("args", [(2, [6, 3]), (2, [6, 6])])
def test_sharp_folds_have_no_regions_outside_the_cube(args: tuple[int, list[int]]) -> None:
    known = networks.sharp_folding(*args)
    assert pc.count_regions(known.network, pc.Space(2)) == known.regions


def test_same_weights_as_the_ground_truths() -> None:
    truths = {case.name: case.network for case in cases.ground_truths()}
    assert networks.tent(4).network == truths["Telgarsky tent L=4 on R"]
    for widths in ([3], [3, 3], [4, 4, 4], [3, 4, 5]):
        known = networks.sharp_one_dimensional(widths)
        assert known.network == truths[f"sharp 1-D {widths}"]


def test_affine_maps_of_zonotopes_differ() -> None:
    known = networks.zonotope(3, [8, 3])
    maps = {
        tuple(np.round(np.concatenate([W.ravel(), c]), 9).tolist())
        for W, c in (region.affine_map() for region in pc.carve(known.network, pc.Space(3)))
    }
    assert len(maps) == known.regions


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: networks.tent(0), "depth is 0; it must be at least 1"),
        (lambda: networks.folding(0, [3]), "input_dim is 0"),
        (lambda: networks.folding(2, []), "widths is empty"),
        (lambda: networks.folding(3, [2, 5]), "widths[0] is 2; at least one unit for each of 3"),
        (lambda: networks.sharp_folding(2, [4, 1, 5]), "widths[1] is 1"),
        (lambda: networks.sharp_one_dimensional([3, 2]), "widths[1] is 2; at least 3 units"),
        (lambda: networks.zonotope(2, [5]), "widths[0] is 5; an even number"),
        (lambda: networks.zonotope(2, [6, 2]), "widths[1] is 2; at least 3 units"),
        (lambda: networks.bottleneck(2, [2, 5]), "begins with a layer of 1 unit"),
        (lambda: networks.bottleneck(2, [1, 2]), "widths[1] is 2; at least 3 units"),
        (lambda: networks.simple(2, 0), "m is 0"),
        (lambda: networks.cyclic(0, 3), "d is 0"),
        (lambda: networks.parallel_families(2, 3, members=0), "members is 0"),
        (lambda: networks.braid(1), "n is 1; it must be at least 2"),
        (lambda: networks.type_b(0), "n is 0"),
        (lambda: networks.type_d(1), "n is 1"),
        (lambda: networks.shi(2.0), "n is 2.0; a whole number is needed"),
        (lambda: networks.resonance(7), "for n = 1 to 6"),
        (lambda: networks.threshold(6), "for n = 1 to 5"),
    ],
)
def test_bad_arguments(call: Any, words: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert words in str(raised.value)


def test_names_are_documented() -> None:
    for name in networks.__all__:
        assert getattr(networks, name).__doc__, name
