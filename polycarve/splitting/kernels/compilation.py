"""How kernels are compiled and where their machine code is kept.

Numba's own cache notices a change in a function's file, but not in a helper it calls from
another file. So the folder is named by a hash of all kernel sources and of the versions that
shape the machine code; where no folder can be written, kernels are compiled anew each time.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.options import DefaultOptions

# Kernels allocate nothing, so nothing is gained by counting references to arrays, as is done at
# every call otherwise, at more than the cost of the arithmetic. The option is numba's own.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
if hasattr(DefaultOptions, "_nrt"):
    _OPTIONS["_nrt"] = False


def _cache_home() -> Path:
    """Return the user's cache folder for polycarve; ``POLYCARVE_CACHE`` overrides it."""
    chosen = os.environ.get("POLYCARVE_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "polycarve"


def _cache_folder() -> Path | None:
    sources = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(source.read_bytes())
    try:
        folder = _cache_home() / f"kernels-{sources.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # nothing writable, or no home at all
        return None


FOLDER = _cache_folder()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use: without the GIL, cached where a folder is writable.

    It may take views of arrays, but must not make any.
    """
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function as `kernel` does, into the functions that call it.

    For what is called often with many arrays: each is handed over as seven words.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: Callable[..., Any], **more: Any) -> Any:
    options = _OPTIONS | more
    if FOLDER is None:
        return numba.njit(**options)(function)
    before = numba.config.CACHE_DIR
    try:
        # Read once, when the cache is attached to the function; put back for everybody else.
        numba.config.CACHE_DIR = str(FOLDER)
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def announce(function: Any) -> None:
    """Say on stderr that a kernel is about to be compiled, if it is."""
    if getattr(function, "signatures", True):  # without the compiler there are none to wait for
        return
    if FOLDER is None:
        sys.stderr.write(
            "polycarve: compiling kernels (no cache folder is writable, so every process does; "
            "set POLYCARVE_CACHE to one that is)\n"
        )
    elif not any(FOLDER.rglob(f"*.{function.__name__}-*.nbi")):
        sys.stderr.write("polycarve: compiling kernels once, some twenty seconds\n")
