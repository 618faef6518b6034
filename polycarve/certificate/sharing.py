"""Walks over whole lists: in one piece, or in runs of regions that others work on."""

from __future__ import annotations

import signal
import time
from concurrent.futures import Executor, wait
from multiprocessing.synchronize import Event
from typing import NamedTuple

from polycarve.certificate.forms import Stages
from polycarve.certificate.places import Place
from polycarve.certificate.proof import Outcome, Regions, Walk
from polycarve.splitting.drive import Limits, Report

# Seconds between two reports of progress.
_PATIENCE = 0.1

# Seconds that workers have to say what they did, once they are to stop.
_GRACE = 10.0

# Runs with fewer regions are not worth the way there, which is walked for every run.
_FEWEST = 64


class Work(NamedTuple):
    """What is to be proven."""

    stages: Stages
    place: Place
    regions: Regions
    is_complete: bool


class Watch:
    """Sees to limits, and reports progress."""

    def __init__(self, limits: Limits, report: Report | None) -> None:
        self.most, seconds = limits.max_regions, limits.max_seconds
        self.report = report
        self.last = time.monotonic()
        self.end = None if seconds is None else self.last + seconds
        # The same for others, who have another monotonic clock.
        self.clock = None if seconds is None else time.time() + seconds
        self.total = 1
        self.reason: str | None = None

    def must_stop(self, done: int) -> bool:
        """Whether to leave it at so many regions."""
        now = time.monotonic()
        if self.report is not None and now - self.last > _PATIENCE:
            self.last = now
            self.report(min(1.0, done / self.total), done)
        if self.most is not None and done >= self.most:
            self.reason = "regions"
        elif self.end is not None and now >= self.end:
            self.reason = "time"
        return self.reason is not None

    @property
    def is_over(self) -> bool:
        """Whether time is up by any of the clocks."""
        return self.clock is not None and time.time() >= self.clock


def alone(work: Work, watch: Watch) -> Outcome:
    """Walk in this thread, and repair what is wrong on the way."""
    watch.total = len(work.regions)
    walk = Walk(*work[:3], is_complete=work.is_complete, must_stop=watch.must_stop)
    outcome = walk.run()
    outcome.leaves.sort(key=lambda leaf: leaf.bits.tobytes())
    return outcome


def together(
    work: Work, watch: Watch, executor: Executor, workers: int, stop: Event | None = None
) -> Outcome:
    """Let others walk; where the list is wrong, walk here.

    Results are taken in order; what others have when time is up is taken too. An event, where they
    know one, tells them to stop.
    """
    n = watch.total = len(work.regions)
    most = n if watch.most is None else min(n, watch.most)
    step = max(_FEWEST, -(-n // (4 * workers)))
    runs = [range(first, min(first + step, most)) for first in range(0, most, step)]
    whole = Outcome()
    if stop is not None:
        stop.clear()
    futures = [executor.submit(prove_run, work, run, watch.clock) for run in runs]
    taken, is_wrong = 0, False
    try:
        for future in futures:
            while not (future.done() or watch.must_stop(len(whole.leaves))):
                wait([future], timeout=_PATIENCE)
            if not future.done():
                break
            part = future.result()
            is_wrong = part.is_changed and not part.is_stopped
            if is_wrong:
                break
            _join(whole, part)
            taken += 1
            if whole.is_stopped:
                break
    except KeyboardInterrupt:
        whole.is_stopped = True
    finally:
        running = [future for future in futures[taken:] if not future.cancel()]
        if stop is not None:
            stop.set()
    if is_wrong:
        return alone(work, watch)
    if taken < len(runs):
        whole.is_stopped = True
        will_end = stop is not None or watch.reason == "time"
        for future in wait(running, timeout=_GRACE if will_end else 0.0).done:
            if future.exception() is None:
                _join(whole, future.result())
        whole.leaves.sort(key=lambda leaf: leaf.bits.tobytes())
    elif most < n and not whole.is_stopped:
        whole.is_stopped, watch.reason = True, "regions"
    if whole.is_stopped and watch.is_over:
        watch.reason = watch.reason or "time"
    return whole


def _join(whole: Outcome, part: Outcome) -> None:
    whole.leaves += part.leaves
    whole.counts += part.counts
    whole.is_stopped |= part.is_stopped  # by the clock, or by an interrupt that the worker met


def prove_run(work: Work, run: range, clock: float | None = None) -> Outcome:
    """Walk over a run of regions, until the clock says so: what is sent to a worker."""

    def must_stop(_done: int) -> bool:
        return (clock is not None and time.time() >= clock) or (
            _stop is not None and _stop.is_set()
        )

    walk = Walk(
        *work[:3], is_complete=work.is_complete, own=run, may_repair=False, must_stop=must_stop
    )
    return walk.run()


# In a process of `begin`: whether it is to stop.
_stop: Event | None = None


def begin(stop: Event) -> None:
    """Make a process a worker: an interrupt is for the one that it works for."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
