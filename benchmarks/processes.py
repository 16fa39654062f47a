"""What this process and all that it started have used: Spark works in children of children.

CPU time says what work costs, also on a machine that others use; memory is what is held now.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """Elapsed and CPU seconds of a piece of work; cpu_s counts all processes."""

    elapsed_s: float
    cpu_s: float


def costed(work: Callable[[], T]) -> tuple[Cost, T]:
    """What one run costs, and its result."""
    cpu_s, start_s = cpu_seconds(), time.perf_counter()
    result = work()
    return Cost(time.perf_counter() - start_s, cpu_seconds() - cpu_s), result


def command_cost(*words: str | Path) -> Cost:
    """What a command costs with all that it starts, also what outlives it: Java ends last."""
    waiting = [sys.executable, "-m", "benchmarks.processes", *map(str, words)]
    ended = subprocess.run(waiting, stdout=subprocess.PIPE, check=True)
    return Cost(*json.loads(ended.stdout))


def run_and_reap(words: Sequence[str]) -> Cost:
    """Run a command in a process that inherits its orphans, and wait for each of them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start_s = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    elapsed_s = time.perf_counter() - start_s
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(elapsed_s, used.ru_utime + used.ru_stime)


def cpu_seconds() -> float:
    """CPU time of the whole tree of processes so far, with that of children that have ended."""
    return sum(sum(map(int, fields[11:15])) / TICKS_PER_S for fields in _tree().values())


def memory_mb() -> tuple[float, float]:
    """What this process holds now, and what its whole tree does; shared pages count to each."""
    resident = {pid: int(fields[21]) * PAGE_BYTES / 2**20 for pid, fields in _tree().items()}
    return resident[os.getpid()], sum(resident.values())


def _tree() -> dict[int, list[str]]:
    """The fields of /proc/*/stat after the name, for this process and its descendants."""
    found: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            found[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    return {pid: fields for pid, fields in found.items() if _descends(pid, found)}


def _descends(pid: int, found: dict[int, list[str]]) -> bool:
    while pid in found:
        if pid == os.getpid():
            return True
        pid = int(found[pid][1])
    return False


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_and_reap(sys.argv[1:])))
