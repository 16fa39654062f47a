"""Pairs of friends: user_a,user_b to friendships, which are mutual and so two rows each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.model.schema import FRIENDSHIPS, Column, Table
from meshwright.pipeline.imports.imported import Imported
from meshwright.pipeline.imports.judging import Judged, judged, trimmed, usable
from meshwright.pipeline.imports.pieces import cut, runs
from meshwright.pipeline.imports.plain import PlainForm
from meshwright.pipeline.imports.records import csv_header, csv_records
from meshwright.pipeline.imports.repetitions import REPEATS, without_repetitions
from meshwright.pipeline.imports.single_rows import RowJudge, Value
from meshwright.pipeline.imports.tallies import records_of
from meshwright.pipeline.imports.without_spark import OTHERS_MAX, WHOLE_FILE, ReadTable, Refusal
from meshwright.pipeline.tables.frames import arrow_schema, conform

NAMES = {"client": "user_a", "friend": "user_b"}
AT_THE_BEGINNING, AT_THE_END = "in_old", "in_new"
COLUMNS = (tuple(NAMES.values()), (AT_THE_BEGINNING, AT_THE_END))
ALONE = "nobody is their own friend"
PAIRS = Table(
    "pairs",
    "who were friends at the end",
    (Column(AT_THE_END, "text", "0: they were not", is_required=False), *FRIENDSHIPS.columns),
)


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
    alone = sf.when(sf.col("client") == sf.col("friend"), ALONE)
    return without_repetitions(rows.withColumn("reason", sf.coalesce("reason", alone)), FRIENDSHIPS)


def friendships(pairs: Judged) -> DataFrame:
    """Who follows whom: both ways, each way once."""
    one_way = usable(pairs, FRIENDSHIPS)
    back = one_way.select(sf.col("friend").alias("client"), sf.col("client").alias("friend"))
    return conform(one_way.unionByName(back).distinct(), FRIENDSHIPS)


def friends_here(path: Path) -> ReadTable | None:
    """The same friendships, read in this process; None where the file is for Spark."""
    header = tuple(csv_header(path, *COLUMNS))
    judge = RowJudge(PlainForm(header, PAIRS, NAMES))
    lines: dict[tuple[Value, ...], int] = {}
    refused: list[Refusal] = []
    count = 0
    for found in runs(cut(0, path, WHOLE_FILE)):
        records = records_of(found)
        count += len(records)
        columns = (records[name].to_pylist() for name in ("line", "text", "reason"))
        for line, text, known in zip(*columns, strict=True):
            verdict = judge.verdict(text) if known is None else known
            if verdict is None or (isinstance(verdict, str) and AT_THE_END in header):
                return None  # whether such a pair is meant at all is for Spark to say
            if isinstance(verdict, str):
                refused.append(Refusal(line, verdict, text))
            elif str(verdict[0] or "").strip(" ") != "0":
                _take_pair(verdict[1:], lines, Refusal(line, ALONE, text), refused)
        if count > OTHERS_MAX:
            return None
    return ReadTable(FRIENDSHIPS, _both_ways(list(lines)), refused, [path])


def _take_pair(
    pair: tuple[Value, ...],
    lines: dict[tuple[Value, ...], int],
    row: Refusal,
    refused: list[Refusal],
) -> None:
    """Keep a pair with its line, or refuse it; row: as which it is refused if it is one person."""
    if pair[0] == pair[1]:
        refused.append(row)
    elif (first := lines.setdefault(pair, row.place)) != row.place:
        refused.append(row._replace(reason=f"{REPEATS}{first}"))


def _both_ways(pairs: Sequence[tuple[Value, ...]]) -> pa.Table:
    """Each way once."""
    ways = [*dict.fromkeys([*pairs, *(pair[::-1] for pair in pairs)])]
    columns = zip(*ways, strict=True) if ways else ((), ())
    return pa.table([pa.array(own, pa.string()) for own in columns], arrow_schema(FRIENDSHIPS))
