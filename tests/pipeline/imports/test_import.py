from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkin_files import HEADER, described_by_pandas, random_checkins, write_lines
from pyspark.sql import SparkSession
from trace_commands import answered, call, refused, rows

from meshwright.errors import InputFileError
from meshwright.model.schema import TRACE_TABLES
from meshwright.pipeline.imports import trace_import
from meshwright.pipeline.imports.lines import numbered_lines
from meshwright.pipeline.job_faults import spark_faults
from meshwright.pipeline.tables.traces import read_table

TIME = "a date and a time of day, as in 2010-08-01T12:00:00Z"
GOOD = "7,2010-08-01T12:00:00Z,40.7,-73.9,v1"

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(params=["on Spark", "without Spark"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are judged alike, whether Spark reads them or, as there are few bytes, nobody else."""
    if request.param == "on Spark":
        monkeypatch.setattr(trace_import, "BYTES_WITHOUT_SPARK_MAX", 0)


@pytest.mark.usefixtures("either_way")
def test_every_kind_of_bad_row_is_refused_with_its_line_and_reason(tmp_path: Path) -> None:
    bad = {
        "7,yesterday,40.7,-73.9,v1": f"ts_utc is not {TIME}",
        "7,2010-02-30T12:00:00Z,40.7,-73.9,v1": f"ts_utc is not {TIME}",
        "7,2010-08-01,40.7,-73.9,v1": f"ts_utc is not {TIME}",
        "7,1969-08-01T12:00:00Z,40.7,-73.9,v1": "ts_utc is not a time in the years 1970 to 2199",
        "7,,40.7,-73.9,v1": "ts_utc is missing",
        "7,2010-08-01T12:00:00Z,90.1,-73.9,v1": "lat is not a number from -90 to 90",
        "7,2010-08-01T12:00:00Z,40.7,-180.5,v1": "lon is not a number from -180 to 180",
        "7,2010-08-01T12:00:00Z,nan,-73.9,v1": "lat is not a number from -90 to 90",
        "7,2010-08-01T12:00:00Z,,-73.9,v1": "lat is missing",
        ",2010-08-01T12:00:00Z,40.7,-73.9,v1": "user_id is missing",
        "7,2010-08-01T12:00:00Z,40.7": "the row does not have 5 fields",
        '7,2010-08-01T12:00:00Z,40.7,-73.9,"v': "a quoted field does not end on its line",
        GOOD: "it repeats line 2",
    }
    path = write_lines(tmp_path / "checkins.csv.gz", HEADER, GOOD, "", *bad)
    document = answered("import", "--format", "gowalla", path, "--out", tmp_path / "trace")
    assert document["tables"] == {"positions": 1, "quarantine": len(bad)}
    assert sorted(rows(tmp_path / "trace", "quarantine"), key=lambda row: row[1]) == [
        (str(path), number, reason, text) for number, (text, reason) in enumerate(bad.items(), 4)
    ]
    assert refused("import", "--format", "gowalla", path, "--strict", "--out", tmp_path / "x") == (
        f"error: {path}, line 4: ts_utc is not {TIME}, and 12 other rows are refused too; "
        "correct the file, or import without --strict."
    )
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("either_way")
def test_of_equal_rows_the_first_is_kept_also_across_files(tmp_path: Path) -> None:
    other = "7,2010-08-01T12:00:00Z,40.7,-73.9,v2"
    one = write_lines(tmp_path / "one.csv", HEADER, GOOD, other)
    # Another order of columns, a byte order mark and Windows line ends change nothing.
    two = tmp_path / "two.csv"
    two.write_bytes(
        b"\xef\xbb\xbfvenue_id,user_id,ts_utc,lat,lon\r\n"
        b'v3,7,2010-08-01T12:00:00Z,40.7,-73.9\r\n"v1","7","2010-08-01 12:00:00","40.70",-73.9\r\n'
    )
    answered("import", "--format", "gowalla", one, two, "--out", tmp_path / "trace")
    assert sorted(str(row[4]) for row in rows(tmp_path / "trace", "positions")) == [
        "v1",
        "v2",
        "v3",
    ]
    assert [row[:3] for row in rows(tmp_path / "trace", "quarantine")] == [
        (str(two), 3, f"it repeats line 2 of {one}")
    ]


@pytest.mark.usefixtures("either_way")
def test_names_that_no_client_may_use_are_refused_with_their_line_and_reason(
    tmp_path: Path,
) -> None:
    filters = "topic is not a topic filter (1 to 65,535 bytes of UTF-8, + and # each a whole level"
    return_in_line = "a carriage return stands within the line"
    found = {
        "subscriptions": (
            "time,client,topic,is_on",
            ("c0,a/#,true", "c0,$share/g/+/b,true", "c0,$SYS/#,true", "é,/a b/+//#,true"),
            {
                "c0,a/#/b,true": filters,
                "c0,a+,true": filters,
                "c0,$share/g,true": filters,
                f"c0,{'a' * 65_536},true": filters,
                "c\0,a,true": "client is not a client id (1 to 65,535 bytes of UTF-8, no U+0000)",
                f"{'c' * 65_536},a,true": "client is not a client id (1 to 65,535 bytes of UTF-8",
                "c\rd,a,true": return_in_line,
            },
        ),
        "publications": (
            "time,topic,publisher,bytes",
            ("$SYS/a b,c0,0", "a,c0,7"),
            {
                "t/+,c0,1": "topic is not a topic name (1 to 65,535 bytes of UTF-8, no +",
                '"t/#",c0,1': "topic is not a topic name (1 to 65,535 bytes of UTF-8, no +",
                "t\0,c0,1": "topic is not a topic name (1 to 65,535 bytes of UTF-8, no +",
                **{
                    f"t,c0,{count}": "bytes is not a whole number from 0 to 9,223,372,036,854,775,"
                    for count in ("-5", "1.5", "99999999999999999999")
                },
            },
        ),
        "connections": (
            "time,client,broker,is_on",
            ("c0,b0,true", "c0,bé,true"),
            {
                "c0,\u00a0b,true": "broker is not the name of a broker",
                "c0,b\x1f0,true": "broker is not the name of a broker",
            },
        ),
    }
    for table, (header, good, bad) in found.items():
        lines = [f"2026-11-01T00:00:00Z,{line}" for line in (*good, *bad)]
        path = write_lines(tmp_path / f"{table}.csv", header, *lines)
        answer = answered("import", "--format", "csv", path, "--out", tmp_path / table)
        assert answer["tables"] == {table: len(good), "quarantine": len(bad)}
        refusals = sorted(rows(tmp_path / table, "quarantine"), key=lambda row: row[1])
        for row, (line, reason) in zip(
            refusals, enumerate(bad.values(), len(good) + 2), strict=True
        ):
            assert row[1] == line
            assert str(row[2]).startswith(reason), (table, row)


@pytest.mark.usefixtures("either_way")
def test_a_delay_below_zero_is_refused(tmp_path: Path) -> None:
    lines = ["b0,b1,0", "b1,b0,-0.0", "b0,b2,-5", "b2,b0,-1e-9", "b2,b1,1e400"]
    path = write_lines(tmp_path / "delays.csv", "source,target,delay_ms", *lines)
    answer = answered("import", "--format", "csv", path, "--out", tmp_path / "trace")
    assert answer["tables"] == {"delays": 2, "quarantine": 3}
    assert answer["reasons"] == {"delay_ms is not a finite number from 0": 3}


@pytest.mark.usefixtures("either_way")
def test_a_row_with_any_number_of_commas_is_refused_or_kept_for_its_fields(tmp_path: Path) -> None:
    many = "," * 30_000
    wide = (
        many, f'"7"{many}', f'7"{many}"', f'{GOOD}"{many}',
        f'"a""{many}"b,2010-08-01T12:00:00Z,1,1,v',
        f"{GOOD}\0{many}", f'"{many}","{many}"', "," * 20_479, "," * 20_480, '"",' * 20_480,
    )  # fmt: skip
    kept = GOOD.replace("v1", f'"{many}""{many}"')
    path = write_lines(tmp_path / "checkins.csv", HEADER, GOOD, kept, *wide)
    answer = answered("import", "--format", "gowalla", path, "--out", tmp_path / "trace")
    assert answer["tables"] == {"positions": 2, "quarantine": len(wide)}
    refusals = sorted(rows(tmp_path / "trace", "quarantine"), key=lambda row: row[1])
    reasons = ["the row does not have 5 fields"] * len(wide)
    reasons[3] = "a quoted field does not end on its line"
    assert [row[2] for row in refusals] == reasons
    assert [row[3] for row in refusals] == list(wide)


@pytest.mark.usefixtures("either_way")
def test_a_byte_order_mark_is_text_wherever_a_row_begins_with_it(tmp_path: Path) -> None:
    marked = '\ufeff7,"2010-08-01T12:00:00Z",40.7,-73.9,v1'
    path = write_lines(tmp_path / "checkins.csv", HEADER, marked, GOOD, marked, f"\ufeff{GOOD}")
    answered("import", "--format", "gowalla", path, "--out", tmp_path / "trace")
    clients = sorted(str(row[1]) for row in rows(tmp_path / "trace", "positions"))
    assert clients == ["7", "\ufeff7"]
    found = sorted(row[1:3] for row in rows(tmp_path / "trace", "quarantine"))
    assert found == [(4, "it repeats line 2"), (5, "it repeats line 2")]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty; begin it with the header time,"),
        (b"\xef\xbb\xbf", "the file is empty; begin it with the header time,"),
        (b"\n", "line 1 is empty; begin it with the header time,"),
        (b" \r\n\ntime,client,topic,is_on\n", "line 1 is empty; begin it with the header time,"),
        (b"time,client\rtopic,is_on\n", "a carriage return stands within the line; end lines"),
        (b"time,time,client,topic,is_on\n", "the header repeats a column; the columns must be"),
    ],
)
def test_a_file_that_does_not_begin_with_a_header_is_told_why(
    content: bytes, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "subscriptions.csv"
    for packed in (content, gzip.compress(content)):
        path.write_bytes(packed)
        sentence = refused("import", "--format", "csv", path, "--out", tmp_path / "trace")
        assert sentence.startswith(f"error: {path}, line 1: {problem}")
        path = tmp_path / "subscriptions.csv.gz"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_is_no_file_is_told_before_its_name_is_judged(kind: str, tmp_path: Path) -> None:
    words = ("import", "--format", kind, "--out", tmp_path / "trace")
    (tmp_path / "folder").mkdir()
    folder, missing = tmp_path / "folder", tmp_path / "missing.csv"
    assert f"{folder}: this is a folder, not a file" in refused(*words, folder)
    assert f"{missing}: there is no such file" in refused(*words, missing)


@pytest.mark.usefixtures("either_way")
def test_bytes_that_are_no_text_are_refused_and_the_mark_for_them_is_text(tmp_path: Path) -> None:
    path = tmp_path / "checkins.csv"
    path.write_bytes(
        f"{HEADER}\n{GOOD}\n".encode()
        + b"7,2010-08-01T12:00:00Z,40.7,-73.9,\xff\xfe\n"
        + "7,2010-08-01T12:00:00Z,40.7,-73.9,\ufffd\n".encode()
        + b"7,0000-08-01T12:00:00Z,40.7,-73.9,v1\n7,9999-08-01T12:00:00Z,40.7,-73.9,v1\n"
    )
    answered("import", "--format", "gowalla", path, path, "--out", tmp_path / "trace")
    assert sorted(str(row[4]) for row in rows(tmp_path / "trace", "positions")) == ["v1", "\ufffd"]
    years = "ts_utc is not a time in the years 1970 to 2199"
    found = sorted(rows(tmp_path / "trace", "quarantine"), key=lambda row: row[1])
    assert [row[1:3] for row in found] == [(3, "this is not UTF-8 text"), (5, years), (6, years)]
    assert "\ufffd\ufffd" in str(found[0][3])


@pytest.mark.usefixtures("either_way")
def test_a_file_that_is_corrected_after_a_refusal_is_read_anew(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "checkins.csv", HEADER, GOOD, GOOD)
    words = ("import", "--format", "gowalla", path, "--strict", "--out", tmp_path / "trace")
    assert "line 3: it repeats line 2;" in refused(*words)
    write_lines(path, HEADER, GOOD, GOOD.replace("v1", "v2"))
    assert answered(*words)["tables"] == {"positions": 2, "quarantine": 0}


def test_a_file_that_is_given_twice_counts_once(tmp_path: Path) -> None:
    log = write_lines(
        tmp_path / "b0.log",
        "1700000000: New client connected from 1.2.3.4:5 as c (p2, c1, k60).",
        "1700000001: Received PUBLISH from c (d0, q0, r0, m0, 't', ... (3 bytes))",
    )
    (tmp_path / "link.log").symlink_to(log)
    words = ("import", "--format", "mosquitto-log", log, log, tmp_path / "link.log")
    document = answered(*words, "--out", tmp_path / "trace")
    assert isinstance(document["tables"], dict)
    assert document["tables"]["publications"] == 1
    assert {row[0] for row in rows(tmp_path / "trace", "brokers")} == {"b0"}


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("latitude", float("nan"), "latitude is not a number from -90 to 90"),
        ("latitude", 400.0, "latitude is not a number from -90 to 90"),
        ("longitude", float("inf"), "longitude is not a number from -180 to 180"),
        ("time", -62_135_596_800_000_000, "time is not a time in the years 1970 to 2199"),
        ("time", 253_402_300_000_000_000, "time is not a time in the years 1970 to 2199"),
    ],
)
@pytest.mark.parametrize("has_statistics", [True, False])
def test_values_in_parquet_are_judged_as_those_in_text(
    column: str, value: float, problem: str, has_statistics: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "a trace" / "positions"
    folder.mkdir(parents=True)
    columns: dict[str, list[object]] = {
        "time": [1_000_000, 2_000_000],
        "client": ["ann", "bob"],
        "latitude": [1.0, 2.0],
        "longitude": [1.0, 2.0],
        "venue": ["v", "w"],
    }
    columns[column][1] = value
    arrays = {name: pa.array(values) for name, values in columns.items()}
    arrays["time"] = arrays["time"].cast(pa.timestamp("us", tz="UTC"))
    part = folder / "part.parquet"
    pq.write_table(pa.table(arrays), part, write_statistics=has_statistics)
    sentence = refused("describe", folder.parent)
    assert sentence == f"error: {part}: {problem}; correct the table, or import it anew."


TELEMETRY: dict[str, dict[str, list[object]]] = {
    "subscriptions": {"client": ["c", "d"], "topic": ["a/#", "+/b"], "is_on": [True, True]},
    "publications": {"topic": ["a", "b"], "publisher": ["c", "d"], "bytes": [0, 5]},
    "connections": {"client": ["c", "d"], "broker": ["b0", "b1"], "is_on": [True, True]},
    "delays": {"source": ["b0", "b1"], "target": ["b1", "b0"], "delay_ms": [0.0, 5.0]},
}


@pytest.mark.parametrize(
    ("table", "column", "value", "problem"),
    [
        ("connections", "client", "", "client is not a client id"),
        ("connections", "broker", " ", "broker is not the name of a broker"),
        ("subscriptions", "topic", "", "topic is not a topic filter"),
        ("subscriptions", "topic", "a/#/b", "topic is not a topic filter"),
        ("subscriptions", "topic", "x\0y", "topic is not a topic filter"),
        ("subscriptions", "client", b"\xffc", "client is not a client id"),
        ("publications", "topic", "t/+", "topic is not a topic name"),
        ("publications", "publisher", "", "publisher is not a client id"),
        ("publications", "publisher", "c" * 65_536, "publisher is not a client id"),
        ("publications", "bytes", -5, "bytes is not a whole number from 0 to "),
        ("delays", "delay_ms", -5.0, "delay_ms is not a finite number from 0"),
    ],
)
@pytest.mark.parametrize("has_statistics", [True, False])
def test_names_and_counts_in_parquet_are_judged_as_those_in_text(
    table: str, column: str, value: object, problem: str, has_statistics: bool, tmp_path: Path
) -> None:
    columns = {name: [*values] for name, values in TELEMETRY[table].items()}
    columns[column][1] = value
    arrays = {"time": pa.array([1_000_000, 2_000_000], pa.timestamp("us", tz="UTC"))}
    for name, values in columns.items():
        if isinstance(value, bytes) and name == column:
            raw = pa.array([str(values[0]).encode(), value], pa.binary())
            arrays[name] = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
        else:
            arrays[name] = pa.array(values)
    part = tmp_path / "trace" / table / "part.parquet"
    part.parent.mkdir(parents=True)
    pq.write_table(pa.table(arrays), part, write_statistics=has_statistics)
    with pytest.raises(InputFileError) as refusal, spark_faults():
        read_table(SparkSession.active(), tmp_path / "trace", TRACE_TABLES[table]).toArrow()
    assert str(refusal.value).startswith(f"{part}: {problem}")


def test_lines_keep_their_numbers_however_the_file_is_split(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = {number: tmp_path / f"long {number}+%20.txt" for number in (3, 5)}
    for path in files.values():
        path.write_text("".join("\n" if n % 7 == 0 else f"{n}\n" for n in range(1, 2001)))
    (tmp_path / "short.txt").write_text("1\n2\n")
    files[9] = tmp_path / "short.txt"
    size = "spark.sql.files.maxPartitionBytes"
    former = spark.conf.get(size)
    spark.conf.set(size, "1000")
    try:
        frame = numbered_lines(spark, files).persist()
        assert frame.filter("text != string(line)").count() == 0
        counted = frame.groupBy("file_number", "file").count().collect()
        assert {row[0]: row[1:] for row in counted} == {
            number: (str(path), 2 if number == 9 else 2000 - 2000 // 7)
            for number, path in files.items()
        }
    finally:
        spark.conf.set(size, str(former))


@pytest.mark.usefixtures("either_way")
def test_friends_are_mutual_and_come_once(tmp_path: Path) -> None:
    checkins = write_lines(tmp_path / "checkins.csv", HEADER, GOOD)
    friends = write_lines(
        tmp_path / "friends.csv", "user_a,user_b", "1,2", "2,1", "3,3", "1,", "1,4"
    )
    answered(
        "import", "--format", "gowalla", checkins, "--friends", friends, "--out", tmp_path / "trace"
    )
    assert sorted(rows(tmp_path / "trace", "friendships")) == [
        ("1", "2"),
        ("1", "4"),
        ("2", "1"),
        ("4", "1"),
    ]
    assert sorted(row[1:3] for row in rows(tmp_path / "trace", "quarantine")) == [
        (4, "nobody is their own friend"),
        (5, "user_b is missing"),
    ]


@pytest.mark.parametrize("cell_degrees", [1.0, 0.3])
def test_a_description_equals_an_independent_computation(
    tmp_path: Path, cell_degrees: float
) -> None:
    path = write_lines(tmp_path / "checkins.csv", HEADER, *random_checkins(600, seed=5))
    answered("import", "--format", "gowalla", path, "--out", tmp_path / "trace")
    found = answered(
        "describe", tmp_path / "trace", "--cell", str(cell_degrees), "--picture", tmp_path / "p.svg"
    )
    expected = described_by_pandas(path, cell_degrees)
    assert {name: found[name] for name in expected} == expected
    assert expected["quarantined"] > 0
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")


def test_a_trace_in_which_nothing_happens_is_described(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "checkins.csv", HEADER)
    answered("import", "--format", "gowalla", path, "--out", tmp_path / "trace")
    words = ("describe", tmp_path / "trace", "--picture", tmp_path / "p.svg")
    assert "\nNothing happens in this trace\n" in call(*words).stdout
    found = answered(*words)
    assert (found["checkins"], found["begin"], found["once_only_share"]) == (0, None, None)


def test_a_wrong_file_is_named_before_anything_is_written(tmp_path: Path) -> None:
    header = write_lines(tmp_path / "header.csv", "user,ts_utc,lat,lon,venue_id", GOOD)
    words = ("import", "--format", "gowalla", "--out", tmp_path / "trace")
    assert "header.csv, line 1: the header lacks 'user_id'" in refused(*words, header)
    assert "nowhere.csv: there is no such file" in refused(*words, tmp_path / "nowhere.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["header.csv"]


def test_a_file_that_is_cut_short_names_itself_and_spark_is_silent(tmp_path: Path) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress("\n".join([HEADER, *random_checkins(9000, 1)]).encode())[:-4000])
    words = f"trace import --format gowalla {cut} --master local[2] --out {tmp_path / 'trace'}"
    run = subprocess.run(
        [sys.executable, "-m", "meshwright", *words.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    told = f"error: {cut}: the file is damaged or cut short; fetch or make it again.\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", told)
    assert [path.name for path in tmp_path.iterdir()] == ["cut.csv.gz"]
