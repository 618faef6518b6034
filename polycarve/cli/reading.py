"""What the verbs read: network files, and numbers kept as they were typed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycarve.errors import MissingDependencyError, NetworkError, StorageError

if TYPE_CHECKING:
    from polycarve.networks import Network

network_options = (
    click.option(
        "--relu-last/--no-relu-last",
        default=None,
        help="Whether a ReLU follows the last layer of an .npz network [default: as it says].",
    ),
    click.option(
        "--trust-pickle",
        is_flag=True,
        help="Load a torch file as a pickle, which may run any code it contains.",
    ),
    click.option(
        "--drop-tail",
        is_flag=True,
        help="Leave off the Softmax, ArgMax, ... that an .onnx classifier ends in.",
    ),
)


def with_network_options(command: Any) -> Any:
    """Add the options that reading a network takes."""
    for option in reversed(network_options):
        command = option(command)
    return command


def read_network(
    path: Path, *, relu_last: bool | None, trust_pickle: bool, drop_tail: bool = False
) -> Network:
    """Read a network from an ``.npz``, an ``.onnx`` or a torch file."""
    from polycarve.networks import Network

    suffix = path.suffix.lower()
    if suffix in (".pt", ".pth", ".onnx") and relu_last is not None:
        raise NetworkError(f"--relu-last is for .npz networks; {suffix} files say it themselves.")
    if suffix in (".npz", ".pt", ".pth") and drop_tail:
        raise NetworkError(f"--drop-tail is for .onnx networks; {path} is none.")
    if suffix == ".npz":
        return Network.from_npz(path, relu_last=relu_last)
    if suffix == ".onnx":
        return Network.from_onnx(path, drop_tail=drop_tail)
    if suffix in (".pt", ".pth"):
        return _read_torch(path, trust_pickle)
    raise NetworkError(
        f"{path}: networks are read from .npz (W0, b0, W1, b1, ...), .onnx and torch's .pt files."
    )


def check_target(out: Path | None, source: Path) -> None:
    """Refuse an ``--out`` that cannot be written, or is what is read, before the work is done."""
    if out is None:
        return
    if not out.parent.is_dir():
        raise StorageError(f"--out {out}: there is no folder {out.parent}.")
    if out.exists() and not out.is_file():
        raise StorageError(f"--out {out} cannot be written: it is not a regular file.")
    if not os.access(out.parent, os.W_OK):
        raise StorageError(f"--out {out} cannot be written: the folder {out.parent} is read-only.")
    if out.exists() and source.exists() and out.samefile(source):
        raise StorageError(f"--out {out} is the file that is read. Give another name.")


def _read_torch(path: Path, trust_pickle: bool) -> Network:
    from polycarve.networks import Network

    if not trust_pickle:
        raise NetworkError(
            f"{path} is a pickle, and loading one runs whatever code it contains. If you trust "
            f"whoever made it, add --trust-pickle; else save the weights as .npz."
        )
    try:
        import torch
    except ImportError:
        raise MissingDependencyError("torch", "torch", "reading a torch file") from None
    try:
        module = torch.load(path, map_location="cpu", weights_only=False)
    except FileNotFoundError:
        raise NetworkError(f"{path}: no such file.") from None
    except Exception as error:
        raise NetworkError(f"{path} cannot be loaded by torch: {error}") from None
    if not isinstance(module, torch.nn.Module):
        raise NetworkError(
            f"{path} holds a {type(module).__name__}, not a module. Save the module itself, "
            f"torch.save(module, path): a state_dict does not say how its layers follow each other."
        )
    return Network.from_torch(module)
