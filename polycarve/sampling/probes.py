"""Unbiased estimates of a number of regions that need not be listed: probes of the tree of cells.

Every region lies at the end of one path through the tree of cells: the domain, a cell of the first
layer inside it, a cell of the second layer inside that, and so on. Whoever walks down at random,
each child being as likely as the others, ends in a region with the probability ``1 / (m1 m2 ...)``,
where ``m1, m2, ...`` are the numbers of children met on the way. So the product ``m1 m2 ...`` has
the number of regions as its expectation, exactly, whatever the network (Knuth 1975).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.errors import InputError
from polycarve.sampling.arguments import as_generator, checked_confidence
from polycarve.sampling.estimate import CountEstimate, mean, mean_interval, standard_error
from polycarve.sampling.levels import CellTree, Guard
from polycarve.sampling.walks import Walk, child_by_halving, uniform_child
from polycarve.splitting.drive import Limits, checked
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]


def layer_probe(
    net: Any,
    domain: Any,
    n_probes: int = 100,
    *,
    rng: Any = None,
    limits: Limits | None = None,
    confidence: float = 0.95,
) -> CountEstimate:
    """Estimate the number of regions by walking down the layers at random.

    A probe lists all children of its cell for one whole layer, goes on with one of them, chosen
    uniformly, and multiplies the numbers of children. This is the way to guess a count that is too
    large to carve; only the first layer's regions must be few enough to be listed.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    domain : Box, Polytope, Space, Slice, Segment, or [(lo, hi), ...]
    n_probes : int
    rng : int, numpy.random.Generator or None
    limits : Limits, optional
        ``max_seconds`` stops after the probes finished by then; ``max_regions`` is the most
        children of one cell that may be listed, by default 250,000, or a gigabyte of them.
    confidence : float
        How often the interval is meant to cover the number.

    Returns
    -------
    CountEstimate
        With a standard error and an interval, from two probes on. It is unbiased, unless time ran
        out: probes that take long, and count much, are more likely to be cut off.

    Raises
    ------
    InputError
        A layer has too many regions to be listed, or time ran out before the first probe was done:
        use `stochastic_enumeration`.
    NumericalError
        The estimate is too large for a float.

    Notes
    -----
    On the four networks of the benchmarks the standard deviation of one probe is 1.2 to 1.9 times
    the number of regions, where Knuth's probe, neuron by neuron, has 2 to 323 times. The interval
    takes the skewness of probes into account (`polycarve.sampling.estimate.mean_interval`). The
    lower end is no less than the number of cells that were listed. As in `polycarve.carve`, a time
    limit is looked at between cells; in hundreds of dimensions one cell can take a minute.

    References
    ----------
    D. E. Knuth, Estimating the efficiency of backtrack programs, Mathematics of Computation 29,
    1975.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> layer_probe(examples.moons(), pc.Box.cube(-3, 3, dim=2), rng=0)
    <CountEstimate: layer-wise probe, 68.9 ± 10.0 (n=100)>
    """
    n, generator = whole(n_probes, "n_probes", least=1), as_generator(rng)
    confidence = checked_confidence(confidence)
    guard = Guard.within(checked(limits).max_seconds)
    tree = CellTree.of(net, domain)
    if tree is None:
        return _undivided("layer-wise probe", n, confidence)
    walk = Walk(tree, guard, checked(limits).max_regions, uniform_child)
    values = walk.values(generator.random((n, tree.n_levels)))
    found = _estimate("layer-wise probe", values, n, confidence, walk.known())
    return found.with_doubts(tree.n_doubtful)


def knuth_probe(
    net: Any,
    domain: Any,
    n_probes: int = 100,
    *,
    rng: Any = None,
    limits: Limits | None = None,
) -> CountEstimate:
    """Estimate the number of regions by Knuth's probe, neuron by neuron: a baseline.

    It chooses uniformly between the two sides of every neuron that cuts its cell, and doubles its
    value each time. Unbiased, but with a tail so heavy that a standard error computed from probes
    says nothing: 69 times the number of regions on a network 2-128-128, and mostly unseen. So none
    is given. Use `layer_probe`.

    Parameters
    ----------
    net, domain, n_probes, rng, limits
        As for `layer_probe`.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> estimate = knuth_probe(examples.moons(), pc.Box.cube(-3, 3, dim=2), 1000, rng=0)
    >>> round(estimate.value), estimate.standard_error, estimate.is_baseline
    (65, None, True)
    """
    n, generator = whole(n_probes, "n_probes", least=1), as_generator(rng)
    guard = Guard.within(checked(limits).max_seconds)
    tree = CellTree.of(net, domain, by_layer=False)
    values = np.ones(n)
    if tree is not None:
        walk = Walk(tree, guard, checked(limits).max_regions, child_by_halving)
        values = walk.values(generator.random((n, tree.n_levels)))
    found = CountEstimate(
        name="Knuth's probe",
        value=mean(values),
        standard_error=None,
        interval=None,
        n=len(values),
        is_unbiased=len(values) == n,
        promise="Right on average, but so rarely far above the number that as a rule it stays "
        "below it; no error can be stated.",
        is_baseline=True,
        complete=len(values) == n,
    )
    return found if tree is None else found.with_doubts(tree.n_doubtful)


def inverse_volume(carving: Carving, n_points: int = 100, *, rng: Any = None) -> CountEstimate:
    """Estimate the number of regions by the inverse volumes of those that points fall into.

    A baseline: for a uniform point of the domain, the volume of the domain over that of the point's
    region has the number of regions as its expectation, and a tail that no sample of points shows.
    No error is given.

    Parameters
    ----------
    carving : Carving
        Complete, on a bounded domain; its regions' volumes are the chances to fall into them.
    n_points : int
    rng : int, numpy.random.Generator or None

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> carving = pc.carve(examples.moons(), pc.Box.cube(-3, 3, dim=2))
    >>> inverse_volume(carving, 1000, rng=0).is_baseline
    True
    """
    n, generator = whole(n_points, "n_points", least=1), as_generator(rng)
    if not isinstance(carving, Carving) or not carving.complete or not carving.domain.is_bounded:
        raise InputError(
            f"carving is {carving!r}; a complete Carving on a bounded domain is needed."
        )
    volumes = carving.volumes()
    shares = volumes / volumes.sum()
    rows = generator.choice(len(shares), size=n, p=shares)
    return CountEstimate(
        name="inverse volume",
        value=float((1.0 / shares[rows]).mean()),
        standard_error=None,
        interval=None,
        n=n,
        is_unbiased=True,
        promise="Right on average, but regions too small to be met count most, so that as a rule "
        "it stays below the number; no error can be stated.",
        is_baseline=True,
    )


def _undivided(name: str, n: int, confidence: float) -> CountEstimate:
    """The estimate where nothing can be cut."""
    return _estimate(name, np.ones(n), n, confidence, (1.0, True))


def _estimate(
    name: str, values: FloatArray, asked: int, confidence: float, known: tuple[float, bool]
) -> CountEstimate:
    """Put together what independent values say; `known` is a lower bound, and whether it is all."""
    least, is_all = known
    value, error = mean(values), standard_error(values)
    interval = mean_interval(values, confidence)
    complete = len(values) == asked
    promise = "Right on average; the interval allows for a skewed distribution, not for parts of "
    promise += "the network that no probe came near."
    if is_all:
        interval = (least, least)
        promise = f"Right on average; every cell was listed on the way: there are {least:,.0f}."
    elif interval is not None:
        interval = max(interval[0], least), max(interval[1], least)
    elif error is not None:
        promise = "Right on average; all values agree, so there is nothing to make an interval of."
    if not complete:
        promise = "Cut short by the time limit, which favours quick probes, so on average a little "
        promise += "low."
    return CountEstimate(
        name=name,
        value=value,
        standard_error=error,
        interval=interval,
        n=len(values),
        is_unbiased=complete,
        promise=promise,
        is_baseline=False,
        complete=complete,
        confidence=confidence,
    )
