"""Ten million subscription events to broker interests over time; pandas in one process beside."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.processes import costed
from benchmarks.replays import CORES, rate_row
from benchmarks.table import Row
from meshwright.model import replay_schema
from meshwright.model.identifiers import BrokerName
from meshwright.model.schema import SUBSCRIPTIONS
from meshwright.pipeline.replays.keeping import Keeper, Kept
from meshwright.pipeline.spark.session import spark_session
from meshwright.pipeline.stages.broker_interests import broker_changes, hosted_changes
from meshwright.pipeline.stages.homes import asked_homes
from meshwright.pipeline.stages.interests import subscribed_interests
from meshwright.pipeline.stages.placement import placed_at_homes
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.traces import read_table, staged_trace, write_table

EVENTS = 10_000_000
BROKERS, TOPICS, TOPICS_PER_CLIENT = 100, 1000, 5
EVENTS_PER_PAIR = 10
HOUR_US = 3_600_000_000
TARGET_S = 60.0


def rows() -> list[Row]:
    with (
        spark_session("benchmark", master=f"local[{CORES}]") as session,
        TemporaryDirectory(prefix="meshwright-") as folder,
    ):
        _changes_of(session, _trace(session, Path(folder) / "small", EVENTS // 100))  # warm
        trace = _trace(session, Path(folder) / "trace", EVENTS)
        seconds: dict[str, float] = {}
        cost, changes = costed(lambda: _changes_of(session, trace, seconds))
        found = changes.count()
        homes = asked_homes(read_table(session, trace, SUBSCRIPTIONS), _brokers(), 0).toPandas()
        plain, expected = costed(lambda: _plain_changes(trace, homes))
    assert found == expected
    stages = ", ".join(f"{name} {taken:.0f} s" for name, taken in seconds.items())
    return [
        rate_row(
            f"broker interests over time of {EVENTS:,} subscription events",
            EVENTS,
            cost,
            target_s=TARGET_S,
            note=f"{stages}; pandas in one process {plain.elapsed_s:.1f} s, "
            f"{plain.cpu_s:.1f} s CPU; both from Parquet",
        )
    ]


def _changes_of(
    session: SparkSession, trace: Path, seconds: dict[str, float] | None = None
) -> DataFrame:
    """The stages of a replay up to broker changes, with static placement, each kept on disk."""
    told = {} if seconds is None else seconds
    keeper = Keeper(
        session, trace / "_kept", on_stage=lambda name, _, taken: told.update({name: taken})
    )
    names = replay_schema
    read = Kept(read_table(session, trace, SUBSCRIPTIONS), "")
    wants = keeper.keep(names.INTERESTS, lambda: subscribed_interests(read.frame), [read], {})

    def placed() -> DataFrame:
        return placed_at_homes(asked_homes(wants.frame, _brokers(), 0), "static")

    homes = keeper.keep(names.PLACEMENTS, placed, [wants], {})
    hosted = keeper.keep(
        names.HOSTED_CHANGES, lambda: hosted_changes(wants.frame, homes.frame), [wants, homes], {}
    )
    changes = keeper.keep(names.BROKER_CHANGES, lambda: broker_changes(hosted.frame), [hosted], {})
    return changes.frame


def _brokers() -> Brokers:
    return Brokers(tuple(BrokerName(f"b{number:03d}") for number in range(BROKERS)))


def _trace(session: SparkSession, out: Path, count: int) -> Path:
    """Ten events for each pair of a client and a topic, on and off in turns."""
    pair = sf.floor(sf.col("id") / EVENTS_PER_PAIR)
    turn = sf.col("id") % EVENTS_PER_PAIR
    client = sf.floor(pair / TOPICS_PER_CLIENT)
    share = TOPICS // TOPICS_PER_CLIENT
    topic = sf.pmod(sf.xxhash64(pair), sf.lit(share)) + pair % TOPICS_PER_CLIENT * share
    moment = turn * HOUR_US + sf.pmod(sf.xxhash64("id"), sf.lit(HOUR_US))
    events = session.range(0, count, 1, 4 * CORES).select(
        sf.timestamp_micros(moment).alias("time"),
        sf.concat(sf.lit("c"), client.cast("string")).alias("client"),
        sf.concat(sf.lit("t"), topic.cast("string")).alias("topic"),
        (turn % 2 == 0).alias("is_on"),
    )
    with staged_trace(out) as aside:
        write_table(events, aside, SUBSCRIPTIONS)
    return out


def _plain_changes(trace: Path, homes: pd.DataFrame) -> int:
    """The same count: reference counts of (broker, topic) that leave 0 or come back to it."""
    events = pd.read_parquet(trace / SUBSCRIPTIONS.name)
    events = events.merge(homes[["client", "broker"]], on="client")
    events["change"] = np.where(events.is_on, 1, -1)
    netted = events.groupby(["broker", "topic", "time"], sort=True).change.sum().reset_index()
    netted = netted[netted.change != 0]
    after = netted.groupby(["broker", "topic"]).change.cumsum()
    return int(((after > 0) != (after - netted.change > 0)).sum())
