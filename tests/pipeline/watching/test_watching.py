from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from small_telemetry import BEGIN_US, HOUR_US, record_hours, told_until

from meshwright.cli.traces.pipeline_watch import told_period
from meshwright.errors import InputFileError, OperatorError
from meshwright.files.plans import read_plan
from meshwright.files.trace_files import compact
from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.pipeline.watching.bucket import Finding
from meshwright.pipeline.watching.clockwork import Clockwork
from meshwright.pipeline.watching.periods import Judge, PeriodRecord, snapshot_of_findings
from meshwright.pipeline.watching.watch import watch
from meshwright.pipeline.watching.watch_record import read_record, sentences
from meshwright.planning.changes.network import PlanWish

TWO_HOURS = Clockwork(HOUR_US, 2)
FIRST_PERIOD = BEGIN_US // TWO_HOURS.period_us
HOURS = 9
TIME = pa.timestamp("us", tz="UTC")
PATIENCE_S = 200.0
OPTIONS = (
    "--design", "gm", "--t-free", "2h", "--slot", "1h", "--once", "--files-per-batch", "24",
    "--master", "local[1]",
)  # fmt: skip


def judge(plans: Path) -> Judge:
    return Judge(plans, TWO_HOURS, PlanWish("gm"), None, 0)


def records_in(plans: Path) -> list[PeriodRecord]:
    return [
        msgspec.json.decode(path.read_bytes(), type=PeriodRecord)
        for path in sorted(plans.glob("period-*"))
    ]


def found_table(rows: list[Finding]) -> pa.Table:
    schema = pa.schema(
        [
            ("kind", pa.string()), ("period", pa.int64()), ("broker", pa.string()),
            ("topic", pa.string()), ("amount", pa.int64()), ("rate", pa.float64()),
        ]
    )  # fmt: skip
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=schema)


def test_a_period_plans_for_filters_as_for_what_they_take(tmp_path: Path) -> None:
    rows = [
        *(Finding("want", 0, broker, "#") for broker in ("b0", "b1")),
        *(Finding("want", 0, broker, "$share/g/$where/n>1/rain") for broker in ("b1", "b2")),
        Finding("publish", 0, None, "sun", 4, 2.0),
        Finding("publish", 0, None, "$SYS/load", 4, 2.0),
    ]
    judge(tmp_path).judge(found_table(rows), 0)
    (record,) = records_in(tmp_path)
    # sun and rain at both, as the group is at the first of its brokers; nobody wants $SYS/load.
    assert (record.brokers, record.topics, record.interests, record.content) == (3, 3, 4, 2)
    assert record.decision == "planned"


def test_a_period_tells_what_takes_nothing_and_what_nobody_wants(tmp_path: Path) -> None:
    rows = [
        *(Finding("want", 0, broker, "sun") for broker in ("b0", "b1")),
        Finding("want", 0, "b1", "nothing/+"),
        *(Finding("publish", 0, None, topic, 4, 2.0) for topic in ("sun", "moon")),
    ]
    judge(tmp_path).judge(found_table(rows), 0)
    (record,) = records_in(tmp_path)
    assert (record.topics_unwanted, record.filters_idle) == (1, 1)
    told = told_period(record)
    assert "1 published topic is wanted by nobody; what it costs on its way is counted" in told
    assert "1 filter takes no topic that is known here" in told


@pytest.fixture(scope="module")
def watched(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, list[PeriodRecord]]:
    """Telemetry, and the plans and records of a watch that nobody disturbed."""
    folder = tmp_path_factory.mktemp("watched")
    record_hours(folder / "telemetry", 0, HOURS)
    records: list[PeriodRecord] = []
    record = watch(
        spark,
        folder / "telemetry",
        judge(folder / "plans"),
        records.append,
        is_once=True,
        files_per_batch=1000,
    )
    assert [record.total(what) for what in ("late", "forgotten", "quarantined")] == [0, 0, 0]
    assert all(one.is_waited_for for one in record.brokers.values())
    return folder / "telemetry", folder / "plans", records


def test_every_period_that_is_over_is_judged_by_what_was_told(
    watched: tuple[Path, Path, list[PeriodRecord]],
) -> None:
    _, plans, records = watched
    assert [record.begin for record in records] == [
        "2010-08-01T00:00:00Z", "2010-08-01T02:00:00Z", "2010-08-01T04:00:00Z",
    ]  # fmt: skip
    for number, record in enumerate(records, start=1):
        until = told_until(2 * number)
        before = told_until(2 * number - 2)
        assert record.publications == (until.counts - before.counts).total()
        assert record.interests == sum(map(len, until.broker_wants().values()))
    assert records[0].plan is not None
    first = read_plan(plans / records[0].plan)
    later = [read_plan(plans / record.plan) for record in records[1:] if record.plan is not None]
    assert all(plan.source == first.target for plan in later[:1])


def test_more_telemetry_is_judged_by_the_next_watch(
    spark: SparkSession, watched: tuple[Path, Path, list[PeriodRecord]]
) -> None:
    telemetry, plans, _ = watched
    known = {path.name for path in plans.glob("period-*")}
    record_hours(telemetry, HOURS, HOURS + 2)
    records: list[PeriodRecord] = []
    watch(
        spark, telemetry, judge(plans), records.append, is_once=True, files_per_batch=1000,
    )  # fmt: skip
    assert [record.end for record in records] == ["2010-08-01T08:00:00Z"]
    assert records[0].publications == sum(
        count for (hour, _), count in told_until(HOURS).counts.items() if hour in {6, 7}
    )
    assert known < {path.name for path in plans.glob("period-*")}


def test_wrong_clocks_copies_and_files_put_together_change_nothing_for_the_others(
    spark: SparkSession, watched: tuple[Path, Path, list[PeriodRecord]], tmp_path: Path
) -> None:
    """The same hours; b5 is 90 minutes ahead, and one event of b4 is in the year 2100."""
    undisturbed = watched[2]
    telemetry, plans = tmp_path / "telemetry", tmp_path / "plans"
    record_hours(telemetry, 0, HOURS)
    for path in telemetry.glob("*/b5-*.parquet"):
        shift(path, 3 * HOUR_US // 2)
    stray = TraceRecorder(telemetry, "b4", HOURS)
    stray.publication(4_102_444_800_000_000, "t0", "c4-0", 10)
    stray.flush()
    first = telemetry / "publications" / "b0-0-000001.parquet"
    (telemetry / "publications" / "a copy.parquet").write_bytes(first.read_bytes())
    for path in telemetry.glob("*/b1-*.parquet"):
        relabel(path, life=1, part=int(path.name.split("-")[1]) + 1)
    compact(telemetry, before_ns=1 << 62)
    records: list[PeriodRecord] = []
    record = watch(
        spark, telemetry, judge(plans), records.append, is_once=True, files_per_batch=1000
    )
    assert [one.begin for one in records] == [one.begin for one in undisturbed]
    b4, b5 = record.brokers["b4"], record.brokers["b5"]
    assert (b4.quarantined, b4.farthest_s > 20 * 86_400) == (1, True)
    assert b5.ahead_s == pytest.approx(5400, abs=60)
    assert (record.total("late"), record.total("quarantined")) == (0, 1)
    for number, seen in enumerate(records):
        hours = range(2 * number, 2 * number + 2)
        assert seen.publications == published(hours, ahead=1.5)


def published(hours: range, ahead: float) -> int:
    """Publications of these hours, where all of b5's are so much later."""
    per_hour = [5 * (1 + number) for number in range(5)]
    late = sum(30 for hour in range(HOURS) if int(hour + ahead) in hours)
    return len(hours) * sum(per_hour) + late


def shift(path: Path, by_us: int) -> None:
    table = parquet.read_table(path)
    times = pc.add(table["time"].cast(pa.int64()), by_us)
    parquet.write_table(table.set_column(0, table.schema.field(0), times.cast(TIME)), path)


def relabel(path: Path, life: int, part: int) -> None:
    """As if one life of the broker had written all its files."""
    table = parquet.read_table(path)
    for name, value in (("life", life), ("part", part)):
        place = table.schema.get_field_index(name)
        values = pa.array([value] * table.num_rows, pa.int64())
        table = table.set_column(place, table.schema.field(place), values)
    path.unlink()
    parquet.write_table(table, path.with_name(f"b1-{life}-{part:06d}.parquet"))


def test_a_file_that_lacks_a_column_or_has_another_unit_of_time_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    record_hours(tmp_path / "telemetry", 0, 1)
    path = tmp_path / "telemetry" / "connections" / "b0-0-000001.parquet"
    table = parquet.read_table(path)
    in_seconds = pa.array([1] * table.num_rows, pa.int64())
    for faulty, sentence in (
        (table.drop_columns("client"), r"b0-0-000001\.parquet: .* lacks the column client"),
        (table.set_column(0, "time", in_seconds), "the column time .* is int64"),
    ):
        parquet.write_table(faulty, path)
        with pytest.raises(InputFileError, match=sentence):
            watch(
                spark, tmp_path / "telemetry", judge(tmp_path / "plans"), lambda _: None,
                is_once=True, files_per_batch=1000,
            )  # fmt: skip


def test_rows_of_impossible_times_are_counted_and_end_no_watch(
    spark: SparkSession, tmp_path: Path
) -> None:
    telemetry, plans = tmp_path / "telemetry", tmp_path / "plans"
    record_hours(telemetry, 0, HOURS)
    path = telemetry / "publications" / "b0-0-000001.parquet"
    table = parquet.read_table(path)
    for part, year in ((77, 9999), (78, 1900)):
        time_us = (year - 1970) * 31_556_952_000_000
        row = table.slice(0, 1).set_column(0, "time", pa.array([time_us], TIME))
        row = row.set_column(row.schema.get_field_index("part"), "part", pa.array([part]))
        parquet.write_table(row, path.with_name(f"b0-0-{part:06d}.parquet"))
    for _ in range(2):
        record = watch(
            spark, telemetry, judge(plans), lambda _: None, is_once=True, files_per_batch=1000,
        )  # fmt: skip
        assert [record.total(what) for what in ("quarantined", "forgotten", "late")] == [1, 1, 0]
    assert [one.begin for one in records_in(plans)] == [
        "2010-08-01T00:00:00Z", "2010-08-01T02:00:00Z", "2010-08-01T04:00:00Z",
    ]  # fmt: skip
    assert compact(telemetry, before_ns=1 << 62) != []


def test_a_watch_that_is_killed_goes_on_without_losing_or_counting_twice(
    watched: tuple[Path, Path, list[PeriodRecord]], tmp_path: Path
) -> None:
    _, undisturbed, records = watched
    killed = tmp_path / "plans"
    record_hours(tmp_path / "telemetry", 0, HOURS)
    words = [
        sys.executable, "-m", "meshwright", "pipeline", "watch", str(tmp_path / "telemetry"),
        *OPTIONS, "--out", str(killed),
    ]  # fmt: skip
    first = subprocess.Popen(words, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline_s = time.monotonic() + PATIENCE_S
    while not list(killed.glob("period-*")) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert 0 < len(list(killed.glob("period-*"))) < len(records)
    subprocess.run(words, check=True, capture_output=True)
    names = {f"period-{name_of(record)}.json" for record in records}
    names |= {record.plan for record in records if record.plan is not None}
    expected = contents(undisturbed)
    assert contents(killed) == {name: expected[name] for name in names}


def name_of(record: PeriodRecord) -> str:
    return record.end.replace("-", "").replace(":", "").replace("Z", "000000Z")


def contents(folder: Path) -> dict[str, object]:
    """Plans byte by byte, records without the number of the batch."""
    found: dict[str, object] = {path.name: path.read_bytes() for path in folder.glob("plan-*")}
    for path in folder.glob("period-*"):
        record = json.loads(path.read_text())
        del record["batch"]
        found[path.name] = record
    return found


def test_delays_that_brokers_measured_are_planned_with(tmp_path: Path) -> None:
    for source, targets in (("b0", {"b1": 40.0, "b2": 4.0}), ("b1", {"b2": 60.0})):
        recorder = TraceRecorder(tmp_path / "telemetry", source, 1)
        recorder.round_trips(targets)
        recorder.flush()
    rows = [
        *(Finding("want", 0, f"b{n}", "sun") for n in range(3)),
        Finding("publish", 0, None, "sun", 9, 9e3),
    ]
    replace(judge(tmp_path), telemetry=tmp_path / "telemetry").judge(found_table(rows), 0)
    (record,) = records_in(tmp_path)
    assert record.plan is not None
    plan = read_plan(tmp_path / record.plan)
    assert plan.against is not None
    assert plan.against.data_until_us == TWO_HOURS.period_us
    cost = plan.cost
    assert cost.delay_ms_after is not None
    assert 2.0 < cost.delay_ms_after < 30.0


def test_a_period_is_judged_by_one_batch_alone(tmp_path: Path) -> None:
    found = found_table(
        [
            Finding("want", FIRST_PERIOD, "b0", "sun"),
            Finding("want", FIRST_PERIOD, "b1", "sun"),
            Finding("publish", FIRST_PERIOD, "b1", "sun", 7, 3.5),
            Finding("late", 0, "b1", amount=2),
        ]
    )
    snapshot = snapshot_of_findings(found, TWO_HOURS, None)
    assert (snapshot.brokers, snapshot.publications.tolist()) == (("b0", "b1"), [7.0])
    assert snapshot.publishers is not None
    assert snapshot.publishers.tolist() == [[0.0], [7.0]]
    one = judge(tmp_path)
    one.judge(found, 4)
    before = contents(tmp_path)
    one.judge(found, 4)
    assert contents(tmp_path) == before
    assert read_record(tmp_path).total("late") == 2
    with pytest.raises(OperatorError, match="judged already, in another run"):
        one.judge(found, 5)


def test_rows_that_wait_for_a_far_future_are_named_until_they_count(tmp_path: Path) -> None:
    one = judge(tmp_path)
    for batch, more in enumerate((3, 2)):
        one.judge(found_table([Finding("far", 0, "b1", amount=more, rate=3 * 86_400.0)]), batch)
    (sentence,) = sentences(read_record(tmp_path), TWO_HOURS)
    assert sentence.startswith("b1: 5 rows not counted yet, of a time up to 3 days ahead")
    one.judge(found_table([Finding("far", 0, "b1", amount=-5)]), 2)
    assert not sentences(read_record(tmp_path), TWO_HOURS)
