"""Check-ins of Foursquare, which have no coordinates: the venue or its category is a topic.

A check-in publishes to its topic and keeps its user interested for so many days; a user who does
not come back in that time unsubscribes. [Yang et al., WWW 2019]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from meshwright.model.schema import CLIENT, PUBLICATIONS, SUBSCRIPTIONS, TIME, Column, Table
from meshwright.pipeline.imports.csv_tables import CsvTable, judged_csv
from meshwright.pipeline.imports.imported import Imported
from meshwright.pipeline.imports.judging import usable
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.records import csv_header
from meshwright.pipeline.tables.frames import conform

CHECKINS = Table(
    "checkins",
    "who was at which venue",
    (
        TIME,
        CLIENT,
        Column("venue", "text", "the venue's own identifier", form="topic name"),
        Column("category", "text", "the kind of venue", form="topic name"),
    ),
)
NAMES = {
    "time": "ts_utc_hour",
    "client": "user_id",
    "venue": "venue_id",
    "category": "category_id",
}
UNUSED = ["ts_local_hour"]
DAY_US = 86_400_000_000


def check_foursquare(path: Path, _parameters: ImportParameters) -> None:
    """Refuse a file with other columns."""
    csv_header(path, list(NAMES.values()), UNUSED)


def imported_foursquare(
    session: SparkSession, paths: Sequence[Path], parameters: ImportParameters
) -> Imported:
    """Check-ins as publications and subscriptions."""
    found = judged_csv(session, CsvTable(paths, CHECKINS, NAMES, list(NAMES.values()), UNUSED))
    source = sf.col(parameters.topic_of)
    topic = sf.concat_ws("/", sf.lit(parameters.topic_of), source)
    checkins = usable(found, CHECKINS).withColumn("topic", topic)
    return Imported(
        {
            SUBSCRIPTIONS.name: lasting_interests(checkins, parameters.interest_days),
            PUBLICATIONS.name: _publications(checkins, parameters.payload_bytes),
        },
        (found,),
    )


def lasting_interests(checkins: DataFrame, interest_days: float) -> DataFrame:
    """Subscriptions of users whose interest in a topic outlasts each check-in by so many days."""
    lasting_us = sf.lit(round(interest_days * DAY_US))
    alike = Window.partitionBy("client", "topic").orderBy("time")
    time_us = sf.unix_micros("time")
    until_next_us = sf.lead(time_us).over(alike) - time_us
    since_former_us = time_us - sf.lag(time_us).over(alike)
    ends = checkins.withColumns(
        {
            "begins": since_former_us.isNull() | (since_former_us > lasting_us),
            "ends": until_next_us.isNull() | (until_next_us > lasting_us),
        }
    )
    end = sf.timestamp_micros(time_us + lasting_us)
    begun = ends.filter("begins").withColumn("is_on", sf.lit(True))
    ended = ends.filter("ends").withColumn("is_on", sf.lit(False)).withColumn("time", end)
    return conform(begun.unionByName(ended), SUBSCRIPTIONS)


def _publications(checkins: DataFrame, payload_bytes: int) -> DataFrame:
    return conform(
        checkins.withColumnRenamed("client", "publisher").withColumn(
            "bytes", sf.lit(payload_bytes)
        ),
        PUBLICATIONS,
    )
