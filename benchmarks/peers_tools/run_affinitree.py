"""affinitree: the network distilled into a decision tree, on the box as its precondition."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from peers_tools.answers import Answer, Problem

# Leaves whose largest ball is smaller are said to have no interior.
LEAST_RADIUS = 1e-9


def load() -> None:
    sys.meta_path.insert(0, _NoTorch())
    with warnings.catch_warnings(action="ignore"):  # it says that there is no torch
        import affinitree  # noqa: F401


class _NoTorch:
    """Hide torch: affinitree imports it where it is, for seconds, and nothing here needs it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name)


def prepare(problem: Problem) -> Any:
    import affinitree as af

    dim = problem.dim
    architecture = af.Architecture(dim)
    for weight, bias in problem.layers:
        architecture.linear(af.AffFunc.from_mats(weight, bias))
        architecture.relu()
    cube = af.Polytope.hyperrectangle(dim, [(problem.low, problem.high)] * dim)
    # Outside the cube the tree is undefined: its leaves are the regions inside.
    return architecture, af.AffTree.from_poly(cube, af.AffFunc.identity(dim))


def run(prepared: Any, job: dict[str, Any]) -> Any:
    import affinitree as af

    tree = af.builder.from_layers(*prepared)
    if job["job"] == "tree":
        return tree, None, None
    leaves = [polytope for _, node, polytope in tree.polyhedra() if node.is_terminal()]
    if job["job"] == "vertices":
        return tree, None, [af.compute_polytope_vertices(polytope) for polytope in leaves]
    return tree, np.array([_largest_ball(polytope) for polytope in leaves]), None


def _largest_ball(polytope: Any) -> Any:
    """Return centre and radius, not numbers where its linear program fails."""
    balls, cost = polytope.chebyshev_center()
    try:
        return balls.solve(cost)
    except ValueError:
        return np.full(polytope.indim() + 1, np.nan)


def summarise(prepared: Any, result: Any) -> Answer:
    tree, balls, _ = result
    count = int(tree.num_terminals())
    if balls is None:
        return Answer(count)
    thick = balls[:, -1] > LEAST_RADIUS
    details = {"with_interior": int(thick.sum())}
    return Answer(count, points=balls[thick, :-1], details=details)
