"""`Comparison`: what a network has and what its architecture allows, as a table."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from polycarve.carving import Carving
from polycarve.domains import Domain
from polycarve.networks import Network
from polycarve.patterns import first_difference
from polycarve.sampling.estimate import CountEstimate
from polycarve.sampling.rows import as_dict, with_error
from polycarve.sampling.rows import number as rounded
from polycarve.sampling.sample_estimate import SampleEstimate
from polycarve.splitting.drive import Limits
from polycarve.tables import align, exact_json, readable
from polycarve.theory.bound import BoundRow

# Notes are broken into lines of so many letters.
_NOTE_WIDTH = 66

# Whole numbers of more digits are rounded.
_MOST_DIGITS = 15


class Coverage(NamedTuple):
    """How much of a complete carving a sample saw.

    Attributes
    ----------
    regions : float
        Share of the regions.
    volume : float or None
        Share of the domain's volume that is in regions seen; None where the volumes of all regions
        would be dear to have.
    n_unlisted : int
        Patterns that the sample has and the carving lacks: 0 where nothing is doubtful.
    """

    regions: float
    volume: float | None
    n_unlisted: int


class Row(NamedTuple):
    """A line of the table.

    Attributes
    ----------
    name, kind, number, note : str
    value : float, int, Fraction or None
        The number itself.
    """

    name: str
    kind: str
    number: str
    note: str
    value: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The number of regions of a network, counted, sampled, estimated and bounded.

    Made by `polycarve.compare`. Prints as a table of two blocks: *this network*, and *what this
    architecture can*.

    Attributes
    ----------
    network, domain
    limits : Limits
        What it was told to stay within.
    carving : Carving or None
        Complete, or as far as the limits let it come; None where it was not tried.
    samples : tuple of SampleEstimate
        Random points, and a grid, where they were taken.
    coverages : tuple of Coverage or None
        How much of the carving each sample saw; None where the carving is not complete.
    estimates : tuple of CountEstimate
        Those of the random points, then those that need no points.
    missing : tuple of (name, reason)
        What could not be had.
    bounds : tuple of BoundRow
        Every statement about the architecture, with the rank of the domain as dimension; the last
        is the most regions of as many neurons in a single layer, of the kind ``"one layer"``: no
        bound for a network with more layers.
    """

    network: Network
    domain: Domain
    limits: Limits
    carving: Carving | None
    samples: tuple[SampleEstimate, ...]
    coverages: tuple[Coverage | None, ...]
    estimates: tuple[CountEstimate, ...]
    missing: tuple[tuple[str, str], ...]
    bounds: tuple[BoundRow, ...]

    @property
    def complete(self) -> bool:
        """Whether the exact number is known."""
        return self.carving is not None and self.carving.complete

    @property
    def stop_reason(self) -> str | None:
        """What stopped the carving; "size" where it was too large to be tried."""
        return "size" if self.carving is None else self.carving.stop_reason

    @cached_property
    def layer_counts(self) -> tuple[int, ...]:
        """Regions after each layer; if not `complete`, what was seen of them: lower bounds."""
        found = [] if self.carving is None else [self.carving.layer_counts]
        if not self.complete:
            found += [_layer_counts(sample) for sample in self.samples]
        return tuple(max(counts) for counts in zip(*found, strict=True))

    @property
    def regions(self) -> int:
        """The number of regions; if not `complete`, a lower bound."""
        return max(1, *self.layer_counts) if self.layer_counts else 1

    def estimate(self, name: str) -> CountEstimate | None:
        """Return the estimate of a name, None if it could not be had."""
        return next((one for one in self.estimates if one.name == name), None)

    def bound(self, name: str) -> BoundRow | None:
        """Return the statement of a name, None if there is none."""
        return next((row for row in self.bounds if row.name == name), None)

    # ------------------------------------------------------------------ how it shows

    @cached_property
    def this_network(self) -> tuple[Row, ...]:
        """The first block of the table."""
        return tuple(self._this_network())

    def _this_network(self) -> Iterator[Row]:
        yield self._counted()
        for sample, coverage in zip(self.samples, self.coverages, strict=True):
            name = sample.how if sample.kind == "grid" else f"{sample.n:,} random points"
            yield Row(name, "seen", f"{len(sample):,}", _seen(sample, coverage), len(sample))
        for one in self.estimates:
            kind = "baseline" if one.is_baseline else "estimate"
            yield Row(one.name, kind, with_error(one), _note(one), one.value)
        for name, reason in self.missing:
            yield Row(name, "-", "-", reason)

    def _counted(self) -> Row:
        carving, value = self.carving, self.regions
        after = ""
        if len(self.layer_counts) > 1:
            counts = [f"{n:,}" for n in self.layer_counts]
            if len(counts) > 8:  # to_dict has them all
                counts[3:-3] = ["..."]
            after = f"after each layer: {', '.join(counts)}"
        if carving is not None and carving.n_doubtful:
            after += f"{'; ' if after else ''}{carving.n_doubtful:,} doubtful decisions"
        if self.complete:
            return Row("carved", "exact", f"{value:,}", after, value)
        why = "not carved; points saw so many"
        if carving is not None:
            why = f"stopped by {carving.stop_reason}"
            if len(carving) < value:
                why += f" at {len(carving):,}; points saw more"
        note = f"{why}; {after}" if after else why
        return Row("carved", "at least", f"{value:,}", note, value)

    @cached_property
    def this_architecture(self) -> tuple[Row, ...]:
        """The second block of the table."""
        return tuple(
            Row(
                row.name,
                row.kind,
                _whole(row.value),
                f"not claimed: {row.reason}" if row.value is None else row.source,
                row.value,
            )
            for row in self.bounds
        )

    @property
    def _titles(self) -> tuple[str, str]:
        widths = ", ".join(map(str, self.network.cut_widths[:12]))
        more = ", ..." if len(self.network.cut_widths) > 12 else ""
        where = f"{widths}{more} in dimension {self.domain.rank}"
        return "this network", f"what this architecture can: {where}"

    def __str__(self) -> str:
        first, second = self._titles
        above = [cells for row in self.this_network for cells in _wrapped(row)]
        below = [cells for row in self.this_architecture for cells in _wrapped(row)]
        lines = align([*above, *below], right=(2,)).splitlines()
        table = [f"{self.network!r} on {self.domain!r}", "", first, *lines[: len(above)]]
        if below:
            table += ["", second, *lines[len(above) :]]
        return "\n".join(table)

    def _repr_html_(self) -> str:
        try:
            blocks = zip(self._titles, (self.this_network, self.this_architecture), strict=True)
            cells = "".join(
                f'<tr><th colspan="4" style="text-align:left">{html.escape(title)}</th></tr>'
                + "".join(_html_row(row) for row in rows)
                for title, rows in blocks
                if rows
            )
            about = html.escape(f"{self.network!r} on {self.domain!r}")
            return f"<table><caption>{about}</caption>{cells}</table>"
        except Exception:  # a display must never be what fails
            return "<table></table>"

    def __repr__(self) -> str:
        least = "" if self.complete else "at least "
        many = f"{self.regions} region{'' if self.regions == 1 else 's'}"
        return f"Comparison({least}{many}, {len(self.estimates)} estimates)"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold; patterns are left out.

        Whole numbers are Python integers, those of more than 600 digits strings.
        """
        carving = self.carving
        samples = []
        for sample, coverage in zip(self.samples, self.coverages, strict=True):
            found = sample.to_dict()
            found["coverage"] = None if coverage is None else coverage._asdict()
            samples.append(found)
        return {
            "regions": self.regions,
            "complete": self.complete,
            "stop_reason": self.stop_reason,
            "layer_counts": list(self.layer_counts),
            "n_carved": None if carving is None else len(carving),
            "n_doubtful": None if carving is None else carving.n_doubtful,
            "network": {
                "input_dim": self.network.input_dim,
                "widths": list(self.network.widths),
                "sha256": self.network.digest,
            },
            "domain": {
                "description": repr(self.domain),
                "rank": self.domain.rank,
                "sha256": self.domain.digest,
            },
            "samples": samples,
            "estimates": [as_dict(one) for one in self.estimates],
            "missing": [{"name": name, "reason": reason} for name, reason in self.missing],
            "bounds": [{**row._asdict(), "value": exact_json(row.value)} for row in self.bounds],
        }

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the numbers on a logarithmic axis; see `polycarve.plot.plot_comparison`."""
        from polycarve.plot.comparison import plot_comparison

        return plot_comparison(self, ax=ax)


def _layer_counts(sample: SampleEstimate) -> tuple[int, ...]:
    """Return how many regions of each layer the points of a sample saw."""
    differing = first_difference(sample.packed)
    some = min(1, len(sample))
    ends = accumulate(sample.network.cut_widths)
    return tuple(some + int((differing < end).sum()) for end in ends)


def _seen(sample: SampleEstimate, coverage: Coverage | None) -> str:
    notes = []
    if coverage is not None:
        notes.append(f"{_percent(coverage.regions)} of the regions")
        if coverage.volume is not None:
            notes.append(f"{_percent(coverage.volume)} of the volume")
        if coverage.n_unlisted:
            notes.append(f"{coverage.n_unlisted:,} of them not in the carving")
    elif sample.missing_mass is not None:
        notes.append(f"about {_percent(1 - sample.missing_mass)} of the volume")
    if sample.n_on_boundary:
        notes.append(f"{sample.n_on_boundary:,} points on boundaries not counted")
    if not sample.is_whole:
        notes.append("time ran out before more were drawn")
    return ", ".join(notes)


def _note(estimate: CountEstimate) -> str:
    if estimate.interval is None or estimate.standard_error == 0:
        return estimate.promise
    low, high = map(rounded, estimate.interval)
    level = "" if estimate.confidence is None else f"{100 * estimate.confidence:g} % "
    return f"{level}interval {low} to {high}. {estimate.promise}"


def _percent(share: float) -> str:
    """Return a share in percent, with enough digits to tell it from all and from nothing."""
    for digits in range(1, 8):
        text = f"{100 * share:.{digits}f}"
        if share in (0, 1) or float(text) not in (0, 100):
            break
    return f"{float(text):g} %" if share in (0, 1) else f"{text} %"


def _whole(value: Any) -> str:
    if value is not None and value < 10**_MOST_DIGITS:
        return f"{float(value):,.1f}" if value != int(value) else f"{int(value):,}"
    return readable(value, _MOST_DIGITS)


def _wrapped(row: Row) -> Iterator[tuple[str, str, str, str]]:
    """Yield the lines of a row, of which only the first has more than a note."""
    first, *more = textwrap.wrap(row.note, _NOTE_WIDTH) or [""]
    yield row.name, row.kind, row.number, first
    for line in more:
        yield "", "", "", line


def _html_row(row: Row) -> str:
    styles = ("left", "left", "right", "left")
    cells = (
        f'<td style="text-align:{side}">{html.escape(cell)}</td>'
        for side, cell in zip(styles, row[:4], strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
