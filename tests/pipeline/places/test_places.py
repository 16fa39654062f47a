"""Folders of this machine and at addresses; a mount of viewfs is one that only Hadoop can read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from meshwright.errors import InputFileError, OperatorError
from meshwright.model.schema import BROKERS, FRIENDSHIPS
from meshwright.pipeline.job_faults import spark_faults
from meshwright.pipeline.places import alone
from meshwright.pipeline.places.alone import IN_USE, alone_in
from meshwright.pipeline.places.hadoop import names_at, read_file
from meshwright.pipeline.places.place import Address, Place, place_of, spark_path
from meshwright.pipeline.places.results import is_folder, write_results
from meshwright.pipeline.replays.keeping import Keeper, Kept, files_digest
from meshwright.pipeline.tables.frames import literal_frame
from meshwright.pipeline.tables.traces import (
    check_trace,
    read_table,
    row_counts,
    staged_trace,
    table_names,
    write_table,
)

PAIRS = [("ann", "bob"), ("bob", "ann")]


@pytest.fixture
def far(spark: SparkSession, tmp_path: Path) -> Iterator[Address]:
    """A folder at an address; its files are in tmp_path / "far"."""
    (tmp_path / "far").mkdir()
    host = tmp_path.name.replace("_", "-")
    link = f"fs.viewfs.mounttable.{host}.link./d"
    spark.conf.set(link, f"file://{tmp_path / 'far'}")
    yield Address(f"viewfs://{host}/d")
    spark.conf.unset(link)


def write_friends(spark: SparkSession, out: Place) -> Place:
    with staged_trace(out) as folder:
        write_table(literal_frame(spark, FRIENDSHIPS, PAIRS), folder, FRIENDSHIPS)
    return out


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("city", Path("/home/city")),
        ("/data/city", Path("/data/city")),
        ("file:///data/my%20city", Path("/data/my city")),
        ("file:/data/city", Path("/data/city")),
        ("hdfs://node:8020/city/", Address("hdfs://node:8020/city/")),
        ("hdfs:///city", Address("hdfs:///city")),
        ("s3a://bucket/city", Address("s3a://bucket/city")),
        ("c:/city", Path("/home/c:/city")),
    ],
)
def test_a_scheme_makes_an_address(text: str, place: Place) -> None:
    assert place_of(text, Path("/home")) == place


def test_an_address_has_a_name_a_parent_and_no_patterns() -> None:
    city = place_of("s3a://bucket/traces/ci[t]y/")
    assert isinstance(city, Address)
    assert (city.scheme, city.name, city.parent) == (
        "s3a",
        "ci[t]y",
        Address("s3a://bucket/traces"),
    )
    assert str(city / "brokers") == "s3a://bucket/traces/ci[t]y/brokers"
    assert spark_path(city / "brokers") == r"s3a://bucket/traces/ci\[t\]y/brokers"


def test_a_second_run_in_a_folder_is_refused_and_a_killed_one_is_not_waited_for(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    script = (
        "import time\n"
        "from pathlib import Path\n"
        "from meshwright.pipeline.places.alone import alone_in\n"
        f"with alone_in(Path({str(out)!r})):\n"
        "    print('in', flush=True)\n"
        "    time.sleep(60)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    with run.stdout:
        assert run.stdout.readline() == "in\n"
        with (
            pytest.raises(OperatorError, match=rf"is at work .* \(process {run.pid} on"),
            alone_in(out),
        ):
            pass
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    with alone_in(out) as was_left:
        assert not was_left
        (out / "report").write_text("done")
    assert [path.name for path in out.iterdir()] == ["report"]
    with alone_in(tmp_path / "unused"):
        pass
    assert not (tmp_path / "unused").exists()


def test_a_trace_at_an_address_is_the_trace_that_was_written(
    spark: SparkSession, far: Address, tmp_path: Path
) -> None:
    trace = write_friends(spark, far / "my [city]")
    assert table_names(trace) == ("friendships",)
    assert row_counts(trace) == {"friendships": 2}
    check_trace(trace)
    rows = read_table(spark, trace, FRIENDSHIPS).orderBy("client").collect()
    assert [tuple(row) for row in rows] == PAIRS
    copied = tmp_path / "far" / "my [city]"
    assert [path.name for path in copied.iterdir()] == ["friendships"]
    assert table_names(copied) == ("friendships",)
    before = files_digest(trace / "friendships")
    assert before == files_digest(trace / "friendships")
    pq.write_table(pa.table({"client": ["eve"], "friend": ["ann"]}), copied / "friendships" / "x")
    assert files_digest(trace / "friendships") != before
    assert row_counts(trace) == {"friendships": 3}


def test_a_trace_at_an_address_is_whole_or_refused(
    spark: SparkSession, far: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "RENEWED_EVERY_S", 0.1)
    monkeypatch.setattr(alone, "DEAD_AFTER_S", 1.0)
    folder = tmp_path / "far" / "city"
    trace = far / "city"
    with pytest.raises(InputFileError, match="there is no such trace"):
        table_names(trace)
    with staged_trace(trace) as out:
        write_table(literal_frame(spark, FRIENDSHIPS, PAIRS), out, FRIENDSHIPS)
        with pytest.raises(InputFileError, match="being written, or whoever wrote it was killed"):
            table_names(trace)
        with pytest.raises(OperatorError, match="another run is at work in this folder"):
            write_friends(spark, trace)
        left = (folder / IN_USE).read_bytes()
    with pytest.raises(OperatorError, match="a trace is here already"):
        write_friends(spark, trace)
    (folder / IN_USE).write_bytes(left)  # as a run that is killed leaves it
    (folder / "brokers").mkdir()
    write_friends(spark, trace)
    assert row_counts(trace) == {"friendships": 2}
    assert sorted(path.name for path in folder.iterdir()) == ["friendships"]


def test_a_job_that_fails_leaves_nothing_at_an_address(
    spark: SparkSession, far: Address, tmp_path: Path
) -> None:
    def write_wrongly() -> None:
        with staged_trace(far / "city") as out:
            friends = literal_frame(spark, FRIENDSHIPS, PAIRS)
            for frame in (friends, friends.select("client")):
                write_table(frame, out, FRIENDSHIPS)

    with pytest.raises(AnalysisException):
        write_wrongly()
    assert not [path for path in (tmp_path / "far").rglob("*") if path.is_file()]


def test_what_is_wrong_with_a_table_at_an_address_is_said(
    spark: SparkSession, far: Address, tmp_path: Path
) -> None:
    folder = tmp_path / "far" / "city" / "brokers"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"name": ["b0"]}), folder / "one")
    with pytest.raises(InputFileError, match=r"city/brokers: the table brokers lacks .* broker"):
        read_table(spark, far / "city", BROKERS)
    pq.write_table(pa.table({"broker": [7]}), folder / "one")
    with pytest.raises(InputFileError, match="the column broker of the table brokers is bigint"):
        check_trace(far / "city")
    pq.write_table(pa.table({"broker": ["b0", None]}), folder / "one")
    with (
        pytest.raises(InputFileError, match=r"city/brokers/one: a row has no broker"),
        spark_faults(),
    ):
        read_table(spark, far / "city", BROKERS).collect()
    with pytest.raises(OperatorError, match=r"no file system for s3a://; add its package"):
        table_names(Address("s3a://bucket/city"))


def test_stages_at_an_address_are_kept_once_spark_has_committed_them(
    spark: SparkSession, far: Address, tmp_path: Path
) -> None:
    ran: list[bool] = []

    def kept() -> Kept:
        keeper = Keeper(spark, far / "stages", on_stage=lambda _, is_new, __: ran.append(is_new))
        return keeper.keep(
            FRIENDSHIPS, lambda: literal_frame(spark, FRIENDSHIPS, PAIRS), [], {"seed": 1}
        )

    assert sorted(map(tuple, kept().frame.collect())) == PAIRS
    kept()
    (home,) = (tmp_path / "far" / "stages").iterdir()
    (home / "_SUCCESS").unlink()  # as a run that is killed while it writes
    assert sorted(map(tuple, kept().frame.collect())) == PAIRS
    assert ran == [True, False, True]


def test_results_at_an_address_are_files(far: Address, tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        write_results(far / "found", {"report.html": content, "README.md": b"-"})
    assert (tmp_path / "far" / "found" / "report.html").read_bytes() == b"second"
    assert read_file(far / "found" / "README.md") == b"-"
    assert names_at(far / "found") == {"report.html", "README.md"}
    assert is_folder(far / "found")
    assert not is_folder(far / "lost")
