"""Proofs that are stopped, and points that are no points of their regions."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import polycarve as pc
from polycarve.certificate import proof, proving, sharing
from polycarve.certificate.exact import carve_exactly
from polycarve.certificate.forms import Stages
from polycarve.certificate.places import place_of
from tests import cases
from tests.certificates import damage
from tests.certificates.test_proof import assert_repaired, certified, rebuilt


@pytest.mark.parametrize("most", [1, 7, 65, 66])
def test_limits_while_everything_is_missing(most: int) -> None:
    whole = damage.carved("moons")
    nothing = rebuilt(whole, np.arange(0))
    certificate = nothing.certify(limits=pc.Limits(max_regions=most))
    assert certificate.check() == certificate.theorem
    assert len(certificate.carving) == certificate.n_added == most
    assert certificate.complete == (most == len(whole))
    assert not nothing.certify(limits=pc.Limits(max_seconds=1e-9)).proved


def test_an_interrupt_while_everything_is_missing() -> None:
    whole = damage.carved("moons")
    real, seen = carve_exactly, []

    def interrupted(*args: Any) -> Any:
        for found in real(*args):
            seen.append(found)
            if len(seen) == 5:
                signal.raise_signal(signal.SIGINT)
            yield found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "carve_exactly", interrupted)
        certificate = rebuilt(whole, np.arange(0)).certify()
    assert certificate.carving.stop_reason == "interrupt"
    assert len(certificate.carving) == 4
    assert certificate.check() == certificate.theorem


@pytest.mark.parametrize("reason", ["regions", "time", "interrupt"])
def test_what_was_not_reached_is_not_dropped(reason: str) -> None:
    whole = damage.carved("moons")
    part = pc.Carving(
        whole.network,
        whole.domain,
        np.array(whole.packed[:20]),
        np.array(whole.points[:20]),
        np.array(whole.point_is_interior[:20]),
        stop_reason=reason,
    )
    certificate = part.certify(limits=pc.Limits(max_regions=5))
    assert (len(certificate.carving), certificate.n_added, certificate.n_dropped) == (5, 0, 0)
    assert certificate.check() == certificate.theorem


def test_points_beside_a_flat_side_are_not_taken() -> None:
    for name in ("a flat box", "a point"):
        whole = damage.carved(name)
        beside = whole.points + 1.0
        assert_repaired(whole, rebuilt(whole, np.arange(len(whole)), points=beside), 0, 0)
    net = pc.Network.from_arrays([[[1, 1]]], [[0]], relu_last=True)
    whole = pc.carve(net, pc.Box([-1, 2], [1, 2]))
    beside = whole.points + np.array([0, 1])
    damaged = rebuilt(whole, np.arange(len(whole)), points=beside)
    found = certified(damaged).carving
    assert (found.points[:, 1] == 2).all()
    assert np.array_equal(found.locate(found.points), np.arange(len(whole)))


@pytest.mark.parametrize("width", ["1e-30", "1/3", 1e300])
def test_points_far_out_of_a_polytope(width: Any) -> None:
    net = pc.Network.from_arrays([[[1]]], [[0]], relu_last=True)
    line = pc.Slice([0], [[1]], domain=pc.Polytope([[-1], [1]], [0, width]))
    whole = pc.carve(net, line)
    for point in (1e308, -1e308, np.inf):
        points = np.full_like(whole.points, point)
        assert_repaired(whole, rebuilt(whole, np.arange(len(whole)), points=points), 0, 0)


def test_what_workers_did_by_the_end_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first piece is never done in full: what is, and what others did, is proven."""
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box)
    real, clocks = sharing.prove_run, []

    def slow(work: Any, run: range, clock: Any) -> Any:
        clocks.append(clock)
        outcome = real(work, run, None)
        if run.start == 0:
            while time.time() < clock:
                time.sleep(0.01)
            del outcome.leaves[10:]
            outcome.is_stopped = True
        return outcome

    monkeypatch.setattr(sharing, "prove_run", slow)
    with ThreadPoolExecutor(2) as pool:
        certificate = carving.certify(executor=pool, workers=2, limits=pc.Limits(max_seconds=2))
    assert None not in clocks
    assert certificate.carving.stop_reason == "time"
    assert not certificate.complete
    assert len(certificate.carving) >= 10
    assert certificate.check() == certificate.theorem


def test_workers_stop_when_they_are_told() -> None:
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box, stop_layer=2)
    place = place_of(carving.domain)
    regions = proof.Regions(carving.patterns, carving.points, [None] * len(carving))
    work = sharing.Work(Stages(carving.network, place, 2), place, regions, True)
    run = range(10, 50)
    assert len(sharing.prove_run(work, run).leaves) == 40
    over = sharing.prove_run(work, run, time.time() - 1)
    assert over.is_stopped
    assert not over.leaves
    told = get_context("spawn").Event()
    told.set()
    before = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharing, "_stop", None)
        try:
            sharing.begin(told)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            stopped = sharing.prove_run(work, run)
        finally:
            signal.signal(signal.SIGINT, before)
    assert stopped.is_stopped
    assert not stopped.leaves


@pytest.mark.parametrize("most", [1, 64, 65, 200])
def test_no_more_is_asked_of_workers_than_the_limit(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = cases.spec()["rand_2-32-32-32"]
    carving = pc.carve(case.network, case.box, stop_layer=2)
    real, asked = sharing.prove_run, []

    def counted(work: Any, run: range, clock: Any) -> Any:
        asked.extend(run)
        return real(work, run, clock)

    monkeypatch.setattr(sharing, "prove_run", counted)
    with ThreadPoolExecutor(1) as pool:
        certificate = carving.certify(executor=pool, limits=pc.Limits(max_regions=most))
    assert asked == list(range(most))
    assert np.array_equal(certificate.carving.packed, carving.packed[:most])
    assert certificate.carving.stop_reason == "regions"


def test_time_that_ends_while_a_repaired_list_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """The regions found before have points, so they are there."""
    whole = damage.carved("moons")
    real, walks = sharing.alone, []

    def stopped(work: Any, watch: Any) -> Any:
        outcome = real(work, watch)
        walks.append(len(outcome.leaves))
        if len(walks) == 2:
            del outcome.leaves[3:]
            outcome.is_stopped, watch.reason = True, "time"
        return outcome

    monkeypatch.setattr(proving, "alone", stopped)
    certificate = rebuilt(whole, np.arange(len(whole)) > 30).certify()
    assert walks == [66, 66]
    assert certificate.carving.stop_reason == "time"
    assert len(certificate.carving) == 66
    assert not certificate.complete
    assert certificate.check() == certificate.theorem
