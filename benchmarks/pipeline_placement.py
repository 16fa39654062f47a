"""A million clients choose among a hundred brokers on one view; NumPy in one process beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.processes import costed
from benchmarks.replays import CORES, rate_row
from benchmarks.table import Row
from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Interests
from meshwright.pipeline.spark.session import spark_session
from meshwright.pipeline.stages.selection import NetworkView, selected_brokers
from meshwright.planning.placement.clients import Clients, PlacementProblem, view_of
from meshwright.planning.placement.clusters import one_cluster
from meshwright.planning.placement.strategies import PlacementRules, similarity

CLIENTS, BROKERS, TOPICS, TOPICS_PER_CLIENT = 1_000_000, 100, 1000, 5
TARGET_S = 4.0


def rows() -> list[Row]:
    wants = _draw_wants()
    brokers = np.random.default_rng(1).integers(BROKERS, size=CLIENTS, dtype=np.int32)
    offsets = np.arange(CLIENTS + 1, dtype=np.int64) * TOPICS_PER_CLIENT
    clients = Clients(Interests(TOPICS, offsets, wants.ravel()), brokers, brokers)
    view = view_of(clients, BROKERS)
    topics = tuple(TopicName(f"t{number}") for number in range(TOPICS))
    network = NetworkView(topics, view, one_cluster(BROKERS))
    with spark_session("benchmark", master=f"local[{CORES}]") as session:
        given = _clients_table(session, wants, brokers).persist()
        given.count()

        def selected() -> int:
            chosen = selected_brokers(given, network, PlacementRules())
            return int(chosen.agg(sf.sum("broker")).collect()[0][0])

        selected()  # warm
        cost, found = costed(selected)
    problem = PlacementProblem(clients, view, one_cluster(BROKERS))
    plain, expected = costed(
        lambda: similarity(problem, PlacementRules(), np.random.default_rng(0))
    )
    assert int(expected.sum()) == found
    note = f"NumPy in one process, from numbers: {plain.elapsed_s:.1f} s, {plain.cpu_s:.1f} s CPU"
    task = f"placement of {CLIENTS:,} clients on {BROKERS} brokers"
    return [rate_row(task, CLIENTS, cost, target_s=TARGET_S, note=note)]


def _clients_table(session: SparkSession, wants: np.ndarray, brokers: np.ndarray) -> DataFrame:
    """Clients as a trace has them: with names, and topics by name."""
    columns = [f"w{turn}" for turn in range(TOPICS_PER_CLIENT)]
    table = pd.DataFrame(wants, columns=columns).assign(broker=brokers)
    topics = sf.array(*(sf.concat(sf.lit("t"), sf.col(column)) for column in columns))
    return (
        session.createDataFrame(table)
        .select(
            sf.monotonically_increasing_id().cast("string").alias("client"),
            "broker",
            sf.col("broker").alias("home"),
            topics.alias("topics"),
        )
        .repartition(2 * CORES)
    )


def _draw_wants() -> np.ndarray:
    """Distinct topics of one mode of ten for every client, ascending: (client, topic)."""
    rng = np.random.default_rng(7)
    modes = rng.integers(TOPICS // 10, size=(CLIENTS, 1))
    inside = rng.permuted(np.tile(np.arange(10), (CLIENTS, 1)), axis=1)
    return np.sort((modes * 10 + inside[:, :TOPICS_PER_CLIENT]).astype(np.int32), axis=1)
