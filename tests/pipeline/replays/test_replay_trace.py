from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from literal_tables import found
from pyspark.sql import SparkSession
from small_traces import subscribing_trace, wandering_trace

from meshwright.errors import MeshwrightError, OperatorError
from meshwright.model.identifiers import BrokerName
from meshwright.pipeline.replays.keeping import Keeper
from meshwright.pipeline.replays.parameters import (
    BrokerParameters,
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
    WorkParameters,
)
from meshwright.pipeline.replays.replay import replay_trace
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.trace_brokers import made_brokers, refuse_strangers

FEW = ReplayParameters(
    time=TimeParameters(epoch_slots=2),
    placement=PlacementParameters(cluster_size=3),
    overlay=OverlayParameters(designs=("tree", "chord", "gm")),
    brokers=BrokerParameters(count=4),
)


def test_a_subscribing_trace_is_compared_whatever_is_done_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    trace = subscribing_trace(spark, tmp_path / "trace")
    keeper = Keeper(spark, tmp_path / "kept")
    whole = replay_trace(spark, trace, FEW, keeper)
    rows = whole.tables["comparison"].collect()
    assert whole.placements == ("static", "similarity", "similarity-bounded")
    assert {(row.placement, row.design) for row in rows} == {
        (placement, design) for placement in whole.placements for design in whole.designs
    }
    assert {row.publications for row in rows} == {200}
    few_at_once = WorkParameters(topics_at_once=4)
    pieces = msgspec.structs.replace(FEW, work=few_at_once)
    at_once = found(whole.tables["metrics"])
    for stage in ("replayed", "metrics"):  # all before them is the same in any case
        shutil.rmtree(keeper.folders[stage])
    in_pieces = replay_trace(spark, trace, pieces, keeper)
    assert found(in_pieces.tables["metrics"]) == at_once


def test_stages_that_nothing_changed_for_are_not_run_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    trace = wandering_trace(spark, tmp_path / "trace")

    def run(parameters: ReplayParameters) -> dict[str, bool]:
        made: dict[str, bool] = {}
        keeper = Keeper(
            spark, tmp_path / "kept", on_stage=lambda name, is_new, _: made.update({name: is_new})
        )
        replayed = replay_trace(spark, trace, parameters, keeper)
        assert "location" in replayed.placements
        assert replayed.brokers.count == 4
        assert set(replayed.designs) == {"tree", "chord", "gm", "mesh", "star"}
        count = len(replayed.designs) * len(replayed.placements)
        assert replayed.tables["comparison"].count() == count
        return made

    assert set(run(FEW).values()) == {True}
    assert set(run(FEW).values()) == {False}
    heavier = msgspec.structs.replace(FEW, time=TimeParameters(epoch_slots=2, warmup_slots=1))
    assert [name for name, is_new in run(heavier).items() if is_new] == ["comparison"]
    assert not list((tmp_path / "kept").glob(".*"))


def test_what_cannot_be_replayed_is_refused_in_one_sentence(
    spark: SparkSession, tmp_path: Path
) -> None:
    trace = subscribing_trace(spark, tmp_path / "trace")
    for parameters, words in (
        (ReplayParameters(overlay=OverlayParameters(designs=("ring",))), "no design 'ring'"),
        (ReplayParameters(time=TimeParameters(warmup_slots=9)), "5 slots and 9 are left out"),
        (ReplayParameters(placement=PlacementParameters(methods=("location",))), "needs positions"),
    ):
        with pytest.raises(MeshwrightError, match=words):
            replay_trace(spark, trace, parameters, Keeper(spark, tmp_path / "kept"))
    one_cell = spark.createDataFrame([(0, 0)], "cell_north long, cell_east long")
    with pytest.raises(OperatorError, match="one cell of 2 degrees"):
        made_brokers(5, one_cell, 2.0)
    strangers = spark.createDataFrame([("b0",), ("b9",)], "broker string")
    with pytest.raises(OperatorError, match="connected to 'b9'"):
        refuse_strangers(trace, strangers, Brokers((BrokerName("b0"), BrokerName("b1"))))
