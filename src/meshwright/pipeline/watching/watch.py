"""The watch itself: a streaming query from telemetry to judged periods, with its checkpoint.

On a Connect server the periods are judged there, by our package that was sent along. So what was
judged is told from the files in the folder of plans, wherever it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from meshwright.errors import MeshwrightError, OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.writing import make_folder
from meshwright.pipeline.places.place import Place, spark_target
from meshwright.pipeline.tables.parquet_files import check_part, parts
from meshwright.pipeline.watching.periods import Judge, PeriodRecord
from meshwright.pipeline.watching.telemetry import WATCHED, findings
from meshwright.pipeline.watching.watch_record import WatchRecord, read_record

POLL_S = 1
# Begins and ends a sentence of ours that Spark wraps into two stacks of calls.
SAID = "\x1e"
SENTENCE = re.compile(f"{SAID}([^{SAID}]+){SAID}")
Report = Callable[[PeriodRecord], None]


def watch(
    session: SparkSession,
    telemetry: Path,
    judge: Judge,
    report: Report,
    *,
    is_once: bool,
    files_per_batch: int,
    checkpoint: Place | None = None,
) -> WatchRecord:
    """Judge every period that is over, now and, unless is_once, as more telemetry comes.

    checkpoint: where it is, if not in the folder of plans.
    """
    refuse_no_telemetry(telemetry)
    _check_files(telemetry)
    kept = checkpoint or judge.plans / "checkpoint"
    if isinstance(kept, Path):
        make_folder(kept)
    frame = findings(session, telemetry, judge.clockwork, files_per_batch=files_per_batch)
    writer = frame.writeStream.foreachBatch(_sink(judge)).option(
        "checkpointLocation", spark_target(kept)
    )
    known = set(_records(judge.plans))
    query = (writer.trigger(availableNow=True) if is_once else writer).start()
    try:
        _follow(query, judge.plans, known, report)
    except StreamingQueryException as error:
        if (said := SENTENCE.search(str(error))) is not None:
            raise OperatorError(said[1]) from error
        _check_files(telemetry)  # says which file it is, and why
        raise
    finally:
        query.stop()
    return read_record(judge.plans)


def refuse_no_telemetry(telemetry: Path) -> None:
    """Say that there is nothing to watch."""
    if not telemetry.is_dir():
        raise OperatorError(f"{telemetry}: there is no such folder; name the telemetry's.")


def _sink(judge: Judge) -> Callable[[DataFrame, int], None]:
    """May run in another process, so that it holds no session and names no folder of this one."""
    telemetry = None if judge.telemetry is None else judge.telemetry.resolve()
    judge = replace(judge, plans=judge.plans.resolve(), telemetry=telemetry)

    def sink(batch: DataFrame, number: int) -> None:
        try:
            judge.judge(batch.toArrow(), number)
        except MeshwrightError as error:
            raise RuntimeError(f"{SAID}{error}{SAID}") from error

    return sink


def _check_files(telemetry: Path) -> None:
    for table in WATCHED:
        folder = telemetry / table.name
        for part in parts(folder) if folder.is_dir() else ():
            if part.exists():  # those that were put together are gone
                check_part(part, table, is_growing=True)


def _follow(query: StreamingQuery, plans: Path, known: set[str], report: Report) -> None:
    """Wait for the end, and report periods as they are judged."""
    is_over = False
    while not is_over:
        is_over = bool(query.awaitTermination(POLL_S))
        for name in _records(plans):
            if name not in known:
                known.add(name)
                report(decoded((plans / name).read_bytes(), PeriodRecord))


def _records(plans: Path) -> Iterator[str]:
    return iter(sorted(path.name for path in plans.glob("period-*.json")))
