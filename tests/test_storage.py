"""Carvings that leave the process: files, frames, look-up of points."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import polycarve as pc
from polycarve import storage
from polycarve.networks import Activation, Layer, Network, examples
from polycarve.patterns import PatternTable
from polycarve.rational import ExactArray
from tests import cases

THIRDS = Network.from_arrays([[["1/3", "0.1"], [1, "2/7"]], [[1, -1]]], [[0, "1/9"], ["0.3"]])
HARD_TANH = Network(
    [
        Layer(
            ExactArray.of([[1], [2]]),
            ExactArray.of([0, 1]),
            Activation(
                "hardtanh",
                (Fraction(-1), Fraction(1)),
                (Fraction(1), Fraction(-1)),
                offset=Fraction(-1),
            ),
            (0,),
        )
    ],
    1,
)
CARVINGS = {
    "box": (examples.moons(), pc.Box.cube(-3, 3, dim=2), None),
    "space": (examples.moons(), pc.Space(2), None),
    "rational": (THIRDS, pc.Box(["-1/3", "0.1"], ["1/7", 1]), None),
    "flat": (examples.fig19(), pc.Box([0, "0.7"], [5, "0.7"]), None),
    "one point": (examples.fig19(), pc.Box([0, 1], [0, 1]), None),
    "polytope": (
        examples.moons(),
        pc.Polytope([[1, "1/3"], [-1, 0], [0, -1]], ["0.7", 1, 2]),
        None,
    ),
    "unbounded polytope": (examples.moons(), pc.Polytope([[1, "1/3"]], ["0.7"]), None),
    "segment": (examples.moons(), pc.Segment(["0.1", -3], [1, 3]), None),
    "slice": (
        THIRDS,
        pc.Slice(["0.1", 0], [[1, "1/3"]], domain=pc.Polytope([[1], [-1]], [1, "0.3"])),
        None,
    ),
    "partial": (examples.moons(), pc.Space(2), pc.Limits(max_regions=7)),
    "two cuts a unit": (HARD_TANH, pc.Space(1), None),
    "no hidden layer": (Network.from_arrays([[[1, 2]]]), pc.Space(2), None),
}


@pytest.mark.parametrize("name", CARVINGS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    net, domain, limits = CARVINGS[name]
    carving = pc.carve(net, domain, limits=limits)
    carving.save(tmp_path / "carving.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["carving.npz"]
    back = pc.load(tmp_path / "carving.npz")
    for column in ("packed", "points", "point_is_interior"):
        assert np.array_equal(getattr(back, column), getattr(carving, column))
    for fact in ("stop_reason", "complete", "n_doubtful", "method", "layer_counts", "n_layers"):
        assert getattr(back, fact) == getattr(carving, fact)
    assert back.network.digest == net.digest
    assert back.domain.digest == domain.digest
    assert [region.code for region in back] == [region.code for region in carving]
    assert back[0].affine_map()[0].tolist() == carving[0].affine_map()[0].tolist()
    back.save(tmp_path / "again.npz")
    assert pc.load(tmp_path / "again.npz")[0].code == carving[0].code


def test_coarse_carvings_stay_coarse(tmp_path: Path) -> None:
    carving = pc.carve(examples.moons(), pc.Space(2)).at_layer(2)
    carving.save(tmp_path / "coarse.npz")
    back = pc.load(tmp_path / "coarse.npz")
    assert back.layer_counts == carving.layer_counts
    with pytest.raises(pc.PolycarveError, match="stops after layer 2"):
        back[0].affine_map()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "moons.npz"
    pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2)).save(path)
    return path


def changed(path: Path, **arrays: np.ndarray) -> None:
    with np.load(path) as file:
        held = dict(file.items())
    np.savez(path, **(held | arrays))


def about(path: Path, **facts: object) -> np.ndarray:
    with np.load(path) as file:
        held = json.loads(bytes(file["about"]))
    return np.frombuffer(json.dumps(held | facts).encode(), np.uint8)


def test_damage_is_one_clear_error(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    with pytest.raises(pc.PolycarveError, match="no such file"):
        pc.load(tmp_path / "absent.npz")
    for part in (0, 10, len(whole) // 2, len(whole) - 30):
        saved.write_bytes(whole[:part])
        with pytest.raises(pc.PolycarveError, match="damaged"):
            pc.load(saved)
    saved.write_bytes(whole)
    with np.load(saved) as file:
        points = file["points"].copy()
    points[3, 0] += 1
    changed(saved, points=points)
    with pytest.raises(pc.PolycarveError, match="do not match their SHA-256"):
        pc.load(saved)
    saved.write_bytes(whole)
    changed(saved, about=about(saved, sha256="0" * 64))
    with pytest.raises(pc.PolycarveError, match="do not match their SHA-256"):
        pc.load(saved)
    saved.write_bytes(whole)
    changed(saved, about=about(saved, n_doubtful=5))
    with pytest.raises(pc.PolycarveError, match="do not match their SHA-256"):
        pc.load(saved)


def test_a_newer_schema_is_refused(saved: Path) -> None:
    changed(saved, about=about(saved, schema=storage.SCHEMA + 1))
    with pytest.raises(pc.PolycarveError, match=r"schema 2.*Update"):
        pc.load(saved)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, W0=np.eye(2))
    for other in (path, cases.DATA / "groundtruth.json", tmp_path):
        with pytest.raises(pc.PolycarveError, match="not a saved carving"):
            pc.load(other)


def test_pickles_are_not_loaded(saved: Path) -> None:
    changed(saved, points=np.array([object()], dtype=object))
    with pytest.raises(pc.PolycarveError, match="damaged"):
        pc.load(saved)


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    def fails(file: object) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "carving.npz"
    target.write_bytes(b"old")
    with pytest.raises(pc.PolycarveError, match="No space left"):
        storage.write_aside(target, fails)
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(pc.PolycarveError, match="cannot be written"):
        pc.carve(examples.fig19(), pc.Space(2)).save(tmp_path / "no" / "folder.npz")


# ---------------------------------------------------------------------- look-up


@pytest.mark.parametrize("name", ["moons", "rand_2-128-128", "rand_5-16-16"])
def test_locate_follows_the_pattern(name: str) -> None:
    case = cases.spec()[name]
    carving = pc.carve(case.network, case.box)
    lo, hi = case.box.lo.float64, case.box.hi.float64
    X = np.random.default_rng(0).uniform(lo, hi, (5000, case.dim))
    rows = carving.locate(X)
    assert np.array_equal(carving.patterns[rows], case.network.patterns(X))
    assert np.array_equal(carving.locate(carving.points), np.arange(len(carving)))
    assert (carving.locate(X + (hi - lo)) == -1).all()
    assert carving.locate(np.zeros((0, case.dim))).shape == (0,)
    assert carving.locate(carving.points[5]) == 5


def test_locate_on_boundaries_is_exact() -> None:
    """0.1 x = 0.3 y holds at decimals only; for the floats nearby, the exact sign decides."""
    net = Network.from_arrays([[["0.1", "-0.3"]]], relu_last=True)
    carving = pc.carve(net, pc.Box.cube(0, 1, dim=2))
    x, y = 0.75, 0.25
    near = [[x, y], [np.nextafter(x, 1), y], [x, np.nextafter(y, 1)], [x, np.nextafter(y, 0)]]
    assert carving.locate(near).tolist() == [0, 1, 0, 1]
    # A pattern that only a boundary has belongs to no region.
    both = Network.from_arrays([[[1, 0], [-1, 0]]], relu_last=True)
    assert pc.carve(both, pc.Space(2)).locate([[0, 1], [1, 1]]).tolist() == [-1, 1]


def test_locate_in_partial_and_coarse_carvings() -> None:
    case = cases.spec()["moons"]
    whole = pc.carve(case.network, case.box)
    part = pc.carve(case.network, case.box, limits=pc.Limits(max_regions=20))
    want = np.where(np.arange(66) < 20, np.arange(66), -1)
    assert np.array_equal(part.locate(whole.points), want)
    coarse = whole.at_layer(1)
    codes = [coarse[int(row)].code for row in coarse.locate(whole.points)]
    assert codes == [region.code[:5] for region in whole]


def test_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (300, 20), dtype=np.uint8)
    monkeypatch.setattr("polycarve.patterns._hashes", lambda words: words[:, 0] & np.uint64(3))
    table = PatternTable(rows)
    assert table.longest_run > 50
    assert np.array_equal(table.find(rows), np.arange(300))
    assert table.find(rows[:1] ^ 1).tolist() == [-1]


def test_to_frame() -> None:
    pd = pytest.importorskip("pandas")
    carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    frame = carving.to_frame("volume", "facets", "radius")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [
        *("code", "layer1", "layer2", "layer3", "active", "x1", "x2", "bounded"),
        *("volume", "facets", "radius"),
    ]
    assert frame.code.tolist() == [region.code for region in carving]
    assert (frame.layer1 + "|" + frame.layer2 + "|" + frame.layer3 == frame.code).all()
    assert frame.active.tolist() == [int(region.pattern.sum()) for region in carving]
    assert frame.volume.sum() == pytest.approx(36)
    assert frame.bounded.all()
    assert "volume" not in carving.to_frame().columns
    with pytest.raises(pc.PolycarveError, match="no column 'colour'"):
        carving.to_frame("colour")
    empty = pc.carve(Network.from_arrays([[[1, 2]]]), pc.Space(2)).to_frame()
    assert empty.code.tolist() == [""]


def resigned(path: Path, facts: dict[str, object], **arrays: np.ndarray) -> None:
    """Change a file as somebody would who knows how it is signed."""
    with np.load(path) as file:
        held = dict(file.items()) | arrays
    about = json.loads(bytes(held.pop("about"))) | facts
    about["sha256"] = storage._digest(about, held)
    np.savez(path, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **held)


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        *(({"n_layers": n}, {}) for n in (1, 99, -1, "a", True)),
        *(({"stop_reason": why}, {}) for why in ("bored", [1])),
        *(({"n_doubtful": n}, {}) for n in (-3, "x")),
        ({"domain": {"kind": "space", "dim": 3}}, {}),
        ({"domain": {"kind": "moon"}}, {}),
        ({}, {"packed": np.zeros((66, 1), np.uint8)}),
        ({}, {"packed": np.zeros((66, 2), np.uint8)}),
        ({}, {"packed": np.zeros((66, 2))}),
        ({}, {"points": np.zeros((66, 3))}),
        ({}, {"points": np.zeros((60, 2))}),
        ({}, {"points": np.zeros((66, 2), np.float32)}),
        ({}, {"point_is_interior": np.zeros(66, np.int64)}),
        ({}, {"point_is_interior": np.zeros(5, np.bool_)}),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(
    saved: Path, facts: dict[str, object], arrays: dict[str, np.ndarray]
) -> None:
    resigned(saved, facts, **arrays)
    with pytest.raises(pc.PolycarveError, match="is damaged"):
        pc.load(saved)


def test_shuffled_patterns_are_refused(saved: Path) -> None:
    with np.load(saved) as file:
        packed = file["packed"]
    resigned(saved, {}, packed=packed[::-1].copy())
    with pytest.raises(pc.PolycarveError, match="order of its patterns"):
        pc.load(saved)


def test_flipped_bits_are_one_clear_error(saved: Path) -> None:
    whole = bytearray(saved.read_bytes())
    want = [region.code for region in pc.load(saved)]
    for at in np.random.default_rng(0).integers(0, len(whole), 300):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << (at % 8)
        saved.write_bytes(damaged)
        try:
            back = pc.load(saved)
        except pc.PolycarveError:
            continue
        assert [region.code for region in back] == want  # a byte that carries nothing


def test_only_regular_files_are_written(tmp_path: Path) -> None:
    carving = pc.carve(examples.fig19(), pc.Space(2))
    target, link = tmp_path / "target.npz", tmp_path / "link.npz"
    target.write_bytes(b"")
    link.symlink_to(target)
    carving.save(link)
    assert link.is_symlink()
    assert len(pc.load(target)) == 17
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(pc.PolycarveError, match="not a regular file"):
            carving.save(path)
    with pytest.raises(pc.PolycarveError, match="a path is needed"):
        carving.save(None)
