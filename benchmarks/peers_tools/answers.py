"""What every tool's file gives back for one run, and how two lists of regions are compared."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Layers = list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


@dataclass(frozen=True)
class Problem:
    """Hidden layers, each followed by ReLUs, on the cube ``[low, high]^d``."""

    layers: Layers
    low: float
    high: float

    @property
    def dim(self) -> int:
        return int(self.layers[0][0].shape[1])


@dataclass(frozen=True)
class Answer:
    """A tool's own count, and what its list can be compared by.

    ``patterns``, ``(R, N)``, are given where the tool lists them, else ``points``, ``(R, d)``,
    whose patterns are those of the regions, unless rounding or a region without an interior
    spoils them.
    """

    count: int
    patterns: npt.NDArray[np.bool_] | None = None
    points: npt.NDArray[np.float64] | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def digest(self, layers: Layers) -> str:
        """Return a hash of the set of patterns, "" where there is none to be had."""
        patterns = self.patterns
        if patterns is None and self.points is not None:
            patterns = patterns_at(layers, self.points[np.isfinite(self.points).all(axis=1)])
        if patterns is None:
            return ""
        rows = np.unique(np.packbits(patterns, axis=1), axis=0)
        return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


class OutOfTimeError(Exception):
    """A tool that watches the clock itself has stopped; ``details`` say how far it got."""

    def __init__(self, details: dict[str, Any]) -> None:
        super().__init__("out of time")
        self.details = details


def patterns_at(layers: Layers, points: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which neurons are active at points, by a plain forward pass in float64."""
    values, patterns = points, []
    for weight, bias in layers:
        z = values @ weight.T + bias
        patterns.append(z > 0)
        values = np.maximum(z, 0.0)
    return np.concatenate(patterns, axis=1)
