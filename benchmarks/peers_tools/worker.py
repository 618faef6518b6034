"""One tool, one network, one job, in a process of its own: ``python -m peers_tools.worker JOB``.

Prints a line of JSON when it is ready, after each run, and at the end. What the tool prints
itself goes nowhere.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


def main(job: dict[str, Any], say: Any) -> None:
    start = time.perf_counter()
    from peers_tools.answers import OutOfTimeError, Problem
    from peers_tools.making import read

    tool = importlib.import_module(f"peers_tools.{job['module']}")
    tool.load()
    imported = time.perf_counter()
    problem = Problem(read(job["network"]), *job["box"])
    if hasattr(tool, "warm"):
        tool.warm(problem, job)
    warmed = time.perf_counter()
    prepared = tool.prepare(problem)
    say({"event": "ready", "import": imported - start, "warm": warmed - imported})

    result, spent = None, 0.0
    for repeat in range(job["repeats"]):
        result = None  # memory is measured once, and time without old results in the way
        gc.collect()
        if repeat == 0:
            reset_peak()
            before = peak()
        clock, cpu = time.perf_counter(), time.process_time()
        try:
            result = tool.run(prepared, job)
        except OutOfTimeError as stop:
            say({"event": "over", "details": stop.details})
            return
        seconds, busy = time.perf_counter() - clock, time.process_time() - cpu
        spent += seconds
        more = repeat + 1 < job["repeats"] and spent < job["spend"]
        line = {"event": "run", "seconds": seconds, "busy": busy, "more": more}
        if repeat == 0:
            after = peak()
            line["memory"] = None if before is None or after is None else after - before
        say(line)
        if not more:
            break
    answer = tool.summarise(prepared, result)
    digest = answer.digest(problem.layers)
    say({"event": "end", "count": answer.count, "digest": digest, "details": answer.details})


def reset_peak() -> None:
    """Let the peak begin anew at what is occupied now, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int | None:
    """Return the most bytes that were resident so far, None where nothing tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w", buffering=1) as channel:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main(json.loads(sys.argv[1]), lambda line: channel.write(json.dumps(line) + "\n"))
