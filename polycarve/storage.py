"""Carvings in files: one ``.npz`` with the network and the domain inside, exactly.

Schema 1. Arrays: ``packed``, ``points``, ``point_is_interior`` (see `Carving`), and for every
matrix of exact numbers either its float64 values, where they are the very same numbers, or its
numerators as hexadecimal text. ``about`` is JSON as bytes: the schema, the structure of the
network and the domain, what stopped the run, and a SHA-256 of everything, checked on loading.
Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.domains import Box, Domain, Polytope, Segment, Slice, Space, as_domain
from polycarve.errors import InputError, PolycarveError, StorageError
from polycarve.networks import Activation, Layer, Network
from polycarve.patterns import is_sorted
from polycarve.rational import ExactArray, fraction
from polycarve.splitting.cells import packed_width

SCHEMA = 1

Arrays = dict[str, Any]


def save(carving: Carving, path: str | Path) -> None:
    """Write a carving to an ``.npz`` file; see `Carving.save`."""
    arrays: Arrays = {
        "packed": carving.packed,
        "points": carving.points,
        "point_is_interior": carving.point_is_interior,
    }
    about = {
        "schema": SCHEMA,
        "network": _pack_network(carving.network, arrays),
        "domain": _pack_domain(carving.domain, arrays),
        "n_layers": carving.n_layers,
        "stop_reason": carving.stop_reason,
        "n_doubtful": carving.n_doubtful,
        "method": carving.method,
    }
    about["sha256"] = _digest(about, arrays)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write_aside(path, lambda file: np.savez(file, **arrays))


def load(path: str | Path) -> Carving:
    """Read a carving that `Carving.save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Carving
        It answers everything that the saved one did.

    Raises
    ------
    StorageError
        The file is missing, damaged, or written by a newer version.

    Examples
    --------
    >>> import polycarve as pc, tempfile, pathlib
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], relu_last=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "four.npz"
    >>> pc.carve(net, pc.Box.cube(-1, 1, dim=2)).save(path)
    >>> len(pc.load(path))
    4
    """
    try:
        # Opened here, so that it is closed again whatever NumPy makes of it.
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays: Arrays = dict(file.items())
        about = json.loads(bytes(arrays.pop("about")))
        schema = int(about["schema"])
    except FileNotFoundError:
        raise StorageError(f"{path}: no such file.") from None
    except Exception:  # whatever a damaged or hostile file makes zip, NumPy and JSON raise
        raise StorageError(
            f"{path} is not a saved carving, or it is damaged. Save the carving again."
        ) from None
    if schema > SCHEMA:
        raise StorageError(
            f"{path} has schema {schema}; this polycarve reads up to {SCHEMA}. Update polycarve."
        )
    try:
        if about["sha256"] != _digest(about, arrays):
            raise StorageError("its contents do not match their SHA-256")
        return _unpack(about, arrays)
    except Exception as error:
        what = str(error).rstrip(".") if isinstance(error, PolycarveError) else "it lacks parts"
        raise StorageError(f"{path} is damaged: {what}. Save the carving again.") from None


def _unpack(about: dict[str, Any], arrays: Arrays) -> Carving:
    """Build a carving, having seen that all its parts fit together."""
    network = _unpack_network(about["network"], arrays)
    domain = as_domain(_unpack_domain(about["domain"], arrays), network.input_dim)
    n_layers, n_doubtful = about["n_layers"], about["n_doubtful"]
    packed, points = arrays["packed"], arrays["points"]
    inside = arrays["point_is_interior"]
    layers, n = len(network.cut_widths), len(packed)
    _see(type(n_layers) is int and 0 <= n_layers <= layers, "its number of layers")
    _see(type(n_doubtful) is int and n_doubtful >= 0, "its number of doubts")
    _see(about["stop_reason"] in (None, "regions", "time", "interrupt"), "what stopped it")
    _see(isinstance(about["method"], str), "its method")
    n_bits = sum(network.cut_widths[:n_layers])
    _see(packed.dtype == np.uint8 and packed.shape == (n, packed_width(n_bits)), "its patterns")
    _see(points.dtype == np.float64 and points.shape == (n, domain.dim), "its points")
    _see(inside.dtype == np.bool_ and inside.shape == (n,), "its marks of interior points")
    _see(n > 0 or about["stop_reason"] is not None, "its number of regions")
    if n_bits % 8:
        _see(not (packed[:, -1] & (0xFF >> n_bits % 8)).any(), "its patterns")
    _see(is_sorted(packed), "the order of its patterns")
    return Carving(
        network,
        domain,
        packed,
        points,
        inside,
        n_layers=n_layers,
        stop_reason=about["stop_reason"],
        n_doubtful=n_doubtful,
        method=about["method"],
    )


def _see(holds: Any, what: str) -> None:
    if not holds:
        raise StorageError(f"{what} cannot be right")


def write_aside(path: str | Path, write: Callable[[Any], None]) -> None:
    """Write to a file beside the target and rename it, so that no half-written file is left."""
    try:
        target = Path(path).resolve()  # a link stays one, and what it points to is written
    except TypeError:
        raise InputError(f"a path is needed to write to, not {path!r}.") from None
    if target.exists() and not target.is_file():
        raise StorageError(f"{path} cannot be written: it is not a regular file.")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        with suppress(OSError):
            Path(name).unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _digest(about: dict[str, Any], arrays: Arrays) -> str:
    """Return a SHA-256 of everything in the file but itself."""
    rest = {key: value for key, value in about.items() if key != "sha256"}
    sha = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
        sha.update(array.data if array.size else b"")
    return sha.hexdigest()


def _pack_exact(numbers: ExactArray, name: str, arrays: Arrays) -> dict[str, Any]:
    if numbers.is_float64:
        arrays[name] = np.array(numbers.float64)
        return {"floats": name}
    text = " ".join(f"{n:x}" for n in numbers.numerators.ravel().tolist())
    arrays[name] = np.frombuffer(text.encode(), np.uint8)
    return {"hex": name, "shape": list(numbers.shape), "denominator": f"{numbers.denominator:x}"}


def _unpack_exact(entry: dict[str, Any], arrays: Arrays) -> ExactArray:
    if "floats" in entry:
        return ExactArray.of(arrays[entry["floats"]])
    whole = [int(text, 16) for text in bytes(arrays[entry["hex"]]).decode().split()]
    numerators = np.empty(len(whole), dtype=object)
    numerators[:] = whole
    return ExactArray(numerators.reshape(entry["shape"]), int(entry["denominator"], 16))


def _pack_network(network: Network, arrays: Arrays) -> dict[str, Any]:
    layers = []
    for k, layer in enumerate(network.layers):
        law = layer.activation
        layers.append(
            {
                "weight": _pack_exact(layer.weight, f"weight{k}", arrays),
                "bias": _pack_exact(layer.bias, f"bias{k}", arrays),
                "inputs": list(layer.inputs),
                "activation": law
                and {
                    "name": law.name,
                    "cuts": [str(cut) for cut in law.cuts],
                    "jumps": [str(jump) for jump in law.jumps],
                    "slope": str(law.slope),
                    "offset": str(law.offset),
                },
            }
        )
    return {"input_dim": network.input_dim, "layers": layers}


def _unpack_network(entry: dict[str, Any], arrays: Arrays) -> Network:
    layers = []
    for layer in entry["layers"]:
        law = layer["activation"]
        activation = law and Activation(
            law["name"],
            tuple(fraction(cut) for cut in law["cuts"]),
            tuple(fraction(jump) for jump in law["jumps"]),
            fraction(law["slope"]),
            fraction(law["offset"]),
        )
        layers.append(
            Layer(
                _unpack_exact(layer["weight"], arrays),
                _unpack_exact(layer["bias"], arrays),
                activation,
                tuple(layer["inputs"]),
            )
        )
    return Network(layers, entry["input_dim"])


def _pack_domain(domain: Domain, arrays: Arrays) -> dict[str, Any]:
    if isinstance(domain, Box):
        return {
            "kind": "box",
            "lo": _pack_exact(domain.lo, "lo", arrays),
            "hi": _pack_exact(domain.hi, "hi", arrays),
        }
    if isinstance(domain, Space):
        return {"kind": "space", "dim": domain.dim}
    if isinstance(domain, Polytope):
        return {
            "kind": "polytope",
            "A": _pack_exact(domain.A, "A", arrays),
            "b": _pack_exact(domain.b, "b", arrays),
        }
    if isinstance(domain, Segment):
        return {
            "kind": "segment",
            "x0": _pack_exact(domain.x0, "x0", arrays),
            "x1": _pack_exact(domain.x1, "x1", arrays),
        }
    if isinstance(domain, Slice):
        return {
            "kind": "slice",
            "origin": _pack_exact(domain.origin, "origin", arrays),
            "directions": _pack_exact(domain.directions, "directions", arrays),
            "domain": _pack_domain(domain.domain, arrays),
        }
    raise StorageError(f"a carving on a {type(domain).__name__} cannot be saved.")


def _unpack_domain(entry: dict[str, Any], arrays: Arrays) -> Domain:
    if entry["kind"] == "box":
        lo, hi = (_unpack_exact(entry[side], arrays) for side in ("lo", "hi"))
        return Box(lo, hi)
    if entry["kind"] == "space":
        return Space(entry["dim"])
    if entry["kind"] == "polytope":
        return Polytope(*(_unpack_exact(entry[part], arrays) for part in ("A", "b")))
    if entry["kind"] == "segment":
        return Segment(*(_unpack_exact(entry[end], arrays) for end in ("x0", "x1")))
    if entry["kind"] == "slice":
        origin, directions = (_unpack_exact(entry[p], arrays) for p in ("origin", "directions"))
        return Slice(origin, directions, domain=_unpack_domain(entry["domain"], arrays))
    raise StorageError(f"its domain is of an unknown kind, {entry['kind']!r}")
