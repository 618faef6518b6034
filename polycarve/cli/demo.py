"""``polycarve demo``: the main job on a small trained network."""

from __future__ import annotations

import csv
import time
from functools import partial
from pathlib import Path

import click

from polycarve.errors import MissingDependencyError


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("polycarve-demo"),
    show_default=True,
    help="Folder for the region list and the picture.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw the figures on width and depth into this folder instead.",
)
def demo(out: Path, figures: Path | None) -> None:
    """Carve a trained classifier of two moons, and list and draw its regions."""
    from polycarve import Box, carve

    if figures is not None:
        _draw_figures(figures)
        return
    from polycarve.networks import examples

    network, box = examples.moons(), Box.cube(-3, 3, dim=2)
    click.echo(f"{network!r} on {box!r}")
    carve(network, box)  # kernels are compiled or loaded here, so that the time below is the work's
    begin = time.perf_counter()
    carving = carve(network, box)
    seconds = time.perf_counter() - begin
    for layer, count in enumerate(carving.layer_counts, start=1):
        click.echo(f"  after layer {layer}: {count:4d} regions")
    click.echo(f"{len(carving)} activation regions in {1000 * seconds:.1f} ms")
    try:
        out.mkdir(parents=True, exist_ok=True)
        table = out / "moons-regions.csv"
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["region", "pattern", "x1", "x2"])
            for region in carving:
                writer.writerow([region.index, region.code, *region.point.tolist()])
    except OSError as error:
        raise click.FileError(str(out), error.strerror or "cannot be written") from None
    click.echo(f"wrote {table}")
    from polycarve.plot import plot_regions
    from polycarve.plot.canvas import new_figure
    from polycarve.storage import write_aside

    try:
        ax = plot_regions(carving, ax=new_figure(6.4, 5.2).add_subplot())
    except MissingDependencyError as error:
        click.echo(f"no picture: {error}")
        return
    picture = out / "moons-regions.png"
    write_aside(picture, partial(ax.figure.savefig, format="png", dpi=150))
    click.echo(f"wrote {picture}")


def _draw_figures(folder: Path) -> None:
    from polycarve.plot.figures import write_figures

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.FileError(str(folder), error.strerror or "cannot be written") from None
    for path in write_figures(folder):
        click.echo(f"wrote {path}")
