"""The document: tables, and the words that say what they show and how it was done."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from peers_tools.running import BENCHMARKS, THREADS, Measurement
from peers_tools.tables import memory, number, programs, spread, table, times
from peers_tools.tools import OUTPUTS, PEERS

if TYPE_CHECKING:
    from peers_tools.comparison import Comparison


def document(found: Comparison) -> str:
    """Return all that there is so far, in Markdown."""
    parts = ["# polycarve and its peers", "", *_check(found)]
    if found.degenerate:
        parts += _degenerate(found)
    if found.rows:
        parts += _times(found)
        parts += _memory(found)
        parts += _programs(found)
        parts += _apart(found)
    parts += [*_tools(found), *_machine(found)]
    return "\n".join(parts)


def _check(found: Comparison) -> list[str]:
    from peers_tools.comparison import MOONS_REGIONS as RIGHT

    lines = [[tool.name, _verdict(found.check.get(tool.name), RIGHT)] for tool in found.tools]
    return [
        "## The check",
        "",
        f"A trained network 2-5-5-5 on the square [-3, 3]^2 has {RIGHT} regions. A tool that does "
        "not count them is left out of what follows.",
        "",
        *table(["tool", "regions"], lines),
    ]


def _degenerate(found: Comparison) -> list[str]:
    lines = [
        [name, str(right), *(_verdict(said[tool.name], right) for tool in found.tools)]
        for name, right, said in found.degenerate
    ]
    return [
        "## Right answers on degenerate networks",
        "",
        "Integer weights, on the cube [-1, 1]^d. The exact count comes from rational "
        "arithmetic (the tests' oracle, and their ground truths where these know the network) and "
        "from no tool of the comparison. Regions have an interior, and each counts once. Of "
        "affinitree's leaves it is also said in how many its own linear program finds a ball of "
        "radius 1e-9.",
        "",
        *table(["network", "exact", *(tool.name for tool in found.tools)], lines),
    ]


def _verdict(found: Measurement | None, right: int) -> str:
    if found is None:
        return "-"
    if found.status != "ok":
        return "out of time" if found.status == "over" else f"**failed**: {found.message}"
    if found.count == right:
        said = str(right)
    else:
        said = f"**{found.count}, wrong**"
        if "with_interior" in found.details:
            said += f" ({found.details['with_interior']} with an interior)"
    doubtful = found.details.get("doubtful")
    return said + (f" ({doubtful} doubtful)" if doubtful else "")


def _times(found: Comparison) -> list[str]:
    options, results = found.options, found.results
    losses = {row.weights: row.losses for row in found.rows}
    errors = ", ".join(f"{name} {spread(list(values))}" for name, values in losses.items())
    return [
        "## Times",
        "",
        f"Seconds on the cube [-1, 1]^d, the best of up to {options.repeats} runs, kernels "
        "compiled and imports done before. In brackets after the median, where there are several "
        f"networks of a size (here {options.seeds}), the least and the greatest. A run that takes "
        f"longer than {options.limit:g} s is stopped: >{options.limit:g}. A dash: the tool does "
        "not give this output. Under polycarve alone stands its own choice of a method. Sizes are "
        "input and hidden layers; a ReLU follows each hidden layer; an output layer cuts nothing "
        "and is left away. Untrained networks have torch's default initialisation; trained ones "
        "are fitted from there to sums of waves by 20 epochs of Adam (mean square error of the "
        f"last size: {errors}). All weights are float32 numbers, the same for every tool.",
        "",
        "What is asked from every tool:",
        "",
        *(f"- {name}: {what}" for name, what in OUTPUTS.items()),
        "",
        *times(results, found.rows),
        "Counts are in floating point, and not certified. Programs agree if they have the same "
        "number of regions; on every pattern, if the sets of patterns are the same: those that "
        "are listed, or for affinitree those at the points that it returns. The ratio is the "
        "median over the networks; in brackets the peer that is the best most often.",
        "",
        "### Counts that differ, and failures",
        "",
        *_differing(found),
    ]


def _differing(found: Comparison) -> list[str]:
    lines = []
    for net in dict.fromkeys(net for row in found.rows for net in row.nets):
        agreement = found.results.agreement(net)
        if agreement.differ:
            lines.append(f"- **{net.size}, {net.weights}, seed {net.seed}: {agreement}**")
    for (net, name, job), one in found.results.measured.items():
        if one.status == "failed":
            where = f"{net.size}, {net.weights}, seed {net.seed}"
            lines.append(f"- {name} failed on {where} ({job}): {one.message}")
    return [*(lines or ["None."]), ""]


def _memory(found: Comparison) -> list[str]:
    return [
        "## Peak memory",
        "",
        "Megabytes by which the first run raises the peak of its process (resident set) over what "
        "imports, kernels and the network occupy.",
        "",
        *memory(found.results, found.rows),
    ]


def _programs(found: Comparison) -> list[str]:
    lines = programs(found.results, found.rows)
    if not lines:
        return []
    return [
        "## Linear programs",
        "",
        "HiGHS's own clock leaves out the calls from Python, which its other times include; its "
        "time a pivot is by that clock. polycarve's times include all that it does.",
        "",
        *lines,
    ]


def _apart(found: Comparison) -> list[str]:
    lines = []
    for tool in found.results.tools:
        ran = [one for one in found.results.of_tool(tool) if one.import_seconds]
        busy = [one.busy / one.seconds for one in ran if one.seconds and one.seconds > 0.05]
        if ran:
            is_own = tool.program == "polycarve"
            warm = number(median(one.warm_seconds for one in ran)) if is_own else "-"
            imported = number(median(one.import_seconds for one in ran))
            lines.append([tool.name, imported, warm, f"{max(busy):.2f}" if busy else "-"])
    heads = ["tool", "import (s)", "kernels from the cache (s)", "processor s per s, at most"]
    said = ["## Not in the times", "", *table(heads, lines)]
    if found.fresh is not None and found.fresh.warm_seconds:
        said += [
            "polycarve compiles its kernels on first use and keeps them. The first carving ever "
            f"waits {number(found.fresh.warm_seconds)} s for them.",
            "",
        ]
    return said


def _tools(found: Comparison) -> list[str]:
    present = {tool.program for tool in found.tools}
    lines = ["## The tools", ""]
    for tool in (found.tools[0], *PEERS):
        version = found.about["polycarve"] if tool is found.tools[0] else tool.version
        state = version if tool.program in present else "**not installed** (extra: peers)"
        lines.append(f"- {tool.name}, {state}. {tool.arithmetic}. Returns {tool.returns}.")
    return [
        *lines,
        "- Left out: the edge subdivision method, a published torch program that is not on PyPI. "
        "It lists vertices and edges; regions take more work.",
        "",
    ]


def _machine(found: Comparison) -> list[str]:
    loads = [f"{load:.1f}" for load in found.load if load is not None]
    return [
        "## The machine",
        "",
        f"- {_processor()}, {os.cpu_count()} cores; {platform.system()} {platform.release()}",
        f"- Python {platform.python_version()}, NumPy {found.about['numpy']}; polycarve "
        f"{found.about['polycarve']}{_commit()}",
        f"- One thread: {', '.join(THREADS)} are 1 in all processes.",
        f"- Load averages over a minute, at the start and after every size: "
        f"{', '.join(loads) or 'not known'}.",
        "",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine() or sys.platform


def _commit() -> str:
    command = ["git", "-C", str(BENCHMARKS), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f" (commit {done.stdout.strip()})" if done.returncode == 0 else ""
