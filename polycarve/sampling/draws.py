"""Where sample points come from: drawn uniformly, laid out as a grid, or given.

Points are in the free coordinates of the domain's frame, so that they lie exactly in a domain that
is flat or has flat sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polycarve.domains import Box, Domain, Polytope, Slice
from polycarve.errors import DomainError, InputError
from polycarve.sampling.simplices import triangulated
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]

# Points of the bounding box are drawn until they hit a polytope that fills so much of it.
_LEAST_SHARE = 1 / 200
_TRIALS = 20_000

# More points than this are no grid that anyone waits for.
_MOST_ON_GRID = 10**9

Kind = Literal["uniform", "grid", "points"]
Piece = tuple[FloatArray, int]


@dataclass(frozen=True)
class Source:
    """Points to look at, in pieces of about the size that is asked for.

    Attributes
    ----------
    kind : "uniform", "grid" or "points"
    how : str
        For people: how the points came about.
    draw : callable
        From a size to an iterator of pieces: points in the domain, (k, d), and how many beside
        them lie outside. The same points in the same order whatever the size is.
    n : int
        How many points there are, those outside the domain included.
    """

    kind: Kind
    how: str
    draw: Callable[[int], Iterator[Piece]]
    n: int


def uniform(domain: Domain, n: int, rng: np.random.Generator) -> Source:
    """Return points drawn independently and uniformly in a bounded domain.

    In a box coordinate by coordinate. In a polytope by drawing from the box around it and keeping
    what lies inside; where that would keep less than one in 200, by cutting the polytope into
    simplices.
    """
    place = domain.domain if isinstance(domain, Slice) else domain
    if not place.is_bounded:
        raise DomainError(
            f"{domain!r} is unbounded: no uniform distribution lives there. Sample a Box around "
            f"what matters, or give points=X."
        )
    if isinstance(place, Box):
        low, high = (bound[place.free] for bound in place.inner_bounds)

        def pieces(size: int) -> Iterator[Piece]:
            for start in range(0, n, size):
                share = rng.random((min(size, n - start), len(low)))
                yield _between(low, high, share), 0

        return Source("uniform", "uniform", pieces, n)
    assert isinstance(place, Polytope)
    candidates, how = _candidates(place)
    return Source("uniform", how, lambda size: _kept(candidates, place, n, rng, size), n)


def _between(low: FloatArray | float, high: FloatArray | float, share: FloatArray) -> FloatArray:
    points = share * high
    points += (1 - share) * low
    return np.clip(points, low, high, out=points)


Candidates = Callable[[np.random.Generator, int], FloatArray]


def _candidates(place: Polytope) -> tuple[Candidates, str]:
    """Return what draws points of which those inside are uniform in the polytope."""
    low, high = place.bounds()

    def in_box(rng: np.random.Generator, size: int) -> FloatArray:
        return _between(low, high, rng.random((size, place.dim)))

    # Random numbers of its own, so that the decision is always the same.
    share = place.contains(in_box(np.random.default_rng(0), _TRIALS)).mean()
    if share < _LEAST_SHARE:
        in_simplices = triangulated(place)
        if in_simplices is not None:
            return in_simplices, "uniform, by simplices"
    if share == 0:
        raise DomainError(
            f"{place!r} fills too little of the box around it for drawing points there, and "
            f"cannot be cut into simplices. Draw points in it yourself, and give points=X."
        )
    return in_box, f"uniform, about {share:.2g} of those drawn in the box around the polytope"


def _kept(
    candidates: Candidates, place: Polytope, n: int, rng: np.random.Generator, size: int
) -> Iterator[Piece]:
    left = n
    while left:
        drawn = candidates(rng, size)
        kept = drawn[place.contains(drawn)][:left]
        left -= len(kept)
        yield kept, 0


def grid(domain: Domain, side: Any) -> Source:
    """Return the points of a regular grid, the ends of every coordinate included.

    On a polytope, the grid of the box around it.
    """
    per_side = whole(side, "grid", least=2)
    place = domain.domain if isinstance(domain, Slice) else domain
    if not place.is_bounded:
        raise DomainError(
            f"{domain!r} is unbounded: no grid covers it. Take a Box around what matters."
        )
    n = per_side**domain.rank
    if n > _MOST_ON_GRID:
        raise InputError(
            f"a grid of {per_side} points a side in {domain.rank} dimensions has "
            f"{per_side}^{domain.rank} points; more than {_MOST_ON_GRID:.0e} are refused. Draw "
            f"points at random: sample(net, domain, n)."
        )
    low, high = place.inner_bounds if isinstance(place, Box) else place.bounds()
    low, high = low[place.free], high[place.free]

    def pieces(size: int) -> Iterator[Piece]:
        shape = (per_side,) * len(low)
        for start in range(0, n, size):
            stop = min(start + size, n)
            places = np.unravel_index(np.arange(start, stop), shape) if shape else ()
            points = np.empty((stop - start, len(low)))
            for j, at in enumerate(places):
                points[:, j] = _ticks(low[j], high[j], per_side, at)
            inside = points if isinstance(place, Box) else points[place.contains(points)]
            yield inside, len(points) - len(inside)

    return Source("grid", f"a regular grid, {per_side} a side", pieces, n)


def _ticks(low: float, high: float, n: int, at: npt.NDArray[np.int64]) -> FloatArray:
    """Return some of the values of ``np.linspace(low, high, n)``, without the others."""
    with np.errstate(over="ignore"):
        step = (high - low) / (n - 1)
    if not np.isfinite(step):
        return _between(low, high, at / (n - 1))
    return np.where(at == n - 1, high, at * step + low)


def given(domain: Domain, X: Any) -> Source:
    """Return points that are given in the domain's coordinates."""
    points = domain.points(X)
    if points.ndim != 2 or not len(points):
        raise InputError(
            f"points have shape {points.shape}; at least one row of {domain.dim} numbers is needed."
        )
    if not np.isfinite(points).all():
        raise InputError("points hold NaN or infinite numbers. Leave those rows out.")

    def pieces(size: int) -> Iterator[Piece]:
        for start in range(0, len(points), size):
            part = points[start : start + size]
            inside = part[domain.contains(part)]
            yield inside[:, domain.free], len(part) - len(inside)

    return Source("points", "points given", pieces, len(points))


def log_spaced(n: int) -> npt.NDArray[np.int64]:
    """Return whole numbers from 1 to n, about ten a decade."""
    if n < 1:
        return np.zeros(0, np.int64)
    steps = math.ceil(10 * math.log10(n)) + 1
    spaced = np.round(np.logspace(0, math.log10(n), steps)).astype(np.int64)
    return np.unique([1, *spaced[(spaced >= 1) & (spaced < n)].tolist(), n])
