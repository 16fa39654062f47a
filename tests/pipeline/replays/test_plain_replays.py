from __future__ import annotations

from pathlib import Path

import msgspec
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from meshwright.lab.replays.reading import read_trace, tables_of_model, tables_on_disk
from meshwright.lab.replays.replaying import model_replay, plain_replay
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.replays.keeping import passing_keeper
from meshwright.pipeline.replays.parameters import (
    OverlayParameters,
    PlacementParameters,
    PublicationParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.replays.replay import replay_trace

TOWN = LocationParameters(users=60, rows=2, columns=4, days=6.0, visits_per_user=6.0, friends=2)
WANDERING = ReplayParameters(
    time=TimeParameters(slot_s=6 * 3600, epoch_slots=8),
    placement=PlacementParameters(methods=("static", "location", "similarity"), cluster_size=3),
    overlay=OverlayParameters(designs=("chord", "cycle")),
    publications=PublicationParameters(placed=False),
)
CLUB = PoissonParameters(
    users=80, brokers=8, topics=24, modes=4, hours=9.0, pattern="multimodal", changes_per_hour=0.3
)
CHANGING = ReplayParameters(
    time=TimeParameters(slot_s=3600, epoch_slots=2, warmup_slots=1),
    placement=PlacementParameters(
        methods=("recorded", "static", "similarity-bounded"), cluster_size=4
    ),
    overlay=OverlayParameters(designs=("dynatops", "dcbm")),
    publications=PublicationParameters(placed=False),
)


@pytest.mark.parametrize(("model", "wish"), [(TOWN, WANDERING), (CLUB, CHANGING)])
def test_a_replay_in_memory_finds_every_figure_that_spark_finds(
    spark: SparkSession,
    tmp_path: Path,
    model: LocationParameters | PoissonParameters,
    wish: ReplayParameters,
) -> None:
    generate_trace(spark, model, tmp_path / "trace")
    with passing_keeper(spark, tmp_path / "trace") as keeper:
        replay = replay_trace(spark, tmp_path / "trace", wish, keeper)
        found = {name: replay.tables[name].toArrow().to_pandas() for name in TABLES}
        asked = found["placements"].query("placement == 'static'").set_index("client").broker
    wish = msgspec.structs.replace(
        wish,
        placement=msgspec.structs.replace(wish.placement, methods=replay.placements),
        overlay=msgspec.structs.replace(wish.overlay, designs=replay.designs),
    )
    read = read_trace(tables_on_disk(tmp_path / "trace"), wish, asked if len(asked) else None)
    assert read.timeline == replay.timeline
    plain = plain_replay(read, wish)
    assert_alike(plain.metrics, found["metrics"], ["placement", "design", "slot"])
    assert_alike(plain.overlays, found["overlays"], ["placement", "design", "epoch"])
    assert_alike(plain.comparison, found["comparison"], ["placement", "design"])


TABLES = ("placements", "metrics", "overlays", "comparison")


def assert_alike(one: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> None:
    ordered = [frame.sort_values(keys, ignore_index=True) for frame in (one, other)]
    assert len(ordered[0])
    pd.testing.assert_frame_equal(ordered[0], ordered[1][one.columns], check_dtype=False)


def test_tables_made_in_memory_are_those_that_are_generated_on_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    for model in (TOWN, CLUB):
        generate_trace(spark, model, tmp_path / "trace")
        written, made = tables_on_disk(tmp_path / "trace"), tables_of_model(model)
        assert set(written) == set(made)
        for name, table in made.items():
            keys = list(table.columns)
            assert_alike(table, written[name], keys)


def test_a_replay_of_some_pairs_finds_what_one_of_all_pairs_finds_of_them() -> None:
    pairs = [("recorded", "dcbm"), ("similarity-bounded", "dynatops")]
    some = model_replay(CLUB, CHANGING, pairs).comparison
    every = model_replay(CLUB, CHANGING).comparison
    keys = ["placement", "design"]
    wanted = every[[pair in pairs for pair in zip(every.placement, every.design, strict=True)]]
    assert_alike(some, wanted, keys)
