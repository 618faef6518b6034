"""The options that say where to carve."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycarve.errors import DomainError

if TYPE_CHECKING:  # loaded when there is something to do: help and errors come at once
    from polycarve.domains import Domain

_OPTIONS = (
    click.option("--box", nargs=2, metavar="LO HI", help="The cube LO <= x <= HI everywhere."),
    click.option("--space", is_flag=True, help="All of R^d."),
    click.option(
        "--vnnlib",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The input box of a VNN-LIB property.",
    ),
    click.option(
        "--polytope",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A @ x <= b, from an .npz file of A and b.",
    ),
    click.option(
        "--segment",
        nargs=2,
        metavar="X0 X1",
        help="The inputs between two, each given as numbers with commas between them.",
    ),
    click.option(
        "--slice",
        "slice_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="origin + y @ directions for lo <= y <= hi, from an .npz file of these (without lo "
        "and hi, all of it).",
    ),
)


def with_domain_options(command: Any) -> Any:
    """Add the options of which one names the domain."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_domain(
    dim: int,
    *,
    box: tuple[str, str] | None,
    space: bool,
    vnnlib: Path | None,
    polytope: Path | None,
    segment: tuple[str, str] | None,
    slice_file: Path | None,
) -> Domain:
    """Return the domain that the options name; refuse none, and more than one."""
    from polycarve.domains import Box, Polytope, Segment, Slice, Space

    given = [box, space or None, vnnlib, polytope, segment, slice_file]
    if sum(option is not None for option in given) != 1:
        raise click.UsageError(
            "give one domain: --box LO HI, --space, --vnnlib FILE, --polytope FILE, "
            "--segment X0 X1 or --slice FILE"
        )
    if vnnlib is not None:
        return Box.from_vnnlib(vnnlib)
    if polytope is not None:
        arrays = _arrays(polytope, needed=("A", "b"))
        return Polytope(arrays["A"], arrays["b"])
    if segment is not None:
        return Segment(*(end.split(",") for end in segment))
    if slice_file is not None:
        arrays = _arrays(slice_file, needed=("origin", "directions"), both=("lo", "hi"))
        inner = Box(arrays["lo"], arrays["hi"]) if "lo" in arrays else None
        return Slice(arrays["origin"], arrays["directions"], domain=inner)
    return Space(dim) if box is None else Box.cube(*box, dim=dim)


def _arrays(path: Path, needed: tuple[str, ...], both: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read an ``.npz`` file that must hold some arrays, and all or none of some others."""
    import numpy as np

    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = dict(file.items())
    except FileNotFoundError:
        raise DomainError(f"{path}: no such file.") from None
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise DomainError(f"{path} is not an .npz file of plain arrays.") from None
    if any(name in arrays for name in both):
        needed = (*needed, *both)
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise DomainError(f"{path} lacks {', '.join(missing)}; it needs {', '.join(needed)}.")
    return arrays
