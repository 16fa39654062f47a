from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from meshwright.model.schema import POSITIONS
from meshwright.pipeline.stages.visits import cells, user_cells, visits
from meshwright.pipeline.tables.frames import literal_frame

DAY_S = 86_400.0


def at(day: int, hour: int = 0) -> datetime:
    return datetime(2010, 8, day, hour, tzinfo=UTC)


def test_a_cell_is_the_floor_on_both_sides_of_zero(spark: SparkSession) -> None:
    places = [(0.0, 0.0), (0.9, 0.99), (-0.1, -73.9), (40.7, -74.0), (-90.0, 180.0)]
    rows = [(at(1), f"c{n}", north, east, None) for n, (north, east) in enumerate(places)]
    found = cells(literal_frame(spark, POSITIONS, rows), 1.0).orderBy("client").collect()
    assert [(row.cell_north, row.cell_east) for row in found] == [
        (0, 0),
        (0, 0),
        (-1, -74),
        (40, -74),
        (-90, 180),
    ]
    halves = cells(literal_frame(spark, POSITIONS, rows), 0.5).orderBy("client").collect()
    assert [(row.cell_north, row.cell_east) for row in halves][1:4] == [
        (1, 1),
        (-1, -148),
        (81, -148),
    ]


def test_successive_checkins_in_a_cell_are_one_visit_that_lasts_until_the_next(
    spark: SparkSession,
) -> None:
    rows = [
        (at(3), "ann", 1.5, 1.5, "v"),  # third in time, listed first
        (at(1), "ann", 0.5, 0.5, "v"),
        (at(2), "ann", 0.6, 0.4, "w"),
        (at(3, 12), "ann", 0.5, 0.5, "v"),
        (at(5), "bob", 0.5, 0.5, "v"),
    ]
    found = visits(cells(literal_frame(spark, POSITIONS, rows), 1.0))
    assert [tuple(row)[1:] for row in found.orderBy("client", "time").collect()] == [
        ("ann", 0, 0, 2, 2 * DAY_S),
        ("ann", 1, 1, 1, DAY_S / 2),
        ("ann", 0, 0, 1, None),
        ("bob", 0, 0, 1, None),
    ]


def test_checkins_at_the_same_time_are_ordered_by_their_venue_as_text(spark: SparkSession) -> None:
    rows = [
        (at(1), "ann", 1.5, 1.5, "9"),
        (at(1), "ann", 0.5, 0.5, "10"),
        (at(2), "ann", 0.5, 0.5, "10"),
    ]
    found = visits(cells(literal_frame(spark, POSITIONS, rows), 1.0)).orderBy("time", "cell_north")
    assert [(row.cell_north, row.checkin_count, row.stay_s) for row in found.collect()] == [
        (0, 1, 0.0),
        (1, 1, DAY_S),
        (0, 1, None),
    ]


def test_returns_and_stays_are_counted_for_each_user_and_cell(spark: SparkSession) -> None:
    rows = [
        (at(1), "ann", 0.5, 0.5, None),
        (at(2), "ann", 1.5, 1.5, None),  # a stay of exactly a day is not under a day
        (at(9), "ann", 0.5, 0.5, None),  # a stay of exactly a week is not over a week
        (at(9, 1), "ann", 1.5, 1.5, None),
        (at(17), "ann", 2.5, 2.5, None),
    ]
    found = user_cells(visits(cells(literal_frame(spark, POSITIONS, rows), 1.0)))
    assert [tuple(row) for row in found.orderBy("cell_north").collect()] == [
        ("ann", 0, 0, 2, 2, 2, 1, 0),
        ("ann", 1, 1, 2, 2, 2, 0, 1),
        ("ann", 2, 2, 1, 1, 0, 0, 0),
    ]
