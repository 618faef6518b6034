"""What tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import Result

import polycarve as pc


def messages(done: Result) -> list[str]:
    """What was said on stderr, but for what is said once, when kernels are compiled."""
    lines = done.stderr.splitlines()
    return [line for line in lines if not line.startswith("polycarve: compiling kernels")]


def schema(verb: str) -> Any:
    """The JSON schema of what a verb prints with ``--json``."""
    return json.loads((Path(pc.__file__).parent / "cli" / f"{verb}.schema.json").read_text())
