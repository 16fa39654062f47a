"""A telemetry folder as a stream of what its periods say, with Spark keeping the state.

Clients and topics are hashed into buckets, one state each, so that a batch costs a call for a
bucket and not one for a client. What files say of clocks and periods goes to all buckets: each
judges a period in the same batch, and no watermark of Spark's drops anything.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StructField, StructType

from meshwright.files.writing import make_folder
from meshwright.model.schema import (
    CONNECTIONS,
    PUBLICATIONS,
    RECORDED_BY,
    STATEMENTS,
    SUBSCRIPTIONS,
)
from meshwright.model.times import SECOND_US
from meshwright.pipeline.places.place import spark_path
from meshwright.pipeline.tables.frames import SPARK_TYPES, spark_schema
from meshwright.pipeline.watching.bucket import Bucket, Finding, Heard, News, Row
from meshwright.pipeline.watching.clockwork import Clockwork
from meshwright.pipeline.watching.parts import Claim
from meshwright.pipeline.watching.picture import Event
from meshwright.pipeline.watching.rates import Count
from meshwright.pipeline.watching.recorded import READ, TOLD, recorded

WATCHED = (SUBSCRIPTIONS, PUBLICATIONS, CONNECTIONS, STATEMENTS)
BUCKET_COUNT = 32
FINDINGS = "kind string, period long, broker string, topic string, amount long, rate double"
STATE = "bucket binary"
FOR_ALL = ("file", "period", "state")
FOR_THE_FIRST = ("ahead",)
_BUCKET = msgspec.msgpack.Decoder(Bucket)


def findings(
    session: SparkSession, telemetry: Path, clockwork: Clockwork, *, files_per_batch: int
) -> DataFrame:
    """The stream of findings."""
    own = sf.pmod(sf.xxhash64("name"), sf.lit(BUCKET_COUNT)).cast("long")
    buckets = (
        sf.when(sf.col("kind").isin(*FOR_ALL), sf.sequence(sf.lit(0), sf.lit(BUCKET_COUNT - 1)))
        .when(sf.col("kind").isin(*FOR_THE_FIRST), sf.array(sf.lit(0)))
        .otherwise(sf.array(own.cast("int")))
    )
    return (
        _rows(session, telemetry, files_per_batch)
        .mapInPandas(recorded(clockwork), TOLD)
        .withColumn("bucket", sf.explode(buckets))
        .groupBy("bucket")
        .applyInPandasWithState(
            _bucket_step(clockwork), FINDINGS, STATE, "append", GroupStateTimeout.NoTimeout
        )
    )


def _rows(session: SparkSession, telemetry: Path, files_per_batch: int) -> DataFrame:
    """READ: everything that happens, in no order.

    One source for all tables: files come in the order in which they were written. A file may be
    gone when its turn comes, as its rows stand in another one by then.
    """
    for table in WATCHED:
        make_folder(telemetry / table.name)
    fields = {field.name: field for table in WATCHED for field in spark_schema(table)} | {
        column.name: StructField(column.name, SPARK_TYPES[column.kind]) for column in RECORDED_BY
    }
    schema = StructType([StructField(one.name, one.dataType) for one in fields.values()])
    folders = f"{spark_path(telemetry)}/{{{','.join(table.name for table in WATCHED)}}}"
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch)
    path = sf.col("_metadata.file_path")
    return (
        reader.option("ignoreMissingFiles", "true")
        .parquet(folders)
        .select(
            path.alias("path"),
            sf.element_at(sf.split(path, "/"), -2).alias("table"),
            sf.unix_micros("_metadata.file_modification_time").alias("written_us"),
            sf.unix_micros("time").alias("time_us"),
            *READ[4:],
        )
    )


def _bucket_step(
    clockwork: Clockwork,
) -> Callable[[Any, Iterator[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    def step(
        key: Any, batches: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        # Spark pads what we give with empty rows, of which its own pandas warns.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concat", FutureWarning)
        bucket = _kept(state)
        news = News(speaks=key[0] == 0)
        found: list[Finding] = []
        for batch in batches:
            found += _heard(news, batch)
        found += bucket.step(clockwork, news)
        state.update((msgspec.msgpack.encode(bucket),))
        if found:
            yield pd.DataFrame(found, columns=Finding._fields)

    return step


def _kept(state: GroupState) -> Bucket:
    """The bucket as it was left; executors have this function, and cannot be sent a decoder."""
    return _BUCKET.decode(bytes(state.get[0])) if state.exists else Bucket()


def _heard(news: News, batch: pd.DataFrame) -> Iterator[Finding]:
    """Take rows of TOLD into the news of a bucket; what is ahead is a finding already."""
    columns = [batch[name].tolist() for name in batch.columns if name != "bucket"]
    for row in zip(*columns, strict=True):
        kind, time_us, name, other, is_on, count, broker, series, part, last, file, written_us = row
        if kind == "file":
            news.claims.append(Claim(series, part, last, file, time_us))
            news.clocks.append(Heard(broker, time_us, written_us))
        elif kind == "period":
            news.periods.add(count)
        elif kind == "ahead":
            yield Finding("ahead", 0, broker, other, count, time_us / SECOND_US)
        else:
            is_count = kind == "publish"
            said: Event | Count = (
                Count(time_us, name, broker, count)
                if is_count
                else Event(time_us, kind, name, other, is_on)
            )
            news.rows.append(Row(said, broker, series, part, file))
