"""A telemetry folder as a stream of what its periods say, with Spark keeping the state.

Clients and topics are hashed into buckets, one state each, so that a batch costs a call for a
bucket and not one for a client. Spark's watermark says which periods are over; a period's findings
all come out in the one batch that first sees its end behind the watermark.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StructField, StructType

from meshwright.files.writing import make_folder
from meshwright.model.schema import CONNECTIONS, PUBLICATIONS, SUBSCRIPTIONS
from meshwright.pipeline.frames import spark_schema
from meshwright.pipeline.places.place import spark_path
from meshwright.pipeline.watching.bucket import Bucket, Clockwork, Event, Finding

WATCHED = (SUBSCRIPTIONS, PUBLICATIONS, CONNECTIONS)
BUCKET_COUNT = 32
FINDINGS = "period long, broker string, topic string, publications long, rate double"
STATE = "bucket binary"
MICROSECONDS = 1000
_BUCKET = msgspec.msgpack.Decoder(Bucket)


def findings(
    session: SparkSession,
    telemetry: Path,
    clockwork: Clockwork,
    *,
    lateness_s: float,
    files_per_batch: int,
) -> DataFrame:
    """The stream of findings; what is more than lateness_s behind the newest event is dropped."""
    bucket = sf.pmod(sf.xxhash64("name"), sf.lit(BUCKET_COUNT))
    grouped = (
        _events(session, telemetry, files_per_batch)
        .withColumn("bucket", bucket)
        .withWatermark("time", f"{round(lateness_s * 1000)} milliseconds")
        .groupBy("bucket")
    )
    return grouped.applyInPandasWithState(
        _bucket_step(clockwork), FINDINGS, STATE, "append", GroupStateTimeout.EventTimeTimeout
    )


def _events(session: SparkSession, telemetry: Path, files_per_batch: int) -> DataFrame:
    """time, time_us, kind, name, other, is_on: everything that happens, in no order.

    One source for all tables: files come in the order in which they were written, so that no table
    runs ahead of the others and makes them late.
    """
    for table in WATCHED:
        make_folder(telemetry / table.name)
    columns = {
        field.name: StructField(field.name, field.dataType)
        for table in WATCHED
        for field in spark_schema(table)
    }
    folders = f"{spark_path(telemetry)}/{{{','.join(table.name for table in WATCHED)}}}"
    reader = session.readStream.schema(StructType(list(columns.values())))
    rows = reader.option("maxFilesPerTrigger", files_per_batch).parquet(folders)
    is_publication, is_connection = (sf.col(name).isNotNull() for name in ("publisher", "broker"))
    kind = sf.when(is_publication, "publish").when(is_connection, "host").otherwise("want")
    return rows.select(
        "time",
        sf.unix_micros("time").alias("time_us"),
        kind.alias("kind"),
        sf.when(is_publication, sf.col("topic")).otherwise(sf.col("client")).alias("name"),
        sf.coalesce("broker", "topic").alias("other"),
        sf.coalesce("is_on", sf.lit(True)).alias("is_on"),
    )


def _bucket_step(
    clockwork: Clockwork,
) -> Callable[[Any, Iterator[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    def step(
        key: Any, batches: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        del key
        # Spark pads what we give with empty rows, of which its own pandas warns.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concat", FutureWarning)
        bucket = _BUCKET.decode(bytes(state.get[0])) if state.exists else Bucket()
        if not state.hasTimedOut:
            for batch in batches:
                _hear(bucket, clockwork, batch)
        watermark_us = state.getCurrentWatermarkMs() * MICROSECONDS
        # Spark wakes a state strictly after its time; a period is over for all in the same batch.
        period_end = max(watermark_us - 1, 0) // clockwork.period_us
        found = list(bucket.close(clockwork, period_end))
        state.update((msgspec.msgpack.encode(bucket),))
        next_end_us = (max(bucket.next_period or 0, period_end) + 1) * clockwork.period_us
        state.setTimeoutTimestamp(next_end_us // MICROSECONDS)
        if found:
            yield pd.DataFrame(found, columns=Finding._fields)

    return step


def _hear(bucket: Bucket, clockwork: Clockwork, batch: pd.DataFrame) -> None:
    is_publication = (batch["kind"] == "publish").to_numpy()
    published, others = batch[is_publication], batch[~is_publication]
    slots = published["time_us"].to_numpy(dtype=np.int64) // clockwork.slot_us
    counts = published.groupby([slots, "name"]).size()
    for (slot, topic), count in counts.items():
        bucket.count(clockwork, int(slot), topic, int(count))
    columns = ("time_us", "kind", "name", "other", "is_on")
    rows = zip(*(others[column].tolist() for column in columns), strict=True)
    bucket.hear(clockwork, (Event(*row) for row in rows))
