"""Walks over whole lists: in one piece, or in runs of regions that others work on."""

from __future__ import annotations

import time
from concurrent.futures import Executor, wait
from typing import NamedTuple

from polycarve.certificate.forms import Stages
from polycarve.certificate.places import Place
from polycarve.certificate.proof import Outcome, Regions, Walk
from polycarve.splitting.drive import Limits, Report

# Seconds between two reports of progress.
_PATIENCE = 0.1

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


def alone(work: Work, watch: Watch) -> Outcome:
    """Walk in this thread, and repair what is wrong on the way."""
    watch.total = len(work.regions)
    walk = Walk(*work[:3], is_complete=work.is_complete, must_stop=watch.must_stop)
    outcome = walk.run()
    outcome.leaves.sort(key=lambda leaf: leaf.bits.tobytes())
    return outcome


def together(work: Work, watch: Watch, executor: Executor, workers: int) -> Outcome:
    """Let others walk; where the list is wrong, walk here.

    Results are taken in order, so that what is there when time is up is a beginning of the list.
    """
    n = watch.total = len(work.regions)
    step = max(_FEWEST, -(-n // (4 * workers)))
    runs = [range(first, min(first + step, n)) for first in range(0, n, step)]
    futures = [executor.submit(prove_run, work, run) for run in runs]
    whole = Outcome()
    try:
        for future in futures:
            while not (future.done() or watch.must_stop(len(whole.leaves))):
                wait([future], timeout=_PATIENCE)
            if watch.must_stop(len(whole.leaves)):
                whole.is_stopped = True
                break
            part = future.result()
            if part.is_changed and not part.is_stopped:
                return alone(work, watch)
            whole.leaves += part.leaves
            whole.counts += part.counts
            if part.is_stopped:  # an interrupt that the worker met
                whole.is_stopped = True
                break
    except KeyboardInterrupt:
        whole.is_stopped = True
    finally:
        for future in futures:
            future.cancel()
    if watch.most is not None and len(whole.leaves) > watch.most:
        del whole.leaves[watch.most :]
        whole.is_stopped, watch.reason = True, "regions"
    return whole


def prove_run(work: Work, run: range) -> Outcome:
    """Walk over a run of regions: what is sent to a worker."""
    walk = Walk(*work[:3], is_complete=work.is_complete, own=run, may_repair=False)
    return walk.run()
