"""`sample`: what random inputs, a grid or given data find of a network's regions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain, as_domain
from polycarve.errors import InputError
from polycarve.networks import Network, as_network, codes
from polycarve.networks.locating import exact_pattern
from polycarve.sampling import draws, richness, rows
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.forward import RegionFinder
from polycarve.sampling.tally import Tally
from polycarve.tables import align
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Activations of so many neurons at so many points are held at a time, and never more points.
_CHUNK_NUMBERS = 1 << 21
_CHUNK_POINTS = 1 << 13

_DEFAULT_N = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class SampleEstimate:
    """The regions that a sample of points found, and what they say of those it missed.

    Made by `polycarve.sample`.

    Attributes
    ----------
    network, domain
    kind : "uniform", "grid" or "points"
    how : str
        How the points came about, in words.
    n : int
        Points in the domain that were looked at.
    n_on_boundary : int
        Those of them on a boundary between regions. They lie in no region and are not counted:
        their patterns would add regions that do not exist.
    n_outside : int
        Points of a grid or given ones that lie outside the domain; they were not looked at.
    packed : (S, ceil(N / 8)) uint8
        The distinct patterns, in their order, eight neurons to the byte.
    counts : (S,) int64
        How many points had each.
    first_seen : (S,) int64
        Which point was the first to have it, from 0.
    is_whole : bool
        False where time ran out before all points were looked at.
    """

    network: Network
    domain: Domain
    kind: draws.Kind
    how: str
    n: int
    n_on_boundary: int
    n_outside: int
    packed: BitArray = field(hash=False)
    counts: IntArray = field(hash=False)
    first_seen: IntArray = field(hash=False)
    is_whole: bool = True

    def __len__(self) -> int:
        """Number of distinct regions seen."""
        return len(self.packed)

    @property
    def n_counted(self) -> int:
        """Points that lie in regions."""
        return self.n - self.n_on_boundary

    @property
    def patterns(self) -> BitArray:
        """The distinct patterns, ``(S, N)``."""
        return np.unpackbits(self.packed, axis=1, count=int(sum(self.network.cut_widths)))

    def codes(self) -> list[str]:
        """Return the distinct patterns as codes such as ``"aai|ia"``."""
        return [codes.code_of(bits, self.network.cut_widths) for bits in self.patterns]

    @property
    def frequencies(self) -> FloatArray:
        """The share of the counted points in each region seen, ``(S,)``."""
        return np.asarray(self.counts / max(1, self.n_counted), dtype=np.float64)

    @cached_property
    def frequency_counts(self) -> dict[int, int]:
        """How many regions were seen exactly k times: ``{k: f_k}``."""
        return richness.frequency_counts(self.counts)

    @cached_property
    def saturation(self) -> tuple[IntArray, IntArray]:
        """How many distinct regions the first m points found: ``(m, regions)``, m log-spaced.

        Where the curve still rises at its end, most of what there is has not been seen; where it
        is flat, nothing is proven either.
        """
        steps = draws.log_spaced(self.n)
        return steps, np.searchsorted(np.sort(self.first_seen), steps, side="left")

    @property
    def are_independent(self) -> bool:
        """Whether the points count as independent draws, which the estimates presume."""
        return self.kind != "grid"

    @cached_property
    def estimates(self) -> tuple[CountEstimate, ...]:
        """What `polycarve.sampling` estimates from the counts; of a grid only the number seen.

        Of given points they are about the regions that more such points would reach.
        """
        if not self.are_independent:
            return (richness.observed(self.counts),)
        return richness.all_estimates(self.counts)

    @property
    def missing_mass(self) -> float | None:
        """Good and Turing's estimate of the share of the domain in regions not seen.

        See `polycarve.sampling.good_turing_mass`; None for a grid, and where nothing was counted.
        """
        if not self.are_independent or not self.n_counted:
            return None
        return richness.good_turing_mass(self.counts)

    def extrapolate(self, t: float = 1.0) -> float:
        """Return how many new regions ``t * n`` more points would find, for t up to 1.

        See `polycarve.sampling.good_toulmin`.
        """
        if not self.are_independent:
            raise InputError(
                "the points of a grid are not drawn at random, so nothing follows about more of "
                "them. Sample with n=..., or a finer grid."
            )
        return richness.good_toulmin(self.counts, t)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data that JSON can hold; patterns are left out."""
        steps, regions = self.saturation
        return {
            "kind": self.kind,
            "how": self.how,
            "n": self.n,
            "n_on_boundary": self.n_on_boundary,
            "n_outside": self.n_outside,
            "is_whole": self.is_whole,
            "regions_seen": len(self),
            "frequency_counts": {str(k): f for k, f in self.frequency_counts.items()},
            "saturation": {"n": steps.tolist(), "regions": regions.tolist()},
            "missing_mass": self.missing_mass,
            "estimates": [rows.as_dict(one) for one in self.estimates],
        }

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = [("points", f"{self.n:,}", self.how)]
        if not self.is_whole:
            lines.append(("", "", "time ran out before all were looked at"))
        if self.n_on_boundary:
            lines.append(("on a boundary", f"{self.n_on_boundary:,}", "not counted as regions"))
        if self.n_outside:
            lines.append(("outside", f"{self.n_outside:,}", "not looked at"))
        lines += [rows.row(one) for one in self.estimates]
        if self.missing_mass is not None:
            share = f"{self.missing_mass:.3g}"
            lines.append(("missing mass", share, "Estimates a share of the domain, not a number."))
        return lines

    def __str__(self) -> str:
        return align(self._lines(), right=(1,))

    def _repr_html_(self) -> str:
        cells = (
            f"<tr><th>{escape(a)}</th><td>{escape(b)}</td><td>{escape(c)}</td></tr>"
            for a, b, c in self._lines()
        )
        return f"<table>{''.join(cells)}</table>"

    def __repr__(self) -> str:
        seen = f"{len(self)} region{'' if len(self) == 1 else 's'}"
        return f"SampleEstimate({seen} seen by {self.n} points: {self.how})"


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
    generator = draws.as_generator(rng)
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
    for piece, n_outside in source.draw(_chunk(network)):
        if deadline is not None and looked_at and time.monotonic() > deadline:
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
