"""Rows of telemetry files as the watch takes them: whose clock they have, which part they are.

Runs on executors, on some rows at once. Publications are counted here already, so that Spark moves
a row for each topic and slot. Rows of files that brokers wrote before their tables named them are
known by the name of their file and by a digest of its bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pandas as pd

from meshwright.model.schema import CONNECTIONS, PUBLICATIONS, STATEMENTS, SUBSCRIPTIONS
from meshwright.pipeline.tables.values import UNFIT
from meshwright.pipeline.watching.clockwork import Clockwork

READ = (
    "path", "table", "written_us", "time_us", "client", "topic", "is_on", "publisher", "broker",
    "life", "part",
)  # fmt: skip
# kind: want, host, tell, state, publish (count of a slot in time_us), file (parts part to last of a
# series, with one of the newest times), period (its number in count), or ahead (a count of rows, of
# which the farthest is time_us ahead; other names the file).
TOLD = (
    "kind string, time_us long, name string, other string, is_on boolean, count long, "
    "broker string, series string, part long, last long, file long, written_us long"
)
COLUMNS = {
    "kind": "", "time_us": 0, "name": "", "other": "", "is_on": True, "count": 0,
    "broker": "", "series": "", "part": 0, "last": 0, "file": 0, "written_us": 0,
}  # fmt: skip
PLACE = ["broker", "series", "part", "file"]
OWN_NAME = re.compile(r"(.+)-\d+-\d+(?:to\d+)?\.parquet")
# Of a file's newest times, one for each stretch, only the last count.
STRETCHES_TOLD = 8
KINDS = {SUBSCRIPTIONS.name: "want", CONNECTIONS.name: "host", STATEMENTS.name: "tell"}


def recorded(clockwork: Clockwork) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """What rows of READ say, in rows of TOLD."""

    def told(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        digests: dict[str, str] = {}
        for rows in frames:
            if len(rows):
                placed = _placed(_whole(rows), digests)
                yield from map(_shaped, _told(placed, clockwork))

    return told


def _told(rows: pd.DataFrame, clockwork: Clockwork) -> Iterator[pd.DataFrame]:
    is_ahead = rows["time_us"] > rows["written_us"] + clockwork.ahead_us
    if is_ahead.any():
        yield _ahead(rows[is_ahead])
        rows = rows[~is_ahead]
    is_published = rows["table"] == PUBLICATIONS.name
    yield _published(rows[is_published], clockwork)
    yield _happened(rows[~is_published])
    yield _files(rows, clockwork)
    periods = np.unique(rows["time_us"].to_numpy() // clockwork.period_us)
    yield pd.DataFrame({"kind": "period", "count": periods[periods >= 0]})


def _placed(rows: pd.DataFrame, digests: dict[str, str]) -> pd.DataFrame:
    """The same rows with broker, series, part and file."""
    named = rows["life"].notna()
    for path in rows.loc[~named, "path"].unique():
        if path not in digests:
            digests[path] = _digest(path)
    lives = rows["broker"].fillna("") + "/" + rows["life"].astype("Int64").astype(str)
    series = lives.where(named, rows["path"].map(digests))
    broker = rows["broker"].where(named, rows["path"].map(_broker_named))
    return rows.assign(
        said=rows["broker"],
        broker=broker,
        series=rows["table"] + "/" + series,
        part=rows["part"].where(named, 1).astype(np.int64),
        file=pd.util.hash_array(rows["path"].to_numpy()).view(np.int64),
    )


def _published(rows: pd.DataFrame, clockwork: Clockwork) -> pd.DataFrame:
    slots = (rows["time_us"] // clockwork.slot_us).rename("time_us")
    counted = rows.groupby([*PLACE, slots, "topic"], sort=False).size().reset_index(name="count")
    return counted.rename(columns={"topic": "name"}).assign(kind="publish")


def _happened(rows: pd.DataFrame) -> pd.DataFrame:
    is_statement = rows["client"].isna()
    return rows.assign(
        kind=rows["table"].map(KINDS).where(~is_statement, "state"),
        name=rows["client"].where(~is_statement, rows["said"]),
        other=rows["topic"].where(rows["table"] == SUBSCRIPTIONS.name, rows["said"]),
        is_on=rows["is_on"].where(rows["table"] != STATEMENTS.name, other=True).astype(bool),
    )


def _files(rows: pd.DataFrame, clockwork: Clockwork) -> pd.DataFrame:
    stretches = (rows["time_us"] // clockwork.stretch_us).rename("stretch")
    grouped = rows.groupby(["broker", "series", "file", stretches])
    files = grouped.agg(
        part=("part", "min"),
        last=("part", "max"),
        time_us=("time_us", "max"),
        written_us=("written_us", "max"),
    ).reset_index()
    spans = files.groupby(["series", "file"])
    files["part"], files["last"] = spans["part"].transform("min"), spans["last"].transform("max")
    newest = files.sort_values("time_us", ascending=False).groupby(["series", "file"])
    return newest.head(STRETCHES_TOLD).assign(kind="file")


def _ahead(rows: pd.DataFrame) -> pd.DataFrame:
    farthest = (rows["time_us"] - rows["written_us"]).rename("farthest")
    grouped = rows.assign(farthest=farthest).groupby(["broker", "path"])
    found = grouped.agg(count=("farthest", "size"), time_us=("farthest", "max")).reset_index()
    return found.assign(kind="ahead", other=found["path"].map(_plain))


def _shaped(rows: pd.DataFrame) -> pd.DataFrame:
    missing = {name: value for name, value in COLUMNS.items() if name not in rows.columns}
    return rows.assign(**missing)[list(COLUMNS)]


def _whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Refuse rows that lack what every row of their table has."""
    is_table = {name: rows["table"] == name for name in (*KINDS, PUBLICATIONS.name)}
    lacks: Any = rows["time_us"].isna()
    lacks |= (is_table[SUBSCRIPTIONS.name] | is_table[CONNECTIONS.name]) & (
        rows["client"].isna() | rows["is_on"].isna()
    )
    lacks |= (is_table[SUBSCRIPTIONS.name] | is_table[PUBLICATIONS.name]) & rows["topic"].isna()
    lacks |= (is_table[CONNECTIONS.name] | is_table[STATEMENTS.name]) & rows["broker"].isna()
    if lacks.any():
        path = rows.loc[lacks, "path"].iloc[0]
        raise ValueError(UNFIT.join(["", path, "a row lacks a value that it must have", ""]))
    return rows.assign(time_us=rows["time_us"].astype(np.int64))


def _broker_named(path: str) -> str:
    found = OWN_NAME.fullmatch(_plain(path).rpartition("/")[2])
    return "" if found is None else found[1]


def _plain(path: str) -> str:
    """A path as people have it, of one of Spark's."""
    return unquote(urlsplit(path).path)


def _digest(path: str) -> str:
    """Of the file's bytes; of its name, where it is gone meanwhile."""
    try:
        content = Path(_plain(path)).read_bytes()
    except OSError:
        content = path.encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest()
