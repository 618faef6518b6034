"""Unbiased estimates from random lines: the number of regions, and how long their boundaries are.

A line that hits the convex domain D, isotropic and uniform among those that do, hits a convex part
P of it with the probability ``S(P) / S(D)`` (Cauchy, Crofton), where S is the perimeter in the
plane and the surface area in space. So the sum of ``S(D) / S(P)`` over the regions on its way has
the number of regions as its expectation; and it crosses boundaries of total size A, in points,
``2 A / S(D)`` times on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.domains import as_domain
from polycarve.errors import InputError, NumericalError
from polycarve.networks import Network, as_network
from polycarve.sampling.arguments import as_generator, checked_confidence
from polycarve.sampling.estimate import CountEstimate, mean_interval, standard_error
from polycarve.sampling.surface import END, Surface
from polycarve.segments import SegmentCarvings, carve_segments
from polycarve.splitting.program import in_frame
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Lines whose patterns are held at a time.
_CHUNK = 512


def random_lines(
    carving: Carving, n_lines: int = 1000, *, rng: Any = None, confidence: float = 0.95
) -> CountEstimate:
    """Estimate the number of regions from those that random lines meet, by their surface.

    A region is met the more often the larger its perimeter is, and counts the less: long thin
    regions, which no sample of points sees, are met by lines. The regions met must be known with
    their shapes, so this takes a carving; it shows what lines find.

    Parameters
    ----------
    carving : Carving
        Complete, on a bounded domain of rank 2 or 3.
    n_lines : int
    rng : int, numpy.random.Generator or None
    confidence : float
        How often the interval is meant to cover the number.

    Returns
    -------
    CountEstimate
        Unbiased, with a standard error from two lines on; with an interval in the plane only. In
        space, surfaces shrink with the square of a region's size, and small ones are missed.

    Raises
    ------
    InputError
        A carving that is incomplete, unbounded, or of another rank.
    NumericalError
        A line runs through a region that the carving does not have, in floating point.

    Notes
    -----
    Lines begin at a uniform point of the domain's surface, in a direction whose density is as the
    cosine of its angle with the inward normal, so that none misses the domain. On a `Slice`,
    lines and surfaces are those in its own coordinates.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    >>> random_lines(carving, 2000, rng=0)
    <CountEstimate: random lines, 65.8 ± 1.2 (n=2000)>
    """
    n, generator = whole(n_lines, "n_lines", least=1), as_generator(rng)
    confidence = checked_confidence(confidence)
    if not isinstance(carving, Carving) or not carving.complete:
        raise InputError(
            f"carving is {carving!r}; a complete Carving is needed, for the shapes of its regions."
        )
    surface = Surface.of(carving.domain)
    sizes = surface.size / region_surfaces(carving)
    along = in_frame(carving.network, carving.domain)
    network = along[: carving.n_layers] if carving.widths else along
    values = np.zeros(n)
    for start in range(0, n, _CHUNK):
        X0, X1 = surface.lines(min(_CHUNK, n - start), generator)
        segment, rows = _regions_met(carving, network, X0, X1)
        np.add.at(values, start + segment, sizes[rows])
    in_plane = carving.domain.rank == 2
    return CountEstimate(
        name="random lines",
        value=float(values.mean()),
        standard_error=standard_error(values),
        interval=mean_interval(values, confidence) if in_plane else None,
        n=n,
        is_unbiased=True,
        promise="Right on average; regions of tiny perimeter are met by few lines, and may be "
        "missed."
        if in_plane
        else "Right on average, but with a long tail: small regions have tiny surfaces, and where "
        "lines miss them the standard error is too small.",
        is_baseline=False,
        confidence=confidence,
    )


def boundary_size(
    net: Any, domain: Any, n_lines: int = 1000, *, rng: Any = None, confidence: float = 0.95
) -> CountEstimate:
    """Estimate the total size of the boundaries between regions inside a domain.

    Length in the plane, area in space; the domain's own boundary does not belong to it. Nothing is
    carved but lines, so networks of any size will do. It says nothing about the number of regions.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    domain : Box, Polytope, Slice or [(lo, hi), ...]
        Bounded, of rank 2 or 3.
    n_lines, rng, confidence
        As for `random_lines`.

    Returns
    -------
    CountEstimate
        Whose `value` is a length or an area. Unbiased.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> boundary_size(net, pc.Box.cube(-1, 1, dim=2), 10_000, rng=0)
    <CountEstimate: size of boundaries, 3.958 ± 0.031 (n=10000)>
    """
    network = as_network(net)
    place = as_domain(domain, network.input_dim)
    n, generator = whole(n_lines, "n_lines", least=1), as_generator(rng)
    confidence = checked_confidence(confidence)
    surface = Surface.of(place)
    along = in_frame(network, place)
    values = np.zeros(n)
    for start in range(0, n, _CHUNK):
        X0, X1 = surface.lines(min(_CHUNK, n - start), generator)
        found = carve_segments(along, X0, X1)
        first = np.cumsum(found.n_regions) - found.n_regions
        crossed = np.add.reduceat(_is_within(found).astype(np.int64), first) - 1
        values[start : start + len(found)] = 0.5 * surface.size * crossed
    return CountEstimate(
        name="size of boundaries",
        value=float(values.mean()),
        standard_error=standard_error(values),
        interval=mean_interval(values, confidence),
        n=n,
        is_unbiased=True,
        promise="Right on average: a length (in space an area), and no number of regions.",
        is_baseline=False,
        confidence=confidence,
    )


def region_surfaces(carving: Carving) -> FloatArray:
    """Return the perimeter (in the plane) or surface area (in space) of every region, ``(R,)``."""
    cells, free = carving.cells(), carving.domain.free
    corners = cells.vertices[:, free]
    if len(free) == 2:  # anticlockwise, region by region
        offsets = cells.vertex_offsets
        sides = np.linalg.norm(corners[_following(offsets)] - corners, axis=1)
        return np.asarray(np.add.reduceat(sides, offsets[:-1]))
    offsets, points = cells.incidence_offsets, corners[cells.incidence]
    counts = np.diff(offsets)
    facet = np.repeat(np.arange(len(counts)), counts)
    middle = np.add.reduceat(points, offsets[:-1]) / counts[:, None]
    arms = points - middle[facet]
    # Round the middle of its facet, each corner has an angle in the facet's plane.
    normals = carving.halfspaces().A[:, free]
    normals = normals / np.linalg.norm(normals, axis=1)[:, None]
    across = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    first = np.cross(normals, across)
    first /= np.linalg.norm(first, axis=1)[:, None]
    second = np.cross(normals, first)
    angle = np.arctan2(
        np.einsum("ij,ij->i", arms, second[facet]), np.einsum("ij,ij->i", arms, first[facet])
    )
    arms = arms[np.lexsort((angle, facet))]
    twice = np.linalg.norm(np.cross(arms, arms[_following(offsets)]), axis=1)
    areas = 0.5 * np.add.reduceat(twice, offsets[:-1])
    return np.asarray(np.add.reduceat(areas, cells.facet_offsets[:-1]))


def _following(offsets: IntArray) -> IntArray:
    """Return the row after each, going round within the rows between offsets."""
    following = np.arange(1, offsets[-1] + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    return following


def _regions_met(
    carving: Carving, network: Network, X0: FloatArray, X1: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the pairs of a segment and a region on its way."""
    if not carving.widths:
        return np.arange(len(X0)), np.zeros(len(X0), np.int64)
    found = carve_segments(network, X0, X1)
    segment = np.repeat(np.arange(len(found)), found.n_regions)
    is_within = _is_within(found)
    packed = [np.packbits(found.patterns(i), axis=1) for i in range(len(found))]
    segment, rows = segment[is_within], carving.find(np.concatenate(packed)[is_within])
    if (rows < 0).any():
        raise NumericalError(
            f"{np.count_nonzero(rows < 0)} regions on the way of random lines are not in the "
            f"carving: floating point decided differently about them. Rescale the inputs."
        )
    return segment, rows


def _is_within(found: SegmentCarvings) -> npt.NDArray[np.bool_]:
    """Whether each region along segments is more than the very end of one.

    Rounding may put ends a little outside the domain, beyond a boundary that its surface lies on.
    """
    lengths = np.linalg.norm(found.X1 - found.X0, axis=1)
    sizes = np.maximum(np.abs(found.X0), np.abs(found.X1)).max(axis=1)
    end = np.minimum(END * sizes / lengths, 0.5)
    segment = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    t = found.breakpoints
    is_next = np.ones(len(t), np.bool_)
    is_next[1:] = (t[1:] != t[:-1]) | (segment[1:] != segment[:-1])
    first = np.cumsum(found.n_regions) - found.n_regions
    others = np.ones(int(found.n_regions.sum()), np.bool_)
    others[first] = False
    enters, leaves = np.zeros(len(others)), np.ones(len(others))
    enters[others] = t[is_next]
    leaves[np.flatnonzero(others) - 1] = t[is_next]
    trim = np.repeat(end, found.n_regions)
    return np.asarray((leaves > trim) & (enters < 1.0 - trim))
