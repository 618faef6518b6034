"""``polycarve bounds``: what theory says about an architecture."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from polycarve.errors import InputError
from polycarve.tables import exact_json, readable

if TYPE_CHECKING:
    from polycarve.theory.bounds import BoundRow


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("architecture", nargs=-1, metavar="N0 WIDTH...")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print as JSON; values that are no whole numbers, or of more than 600 digits, as strings.",
)
def bounds(architecture: tuple[str, ...], as_json: bool) -> None:
    """Print upper and lower bounds on the number of regions of a ReLU network.

    N0 is the dimension of the domain, the WIDTHs are those of the hidden layers, as in
    `polycarve bounds 2 5 5 5`. Upper bounds hold for every network of the architecture; lower
    bounds are reached by some network, and a given one may have fewer regions.
    """
    for word in architecture:
        if word.startswith("-") and not word[1:].isdecimal():  # negative numbers have an error
            raise click.NoSuchOption(word)  # of their own
    if not architecture:
        raise InputError(
            "nothing was given; name the input dimension and the width of each hidden layer, as "
            "in: polycarve bounds 2 5 5 5"
        )
    from polycarve.theory.bounds import all_bounds

    n0, *widths = map(_whole, architecture)
    rows = all_bounds(n0, widths)
    if as_json:
        found = [{**row._asdict(), "value": exact_json(row.value)} for row in rows]
        click.echo(json.dumps({"schema": 1, "input_dim": n0, "widths": widths, "bounds": found}))
        return
    layers = "layer" if len(widths) == 1 else "layers"
    click.echo(
        f"dimension {n0}, {len(widths)} hidden {layers} of {', '.join(map(str, widths))}: "
        f"{sum(widths)} neurons"
    )
    for line in _table(rows):
        click.echo(line)


def _whole(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise InputError(
            f"{word!r} is not a whole number; give the input dimension and the width of each "
            f"hidden layer, as in: polycarve bounds 2 5 5 5"
        ) from None


def _table(rows: list[BoundRow]) -> list[str]:
    cells = [("bound", "kind", "regions", "source")]
    for row in rows:
        remark = f"not claimed: {row.reason}" if row.value is None else row.source
        cells.append((row.name, row.kind, readable(row.value), remark))
    name, kind, regions = (max(len(row[k]) for row in cells) for k in range(3))
    return [f"{a:<{name}}  {b:<{kind}}  {c:>{regions}}  {d}".rstrip() for a, b, c, d in cells]
