"""How the affine map changes across facets: by a matrix of rank one, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.adjacency import Adjacency
from polycarve.carving import Carving
from polycarve.networks import Layer, maps
from polycarve.networks.evaluation import exact_values

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]

# Entries of the maps that are held at a time.
_MOST_ENTRIES = 1 << 24


class Jump(NamedTuple):
    """The affine maps on both sides of some facets.

    Attributes
    ----------
    facets : (n,) int64
        Rows of the adjacency.
    here, there : (n, n_outputs, d + 1) float64
        ``[W, c]`` of the region and of the one behind, over the domain's coordinates.
    size : (n, n_outputs, d + 1) float64
        The larger of the two maps' sums with all terms positive.
    unit : float
        Entries of either map are off by at most ``unit * size``.
    """

    facets: IntArray
    here: FloatArray
    there: FloatArray
    size: FloatArray
    unit: float


def carved_layers(carving: Carving) -> tuple[Layer, ...]:
    """Return the layers whose composition is affine on the regions, as functions of the domain."""
    network = carving.network.along(carving.domain.embedding)
    if carving.n_layers == len(network.hidden):
        return network.layers
    return network.layers[: network.hidden[carving.n_layers - 1] + 1] if carving.n_layers else ()


def iter_jumps(adjacency: Adjacency, facets: IntArray) -> Iterator[Jump]:
    """Iterate over the maps on both sides of facets between regions, in pieces of bounded size."""
    carving = adjacency.carving
    layers, dim = carved_layers(carving), carving.domain.dim
    if not layers or not len(facets):
        return
    room = max(1, _MOST_ENTRIES // (layers[-1].n_units * (dim + 1)))
    step = len(facets) if len(carving) <= room else max(1, room // 2)
    for start in range(0, len(facets), step):
        part = facets[start : start + step]
        ends = np.stack([adjacency.region[part], adjacency.neighbor[part]])
        regions, place = np.unique(ends, return_inverse=True)
        found = maps.affine_maps(layers, dim, _patterns(carving, regions))
        here, there = place.reshape(2, -1)
        for at in range(0, len(part), room):
            i, j = here[at : at + room], there[at : at + room]
            size = np.maximum(found.size[i], found.size[j])
            yield Jump(part[at : at + room], found.M[i], found.M[j], size, found.unit)


def jump_ranks(adjacency: Adjacency, facets: IntArray) -> npt.NDArray[np.int8]:
    """Return the rank of the change of the linear part across facets between regions: 0 or 1.

    Two affine maps that agree on a hyperplane differ by a matrix of rank at most one, so what is
    to be decided is whether they differ: by float64 where its error bound allows, else by the
    paths through the network that lead from what changes to the outputs, else exactly.
    """
    carving = adjacency.carving
    layers, dim, free = carved_layers(carving), carving.domain.dim, carving.domain.free
    ranks = [np.zeros(0, np.int8)]
    exact = lru_cache(1024)(lambda row: exact_values(layers, dim, carving[row].pattern)[0][-1][0])
    for jump in iter_jumps(adjacency, facets):
        change = np.abs(jump.here - jump.there)[..., free]
        differs = (change > 2 * jump.unit * jump.size[..., free]).any(axis=(1, 2))
        rank = np.asarray(differs, dtype=np.int8)
        unsure = np.flatnonzero(rank == 0)
        i, j = adjacency.region[jump.facets[unsure]], adjacency.neighbor[jump.facets[unsure]]
        for at in range(0, len(unsure), 4096):
            part = slice(at, at + 4096)
            pair = _patterns(carving, i[part]), _patterns(carving, j[part])
            for k in at + np.flatnonzero(~maps.same_maps(layers, dim, *pair)):
                difference = exact(int(i[k])) - exact(int(j[k]))
                rank[unsure[k]] = int((difference.numerators[:, free] != 0).any())
        ranks.append(rank)
    return np.concatenate(ranks)


def _patterns(carving: Carving, regions: IntArray) -> BitArray:
    return np.unpackbits(carving.packed[regions], axis=1, count=int(sum(carving.widths)))
