from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pytest
from pyspark.sql import SparkSession
from small_telemetry import BEGIN_US, BROKERS, HOUR_US, record_hours, told_until

from meshwright.errors import MeshwrightError
from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.model.schema import BROKERS as BROKERS_TABLE
from meshwright.model.schema import DELAYS, FRIENDSHIPS, POSITIONS
from meshwright.pipeline.replays.snapshots import Moment, TraceMoment
from meshwright.pipeline.tables.frames import literal_frame
from meshwright.pipeline.tables.traces import staged_trace, write_table

HOURS = 6


@pytest.fixture(scope="module")
def telemetry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots") / "telemetry"
    record_hours(folder, 0, HOURS)
    return folder


def test_a_snapshot_is_what_was_told_until_then(spark: SparkSession, telemetry: Path) -> None:
    for hours in (3, HOURS):
        moment = Moment(at_us=BEGIN_US + hours * HOUR_US, horizon_s=7200.0)
        snapshot = TraceMoment(spark, telemetry, moment).snapshot()
        told = told_until(hours)
        assert snapshot.brokers == BROKERS
        wants = {
            broker: {snapshot.topics[topic] for topic in snapshot.interests.of(number).tolist()}
            for number, broker in enumerate(snapshot.brokers)
        }
        assert wants == told.broker_wants()
        rates = told.rates(hours, 2)
        expected = [2 * rates[topic] for topic in snapshot.topics]
        assert snapshot.publications.tolist() == pytest.approx(expected)


def test_the_population_is_who_is_connected(spark: SparkSession, telemetry: Path) -> None:
    state = TraceMoment(spark, telemetry, Moment(), BROKERS[::-1])
    snapshot = state.snapshot()
    assert snapshot.brokers == BROKERS[::-1]
    population = state.population(snapshot, cluster_size=3)
    told = told_until(HOURS)
    found = {
        name: (
            snapshot.brokers[population.clients.brokers[row]],
            {snapshot.topics[topic] for topic in population.clients.interests.of(row).tolist()},
        )
        for row, name in enumerate(population.names)
    }
    assert found == {
        client: (broker, told.wants[client])
        for client, broker in told.hosts.items()
        if told.wants[client]
    }


def test_who_left_wants_nothing(spark: SparkSession, tmp_path: Path) -> None:
    for broker in BROKERS[:2]:
        recorder = TraceRecorder(tmp_path / "telemetry", broker, 0)
        recorder.connection(BEGIN_US, f"of-{broker}", is_on=True)
        recorder.subscription(BEGIN_US, f"of-{broker}", "news", is_on=True)
        if broker == "b0":
            recorder.connection(BEGIN_US + HOUR_US, f"of-{broker}", is_on=False)
        recorder.flush()
    snapshot = TraceMoment(spark, tmp_path / "telemetry", Moment()).snapshot()
    assert snapshot.interests.counts().tolist() == [0, 1]
    assert snapshot.publications.tolist() == [10.0]


def test_publications_enter_where_their_publishers_are_now(
    spark: SparkSession, tmp_path: Path
) -> None:
    for broker, count in (("b0", 3), ("b1", 1)):
        recorder = TraceRecorder(tmp_path / "telemetry", broker, 0)
        recorder.connection(BEGIN_US, f"of-{broker}", is_on=True)
        recorder.subscription(BEGIN_US, f"of-{broker}", "news/#", is_on=True)
        recorder.publication(BEGIN_US + 1, "news/a", f"of-{broker}", 1, count=count)
        recorder.publication(BEGIN_US + 1, "news/b", "who-left", 1)
        recorder.flush()
    moment = Moment(horizon_s=3600.0)
    snapshot = TraceMoment(spark, tmp_path / "telemetry", moment).snapshot()
    assert (snapshot.brokers, snapshot.topics) == (("b0", "b1"), ("news/a", "news/b"))
    assert snapshot.interests.dense().all()
    assert snapshot.publications.tolist() == pytest.approx([4.0, 2.0])
    assert snapshot.publishers is not None
    assert snapshot.publishers.ravel().tolist() == pytest.approx([3.0, 1.0, 1.0, 1.0])


def test_a_client_is_where_it_came_last_even_if_its_former_broker_notices_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number, broker in enumerate(BROKERS[:2]):
        recorder = TraceRecorder(tmp_path / "telemetry", broker, 0)
        recorder.connection(BEGIN_US + number * HOUR_US, "mover", is_on=True)
        if broker == "b0":
            recorder.subscription(BEGIN_US, "mover", "news", is_on=True)
            recorder.connection(BEGIN_US + 2 * HOUR_US, "mover", is_on=False)
        recorder.flush()
    snapshot = TraceMoment(spark, tmp_path / "telemetry", Moment()).snapshot()
    assert snapshot.interests.counts().tolist() == [0, 1]


def test_people_who_only_check_in_want_the_cells_of_themselves_and_their_friends(
    spark: SparkSession, tmp_path: Path
) -> None:
    day = "2010-08-01 {:02}:00:00"
    seen = spark.createDataFrame(
        [
            (day.format(1), "ann", 1.5, 1.5, "p"),
            (day.format(2), "bob", 9.5, 9.5, "q"),
            (day.format(3), "bob", 1.2, 1.2, "r"),
        ],
        "time string, client string, latitude double, longitude double, venue string",
    )
    with staged_trace(tmp_path / "trace") as folder:
        write_table(seen, folder, POSITIONS)
        write_table(literal_frame(spark, FRIENDSHIPS, [("ann", "bob")]), folder, FRIENDSHIPS)
        brokers = [("south", 1.0, 1.0, None, None), ("north", 10.0, 10.0, None, "pole")]
        write_table(literal_frame(spark, BROKERS_TABLE, brokers), folder, BROKERS_TABLE)
        ways = [("south", "north", 7.0), ("north", "south", 8.0)]
        write_table(literal_frame(spark, DELAYS, ways), folder, DELAYS)
    at_us = BEGIN_US + 5 * HOUR_US // 2
    before = TraceMoment(spark, tmp_path / "trace", Moment(at_us=at_us)).snapshot()
    assert before.brokers == ("north", "south")
    assert before.topics == ("cell/1/1", "cell/9/9")
    assert before.interests.dense().tolist() == [[False, True], [True, True]]
    assert before.delays_ms is not None
    assert before.delays_ms.tolist() == [[0.0, 8.0], [7.0, 0.0]]
    after = TraceMoment(spark, tmp_path / "trace", Moment())
    snapshot = after.snapshot()
    assert snapshot.topics == ("cell/1/1",)
    local = after.population(snapshot, 2).clients.local_brokers
    assert local is not None
    assert local.tolist() == [1, 1]
    for table in (BROKERS_TABLE, DELAYS):
        rmtree(tmp_path / "trace" / table.name)
    made = TraceMoment(spark, tmp_path / "trace", Moment(at_us=at_us)).snapshot()
    assert made.brokers == ("b1.50,1.50", "b9.50,9.50")
    assert made.interests.dense().tolist() == [[True, True], [False, True]]
    again = TraceMoment(spark, tmp_path / "trace", Moment(at_us=at_us), made.brokers[::-1])
    assert again.snapshot().interests.dense().tolist() == [[False, True], [True, True]]


def test_a_moment_that_cannot_be_is_refused(spark: SparkSession, telemetry: Path) -> None:
    with pytest.raises(MeshwrightError, match="choose a slot longer than 0 s"):
        Moment(slot_s=7200.0, horizon_s=3600.0)
    with pytest.raises(MeshwrightError, match="nothing has happened by the time"):
        TraceMoment(spark, telemetry, Moment(at_us=BEGIN_US))
    with pytest.raises(MeshwrightError, match="the broker 'b2' is not in the overlay"):
        TraceMoment(spark, telemetry, Moment(), ("b0", "b1")).snapshot()
