"""Stages of the pipeline on Spark, with the same work in one plain process beside it.

A warm session on two cores. Traces are made by `trace generate` in a temporary folder.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.table import Row, timed
from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Interests
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.keeping import passing_keeper
from meshwright.pipeline.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.replay import replay_trace
from meshwright.pipeline.session import spark_session
from meshwright.pipeline.stages.broker_interests import broker_changes, hosted_changes
from meshwright.pipeline.stages.homes import asked_homes
from meshwright.pipeline.stages.interests import subscribed_interests
from meshwright.pipeline.stages.placement import placed_at_homes
from meshwright.pipeline.stages.selection import NetworkView, selected_brokers
from meshwright.planning.placement.clients import Clients, PlacementProblem, view_of
from meshwright.planning.placement.clusters import one_cluster
from meshwright.planning.placement.strategies import PlacementRules, similarity

CORES = 2
CLIENTS, BROKERS, TOPICS, TOPICS_PER_CLIENT = 1_000_000, 100, 1000, 5
EVENTS = 10_000_000
ARRANGEMENTS = ("chord", "dynatops", "dynatops-greedy", "ssbr-greedy", "lsap")
HOUR_US = 3_600_000_000


def rows() -> list[Row]:
    with (
        spark_session("benchmark", master=f"local[{CORES}]") as session,
        tempfile.TemporaryDirectory() as folder,
    ):
        _warm_up(session, Path(folder))
        return [
            _selection(session),
            *_broker_interests(session),
            _poisson(session, Path(folder)),
            _location(session, Path(folder)),
            *_growth(session, Path(folder)),
        ]


def _warm_up(session: SparkSession, folder: Path) -> None:
    """Kernels are compiled and Spark's own code is warm before anything is measured."""
    _replay(session, folder, PoissonParameters(users=500, brokers=10, topics=50, hours=5.0))


def _selection(session: SparkSession) -> Row:
    """One view, a million clients: the matrix travels to the clients, not they to it."""
    wants = np.sort(_draw_wants(CLIENTS), axis=1)
    brokers = np.random.default_rng(1).integers(BROKERS, size=CLIENTS, dtype=np.int32)
    offsets = np.arange(CLIENTS + 1, dtype=np.int64) * TOPICS_PER_CLIENT
    clients = Clients(Interests(TOPICS, offsets, wants.ravel()), brokers, brokers)
    view = view_of(clients, BROKERS)
    topics = tuple(TopicName(f"t{number}") for number in range(TOPICS))
    network = NetworkView(topics, view, one_cluster(BROKERS))
    drawn = sf.array(
        *(sf.concat(sf.lit("t"), sf.col(f"w{turn}")) for turn in range(TOPICS_PER_CLIENT))
    )
    table = pd.DataFrame({f"w{turn}": wants[:, turn] for turn in range(TOPICS_PER_CLIENT)})
    given = (
        session.createDataFrame(table.assign(broker=brokers))
        .select(
            sf.monotonically_increasing_id().cast("string").alias("client"),
            "broker",
            sf.col("broker").alias("home"),
            drawn.alias("topics"),
        )
        .repartition(2 * CORES)
        .persist()
    )
    given.count()
    seconds, chosen = timed(
        lambda: (
            selected_brokers(given, network, PlacementRules()).agg(sf.sum("broker")).collect()[0][0]
        )
    )
    given.unpersist()
    problem = PlacementProblem(clients, view, one_cluster(BROKERS))
    alone, expected = timed(lambda: similarity(problem, PlacementRules(), np.random.default_rng(0)))
    assert int(expected.sum()) == chosen
    return _row(
        f"placement of {CLIENTS:,} clients on {BROKERS} brokers, one view",
        CLIENTS,
        seconds,
        target_s=4.0,
        note=f"plain: {alone:.2f} s in one process, from arrays of numbers",
    )


def _broker_interests(session: SparkSession) -> list[Row]:
    """Subscriptions that come and go, to interests, to what brokers want over time."""
    subscriptions = _events(session, EVENTS).persist()
    subscriptions.count()
    brokers = Brokers(tuple(f"b{number:03d}" for number in range(BROKERS)))
    interest_s, interests = _materialised(lambda: subscribed_interests(subscriptions))
    homes = placed_at_homes(asked_homes(interests, brokers, 0), "static").persist()
    homes.count()
    change_s, changes = _materialised(lambda: broker_changes(hosted_changes(interests, homes)))
    found = changes.count()
    alone_s, expected = timed(lambda: _plain_changes(subscriptions, homes), repeat=1)
    assert found == expected
    for frame in (subscriptions, interests, homes, changes):
        frame.unpersist()
    return [
        _row(f"interests over time of {EVENTS:,} subscription events", EVENTS, interest_s),
        _row(
            f"broker interests over time of {EVENTS:,} subscription events",
            EVENTS,
            interest_s + change_s,
            target_s=60.0,
            note=f"both stages; plain: {alone_s:.1f} s with pandas, reading from Spark included",
        ),
    ]


def _poisson(session: SparkSession, folder: Path) -> Row:
    model = PoissonParameters(pattern="multimodal")
    seconds = _replay(session, folder, model)
    return _row(
        "the paper's Poisson model, 3 placements, 5 arrangements: replay",
        model.users,
        seconds,
        target_s=300.0,
        note="50,000 users, 100 brokers, 1000 topics, 100 h; per user",
    )


def _location(session: SparkSession, folder: Path) -> Row:
    model = LocationParameters()
    time_chosen = TimeParameters(slot_s=6 * 3600, epoch_slots=28)
    seconds = _replay(session, folder, model, time_chosen=time_chosen, cluster_size=10)
    return _row(
        "the location model, 4 placements, 5 arrangements: replay",
        model.users,
        seconds,
        target_s=600.0,
        note="40,000 users, 1200 brokers, T_update 6 h, T_free 7 d; per user",
    )


def _growth(session: SparkSession, folder: Path) -> list[Row]:
    """Ten times the users: how time and the memory of the driver grow."""
    found = []
    for users in (20_000, 200_000):
        seconds = _replay(session, folder, PoissonParameters(users=users, hours=20.0))
        found.append((seconds, _driver_bytes()))
    (small_s, small_memory), (large_s, large_memory) = found
    ratio = large_s / small_s
    return [
        Row(
            "replay of 10 times the users (20,000 to 200,000), 20 h: time",
            f"{ratio:.1f} x ({small_s:.0f} s, {large_s:.0f} s)",
            "11 x",
            met=ratio <= 11.0,
        ),
        Row(
            "the same: memory of the driver's Python",
            f"{small_memory.python / 2**20:.0f} MB, {large_memory.python / 2**20:.0f} MB",
            "flat",
            met=large_memory.python <= 1.25 * small_memory.python,
            note=f"Java: {small_memory.java / 2**20:.0f} MB, "
            f"{large_memory.java / 2**20:.0f} MB (executors are in it on one machine)",
        ),
    ]


class _Memory(NamedTuple):
    python: int
    java: int


def _driver_bytes() -> _Memory:
    """The most that the driver's Python ever used, and what its Java uses now."""
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    java = 0
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            status = Path(f"/proc/{child}/status").read_text()
            if status.startswith("Name:\tjava"):
                java += int(status.split("VmRSS:")[1].split()[0]) * 1024
    return _Memory(python, java)


def _replay(
    session: SparkSession,
    folder: Path,
    model: PoissonParameters | LocationParameters,
    *,
    time_chosen: TimeParameters | None = None,
    cluster_size: int = 5,
) -> float:
    """Seconds from the tables of a trace to the comparison."""
    trace = folder / f"trace-{time.monotonic_ns()}"
    generate_trace(session, model, trace)
    by_place = ("location",) if isinstance(model, LocationParameters) else ()
    parameters = ReplayParameters(
        time=time_chosen or TimeParameters(slot_s=3600),
        placement=PlacementParameters(
            methods=("static", *by_place, "similarity", "similarity-bounded"),
            cluster_size=cluster_size,
        ),
        overlay=OverlayParameters(designs=ARRANGEMENTS),
    )
    start = time.perf_counter()
    with passing_keeper(session, trace) as keeper:
        replay_trace(session, trace, parameters, keeper).tables["comparison"].collect()
    return time.perf_counter() - start


def _row(
    task: str, count: int, seconds: float, *, target_s: float | None = None, note: str = ""
) -> Row:
    return Row(
        task,
        f"{seconds:.1f} s, {count / seconds / CORES:,.0f} rows/s/core",
        "report" if target_s is None else f"{target_s:.0f} s",
        met=None if target_s is None else seconds <= target_s,
        note=note,
    )


def _materialised(make: Callable[[], DataFrame]) -> tuple[float, DataFrame]:
    start = time.perf_counter()
    frame = make().persist()
    frame.count()
    return time.perf_counter() - start, frame


def _draw_wants(client_count: int) -> np.ndarray:
    """Distinct topics of one mode of ten for every client: (client, topic)."""
    rng = np.random.default_rng(7)
    modes = rng.integers(TOPICS // 10, size=(client_count, 1))
    inside = rng.permuted(np.tile(np.arange(10), (client_count, 1)), axis=1)
    return (modes * 10 + inside[:, :TOPICS_PER_CLIENT]).astype(np.int32)


def _events(session: SparkSession, count: int) -> DataFrame:
    """Ten events for each pair of a client and a topic, on and off in turns."""
    pair = sf.col("id") / 10
    turn = sf.col("id") % 10
    client = sf.floor(pair / TOPICS_PER_CLIENT)
    topic = sf.pmod(sf.xxhash64(sf.floor(pair)), sf.lit(TOPICS // TOPICS_PER_CLIENT))
    place = sf.floor(pair) % TOPICS_PER_CLIENT * (TOPICS // TOPICS_PER_CLIENT)
    moment = turn * HOUR_US + sf.pmod(sf.xxhash64("id"), sf.lit(HOUR_US))
    return session.range(0, count, 1, 4 * CORES).select(
        sf.timestamp_micros(moment).alias("time"),
        sf.concat(sf.lit("c"), client.cast("string")).alias("client"),
        sf.concat(sf.lit("t"), (topic + place).cast("string")).alias("topic"),
        (turn % 2 == 0).alias("is_on"),
    )


def _plain_changes(subscriptions: DataFrame, homes: DataFrame) -> int:
    """The same count with pandas: reference counts of (broker, topic), left 0 or come to 0."""
    events = subscriptions.toPandas()
    events = events.merge(homes.select("client", "broker").toPandas(), on="client")
    events["change"] = np.where(events.is_on, 1, -1)
    netted = events.groupby(["broker", "topic", "time"], sort=True).change.sum().reset_index()
    netted = netted[netted.change != 0]
    after = netted.groupby(["broker", "topic"]).change.cumsum()
    return int(((after > 0) != (after - netted.change > 0)).sum())
