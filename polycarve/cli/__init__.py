"""The command line: one file a verb."""

from __future__ import annotations

import click

from polycarve.cli.demo import demo
from polycarve.errors import PolycarveError


class _Group(click.Group):
    """Show what polycarve raises on purpose as one line, with exit status 2."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except PolycarveError as error:
            click.echo(f"polycarve: {error}", err=True)
            ctx.exit(2)


@click.group(cls=_Group)
@click.version_option(package_name="polycarve")
def main() -> None:
    """Enumerate the activation regions of ReLU networks, exactly."""


main.add_command(demo)
