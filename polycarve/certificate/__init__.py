"""Counts as theorems: the proof of a carving, its repair, its file, and an independent checker."""

from polycarve.certificate.proving import certify
from polycarve.certificate.result import Certificate

__all__ = ["Certificate", "certify"]
