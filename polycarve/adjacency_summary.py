"""The region graph in figures: degrees, diameter, components, beside what theory allows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.adjacency import BOUNDARY, UNKNOWN, Adjacency
from polycarve.tables import align

IntArray = npt.NDArray[np.int64]

# Nodes and edges that the searches for the diameter may visit: about a second.
_MOST_VISITS = 50_000_000
_LEAST_SEARCHES = 16


@dataclass(frozen=True, repr=False)
class AdjacencySummary:
    """What `Adjacency.summary` returns; prints as a table.

    Attributes
    ----------
    regions : int
    complete : bool
        False of an incomplete carving: then all figures are those of the regions listed.
    dimension : int
        The affine dimension d of the domain.
    shared_facets, boundary_facets, unknown_facets : int
        Facets between two regions, counted once; those on the domain's boundary; and those of an
        incomplete carving behind which nothing is listed.
    degree_counts : tuple of int
        ``degree_counts[k]`` regions have k neighbours.
    mean_degree : float
        Neighbours a region has on average.
    mean_degree_bound : int
        ``2 d``: what the mean does not exceed for almost all weights of any architecture.
        Degenerate networks may.
    diameter : (int, int) or None
        The least and the greatest number of steps that the two regions furthest apart can be from
        each other: equal where it is known. None where the graph is not connected.
    diameter_bound : int
        ``prod(n_l + 1) - 1`` over the widths of the layers: a straight line between two regions
        crosses no more facets.
    components : int
        1 for every complete carving.
    bounded_share : float
        Of all regions, those that are bounded; not a number where there is no region.
    points, points_elsewhere : int or None
        How many points were given, and how many of them lie in no region listed.
    regions_with_points : int or None
    degrees_with_points : (float, float) or None
        Mean degree of the regions that hold points, and of the rest; not a number where there are
        none.
    """

    regions: int
    complete: bool
    dimension: int
    shared_facets: int
    boundary_facets: int
    unknown_facets: int
    degree_counts: tuple[int, ...]
    mean_degree: float
    mean_degree_bound: int
    diameter: tuple[int, int] | None
    diameter_bound: int
    components: int
    bounded_share: float
    points: int | None = None
    points_elsewhere: int | None = None
    regions_with_points: int | None = None
    degrees_with_points: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data that JSON can hold: None for what is not a number."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        rows = [["regions", f"{self.regions:,}" if self.complete else f"{self.regions:,} so far"]]
        facets = f"{self.shared_facets:,} shared, {self.boundary_facets:,} on the boundary"
        if self.unknown_facets:
            facets += f", {self.unknown_facets:,} with nothing known behind"
        rows.append(["facets", facets])
        rows.append(
            [
                "mean degree",
                f"{self.mean_degree:.4g} (generic networks: at most {self.mean_degree_bound})",
            ]
        )
        rows.append(["diameter", f"{self._diameter_text()} (at most {self.diameter_bound:,})"])
        rows.append(["components", f"{self.components:,}"])
        rows.append(["bounded", _share(self.bounded_share)])
        if self.degrees_with_points is not None:
            held, rest = map(_number, self.degrees_with_points)
            rows.append(
                [
                    "with points",
                    f"{self.regions_with_points:,}: mean degree {held}, the rest {rest}",
                ]
            )
            rows.append(["points elsewhere", f"{self.points_elsewhere:,} of {self.points:,}"])
        table = align(rows)
        counts = [(k, n) for k, n in enumerate(self.degree_counts) if n]
        if counts:
            most = max(n for _, n in counts)
            lines = [["degree", "regions", ""]]
            lines += [[str(k), f"{n:,}", "#" * math.ceil(30 * n / most)] for k, n in counts]
            table += "\n\n" + align(lines, right=(0, 1))
        if not self.complete:
            table += "\n\nThe carving is incomplete: figures of the regions listed only."
        return table

    def _diameter_text(self) -> str:
        if self.diameter is None:
            return "none, not connected" if self.regions else "none"
        low, high = self.diameter
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    def __repr__(self) -> str:
        return (
            f"AdjacencySummary({self.regions} regions, {self.shared_facets} shared facets, "
            f"mean degree {self.mean_degree:.3g})"
        )


def summarize(adjacency: Adjacency, points: npt.ArrayLike | None = None) -> AdjacencySummary:
    """See `Adjacency.summary`."""
    from scipy.sparse.csgraph import connected_components

    carving, n, degrees = adjacency.carving, len(adjacency), adjacency.degrees
    matrix = adjacency.matrix()
    components = int(connected_components(matrix, directed=False)[0]) if n else 0
    diameter = None
    if components == 1:
        diameter = diameter_interval(matrix.indptr.astype(np.int64), matrix.indices)
    given: dict[str, Any] = {}
    if points is not None:
        rows = np.atleast_1d(carving.locate(points))
        holds = np.zeros(n, np.bool_)
        holds[rows[rows >= 0]] = True
        given = {
            "points": len(rows),
            "points_elsewhere": int((rows < 0).sum()),
            "regions_with_points": int(holds.sum()),
            "degrees_with_points": (_mean(degrees[holds]), _mean(degrees[~holds])),
        }
    return AdjacencySummary(
        regions=n,
        complete=carving.complete,
        dimension=carving.domain.rank,
        shared_facets=len(adjacency.edge_facets),
        boundary_facets=int((adjacency.neighbor == BOUNDARY).sum()),
        unknown_facets=int((adjacency.neighbor == UNKNOWN).sum()),
        degree_counts=tuple(np.bincount(degrees).tolist()) if n else (),
        mean_degree=_mean(degrees),
        mean_degree_bound=2 * carving.domain.rank,
        diameter=diameter,
        diameter_bound=math.prod(width + 1 for width in carving.widths) - 1,
        components=components,
        bounded_share=_mean(carving.bounded()),
        **given,
    )


def diameter_interval(
    offsets: IntArray, targets: IntArray, most_visits: int = _MOST_VISITS
) -> tuple[int, int]:
    """Return an interval that holds the diameter of a connected graph, proven by searches.

    Node i has the neighbours ``targets[offsets[i] : offsets[i + 1]]``.

    Notes
    -----
    A breadth-first search from v gives its eccentricity e, and for every other node w at distance
    s from v bounds on its own: at least ``max(s, e - s)``, at most ``e + s``. The diameter is at
    least e, at most 2 e, and at most the largest upper bound. Searches start in turn where the
    upper bound is largest and where the lower one is smallest, until the bounds meet or
    `most_visits` nodes and edges have been seen.

    References
    ----------
    F. W. Takes and W. A. Kosters, Determining the diameter of small world networks, 2011.
    """
    n = len(offsets) - 1
    lower, upper = np.zeros(n, np.int64), np.full(n, n - 1)
    low, high = 0, n - 1
    searches = max(_LEAST_SEARCHES, most_visits // (n + len(targets)))
    for step in range(searches):
        open_ones = np.flatnonzero(upper > np.maximum(lower, low))
        if not len(open_ones):
            return low, low
        key = lower[open_ones] if step % 2 else -upper[open_ones]
        start = int(open_ones[np.argmin(key)])
        distance = _distances(offsets, targets, start)
        eccentricity = int(distance.max())
        np.maximum(lower, np.maximum(distance, eccentricity - distance), out=lower)
        np.minimum(upper, eccentricity + distance, out=upper)
        lower[start] = upper[start] = eccentricity
        low = max(low, int(lower.max()))
        high = min(high, 2 * eccentricity, max(low, int(upper.max())))
        if low == high:
            break
    return low, high


def _distances(offsets: IntArray, targets: IntArray, start: int) -> IntArray:
    """Return each node's number of steps from one of them, breadth first."""
    distance = np.full(len(offsets) - 1, -1, np.int64)
    place = np.empty(len(distance), np.int64)
    distance[start] = step = 0
    front = np.array([start])
    while len(front):
        step += 1
        counts = offsets[front + 1] - offsets[front]
        first = offsets[front] - np.concatenate([[0], np.cumsum(counts)[:-1]])
        reached = targets[np.repeat(first, counts) + np.arange(counts.sum())]
        reached = reached[distance[reached] < 0]
        distance[reached] = step
        place[reached] = np.arange(len(reached))  # of a node reached twice, one stays
        front = reached[place[reached] == np.arange(len(reached))]
    return distance


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"


def _share(value: float) -> str:
    return f"{value:.1%}" if math.isfinite(value) else "-"
