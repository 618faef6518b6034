"""polycarve, by the method that the job names."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from peers_tools.answers import Answer, Problem


def load() -> None:
    import polycarve  # noqa: F401


def warm(problem: Problem, job: dict[str, Any]) -> None:
    """Have every kernel of the job compiled, or read from the cache, on a small network."""
    rng = np.random.default_rng(0)
    widths = (problem.dim, 4, 4)
    layers = [
        (rng.standard_normal((n_out, n_in)), rng.standard_normal(n_out))
        for n_in, n_out in pairwise(widths)
    ]
    small = Problem(layers, problem.low, problem.high)
    run(prepare(small), job)


def prepare(problem: Problem) -> Any:
    import polycarve as pc

    weights, biases = zip(*problem.layers, strict=True)
    net = pc.Network.from_arrays(list(weights), list(biases), relu_last=True)
    return net, pc.Box.cube(problem.low, problem.high, dim=problem.dim)


def run(prepared: Any, job: dict[str, Any]) -> Any:
    import polycarve as pc

    carving = pc.carve(*prepared, method=job["method"])
    if job["job"] == "facets":
        return carving, carving.halfspaces()
    if job["job"] == "vertices":
        return carving, carving.vertices()
    return carving, None


def summarise(prepared: Any, result: Any) -> Answer:
    carving, _ = result
    details = {"doubtful": carving.n_doubtful, "method": carving.method}
    details |= _counts(prepared, carving.method)
    return Answer(len(carving), patterns=carving.patterns.astype(bool), details=details)


def _counts(prepared: Any, method: str) -> dict[str, Any]:
    """Return the linear programs and pivots of the carving, where its method solves any."""
    from polycarve.splitting import drive
    from polycarve.splitting.method import method_named
    from polycarve.splitting.program import compile_program

    net, box = prepared
    counts = drive.run(compile_program(net, box), method_named(method), sink=None).counts
    return {key: int(counts[key]) for key in ("programs", "pivots") if key in counts}
