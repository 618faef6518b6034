"""`SampleEstimate`: the regions that a sample of points found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.domains import Domain
from polycarve.errors import InputError
from polycarve.networks import Network, codes
from polycarve.sampling import draws, richness, rows
from polycarve.sampling.estimate import CountEstimate
from polycarve.tables import align

FloatArray = npt.NDArray[np.float64]
BitArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SampleEstimate:
    """The regions that a sample of points found, and what they say of those it missed.

    Made by `polycarve.sample`.

    Attributes
    ----------
    network, domain
    kind : "uniform", "grid" or "points"
    how : str
        How the points came about, in words.
    n : int
        Points in the domain that were looked at.
    n_on_boundary : int
        Those of them on a boundary between regions. They lie in no region and are not counted:
        their patterns would add regions that do not exist.
    n_outside : int
        Points of a grid or given ones that lie outside the domain; they were not looked at.
    packed : (S, ceil(N / 8)) uint8
        The distinct patterns, in their order, eight neurons to the byte.
    counts : (S,) int64
        How many points had each.
    first_seen : (S,) int64
        Which point was the first to have it, from 0.
    is_whole : bool
        False where time ran out before all points were looked at.
    """

    network: Network
    domain: Domain
    kind: draws.Kind
    how: str
    n: int
    n_on_boundary: int
    n_outside: int
    packed: BitArray
    counts: IntArray
    first_seen: IntArray
    is_whole: bool = True

    def __len__(self) -> int:
        """Number of distinct regions seen."""
        return len(self.packed)

    @property
    def n_counted(self) -> int:
        """Points that lie in regions."""
        return self.n - self.n_on_boundary

    @property
    def patterns(self) -> BitArray:
        """The distinct patterns, ``(S, N)``."""
        return np.unpackbits(self.packed, axis=1, count=int(sum(self.network.cut_widths)))

    def codes(self) -> list[str]:
        """Return the distinct patterns as codes such as ``"aai|ia"``."""
        return [codes.code_of(bits, self.network.cut_widths) for bits in self.patterns]

    @property
    def frequencies(self) -> FloatArray:
        """The share of the counted points in each region seen, ``(S,)``."""
        return np.asarray(self.counts / max(1, self.n_counted), dtype=np.float64)

    @cached_property
    def frequency_counts(self) -> dict[int, int]:
        """How many regions were seen exactly k times: ``{k: f_k}``."""
        return richness.frequency_counts(self.counts)

    @cached_property
    def saturation(self) -> tuple[IntArray, IntArray]:
        """How many distinct regions the first m points found: ``(m, regions)``, m log-spaced.

        Where the curve still rises at its end, most of what there is has not been seen; where it
        is flat, nothing is proven either.
        """
        steps = draws.log_spaced(self.n)
        return steps, np.searchsorted(np.sort(self.first_seen), steps, side="left")

    @property
    def are_independent(self) -> bool:
        """Whether the points count as independent draws, which the estimates presume."""
        return self.kind != "grid"

    @cached_property
    def estimates(self) -> tuple[CountEstimate, ...]:
        """What `polycarve.sampling` estimates from the counts; of a grid only the number seen.

        Of given points they are about the regions that more such points would reach.
        """
        if not self.are_independent:
            return (richness.observed(self.counts),)
        return richness.all_estimates(self.counts)

    @property
    def missing_mass(self) -> float | None:
        """Good and Turing's estimate of the share of the domain in regions not seen.

        See `polycarve.sampling.good_turing_mass`; None for a grid, and where nothing was counted.
        """
        if not self.are_independent or not self.n_counted:
            return None
        return richness.good_turing_mass(self.counts)

    def extrapolate(self, t: float = 1.0) -> float:
        """Return how many new regions ``t * n`` more points would find, for t up to 1.

        See `polycarve.sampling.good_toulmin`.
        """
        if not self.are_independent:
            raise InputError(
                "the points of a grid are not drawn at random, so nothing follows about more of "
                "them. Sample with n=..., or a finer grid."
            )
        return richness.good_toulmin(self.counts, t)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data that JSON can hold; patterns are left out."""
        steps, regions = self.saturation
        return {
            "kind": self.kind,
            "how": self.how,
            "n": self.n,
            "n_on_boundary": self.n_on_boundary,
            "n_outside": self.n_outside,
            "is_whole": self.is_whole,
            "regions_seen": len(self),
            "frequency_counts": {str(k): f for k, f in self.frequency_counts.items()},
            "saturation": {"n": steps.tolist(), "regions": regions.tolist()},
            "missing_mass": self.missing_mass,
            "estimates": [rows.as_dict(one) for one in self.estimates],
        }

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = [("points", f"{self.n:,}", self.how)]
        if not self.is_whole:
            lines.append(("", "", "time ran out before all were looked at"))
        if self.n_on_boundary:
            lines.append(("on a boundary", f"{self.n_on_boundary:,}", "not counted as regions"))
        if self.n_outside:
            lines.append(("outside", f"{self.n_outside:,}", "not looked at"))
        lines += [rows.row(one) for one in self.estimates]
        if self.missing_mass is not None:
            share = f"{self.missing_mass:.3g}"
            lines.append(("missing mass", share, "Estimates a share of the domain, not a number."))
        return lines

    def __str__(self) -> str:
        return align(self._lines(), right=(1,))

    def _repr_html_(self) -> str:
        cells = (
            f"<tr><th>{escape(a)}</th><td>{escape(b)}</td><td>{escape(c)}</td></tr>"
            for a, b, c in self._lines()
        )
        return f"<table>{''.join(cells)}</table>"

    def __repr__(self) -> str:
        seen = f"{len(self)} region{'' if len(self) == 1 else 's'}"
        return f"SampleEstimate({seen} seen by {self.n} points: {self.how})"
