"""Measurements as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from statistics import median

from peers_tools.results import Results, Row
from peers_tools.running import Measurement
from peers_tools.tools import Tool


def number(value: float) -> str:
    """Return three digits, or all of those before the point."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def spread(values: list[float], show: Callable[[float], str] = number) -> str:
    """Return the median, and the least and the greatest in brackets."""
    middle, least, most = show(median(values)), show(min(values)), show(max(values))
    return middle if least == most else f"{middle} ({least} .. {most})"


def table(heads: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def times(results: Results, rows: list[Row]) -> list[str]:
    """Return the main table: seconds, counts and where they come from, the ratio."""
    tools = results.tools
    heads = ["network", "weights", "output", "regions", "counts", *(tool.name for tool in tools)]
    lines = []
    for row in rows:
        line = [row.size, row.weights, row.output, _regions(results, row), _counts(results, row)]
        line += [_seconds(results, row, tool) for tool in tools]
        lines.append([*line, _ratio(results, row)])
    return table([*heads, "best peer / polycarve"], lines)


def memory(results: Results, rows: list[Row]) -> list[str]:
    """Return the table of peak memory in megabytes."""
    heads = ["network", "weights", "output", *(tool.name for tool in results.tools)]
    lines = []
    for row in rows:
        line = [row.size, row.weights, row.output]
        for tool in results.tools:
            found = results.of_row(row, tool)
            sizes = [one.memory / 1e6 for one in found if one.memory is not None]
            line.append(spread(sizes, _megabytes) if sizes else "-")
        lines.append(line)
    return table(heads, lines)


def programs(results: Results, rows: list[Row]) -> list[str]:
    """Return the table of linear programs: HiGHS beside polycarve's methods that solve any."""
    heads = ["network", "weights", "tool", "regions", "LPs", "pivots", "us per LP"]
    heads += ["us per LP by HiGHS's clock", "us per pivot"]
    lines = []
    for row in rows:
        if row.output != "patterns":
            continue
        for tool in results.tools:
            found = [one for one in results.of_row(row, tool) if one.details.get("programs")]
            chosen = {one.details.get("method", tool.method) for one in found}
            if found and not (tool.method not in ("", "auto") and _was_chosen(results, row, tool)):
                name = f"{tool.name} ({', '.join(chosen)})" if tool.method == "auto" else tool.name
                lines.append([row.size, row.weights, name, *_programs(found, results.limit)])
    return table(heads, lines) if lines else []


def _was_chosen(results: Results, row: Row, tool: Tool) -> bool:
    """Whether these are the headline's own measurements."""
    own = results.of_row(row, results.tools[0])
    return all(one.details.get("method") == tool.method for one in own)


def _programs(found: list[Measurement], limit: float) -> list[str]:
    """Return the cells of one tool; what ran out of time counts as far as it came."""

    def each(value: Callable[[Measurement], float], unit: str) -> str:
        return spread([1e6 * value(one) / max(one.details[unit], 1) for one in found])

    def total(value: Callable[[Measurement], float]) -> str:
        is_low = any(one.status != "ok" for one in found)
        return ("at least " if is_low else "") + f"{median(map(value, found)):.0f}"

    def wall(one: Measurement) -> float:
        return limit if one.seconds is None else one.seconds

    def clock(one: Measurement) -> float:
        return float(one.details.get("clock", math.nan))

    has_clock = "clock" in found[0].details
    return [
        total(lambda one: one.details["regions"] if one.count is None else one.count),
        total(lambda one: one.details["programs"]),
        total(lambda one: one.details["pivots"]),
        each(wall, "programs"),
        each(clock, "programs") if has_clock else "-",
        each(clock if has_clock else wall, "pivots"),
    ]


def _megabytes(value: float) -> str:
    return "<1" if value < 1 else f"{value:.0f}"


def _regions(results: Results, row: Row) -> str:
    """Return polycarve's counts, or those of a peer where it has none."""
    counts = []
    for net in row.nets:
        said = results.agreement(net).counts
        if said:
            counts.append(float(min(said.get(results.tools[0].program) or min(said.values()))))
    return spread(counts, lambda value: f"{value:.0f}") if counts else "-"


def _counts(results: Results, row: Row) -> str:
    """Say what stands behind the counts: how many programs, over the seeds at the least."""
    found = [results.agreement(net) for net in row.nets]
    if any(agreement.differ for agreement in found):
        return "**COUNTS DIFFER: see below**"
    n = min(len(agreement.counts) for agreement in found)
    alike = min(agreement.n_alike for agreement in found)
    said = f"float, {n} programs agree" if n > 1 else "float, one program" if n else "-"
    if n > 1 and alike > 1:
        said += f" ({alike} on every pattern)"
    doubtful = sum(agreement.doubtful for agreement in found)
    return said + (f", {doubtful} doubtful decisions" if doubtful else "")


def _seconds(results: Results, row: Row, tool: Tool) -> str:
    found = results.of_row(row, tool)
    if not found:
        return "-"
    if any(one.status == "failed" for one in found):
        return "**failed: see below**"
    values = [math.inf if one.seconds is None else one.seconds for one in found]
    cell = spread(values, lambda v: number(v) if math.isfinite(v) else f">{results.limit:g}")
    chosen = {one.details["method"] for one in found if "method" in one.details}
    return f"{cell}, {' or '.join(sorted(chosen))}" if tool.method == "auto" and chosen else cell


def _ratio(results: Results, row: Row) -> str:
    answer = results.ratio(row)
    if answer is None:
        return "-"
    return f"{'>' if answer.is_bound else ''}{number(answer.value)} ({answer.peer})"
