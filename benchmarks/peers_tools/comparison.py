"""The order of work: the check, the degenerate networks, then size after size."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from peers_tools import degenerate
from peers_tools.results import Net, Results, Row
from peers_tools.running import BENCHMARKS, Measurement, ask, measure
from peers_tools.tools import OUTPUTS, PEERS, POLYCARVE, Tool, polycarve_method

MOONS = BENCHMARKS.parent / "tests" / "data" / "networks" / "moons.npz"
MOONS_HALF, MOONS_REGIONS = 3.0, 66

# Runs are repeated until so many seconds are spent on them.
SPEND = 10.0


class Comparison:
    """What is measured.

    Attributes
    ----------
    tools : list of Tool
        All that are installed; ``results.tools`` are those of them that pass the check.
    rows : list of Row
        The rows that are complete.
    degenerate : list of (name, right count, {tool: measurement})
    fresh : Measurement or None
        Of a process that had to compile polycarve's kernels.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.about = ask({"about": True})
        own = [POLYCARVE, *map(polycarve_method, self.about["methods"])]
        self.tools = own + [tool for tool in PEERS if tool.is_installed]
        self.results = Results(self.tools, options.limit)
        self.rows: list[Row] = []
        self.check: dict[str, Measurement | None] = {}
        self.degenerate: list[tuple[str, int, dict[str, Measurement | None]]] = []
        self.fresh: Measurement | None = None
        self.load = [_load()]

    def steps(self) -> Iterator[None]:
        """Measure, and stop where there is something new to write down."""
        options = self.options
        self.check_moons()
        if options.fresh:
            self.compile_anew()
        yield
        for case in degenerate.CASES:
            if options.degenerate and (case.is_quick or not options.quick):
                self.run_degenerate(case)
                yield
        for size in options.sizes:
            for weights in options.weights:
                self.run_size(size, weights)
                self.load.append(_load())
                yield

    # ------------------------------------------------------------------ right or wrong

    def check_moons(self) -> None:
        """Leave out, loudly, a tool that miscounts a network whose count is known."""
        path = self.folder / "moons.npz"
        ask({"copy": str(MOONS), "path": str(path)})
        say("moons")
        self.check = self.counts(path, 2, MOONS_HALF)
        right = []
        for tool in self.tools:
            found = self.check[tool.name]
            if found is not None and found.count == MOONS_REGIONS:
                right.append(tool)
            else:
                say(f"{tool.name} FAILS THE CHECK and is left out: {found}")
        if POLYCARVE not in right:
            raise SystemExit("polycarve itself fails the check: there is nothing to compare.")
        self.results.tools = right

    def run_degenerate(self, case: degenerate.Case) -> None:
        say(case.name)
        path = self.folder / "degenerate.npz"
        right = ask({"case": case.name, "path": str(path)})["count"]
        self.degenerate.append((case.name, right, self.counts(path, case.dim, 1.0)))

    def counts(self, path: Path, dim: int, half: float) -> dict[str, Measurement | None]:
        """Let all tools count; side by side, since nobody looks at the time."""

        def count(tool: Tool) -> Measurement | None:
            job = tool.job("points", dim)
            return measure(self.order(tool, job, path, half, repeats=1)) if job else None

        auto = count(POLYCARVE)
        others = [tool for tool in self.tools if not _is_chosen(tool, auto)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = {tool.name: auto for tool in self.tools}
            return found | {
                tool.name: one for tool, one in zip(others, pool.map(count, others), strict=True)
            }

    # ------------------------------------------------------------------ times

    def compile_anew(self) -> None:
        say("polycarve's kernels, compiled anew")
        order = self.order(POLYCARVE, "points", self.folder / "moons.npz", MOONS_HALF, repeats=1)
        with tempfile.TemporaryDirectory() as cache:
            self.fresh = measure(order, {"POLYCARVE_CACHE": cache})

    def run_size(self, size: str, weights: str) -> None:
        dim = int(size.split("-")[0])
        outputs = self.options.outputs or (OUTPUTS if dim == 2 else ("patterns", "points"))
        seeds = tuple(range(self.options.seeds))
        path = self.folder / "net.npz"
        losses = []
        for seed in seeds:
            widths = [*map(int, size.split("-")), 1]
            made = ask({"widths": widths, "seed": seed, "weights": weights, "path": str(path)})
            losses.append(made["loss"])
            for tool in self.results.tools:
                self.run_tool(Net(size, weights, seed), path, tool, outputs)
        self.rows += [Row(size, weights, output, seeds, tuple(losses)) for output in outputs]

    def run_tool(self, net: Net, path: Path, tool: Tool, outputs: Any) -> None:
        """Run the jobs of a tool; one that takes too long is not asked for more."""
        last = None
        for job in dict.fromkeys(filter(None, (tool.job(out, net.dim) for out in outputs))):
            found = self.same_as_auto(net, tool, job)
            if found is None and last is not None and last.status == "over":
                found = Measurement("over", message="ran out of time with less to do")
            elif found is None:
                say(f"{net.size}, {net.weights}, seed {net.seed}: {tool.name}, {job}")
                found = measure(self.order(tool, job, path, 1.0, self.options.repeats))
            self.results.put(net, tool, job, found)
            last = found

    def same_as_auto(self, net: Net, tool: Tool, job: str) -> Measurement | None:
        """Return the headline's measurement for the method that it chose."""
        auto = self.results.measured.get((net, POLYCARVE.name, job))
        return auto if _is_chosen(tool, auto) else None

    def order(self, tool: Tool, job: str, path: Path, half: float, repeats: int) -> dict[str, Any]:
        return {
            "module": tool.module,
            "method": tool.method,
            "job": job,
            "network": str(path),
            "box": [-half, half],
            "repeats": repeats,
            "spend": SPEND,
            "limit": self.options.limit,
        }


def _is_chosen(tool: Tool, auto: Measurement | None) -> bool:
    """Whether a measurement of the headline is one of a tool, being its own or its method's."""
    if auto is None or tool.program != POLYCARVE.program:
        return False
    return tool is POLYCARVE or auto.details.get("method") == tool.method


def say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
    sys.stderr.flush()


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
