"""What must hold of every carving, one function an invariant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polycarve import faces, geometry
from polycarve.adjacency import UNKNOWN
from polycarve.carving import Carving
from polycarve.checks import jumps
from polycarve.checks.evidence import Evidence, SkipError
from polycarve.checks.report import Finding, Report, result
from polycarve.errors import GeometryError, InputError, NumericalError
from polycarve.patterns import rises
from polycarve.shapes import Shapes, split


def check(carving: Carving, *, skip: Sequence[str] = ()) -> Report:
    """Check what must hold of every carving.

    =============  =========================================================================
    ``points``     interior points lie in the domain and have their region's pattern (exact)
    ``order``      patterns increase, so none is there twice
    ``volumes``    they add up to the domain's (bounded, at most nine dimensions)
    ``facets``     every facet inside the domain has exactly two sides
    ``adjacency``  `Carving.adjacency` says the same
    ``connected``  every region is reached through facets
    ``continuity`` the affine maps on both sides of a facet agree on its hyperplane
    ``rank``       their linear parts differ by a matrix of rank at most one
    ``euler``      the alternating sum of the numbers of faces is that of the domain (up to
                   three dimensions; two if unbounded)
    =============  =========================================================================

    Parameters
    ----------
    carving : Carving
        Of an incomplete one, what can be checked is, and the rest is skipped.
    skip : list of str
        Checks to leave out, such as ``"volumes"``, which takes long in many dimensions.

    Returns
    -------
    Report
        ``.ok`` if nothing failed. It prints as a table, which says what was skipped and why.

    Notes
    -----
    Facets are found anew, without what the list itself says about who split whom; so a list that
    lacks all regions on one side of a hyperplane does not pass. Passing is evidence, and no proof.

    Examples
    --------
    >>> import polycarve as pc
    >>> net = pc.Network.from_arrays([[[1, 0], [0, 1]], [[1, -1]]])
    >>> report = pc.check(pc.carve(net, pc.Box.cube(-1, 1, dim=2)))
    >>> report.ok, report["euler"].note
    (True, '9 - 12 + 4 = 1')
    """
    if isinstance(skip, str):
        raise InputError(f"skip is {skip!r}; give a list of names: [{skip!r}].")
    unknown = [name for name in skip if name not in _CHECKS]
    if unknown:
        raise InputError(f"no check is called {unknown[0]!r}. There are: {', '.join(_CHECKS)}.")
    evidence = Evidence(carving)
    findings = []
    for name, run in _CHECKS.items():
        try:
            if name in skip:
                raise SkipError("not asked for")
            findings.append(run(name, evidence))
        except SkipError as reason:
            findings.append(Finding(name, "skipped", None, 0.0, str(reason)))
        except (GeometryError, NumericalError) as error:
            findings.append(Finding(name, "skipped", None, 0.0, f"cannot be computed: {error}"))
    return Report(tuple(findings))


def _points(name: str, evidence: Evidence) -> Finding:
    wrong, inside = evidence.misplaced, evidence.carving.point_is_interior
    unproven = int((~inside).sum())
    note = f"of {int(inside.sum()):,} interior points are misplaced"
    if unproven:
        note += f"; {unproven:,} regions have no proven one"
    example = f": region {int(np.argmax(wrong))}" if wrong.any() else ""
    return result(name, int(wrong.sum()), 0, note, f"{note}{example}")


def _order(name: str, evidence: Evidence) -> Finding:
    falls = ~rises(evidence.carving.packed)
    example = f": region {int(np.argmax(falls)) + 1}" if falls.any() else ""
    note = "patterns are not greater than the one before"
    return result(name, int(falls.sum()), 0, note, f"{note}{example}")


def _volumes(name: str, evidence: Evidence) -> Finding:
    carving, d = evidence.carving, len(evidence.free)
    if not carving.domain.is_bounded:
        raise SkipError("the domain is unbounded")
    if d > geometry.MOST_DIMENSIONS:
        raise SkipError(f"volumes are out of reach in {d} dimensions")
    tolerance = 1e-9 if d <= 3 else 1e-6
    whole = _volume(Shapes(carving.network, carving.domain, 0))
    total = 0.0
    parts = zip(split(evidence.facets), evidence.points[:, evidence.free], strict=True)
    for region, (part, point) in enumerate(parts):
        if not evidence.shapeless[region] and d:
            total += geometry.volume(geometry.vertices(part.A, part.b, point))
    total = total if d else float(len(carving))
    lack = total / whole - 1
    if not carving.complete:
        note = f"they are at most the domain's: {total:.10g} of {whole:.10g}"
        return result(name, max(lack, 0.0), tolerance, note)
    return result(name, abs(lack), tolerance, f"sum {total:.10g}, the domain {whole:.10g}")


def _volume(shapes: Shapes) -> float:
    """Return the volume of a bounded domain, which is the one region of no layers."""
    if not shapes.free.size:
        return 1.0
    everywhere = np.zeros((1, 0), np.uint8)
    centre = np.zeros((1, shapes.domain.dim))  # not used: no point is known to be inside
    part = next(split(shapes.facets(everywhere, centre, np.array([True]))))
    inside = geometry.chebyshev(part.A, part.b).centre
    return geometry.volume(geometry.vertices(part.A, part.b, inside))


def _facets(name: str, evidence: Evidence) -> Finding:
    adjacency = evidence.adjacency
    neighbor, mate = adjacency.neighbor, adjacency.mate
    lost = neighbor == UNKNOWN if evidence.carving.complete else np.zeros(len(neighbor), np.bool_)
    known = np.flatnonzero(neighbor >= 0)
    pairs = adjacency.region[known] * len(adjacency) + neighbor[known]
    _, place, count = np.unique(pairs, return_inverse=True, return_counts=True)
    alone = (mate[known] < 0) & ~evidence.shapeless[neighbor[known]]
    lost[known] = alone | (count[place] > 1)
    note = f"of {int((adjacency.source >= 0).sum()):,} facets do not have two sides"
    example = ""
    if lost.any():
        facet = int(np.argmax(lost))
        example = f": region {adjacency.region[facet]} on neuron {adjacency.source[facet]}"
    return result(name, int(lost.sum()), 0, note, f"{note}{example}")


def _adjacency(name: str, evidence: Evidence) -> Finding:
    carving, found = evidence.carving, evidence.adjacency
    try:
        own = carving.adjacency()
    except NumericalError as error:
        return Finding(name, "failed", 1.0, 0.0, str(error))
    evidence.need_shapes()
    mine, theirs = (
        {
            tuple(row)
            for row in zip(a.region.tolist(), a.source.tolist(), a.neighbor.tolist(), strict=True)
        }
        for a in (own, found)
    )
    return result(name, len(mine ^ theirs), 0, "facets are not those found without the list")


def _connected(name: str, evidence: Evidence) -> Finding:
    from scipy.sparse.csgraph import connected_components

    evidence.need_complete()
    count = int(connected_components(evidence.adjacency.matrix(), directed=False)[0])
    return result(name, count, 1, "components")


def _euler(name: str, evidence: Evidence) -> Finding:
    evidence.need_complete()
    evidence.need_shapes()
    try:
        counts = faces.f_vector(evidence.adjacency, evidence.facets, evidence.points)
    except GeometryError as error:
        raise SkipError(str(error).rstrip(".")) from None
    want = faces.euler_characteristic(evidence.carving.domain)
    found = sum((-1) ** k * count for k, count in enumerate(counts))
    signed = f"{counts[0]}" + "".join(
        f" {'-+'[k % 2 == 0]} {count}" for k, count in enumerate(counts) if k
    )
    note = f"{signed} = {found}"
    return result(name, abs(found - want), 0, note, f"{note}, and not {want}")


_CHECKS: dict[str, Callable[[str, Evidence], Finding]] = {
    "points": _points,
    "order": _order,
    "volumes": _volumes,
    "facets": _facets,
    "adjacency": _adjacency,
    "connected": _connected,
    "continuity": jumps.continuity,
    "rank": jumps.rank,
    "euler": _euler,
}
