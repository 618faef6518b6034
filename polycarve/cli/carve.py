"""``polycarve carve``: list the regions of a network on a domain."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycarve.cli.domain import read_domain, with_domain_options
from polycarve.cli.reading import check_target, read_network, with_network_options

if TYPE_CHECKING:  # loaded when there is something to do: help and errors come at once
    from polycarve.carving import Carving

SCHEMA = 1
_STATUS = {None: 0, "regions": 3, "time": 3, "interrupt": 130}


@click.command()
@click.argument("network", type=click.Path(path_type=Path))
@with_domain_options
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="auto, simplex, vertices, highs, cvxpy[:SOLVER].",
)
@click.option("--workers", default=1, show_default=True, help="Threads that share the work.")
@click.option("--max-regions", type=int, help="Stop at so many regions.")
@click.option("--max-seconds", type=float, help="Stop after so long.")
@click.option("--stop-layer", type=int, help="Carve only the first so many hidden layers.")
@click.option("--out", type=click.Path(path_type=Path), help="Save the carving to this .npz file.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@with_network_options
def carve(
    network: Path,
    method: str,
    workers: int,
    max_regions: int | None,
    max_seconds: float | None,
    stop_layer: int | None,
    out: Path | None,
    as_json: bool,
    relu_last: bool | None,
    trust_pickle: bool,
    drop_tail: bool,
    **place: Any,
) -> int:
    """Enumerate the activation regions of NETWORK (.npz, .onnx, torch's .pt) on a domain.

    What was found until a limit or Ctrl-C stopped it is reported and saved all the same; the exit
    status is then 3 or 130.
    """
    from polycarve.recursion import carve as enumerate_regions
    from polycarve.splitting.drive import Limits

    net = read_network(network, relu_last=relu_last, trust_pickle=trust_pickle, drop_tail=drop_tail)
    domain = read_domain(net.input_dim, **place)
    check_target(out, network)
    begin = time.perf_counter()
    carving = enumerate_regions(
        net,
        domain,
        method=method,
        workers=workers,
        limits=Limits(max_regions, max_seconds),
        stop_layer=stop_layer,
        progress=sys.stderr is not None and sys.stderr.isatty(),
    )
    seconds = time.perf_counter() - begin
    if out is not None:
        carving.save(out)
    if as_json:
        click.echo(json.dumps(summary(carving, seconds=seconds, file=out)))
    else:
        describe(carving, seconds)
        if out is not None:
            click.echo(f"saved to {out}")
    return _STATUS[carving.stop_reason]


def summary(
    carving: Carving, *, seconds: float | None = None, file: Path | None = None
) -> dict[str, Any]:
    """Return what ``--json`` prints; ``carve.schema.json`` beside this file describes it."""
    return {
        "schema": SCHEMA,
        "regions": len(carving),
        "complete": carving.complete,
        "stop_reason": carving.stop_reason,
        "layer_counts": list(carving.layer_counts),
        "split_counts": carving.split_counts.tolist(),
        "n_doubtful": carving.n_doubtful,
        "method": carving.method,
        "network": {
            "input_dim": carving.network.input_dim,
            "widths": list(carving.network.widths),
            "sha256": carving.network.digest,
        },
        "domain": {
            "description": repr(carving.domain),
            "rank": carving.domain.rank,
            "sha256": carving.domain.digest,
        },
        "layers_carved": carving.n_layers,
        "seconds": seconds,
        "file": None if file is None else str(file),
    }


def describe(carving: Carving, seconds: float | None = None) -> None:
    """Print a carving for a person."""
    click.echo(f"{carving.network!r} on {carving.domain!r}")
    least = "" if carving.complete else "at least "
    for layer, count in enumerate(carving.layer_counts, start=1):
        click.echo(f"  after layer {layer}: {least}{count:,} regions")
    took = "" if seconds is None else f" in {seconds:.3g} s"
    stopped = "" if carving.complete else f", stopped by {carving.stop_reason}"
    regions = "region" if len(carving) == 1 else "regions"
    click.echo(f"{least}{len(carving):,} activation {regions}{took}{stopped}")
    if carving.n_doubtful:
        click.echo(f"{carving.n_doubtful:,} decisions were too close for floating point to settle")
