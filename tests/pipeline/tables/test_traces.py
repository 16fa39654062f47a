from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from meshwright.errors import InputFileError, OperatorError
from meshwright.model.schema import FRIENDSHIPS, POSITIONS, TRACE_TABLES
from meshwright.pipeline.job_faults import spark_faults
from meshwright.pipeline.tables.frames import literal_frame
from meshwright.pipeline.tables.traces import (
    read_table,
    row_counts,
    staged_trace,
    table_names,
    write_table,
)

PAIRS = [("ann", "bob"), ("bob", "ann")]
NOON = datetime(2010, 8, 1, 12, tzinfo=UTC)


def write_friends(spark: SparkSession, out: Path) -> Path:
    with staged_trace(out) as folder:
        write_table(literal_frame(spark, FRIENDSHIPS, PAIRS), folder, FRIENDSHIPS)
    return out


def only_part(trace: Path, table: str) -> Path:
    folder = trace / table
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "part-0.parquet"


def test_what_is_written_is_read(spark: SparkSession, tmp_path: Path) -> None:
    trace = tmp_path / "with [odd] {name}*"
    write_friends(spark, trace)
    assert table_names(trace) == ("friendships",)
    assert row_counts(trace) == {"friendships": 2}
    rows = read_table(spark, trace, FRIENDSHIPS).orderBy("client").collect()
    assert [tuple(row) for row in rows] == PAIRS
    assert [path.name for path in tmp_path.iterdir()] == [trace.name]


def test_times_are_written_as_every_reader_understands_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    with staged_trace(tmp_path / "trace") as folder:
        rows = [(NOON, "ann", 40.0, -73.0, None)]
        write_table(literal_frame(spark, POSITIONS, rows), folder, POSITIONS)
    table = pq.read_table(tmp_path / "trace" / "positions")
    assert table.schema.field("time").type == pa.timestamp("us", tz="UTC")
    assert table["time"].to_pylist() == [NOON]


def test_a_job_that_fails_leaves_what_stood_there(spark: SparkSession, tmp_path: Path) -> None:
    trace = write_friends(spark, tmp_path / "trace")
    wrong = literal_frame(spark, FRIENDSHIPS, []).selectExpr("client", "1 as strange")
    with pytest.raises(AnalysisException), staged_trace(trace) as folder:
        write_table(wrong, folder, FRIENDSHIPS)
    assert row_counts(trace) == {"friendships": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


FULL = "Caused by: java.io.IOException: No space left on device"


def write_to_a_disk_that_takes_no_more(out: Path, place: str, cause: str) -> None:
    with staged_trace(out) as folder:
        rows = f"rows to file:{folder / place}"
        raise Py4JError(f"Task failed while writing {rows}. SQLSTATE: 58030\n{cause}")


@pytest.mark.parametrize(
    ("place", "cause", "reason"),
    [
        ("friendships", FULL, "no space left on device"),
        (
            "friendships/_temporary/0/attempt_1/part-0.parquet",
            "Caused by: java.io.IOException: File too large",
            "file too large",
        ),
    ],
)
def test_a_disk_that_takes_no_more_is_named_and_said_to_need_room(
    tmp_path: Path, place: str, cause: str, reason: str
) -> None:
    out = tmp_path / "a trace"
    with pytest.raises(OperatorError) as refusal, spark_faults():
        write_to_a_disk_that_takes_no_more(out, place, cause)
    assert str(refusal.value) == (
        f"{out}: this cannot be written ({reason}); make room or choose another folder."
    )


def test_a_full_disk_of_what_spark_keeps_meanwhile_is_said_to_be_that() -> None:
    said = r"no space left on device.*spark\.local\.dir"
    with pytest.raises(OperatorError, match=said), spark_faults():
        raise Py4JError(f"Job aborted due to stage failure.\n{FULL}")


def test_a_job_that_is_killed_leaves_no_trace_and_the_next_one_cleans_up(
    spark: SparkSession, tmp_path: Path
) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from meshwright.pipeline.tables.traces import staged_trace\n"
        f"with staged_trace(Path({str(tmp_path / 'trace')!r})) as folder:\n"
        "    (folder / 'positions').mkdir()\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    job = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    with job.stdout:
        assert job.stdout.readline() == "writing\n"
        with pytest.raises(OperatorError, match="another job writes this trace now"):
            write_friends(spark, tmp_path / "trace")
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
    assert not (tmp_path / "trace").exists()
    assert row_counts(write_friends(spark, tmp_path / "trace")) == {"friendships": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


def test_only_a_trace_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(OperatorError, match="this is no trace"), staged_trace(tmp_path / "mine"):
        pass
    with pytest.raises(OperatorError, match="its folder does not exist"):
        staged_trace(tmp_path / "no" / "trace").__enter__()
    with pytest.raises(OperatorError, match=r"^/proc/trace: .* choose another folder"):
        staged_trace(Path("/proc/trace")).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_truncated_file_names_itself(spark: SparkSession, tmp_path: Path) -> None:
    trace = write_friends(spark, tmp_path / "trace")
    part = min((trace / "friendships").glob("part-*"))
    part.write_bytes(part.read_bytes()[:-5])
    with pytest.raises(InputFileError, match="not a whole Parquet file") as refusal:
        read_table(spark, trace, FRIENDSHIPS)
    assert str(refusal.value).startswith(str(part))


def test_a_file_that_is_no_parquet_names_itself(spark: SparkSession, tmp_path: Path) -> None:
    only_part(tmp_path, "friendships").write_text("client,friend\nann,bob\n")
    with pytest.raises(InputFileError, match=r"part-0.parquet: this is not a whole Parquet file"):
        read_table(spark, tmp_path, FRIENDSHIPS)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"client": ["ann"]}, "the table friendships lacks the column friend"),
        ({"client": ["ann"], "friend": [7]}, "the column friend of the table friendships is int64"),
        ({"client": ["ann", None], "friend": ["bob", "cy"]}, "1 row has no client"),
    ],
)
def test_a_wrong_column_is_named(
    spark: SparkSession, tmp_path: Path, columns: dict[str, list[object]], told: str
) -> None:
    pq.write_table(pa.table(columns), only_part(tmp_path, "friendships"))
    with pytest.raises(InputFileError, match=told):
        read_table(spark, tmp_path, FRIENDSHIPS)


@pytest.mark.parametrize(
    ("unit", "zone", "is_taken"),
    [("ms", "UTC", True), ("us", "UTC", True), ("ns", "UTC", False), ("us", None, False)],
)
def test_a_time_is_one_in_utc_to_the_micro_or_millisecond(
    unit: str, zone: str | None, is_taken: bool, spark: SparkSession, tmp_path: Path
) -> None:
    columns = {
        "time": pa.array([NOON.replace(tzinfo=None)], pa.timestamp(unit)).cast(
            pa.timestamp(unit, tz=zone)
        ),
        "client": ["ann"],
        "latitude": [1.0],
        "longitude": [1.0],
        "venue": ["v"],
    }
    pq.write_table(pa.table(columns), only_part(tmp_path, "positions"))
    said = "it must be a time in UTC, to the micro- or millisecond"
    with nullcontext() if is_taken else pytest.raises(InputFileError, match=said):
        assert read_table(spark, tmp_path, POSITIONS).first()["time"] == NOON.replace(tzinfo=None)


def test_a_missing_table_or_trace_is_named(spark: SparkSession, tmp_path: Path) -> None:
    trace = write_friends(spark, tmp_path / "trace")
    with pytest.raises(InputFileError, match="the trace has no table positions"):
        read_table(spark, trace, POSITIONS)
    with pytest.raises(InputFileError, match="there is no such trace"):
        table_names(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputFileError, match="no table of a trace"):
        table_names(tmp_path / "empty")


def test_the_documents_name_every_table_and_column() -> None:
    text = (Path(__file__).parents[3] / "docs" / "FILES.md").read_text(encoding="utf-8")
    text = text.partition("## Traces")[2].partition("\n## ")[0]
    rows = {item.split("`")[1]: item for item in text.split("\n- ")[1:] if item.startswith("`")}
    for table in TRACE_TABLES.values():
        missing = [name for name in table.column_names() if f"`{name}`" not in rows[table.name]]
        assert not missing, table.name
