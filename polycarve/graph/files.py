"""The region graph in files that other programs read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from polycarve.adjacency import Adjacency
from polycarve.carving import Carving
from polycarve.errors import InputError, MissingDependencyError, StorageError
from polycarve.graph import text
from polycarve.graph.columns import about, check_attributes, edge_columns, node_columns
from polycarve.storage import write_aside


def write_graph(carving: Carving, path: str | Path, *, attributes: Sequence[str] = ()) -> None:
    """Write the region graph to a file, in the format that its suffix names.

    ============  ==========================================================================
    ``.graphml``  ``networkx.read_graphml``, yEd, igraph
    ``.gexf``     Gephi, ``networkx.read_gexf``; codes are labels
    ``.json``     node-link data, ``networkx.node_link_graph(json.load(file), edges="edges")``
    ``.dot``      Graphviz
    ``.csv``      an edge list with a header: ``pandas.read_csv``; regions that have no
                  neighbour do not show
    ``.parquet``  a row a region; columns of lists have an entry for each of its neighbours
    ``.npz``      the adjacency matrix, ``scipy.sparse.load_npz``
    ============  ==========================================================================

    Parameters
    ----------
    carving : Carving
        An incomplete one too; the file then says so, and for each region how many of its facets
        have nothing known behind (``unknown``).
    path : path-like
    attributes : list of str
        As in `Carving.graph`: ``"volume"``, ``"radius"``, ``"centroid"``.

    Raises
    ------
    InputError
        An unknown suffix or attribute.
    StorageError
        The file cannot be written; what was there before is left as it is.
    MissingDependencyError
        Parquet without pyarrow.

    Notes
    -----
    Nodes are the indices of the regions, edges pairs of regions that share a facet, with the
    attributes of `Carving.graph`. Where a format holds no lists, they are spread: a point over
    ``x1``, ``x2``, ..., codes after the first layers over ``prefix1``, ..., neurons over one text
    with blanks. A number that is not finite (the volume of an unbounded region) is left out.

    In Parquet, ``neighbor``, ``neuron``, ``neurons``, ``layer`` and ``rank`` are lists that run
    side by side, and every edge is there twice, once with either region.
    ``frame.explode(["neighbor", "neuron", "layer", "rank"])`` makes an edge list of it.

    Examples
    --------
    >>> import polycarve as pc, tempfile, pathlib, networkx
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "four.graphml"
    >>> pc.write_graph(pc.carve(net, pc.Space(2)), path)
    >>> networkx.read_graphml(path, node_type=int).edges[0, 1]["neuron"]
    1
    """
    check_attributes(attributes)
    write = writer_for(path)
    if attributes and write in (text.write_csv, _npz):
        raise InputError(
            f"{path}: {Path(path).suffix} holds no attributes of regions. Leave them out, or take "
            f"another format."
        )
    check_folder(path)
    if write is _parquet:
        _pyarrow()  # missing packages come before long computations
    adjacency = carving.adjacency()
    write_aside(path, lambda file: write(adjacency, attributes, file))


def writer_for(path: str | Path) -> Callable[[Adjacency, Sequence[str], IO[bytes]], None]:
    """Return the function that writes a suffix's format."""
    try:
        suffix = Path(path).suffix.lower()
    except TypeError:
        raise InputError(f"a path is needed to write to, not {path!r}.") from None
    if suffix not in _WRITERS:
        raise InputError(
            f"{path}: the suffix {suffix!r} names no format of a graph. "
            f"There are {', '.join(_WRITERS)}."
        )
    return _WRITERS[suffix]


def check_folder(path: str | Path) -> None:
    """Refuse a folder that cannot be written to, before anything is computed."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise StorageError(f"{path} cannot be written: the folder {folder} is read-only.")


def _npz(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    from scipy.sparse import save_npz

    save_npz(file, adjacency.matrix())


def _pyarrow() -> Any:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", "a Parquet file") from None
    return pyarrow, parquet


def _parquet(adjacency: Adjacency, attributes: Sequence[str], file: IO[bytes]) -> None:
    pa, parquet = _pyarrow()
    carving, edges = adjacency.carving, edge_columns(adjacency)
    n, many = len(adjacency), len(edges.source)
    # Every edge with either end, by region and then by neighbour.
    region = np.concatenate([edges.source, edges.target])
    order = np.lexsort((np.concatenate([edges.target, edges.source]), region))
    edge = np.tile(np.arange(many), 2)[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(region, minlength=n))])
    counts = np.diff(edges.neurons.offsets)[edge]
    first = np.repeat(edges.neurons.offsets[:-1][edge] - (np.cumsum(counts) - counts), counts)
    values = edges.neurons.values[first + np.arange(len(first))]
    lists = {
        "neighbor": np.concatenate([edges.target, edges.source])[order],
        "neuron": edges.neuron[edge],
        "neurons": pa.ListArray.from_arrays(
            pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)), pa.array(values)
        ),
        "layer": edges.layer[edge],
        "rank": edges.rank[edge],
    }
    columns: dict[str, Any] = {"region": np.arange(n)}
    columns |= dict(node_columns(adjacency, attributes))
    columns = {name: pa.array(column) for name, column in columns.items()}
    ends = pa.array(offsets.astype(np.int32))
    columns |= {
        name: pa.ListArray.from_arrays(ends, pa.array(values)) for name, values in lists.items()
    }
    table = pa.table(columns).replace_schema_metadata({"polycarve": json.dumps(about(carving))})
    parquet.write_table(table, file)


_WRITERS = {
    ".graphml": text.write_graphml,
    ".gexf": text.write_gexf,
    ".json": text.write_json,
    ".dot": text.write_dot,
    ".csv": text.write_csv,
    ".parquet": _parquet,
    ".npz": _npz,
}
