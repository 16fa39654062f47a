from __future__ import annotations

from pathlib import Path

from benchmarks.replays import plain_cost
from pyspark.sql import SparkSession

from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.keeping import passing_keeper
from meshwright.pipeline.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.replay import replay_trace

TOWN = LocationParameters(users=60, rows=2, columns=4, days=6.0, visits_per_user=6.0, friends=2)
WISH = ReplayParameters(
    time=TimeParameters(slot_s=6 * 3600, epoch_slots=8),
    placement=PlacementParameters(methods=("static", "location", "similarity"), cluster_size=3),
    overlay=OverlayParameters(designs=("chord",)),
)


def test_people_who_wander_cost_the_same_messages_with_pandas_in_one_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    generate_trace(spark, TOWN, tmp_path / "trace")
    with passing_keeper(spark, tmp_path / "trace") as keeper:
        replay = replay_trace(spark, tmp_path / "trace", WISH, keeper)
        plain_cost(replay, tmp_path / "trace")  # says where it comes to another sum
