"""``polycarve plot``: a saved carving as a picture."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from polycarve.errors import InputError, StorageError

_FORMATS = (".png", ".svg", ".pdf")
_NUMBERED = ("active", "layer", "output")
_ALONE = ("active", "output")


@click.command()
@click.argument("carving", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Write the picture to this file: .png, .svg or .pdf.",
)
@click.option(
    "--color",
    default="active",
    show_default=True,
    metavar="WHAT",
    help="active, or active:L (of layer L), layer:L (a colour a pattern of layer L), output:K.",
)
@click.option("--layer", type=int, help="Draw the coarser carving after so many layers.")
@click.option("--layers", is_flag=True, help="One panel a layer.")
@click.option("--graph", is_flag=True, help="Draw the region graph on top.")
@click.option("--codes", is_flag=True, help="Write regions' codes into them, where they fit.")
@click.option(
    "--bounds",
    type=float,
    nargs=4,
    metavar="X0 X1 Y0 Y1",
    help="The part of the plane to show.",
)
@click.option(
    "--view",
    type=click.Choice(["cutaway", "exploded"]),
    default="cutaway",
    show_default=True,
    help="How a carving in three dimensions is opened.",
)
@click.option("--dpi", type=click.FloatRange(10, 2400), default=150.0, show_default=True)
def plot(
    carving: Path,
    out: Path,
    color: str,
    layer: int | None,
    layers: bool,
    graph: bool,
    codes: bool,
    bounds: tuple[float, float, float, float] | None,
    view: str,
    dpi: float,
) -> None:
    """Draw the regions of CARVING (saved by `carve --out`) exactly, in one to three dimensions."""
    from polycarve.graph import check_folder
    from polycarve.storage import load, write_aside

    kind = out.suffix.lower()
    if kind not in _FORMATS:
        raise InputError(
            f"{out}: the suffix {out.suffix!r} names no format of a picture. "
            f"There are {', '.join(_FORMATS)}."
        )
    check_folder(out)
    if out.resolve() == carving.resolve():
        raise StorageError(f"--out {out} is the carving itself. Give another name.")
    if layers and (graph or layer is not None):
        raise InputError("--layers draws every layer; leave out --graph and --layer.")
    found = load(carving)
    if bounds and found.domain.rank != 2:
        raise InputError(
            f"--bounds are of a plane, and {found.domain!r} has dimension {found.domain.rank}. "
            f"Leave them out."
        )
    if layers and not found.n_layers:
        raise InputError("no layer was carved, so there is none to draw. Leave out --layers.")
    if layer is not None:
        found = found.at_layer(layer)
    options: dict[str, Any] = {"codes": codes, "view": view}
    if bounds:
        options["bounds"] = [bounds[:2], bounds[2:]]
    figure = _draw(found, color, options, layers=layers, graph=graph)
    # Neither format puts the time into the file then.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind)
    save = partial(figure.savefig, format=kind[1:], dpi=dpi, metadata=metadata)
    write_aside(out, save)
    click.echo(f"wrote {out}")


def _draw(found: Any, color: str, options: dict[str, Any], *, layers: bool, graph: bool) -> Any:
    """Return the figure of a carving."""
    from polycarve import plot as pictures
    from polycarve.plot.canvas import new_figure

    kind = "3d" if found.domain.rank == 3 else None
    if layers:
        if color not in ("active", "layer"):
            raise InputError(f"--color {color}: with --layers, active or layer is needed.")
        n = max(found.n_layers, 1)
        columns = min(n, 4)
        rows = -(-n // columns)
        figure = new_figure(4.4 * columns, 3.6 * rows)
        axes = [figure.add_subplot(rows, columns, k + 1, projection=kind) for k in range(n)]
        pictures.plot_layers(found, axes=axes[: found.n_layers], color=color, **options)
        return figure
    figure = new_figure(6.4, 5.2)
    ax = figure.add_subplot(projection=kind)
    draw = pictures.plot_graph if graph else pictures.plot_regions
    draw(found, ax=ax, color=_read_color(color, found.network.n_outputs), **options)
    return figure


def _read_color(text: str, n_outputs: int) -> str | tuple[str, int]:
    """Return what `plot_regions` takes: a word, or a word with a number."""
    name, colon, number = text.partition(":")
    if text == "output" and n_outputs > 1:
        raise InputError(
            f"--color output: there are {n_outputs} outputs; output:0 to output:{n_outputs - 1} "
            f"say which."
        )
    if text in _ALONE:
        return name
    if not colon or name not in _NUMBERED or not number.isdecimal():
        raise InputError(
            f"--color {text}: active, active:L, layer:L, output or output:K is needed, with whole "
            f"numbers."
        )
    return name, int(number)
