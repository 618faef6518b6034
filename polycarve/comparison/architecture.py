"""What theory says about the architecture of a given network on a domain of some dimension."""

from __future__ import annotations

from polycarve.networks import Network
from polycarve.networks.activation import RELU
from polycarve.theory.bound import BoundRow
from polycarve.theory.bounds import all_bounds, zaslavsky

# What holds whatever the layers read and whatever their units are: that a layer of m cuts makes at
# most Z(n0, m) of one cell.
_ALWAYS = ("trivial", "naive", "order_of_growth")


def bounds_of(network: Network, rank: int) -> tuple[BoundRow, ...]:
    """Return every statement about a network's architecture, and the shallow one of its size.

    Where a layer reads more than the one before (skip connections), or has other units than ReLUs,
    most statements are about other networks: they are then not claimed.
    """
    cuts = network.cut_widths
    if not cuts:
        return ()
    reason = _unlike_a_chain(network)
    rows = [
        row if reason is None or row.name in _ALWAYS else row._replace(value=None, reason=reason)
        for row in all_bounds(rank, cuts)
    ]
    neurons = "neuron" if sum(cuts) == 1 else "neurons"
    shallow = f"{sum(cuts)} {neurons} in one layer; Zaslavsky 1975, Theorem A"
    rows.append(BoundRow("shallow", "one layer", zaslavsky(rank, sum(cuts)), "", shallow))
    return tuple(rows)


def _unlike_a_chain(network: Network) -> str | None:
    """Return why the bounds for chains of ReLU layers do not apply, or None."""
    # For every value, the activations it depends on without another one between; 0 is the input.
    seen: list[set[int]] = [{0}]
    n_hidden = 0
    for layer in network.layers[: network.hidden[-1] + 1]:
        read = set().union(*(seen[value] for value in layer.inputs))
        if layer.activation is None:
            seen.append(read)
            continue
        if layer.activation != RELU:
            return f"units of layer {n_hidden + 1} are no ReLUs"
        if read != {n_hidden}:
            return f"layer {n_hidden + 1} reads more than the layer before"
        n_hidden += 1
        seen.append({n_hidden})
    return None
