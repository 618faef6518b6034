"""``polycarve certify``: prove a list of regions, or check a proof."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from polycarve.cli.domain import read_domain, with_domain_options
from polycarve.cli.info import is_carving
from polycarve.cli.reading import check_target, read_network, with_network_options

if TYPE_CHECKING:  # loaded when there is something to do: help and errors come at once
    from polycarve.carving import Carving
    from polycarve.certificate import Certificate

SCHEMA = 1
_STATUS = {None: 0, "regions": 3, "time": 3, "interrupt": 130}


@click.command()
@click.argument("network", type=click.Path(path_type=Path), required=False)
@with_domain_options
@click.option(
    "--check",
    "checked",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Check the certificate in this file, and nothing else.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the certificate to this file.")
@click.option("--method", default="auto", show_default=True, help="As for `polycarve carve`.")
@click.option("--workers", default=1, show_default=True, help="Processes that share the proof.")
@click.option("--max-seconds", type=float, help="Stop the carving after so long, and the proof.")
@click.option("--stop-layer", type=int, help="Prove only the first so many hidden layers.")
@click.option("--json", "as_json", is_flag=True, help="Print what is proven as JSON.")
@with_network_options
def certify(
    network: Path | None,
    checked: Path | None,
    out: Path | None,
    method: str,
    workers: int,
    max_seconds: float | None,
    stop_layer: int | None,
    as_json: bool,
    relu_last: bool | None,
    trust_pickle: bool,
    drop_tail: bool,
    **place: Any,
) -> int:
    """Prove which activation regions NETWORK has on a domain, in exact arithmetic.

    NETWORK is a network (.npz, .onnx, torch's .pt), or a carving saved by `carve --out`, which says
    its domain itself. The regions are carved, repaired where floating point was wrong, and proven.

    Exit status: 0 if the count is proven, 1 if a certificate that is checked is refused, 3 or 130
    if a limit or Ctrl-C left only "at least".
    """
    context = click.get_current_context()
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if checked is not None:
        if given - {"checked", "as_json"}:
            raise click.UsageError(
                "--check FILE takes no network and no domain, for the file has both, and no option "
                "but --json"
            )
        return _check(checked, as_json)
    if network is None:
        raise click.UsageError("give a network and a domain, or --check FILE")
    check_target(out, network)
    from polycarve.splitting.drive import Limits

    shows = sys.stderr is not None and sys.stderr.isatty()
    limits = Limits(max_seconds=max_seconds)
    if is_carving(network):
        if given - {"network", "out", "workers", "max_seconds", "as_json"}:
            raise click.UsageError(
                f"{network} is a carving: it says its domain and layers itself, and takes only "
                f"--out, --workers, --max-seconds and --json"
            )
        from polycarve.storage import load

        carving = load(network)
    else:
        carving = _carved(
            network,
            place,
            relu_last=relu_last,
            trust_pickle=trust_pickle,
            drop_tail=drop_tail,
            method=method,
            stop_layer=stop_layer,
            progress=shows,
            limits=limits,
        )
    certificate = carving.certify(progress=shows, limits=limits, workers=workers)
    if out is not None and certificate.proved:
        certificate.save(out)
    else:
        out = None
    if as_json:
        click.echo(json.dumps(_summary(certificate, out)))
    else:
        _describe(certificate, out)
    return _STATUS[certificate.carving.stop_reason]


def _carved(
    network: Path,
    place: dict[str, Any],
    *,
    relu_last: bool | None,
    trust_pickle: bool,
    drop_tail: bool,
    **options: Any,
) -> Carving:
    from polycarve.recursion import carve

    net = read_network(network, relu_last=relu_last, trust_pickle=trust_pickle, drop_tail=drop_tail)
    return carve(net, read_domain(net.input_dim, **place), **options)


def _check(path: Path, as_json: bool) -> int:
    from polycarve.certificate import checker

    try:
        said, is_proven = checker.check(path), True
    except checker.Refused as refusal:
        said, is_proven = str(refusal), False
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "proved": is_proven, "message": said}))
    else:
        click.echo(f"PROVED\n{said}" if is_proven else f"REFUSED {said}")
    return 0 if is_proven else 1


def _summary(certificate: Certificate, file: Path | None) -> dict[str, Any]:
    carving = certificate.carving
    return {
        "schema": SCHEMA,
        "proved": certificate.proved,
        "message": certificate.theorem,
        "regions": len(carving),
        "complete": certificate.complete,
        "layer_counts": list(carving.layer_counts),
        "network": carving.network.digest,
        "domain": carving.domain.digest,
        "added": certificate.n_added,
        "dropped": certificate.n_dropped,
        "vectors": {
            "short": certificate.n_short,
            "exact": certificate.n_exact,
            "programs": certificate.n_programs,
        },
        "seconds": certificate.seconds,
        "file": None if file is None else str(file),
    }


def _describe(certificate: Certificate, file: Path | None) -> None:
    click.echo(certificate.theorem)
    if certificate.n_added or certificate.n_dropped:
        click.echo(
            f"{certificate.n_added:,} regions that floating point did not find were added, "
            f"{certificate.n_dropped:,} that are not there were dropped"
        )
    if certificate.proved:
        click.echo(f"proven in {certificate.seconds:.3g} s")
    if file is not None:
        click.echo(f"saved to {file}; check it with: polycarve certify --check {file}")
