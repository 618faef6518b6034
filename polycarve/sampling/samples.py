"""`sample`: what random inputs, a grid or given data find of a network's regions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain, as_domain
from polycarve.errors import InputError
from polycarve.networks import Network, as_network
from polycarve.networks.locating import exact_pattern
from polycarve.sampling import draws
from polycarve.sampling.arguments import as_generator
from polycarve.sampling.forward import RegionFinder
from polycarve.sampling.sample_estimate import SampleEstimate
from polycarve.sampling.tally import Tally
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]

# Activations of so many neurons at so many points are held at a time, and never more points.
_CHUNK_NUMBERS = 1 << 21
_CHUNK_POINTS = 1 << 11

_DEFAULT_N = 100_000


def sample(
    net: Any,
    domain: Any,
    n: int | None = None,
    *,
    rng: Any = None,
    grid: int | None = None,
    points: Any = None,
) -> SampleEstimate:
    """Count the regions that random inputs find, and estimate what they miss.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    domain : Box, Polytope, Slice, Segment, or [(lo, hi), ...]
        Bounded, unless points are given.
    n : int, optional
        How many points to draw, independently and uniformly in the domain; default 100,000.
    rng : int, numpy.random.Generator, optional
        A seed makes the result reproducible; None draws other points every time.
    grid : int, optional
        Instead of drawing, take a regular grid of so many points a side, the ends included. Of a
        polytope, those points of the grid of the box around it that lie inside.
    points : (m, d) array, optional
        Instead of drawing, take these points, such as data, in the domain's coordinates.

    Returns
    -------
    SampleEstimate
        Its numbers depend on the arguments alone, not on how the work is cut into pieces.

    Raises
    ------
    InputError
        A number of points below 1, an `rng` that is neither seed nor generator, or more than one
        of `n`, `grid` and `points`.
    DomainError
        An unbounded domain without points.

    Notes
    -----
    One forward pass in pieces of bounded size. Patterns are decided exactly where rounding could
    change them. A point lies on a boundary where a pre-activation is exactly zero, but not zero
    throughout the domain for inputs of the point's pattern; such points are counted apart.
    Memory grows with the number of distinct patterns, not with that of the points.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> found = pc.sample(examples.moons(), pc.Box.cube(-3, 3, dim=2), 10_000, rng=0)
    >>> len(found) <= 66, int(found.counts.sum())
    (True, 10000)
    >>> len(pc.sample(examples.moons(), pc.Box.cube(-3, 3, dim=2), grid=100))
    58
    """
    network = as_network(net)
    place = as_domain(domain, network.input_dim)
    return run(network, place, source_of(place, n, rng, grid, points))


def source_of(domain: Domain, n: Any, rng: Any, grid: Any, points: Any) -> draws.Source:
    """Return the source of points that arguments name; refuse more than one."""
    named = {"n": n, "grid": grid, "points": points}
    chosen = [name for name, value in named.items() if value is not None]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} were given; one of n, grid and points is needed.")
    generator = as_generator(rng)
    if grid is not None:
        return draws.grid(domain, grid)
    if points is not None:
        return draws.given(domain, points)
    number = _DEFAULT_N if n is None else whole(n, "n", least=1)
    return draws.uniform(domain, number, generator)


def run(
    network: Network, domain: Domain, source: draws.Source, *, deadline: float | None = None
) -> SampleEstimate:
    """Look at the points of a source, until a time by `time.monotonic` if there is one."""
    tally, looked_at, on_boundary, outside = Tally(), 0, 0, 0
    is_whole = True
    find = _finder(network, domain)
    parts = _parts(source.draw(_chunk(network)), are_timed=deadline is not None)
    for k, (piece, n_outside) in enumerate(parts):
        if deadline is not None and k and time.monotonic() > deadline:
            is_whole = False
            break
        packed, touching = find(piece)
        places = np.arange(looked_at, looked_at + len(piece))
        tally.add(packed[~touching], places[~touching])
        looked_at += len(piece)
        on_boundary += int(touching.sum())
        outside += n_outside
    packed, counts, first = tally.result((int(sum(network.cut_widths)) + 7) // 8)
    return SampleEstimate(
        network=network,
        domain=domain,
        kind=source.kind,
        how=source.how,
        n=looked_at,
        n_on_boundary=on_boundary,
        n_outside=outside,
        packed=packed,
        counts=counts,
        first_seen=first,
        is_whole=is_whole,
    )


def _parts(pieces: Iterable[draws.Piece], *, are_timed: bool) -> Iterator[draws.Piece]:
    """Cut pieces up where time counts: points that need exact arithmetic may take long.

    A part has as many points as all before it, so that a limit is exceeded by a factor at most.
    """
    done = 0
    for piece, n_outside in pieces:
        if not (are_timed and len(piece)):
            yield piece, n_outside
            continue
        start, outside = 0, n_outside
        while start < len(piece):
            part = piece[start : start + max(1, done)]
            yield part, outside
            start, outside, done = start + len(part), 0, done + len(part)


def _chunk(network: Network) -> int:
    units = network.input_dim + sum(layer.n_units for layer in network.layers)
    return max(1, min(_CHUNK_POINTS, _CHUNK_NUMBERS // units))


def _finder(network: Network, domain: Domain) -> Callable[[FloatArray], tuple[BitArray, BoolArray]]:
    if domain.rank:
        return RegionFinder.on(network, domain).find
    # One point is a domain without boundaries inside.
    offset = domain.frame.offset
    assert offset is not None
    pattern = np.packbits(exact_pattern(network.along(domain.embedding), offset))

    def everywhere(points: FloatArray) -> tuple[BitArray, BoolArray]:
        return np.tile(pattern, (len(points), 1)), np.zeros(len(points), np.bool_)

    return everywhere
