"""How far Spark's jobs are, by Spark's own account: tasks done of the tasks there are so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

POLL_S = 0.25


class TaskCount(NamedTuple):
    """Tasks done, and tasks of all stages that have begun; both only grow."""

    done: int
    known: int


Report = Callable[[TaskCount], None]


@contextmanager
def followed_jobs(session: SparkSession, report: Report) -> Iterator[None]:
    """Report what Spark works on until the block ends."""
    follow = _listening if is_remote() else _polling
    with follow(session, _Ledger(report)):
        yield


class _Ledger:
    """Stages seen so far: (tasks done, tasks)."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._stages: dict[tuple[str, int], tuple[int, int]] = {}

    def note(self, stages: Iterable[tuple[tuple[str, int], int, int]]) -> None:
        """Stages that run now; those that ran before and are gone are done."""
        running = {key: (done, known) for key, done, known in stages}
        for key, (_, known) in self._stages.items():
            self._stages[key] = running.pop(key, (known, known))
        self._stages |= running
        done = sum(done for done, _ in self._stages.values())
        self._report(TaskCount(done, sum(known for _, known in self._stages.values())))


@contextmanager
def _polling(session: SparkSession, ledger: _Ledger) -> Iterator[None]:
    """Ask a driver of our own, from a thread beside the one that waits for the result."""
    tracker = session.sparkContext.statusTracker()
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.wait(POLL_S):
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except (Py4JError, OSError):
                return  # the driver has stopped, and the main thread hears of it by itself
            ledger.note(
                (("", stage.stageId), stage.numCompletedTasks, stage.numTasks)
                for stage in stages
                if stage is not None
            )

    thread = threading.Thread(target=poll, name="spark-job-status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def _listening(session: SparkSession, ledger: _Ledger) -> Iterator[None]:
    """Hear from a Connect server."""

    def heard(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        del inflight_tasks, done
        ledger.note(
            ((operation_id or "", stage.stage_id), stage.num_completed_tasks, stage.num_tasks)
            for stage in stages or ()
        )

    server: Any = session  # any function will do, which its types do not say
    server.registerProgressHandler(heard)
    try:
        yield
    finally:
        server.removeProgressHandler(heard)
