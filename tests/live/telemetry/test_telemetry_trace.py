from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aiomqtt
import pyarrow.parquet as parquet
from live_network import port_of, running_brokers

from meshwright.live.settings import TelemetrySettings
from meshwright.live.system.clock import Clock
from meshwright.live.telemetry.meter import Meter
from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.model.schema import RECORDED_BY, TRACE_TABLES
from meshwright.protocol.mqtt.packets import Subscribe, Subscription, Unsubscribe


def test_telemetry_has_the_columns_of_a_trace(tmp_path: Path) -> None:
    recorder = TraceRecorder(tmp_path, "north", 3)
    recorder.connection(1, "c", is_on=True)
    recorder.subscription(2, "c", "t/#", is_on=True)
    recorder.publication(3, "t/1", "c", 10)
    recorder.publication(4, "t/2", "c", 20)
    recorder.flush()
    recorder.connection(5, "c", is_on=False)
    recorder.flush()
    for name in ("connections", "subscriptions", "publications"):
        for path in sorted((tmp_path / name).iterdir()):
            found = parquet.read_table(path).schema.names
            own = TRACE_TABLES[name].column_names()
            more = tuple(one.name for one in RECORDED_BY if one.name not in own)
            assert tuple(found) == own + more
    for name, parts in (("connections", [1, 2]), ("publications", [1, 1])):
        where = parquet.read_table(tmp_path / name).select(["broker", "life", "part"])
        assert [(*row.values(),) for row in where.to_pylist()] == [("north", 3, n) for n in parts]
    files = sorted(path.name for path in (tmp_path / "connections").iterdir())
    assert files == ["north-3-000001.parquet", "north-3-000002.parquet"]
    published = parquet.read_table(tmp_path / "publications").to_pylist()
    assert [(row["topic"], row["bytes"]) for row in published] == [("t/1", 10), ("t/2", 20)]
    assert published[0]["time"].microsecond == 3


def test_what_is_no_filter_is_not_recorded(tmp_path: Path) -> None:
    meter = Meter(Clock())
    meter.trace = TraceRecorder(tmp_path, "north", 3)
    asked = [Subscription(text, 0) for text in ("a/#", "a/#/b", "$where/n/a", "")]
    meter.received("c", Subscribe(1, tuple(asked)))
    meter.received("c", Unsubscribe(2, ("a/#/b", "a/#")))
    recorded = [row[1:] for row in meter.trace.gathered()["subscriptions"]]
    assert recorded == [("c", "a/#", True), ("c", "a/#", False)]


def test_nothing_is_lost_that_is_written_while_something_else_is(tmp_path: Path) -> None:
    recorder = TraceRecorder(tmp_path, "north", 3)

    def record(client: str) -> None:
        for time_us in range(20):
            connections = [(time_us, client, "north", True)]
            recorder.write({**recorder.gathered(), "connections": connections})

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(record, ("one", "other")))
    found = parquet.read_table(tmp_path / "connections").to_pylist()
    assert sorted(row["client"] for row in found) == ["one"] * 20 + ["other"] * 20
    written = [name for table, name in recorder.finished() if table == "connections"]
    assert len(set(written)) == 40


def test_a_live_broker_records_what_its_clients_do(tmp_path: Path) -> None:
    telemetry = TelemetrySettings(
        trace=tmp_path / "trace", trace_every_s=0.1, statement_every_s=0, sys_every_s=0
    )

    async def story() -> None:
        place = {"latitude": 52.5, "longitude": 13.4, "site": "berlin"}
        async with running_brokers("chord", tmp_path, 2, telemetry=telemetry, **place) as brokers:
            reader = aiomqtt.Client("127.0.0.1", port_of(brokers[0]), identifier="reader")
            writer = aiomqtt.Client("127.0.0.1", port_of(brokers[1]), identifier="writer")
            async with reader, writer:
                await reader.subscribe("a/+")
                await reader.subscribe("b")
                await reader.unsubscribe("b")
                await writer.publish("a/b", b"12345", qos=1)
                async with asyncio.timeout(20):
                    while not all(one.host.round_trips_ms() for one in brokers):
                        await asyncio.sleep(0.02)
            for one in brokers:
                (member,) = (peer for peer in one.host.view().round_trips_ms)
                assert member != one.settings.name

    asyncio.run(story())

    def rows(table: str) -> list[tuple[object, ...]]:
        found = parquet.read_table(tmp_path / "trace" / table).to_pylist()
        found.sort(key=lambda row: row.get("time", 0))
        names = [name for name in TRACE_TABLES[table].column_names() if name != "time"]
        return [tuple(row[name] for name in names) for row in found]

    assert rows("subscriptions") == [
        ("reader", "a/+", True),
        ("reader", "b", True),
        ("reader", "b", False),
        ("reader", "a/+", False),
    ]
    assert rows("publications") == [("a/b", "writer", 5)]
    connections = rows("connections")
    assert sorted(connections[:2]) == [("reader", "b0", True), ("writer", "b1", True)]
    assert sorted(connections[2:]) == [("reader", "b0", False), ("writer", "b1", False)]
    assert sorted(rows("brokers")) == [
        ("b0", 52.5, 13.4, None, "berlin"),
        ("b1", 52.5, 13.4, None, "berlin"),
    ]
    delays = {(source, target): delay_ms for source, target, delay_ms in rows("delays")}
    assert set(delays) == {("b0", "b1"), ("b1", "b0")}
    assert all(0 < delay_ms < 5_000 for delay_ms in delays.values())


def test_a_live_broker_states_now_and_then_who_is_connected_and_what_is_wanted(
    tmp_path: Path,
) -> None:
    telemetry = TelemetrySettings(
        trace=tmp_path / "trace", trace_every_s=0.05, statement_every_s=0.2, sys_every_s=0
    )

    def stated() -> list[tuple[str, str | None]]:
        folder = tmp_path / "trace" / "statements"
        found = parquet.read_table(folder).to_pylist() if folder.is_dir() else []
        return [
            (row["broker"], row["client"]) for row in sorted(found, key=lambda row: row["part"])
        ]

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, telemetry=telemetry) as (broker,):
            client = aiomqtt.Client("127.0.0.1", port_of(broker), identifier="reader")
            async with client, asyncio.timeout(20):
                await client.subscribe("a/+")
                await client.subscribe("$SYS/#")
                known = len(stated())
                while ("b0", "reader") not in stated()[known:]:
                    await asyncio.sleep(0.05)
            async with asyncio.timeout(20):
                while stated()[-1] != ("b0", None):
                    await asyncio.sleep(0.05)

    asyncio.run(story())
    said = parquet.read_table(tmp_path / "trace" / "subscriptions").to_pylist()
    times = {
        row["time"] for row in parquet.read_table(tmp_path / "trace" / "statements").to_pylist()
    }
    again = [row for row in said if row["time"] in times]
    assert {(row["client"], row["topic"], row["is_on"]) for row in again} == {
        ("reader", "a/+", True)
    }
