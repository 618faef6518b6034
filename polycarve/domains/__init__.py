"""The place that is carved: a convex set of inputs, with its numbers kept exactly.

A domain has *coordinates* ``y`` (the inputs themselves for a `Box` and a `Space`), an
embedding ``embed(y)`` into the network's inputs, and a `Frame`: the bounded box in which the
kernels work. ``rank`` is its affine dimension, which is what bounds on region counts take.
"""

from polycarve.domains.box import Box as Box
from polycarve.domains.domain import Domain as Domain
from polycarve.domains.domain import Frame as Frame
from polycarve.domains.polytope import Polytope as Polytope
from polycarve.domains.reading import as_domain as as_domain
from polycarve.domains.slices import Segment as Segment
from polycarve.domains.slices import Slice as Slice
from polycarve.domains.space import Space as Space
