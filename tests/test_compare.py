"""`pc.compare` and ``polycarve compare``: exact, seen, estimated and possible, side by side."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from typing import Any

import jsonschema
import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner, Result

import polycarve as pc
from polycarve.cli import main
from polycarve.comparison import comparing, parts
from polycarve.errors import DomainError, InputError, NetworkError
from polycarve.networks import Activation, Layer, Network, examples
from polycarve.rational import ExactArray
from polycarve.sampling import CountEstimate
from tests import cases
from tests.command_line import schema
from tests.test_sampling_points import thin

MOONS, AROUND = examples.moons(), pc.Box.cube(-3, 3, dim=2)
FILE = str(cases.DATA / "networks" / "moons.npz")
SCHEMA = schema("compare")
SQUARE = pc.Box.cube(-1, 1, dim=2)
SAMPLED = ["chao1", "chao1 bias-corrected", "ace", "jackknife1", "jackknife2"]
PROBED = ["stochastic enumeration", "layer-wise probe", "random lines"]
BASELINES = ["inverse volume", "Knuth's probe"]


@pytest.fixture(scope="module")
def moons() -> pc.Comparison:
    return pc.compare(MOONS, AROUND, rng=0)


def large() -> tuple[Network, pc.Box]:
    """10-64-64-64 in a large box: far too many regions to list, in the first layer alone."""
    rng = np.random.default_rng(0)
    sizes = [(64, 10), (64, 64), (64, 64)]
    weights = [rng.normal(size=size) * math.sqrt(2 / size[1]) for size in sizes]
    biases = [rng.normal(size=64) * 0.1 for _ in sizes]
    return Network.from_arrays(weights, biases, relu_last=True), pc.Box.cube(-10, 10, dim=10)


@cache
def wide() -> pc.Comparison:
    """Bounds beyond any float: 2^2000."""
    network = Network.from_arrays([np.ones((2000, 2))], relu_last=True)
    return pc.compare(network, SQUARE, n=10, grid=3, rng=0, n_probes=10)


# ---------------------------------------------------------------------- the numbers


def test_moons(moons: pc.Comparison) -> None:
    assert moons.complete
    assert (moons.regions, moons.layer_counts) == (66, (13, 43, 66))
    points, grid = moons.samples
    assert (points.kind, points.n, grid.kind, grid.n) == ("uniform", 100_000, "grid", 10_000)
    assert len(grid) == 58
    names = [one.name for one in moons.estimates]
    assert names == SAMPLED + PROBED + BASELINES
    assert moons.missing == ()
    for name, value in {"serra": 4096, "naive": 4096, "trivial": 2**15, "shallow": 121}.items():
        row = moons.bound(name)
        assert row is not None
        assert row.value == value
    assert moons.bounds[:-1] == tuple(pc.bounds.all_bounds(2, [5, 5, 5]))


def test_coverage(moons: pc.Comparison) -> None:
    """Shares of regions and volume by what each point's region is."""
    carving = pc.carve(MOONS, AROUND)
    volumes = carving.volumes()
    ticks = np.linspace(-3, 3, 100)
    X = np.array(np.meshgrid(ticks, ticks)).reshape(2, -1).T
    met = np.unique(carving.locate(X))
    grid = moons.coverages[1]
    assert grid is not None
    assert grid.regions == 58 / 66
    assert grid.volume == pytest.approx(volumes[met].sum() / 36)
    assert grid.n_unlisted == 0
    seen = moons.coverages[0]
    assert seen is not None
    assert seen.regions == len(moons.samples[0]) / 66
    assert grid.volume < seen.volume <= 1


def test_patterns_that_a_list_lacks_are_counted() -> None:
    """A list without one of the regions that it should have."""
    carving = pc.carve(MOONS, AROUND)
    found = pc.sample(MOONS, AROUND, grid=100)
    lost = int(carving.find(found.packed)[0])
    kept = np.delete(np.arange(66), lost)
    short = pc.Carving(
        MOONS,
        AROUND,
        carving.packed[kept],
        carving.points[kept],
        carving.point_is_interior[kept],
        n_layers=3,
    )
    volumes = carving.volumes()[kept]
    covered = parts.coverage(found, short, volumes)
    assert covered is not None
    assert (covered.regions, covered.n_unlisted) == (57 / 65, 1)
    rest = np.delete(found.packed, 0, axis=0)
    assert covered.volume == pytest.approx(volumes[short.find(rest)].sum() / volumes.sum())


def test_estimates_are_those_of_the_sample(moons: pc.Comparison) -> None:
    alone = pc.sample(MOONS, AROUND, 100_000, rng=0)
    for one in alone.estimates[1:]:
        assert moons.estimate(one.name) == one
    enumeration = moons.estimate("stochastic enumeration")
    assert enumeration is not None
    assert (enumeration.value, enumeration.standard_error) == (66, 0)
    for name in ("layer-wise probe", "random lines"):
        one = moons.estimate(name)
        assert one is not None
        assert one.standard_error is not None
        assert abs(one.value - 66) <= 4 * one.standard_error
    for name in BASELINES:
        one = moons.estimate(name)
        assert one is not None
        assert (one.is_baseline, one.standard_error, one.interval) == (True, None, None)
    assert moons.estimate("nonsense") is None
    assert moons.bound("nonsense") is None


def test_same_seed_same_comparison(moons: pc.Comparison) -> None:
    assert pc.compare(MOONS, AROUND, rng=0).to_dict() == moons.to_dict()
    generator = np.random.default_rng(0)
    assert pc.compare(MOONS, AROUND, rng=generator).to_dict() == moons.to_dict()
    assert pc.compare(MOONS, AROUND, rng=1).to_dict() != moons.to_dict()


@pytest.mark.parametrize("most", [1, 20, 65, 66])
def test_stopped_carvings_say_at_least(most: int) -> None:
    found = pc.compare(MOONS, AROUND, n=50, grid=3, rng=0, limits=pc.Limits(max_regions=most))
    carving = found.carving
    assert carving is not None
    if most == 66:
        assert found.complete
        assert found.this_network[0].kind == "exact"
        return
    assert (found.complete, found.stop_reason, len(carving)) == (False, "regions", most)
    assert found.coverages == (None, None)
    seen = max(len(sample) for sample in found.samples)
    assert found.regions == max(most, seen) <= 66
    assert all(few <= many for few, many in zip(found.layer_counts, (13, 43, 66), strict=True))
    first = found.this_network[0]
    assert (first.kind, first.number) == ("at least", str(found.regions))
    assert "stopped by regions" in first.note
    assert ("points saw more" in first.note) == (seen > most)
    for one in found.estimates:
        if one.interval is not None:
            assert one.interval[0] >= found.regions


def test_counts_after_layers_from_points_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "too_large", lambda *_: "Not tried: too large.")
    found = pc.compare(MOONS, AROUND, n=2000, rng=0)
    assert (found.carving, found.stop_reason) == (None, "size")
    patterns = found.samples[0].patterns.tolist() + found.samples[1].patterns.tolist()
    expected = []
    for stop in (5, 10, 15):
        each = [{tuple(row[:stop]) for row in sample.patterns.tolist()} for sample in found.samples]
        expected.append(max(map(len, each)))
    assert found.layer_counts == tuple(expected)
    assert len(patterns) > 0
    assert [name for name, _ in found.missing][:2] == ["carving", "stochastic enumeration"]
    assert found.to_dict()["n_carved"] is None
    assert "not carved" in str(found)


def test_too_large_to_carve() -> None:
    network, box = large()
    limits = pc.Limits(max_regions=2000)
    found = pc.compare(network, box, n=2000, rng=0, limits=limits, n_probes=10)
    assert not found.complete
    assert found.regions >= 2000
    one = found.estimate("stochastic enumeration")
    assert one is not None
    assert one.value > 1e12
    assert "cell" in one.promise
    assert dict(found.missing).keys() == {"layer-wise probe"}
    for bound in found.bounds:
        assert bound.kind != "upper" or bound.value is None or bound.value > one.value
    assert found.coverages == (None,)
    assert "grid" not in [sample.kind for sample in found.samples]


def test_matrices_too_large_for_the_memory() -> None:
    rng = np.random.default_rng(0)
    network = Network.from_arrays([rng.normal(size=(300, 700))], relu_last=True)
    box = pc.Box.cube(-1, 1, dim=700)
    found = pc.compare(network, box, n=100, rng=0)
    assert (found.carving, found.complete, len(found.samples)) == (None, False, 1)
    reasons = dict(found.missing)
    assert "700 coordinates with 300 neurons take 1.2 GB" in reasons["carving"]
    assert "same reason" in reasons["stochastic enumeration"]
    assert found.regions == len(found.samples[0])


def test_no_time_at_all() -> None:
    found = pc.compare(MOONS, AROUND, rng=0, limits=pc.Limits(max_seconds=1e-9))
    assert not found.complete
    assert found.samples[0].n < 100_000
    assert not found.samples[0].is_whole
    assert found.samples[0].n_outside == 0
    assert set(PROBED[:2]) <= dict(found.missing).keys()
    assert "time ran out" in str(found)


def test_fewer_cells_where_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def too_slow(*_: Any, budget: int, **__: Any) -> CountEstimate:
        tried.append(budget)
        if budget > 10:
            raise InputError("no time")
        return CountEstimate("stochastic enumeration", 5.0, 1.0, None, 1, False, "Low.", False)

    monkeypatch.setattr(parts, "stochastic_enumeration", too_slow)
    clock = parts.Clock.of(pc.Limits(max_seconds=100))
    found = parts.enumerated(MOONS, AROUND, None, clock)
    assert (tried, found.promise) == ([100, 10], "1 run of 10 cells. Low.")
    tried.clear()
    parts.enumerated(MOONS, pc.Box.cube(0, 1, dim=2000), None, clock)
    assert tried == [1]  # a cell takes some eight seconds there, and nothing can stop it
    with pytest.raises(InputError, match="no time"):
        parts.enumerated(MOONS, AROUND, None, parts.Clock.of(pc.Limits()))


# ---------------------------------------------------------------------- places and networks


def test_flat_places_count_with_their_own_dimension() -> None:
    network = cases.integers(3, [4, 4], 5)
    plane = pc.Slice([0, 0, 1], [[1, 1, 0], [0, 1, "1/2"]], domain=SQUARE)
    line, point = pc.Segment([-1, -2, 1], [1, 2, 0]), pc.Box([0, 1, 0], [0, 1, 0])
    for domain, rank in ((plane, 2), (line, 1), (point, 0)):
        found = pc.compare(network, domain, n=500, rng=0)
        assert found.regions == pc.count_regions(network, domain)
        assert found.bounds[:-1] == tuple(pc.bounds.all_bounds(rank, [4, 4]))
        assert found.bounds[-1].value == pc.bounds.zaslavsky(rank, 8)
        assert all(c is not None and c.n_unlisted == 0 for c in found.coverages)
        assert f"in dimension {rank}" in str(found)


def test_unbounded_places_cannot_be_sampled() -> None:
    found = pc.compare(MOONS, pc.Space(2), rng=0)
    assert (found.regions, found.samples) == (93, ())
    assert dict(found.missing) == {"random points": "Space(2) is unbounded."}
    assert found.estimate("stochastic enumeration") is not None
    assert found.estimate("random lines") is None


def test_places_too_thin_to_be_sampled_are_compared_all_the_same() -> None:
    rod = thin(10)
    net = cases.integers(10, [4, 3], 1)
    with pytest.raises(DomainError, match="fills too little"):
        pc.sample(net, rod, 10)
    found = pc.compare(net, rod, n=10, rng=0)
    assert found.regions == pc.count_regions(net, rod)
    assert found.samples == ()
    assert "fills too little" in dict(found.missing)["random points"]
    assert found.estimate("stochastic enumeration") is not None


def test_generators_that_cannot_spawn() -> None:
    """Those made of a RandomState have a seed of the old kind."""

    def old() -> np.random.Generator:
        return np.random.Generator(np.random.RandomState(1)._bit_generator)

    one, other = (pc.compare(MOONS, AROUND, n=100, rng=old()) for _ in range(2))
    assert one.to_dict() == other.to_dict()


@pytest.mark.parametrize(
    ("network", "side", "limits"),
    [
        (pc.theory.networks.sharp_folding(1, [3] * 40).network, 1, pc.Limits(max_regions=3)),
        (pc.Network.from_arrays([[[3]]], [[-0.3]], relu_last=True), 0.1, pc.Limits()),
    ],
    ids=["stopped", "complete"],
)
def test_doubtful_decisions_are_in_the_table(
    network: pc.Network, side: float, limits: pc.Limits
) -> None:
    found = pc.compare(network, [(0, side)], n=10, n_probes=2, grid=2, rng=0, limits=limits)
    assert found.carving is not None
    assert found.carving.n_doubtful > 0
    assert "doubtful decisions" in found.this_network[0].note
    assert not any(one.is_unbiased for one in found.estimates if one.n_doubtful)


def test_deep_networks_have_more_regions_than_shallow_ones_of_their_size() -> None:
    known = pc.theory.networks.sharp_folding(1, [3, 3, 3])
    found = pc.compare(known.network, known.box, n=10, rng=0)
    shallow = found.bound("shallow")
    assert shallow is not None
    assert shallow.value == 10 < found.regions == 64
    bounds = [row for row in found.bounds if row.kind in ("upper", "maximum")]
    assert all(row.value is None or row.value >= 64 for row in bounds)


def test_counts_after_many_layers_are_shortened() -> None:
    tent = pc.theory.networks.tent(9)
    text = str(pc.compare(tent.network, [(0, 1)], n=10, rng=0))
    assert "after each layer: 2, 4, 8, ..., 128, 256, 512" in text


def test_no_hidden_layer() -> None:
    found = pc.compare(([[[1, 2]]], None), SQUARE, n=10, rng=0)
    assert (found.regions, found.layer_counts, found.bounds) == (1, (), ())
    assert "what this architecture can" not in str(found)


def exact(values: Any) -> ExactArray:
    return ExactArray.of(np.array(values))


def layer(weight: npt.ArrayLike, law: Activation | None, *inputs: int) -> Layer:
    W = exact(weight)
    return Layer(W, exact([0] * len(W)), law, inputs)


def test_bounds_that_are_about_other_networks_are_not_claimed() -> None:
    relu = MOONS.layers[0].activation
    leaky = Activation("leaky", (Fraction(0),), (Fraction(9, 10),), slope=Fraction(1, 10))
    eye, both = [[1, 0], [0, 1]], [[1, 0, 0, 1], [0, 1, 1, 1]]
    skip = Network([layer(eye, relu, 0), layer(both, relu, 1, 0)], 2)
    around = Network(
        [layer(eye, relu, 0), layer(eye, None, 0), layer(both, relu, 1, 2)], 2
    )  # by way of a layer without an activation
    chain = Network([layer(eye, None, 0), layer(eye, relu, 1), layer(eye, relu, 2)], 2)
    tail = Network([layer(eye, relu, 0), layer(eye, relu, 1), layer(both, None, 2, 0)], 2)
    other = Network([layer(eye, relu, 0), layer(eye, leaky, 1)], 2)
    for network in (skip, around, other):
        found = pc.compare(network, SQUARE, n=100, rng=0)
        claimed = {row.name for row in found.bounds if row.value is not None}
        assert claimed == {"trivial", "naive", "order_of_growth", "shallow"}
        reasons = {row.reason for row in found.bounds if row.value is None}
        words = "units of layer 2 are no ReLUs" if network is other else "reads more than the layer"
        assert all(words in reason for reason in reasons)
        for row in found.bounds[:3]:
            assert row.value is not None
            assert row.value >= found.regions
    for network in (chain, tail):
        found = pc.compare(network, SQUARE, n=100, rng=0)
        assert found.bounds[:-1] == tuple(pc.bounds.all_bounds(2, [2, 2]))


# ---------------------------------------------------------------------- how it shows


def test_the_table(moons: pc.Comparison) -> None:
    lines = str(moons).splitlines()
    assert lines[0].startswith("Network(2 -> relu 5")
    assert lines[2] == "this network"
    assert "what this architecture can: 5, 5, 5 in dimension 2" in lines
    by_name = {line.split("  ")[0]: line for line in lines}
    assert by_name["carved"].split()[:3] == ["carved", "exact", "66"]
    assert by_name["carved"].endswith("after each layer: 13, 43, 66")
    assert "87.9 % of the regions, 99.97 % of the volume" in by_name["a regular grid, 100 a side"]
    # Kinds begin, numbers end and notes begin in one column each.
    start = by_name["carved"].index("exact")
    end = by_name["carved"].index("66") + 2
    for row in (*moons.this_network, *moons.this_architecture):
        line = by_name[row.name]
        assert line[start:].startswith(row.kind)
        assert line[:end].endswith(row.number)
        assert line[end : end + 2] in ("  ", "")
    assert repr(moons) == "Comparison(66 regions, 10 estimates)"
    html = moons._repr_html_()
    assert html.count("<tr>") == len(moons.this_network) + len(moons.this_architecture) + 2
    assert "2 -&gt; relu 5" in html


def test_plain_data(moons: pc.Comparison) -> None:
    found = json.loads(json.dumps(moons.to_dict()))
    jsonschema.validate({"schema": 1, **found}, SCHEMA)
    assert found["layer_counts"] == [13, 43, 66]
    huge = wide().to_dict()
    jsonschema.validate({"schema": 1, **json.loads(json.dumps(huge))}, SCHEMA)
    (trivial,) = (row for row in huge["bounds"] if row["name"] == "trivial")
    assert int(trivial["value"]) == 2**2000


def test_plot(moons: pc.Comparison) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ax = moons.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    drawn = [
        row for row in (*moons.this_network, *moons.this_architecture) if row.value is not None
    ]
    assert labels == [row.name for row in drawn]
    texts = [text.get_text() for text in ax.texts]
    assert texts[: len(drawn)] == [row.number for row in drawn]
    dots = [line for line in ax.lines if len(line.get_xdata()) == 1]
    for dot, row in zip(dots, drawn, strict=True):
        assert dot.get_xdata()[0] == pytest.approx(math.log10(row.value))
    ax.figure.canvas.draw()
    _, given = plt.subplots()
    assert wide().plot(ax=given) is given
    assert given.get_xlim()[1] > 2000 * math.log10(2)
    given.figure.canvas.draw()
    plt.close("all")


# ---------------------------------------------------------------------- the command line


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["compare", *args])


def test_command(moons: pc.Comparison) -> None:
    done = run(FILE, "--box", "-3", "3", "--seed", "0")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{moons}\n"
    done = run(FILE, "--box", "-3", "3", "--seed", "0", "--json")
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert found == {"schema": 1, **moons.to_dict()}


@pytest.mark.parametrize(
    ("args", "reason"),
    [(("--max-regions", "20"), "regions"), (("--max-seconds", "1e-9"), "time")],
)
def test_status_of_a_stopped_count(args: tuple[str, str], reason: str) -> None:
    done = run(FILE, "--box", "-3", "3", "--n", "1000", "--grid", "5", "--json", *args)
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert (found["complete"], found["stop_reason"]) == (False, reason)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--box", "-3", "3", "--n", "0"), "n is 0"),
        (("--box", "-3", "3", "--seed", "-1"), "rng is -1"),
        (("--box", "-3", "3", "--grid", "1"), "grid is 1"),
        (("--box", "-3", "3", "--method", "magic"), "magic"),
        (("--box", "-3", "3", "--max-regions", "0"), "max_regions is 0"),
        ((), "give one domain"),
        (("--space", "--grid", "5"), "unbounded"),
    ],
)
def test_command_refuses_in_one_line(args: tuple[str, ...], words: str) -> None:
    done = run(FILE, *args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"n": 0}, InputError, "n is 0"),
        ({"n_probes": 0}, InputError, "n_probes is 0"),
        ({"rng": 1.5}, InputError, "rng is 1.5"),
        ({"grid": 1}, InputError, "grid is 1"),
        ({"limits": 5}, InputError, "limits"),
        ({"method": "magic"}, InputError, "magic"),
        ({"workers": 0}, InputError, "workers"),
        ({"domain": pc.Box.cube(0, 1, dim=3)}, DomainError, "3 coordinates"),
        ({"net": "moons"}, NetworkError, "not a network"),
    ],
)
def test_bad_input(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments = {"net": MOONS, "domain": AROUND, **keywords}
    with pytest.raises(kind, match=message):
        pc.compare(arguments.pop("net"), arguments.pop("domain"), **arguments)
