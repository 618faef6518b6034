"""The region graph for other programs: every file is read with what its users would use."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import polycarve as pc
from polycarve.errors import InputError, MissingDependencyError, PolycarveError, StorageError
from polycarve.graph import markup, text
from polycarve.graph.columns import edge_columns, node_columns
from polycarve.networks import examples
from tests import cases
from tests.oracles import touching

ALL = ["volume", "radius", "centroid"]


def stopped(n: int) -> pc.Carving:
    return pc.carve(examples.moons(), pc.Space(2), limits=pc.Limits(max_regions=n))


CARVINGS = {
    "moons": lambda: pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2)),
    "moons on R^2": lambda: pc.carve(examples.moons(), pc.Space(2)),
    "degenerate": lambda: pc.carve(*cases.DEGENERATE["zero biases, three layers"]()),
    "three dimensions": lambda: pc.carve(
        cases.integers(3, [4, 3], 1, 3), pc.Box.cube(-1, 1, dim=3)
    ),
    "flat": lambda: pc.carve(cases.integers(3, [4, 3], 6, 2), pc.Box([-2, 1, -2], [2, 1, 2])),
    "slice": lambda: pc.carve(
        cases.integers(3, [4, 3], 2, 2), pc.Slice([0, 0, 0], [[1, 0, 1], [0, 1, 1]])
    ),
    "one layer": lambda: pc.carve(
        pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True), pc.Space(2)
    ),
    "one region": lambda: pc.carve(examples.moons(), pc.Box.cube(100, 101, dim=2)),
    "no layer": lambda: pc.carve(pc.Network.from_arrays([[[1, 2]]]), pc.Box.cube(0, 1, dim=2)),
    "one point": lambda: pc.carve(examples.fig19(), pc.Box([0, 1], [0, 1])),
    "incomplete": lambda: stopped(40),
    "one of many": lambda: stopped(1),
    "moderately large": lambda: pc.carve(
        cases.spec()["rand_2-32-32-32"].network, pc.Box.cube(-1, 1, dim=2)
    ),
}


@pytest.fixture(params=CARVINGS)
def carving(request: pytest.FixtureRequest) -> pc.Carving:
    return CARVINGS[request.param]()


def flat_graph(carving: pc.Carving, attributes: list[str]) -> nx.Graph:
    """What a file of flat attributes is to hold, as networkx would build it."""
    adjacency = carving.adjacency()
    nodes, edges = node_columns(adjacency, attributes), edge_columns(adjacency)
    graph = nx.Graph()
    for name, column in nodes.items():
        values = column.tolist() if isinstance(column, np.ndarray) else column
        for row, value in enumerate(values):
            graph.add_node(row)
            if not isinstance(value, float) or np.isfinite(value):
                graph.nodes[row][name] = value
    rows = zip(
        *(getattr(edges, name).tolist() for name in ("source", "target", "neuron")),
        edges.neurons.tuples(),
        edges.layer.tolist(),
        edges.rank.tolist(),
        strict=True,
    )
    for i, j, neuron, neurons, layer, rank in rows:
        words = " ".join(map(str, neurons))
        graph.add_edge(i, j, neuron=neuron, neurons=words, layer=layer, rank=rank)
    return graph


def same(one: nx.Graph, other: nx.Graph) -> None:
    """Expect equal nodes and edges, and attributes of equal values and types."""
    assert dict(one.nodes(data=True)) == dict(other.nodes(data=True))
    assert list(one.nodes) == list(other.nodes)
    assert one.adj == other.adj
    for mine, theirs in zip(one.nodes.values(), other.nodes.values(), strict=True):
        assert [type(mine[k]) for k in mine] == [type(theirs[k]) for k in mine]


# ---------------------------------------------------------------------- networkx


def test_graph_has_what_the_carving_has(carving: pc.Carving) -> None:
    graph = carving.graph(*ALL)
    adjacency, bounded = carving.adjacency(), carving.bounded()
    assert list(graph.nodes) == list(range(len(carving)))
    assert {tuple(sorted(edge)) for edge in graph.edges} == set(
        map(tuple, adjacency.edges.tolist())
    )
    assert graph.graph == {
        "network": carving.network.digest,
        "domain": carving.domain.digest,
        "dimension": carving.domain.rank,
        "layers": carving.n_layers,
        "regions": len(carving),
        "n_doubtful": carving.n_doubtful,
        "complete": carving.complete,
    } | ({} if carving.complete else {"stop_reason": "regions"})
    volumes, radii, centroids = carving.volumes(), carving.chebyshev()[1], carving.centroids()
    for row, data in graph.nodes(data=True):
        region = carving[row]
        assert data["code"] == region.code
        parts = region.code.split("|")
        assert data["prefixes"] == tuple("|".join(parts[:k]) for k in range(1, len(parts)))
        assert data["point"] == tuple(region.point.tolist())
        assert data["bounded"] is bool(bounded[row])
        assert data["on_boundary"] is bool((region.neighbors == -1).any())
        assert data["unknown"] == int((region.neighbors == -2).sum())
        assert data["volume"] == volumes[row]
        assert data["radius"] == radii[row]
        assert ("centroid" in data) == bounded[row]
        if bounded[row]:
            assert data["centroid"] == tuple(centroids[row].tolist())
    stops = np.cumsum(carving.widths)
    for i, j, data in graph.edges(data=True):
        flipped = np.flatnonzero(carving[i].pattern != carving[j].pattern)
        assert set(flipped.tolist()) <= set(data["neurons"])
        assert data["neuron"] == data["neurons"][0] == min(data["neurons"])
        assert data["layer"] == 1 + int((stops <= data["neuron"]).sum())
        assert data["rank"] in (0, 1)


def test_plain_graph_has_no_costly_attributes() -> None:
    graph = CARVINGS["moons"]().graph()
    plain = {"code", "prefixes", "point", "bounded", "on_boundary", "unknown"}
    assert set(graph.nodes[0]) == plain
    assert set(CARVINGS["moons"]().graph("radius").nodes[0]) == plain | {"radius"}


@pytest.mark.parametrize("layer", [0, 1, 2, 3])
def test_layer_graphs_are_quotients(layer: int) -> None:
    carving = CARVINGS["moons on R^2"]()
    coarse = carving.layer_graph(layer)
    assert dict(coarse.nodes(data="code")) == {
        row: region.code for row, region in enumerate(carving.at_layer(layer))
    }
    cell = {code: row for row, code in coarse.nodes(data="code")}
    graph = carving.graph()
    of = {row: cell["|".join(code.split("|")[:layer])] for row, code in graph.nodes(data="code")}
    crossed = {tuple(sorted((of[i], of[j]))) for i, j in graph.edges if of[i] != of[j]}
    assert {tuple(sorted(edge)) for edge in coarse.edges} == crossed
    assert all(rank == 1 for *_, rank in coarse.edges(data="rank") if layer == 1)


def test_rank_is_zero_where_the_map_does_not_change() -> None:
    line = pc.carve(pc.Network.from_arrays([[[1], [-1]], [[1, -1]]]), pc.Space(1))  # x itself
    assert [rank for *_, rank in line.graph().edges(data="rank")] == [0]
    tent = pc.carve(pc.Network.from_arrays([[[1], [-1]], [[1, 1]]]), pc.Space(1))  # |x|
    assert [rank for *_, rank in tent.graph().edges(data="rank")] == [1]
    # A change of 2^-60 of the rest: lost in float64, and a change all the same.
    tiny = pc.Network.from_arrays([[[1], [-1]], [[1, -1 + pow(0.5, 53)]]])
    assert [rank for *_, rank in pc.carve(tiny, pc.Space(1)).graph().edges(data="rank")] == [1]


@pytest.mark.parametrize("seed", range(4))
def test_ranks_are_those_of_exact_arithmetic(seed: int) -> None:
    hidden = cases.integers(2, [3, 3], seed)
    out = np.random.default_rng(seed).integers(-1, 2, (3, 3))
    weights = [layer.weight.float64 for layer in hidden.layers]
    biases = [layer.bias.float64 for layer in hidden.layers]
    net = pc.Network.from_arrays([*weights, out], [*biases, None])
    carving = pc.carve(net, pc.Space(2))
    for i, j, rank in carving.graph().edges(data="rank"):
        pair = (tuple(carving[k].pattern.tolist()) for k in (i, j))
        assert rank == touching.rank_of_change(net, carving.domain, *pair)


def test_graphs_that_need_too_much_memory_are_refused_in_time() -> None:
    carving = CARVINGS["moons"]()
    with pytest.raises(InputError, match=r"needs about 0.0 GB .* Use carving.adjacency\(\)"):
        carving.graph(most_bytes=1000)
    assert "_adjacency" not in carving.__dict__  # before neighbours were looked for
    nodes = 66 * 1000
    with pytest.raises(InputError, match="raise most_bytes"):
        carving.graph(most_bytes=nodes)
    assert carving.graph(most_bytes=1e6).number_of_nodes() == 66
    with pytest.raises(InputError, match="most_bytes"):
        carving.layer_graph(2, most_bytes=1000)


def test_unknown_attributes_are_refused(tmp_path: Path) -> None:
    carving = CARVINGS["one layer"]()
    message = r"no attribute 'colour'\. On request there are: volume"
    with pytest.raises(InputError, match=message):
        carving.graph("colour")
    with pytest.raises(InputError, match=message):
        pc.write_graph(carving, tmp_path / "g.json", attributes=["colour"])
    with pytest.raises(InputError, match="give a list"):
        pc.write_graph(carving, tmp_path / "g.json", attributes="volume")


# ---------------------------------------------------------------------- files


def test_graphml_is_what_networkx_reads_and_would_write(
    carving: pc.Carving, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours.graphml", tmp_path / "theirs.graphml"
    pc.write_graph(carving, ours, attributes=ALL)
    flat = flat_graph(carving, ALL)
    read = nx.read_graphml(ours, node_type=int)
    same(read, flat)
    nx.write_graphml(flat, theirs)
    same(read, nx.read_graphml(theirs, node_type=int))
    assert read.graph["complete"] is carving.complete
    assert read.graph["network"] == carving.network.digest
    assert read.graph["dimension"] == carving.domain.rank


def test_gexf_is_what_networkx_reads_and_would_write(carving: pc.Carving, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.gexf", tmp_path / "theirs.gexf"
    pc.write_graph(carving, ours, attributes=ALL)
    flat = flat_graph(carving, ALL)
    read = nx.read_gexf(ours, node_type=int)
    for row, code in flat.nodes(data="code"):
        flat.nodes[row]["label"] = code
    edges = edge_columns(carving.adjacency())
    for k, (i, j) in enumerate(zip(edges.source.tolist(), edges.target.tolist(), strict=True)):
        flat.edges[i, j]["id"] = str(k)
    same(read, flat)
    nx.write_gexf(flat, theirs)
    same(read, nx.read_gexf(theirs, node_type=int))


def test_gexf_keeps_the_rules_of_gephi(carving: pc.Carving, tmp_path: Path) -> None:
    path = tmp_path / "g.gexf"
    pc.write_graph(carving, path, attributes=ALL)
    space = {"g": "http://www.gexf.net/1.2draft"}
    root = ElementTree.parse(path).getroot()
    kinds: dict[str, dict[str, str]] = {}
    for group in root.findall("g:graph/g:attributes", space):
        kinds[group.attrib["class"]] = {
            entry.attrib["id"]: entry.attrib["type"]
            for entry in group.findall("g:attribute", space)
        }
    ids = [node.attrib["id"] for node in root.findall("g:graph/g:nodes/g:node", space)]
    assert ids == [str(k) for k in range(len(carving))]
    assert all(n.get("label") is not None for n in root.findall("g:graph/g:nodes/g:node", space))
    edge_ids = [e.attrib["id"] for e in root.findall("g:graph/g:edges/g:edge", space)]
    assert len(set(edge_ids)) == len(edge_ids)
    for scope, where in (("node", "g:graph/g:nodes/g:node"), ("edge", "g:graph/g:edges/g:edge")):
        for value in root.findall(f"{where}/g:attvalues/g:attvalue", space):
            kind, held = kinds[scope][value.attrib["for"]], value.attrib["value"]
            if kind == "double":
                assert np.isfinite(float(held))
            elif kind == "integer":
                assert held == str(int(held))
            elif kind == "boolean":
                assert held in ("true", "false")
            else:
                assert kind == "string"
    about = json.loads(root.findtext("g:meta/g:description", namespaces=space) or "")
    assert about["complete"] is carving.complete


def test_json_is_node_link_data(carving: pc.Carving, tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    pc.write_graph(carving, path, attributes=ALL)

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    data = json.loads(path.read_text(), parse_constant=refuse)
    read = nx.node_link_graph(data, edges="edges")
    assert type(read) is nx.Graph
    graph = carving.graph(*ALL)
    assert read.graph == graph.graph
    assert list(read.nodes) == list(graph.nodes)
    for row, held in graph.nodes(data=True):
        finite = {k: v for k, v in held.items() if not isinstance(v, float) or np.isfinite(v)}
        want = {k: list(v) if isinstance(v, tuple) else v for k, v in finite.items()}
        if not want["prefixes"]:  # of one layer there are none
            want.pop("prefixes")
        assert read.nodes[row] == want
    for i, j, held in graph.edges(data=True):
        assert read.edges[i, j] == held | {"neurons": list(held["neurons"])}
    assert read.number_of_edges() == graph.number_of_edges()


def test_csv_is_an_edge_list(carving: pc.Carving, tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    pc.write_graph(carving, path)
    frame = pd.read_csv(path, dtype={"neurons": str})
    edges = nx.from_pandas_edgelist(frame, edge_attr=True)
    flat = flat_graph(carving, [])
    assert {frozenset(e) for e in edges.edges} == {frozenset(e) for e in flat.edges}
    for i, j, held in flat.edges(data=True):
        assert edges.edges[i, j] == held
    names = [(name, str if name == "neurons" else int) for name in frame.columns[2:]]
    with open(path, "rb") as file:
        next(file)
        listed = nx.read_edgelist(file, delimiter=",", nodetype=int, data=names)
    assert listed.adj == edges.adj


def test_parquet_is_a_row_a_region(carving: pc.Carving, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "g.parquet"
    pc.write_graph(carving, path, attributes=ALL)
    frame = pd.read_parquet(path)
    adjacency = carving.adjacency()
    assert frame["region"].tolist() == list(range(len(carving)))
    for name, column in node_columns(adjacency, ALL).items():
        np.testing.assert_array_equal(frame[name].to_numpy(), np.asarray(column))
    assert frame["neighbor"].map(len).tolist() == adjacency.degrees.tolist()
    lists = ["neighbor", "neuron", "neurons", "layer", "rank"]
    table = frame[["region", *lists]].explode(lists).dropna()
    flat = flat_graph(carving, [])
    assert len(table) == 2 * flat.number_of_edges()
    for i, j, neuron, neurons, layer, rank in table.itertuples(index=False):
        held = flat.edges[i, j]
        assert (neuron, layer, rank) == (held["neuron"], held["layer"], held["rank"])
        assert " ".join(map(str, neurons)) == held["neurons"]
    from pyarrow import parquet

    about = json.loads(parquet.read_schema(path).metadata[b"polycarve"])
    assert about == carving.graph().graph


def test_npz_is_a_sparse_matrix(carving: pc.Carving, tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    pc.write_graph(carving, path)
    read = scipy.sparse.load_npz(path)
    n = len(carving)
    assert read.shape == (n, n)
    want = np.zeros((n, n), np.int64)
    for i, j in carving.adjacency().edges:
        want[i, j] = want[j, i] = 1
    assert (read.toarray() == want).all()


# A token of the DOT language: a quoted string, a name, a number, or punctuation.
TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z_0-9]*|-?\d+(?:\.\d+)?|--|[{}\[\]=;,])', re.S
)


def read_dot(source: str) -> nx.Graph:
    """Read a graph in the part of the DOT language that has nodes, edges and attributes."""
    tokens: list[str] = []
    at = 0
    while source[at:].strip():
        match = TOKEN.match(source, at)
        assert match, source[at : at + 40]
        tokens.append(match[1])
        at = match.end()
    stream = iter(tokens)

    def plain(token: str) -> str:
        return re.sub(r"\\(.)", r"\1", token[1:-1]) if token[0] == '"' else token

    def attributes(stream: Iterator[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in stream:
            if name == "]":
                break
            assert name[0] == '"' or name.isidentifier()
            assert next(stream) == "="
            found[plain(name)] = plain(next(stream))
            end = next(stream)
            assert end in (",", "]")
            if end == "]":
                break
        assert next(stream) == ";"
        return found

    graph = nx.Graph()
    assert (next(stream), next(stream), next(stream)) == ("graph", "regions", "{")
    for token in stream:
        if token == "}":
            assert next(stream, None) is None
            return graph
        follows = next(stream)
        if follows == "--":
            other = next(stream)
            assert next(stream) == "["
            graph.add_edge(int(token), int(other), **attributes(stream))
        else:
            assert follows == "["
            held = attributes(stream)
            if token == "graph":
                graph.graph.update(held)
            else:
                graph.add_node(int(token), **held)
    raise AssertionError("no closing brace")


def test_dot_is_well_formed(carving: pc.Carving, tmp_path: Path) -> None:
    path = tmp_path / "g.dot"
    pc.write_graph(carving, path, attributes=ALL)
    read, flat = read_dot(path.read_text()), flat_graph(carving, ALL)

    def word(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    assert list(read.nodes) == list(flat.nodes)
    for row, held in flat.nodes(data=True):
        assert read.nodes[row] == {k: word(v) for k, v in held.items()}
    assert {frozenset(e) for e in read.edges} == {frozenset(e) for e in flat.edges}
    for i, j, held in flat.edges(data=True):
        assert read.edges[i, j] == {k: word(v) for k, v in held.items()}
    assert read.graph["complete"] == word(carving.complete)


NASTY = ['a"b', "a<b>&c", "back\\slash", "ends with \\", "it's|ai", "", "é → ∞", "]]>", "a,b"]


def test_text_of_all_kinds_is_escaped(tmp_path: Path) -> None:
    n = len(NASTY)
    nodes = {"code": NASTY, 'a<"b': NASTY}
    source, target = np.arange(n - 1), np.arange(1, n)
    edges = {"neurons": NASTY[1:], "layer": np.ones(n - 1, np.int64)}
    path = tmp_path / "g"
    path.write_text("".join(markup.graphml({"note": NASTY[1]}, nodes, source, target, edges)))
    read = nx.read_graphml(path, node_type=int)
    assert [read.nodes[k]["code"] or "" for k in range(n)] == NASTY
    assert [read.nodes[k]['a<"b'] or "" for k in range(n)] == NASTY
    assert read.graph["note"] == NASTY[1]
    path.write_text("".join(markup.gexf(NASTY[1], nodes, source, target, edges)))
    read = nx.read_gexf(path, node_type=int)
    assert [read.nodes[k]["label"] for k in range(n)] == NASTY
    assert [read.nodes[k]['a<"b'] for k in range(n)] == NASTY
    assert [read.edges[k, k + 1]["neurons"] for k in range(n - 1)] == NASTY[1:]
    rows = "".join(f"{k} [code={text.quoted(word)}];\n" for k, word in enumerate(NASTY))
    read = read_dot(f"graph regions {{\n{rows}}}\n")
    assert [read.nodes[k]["code"] for k in range(n)] == NASTY


@pytest.mark.parametrize("suffix", ["graphml", "gexf", "json", "dot", "csv", "parquet", "npz"])
def test_files_of_nothing(suffix: str, tmp_path: Path) -> None:
    carving = pc.carve(examples.moons(), pc.Space(2), limits=pc.Limits(max_seconds=1e-9))
    assert len(carving) == 0
    path = tmp_path / f"g.{suffix}"
    pc.write_graph(carving, path)
    assert carving.graph().number_of_nodes() == 0
    assert carving.graph().graph["complete"] is False
    if suffix == "graphml":
        assert nx.read_graphml(path).number_of_nodes() == 0
    elif suffix == "gexf":
        assert nx.read_gexf(path).number_of_nodes() == 0
    elif suffix == "json":
        data = json.loads(path.read_text())
        assert nx.node_link_graph(data, edges="edges").number_of_nodes() == 0
    elif suffix == "dot":
        assert read_dot(path.read_text()).number_of_nodes() == 0
    elif suffix == "csv":
        assert len(pd.read_csv(path)) == 0
    elif suffix == "parquet":
        assert len(pd.read_parquet(path)) == 0
    else:
        assert scipy.sparse.load_npz(path).shape == (0, 0)


# ---------------------------------------------------------------------- what cannot be written


def test_suffixes_that_name_no_format_are_refused(tmp_path: Path) -> None:
    carving = CARVINGS["one layer"]()
    for name in ("g.txt", "g", "graphml"):
        with pytest.raises(InputError, match=r"There are \.graphml, \.gexf, .*\.npz"):
            pc.write_graph(carving, tmp_path / name)
    with pytest.raises(InputError, match="a path is needed"):
        pc.write_graph(carving, None)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    pc.write_graph(carving, tmp_path / "G.GraphML")
    assert nx.read_graphml(tmp_path / "G.GraphML").number_of_nodes() == 4


def test_edge_lists_hold_no_attributes_of_regions(tmp_path: Path) -> None:
    for suffix in ("csv", "npz"):
        with pytest.raises(InputError, match="holds no attributes of regions"):
            pc.write_graph(CARVINGS["moons"](), tmp_path / f"g.{suffix}", attributes=["volume"])


def test_folders_that_cannot_be_written_to_are_refused_in_time(tmp_path: Path) -> None:
    carving = CARVINGS["one layer"]()
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(StorageError, match="there is no folder"):
        pc.write_graph(carving, tmp_path / "absent" / "g.json")
    with pytest.raises(StorageError, match="there is no folder"):
        pc.write_graph(carving, tmp_path / "file" / "g.json")
    assert "_adjacency" not in carving.__dict__
    with pytest.raises(StorageError, match="not a regular file"):
        pc.write_graph(carving, tmp_path / "folder.json")


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.graphml"
    path.write_text("what was there")

    def breaks(*args: Any) -> Iterator[str]:
        yield "half"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(markup, "graphml", breaks)
    with pytest.raises(StorageError, match="No space left"):
        pc.write_graph(CARVINGS["one layer"](), path)
    assert path.read_text() == "what was there"
    assert [entry.name for entry in tmp_path.iterdir()] == ["g.graphml"]


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carving = CARVINGS["moons"]()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"polycarve\[parquet\]"):
        pc.write_graph(carving, tmp_path / "g.parquet")
    assert "_adjacency" not in carving.__dict__
    assert not list(tmp_path.iterdir())
    assert issubclass(MissingDependencyError, PolycarveError)
