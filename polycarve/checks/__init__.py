"""The invariants of a carving, as a report."""

from polycarve.checks.invariants import check
from polycarve.checks.report import Finding, Report

__all__ = ["Finding", "Report", "check"]
