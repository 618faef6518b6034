"""The referee agrees with closed forms and with itself."""

from math import comb

import pytest

from polycarve import Network, Space
from tests import cases
from tests.oracles import exact


@pytest.mark.parametrize("seed", range(8))
def test_depth_first_equals_brute_force(seed: int) -> None:
    net = cases.integers(2, [3, 3], seed, 2)
    domain = Space(2) if seed % 2 else cases.DEGENERATE["dead zone"]()[1]
    assert exact.regions(net, domain) == exact.regions_by_brute_force(net, domain)


@pytest.mark.parametrize(("d", "m"), [(1, 4), (2, 5), (3, 5)])
def test_simple_arrangement_has_the_binomial_sum(d: int, m: int) -> None:
    rows = [[t**j for j in range(d)] for t in range(1, m + 1)]
    net = Network.from_arrays([rows], [[-(t**d) for t in range(1, m + 1)]], relu_last=True)
    assert len(exact.regions(net, Space(d))) == sum(comb(m, j) for j in range(d + 1))
