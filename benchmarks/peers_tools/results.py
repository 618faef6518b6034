"""What was measured, by network, tool and job; and what the counts say together."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, NamedTuple

from peers_tools.running import Measurement
from peers_tools.tools import Tool


@dataclass(frozen=True)
class Net:
    """A network: ``size`` is the input's and the hidden layers' widths, as in ``2-32-32``."""

    size: str
    weights: str
    seed: int

    @property
    def dim(self) -> int:
        return int(self.size.split("-")[0])


@dataclass(frozen=True)
class Row:
    """The networks of one size and kind, and the output that is asked for."""

    size: str
    weights: str
    output: str
    seeds: tuple[int, ...]
    losses: tuple[float, ...] = ()

    @property
    def nets(self) -> list[Net]:
        return [Net(self.size, self.weights, seed) for seed in self.seeds]


class Ratio(NamedTuple):
    """The best peer's time over polycarve's; a lower bound where no peer came to an end."""

    value: float
    is_bound: bool
    peer: str


@dataclass
class Results:
    """Measurements of tools, polycarve's own choice of a method first among them."""

    tools: list[Tool]
    limit: float
    measured: dict[tuple[Net, str, str], Measurement] = field(default_factory=dict)

    def put(self, net: Net, tool: Tool, job: str, found: Measurement) -> None:
        self.measured[net, tool.name, job] = found

    def get(self, net: Net, tool: Tool, output: str) -> Measurement | None:
        job = tool.job(output, net.dim)
        return self.measured.get((net, tool.name, job)) if job else None

    def of_row(self, row: Row, tool: Tool) -> list[Measurement]:
        found = (self.get(net, tool, row.output) for net in row.nets)
        return [one for one in found if one is not None]

    def of_tool(self, tool: Tool) -> list[Measurement]:
        return [one for (_, name, _), one in self.measured.items() if name == tool.name]

    def ratio(self, row: Row) -> Ratio | None:
        """Return the median over seeds of the ratios of the best peer, network by network."""
        mine = self.tools[0]
        peers = [tool for tool in self.tools if tool.program != mine.program]
        ratios, bests, is_bound = [], [], False
        for net in row.nets:
            own = self.get(net, mine, row.output)
            if own is None or own.seconds is None:
                return None
            found = {tool.name: self.get(net, tool, row.output) for tool in peers}
            ends = {name: one.seconds for name, one in found.items() if one and one.seconds}
            if ends:
                bests.append(min(ends, key=ends.__getitem__))
                ratios.append(ends[bests[-1]] / own.seconds)
            elif any(one and one.status == "over" for one in found.values()):
                bests.append("none ends")
                ratios.append(self.limit / own.seconds)
                is_bound = True
        if not ratios:
            return None
        return Ratio(median(ratios), is_bound, max(bests, key=bests.count))

    def agreement(self, net: Net) -> Agreement:
        """Collect what all tools and jobs say about one network."""
        programs = {tool.name: tool.program for tool in self.tools}
        said = Agreement()
        for (at, name, _), one in self.measured.items():
            if at == net and one.count is not None and name in programs:
                said.counts.setdefault(programs[name], set()).add(one.count)
                if one.digest:
                    said.digests.setdefault(programs[name], set()).add(one.digest)
                said.doubtful = max(said.doubtful, one.details.get("doubtful", 0))
        return said

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {**asdict(net), "tool": tool, "job": job, **asdict(one)}
            for (net, tool, job), one in self.measured.items()
        ]


@dataclass
class Agreement:
    """Counts and hashes of the sets of patterns of one network, by program."""

    counts: dict[str, set[int]] = field(default_factory=dict)
    digests: dict[str, set[str]] = field(default_factory=dict)
    doubtful: int = 0

    @property
    def differ(self) -> bool:
        """Whether counts differ, or the lists of patterns of those programs that give them.

        Patterns at affinitree's points may be spoilt by rounding alone.
        """
        lists = [patterns for name, patterns in self.digests.items() if name != "affinitree"]
        return len(set().union(*self.counts.values())) > 1 or len(set().union(*lists)) > 1

    @property
    def n_alike(self) -> int:
        """How many programs have polycarve's patterns, one by one; polycarve among them."""
        own = self.digests.get("polycarve")
        return sum(own == theirs for theirs in self.digests.values()) if own else 0

    def __str__(self) -> str:
        said = [f"{name} {' and '.join(map(str, sorted(c)))}" for name, c in self.counts.items()]
        alike = len(set().union(*self.counts.values())) == 1
        return ", ".join(said) + (", but other patterns" if alike else "")
