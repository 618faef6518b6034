"""Segments: breakpoints along thousands of them at once, in networks of any size."""

from polycarve.segments.carvings import SegmentCarvings
from polycarve.segments.runs import carve_segments

__all__ = ["SegmentCarvings", "carve_segments"]
