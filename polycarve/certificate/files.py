"""Certificates as files: gzip, a JSON value a line, integers as hexadecimal text.

`checker` says what stands in them, and reads them; nothing else does.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from polycarve.certificate.places import Place, Point
from polycarve.domains import Box, Polytope, Slice, Space
from polycarve.networks import Network
from polycarve.rational import ExactArray
from polycarve.storage import write_aside

FORMAT, VERSION = "polycarve certificate", 1


def write(
    path: str | Path,
    network: Network,
    place: Place,
    n_layers: int,
    regions: Iterable[tuple[str, Point, Sequence[Sequence[int]]]],
    *,
    n_regions: int,
    is_complete: bool,
) -> None:
    """Write a certificate; regions are patterns in hexadecimal, witnesses and vectors."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "network": network.digest,
        "domain": place.domain.digest,
        "layers": f"{n_layers:x}",
        "regions": f"{n_regions:x}",
        "complete": is_complete,
    }

    def put(file: Any) -> None:
        # No time and no name inside: the same proof is the same file.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            text = io.TextIOWrapper(packed, "ascii", newline="\n")
            for entry in (header, _network(network), _domain(place)):
                text.write(json.dumps(entry) + "\n")
            for pattern, (denominator, numerators), vectors in regions:
                parts = [pattern, integers([denominator, *numerators]), *map(integers, vectors)]
                text.write(json.dumps(parts, separators=(",", ":")) + "\n")
            text.flush()
            text.detach()

    write_aside(path, put)


def integers(values: Iterable[int]) -> str:
    """Return integers as hexadecimal text, blanks between them."""
    return " ".join([f"{value:x}" for value in values])


def rationals(values: ExactArray) -> str:
    lowest = values.reduced()
    return integers([lowest.denominator, *lowest.numerators.ravel().tolist()])


def _network(network: Network) -> dict[str, Any]:
    layers = []
    for layer in network.layers:
        law = layer.activation
        layers.append(
            {
                "inputs": integers(layer.inputs),
                "units": f"{layer.n_units:x}",
                "weight": rationals(layer.weight),
                "bias": rationals(layer.bias),
                "activation": law
                and {
                    "cuts": _few(law.cuts),
                    "jumps": _few(law.jumps),
                    "start": _few((law.slope, law.offset)),
                },
            }
        )
    return {"input_dim": f"{network.input_dim:x}", "layers": layers}


def _few(values: Sequence[Fraction]) -> str:
    return rationals(ExactArray.of(np.array(values, dtype=object)))


def _domain(place: Place) -> dict[str, Any]:
    domain = place.domain
    if isinstance(domain, Slice):
        inner = _plain_domain(domain.domain, place)
        origin, directions = rationals(domain.origin), rationals(domain.directions)
        return {"kind": "slice", "origin": origin, "directions": directions, "domain": inner}
    return _plain_domain(domain, place)


def _plain_domain(domain: Any, place: Place) -> dict[str, Any]:
    if isinstance(domain, Box):
        return {"kind": "box", "lo": rationals(domain.lo), "hi": rationals(domain.hi)}
    if isinstance(domain, Space):
        return {"kind": "space", "dim": f"{domain.dim:x}"}
    assert isinstance(domain, Polytope)
    around = None
    if place.box is not None:
        lo, hi = place.box
        proofs = [integers(proof) for proof in place.proofs]
        around = {"lo": rationals(lo), "hi": rationals(hi), "proofs": proofs}
    A, b = rationals(domain.A), rationals(domain.b)
    return {"kind": "polytope", "dim": f"{domain.dim:x}", "A": A, "b": b, "box": around}
