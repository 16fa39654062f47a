"""The watch itself: a streaming query from telemetry to judged periods, with its checkpoint."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from meshwright.errors import MeshwrightError, OperatorError
from meshwright.files.writing import make_folder
from meshwright.pipeline.places.place import Place, spark_target
from meshwright.pipeline.watching.periods import Judge
from meshwright.pipeline.watching.telemetry import findings

POLL_S = 1


def watch(
    session: SparkSession,
    telemetry: Path,
    judge: Judge,
    *,
    lateness_s: float,
    is_once: bool,
    files_per_batch: int,
    checkpoint: Place | None = None,
) -> int:
    """Judge every period that is over, now and, unless is_once, as more telemetry comes.

    Answers how many rows came too late to count. checkpoint: where it is, if not in the folder of
    plans.
    """
    refuse_no_telemetry(telemetry)
    kept = checkpoint or judge.plans / "checkpoint"
    if isinstance(kept, Path):
        make_folder(kept)
    faults: list[MeshwrightError] = []

    def sink(batch: DataFrame, number: int) -> None:
        try:
            judge.judge(batch.toArrow(), number)
        except MeshwrightError as error:
            faults.append(error)  # Spark would wrap it into two stacks of calls
            raise

    frame = findings(
        session,
        telemetry,
        judge.clockwork,
        lateness_s=lateness_s,
        files_per_batch=files_per_batch,
    )
    writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", spark_target(kept))
    query = (writer.trigger(availableNow=True) if is_once else writer).start()
    try:
        return _followed(query)
    except StreamingQueryException as error:
        if faults:
            raise faults[0] from error
        raise
    finally:
        query.stop()


def refuse_no_telemetry(telemetry: Path) -> None:
    """Say that there is nothing to watch."""
    if not telemetry.is_dir():
        raise OperatorError(f"{telemetry}: there is no such folder; name the telemetry's.")


def _followed(query: StreamingQuery) -> int:
    """Wait for the end, and add up the rows that came too late."""
    late_counts: dict[int, int] = {}
    is_over = False
    while not is_over:
        is_over = bool(query.awaitTermination(POLL_S))
        for progress in query.recentProgress:
            late_counts[progress.batchId] = sum(
                operator.numRowsDroppedByWatermark for operator in progress.stateOperators
            )
    return sum(late_counts.values())
