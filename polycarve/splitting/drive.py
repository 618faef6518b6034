"""The loop over frontiers: budgets, limits, progress, and leaves collected in order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from polycarve.errors import InputError
from polycarve.splitting.cells import Leaves
from polycarve.splitting.method import Method
from polycarve.splitting.program import Program

Report = Callable[[float, int], None]
Progress = bool | Report | None

# Leaves a method may return at a time: what is in flight beside what is stored.
_CAPACITY = 1 << 16


@dataclass(frozen=True)
class Limits:
    """Where to stop a carving that is too large; what was found until then is returned.

    Parameters
    ----------
    max_regions : int, optional
        Stop at so many regions, the first ones in order.
    max_seconds : float, optional
        Stop after so many seconds of wall-clock time (compilation included).

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]]], [[0, 0]], relu_last=True)
    >>> carving = pc.carve(net, pc.Box.cube(-1, 1, dim=2), limits=pc.Limits(max_regions=3))
    >>> len(carving), carving.complete, carving.stop_reason
    (3, False, 'regions')
    """

    max_regions: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        most, seconds = self.max_regions, self.max_seconds
        whole = isinstance(most, (int, np.integer)) and not isinstance(most, bool)
        if most is not None and not (whole and most >= 1):
            raise InputError(
                f"max_regions is {most!r}; a whole number of at least 1, or None, is needed."
            )
        number = isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool)
        if seconds is not None and not (number and seconds > 0):
            raise InputError(f"max_seconds is {seconds!r}; a positive number, or None, is needed.")


class Sink(Protocol):
    """Where leaves go: memory now, files as well as may be."""

    def write(self, leaves: Leaves) -> None: ...


@dataclass
class Memory:
    """A sink that keeps everything."""

    chunks: list[Leaves] = field(default_factory=list)

    def write(self, leaves: Leaves) -> None:
        if len(leaves):
            self.chunks.append(leaves)

    def collect(self, program: Program) -> Leaves:
        """Return all leaves as one, with points in the domain's coordinates.

        Every chunk is dropped once it is copied, so that nothing is held twice.
        """
        n = sum(map(len, self.chunks))
        empty = program.unframe(np.ones((0, program.n_free)))
        packed = np.empty((n, (program.n_cuts + 7) // 8), np.uint8)
        points, inside = np.empty((n, empty.shape[1])), np.empty(n, np.bool_)
        at = 0
        self.chunks.reverse()
        while self.chunks:
            chunk = self.chunks.pop()
            part = slice(at, at + len(chunk))
            packed[part], inside[part] = chunk.packed, chunk.inside
            points[part] = program.unframe(chunk.points)
            at += len(chunk)
        return Leaves(packed, points, inside)


@dataclass
class Outcome:
    """What a run amounted to."""

    n_regions: int = 0
    n_doubtful: int = 0
    stop_reason: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


def run(
    program: Program,
    method: Method,
    *,
    sink: Sink | None,
    limits: Limits | None = None,
    progress: Report | None = None,
) -> Outcome:
    """Carve a program's domain, sending leaves in order to a sink (or only counting them)."""
    limits = checked(limits)
    deadline = math.inf if limits.max_seconds is None else time.monotonic() + limits.max_seconds
    most = math.inf if limits.max_regions is None else int(limits.max_regions)
    outcome, finished = Outcome(), 0.0
    if not program.n_layers:
        if sink is not None:
            sink.write(_undivided(program))
        return Outcome(n_regions=1)
    try:
        cells = method.start(program)
        while len(cells):
            if outcome.n_regions >= most:
                outcome.stop_reason = "regions"
                break
            if time.monotonic() >= deadline:
                outcome.stop_reason = "time"
                break
            room = int(min(_CAPACITY, most - outcome.n_regions))
            step = method.advance(
                program, cells, budget=method.budget, capacity=room, keep=sink is not None
            )
            if sink is not None:
                sink.write(step.leaves)
            cells = step.rest
            outcome.n_regions += step.n_leaves
            outcome.n_doubtful += step.n_doubtful
            finished += step.finished
            for name, count in step.counts.items():
                outcome.counts[name] = outcome.counts.get(name, 0) + count
            if progress is not None:
                progress(min(finished, 1.0), outcome.n_regions)
    except KeyboardInterrupt:
        outcome.stop_reason = "interrupt"
    return outcome


def checked(limits: Limits | None) -> Limits:
    """Return limits, or none at all as limits; refuse what is neither."""
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise InputError(f"limits is {limits!r}; give polycarve.Limits(max_regions=..., ...).")
    return limits


def _undivided(program: Program) -> Leaves:
    """Return the domain as the one region of a network that cuts nothing."""
    centre = 0.5 * (program.lower + program.upper)[None]
    return Leaves(np.zeros((1, 0), np.uint8), centre, np.ones(1, np.bool_))


@contextmanager
def reporting(progress: Progress) -> Iterator[Report | None]:
    """Turn the argument `progress` into something to call, and close the bar in the end."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is True:
        from tqdm import tqdm

        shape = "{percentage:3.0f}%|{bar}| {postfix} [{elapsed}<{remaining}]"
        with tqdm(total=1.0, bar_format=shape) as bar:

            def report(fraction: float, regions: int) -> None:
                bar.n = fraction
                bar.set_postfix_str(f"{regions:,} regions")

            yield report
    else:
        raise InputError(
            f"progress is {progress!r}; True, or a callable (fraction, regions), is needed."
        )
