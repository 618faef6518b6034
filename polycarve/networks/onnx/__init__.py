"""Networks from ONNX files.

A graph is walked from its input to its output. Every affine node becomes a layer of its own,
kept as read; a constant added to a product becomes that layer's bias, a ReLU its activation. Nodes
that only reshape leave no trace: a tensor is the vector of its numbers, of one sample.

Samples lie along the first axis of the input where that axis is open (``batch``, ``N``, ...), or
where it is longer than one and no node mixes along it. Anything else is one sample.
"""

from __future__ import annotations

from typing import Any

from polycarve.errors import NetworkError
from polycarve.networks.network import Network
from polycarve.networks.onnx import files
from polycarve.networks.onnx.checking import compare
from polycarve.networks.onnx.graphs import batches_of, entry_of
from polycarve.networks.onnx.layering import NodeRow, drafted, rows
from polycarve.networks.onnx.walking import Walk

__all__ = ["NodeRow", "account", "read"]


def read(given: Any, *, drop_tail: bool = False) -> Network:
    """See `Network.from_onnx`."""
    return account(given, drop_tail=drop_tail)[0]


def account(given: Any, *, drop_tail: bool = False) -> tuple[Network, list[NodeRow]]:
    """Return the network of an ONNX file, and what became of each of its nodes.

    Parameters
    ----------
    given : path-like or onnx.ModelProto
    drop_tail : bool
        Whether to leave off what a classifier ends in.

    Returns
    -------
    network : Network
    rows : list of NodeRow
        ``(node, op, result)`` for each node in the graph's order, such as
        ``("fc1", "Gemm", "layer 1: 5 -> 50")`` or ``("r1", "Relu", "relu of layer 1")``.

    Raises
    ------
    NetworkError
        As `Network.from_onnx`.
    """
    try:
        return _account(files.load(given), drop_tail)
    except NetworkError as error:
        raise type(error)(f"{files.name_of(given)}: {error}") from None


def _account(model: Any, drop_tail: bool) -> tuple[Network, list[NodeRow]]:
    entry = entry_of(model.graph)
    for batch in batches_of(entry):
        walk = Walk(model, entry, batch)
        if not walk.is_mixed:
            break
    end = walk.end(drop_tail)
    if end == 0:
        raise NetworkError("its output is its input, so there is nothing to carve.")
    drafts = drafted(walk.steps, end)
    layers = [draft.layer() for draft in drafts]
    net = Network(layers, walk.input.size)
    compare(
        model,
        [walk.nodes[place] for place in sorted(walk.needed - walk.tail)],
        (entry.name, walk.input),
        layers,
        [(draft.steps[-1].tensor, draft.steps[-1].value) for draft in drafts],
        list(walk.ends.items()),
    )
    return net, rows(walk, drafts, layers)
