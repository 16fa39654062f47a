"""Publications enter where their publishers are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from meshwright.pipeline.stages.entries import entries
from meshwright.pipeline.tables.timeline import Timeline

BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
HOURS = Timeline(int(BEGIN.timestamp()) * 1_000_000, 3_600_000_000, 4, 2)


def at(minutes: int) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


def test_a_publisher_is_where_its_placement_or_else_its_connection_has_it(
    spark: SparkSession,
) -> None:
    """The mover goes from b0 to b1; the sensor wants nothing; the stranger was never connected."""
    published = spark.createDataFrame(
        [(at(minute), "t", name) for minute in (10, 130) for name in ("mover", "sensor", "x")],
        "time timestamp, topic string, publisher string",
    )
    placed = spark.createDataFrame(
        [
            ("recorded", at(5), "mover", "b0"),
            ("recorded", at(70), "mover", "b1"),
            ("static", at(0), "mover", "b2"),
        ],
        "placement string, time timestamp, client string, broker string",
    )
    connections = spark.createDataFrame(
        [(at(0), "sensor", "b3", True), (at(60), "sensor", "b3", False)],
        "time timestamp, client string, broker string, is_on boolean",
    )
    found = entries(published, placed, connections, HOURS, ["recorded", "static"])
    rows = {(row.placement, row.slot, row.broker): row.publications for row in found.collect()}
    everywhere = {(name, slot, broker) for name in ("recorded", "static") for slot in (0, 2)
                  for broker in ("b3", None)}  # fmt: skip
    moved = {("recorded", 0, "b0"), ("recorded", 2, "b1"), ("static", 0, "b2"), ("static", 2, "b2")}
    assert rows == dict.fromkeys(everywhere | moved, 1)
    alone = entries(published, placed, None, HOURS, ["static"]).where("slot = 0").collect()
    assert {(row.broker, row.publications) for row in alone} == {("b2", 1), (None, 2)}
