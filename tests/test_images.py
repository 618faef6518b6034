"""Images of regions in the spaces between layers, and their volumes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import polycarve as pc
from polycarve.errors import GeometryError, InputError
from polycarve.images import layer_images
from polycarve.networks import examples
from tests import cases

SQUARE = pc.Box.cube(-4, 6, dim=2)


def deep(*widths: int, seed: int = 0) -> pc.Network:
    """A network of small integers, which lose dimensions often."""
    rng = np.random.default_rng(seed)
    weights = [rng.integers(-2, 3, size=(n, m)) for m, n in pairwise(widths)]
    biases = [rng.integers(-2, 3, size=n) for n in widths[1:]]
    return pc.Network.from_arrays(weights, biases, relu_last=True)


@pytest.mark.parametrize("layer", [0, 1, 2, 3])
def test_images_are_those_of_regions_one_by_one(layer: int) -> None:
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    images, coarse = layer_images(carving, layer), carving.at_layer(layer)
    assert not images.is_ray.any()
    for k, region in enumerate(coarse):
        rows = images.points[images.offsets[k] : images.offsets[k + 1]]
        truth = region.image(layer)
        np.testing.assert_allclose(
            rows[np.lexsort(rows.T.round(9))], truth[np.lexsort(truth.T.round(9))], atol=1e-9
        )
        assert images.rank[k] == np.linalg.matrix_rank(truth - truth[0], tol=1e-9)


def test_rays_are_directions() -> None:
    carving = pc.carve(examples.fig19(), pc.Space(2))
    images, cells = layer_images(carving, 2), carving.at_layer(2).cells()
    assert images.rank.tolist() == [0, 0, 1, 1, 1, 1, 0, 1, 1, 2]
    network = examples.fig19()[:2]
    for k in range(10):
        rows = slice(cells.vertex_offsets[k], cells.vertex_offsets[k + 1])
        ends, rays = cells.vertices[rows][~cells.is_ray[rows]], cells.is_ray[rows]
        moved = images.points[rows][rays]
        for step, image in zip(cells.vertices[rows][rays], moved, strict=True):
            along = network(ends + step) - network(ends)
            np.testing.assert_allclose(along, np.tile(image, (len(ends), 1)), atol=1e-9)
    lines = pc.carve(pc.Network.from_arrays([[[1, 1]]], relu_last=True), pc.Space(2))
    with pytest.raises(GeometryError, match="contains a whole line"):
        layer_images(lines, 1)


def test_shares_agree_where_no_dimension_is_lost() -> None:
    lost = 0
    for network, domain in (
        (examples.fig19(), SQUARE),
        (examples.moons(), pc.Box.cube(-3, 3, dim=2)),
        (deep(2, 3, 3, 3), pc.Box.cube(-2, 2, dim=2)),
        (deep(3, 4, 4, seed=2), pc.Box.cube(-2, 2, dim=3)),
        (deep(3, 4, 4, seed=2), pc.Slice([0, 0, 1], [[1, 0, 1], [0, 2, 0]], domain=[(-2, 2)] * 2)),
        (deep(3, 4, 4, seed=2), pc.Box([-2, 1, -2], [2, 1, 2])),
    ):
        carving = pc.carve(network, domain)
        for layer in range(1, carving.n_layers + 1):
            found = pc.image_volumes(carving, layer)
            assert len(found.volume) == carving.layer_counts[layer - 1]
            np.testing.assert_allclose(found.volume.sum(), carving.volumes().sum())
            full = found.rank == carving.domain.rank
            np.testing.assert_allclose(found.share[full], found.image_share[full], atol=1e-9)
            for share in (found.share, found.image_share):
                total = np.bincount(found.parent, weights=np.where(found.rank > 0, share, 0))
                parents = np.unique(found.parent[found.rank > 0])
                np.testing.assert_allclose(total[parents], 1.0)
            lost += int((np.abs(found.share - found.image_share) > 0.01).sum())
            for row, region in enumerate(found.carving):
                prefix = "|".join(region.code.split("|")[:-1])
                assert carving.at_layer(layer - 1)[found.parent[row]].code == prefix
    assert lost > 10  # and elsewhere they do not


def test_image_volumes_are_those_of_the_images() -> None:
    carving = pc.carve(examples.fig19(), SQUARE)
    for layer in (2, 3):
        found = pc.image_volumes(carving, layer)
        for row, region in enumerate(found.carving):
            image = region.image(layer - 1)
            rank = np.linalg.matrix_rank(image - image[0], tol=1e-9)
            assert rank == found.rank[row]
            truth = {
                0: lambda points: 1.0,
                1: lambda points: max(np.linalg.norm(a - b) for a in points for b in points),
                2: lambda points: ConvexHull(points).volume,
            }[int(rank)](image)
            assert found.image_volume[row] == pytest.approx(truth, rel=1e-9)


def test_volumes_of_what_one_layer_tells_apart() -> None:
    carving = pc.carve(examples.fig19(), SQUARE)
    found = pc.image_volumes(carving, 2)
    shares = found.by_pattern()
    assert set(shares) == {"ii", "ia", "ai", "aa"}
    for column in (0, 1):
        assert sum(pair[column] for pair in shares.values()) == pytest.approx(1.0)
    codes = [region.code.split("|")[1] for region in found.carving]
    inside = sum(v for v, code in zip(found.volume, codes, strict=True) if code == "ai")
    assert shares["ai"][0] == pytest.approx(inside / 100)
    assert repr(found) == "ImageVolumes(10 regions of layer 2, 4 of them with all dimensions kept)"


def test_ranks_are_decided_exactly() -> None:
    """Rows that are proportional up to the last bit, and rows that only nearly are."""
    third = [[1, "0.3"], [3, "0.9"]]  # no floats: rank one
    near = [[1.0, 0.3], [3.0, 0.9]]  # 3 * 0.3 is not the float 0.9: rank two
    ranks = []
    for weights in (third, near):
        network = pc.Network.from_arrays(
            [np.array(weights, dtype=object), [[1, 1]]], [[9, 9], [-20]], relu_last=True
        )
        found = pc.image_volumes(pc.carve(network, pc.Box.cube(-1, 1, dim=2)), 2)
        ranks.append(found.rank.tolist())
    assert ranks == [[1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("given", "layer", "message"),
    [
        ({"domain": pc.Space(2)}, 1, "unbounded"),
        ({"limits": pc.Limits(max_regions=3)}, 1, "incomplete"),
        ({}, 0, "layer is 0"),
        ({}, 4, "layer is 4"),
        ({}, "two", "layer is 'two'"),
    ],
)
def test_refusals(given: dict[str, Any], layer: Any, message: str) -> None:
    domain = given.pop("domain", SQUARE)
    with pytest.raises(InputError, match=message):
        pc.image_volumes(pc.carve(examples.fig19(), domain, **given), layer)


def test_digits_between_layers() -> None:
    X = np.load(cases.DATA / "networks" / "digits_slice.npz")["X"]
    network = pc.Network.from_npz(cases.DATA / "networks" / "digits.npz")
    place = pc.Slice(X[0], [X[1] - X[0], X[2] - X[0]], domain=pc.Box.cube(-1, 2, dim=2))
    found = pc.image_volumes(pc.carve(network, place), 3)
    assert (found.rank == 2).all()
    np.testing.assert_allclose(found.share, found.image_share, atol=1e-9)
