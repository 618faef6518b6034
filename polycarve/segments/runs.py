"""The public door: `carve_segments`, a loop over chunks, and what is settled exactly after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from polycarve.errors import InputError
from polycarve.networks import Network, as_network
from polycarve.segments import exact as exactly
from polycarve.segments.carvings import SegmentCarvings
from polycarve.segments.ends import Ends
from polycarve.segments.nodes import Found, joined
from polycarve.segments.stages import Stage, stages_of
from polycarve.segments.sweep import sweep
from polycarve.splitting.drive import Progress, Report, reporting

IntArray = npt.NDArray[np.int64]

# Values of one layer that are held at a time, more or less: so many stay in the caches.
_ENTRIES = 1 << 19

# Exact multiplications, or what takes as long, that are done unless more are asked for.
_EXACT_WORK = 10**9

# What of them is done together.
_EXACT_BATCH = 10**7

# What the handling of a number takes, in exact multiplications.
_EXACT_HANDLING = 50


def carve_segments(
    net: Any, X0: Any, X1: Any, *, exact: bool | None = None, progress: Progress = None
) -> SegmentCarvings:
    """Find where the activation pattern changes along many segments.

    Along a segment, an activation region is a maximal open interval with one pattern. Here they
    are found for thousands of segments in one call, in networks that are far too large to carve.

    Parameters
    ----------
    net : Network, torch module, or (weights, biases)
    X0, X1 : array-like, shape (n, d) or (d,)
        The ends: segment i is ``X0[i] + t * (X1[i] - X0[i])``, ``0 <= t <= 1``. One end may be
        shared by all. Floats stand for the numbers they are; Fractions and decimal strings are
        accepted.
    exact : bool, optional
        Whether to settle in exact arithmetic what floating point cannot. True: all of it,
        which takes up to minutes a segment in large networks. False: nothing. Default: as much
        as takes half a minute or so, the cheapest segments first.
    progress : bool or callable, optional
        ``True`` shows a bar on stderr; a callable gets ``(fraction, regions)`` now and then.

    Returns
    -------
    SegmentCarvings
        Breakpoints and flips as columns; ``n_doubtful`` says, for each segment, how many
        decisions remain that rounding could have changed.

    Raises
    ------
    NetworkError
        What is given is no network.
    DomainError
        Ends that do not fit the network or each other, that are not finite, or that are equal.

    Notes
    -----
    A neuron cuts where its pre-activation changes sign. One that is zero on an interval is
    inactive there, and one that only touches zero cuts nothing; neurons that flip at the same
    ``t`` make one breakpoint.

    The segments are swept layer by layer, many at a time: one matrix product gives a layer's
    pre-activations at all breakpoints so far, between which they are affine. Proven error bounds
    go along. Beside the result, memory holds the values at the breakpoints of one chunk of
    segments: 4 MB an array, or as much as one segment needs.

    Examples
    --------
    >>> import polycarve as pc
    >>> from polycarve.networks import examples
    >>> found = pc.carve_segments(examples.moons(), [[-3, -3], [-3, 3]], [[3, 3], [3, -3]])
    >>> found.n_regions.tolist(), found.total_doubtful
    ([13, 11], 0)
    """
    network = as_network(net)
    ends = Ends.read(X0, X1, network.input_dim)
    if exact is not None and not isinstance(exact, bool):
        raise InputError(f"exact is {exact!r}; True, False, or None (within reason) is needed.")
    with reporting(progress) as report:
        found = _swept(stages_of(network), ends, report)
        if exact is not False and found.n_doubtful.any():
            found = _settled(network, ends, found, all_of_it=exact is True, report=report)
        if report is not None:
            report(1.0, int(found.n_regions.sum()))
    return SegmentCarvings(network, ends.X0, ends.X1, found)


def _swept(stages: list[Stage], ends: Ends, report: Report | None) -> Found:
    """Sweep in floating point, in chunks of about as many values as fit the caches."""
    doubts = ends.doubts()
    n, at, regions, sure = len(ends), 0, 0, 0
    rows = max(1, _ENTRIES // max([1, *(max(s.layer.weight.shape) for s in stages)]))
    size = max(1, min(64, rows // 64))  # a first guess
    if not n:
        none = np.zeros(0, np.int64)
        width = (sum(stage.layer.n_cuts for stage in stages) + 7) // 8
        return Found(none, none, none, np.zeros(0), none, np.zeros((0, width), np.uint8))
    parts = []
    while at < n:
        part = slice(at, at + size)
        parts.append(sweep(stages, ends.X0[part], ends.X1[part], doubts[part], 4 * _ENTRIES))
        at = min(n, at + size)
        regions += int(parts[-1].n_regions.sum())
        size = max(1, rows * at // (regions + at))
        sure += int(np.count_nonzero(parts[-1].n_doubtful == 0))
        if report is not None:
            report(sure / n, regions)
    return joined(parts)


def _settled(
    network: Network, ends: Ends, found: Found, *, all_of_it: bool, report: Report | None
) -> Found:
    """Do again, exactly, the segments that are in doubt."""
    layers = network.layers[: network.hidden[-1] + 1] if network.hidden else ()
    each = sum(
        2 * n * m + _EXACT_HANDLING * (n + m) for n, m in (layer.weight.shape for layer in layers)
    )
    work = each * (found.n_regions + 1)
    rows = np.flatnonzero(found.n_doubtful)
    sure = len(ends) - len(rows)
    rows = rows[np.argsort(work[rows], kind="stable")]
    if not all_of_it:
        rows = rows[np.cumsum(work[rows]) <= _EXACT_WORK]
    parts, regions = [], int(found.n_regions.sum())
    for batch in _batches(rows, work):
        parts.append(exactly.sweep(network, *ends.exact(batch)))
        sure += len(batch)
        regions += int(parts[-1].n_regions.sum() - found.n_regions[batch].sum())
        if report is not None:
            report(sure / len(ends), regions)
    return _replaced(found, rows, parts)


def _batches(rows: IntArray, work: IntArray) -> Iterator[IntArray]:
    """Part rows into batches of a bounded amount of work, of one row at least."""
    batch = (np.cumsum(work[rows]) - 1) // _EXACT_BATCH
    for k in np.unique(batch):
        yield rows[batch == k]


def _replaced(found: Found, rows: IntArray, parts: list[Found]) -> Found:
    """Put what was found anew for some segments in the place of what was there."""
    if not parts:
        return found
    anew = joined(parts)
    segment = np.repeat(np.arange(len(found.n_regions)), found.n_flips)
    stays = ~np.isin(segment, rows)
    order = np.argsort(
        np.concatenate([segment[stays], np.repeat(rows, anew.n_flips)]), kind="stable"
    )
    columns = {}
    for name in ("breakpoints", "neurons"):
        kept = getattr(found, name)[stays]
        columns[name] = np.concatenate([kept, getattr(anew, name)])[order]
    for name in ("n_regions", "n_flips", "n_doubtful", "first"):
        columns[name] = getattr(found, name).copy()
        columns[name][rows] = getattr(anew, name)
    return Found(**columns)
