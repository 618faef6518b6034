"""What may stand wherever a domain is asked for."""

from __future__ import annotations

from typing import Any

from polycarve.domains.box import Box
from polycarve.domains.domain import Domain
from polycarve.errors import DomainError


def as_domain(given: Any, input_dim: int) -> Domain:
    """Return a domain from a Domain or ``[(lo, hi), ...]``, checked against an input dimension."""
    if isinstance(given, Domain):
        domain = given
    else:
        try:
            pairs = [(lo, hi) for lo, hi in given]
        except (TypeError, ValueError):
            raise DomainError(
                f"a {type(given).__name__} is not a domain. Give a Box, Polytope, Slice, "
                f"Segment or Space, or one (lo, hi) pair a coordinate."
            ) from None
        domain = Box([lo for lo, _ in pairs], [hi for _, hi in pairs])
    if domain.input_dim != input_dim:
        raise DomainError(
            f"the domain has {domain.input_dim} coordinates and the network reads {input_dim}. "
            f"Give a domain of dimension {input_dim}."
        )
    return domain
