"""Carvings as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from polycarve.carving import Carving
from polycarve.errors import InputError, MissingDependencyError


def to_frame(carving: Carving, columns: Sequence[str]) -> Any:
    """See `Carving.to_frame`."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError("pandas", "frames", "a DataFrame") from None
    more: dict[str, Callable[[], Any]] = {
        "volume": carving.volumes,
        "radius": lambda: carving.chebyshev()[1],
        "facets": lambda: np.diff(carving.halfspaces().offsets),
    }
    unknown = [name for name in columns if name not in more]
    if unknown:
        raise InputError(f"no column {unknown[0]!r}. On request there are: {', '.join(more)}.")
    patterns = carving.patterns
    letters = np.where(patterns == 1, "a", "i")
    stops = np.cumsum([0, *carving.widths])
    layers = [["".join(row) for row in letters[:, a:b]] for a, b in pairwise(stops)]
    data: dict[str, Any] = {
        "code": ["|".join(parts) for parts in zip(*layers, strict=True)]
        if layers
        else [""] * len(carving)
    }
    data |= {f"layer{k}": parts for k, parts in enumerate(layers, start=1)}
    data["active"] = patterns.sum(axis=1, dtype=np.int64)
    data |= {f"x{j + 1}": carving.points[:, j] for j in range(carving.domain.dim)}
    data["bounded"] = carving.bounded()
    data.update((name, more[name]()) for name in columns)
    return pd.DataFrame(data)
