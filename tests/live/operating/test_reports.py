"""A broker's telemetry waits for a manager, bounded, and is taken file by file."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import aiomqtt
import pyarrow.parquet as parquet
import pytest
from live_network import port_of, running_brokers

from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.settings import TelemetrySettings
from meshwright.live.telemetry.reports import ReportFile, Reports
from meshwright.live.telemetry.trace import TraceRecorder


def written(folder: Path, table: str, name: str, size: int = 10) -> tuple[str, str]:
    (folder / table).mkdir(parents=True, exist_ok=True)
    (folder / table / name).write_bytes(b"x" * size)
    return table, name


def names(reports: Reports) -> list[str]:
    return [one.name for one in reports.files()]


def test_what_nobody_takes_is_dropped_oldest_first_and_counted(tmp_path: Path) -> None:
    reports = Reports(tmp_path, "b0", 25)
    assert reports.hold([written(tmp_path, "publications", "b0-1-000001.parquet")], 0) is None
    assert reports.hold([written(tmp_path, "connections", "b0-1-000001.parquet")], 0) is None
    dropped = reports.hold([written(tmp_path, "connections", "b0-1-000002.parquet")], 0)
    assert dropped is not None
    assert (dropped.files, dropped.bytes) == (1, 10)
    assert dropped.oldest == "publications/b0-1-000001.parquet"
    assert not (tmp_path / "publications" / "b0-1-000001.parquet").exists()
    assert names(reports) == ["b0-1-000001.parquet", "b0-1-000002.parquet"]
    assert (reports.kept_bytes, reports.dropped_files, reports.dropped_bytes) == (20, 1, 10)


def test_a_file_written_anew_counts_once_and_is_the_newest(tmp_path: Path) -> None:
    reports = Reports(tmp_path, "b0", 0)
    reports.hold([written(tmp_path, "brokers", "b0.parquet")], 0)
    reports.hold([written(tmp_path, "connections", "b0-1-000001.parquet")], 0)
    reports.hold([written(tmp_path, "brokers", "b0.parquet", 30)], 0)
    assert reports.kept_bytes == 40
    assert reports.files()[-1] == ReportFile(table="brokers", name="b0.parquet", bytes=30)


def test_files_of_former_lives_are_there_and_those_of_other_brokers_are_not(
    tmp_path: Path,
) -> None:
    for name in ("b0-10-000001", "b0-2-000009", "b0-2-000010", "b0-x-1-000001", "b0", "b00"):
        written(tmp_path, "connections", f"{name}.parquet")
    written(tmp_path, "connections", ".b0-3-000001.parquet")
    found = [name.removesuffix(".parquet") for name in names(Reports(tmp_path, "b0", 0))]
    assert found == ["b0", "b0-2-000009", "b0-2-000010", "b0-10-000001"]


def test_files_are_put_together_unless_somebody_is_about_to_take_them(tmp_path: Path) -> None:
    recorder = TraceRecorder(tmp_path, "b0", 1)
    reports = Reports(tmp_path, "b0", 0, age_s=0.0, apart_s=1.0)
    for _ in range(20):
        recorder.publication(1, "t", "p", 3)
        recorder.flush()
    reports.hold(recorder.finished(), 0)
    tenth = "b0-1-000010.parquet"
    assert reports.path("publications", tenth) is not None
    groups = reports.to_put_together(1 << 62)
    assert [len(group) for group in groups] == [9, 10]
    assert [one for one in names(reports) if one != "b0.parquet"] == [tenth]
    assert reports.path("publications", "b0-1-000001.parquet") is None
    reports.were_put_together(reports.put_together(groups))
    assert [one for one in names(reports) if one != "b0.parquet"] == [
        "b0-1-000001to000009.parquet", tenth, "b0-1-000011to000020.parquet",
    ]  # fmt: skip
    again = Reports(tmp_path, "b0", 0)
    assert (set(names(again)), again.kept_bytes) == (set(names(reports)), reports.kept_bytes)


def test_a_manager_takes_what_a_live_broker_recorded(tmp_path: Path) -> None:
    telemetry = TelemetrySettings(trace=tmp_path / "trace", trace_every_s=0.05, sys_every_s=0)

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, telemetry=telemetry) as (broker,):
            control = BrokerControl(tmp_path / "b0")

            async def ask(verb: Any, *words: Any, **options: str) -> Any:
                return await asyncio.to_thread(verb, *words, **options)

            async with aiomqtt.Client("127.0.0.1", port_of(broker), identifier="c") as client:
                await client.publish("t", b"123", qos=1)
                found: dict[str, ReportFile] = {}
                async with asyncio.timeout(20):
                    while "publications" not in found:
                        files = await ask(control.get, "/reports", list[ReportFile])
                        found = {one.table: one for one in files}
                        await asyncio.sleep(0.02)
            one = found["publications"]
            content = await ask(control.report, one.table, one.name)
            assert len(content) == one.bytes
            rows = parquet.read_table(io.BytesIO(content)).to_pylist()
            assert [(row["topic"], row["bytes"]) for row in rows] == [("t", 3)]
            for _ in range(2):
                await ask(control.order, "/reports/taken", table=one.table, name=one.name)
            assert not (tmp_path / "trace" / one.table / one.name).exists()
            with pytest.raises(OperatorError, match="no file"):
                await ask(control.report, one.table, one.name)
            with pytest.raises(OperatorError, match="no file"):
                await ask(control.report, "..", "b0/identity.json")

    asyncio.run(story())


def test_a_broker_that_records_nothing_says_what_to_set(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1):
            control = BrokerControl(tmp_path / "b0")
            with pytest.raises(OperatorError, match=r"set telemetry\.trace"):
                await asyncio.to_thread(control.get, "/reports", list[ReportFile])

    asyncio.run(story())
