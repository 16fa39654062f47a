"""The one shape of a benchmark row, and how a measured task is timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the task, what it took, and what was asked."""

    task: str
    measured: str
    target: str
    met: bool | None = None
    note: str = ""


def timed(work: Callable[[], T], repeat: int = 3) -> tuple[float, T]:
    """Least seconds of a few runs, and the last result; call once before to compile kernels."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result
