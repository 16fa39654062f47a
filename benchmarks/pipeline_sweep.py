"""What Spark adds to a sweep: 200 tasks of 0.2 s on two cores, beside a pool of processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing import get_context

from pyspark.sql import SparkSession

from benchmarks.table import Row, timed
from meshwright.pipeline.spark.session import spark_session
from meshwright.pipeline.sweep import TaskGrid, sweep

TASK_COUNT = 200
TASK_S = 0.2
CORE_COUNT = 2
TARGET_S = 26.0


def rows() -> list[Row]:
    with spark_session("benchmark", master=f"local[{CORE_COUNT}]") as session:
        return [
            _row("waiting", _sweep_s(session, waiting), _pool_s(waiting), target_s=TARGET_S),
            _row("computing", _sweep_s(session, computing), _pool_s(computing), target_s=None),
        ]


def waiting(seed: int) -> int:
    time.sleep(TASK_S)
    return seed


def computing(seed: int) -> int:
    """Keep a core busy for as much of its own time."""
    end_s = time.process_time() + TASK_S
    while time.process_time() < end_s:
        pass
    return seed


def _sweep_s(session: SparkSession, task: Callable[[int], int]) -> float:
    sweep(session, task, TaskGrid({}, range(CORE_COUNT)))  # starts the Python workers
    seconds, _ = timed(lambda: sweep(session, task, TaskGrid({}, range(TASK_COUNT))), repeat=1)
    return seconds


def _pool_s(task: Callable[[int], int]) -> float:
    with get_context("spawn").Pool(CORE_COUNT) as pool:
        pool.map(task, range(CORE_COUNT))
        seconds, _ = timed(lambda: pool.map(task, range(TASK_COUNT), chunksize=1), repeat=1)
    return seconds


def _row(kind: str, seconds: float, pool_s: float, *, target_s: float | None) -> Row:
    """Whoever computes shares the cores with everybody else here, so that row has no target."""
    ideal_s = TASK_COUNT * TASK_S / CORE_COUNT
    return Row(
        task=f"sweep of {TASK_COUNT} tasks of {TASK_S} s, {kind}, {CORE_COUNT} cores",
        measured=f"{seconds:.1f} s",
        target="report" if target_s is None else f"{target_s:.0f} s (ideal {ideal_s:.0f} s)",
        met=None if target_s is None else seconds <= target_s,
        note=f"a pool of processes needs {pool_s:.1f} s",
    )
