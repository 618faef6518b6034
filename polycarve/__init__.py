"""Exact enumeration of the activation regions of ReLU networks.

>>> import polycarve as pc
>>> net = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, -1]]])
>>> carving = pc.carve(net, pc.Box([-1, -1], [1, 1]))
>>> len(carving), carving[0].code
(4, 'ii')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycarve.carving import Carving as Carving
    from polycarve.checks import check as check
    from polycarve.comparison import Comparison as Comparison
    from polycarve.comparison import compare as compare
    from polycarve.domains import Box as Box
    from polycarve.domains import Polytope as Polytope
    from polycarve.domains import Segment as Segment
    from polycarve.domains import Slice as Slice
    from polycarve.domains import Space as Space
    from polycarve.errors import PolycarveError as PolycarveError
    from polycarve.graph import write_graph as write_graph
    from polycarve.images import image_volumes as image_volumes
    from polycarve.networks import Network as Network
    from polycarve.recursion import MethodChoice as MethodChoice
    from polycarve.recursion import carve as carve
    from polycarve.recursion import count_regions as count_regions
    from polycarve.recursion import region_at as region_at
    from polycarve.recursion import select_method as select_method
    from polycarve.region import Region as Region
    from polycarve.sampling import SampleEstimate as SampleEstimate
    from polycarve.sampling import sample as sample
    from polycarve.segments import SegmentCarvings as SegmentCarvings
    from polycarve.segments import carve_segments as carve_segments
    from polycarve.splitting.drive import Limits as Limits
    from polycarve.storage import load as load
    from polycarve.theory import bounds as bounds
    from polycarve.training import CarveCallback as CarveCallback

__version__ = "0.1.0"

# Loaded on first use: importing polycarve costs next to nothing.
_HOMES = {
    "Box": "polycarve.domains",
    "CarveCallback": "polycarve.training",
    "Carving": "polycarve.carving",
    "Comparison": "polycarve.comparison",
    "Limits": "polycarve.splitting.drive",
    "MethodChoice": "polycarve.recursion",
    "Network": "polycarve.networks",
    "PolycarveError": "polycarve.errors",
    "Polytope": "polycarve.domains",
    "Region": "polycarve.region",
    "SampleEstimate": "polycarve.sampling",
    "Segment": "polycarve.domains",
    "SegmentCarvings": "polycarve.segments",
    "Slice": "polycarve.domains",
    "Space": "polycarve.domains",
    "bounds": "polycarve.theory",
    "carve": "polycarve.recursion",
    "carve_segments": "polycarve.segments",
    "check": "polycarve.checks",
    "compare": "polycarve.comparison",
    "count_regions": "polycarve.recursion",
    "image_volumes": "polycarve.images",
    "load": "polycarve.storage",
    "region_at": "polycarve.recursion",
    "sample": "polycarve.sampling",
    "select_method": "polycarve.recursion",
    "write_graph": "polycarve.graph",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in ("errors", "plot", "sampling", "theory"):
        return import_module(f"polycarve.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'polycarve' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
