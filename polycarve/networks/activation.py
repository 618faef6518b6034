"""Continuous piecewise-linear functions of one variable, applied to every unit of a layer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polycarve.errors import NetworkError


@dataclass(frozen=True)
class Activation:
    """A continuous piecewise-linear function with ``K`` pieces and ``K - 1`` ordered cuts.

    ``sigma(z) = slope * z + offset + sum_c jumps[c] * max(z - cuts[c], 0)``

    Every cut is one bit of a pattern, set where ``z > cut``; so a piece is the number of set
    bits, and whatever carves regions only ever meets rectified forms ``z - cut``.

    Attributes
    ----------
    name : str
    cuts : tuple of Fraction, increasing
    jumps : tuple of Fraction
        The change of slope at each cut.
    slope, offset : Fraction
        The piece below the first cut.
    """

    name: str
    cuts: tuple[Fraction, ...]
    jumps: tuple[Fraction, ...]
    slope: Fraction = Fraction(0)
    offset: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("cuts", "jumps"):
            object.__setattr__(self, name, tuple(Fraction(value) for value in getattr(self, name)))
        for name in ("slope", "offset"):
            object.__setattr__(self, name, Fraction(getattr(self, name)))
        if (
            not self.cuts
            or len(self.cuts) != len(self.jumps)
            or list(self.cuts) != sorted(set(self.cuts))
        ):
            raise NetworkError(
                f"activation {self.name!r} needs cuts that increase, and one jump for each."
            )

    def __call__(self, z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Apply to an array of pre-activations, in float64."""
        if self == RELU:
            return np.maximum(z, 0.0)
        value = float(self.slope) * z + float(self.offset)
        for cut, jump in zip(self.cuts, self.jumps, strict=True):
            value = value + float(jump) * np.maximum(z - float(cut), 0.0)
        return value

    def bits(self, z: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
        """Return one bit a cut, unit by unit: shape ``(..., n)`` to ``(..., n * n_cuts)``."""
        cuts = np.array([float(cut) for cut in self.cuts])
        above = z[..., None] > cuts
        return above.reshape(*z.shape[:-1], z.shape[-1] * len(cuts)).astype(np.uint8)


RELU = Activation("relu", cuts=(Fraction(0),), jumps=(Fraction(1),))

_BY_NAME = {"relu": RELU}


def named(name: str) -> Activation:
    """Return the activation of a name."""
    law = _BY_NAME.get(name) if isinstance(name, str) else None
    if law is None:
        known = ", ".join(sorted(_BY_NAME))
        raise NetworkError(f"activation {name!r} is not supported. Supported: {known}.")
    return law
