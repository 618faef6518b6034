"""Everything polycarve raises on purpose: what was given, what is needed, what to do."""

from __future__ import annotations


class PolycarveError(Exception):
    """Base of all errors raised on purpose; catch it to catch them all."""


class NetworkError(PolycarveError, ValueError):
    """A network cannot be read or is not what the call needs."""


class UnsupportedLayerError(NetworkError):
    """A model holds layers that are not piecewise linear, or not supported."""


class DomainError(PolycarveError, ValueError):
    """A domain is empty, malformed, or does not fit the network."""


class InputError(PolycarveError, ValueError):
    """An argument of a call is outside what it accepts."""


class PatternError(PolycarveError, LookupError):
    """A code, pattern or index names no region."""


class StorageError(PolycarveError, OSError):
    """A file cannot be written, or does not hold what it should."""


class GeometryError(PolycarveError, ValueError):
    """A region has no such thing: vertices where it is unbounded, say."""


class UnboundedError(GeometryError):
    """A region is unbounded, so it has no volume and is not spanned by its vertices."""


class RegionIndexError(PatternError, IndexError):
    """An index is beyond the last region."""


class NumericalError(PolycarveError, ArithmeticError):
    """Floating point could not finish a computation; nothing was decided by guessing."""


class MissingDependencyError(PolycarveError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed. "
            f"Install it with: pip install 'polycarve[{extra}]'"
        )
