"""From a carving to its certificate."""

from __future__ import annotations

import time
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context

import numpy as np

from polycarve.carving import Carving
from polycarve.certificate.forms import Stages
from polycarve.certificate.places import Place, place_of
from polycarve.certificate.proof import Leaf, Outcome, Regions
from polycarve.certificate.result import Certificate
from polycarve.certificate.sharing import Watch, Work, alone, begin, together
from polycarve.errors import NumericalError
from polycarve.splitting import drive
from polycarve.splitting.drive import Limits, Progress

# One to see what is wrong, one to prove what is right.
_MOST_WALKS = 3


def certify(
    carving: Carving,
    *,
    progress: Progress = None,
    limits: Limits | None = None,
    workers: int = 1,
    executor: Executor | None = None,
) -> Certificate:
    """Prove a carving in exact arithmetic, and repair it; see `polycarve.Carving.certify`."""
    start = time.perf_counter()
    limits = drive.checked(limits)
    drive.checked_workers(workers, executor)
    place = place_of(carving.domain)
    stages = Stages(carving.network, place, carving.n_layers)
    regions, is_complete = _listed(carving), carving.complete
    stop = None
    with drive.reporting(progress) as report, ExitStack() as stack:
        if workers > 1 and executor is None:
            # Processes: integers without bounds are Python's, and it runs one thread at a time.
            context = get_context("spawn")
            stop = context.Event()
            pool = ProcessPoolExecutor(workers, context, initializer=begin, initargs=(stop,))
            executor = stack.enter_context(pool)
        watch = Watch(limits, report)
        found: list[Leaf] = []
        for _ in range(_MOST_WALKS):
            work = Work(stages, place, regions, is_complete)
            if executor and len(regions):
                outcome = together(work, watch, executor, workers, stop)
            elif is_complete or len(regions):
                outcome = alone(work, watch)
            else:
                outcome = Outcome()
            if not outcome.is_changed or outcome.is_stopped:
                break
            found = outcome.leaves
            regions = _corrected(found, place)
        else:
            raise NumericalError("the list of regions was repaired and is still wrong: an error.")
    stop_reason = carving.stop_reason
    if outcome.is_stopped:
        if len(outcome.leaves) < len(found):  # all of these have their points
            outcome.leaves = found
        stop_reason = watch.reason or "interrupt"
    seconds = time.perf_counter() - start
    return _certificate(carving, place, outcome, stop_reason, seconds)


def _listed(carving: Carving) -> Regions:
    """Return the patterns of a carving, sorted and each once, whatever was done to it."""
    bits = carving.patterns
    _, rows = np.unique(np.packbits(bits, axis=1), axis=0, return_index=True)
    if not bits.shape[1]:
        rows = np.arange(len(bits[:1]))
    return Regions(bits[rows], carving.points[rows], [None] * len(rows))


def _corrected(leaves: list[Leaf], place: Place) -> Regions:
    dim = len(place.y)
    return Regions(
        np.array([leaf.bits for leaf in leaves], np.uint8).reshape(len(leaves), -1),
        np.array([leaf.point for leaf in leaves]).reshape(len(leaves), dim),
        [leaf.witness for leaf in leaves],
    )


def _certificate(
    carving: Carving,
    place: Place,
    outcome: Outcome,
    stop_reason: str | None,
    seconds: float,
) -> Certificate:
    leaves, counts = outcome.leaves, outcome.counts
    bits = np.array([leaf.bits for leaf in leaves], np.uint8)
    packed = np.packbits(bits.reshape(len(leaves), sum(carving.widths)), axis=1)
    before = {row.tobytes() for row in np.packbits(carving.patterns, axis=1)}
    kept = sum(row.tobytes() in before for row in packed)
    is_same = kept == len(packed) == len(carving)
    if stop_reason is not None:
        leaves = [leaf._replace(vectors=[]) for leaf in leaves]
    proven = Carving(
        carving.network,
        carving.domain,
        packed,
        np.array([leaf.point for leaf in leaves]).reshape(len(leaves), carving.domain.dim),
        np.array([leaf.is_interior for leaf in leaves], np.bool_),
        n_layers=carving.n_layers,
        stop_reason=stop_reason,
        n_doubtful=0 if stop_reason is None else carving.n_doubtful,
        method=carving.method,
        cells=carving.kept_cells if is_same else None,
    )
    return Certificate(
        carving=proven,
        complete=stop_reason is None,
        n_added=len(packed) - kept,
        n_dropped=0 if outcome.is_stopped else len(carving) - kept,
        n_short=counts["short"],
        n_exact=counts["exact"],
        n_programs=counts["program"],
        seconds=seconds,
        _place=place,
        _leaves=leaves,
    )
