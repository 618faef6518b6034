"""How the regions change while a network is trained."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polycarve.carving import Carving
from polycarve.domains import Domain, as_domain
from polycarve.errors import InputError, MissingDependencyError, PolycarveError
from polycarve.recursion import carve, count_regions
from polycarve.splitting.drive import Limits, checked, checked_workers
from polycarve.splitting.method import method_named

IntArray = npt.NDArray[np.int64]

_KEEPS = ("counts", "carvings", "total")
_COLUMNS = ("step", "regions", "complete", "doubtful")


class TrainingStep(NamedTuple):
    """What was found at one step of a training.

    Attributes
    ----------
    step : int
    regions : int
        How many regions there were; of an incomplete carving, at least that many.
    layer_counts : tuple of int
        The regions after each layer; empty where only the total was counted.
    complete : bool
        Whether no limit stopped the carving.
    n_doubtful : int
        Decisions that rounding could not settle; 0 where only the total was counted.
    values : dict
        What was handed over beside the module: the loss, say.
    """

    step: int
    regions: int
    layer_counts: tuple[int, ...]
    complete: bool
    n_doubtful: int
    values: dict[str, float]


class CarveCallback:
    """Carve a network at chosen steps of its training, and keep the counts.

    Call it in the training loop with the step and the module. The module is read, never changed:
    neither its mode nor its gradients nor the random numbers of the training.

    Parameters
    ----------
    domain : Box, Polytope, Space, Slice, Segment, or [(lo, hi), ...]
        As for `carve`.
    every : int, optional
        Carve at the steps that this divides.
    steps : collection of int, optional
        Carve at these steps instead. With neither, every call carves.
    keep : str
        ``"counts"`` keeps the number of regions after each layer, ``"carvings"`` the carvings
        besides, and ``"total"`` counts without storing regions even for a moment.
    limits : Limits, optional
        For each single carving. Not with ``keep="total"``.
    method, workers
        As for `carve`.

    Attributes
    ----------
    records : list of TrainingStep
    carvings : list of Carving
        One a record, if they are kept.

    Examples
    --------
    >>> import polycarve as pc
    >>> callback = pc.CarveCallback([(-2, 2)], every=10)
    >>> for step in range(30):  # any network will do; in a training it is the module
    ...     net = pc.Network.from_arrays([[[1], [1]]], [[0, step / 15]], relu_last=True)
    ...     record = callback(step, net, loss=1 / (1 + step))
    >>> callback.steps, callback.counts
    (array([ 0, 10, 20]), array([2, 3, 3]))
    """

    def __init__(
        self,
        domain: Any,
        *,
        every: int | None = None,
        steps: Collection[int] | None = None,
        keep: str = "counts",
        limits: Limits | None = None,
        method: str = "auto",
        workers: int = 1,
    ) -> None:
        if every is not None and steps is not None:
            raise InputError("every and steps were both given; give one of them, or neither.")
        if keep not in _KEEPS:
            raise InputError(f"keep is {keep!r}; one of {', '.join(map(repr, _KEEPS))} is needed.")
        if keep == "total" and limits is not None:
            raise InputError("keep='total' counts to the end; limits need keep='counts'.")
        if not isinstance(domain, Domain):  # pairs are as many as coordinates
            domain = as_domain(domain, _length(domain))
        if method != "auto":
            method_named(method)
        checked_workers(workers, None)
        self.domain, self.keep, self.limits = domain, keep, checked(limits)
        self.method, self.workers = method, workers
        self._is_due = _chosen(every, steps)
        self.records: list[TrainingStep] = []
        self.carvings: list[Carving] = []

    def __call__(self, step: int, net: Any, **values: float) -> TrainingStep | None:
        """Carve, if it is time to.

        Parameters
        ----------
        step : int
        net : torch module, Network, or (weights, biases)
        **values : float
            What to write down beside the counts, by name: ``loss=loss.item()``.

        Returns
        -------
        TrainingStep or None
            None if this step was not chosen.

        Raises
        ------
        PolycarveError
            What `carve` raises, with the step: weights that are not finite any more, say.
        """
        number = _whole(step, "step")
        if not self._is_due(number):
            return None
        given = {name: _number(name, value) for name, value in values.items()}
        try:
            record = self._record(number, net, given)
        except PolycarveError as error:
            if type(error) is MissingDependencyError:
                raise
            raise type(error)(f"at step {number}: {error}") from error
        self.records.append(record)
        return record

    def _record(self, step: int, net: Any, values: dict[str, float]) -> TrainingStep:
        if self.keep == "total":
            total = count_regions(net, self.domain, method=self.method, workers=self.workers)
            return TrainingStep(step, total, (), True, 0, values)
        carving = carve(
            net, self.domain, method=self.method, workers=self.workers, limits=self.limits
        )
        if carving.stop_reason == "interrupt":  # what ends a training, not one of its results
            raise KeyboardInterrupt
        if self.keep == "carvings":
            self.carvings.append(carving)
        counts, doubts = carving.layer_counts, carving.n_doubtful
        return TrainingStep(step, len(carving), counts, carving.complete, doubts, values)

    @property
    def steps(self) -> IntArray:
        """The steps at which was carved, ``(n,)``."""
        return np.array([record.step for record in self.records], np.int64)

    @property
    def counts(self) -> IntArray:
        """How many regions there were, ``(n,)``; at least that many where a limit stopped."""
        return np.array([record.regions for record in self.records], np.int64)

    @property
    def complete(self) -> bool:
        """Whether all carvings are."""
        return all(record.complete for record in self.records)

    def to_frame(self) -> Any:
        """Return the records as a pandas DataFrame, a row each."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("pandas", "frames", "a DataFrame") from None
        rows = []
        for record in self.records:
            row: dict[str, Any] = {"step": record.step, "regions": record.regions}
            row |= {f"layer{k}": n for k, n in enumerate(record.layer_counts, start=1)}
            row |= {"complete": record.complete, "doubtful": record.n_doubtful}
            rows.append(row | record.values)
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(_COLUMNS))

    def __repr__(self) -> str:
        last = f", last {self.records[-1].regions:,} regions" if self.records else ""
        return f"CarveCallback({len(self.records)} steps carved{last})"


def _chosen(every: int | None, steps: Collection[int] | None) -> Callable[[int], bool]:
    if every is not None:
        period = _whole(every, "every")
        if period < 1:
            raise InputError(f"every is {every!r}; a whole number of at least 1 is needed.")
        return lambda step: step % period == 0
    if steps is None:
        return lambda step: True
    try:
        wanted = {_whole(step, "a step") for step in steps}
    except TypeError:
        raise InputError(f"steps is {steps!r}; a list of whole numbers is needed.") from None
    return lambda step: step in wanted


def _length(given: Any) -> int:
    try:
        return len(given)
    except TypeError:  # refused with all that is no domain
        return 1


def _whole(value: Any, name: str) -> int:
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise InputError(f"{name} is {value!r}; a whole number is needed.")


def _number(name: str, value: Any) -> float:
    if name in _COLUMNS or name.removeprefix("layer").isdecimal():
        raise InputError(f"a value is named {name}, which is a column of the counts. Rename it.")
    if not isinstance(value, Real) and hasattr(value, "item"):  # a tensor or an array of one number
        try:
            value = value.item()
        except (RuntimeError, ValueError):
            value = None
    if isinstance(value, Real):
        return float(value)
    raise InputError(f"{name} is no single number; write down a float, as in loss=loss.item().")
