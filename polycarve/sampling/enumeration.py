"""Stochastic enumeration: an unbiased estimate where even one layer is too wide to be listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError
from polycarve.sampling.arguments import as_generator, checked_confidence
from polycarve.sampling.estimate import CountEstimate, mean, mean_interval, standard_error
from polycarve.sampling.levels import CellTree, Children, Guard, OutOfTimeError, TooManyError
from polycarve.splitting.drive import Limits, checked
from polycarve.splitting.prefixes import Prefixes
from polycarve.theory.arguments import whole

FloatArray = npt.NDArray[np.float64]


def stochastic_enumeration(
    net: Any,
    domain: Any,
    n_runs: int = 10,
    *,
    budget: int = 100,
    rng: Any = None,
    limits: Limits | None = None,
    confidence: float = 0.95,
) -> CountEstimate:
    """Estimate the number of regions by carrying a fixed number of cells through the network.

    A run begins with the domain. Some neurons at a time, all its cells are carved into their
    children; where these are more than `budget`, a uniform choice of them is kept, and the run's
    value is multiplied by how many times more cells there are than the run carried before. No list
    gets long, so that layers of any width will do, in any dimension.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    domain : Box, Polytope, Space, Slice, Segment, or [(lo, hi), ...]
    n_runs : int
        Independent runs, whose mean is the estimate.
    budget : int
        How many cells a run carries. Time grows in proportion. Where runs differ by factors, ten
        times the budget helps more than ten times the runs.
    rng : int, numpy.random.Generator or None
    limits : Limits, optional
        ``max_seconds`` stops after the runs finished by then; ``max_regions`` is the most cells
        that may be listed at a time.
    confidence : float
        How often the interval is meant to cover the number.

    Returns
    -------
    CountEstimate
        Exact, after a single run, where no choice had to be made. Unbiased, unless time ran out.
        Its distribution has a long tail: runs that differ by factors, or a standard error near the
        estimate itself, mean that it shows the order of magnitude and as a rule too low a number.

    Raises
    ------
    InputError
        Time ran out before the first run was done.
    NumericalError
        The estimate is too large for a float.

    References
    ----------
    R. Vaisman and D. P. Kroese, Stochastic enumeration method for counting trees, Methodology and
    Computing in Applied Probability 19, 2017.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> stochastic_enumeration(examples.moons(), pc.Box.cube(-3, 3, dim=2), budget=20, rng=1)
    <CountEstimate: stochastic enumeration, 67.5 ± 2.6 (n=10)>
    """
    n, generator = whole(n_runs, "n_runs", least=1), as_generator(rng)
    kept, confidence = whole(budget, "budget", least=1), checked_confidence(confidence)
    seconds, most = checked(limits).max_seconds, checked(limits).max_regions
    guard = Guard.within(seconds)
    if most is not None:
        guard.most = most
    tree = CellTree.of(net, domain, by_layer=False)
    if tree is None:
        return _estimate(np.ones(1), 1, confidence, exact=True, least=1)
    enumeration = _Enumeration(tree, guard, kept, generator)
    values: list[float] = []
    try:
        while len(values) < n and not enumeration.is_exact:
            values.append(enumeration.run())
    except OutOfTimeError:
        if not values:
            raise InputError(
                f"the time limit of {seconds:g} s ran out before the first run was done. Allow for "
                f"more time, or carry fewer cells than budget={kept}."
            ) from None
    except TooManyError:
        raise InputError(
            f"more than {most:,} cells would have to be listed at a time. Carry fewer than "
            f"budget={kept}, or allow for more with limits=polycarve.Limits(max_regions=...)."
        ) from None
    exact = enumeration.is_exact
    found = _estimate(
        np.array(values), 1 if exact else n, confidence, exact=exact, least=enumeration.longest
    )
    return found.with_doubts(tree.n_doubtful)


def _estimate(
    values: FloatArray, asked: int, confidence: float, *, exact: bool, least: int
) -> CountEstimate:
    """Put together what runs say; there are at least as many regions as cells in any list."""
    value, complete = mean(values), len(values) == asked
    interval = mean_interval(values, confidence)
    if exact:
        interval = value, value
    elif interval is not None:
        interval = max(interval[0], float(least)), max(interval[1], float(least))
    promise = "Right on average, but with a long tail: where runs differ by factors it shows the "
    promise += "order of magnitude, and is more likely to be too low than too high."
    if exact:
        promise = "The exact number: no choice had to be made."
    elif not complete:
        promise = "Cut short by the time limit, which favours quick runs, so on average a little "
        promise += "low; the order of magnitude."
    return CountEstimate(
        name="stochastic enumeration",
        value=value,
        standard_error=0.0 if exact else standard_error(values),
        interval=interval,
        n=len(values),
        is_unbiased=complete,
        promise=promise,
        is_baseline=False,
        complete=complete,
        confidence=confidence,
    )


class _Enumeration:
    """Runs through one tree. They share what comes before the first choice."""

    def __init__(
        self, tree: CellTree, guard: Guard, budget: int, generator: np.random.Generator
    ) -> None:
        self.tree, self.guard, self.budget, self.generator = tree, guard, budget, generator
        self.begun: tuple[Children, float] | None = None
        self.is_exact = False
        self.longest = 1

    def run(self) -> float:
        """Return the value of one run."""
        if self.begun is None:
            self.begun = self.go_on(self.tree.root, 1.0)
        children, value = self.begun
        # Before the last level there is a choice to make, else it would have gone on.
        self.is_exact = children.parents.n_layers + 1 == self.tree.n_levels
        while children.parents.n_layers + 1 < self.tree.n_levels:
            rows = self.generator.choice(len(children), self.budget, replace=False, shuffle=False)
            children, value = self.go_on(children.take(np.sort(rows)), value)
        return value

    def go_on(self, cells: Prefixes, value: float) -> tuple[Children, float]:
        """Go on until there is a choice to make, or to the last level; multiply the value."""
        while True:
            children = self.tree.children(cells, self.guard)
            value *= len(children) / len(cells)
            self.longest = max(self.longest, len(children))
            is_last = cells.n_layers + 1 == self.tree.n_levels
            if is_last or len(children) > self.budget:
                return children, value
            cells = children.take(np.arange(len(children)))
