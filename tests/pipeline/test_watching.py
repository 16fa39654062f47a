from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from small_telemetry import BEGIN_US, HOUR_US, record_hours, told_until

from meshwright.errors import OperatorError
from meshwright.files.plans import read_plan
from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.pipeline.watching.bucket import Bucket, Clockwork, Event, Finding
from meshwright.pipeline.watching.periods import Judge, PeriodRecord, snapshot_of_findings
from meshwright.pipeline.watching.watch import watch
from meshwright.planning.changes.network import PlanWish

TWO_HOURS = Clockwork(HOUR_US, 2)
FIRST_PERIOD = BEGIN_US // TWO_HOURS.period_us
HOURS = 9
PATIENCE_S = 200.0
OPTIONS = (
    "--design", "gm", "--t-free", "2h", "--slot", "1h", "--once", "--files-per-batch", "24",
    "--master", "local[1]",
)  # fmt: skip


def told(bucket: Bucket, period_end: int) -> list[tuple[object, ...]]:
    return [tuple(finding) for finding in bucket.close(TWO_HOURS, period_end)]


def test_a_broker_wants_what_its_clients_want_at_the_end_of_the_period() -> None:
    bucket = Bucket()
    hour = HOUR_US
    bucket.hear(
        TWO_HOURS,
        [
            Event(5 * hour, "host", "ann", "b1", True),
            Event(hour + 1, "want", "ann", "sun", False),
            Event(hour, "want", "ann", "sun", True),
            Event(hour, "host", "ann", "b0", True),
            Event(hour, "want", "ann", "rain", True),
            Event(5 * hour + 1, "host", "ann", "b0", False),
        ],
    )
    assert told(bucket, 1) == [(0, "b0", "rain", 0, 0.0)]
    assert told(bucket, 3) == [(1, "b0", "rain", 0, 0.0), (2, "b1", "rain", 0, 0.0)]
    assert told(bucket, 3) == []


def test_rates_are_filtered_slot_by_slot_from_the_first_on() -> None:
    bucket = Bucket()
    for slot, count in ((1, 10), (2, 20), (2, 5), (5, 1)):
        bucket.count(TWO_HOURS, slot, "sun", count)
    (first,) = bucket.close(TWO_HOURS, 1)
    assert first == Finding(0, None, "sun", 10, 10.0)
    second, third = bucket.close(TWO_HOURS, 3)
    rate = 0.7 * (0.7 * 10 + 0.3 * 25)
    assert second == Finding(1, None, "sun", 25, pytest.approx(rate))
    assert third == Finding(2, None, "sun", 1, pytest.approx(0.7 * 0.7 * rate + 0.3))


@given(st.permutations(range(12)), st.lists(st.integers(0, 11), max_size=3))
def test_the_order_and_batches_of_arrival_count_for_nothing(
    order: list[int], cuts: list[int]
) -> None:
    happened = [
        Event(n * HOUR_US // 2, "want", f"c{n % 2}", f"t{n % 3}", n % 5 != 0) for n in range(12)
    ]
    hosts = [Event(0, "host", f"c{n}", f"b{n}", True) for n in range(2)]
    straight = Bucket()
    straight.hear(TWO_HOURS, [*hosts, *happened])
    shuffled = Bucket()
    shuffled.hear(TWO_HOURS, hosts)
    for place, number in enumerate(order):
        shuffled.hear(TWO_HOURS, [happened[number]])
        if place in cuts:
            shuffled = msgspec.msgpack.decode(msgspec.msgpack.encode(shuffled), type=Bucket)
    assert told(straight, 3) == told(shuffled, 3)


def judge(plans: Path, report: Callable[[PeriodRecord], None]) -> Judge:
    return Judge(plans, TWO_HOURS, PlanWish("gm"), None, 0, report)


def test_a_period_plans_for_filters_as_for_what_they_take(tmp_path: Path) -> None:
    records: list[PeriodRecord] = []
    rows = [
        *(Finding(0, broker, "#", 0, 0.0) for broker in ("b0", "b1")),
        *(Finding(0, broker, "$share/g/$where/n>1/rain", 0, 0.0) for broker in ("b1", "b2")),
        Finding(0, None, "sun", 4, 2.0),
        Finding(0, None, "$SYS/load", 4, 2.0),
    ]
    found = pa.Table.from_pylist([row._asdict() for row in rows])
    Judge(tmp_path, TWO_HOURS, PlanWish("gm"), None, 0, records.append).judge(found, 0)
    (record,) = records
    # sun and rain at both, as the group is at the first of its brokers; nobody wants $SYS/load.
    assert (record.brokers, record.topics, record.interests, record.content) == (3, 3, 4, 2)
    assert record.decision == "planned"


@pytest.fixture(scope="module")
def watched(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, list[PeriodRecord]]:
    """Telemetry, and the plans and records of a watch that nobody disturbed."""
    folder = tmp_path_factory.mktemp("watched")
    record_hours(folder / "telemetry", 0, HOURS)
    records: list[PeriodRecord] = []
    late_count = watch(
        spark,
        folder / "telemetry",
        judge(folder / "plans", records.append),
        lateness_s=3600.0,
        is_once=True,
        files_per_batch=1000,
    )
    assert late_count == 0
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
        spark, telemetry, judge(plans, records.append),
        lateness_s=3600.0, is_once=True, files_per_batch=1000,
    )  # fmt: skip
    assert [record.end for record in records] == ["2010-08-01T08:00:00Z"]
    assert records[0].publications == sum(
        count for (hour, _), count in told_until(HOURS).counts.items() if hour in {6, 7}
    )
    assert known < {path.name for path in plans.glob("period-*")}


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
        *(Finding(0, f"b{n}", "sun", 0, 0.0) for n in range(3)),
        Finding(0, None, "sun", 9, 9e3),
    ]
    found = pa.Table.from_pylist([row._asdict() for row in rows])
    records: list[PeriodRecord] = []
    watching = replace(judge(tmp_path, records.append), telemetry=tmp_path / "telemetry")
    watching.judge(found, 0)
    (record,) = records
    assert record.plan is not None
    plan = read_plan(tmp_path / record.plan)
    assert plan.against is not None
    assert plan.against.data_until_us == TWO_HOURS.period_us
    cost = plan.cost
    assert cost.delay_ms_after is not None
    assert 2.0 < cost.delay_ms_after < 30.0


def test_a_period_is_judged_by_one_batch_alone(tmp_path: Path) -> None:
    found = pa.table(
        {
            "period": [FIRST_PERIOD] * 3,
            "broker": ["b0", "b1", None],
            "topic": ["sun", "sun", "sun"],
            "publications": [0, 0, 7],
            "rate": [0.0, 0.0, 3.5],
        }
    )
    snapshot = snapshot_of_findings(found, TWO_HOURS, None)
    assert (snapshot.brokers, snapshot.publications.tolist()) == (("b0", "b1"), [7.0])
    records: list[PeriodRecord] = []
    one = judge(tmp_path, records.append)
    one.judge(found, 4)
    before = contents(tmp_path)
    one.judge(found, 4)
    assert contents(tmp_path) == before
    assert records[0] == records[1]
    with pytest.raises(OperatorError, match="judged already, in another run"):
        one.judge(found, 5)
