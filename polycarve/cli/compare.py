"""``polycarve compare``: numbers counted, sampled, estimated and bounded, in one table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from polycarve.cli.domain import read_domain, with_domain_options
from polycarve.cli.reading import read_network, with_network_options

SCHEMA = 1
_STATUS = {None: 0, "interrupt": 130}  # all else is a limit


@click.command()
@click.argument("network", type=click.Path(path_type=Path))
@with_domain_options
@click.option("--n", "n", default=100_000, show_default=True, help="Random points.")
@click.option(
    "--grid", type=int, help="Points a side of a regular grid [default: 100 up to dimension 2]."
)
@click.option("--seed", type=int, help="For the same random numbers every time.")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="For carving: auto, simplex, vertices, highs, cvxpy[:SOLVER].",
)
@click.option("--workers", default=1, show_default=True, help="Threads that share the carving.")
@click.option(
    "--max-regions", type=int, default=1_000_000, show_default=True, help="Carve at most so many."
)
@click.option(
    "--max-seconds", type=float, default=60.0, show_default=True, help="Time for everything."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@with_network_options
def compare(
    network: Path,
    n: int,
    grid: int | None,
    seed: int | None,
    method: str,
    workers: int,
    max_regions: int,
    max_seconds: float,
    as_json: bool,
    relu_last: bool | None,
    trust_pickle: bool,
    drop_tail: bool,
    **place: Any,
) -> int:
    """Set the number of regions of NETWORK (.npz, .onnx, torch's .pt) beside estimates and bounds.

    Where a limit stops the exact count, what was seen is shown as "at least", and estimates that
    need no full count go on; the exit status is then 3.
    """
    from polycarve.comparison import compare as set_side_by_side
    from polycarve.splitting.drive import Limits

    net = read_network(network, relu_last=relu_last, trust_pickle=trust_pickle, drop_tail=drop_tail)
    domain = read_domain(net.input_dim, **place)
    found = set_side_by_side(
        net,
        domain,
        n=n,
        grid=grid,
        rng=seed,
        limits=Limits(max_regions, max_seconds),
        method=method,
        workers=workers,
        progress=sys.stderr is not None and sys.stderr.isatty(),
    )
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, **found.to_dict()}))
    else:
        click.echo(str(found))
    return _STATUS.get(found.stop_reason, 3)
