"""``polycarve info``: what a network file or a saved carving holds."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import click

from polycarve.cli.carve import describe, summary
from polycarve.cli.reading import read_network, with_network_options


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@with_network_options
def info(
    file: Path, as_json: bool, relu_last: bool | None, trust_pickle: bool, drop_tail: bool
) -> None:
    """Describe FILE: a network (.npz, .onnx, torch's .pt), or a carving saved by `carve --out`."""
    if is_carving(file):
        from polycarve.storage import load

        carving = load(file)
        if as_json:
            click.echo(json.dumps(summary(carving, file=file)))
        else:
            describe(carving)
        return
    net = read_network(file, relu_last=relu_last, trust_pickle=trust_pickle, drop_tail=drop_tail)
    nodes = _nodes(file, drop_tail)
    if as_json:
        layers = [
            {
                "units": layer.n_units,
                "inputs": layer.weight.shape[1],
                "activation": layer.activation.name if layer.activation else None,
            }
            for layer in net.layers
        ]
        found = {"input_dim": net.input_dim, "layers": layers, "sha256": net.digest}
        if nodes:
            found["nodes"] = nodes
        click.echo(json.dumps(found))
        return
    click.echo(f"{net!r}: {net.n_neurons} neurons in {len(net.widths)} hidden layers")
    for k, layer in enumerate(net.layers, start=1):
        follows = f", then {layer.activation.name}" if layer.activation else ""
        click.echo(f"  {k}: {layer.weight.shape[1]} -> {layer.n_units}{follows}")
    for node in nodes:
        click.echo(f"  {node['node']} ({node['op']}): {node['result']}")
    click.echo(f"sha256 {net.digest}")


def _nodes(path: Path, drop_tail: bool) -> list[dict[str, str]]:
    """Return what became of each node of an ONNX file, nothing for others."""
    if path.suffix.lower() != ".onnx":
        return []
    from polycarve.networks import onnx

    return [row._asdict() for row in onnx.account(path, drop_tail=drop_tail)[1]]


def is_carving(path: Path) -> bool:
    """Whether a file holds a saved carving."""
    import numpy as np

    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            return "about" in file.files
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        return False
