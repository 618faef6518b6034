"""The loop over frontiers: budgets, limits, progress, workers, and leaves collected in order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from polycarve.errors import InputError
from polycarve.splitting.cells import Cells, Keep, Leaves, Shapes
from polycarve.splitting.method import Advance, Method, method_named
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
        Stop after so many seconds of wall-clock time (compilation included). With several
        workers, the regions found by then are in order, but there are gaps between them.

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
        if seconds is not None and not (number and 0 < seconds <= 1e12):
            raise InputError(f"max_seconds is {seconds!r}; a positive number, or None, is needed.")


class Sink(Protocol):
    """Where leaves go: memory now, files as well as may be."""

    @property
    def keep(self) -> Keep:
        """What methods are asked to keep for it."""

    def write(self, leaves: Leaves) -> None: ...


@dataclass
class Memory:
    """A sink that keeps everything."""

    chunks: list[Leaves] = field(default_factory=list)
    keep: Keep = True

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
        shapes = None
        if isinstance(self.keep, str):
            parts = [chunk.shapes for chunk in self.chunks if chunk.shapes is not None]
            shapes = Shapes.joined(parts) if parts else None
        at = 0
        self.chunks.reverse()
        while self.chunks:
            chunk = self.chunks.pop()
            part = slice(at, at + len(chunk))
            packed[part], inside[part] = chunk.packed, chunk.inside
            points[part] = program.unframe(chunk.points)
            at += len(chunk)
        offset = program.frame.offset
        if offset is not None and not offset.is_float64:
            inside[:] = False  # a flat side at a number that no float64 is
        return Leaves(packed, points, inside, shapes)


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
    workers: int = 1,
    executor: Executor | None = None,
) -> Outcome:
    """Carve a program's domain, sending leaves in order to a sink (or only counting them)."""
    limits = checked(limits)
    if not program.n_layers:
        if sink is not None:
            sink.write(_undivided(program))
        return Outcome(n_regions=1)
    work = _Run(program, method, sink, limits, progress)
    if executor is None and workers == 1:
        work.alone()
    elif executor is not None:
        work.together(executor, workers if workers > 1 else 4)
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="polycarve") as pool:
            work.together(pool, workers)
    return work.outcome


@dataclass(eq=False)
class _Piece:
    """A stretch of the list of regions: cells still to be carved, or what came of them.

    What a result left undone stands in the list as pieces of its own, right behind it.
    """

    cells: Cells
    future: Future[Advance] | None = None
    result: Advance | None = None
    is_taken: bool = False

    @property
    def is_running(self) -> bool:
        return self.future is not None and self.result is None


class _Run:
    def __init__(
        self,
        program: Program,
        method: Method,
        sink: Sink | None,
        limits: Limits,
        progress: Report | None,
    ) -> None:
        self.program, self.method, self.sink, self.progress = program, method, sink, progress
        seconds = limits.max_seconds
        self.deadline = math.inf if seconds is None else time.monotonic() + seconds
        self.most = math.inf if limits.max_regions is None else int(limits.max_regions)
        self.outcome = Outcome()
        self.finished = 0.0

    def alone(self) -> None:
        """Carve in this thread, from first to last."""
        try:
            cells = self.method.start(self.program)
            while len(cells) and not self.must_stop():
                step = advance(self.program, self.method.name, cells, *self.room())
                self.take(step)
                cells = step.rest
        except KeyboardInterrupt:
            self.outcome.stop_reason = "interrupt"

    def together(self, executor: Executor, workers: int) -> None:
        """Keep workers busy on the first pieces of the list that nobody works on yet.

        Results are taken in the order of the list; those that come early wait for their turn.
        """
        pieces: list[_Piece] = []
        try:
            # A first step here, so that kernels are compiled once and there is work to share.
            first = advance(self.program, self.method.name, self.method.start(self.program),
                            min(200, self.method.budget), *self.room()[1:])  # fmt: skip
            self.take(first)
            pieces = [_Piece(first.rest[i : i + 1]) for i in range(len(first.rest))]
            while pieces and not self.must_stop():
                self.hand_out(pieces, executor, workers)
                running = [p.future for p in pieces if p.future is not None and p.result is None]
                patience = min(self.deadline - time.monotonic(), 3600.0)
                wait(running, timeout=patience, return_when=FIRST_COMPLETED)
                pieces = self.gather(pieces, workers)
        except KeyboardInterrupt:
            self.outcome.stop_reason = "interrupt"
        except BaseException:  # leave no work of ours behind in somebody else's pool
            for piece in pieces:
                if piece.future is not None:
                    piece.future.cancel()
            raise
        for piece in pieces:  # whatever is there or under way is worth having, in order
            if piece.future is not None and not piece.is_taken and not piece.future.cancel():
                result = piece.result or piece.future.result()
                if self.outcome.n_regions < self.most:
                    self.take(result)

    def hand_out(self, pieces: list[_Piece], executor: Executor, workers: int) -> None:
        ahead = 2 * workers - sum(piece.is_running for piece in pieces)
        for piece in pieces:
            if ahead <= 0:
                break
            if piece.future is None:
                budget, capacity, keep = self.room()
                piece.future = executor.submit(
                    advance, self.program, self.method.name, piece.cells, budget, capacity, keep
                )
                ahead -= 1

    def gather(self, pieces: list[_Piece], workers: int) -> list[_Piece]:
        """Take results from the front of the list; put what they left undone behind them."""
        kept: list[_Piece] = []
        for piece in pieces:
            rest = piece.cells[:0]
            if piece.is_running and piece.future is not None and piece.future.done():
                piece.result = piece.future.result()
                rest = piece.result.rest
            if piece.result is not None and not kept:
                piece.is_taken = True  # first: an interrupt may come at any moment
                self.take(piece.result)
            else:
                kept.append(piece)
            # Few cells are handed on one by one, so that nobody runs out of work.
            share = 1 if len(pieces) < 4 * workers else max(1, len(rest))
            kept.extend(_Piece(rest[i : i + share]) for i in range(0, len(rest), share))
        return kept

    def must_stop(self) -> bool:
        if self.outcome.n_regions >= self.most:
            self.outcome.stop_reason = "regions"
        elif time.monotonic() >= self.deadline:
            self.outcome.stop_reason = "time"
        return self.outcome.stop_reason is not None

    def room(self) -> tuple[int, int, Keep]:
        """Budget, capacity and whether to keep, for the next step."""
        capacity = int(min(_CAPACITY, self.most - self.outcome.n_regions))
        return self.method.budget, capacity, self.sink.keep if self.sink is not None else False

    def take(self, step: Advance) -> None:
        """Add a result that follows all results taken so far."""
        room = self.most - self.outcome.n_regions
        n = int(min(step.n_leaves, room))
        if step.n_leaves > room and self.outcome.stop_reason is None:
            self.outcome.stop_reason = "regions"
        if self.sink is not None:
            self.sink.write(step.leaves.first(n))
        self.outcome.n_regions += n
        self.outcome.n_doubtful += step.n_doubtful
        self.finished += step.finished
        for name, count in step.counts.items():
            self.outcome.counts[name] = self.outcome.counts.get(name, 0) + count
        if self.progress is not None:
            self.progress(min(self.finished, 1.0), self.outcome.n_regions)


def advance(
    program: Program, method: str, cells: Cells, budget: int, capacity: int, keep: Keep
) -> Advance:
    """Do a bounded amount of work: what is sent to a worker, arrays and numbers only."""
    return method_named(method).advance(program, cells, budget=budget, capacity=capacity, keep=keep)


def checked(limits: Limits | None) -> Limits:
    """Return limits, or none at all as limits; refuse what is neither."""
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise InputError(f"limits is {limits!r}; give polycarve.Limits(max_regions=..., ...).")
    return limits


def checked_workers(workers: int, executor: Executor | None) -> None:
    """Refuse what cannot do the work."""
    whole = isinstance(workers, (int, np.integer)) and not isinstance(workers, bool)
    if not whole or workers < 1:
        raise InputError(f"workers is {workers!r}; a whole number of at least 1 is needed.")
    if executor is not None and not hasattr(executor, "submit"):
        raise InputError(
            f"executor is {executor!r}; a concurrent.futures.Executor, or None, is needed."
        )


def _undivided(program: Program) -> Leaves:
    """Return the domain as the one region of a network that cuts nothing."""
    return Leaves(np.zeros((1, 0), np.uint8), program.centre[None], np.ones(1, np.bool_))


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
