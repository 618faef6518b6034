"""Subprocesses: they get a job, a time limit and one thread each, and are read line by line."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

BENCHMARKS = Path(__file__).parents[1]
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

# Seconds for what is not timed: imports and compilation before, comparison after.
ASIDE = 900.0


@dataclass
class Measurement:
    """What came of a job. ``status`` is ``ok``, ``over`` (the limit) or ``failed``.

    ``seconds`` is the best of ``runs``; ``memory`` the bytes by which the first run raised the
    process's peak.
    """

    status: str
    seconds: float | None = None
    busy: float = 0.0
    runs: int = 0
    memory: int | None = None
    count: int | None = None
    digest: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    import_seconds: float = 0.0
    warm_seconds: float = 0.0
    message: str = ""


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Return the environment of all subprocesses: one thread, and this checkout's polycarve."""
    paths = [str(BENCHMARKS), str(BENCHMARKS.parent), os.environ.get("PYTHONPATH", "")]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)), PYTHONHASHSEED="0")
    return env | dict.fromkeys(THREADS, "1") | (more or {})


def ask(order: dict[str, Any]) -> dict[str, Any]:
    """Have `peers_tools.making` do something that is not timed; return what it says."""
    command = [sys.executable, "-m", "peers_tools.making", json.dumps(order)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{order} failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure(job: dict[str, Any], env: dict[str, str] | None = None) -> Measurement:
    """Run a job in a process of its own; end that process where a run outlasts the limit."""
    command = [sys.executable, "-m", "peers_tools.worker", json.dumps(job)]
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, env=environment(env), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(child.stdout, lines))
        reader.start()
        try:
            found = _follow(lines, job["limit"])
            if found.status == "failed" and not found.message:  # it is ending by itself
                with suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=30)
        finally:
            child.kill()
            child.wait()
            reader.join()
        if found.status == "failed" and not found.message:
            errors.seek(0)
            said = re.findall(r"^[\w.]+(?:Error|Exception)\b.*", errors.read(), re.MULTILINE)
            found.message = said[-1] if said else f"ended with code {child.returncode}"
    return found


def _read(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _follow(lines: queue.Queue[str | None], limit: float) -> Measurement:
    found, patience = Measurement("failed"), ASIDE  # until there is something better to say
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            if patience == ASIDE:
                found.message = f"nothing heard for {ASIDE:.0f} s outside a timed run"
            else:
                found.status = "over"
            return found
        if line is None:
            return found
        said = json.loads(line)
        match said["event"]:
            case "ready":
                found.import_seconds, found.warm_seconds = said["import"], said["warm"]
                patience = limit + 1.0
            case "over":
                found.status, found.details = "over", said["details"]
                return found
            case "run":
                if said["seconds"] > limit:
                    found.status = "over"
                    return found
                if found.seconds is None or said["seconds"] < found.seconds:
                    found.seconds, found.busy = said["seconds"], said["busy"]
                found.memory = said.get("memory", found.memory)
                found.runs += 1
                patience = limit + 1.0 if said["more"] else ASIDE
            case "end":
                found.status, found.details = "ok", said["details"]
                found.count, found.digest = said["count"], said["digest"]
                return found
