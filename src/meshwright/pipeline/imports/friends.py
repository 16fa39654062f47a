"""Pairs of friends: user_a,user_b to friendships, which are mutual and so two rows each."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.model.schema import FRIENDSHIPS
from meshwright.pipeline.imports.imported import Imported
from meshwright.pipeline.imports.judging import Judged, judged, trimmed, usable
from meshwright.pipeline.imports.records import csv_header, csv_records
from meshwright.pipeline.imports.repetitions import without_repetitions
from meshwright.pipeline.tables.frames import conform

NAMES = {"client": "user_a", "friend": "user_b"}
AT_THE_BEGINNING, AT_THE_END = "in_old", "in_new"
COLUMNS = (tuple(NAMES.values()), (AT_THE_BEGINNING, AT_THE_END))


def check_friends(path: Path) -> None:
    """Refuse a file with other columns."""
    csv_header(path, *COLUMNS)


def imported_friends(session: SparkSession, path: Path) -> Imported:
    """Friendships of a file of pairs."""
    pairs = friend_pairs(session, path)
    return Imported({FRIENDSHIPS.name: friendships(pairs)}, (pairs,))


def friend_pairs(session: SparkSession, path: Path) -> Judged:
    """Pairs as judged friendships, one row each.

    Where a file says who were friends at the beginning and at the end of a time, those at the end
    are meant.
    """
    records = csv_records(session, [path], *COLUMNS).filter(
        sf.coalesce(trimmed(sf.col(AT_THE_END)), sf.lit("1")) != "0"
    )
    rows = judged(records, FRIENDSHIPS, NAMES)
    alone = sf.when(sf.col("client") == sf.col("friend"), "nobody is their own friend")
    return without_repetitions(rows.withColumn("reason", sf.coalesce("reason", alone)), FRIENDSHIPS)


def friendships(pairs: Judged) -> DataFrame:
    """Who follows whom: both ways, each way once."""
    one_way = usable(pairs, FRIENDSHIPS)
    back = one_way.select(sf.col("friend").alias("client"), sf.col("client").alias("friend"))
    return conform(one_way.unionByName(back).distinct(), FRIENDSHIPS)
