"""What checks find, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from polycarve.errors import InputError
from polycarve.tables import align

Status = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    name : str
    status : "ok", "failed" or "skipped"
    measured : float or None
        None if it was skipped.
    tolerance : float
        What `measured` must not exceed.
    note : str
        What was measured; or what is wrong, with an example; or why it was skipped.
    """

    name: str
    status: Status
    measured: float | None
    tolerance: float
    note: str


@dataclass(frozen=True, repr=False)
class Report:
    """What `polycarve.check` returns; prints as a table.

    Attributes
    ----------
    findings : tuple of Finding
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed; some may have been skipped."""
        return not any(finding.status == "failed" for finding in self.findings)

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of a name."""
        for finding in self.findings:
            if finding.name == name:
                return finding
        names = ", ".join(finding.name for finding in self.findings)
        raise InputError(f"no check is called {name!r}. There are: {names}.")

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        return {"ok": self.ok, "findings": [asdict(finding) for finding in self.findings]}

    def __str__(self) -> str:
        rows = [["check", "result", "measured", "tolerance", ""]]
        for found in self.findings:
            measured = "" if found.measured is None else f"{found.measured:.3g}"
            tolerance = "" if found.measured is None else f"{found.tolerance:.3g}"
            rows.append([found.name, found.status, measured, tolerance, found.note])
        return align(rows, right=(2, 3))

    def __repr__(self) -> str:
        count = {"ok": 0, "failed": 0, "skipped": 0}
        for finding in self.findings:
            count[finding.status] += 1
        return f"Report({', '.join(f'{n} {status}' for status, n in count.items())})"


def result(
    name: str, measured: float, tolerance: float, well: str, ill: str | None = None
) -> Finding:
    """Return the finding of what was measured, with what to say if it is well and if it is not."""
    if measured <= tolerance:
        return Finding(name, "ok", measured, tolerance, well)
    return Finding(name, "failed", measured, tolerance, ill or well)
