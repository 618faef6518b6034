"""Compare polycarve with its peers, as a Markdown document.

    python benchmarks/peers.py --quick                               # small networks, one seed
    python benchmarks/peers.py --only 3-16-16-16                     # one size
    python benchmarks/peers.py --output peers.md --json peers.json   # everything: takes hours

The peers are those of the extra ``peers`` that are installed. Every tool, network and output has
a process of its own, with one thread. Progress goes to stderr. The files are written anew after
every size, so that a long run may be interrupted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from peers_tools import report
from peers_tools.comparison import Comparison
from peers_tools.tools import OUTPUTS

SIZES = (
    "2-32-32-32",
    "2-128-128",
    "2-256-256-256",
    "3-16-16-16",
    "3-32-32",
    "4-16-16",
    "5-16-16",
    "6-12-12",
    "8-16",
    "8-10-10",
    "10-12-12",
)
QUICK = ("2-16-16", "3-8-8")
WEIGHTS = ("untrained", "trained")
DEGENERATE = "degenerate"


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; ``--quick`` only changes what is not given."""
    parser = argparse.ArgumentParser(description="Compare polycarve with its peers.")
    parser.add_argument("--quick", action="store_true", help="one seed, small trained networks")
    parser.add_argument(
        "--only",
        action="append",
        metavar="SIZE",
        help=f"this size, such as {SIZES[0]} (input, hidden layers), or {DEGENERATE!r}; repeatable",
    )
    parser.add_argument("--seeds", type=_positive, help="networks a size (default: 5)")
    parser.add_argument("--repeats", type=_positive, help="runs, of which the best counts (5)")
    parser.add_argument("--limit", type=float, help="seconds a run may take (60)")
    parser.add_argument("--outputs", nargs="+", choices=OUTPUTS, help="what is asked for")
    parser.add_argument("--weights", nargs="+", choices=WEIGHTS, help="(both)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the document here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="and all measurements here")
    options = parser.parse_args(arguments)

    only = options.only or [*(QUICK if options.quick else SIZES), DEGENERATE]
    options.degenerate = DEGENERATE in only
    options.sizes = [size for size in only if size != DEGENERATE]
    for size in options.sizes:
        if not re.fullmatch(r"[1-9]\d*(-[1-9]\d*)+", size):
            parser.error(f"{size!r} is no size. Give widths, as in {SIZES[0]}, or {DEGENERATE!r}.")
    options.fresh = not (options.quick or options.only)
    usual = {"seeds": 5, "repeats": 5, "limit": 60.0, "weights": WEIGHTS}
    quick = {"seeds": 1, "repeats": 3, "limit": 10.0, "weights": WEIGHTS[1:]}
    for name, value in (quick if options.quick else usual).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def main() -> None:
    options = options_of(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, Path(folder))
        try:
            for _ in comparison.steps():
                write(comparison)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: this is what was measured until then\n")
        write(comparison)
        if options.output is None:
            print(report.document(comparison))


def write(comparison: Comparison) -> None:
    options = comparison.options
    if options.output:
        options.output.write_text(report.document(comparison), encoding="utf-8")
    if options.json:
        measured = json.dumps(comparison.results.as_json(), indent=1)
        options.json.write_text(measured, encoding="utf-8")


if __name__ == "__main__":
    main()
