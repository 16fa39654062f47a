"""Telemetry files over time: put together and let go, with nothing lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from meshwright.files import trace_files
from meshwright.files.trace_files import (
    Retention,
    TraceFile,
    compact,
    finish,
    groups_to_put_together,
    keep_for_reading,
    outdated,
    retire,
)
from meshwright.live.telemetry.trace import Standing, TraceRecorder

LATER_NS = 1 << 62


def record(trace: Path, broker: str = "b0", life: int = 1, files: int = 5) -> None:
    recorder = TraceRecorder(trace, broker, life)
    for number in range(files):
        for row in range(number + 1):
            recorder.publication(number * 1000 + row, f"t{row}", f"{broker}-p", number)
        if number % 2 == 0:
            recorder.subscription(number, "c", f"t{number}", is_on=True)
        if number == 2:
            recorder.statement(number, [Standing("c", True, ("t0", "t2"))])
        recorder.flush()


def rows(trace: Path, table: str) -> Counter[tuple[object, ...]]:
    """Each row of a table with how often it is there, as any reader of Parquet sees them."""
    found: Counter[tuple[object, ...]] = Counter()
    for path in (trace / table).glob("[!.]*.parquet"):
        found.update(tuple(row.values()) for row in parquet.read_table(path).to_pylist())
    return found


def names(trace: Path, table: str) -> list[str]:
    return sorted(path.name for path in (trace / table).iterdir())


def test_many_files_become_one_with_the_same_rows_in_their_order(tmp_path: Path) -> None:
    record(tmp_path)
    record(tmp_path, life=2, files=2)
    record(tmp_path, "b0-1", files=1)
    before = {table: rows(tmp_path, table) for table in ("publications", "subscriptions")}
    done = compact(tmp_path, before_ns=LATER_NS)
    assert names(tmp_path, "publications") == [
        "b0-1-000001to000005.parquet",
        "b0-1-1-000001.parquet",
        "b0-2-000001to000002.parquet",
    ]
    assert {table: rows(tmp_path, table) for table in before} == before
    (whole,) = (one.whole for one in done if len(one.parts) == 5)
    table = parquet.read_table(tmp_path / "publications" / whole.name)
    assert table["time"].cast(pa.int64()).to_pylist() == sorted(
        table["time"].cast(pa.int64()).to_pylist()
    )
    assert table["part"].to_pylist() == [1] + [2] * 2 + [3] * 3 + [4] * 4 + [5] * 5
    assert compact(tmp_path, before_ns=LATER_NS) == []


def test_what_was_put_together_grows_and_a_file_between_is_not_passed_over() -> None:
    def file(first: int, last: int, size: int = 10, written: int = 0) -> TraceFile:
        return TraceFile("publications", f"{first}", size, written, "b0", 1, first, last)

    files = [file(1, 3), file(4, 4), file(5, 5, written=9), file(6, 6), file(7, 7)]
    groups = groups_to_put_together(files, lambda one: one.written_ns < 5, 2)
    assert [[one.first for one in group] for group in groups] == [[1, 4], [6, 7]]
    large = [file(1, 3, 50 << 20), file(4, 4, 20 << 20), file(5, 5)]
    groups = groups_to_put_together(large, lambda _: True, 2)
    assert [[one.first for one in group] for group in groups] == [[4, 5]]
    assert groups_to_put_together(large, lambda _: True, 3) == []


@pytest.mark.parametrize("moment", ["rename", "unlink", "unlink again"])
def test_whoever_is_killed_in_between_loses_and_doubles_nothing(
    tmp_path: Path, moment: str
) -> None:
    """The process ends at once at that call, as if it were killed."""
    record(tmp_path)
    before = rows(tmp_path, "publications")
    calls = {"rename": 1, "unlink": 1, "unlink again": 2}
    program = f"""
import os, pathlib
from pathlib import Path
from meshwright.files.trace_files import compact
verb, left = {moment.split(maxsplit=1)[0]!r}, {calls[moment]}
known = getattr(pathlib.Path, verb)
def dying(self, *words, **options):
    global left
    if "publications" in str(self) and self.exists():
        left -= 1
        if left == 0:
            os._exit(9)
    return known(self, *words, **options)
setattr(pathlib.Path, verb, dying)
compact(Path({str(tmp_path)!r}), before_ns=1 << 62)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    finish(tmp_path)  # as every reader does first
    assert rows(tmp_path, "publications") == before
    compact(tmp_path, before_ns=LATER_NS)
    assert rows(tmp_path, "publications") == before
    assert names(tmp_path, "publications") == ["b0-1-000001to000005.parquet"]


def test_nothing_goes_while_somebody_reads(tmp_path: Path) -> None:
    record(tmp_path)
    known = names(tmp_path, "publications")
    keep_for_reading(tmp_path)
    try:
        assert compact(tmp_path, before_ns=LATER_NS) == []
        assert retire(tmp_path, Retention(bytes_max=1), LATER_NS) == []
        assert names(tmp_path, "publications") == known
    finally:
        os.close(trace_files._read_now.pop(tmp_path.resolve()))
    assert compact(tmp_path, before_ns=LATER_NS) != []


def test_age_ends_files_but_not_what_was_told_since_the_last_statement() -> None:
    def file(table: str, number: int, size: int = 10) -> TraceFile:
        return TraceFile(table, f"{number}", size, number, "b0", 1, number, number)

    files = [
        *(file("publications", number) for number in range(1, 5)),
        *(file("subscriptions", number) for number in range(1, 5)),
        *(file("statements", number) for number in (1, 3)),
    ]
    gone = outdated(files, Retention(age_s=1.0), now_ns=1_000_000_004)
    assert {(one.table, one.first) for one in gone} == {
        ("publications", 1), ("publications", 2), ("publications", 3),
        ("subscriptions", 1), ("subscriptions", 2), ("statements", 1),
    }  # fmt: skip
    assert outdated(files, Retention(bytes_max=100), now_ns=0) == []
    gone = outdated(files, Retention(bytes_max=25), now_ns=0)
    assert [one.table for one in gone].count("publications") == 4
    assert len(gone) == 8


def test_room_is_kept_and_sessions_stay_also_where_the_newest_file_is_a_large_one() -> None:
    files = [
        TraceFile("connections", "1", 10, 1, "b0", 1, 1, 1),
        TraceFile("subscriptions", "1", 10, 2, "b0", 1, 1, 1),
        TraceFile("publications", "1to9", 1000, 3, "b0", 1, 1, 9),
    ]
    gone = outdated(files, Retention(bytes_max=100), now_ns=0)
    assert [one.table for one in gone] == ["publications"]
    assert [one.table for one in outdated(files, Retention(bytes_max=15), now_ns=0)] == [
        "publications", "connections",
    ]  # fmt: skip
    assert outdated(files[2:], Retention(bytes_max=100), now_ns=0) == files[2:]


def test_files_without_parts_of_former_versions_stay_apart(tmp_path: Path) -> None:
    folder = tmp_path / "publications"
    folder.mkdir()
    for number in (1, 2):
        table = pa.table({"time": [number], "topic": ["t"], "publisher": ["p"], "bytes": [1]})
        parquet.write_table(table, folder / f"b0-1-{number:06d}.parquet")
    assert compact(tmp_path, before_ns=LATER_NS) == []
    assert len(names(tmp_path, "publications")) == 2
