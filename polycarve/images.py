"""Regions as they look in the space after a layer, and how large they are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from polycarve.carving import Carving
from polycarve.errors import GeometryError, InputError
from polycarve.networks import Layer, codes
from polycarve.networks.evaluation import exact_values
from polycarve.networks.maps import affine_maps
from polycarve.rational import ExactArray, rank, stack

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.uint8]


class LayerImages(NamedTuple):
    """The images of regions under the first layers: what points and rays span together.

    Attributes
    ----------
    offsets : (R + 1,) int64
        Image i has the rows ``offsets[i] .. offsets[i + 1] - 1`` of `points`.
    points : (V, n_l) float64
        The images of vertices, which need not be vertices of the image.
    is_ray : (V,) bool
        Whether a row is a direction in which the image goes on for ever.
    rank : (R,) int64
        The affine dimension of each image, decided exactly.
    """

    offsets: IntArray
    points: FloatArray
    is_ray: npt.NDArray[np.bool_]
    rank: IntArray


def layer_images(carving: Carving, layer: int) -> LayerImages:
    """Return the images, in the space after a layer, of the regions of ``at_layer(layer)``.

    Parameters
    ----------
    carving : Carving
    layer : int
        From 0 (the inputs) to the number of layers carved.

    Raises
    ------
    GeometryError
        The cells are not to be had (see `Carving.cells`), or a region contains a whole line, and
        so has no vertices.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 2]]], relu_last=True)
    >>> images = layer_images(pc.carve(net, pc.Space(2)), 1)
    >>> images.rank.tolist()                       # a point, two half-lines, a quadrant
    [0, 1, 1, 2]
    """
    coarse = carving.at_layer(layer)
    cells = coarse.cells()
    counts = np.diff(cells.vertex_offsets)
    if not counts.all():
        raise GeometryError(
            f"region {int(np.argmin(counts))} after layer {layer} contains a whole line, so no "
            f"vertices span it. Carve a Box."
        )
    maps, ranks = _maps(coarse)
    owner = np.repeat(np.arange(len(coarse)), counts)
    constant = np.where(cells.is_ray, 0.0, 1.0)  # a direction is not moved
    rows = np.concatenate([cells.vertices, constant[:, None]], axis=1)
    points = np.einsum("vnd,vd->vn", maps[owner], rows)
    return LayerImages(cells.vertex_offsets, points, cells.is_ray, ranks)


def _maps(carving: Carving) -> tuple[FloatArray, IntArray]:
    """Return the affine maps of all regions into the space after the last layer carved.

    Shape ``(R, n_l, dim + 1)``, over the domain's coordinates, with the rank of each on the domain.
    """
    network, domain = carving.network.along(carving.domain.embedding), carving.domain
    free, d = domain.free, domain.dim
    if not carving.n_layers:  # the inputs themselves: the directions of a slice are independent
        one = np.eye(d, d + 1)
        if domain.embedding is not None:
            matrix, offset = domain.embedding
            one = np.concatenate([matrix.float64, offset.float64[:, None]], axis=1)
        return np.repeat(one[None], len(carving), axis=0), np.full(len(carving), len(free))
    layers: tuple[Layer, ...] = network.layers[: network.hidden[carving.n_layers - 1] + 1]
    maps = affine_maps(layers, d, carving.patterns)
    ranks = np.empty(len(carving), np.int64)
    for k, (M, size) in enumerate(zip(maps.M, maps.size, strict=True)):
        values = np.linalg.svd(M[:, free], compute_uv=False)
        error = 2 * maps.unit * np.linalg.norm(size[:, free])
        certain, most = int((values > error).sum()), int((size[:, free] != 0).any(axis=1).sum())
        ranks[k] = certain
        if certain < min(most, len(free)):  # between what is certain and what is possible
            ranks[k] = _exact_rank(layers, d, free, carving.patterns[k])
    return maps.M, ranks


def _exact_rank(layers: tuple[Layer, ...], dim: int, free: IntArray, bits: BitArray) -> int:
    matrix: ExactArray = exact_values(layers, dim, bits)[0][-1][0]
    return rank(stack([matrix[:, j][:, None] for j in free.tolist()], axis=1))


# ---------------------------------------------------------------------- sizes


@dataclass(frozen=True, eq=False)
class ImageVolumes:
    """The regions that one layer makes, measured among the inputs and in its own input space.

    A region before the layer, its *parent*, is cut by the layer's hyperplanes; so is the image of
    the parent in the space that the layer sees.

    Attributes
    ----------
    layer : int
    carving : Carving
        The regions after the layer, in whose order the columns are.
    parent : (R,) int64
        The region of ``at_layer(layer - 1)`` that each was cut from.
    rank : (R,) int64
        The dimension of the parent's image, and of each part of it.
    volume : (R,) float64
        Of the region, in the domain's coordinates.
    image_volume : (R,) float64
        Of its image in the space that the layer sees, in so many dimensions as `rank` says: a
        length if 1; if 0, the image is a point and counts 1.
    """

    layer: int
    carving: Carving
    parent: IntArray
    rank: IntArray
    volume: FloatArray
    image_volume: FloatArray

    @property
    def share(self) -> FloatArray:
        """The part of its parent's volume that each region has."""
        return self._part(self.volume)

    @property
    def image_share(self) -> FloatArray:
        """The part of the parent's image that the region's image has."""
        whole = self._part(self.image_volume)
        return np.where(self.rank == 0, 1.0, whole)

    def _part(self, volume: FloatArray) -> FloatArray:
        return np.asarray(volume / np.bincount(self.parent, weights=volume)[self.parent])

    def by_pattern(self) -> dict[str, tuple[float, float]]:
        """Return what share of all inputs, and of the layer's space, each pattern of it has.

        In the layer's space, images of the largest dimension are counted, each as often as it is
        covered; those of lower dimension have no volume there, however many inputs they stand for.
        """
        start = sum(self.carving.widths[: self.layer - 1])
        width = self.carving.widths[self.layer - 1]
        bits = self.carving.patterns[:, start : start + width]
        patterns, which = np.unique(bits, axis=0, return_inverse=True)
        which = which.reshape(-1)
        solid = np.where(self.rank == self.rank.max(), self.image_volume, 0.0)
        inputs, images = (np.bincount(which, weights=v) for v in (self.volume, solid))
        return {
            codes.code_of(pattern, (width,)): (float(a), float(b))
            for pattern, a, b in zip(
                patterns, inputs / inputs.sum(), images / images.sum(), strict=True
            )
        }

    def __repr__(self) -> str:
        kept = int((self.rank == self.carving.domain.rank).sum())
        return (
            f"ImageVolumes({len(self.volume)} regions of layer {self.layer}, "
            f"{kept} of them with all dimensions kept)"
        )


def image_volumes(carving: Carving, layer: int) -> ImageVolumes:
    """Return the volumes of one layer's regions among the inputs and in the space it sees.

    A layer cuts the image of each region before it as its hyperplanes lie there; what maps into
    the parts are the regions after it. Where the map before the layer loses no dimension
    (``rank`` is the domain's), it stretches all parts of a region alike, and every part has the
    same share of its parent in both places, exactly. Where dimensions are lost, different amounts
    of input lie over each point of the image, and shares differ.

    Parameters
    ----------
    carving : Carving
        Complete, on a bounded domain.
    layer : int
        From 1, whose space is that of the inputs, to the number of layers carved.

    Returns
    -------
    ImageVolumes

    Raises
    ------
    InputError
        The carving is incomplete, the domain is unbounded, or there is no such layer.

    Notes
    -----
    Volumes in floating point; ranks are decided exactly. Images of lower dimension by Qhull.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> found = pc.image_volumes(pc.carve(examples.fig19(), pc.Box.cube(-4, 6, dim=2)), 2)
    >>> found.rank.tolist()                        # the parents: a point, two lines, a quadrant
    [0, 1, 1, 1, 1, 1, 2, 2, 2, 2]
    >>> bool(abs(found.share - found.image_share)[6:].max() < 1e-12)
    True
    """
    if not isinstance(carving, Carving):
        raise InputError(f"a {type(carving).__name__} was given; a Carving is needed: carve first.")
    if not carving.complete:
        raise InputError(
            f"shares of volumes need all regions, and this carving is incomplete (stopped by "
            f"{carving.stop_reason}). Carve again without limits."
        )
    if not carving.domain.is_bounded:
        raise InputError(
            f"{carving.domain!r} is unbounded, so shares of it mean nothing. Use a Box."
        )
    is_whole = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
    if not is_whole or not 1 <= layer <= carving.n_layers:
        raise InputError(
            f"layer is {layer!r}; a whole number from 1 to {carving.n_layers} is needed."
        )
    before, after = carving.at_layer(layer - 1), carving.at_layer(layer)
    bits = after.patterns[:, : sum(before.widths)]
    parent = before.find(np.packbits(bits, axis=1)) if bits.shape[1] else np.zeros(len(after), int)
    maps, ranks = _maps(before)
    volume = after.volumes()
    offsets, corners = after.vertices()
    free = carving.domain.free
    found = np.empty(len(after))
    for k, own in enumerate(parent.tolist()):
        matrix = maps[own][:, free]
        if ranks[own] == len(free):
            found[k] = volume[k] * np.prod(np.linalg.svd(matrix, compute_uv=False))
        else:
            found[k] = _flat_volume(
                corners[offsets[k] : offsets[k + 1]][:, free], matrix, ranks[own]
            )
    return ImageVolumes(int(layer), after, parent, ranks[parent], volume, found)


def _flat_volume(corners: FloatArray, matrix: FloatArray, dim: int) -> float:
    """Return the volume of an image of lower dimension, in that many dimensions."""
    if dim == 0:
        return 1.0
    along = np.linalg.svd(matrix)[0][:, :dim]
    image = (corners - corners.mean(axis=0)) @ matrix.T @ along
    if dim == 1:
        return float(np.ptp(image))
    extent = np.ptp(image, axis=0)
    try:
        return float(ConvexHull(image / extent, qhull_options="Qt").volume * np.prod(extent))
    except QhullError as error:
        raise GeometryError(
            f"Qhull cannot measure an image this thin: {str(error).splitlines()[0]}"
        ) from None
