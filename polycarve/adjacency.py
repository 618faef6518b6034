"""Which regions touch: the facets of every region, and who lies behind each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.cells import FacetSources
from polycarve.errors import InputError, NumericalError
from polycarve.networks import Network, codes
from polycarve.rational import ExactArray, stack
from polycarve.splitting.neighbors import find_mates, find_patterns
from polycarve.splitting.program import in_frame

if TYPE_CHECKING:
    from polycarve.adjacency_summary import AdjacencySummary

IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# What is behind a facet that is no region: the domain ends, or the list does.
BOUNDARY, UNKNOWN = -1, -2


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The facets of all regions of a carving as columns, and the region behind each.

    Two regions are neighbours if they share a facet: a part of a hyperplane of dimension one less
    than the domain. Patterns of neighbours may differ in several neurons, and regions whose
    patterns differ in one need not touch.

    Attributes
    ----------
    carving : Carving
    offsets : (R + 1,) int64
        Region i has the facets ``offsets[i] .. offsets[i + 1] - 1``: its neurons by rising index,
        then the sides of the domain.
    source : (M,) int64
        The neuron (an index among all N; the first, if several share the hyperplane), or
        ``-1 - k`` for side k of the domain.
    neighbor : (M,) int64
        The region behind; -1 where the domain ends, -2 where an incomplete carving does not know.
    carrier_offsets : (M + 1,) int64
    carriers : int64
        All neurons whose hyperplanes carry facet f: ``carriers[carrier_offsets[f] :
        carrier_offsets[f + 1]]``; none on sides of the domain.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> adjacency = pc.carve(net, pc.Space(2)).adjacency()
    >>> adjacency.of(0)                    # the region 'ii' touches 'ai' and 'ia', not 'aa'
    array([2, 1])
    >>> adjacency.edges.tolist()
    [[0, 1], [0, 2], [1, 3], [2, 3]]
    """

    carving: Carving
    offsets: IntArray
    source: IntArray
    neighbor: IntArray
    carrier_offsets: IntArray
    carriers: IntArray

    def __len__(self) -> int:
        """Number of regions."""
        return len(self.offsets) - 1

    def of(self, region: int) -> IntArray:
        """Return what lies behind each facet of a region: see `neighbor`."""
        return self.neighbor[self.offsets[region] : self.offsets[region + 1]]

    @cached_property
    def region(self) -> IntArray:
        """The region that each facet belongs to, ``(M,)``."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def mate(self) -> IntArray:
        """The same facet seen from the region behind it, ``(M,)``: a row of the columns, or -1."""
        return find_mates(self.offsets, self.neighbor)

    @cached_property
    def edge_facets(self) -> IntArray:
        """One facet for each pair of neighbours, ``(E,)``: that of the earlier region."""
        return np.flatnonzero(self.neighbor > self.region)

    @cached_property
    def edges(self) -> IntArray:
        """All pairs of neighbours ``i < j``, ``(E, 2)``, sorted."""
        facets = self.edge_facets
        pairs = np.stack([self.region[facets], self.neighbor[facets]], axis=1)
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]

    @cached_property
    def degrees(self) -> IntArray:
        """How many neighbours each region has, ``(R,)``."""
        return np.bincount(self.region[self.neighbor >= 0], minlength=len(self))

    def facet_carriers(self, facet: int) -> IntArray:
        """Return all neurons on a facet (a row of the columns)."""
        return self.carriers[self.carrier_offsets[facet] : self.carrier_offsets[facet + 1]]

    def summary(self, points: npt.ArrayLike | None = None) -> AdjacencySummary:
        """Return the graph's figures: degrees, diameter, components, beside what theory allows.

        Parameters
        ----------
        points : array-like, shape (n, d), optional
            Data in the domain's coordinates: the regions that hold some are set beside the rest.

        Returns
        -------
        AdjacencySummary
            Prints as a table. Of an incomplete carving the figures are those of the regions listed,
            and it says so.

        Notes
        -----
        The diameter is exact for some thousand regions, and often beyond; else it is an interval
        that breadth-first searches prove.

        Examples
        --------
        >>> import polycarve as pc
        >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
        >>> summary = pc.carve(net, pc.Space(2)).adjacency().summary([[1, 1], [2, 2]])
        >>> summary.mean_degree, summary.diameter, summary.degrees_with_points
        (2.0, (2, 2), (2.0, 2.0))
        """
        from polycarve import adjacency_summary

        return adjacency_summary.summarize(self, points)

    def matrix(self) -> Any:
        """Return the adjacency matrix, ``(R, R)``, as a SciPy sparse array of ones."""
        from scipy.sparse import csr_array

        known = self.neighbor >= 0
        indices = (self.region[known], self.neighbor[known])
        return csr_array((np.ones(int(known.sum()), np.int8), indices), (len(self), len(self)))

    def __repr__(self) -> str:
        inner, outer = len(self.edges), int((self.neighbor == BOUNDARY).sum())
        return f"Adjacency({len(self)} regions, {inner} shared facets, {outer} on the boundary)"


def find_adjacency(carving: Carving) -> Adjacency:
    """See `Carving.adjacency`."""
    adjacency = match_facets(carving, carving.facet_sources())
    misses = np.flatnonzero(adjacency.neighbor == UNKNOWN)
    if carving.complete and len(misses):
        facet = int(misses[0])
        raise NumericalError(_missing(carving, int(adjacency.region[facet]), adjacency, facet))
    _check_both_sides(adjacency)
    return adjacency


def match_facets(carving: Carving, facets: FacetSources) -> Adjacency:
    """Look up who lies behind facets; a region that is not listed is unknown, for whatever reason.

    Nothing is checked: see `find_adjacency`.
    """
    program = carving.program
    offsets, source = facets.offsets, facets.source
    if not program.n_layers:
        none = np.zeros(0, np.int64)
        neighbor = np.full(len(source), BOUNDARY)
        starts = np.zeros(len(source) + 1, np.int64)
        return Adjacency(carving, offsets, source, neighbor, starts, none)
    beyond = find_patterns(program, carving.packed, offsets, source, facets.is_generic)
    neighbor = carving.find(beyond.packed)
    is_inner = source >= 0
    neighbor[~is_inner] = BOUNDARY
    adjacency = Adjacency(
        carving, offsets, source, neighbor, beyond.carrier_offsets, beyond.carriers
    )
    misses = np.flatnonzero(is_inner & (neighbor < 0))
    neighbor[misses] = UNKNOWN
    # Forms on one hyperplane are always seen as such. Where no other is, exactly one bit flips.
    change = np.unpackbits(beyond.packed[misses] ^ carving.packed[adjacency.region[misses]], axis=1)
    several = (change.sum(axis=1) != 1) | (np.diff(beyond.carrier_offsets)[misses] != 1)
    unsure = misses if carving.complete else misses[several]
    if len(unsure):
        _ask_exactly(adjacency, unsure)
    return adjacency


def _ask_exactly(adjacency: Adjacency, facets: IntArray) -> None:
    """Look once more for regions behind facets; the first that a complete list lacks ends it."""
    carving = adjacency.carving
    exact = _Exact(carving)
    for facet in facets:
        region = int(adjacency.region[facet])
        pattern = exact.behind(carving[region].pattern, int(adjacency.source[facet]))
        found = -1 if pattern is None else carving.find(np.packbits(pattern)[None])[0]
        if found >= 0:
            adjacency.neighbor[facet] = found
        elif carving.complete:
            return


def _missing(carving: Carving, region: int, adjacency: Adjacency, facet: int) -> str:
    neuron = int(adjacency.source[facet])
    pattern = _Exact(carving).behind(carving[region].pattern, neuron)
    if pattern is None:
        return (
            f"region {region} ({carving[region].code}) seems to have a facet on neuron {neuron}, "
            f"which is constant there: rounding took it for one that varies, or no input has this "
            f"pattern. {_advice(carving)}"
        )
    return (
        f"region {region} ({carving[region].code}) has a facet on neuron {neuron}, and no region "
        f"is listed with the pattern behind it, {codes.code_of(pattern, carving.widths)}: either "
        f"the list lacks it or rounding took a contact for a facet. {_advice(carving)}"
    )


def _advice(carving: Carving) -> str:
    if carving.n_doubtful:
        return (
            f"{carving.n_doubtful} decisions of this carving were doubtful; carve with another "
            f"method, or rescale the network."
        )
    return "Its regions are too thin for float64: carve a smaller box around them."


def _check_both_sides(adjacency: Adjacency) -> None:
    """See that every facet is found from either side."""
    alone = np.flatnonzero((adjacency.neighbor >= 0) & (adjacency.mate < 0))
    if not len(alone):
        return
    facet = int(alone[0])
    region, other = int(adjacency.region[facet]), int(adjacency.neighbor[facet])
    raise NumericalError(
        f"region {region} has a facet on neuron {int(adjacency.source[facet])} with region {other} "
        f"behind it, which has none with region {region} behind: rounding took a contact for a "
        f"facet, or missed one. {_advice(adjacency.carving)}"
    )


class _Exact:
    """The one-sided rule in exact arithmetic, for facets where floats lead nowhere."""

    def __init__(self, carving: Carving) -> None:
        network = in_frame(carving.network, carving.domain)
        self.network: Network = network
        self.missing = sum(network.cut_widths) - sum(carving.widths)
        self.widths = carving.widths

    def behind(self, pattern: BitArray, cut: int) -> BitArray | None:
        """Return the pattern behind the facet of a region on a cut; None if that is constant."""
        forms = self._forms(pattern)
        pivot = next((j for j, value in enumerate(forms[cut][:-1]) if value), None)
        if pivot is None:
            return None
        steepest = forms[cut][pivot]
        is_member = [
            all(
                value * steepest == other * form[pivot]
                for value, other in zip(form, forms[cut], strict=True)
            )
            for form in forms
        ]
        inward = 1 if pattern[cut] else -1
        found, at = np.array(pattern), 0
        for width in self.widths:
            members = [i for i in range(at, at + width) if is_member[i]]
            if members:  # by the neighbour's own forms, which follow from the layers before
                forms = self._forms(found)
                for i in members:
                    found[i] = forms[i][pivot] * steepest * inward < 0
            at += width
        return found

    def _forms(self, pattern: BitArray) -> list[list[int]]:
        full = np.concatenate([pattern, np.zeros(self.missing, np.uint8)])
        maps = self.network.exact_preactivation_maps(full)[: len(self.widths)]
        return [row for A, c in maps for row in self._rows(A, c)]

    @staticmethod
    def _rows(A: ExactArray, c: ExactArray) -> Iterator[list[int]]:
        yield from stack([A, c[:, None]], axis=1).numerators.tolist()


def need_complete(carving: Carving, what: str) -> None:
    """Refuse an incomplete carving."""
    if not carving.complete:
        raise InputError(
            f"{what} needs all regions, and this carving is incomplete (stopped by "
            f"{carving.stop_reason}). Carve again without limits."
        )
