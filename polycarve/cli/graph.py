"""``polycarve graph``: which regions of a saved carving touch, as figures or as a file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from polycarve.errors import InputError, StorageError


@click.command()
@click.argument("carving", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the graph to this file: .graphml, .gexf, .json, .dot, .csv, .parquet or .npz.",
)
@click.option(
    "--with",
    "attributes",
    multiple=True,
    metavar="NAME",
    help="An attribute more for every region: volume, radius or centroid. Can be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def graph(carving: Path, out: Path | None, attributes: tuple[str, ...], as_json: bool) -> None:
    """Join the regions of CARVING (saved by `carve --out`) that share a facet.

    Prints the graph's figures, and with --out writes it in the format that the suffix names.
    """
    from polycarve.graph import check_attributes, check_folder, write_graph, writer_for
    from polycarve.storage import load

    check_attributes(attributes)
    if attributes and out is None:
        raise InputError("--with adds to the file that is written; name one with --out.")
    if out is not None:  # what is wrong with the command is said before anything is computed
        writer_for(out)
        check_folder(out)
        if out.resolve() == carving.resolve():
            raise StorageError(f"--out {out} is the carving itself. Give another name.")
    found = load(carving)
    if out is not None:
        write_graph(found, out, attributes=attributes)
    figures = found.adjacency().summary()
    if as_json:
        file = None if out is None else str(out)
        click.echo(json.dumps(figures.to_dict() | {"file": file}))
        return
    click.echo(str(figures))
    if out is not None:
        click.echo(f"\nwritten to {out}")
