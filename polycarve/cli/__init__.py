"""The command line: one file a verb.

Results go to stdout (as JSON with ``--json``), messages and the progress bar to stderr. Exit
status: 0 complete, 1 a check refused, 2 usage or bad input, 3 stopped by a limit, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from polycarve.cli.bounds import bounds
from polycarve.cli.carve import carve
from polycarve.cli.certify import certify
from polycarve.cli.compare import compare
from polycarve.cli.demo import demo
from polycarve.cli.graph import graph
from polycarve.cli.info import info
from polycarve.cli.plot import plot
from polycarve.errors import PolycarveError


class _Group(click.Group):
    """Say what is wrong in one line, whoever found it."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            kwargs["standalone_mode"] = False
            status = super().main(*args, **kwargs)
            if sys.stdout is not None:
                sys.stdout.flush()
        except PolycarveError as error:
            status = _refuse(str(error))
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            status = 2
        except click.ClickException as error:
            status = _refuse(error.format_message())
        except SystemExit as stop:  # how click ends when whoever read the output has seen enough
            status = 0 if stop.code == 1 else stop.code
        except OSError as error:
            status = _refuse(f"the output cannot be written: {error.strerror or error}.")
        except (click.Abort, KeyboardInterrupt):
            status = 130
        raise SystemExit(status if isinstance(status, int) else 0)


def _refuse(message: str) -> int:
    click.echo(f"polycarve: {' '.join(message.split())}", err=True)
    return 2


@click.group(cls=_Group)
@click.version_option(package_name="polycarve", prog_name="polycarve")
def main() -> None:
    """Enumerate the activation regions of ReLU networks, exactly."""


for verb in (bounds, carve, certify, compare, demo, graph, info, plot):
    main.add_command(verb)
