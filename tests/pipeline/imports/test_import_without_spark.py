from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from checkin_files import HEADER, random_checkins, write_lines
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from trace_commands import answered, refused

from meshwright.errors import InputFileError
from meshwright.model.schema import (
    BROKERS,
    CONNECTIONS,
    DELAYS,
    POSITIONS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    Table,
)
from meshwright.pipeline.imports import trace_import, without_spark
from meshwright.pipeline.imports.gowalla import NAMES
from meshwright.pipeline.imports.judging import judged
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.plain import PlainForm
from meshwright.pipeline.imports.records import csv_records
from meshwright.pipeline.imports.single_rows import RowJudge
from meshwright.pipeline.imports.trace_import import import_trace, import_without_spark, is_little
from meshwright.pipeline.job_faults import reading_faults

GOOD = "7,2010-08-01T12:00:00Z,40.7,-73.9,v1"
GOWALLA = ImportParameters(format="gowalla")
TIMES = (
    "2010-08-01T12:00:00Z", "2010-08-01 12:00:00", "1970-01-01T00:00:00.5Z", "2010-08-01T12:00",
    "2012-02-29T00:00:00Z", "2011-02-29T00:00:00Z", "2010-04-31T00:00:00Z", "2010-08-01T24:00:00Z",
    "1969-12-31T23:59:59.999999Z", "2199-12-31T23:59:59.999999", "2200-01-01T01:00:00+02:00",
    "1969-12-31T23:00:00-02:00", "2010-08-01T12:00Z", "2010-08-01T12:00+02:00",
    "2010-08-01T12:00:00.123456789", "2010-08-01T12:00:00.1234567+0530",
    "2010-08-01T12:00:00-1800", "2010-08-01T12:00:00-18:01", "2010-08-01T12:00:00+00:60",
    "2010-08-01T12:00:00-00:00", "0000-02-29T00:00:00", "0000-02-30T00:00:00",
    "0001-01-01T00:00:00", "9999-12-31T23:59:59-10:00", "2010-13-01T00:00:00",
    "2010-08-00T00:00:00", "2010-08-01T12:60:00", "2010-08-01T12:00:60", " 2010-08-01T12:00:00Z ",
    "\u00a02010-08-01T12:00:00Z", "2010-08-01T12:00:00z", "2010-08-01T12:00:00+2",
    '"2010-08-01T12:00:00Z"', "2010-08-01T12:00:00\u2028", "\u20282010-08-01T12:00:00Z",
    "\ufeff2010-08-01T12:00:00Z", "", "2010-8-1T12:00:00", "\u0662010-08-01T12:00:00",
)  # fmt: skip
CLIENTS = (
    "7", "a b", "é\u00a0", " x", "x ", "", "\\", "#1", '"q"', '""', '""""', '"a""b"', '"a,b"',
    'a"b', '"a"b', '"a" ', ' "a"', '"a""', 'b""c', "\U0001f600", "\u200b", "\ufffd", "\ufeffa",
    "c\0", "c\x1f", "\x7f", "\u0085", "\u2028", "a\rb", "\t", "é" * 32_767 + "a",
    "é" * 32_768, "é" * 32_767 + "@u", "é" * 32_768 + "@u", '"a""' + "b" * 200_000 + '"',
)  # fmt: skip
NUMBERS = (
    "40.7", "-0", "90", "90.000001", "-90.0", "007.50", "1e1", "+1", ".5", "5.", "nan", "NaN",
    "inf", "Infinity", "1e400", "-1e-400", "1E+1", "1e", "0x10", "1f", "1d", "1_0", "\u0663",
    "40.7 ", " ", "", "1,5", '"40.7"', "--1", "1e+", "89.99999999999999999", "4.9e-324",
    "5\u2028", "-5", "-1e-9",
    "2.4703282292062327e-324", "179.9999999999999999999999999",
)  # fmt: skip
COUNTS = (
    "0", "7", "-5", "+5", "1e1", "9" * 18, "9" * 19, str(2**63 - 1), str(2**63), "0" * 30 + "7",
    "9" * 5000, "1.0", "", " 7 ", "\u0663", "1_0", '"7"', "7\u2028", "\u20297",
)  # fmt: skip
TRUTHS = (
    "true",
    "0",
    "no",
    "TRUE",
    "fAlSe",
    "1",
    "t",
    "",
    " true ",
    "tru\u017fe",
    '"true"',
    "1\u2029",
)
TOPICS = (
    "a", "a/b", "a b/é", "/", "a//b", "+", "#", "+/a/#", "a/+", "a+", "#/a", "$SYS/a", "$SYS/#",
    "$share/g/a", "$share/g+/a", "$share/g", "$share//a", "$share/g/", "$share/g/#",
    "$share/g/$share/h/a", "$where/n>1/a", "$where/n>1", "$where/n/a", "$share/g/$where/n>1/a/#",
    "$where/n>1/a+", "", "\u00a0a", "ab" * 32_768, "é" * 32_768, "$where/n>1/" + "a" * 65_536,
    "a" * 65_535, "a/#/b", "##", "++", "+#", "a\u2028+", "a\u2028/+", "$share/g/+/b",
    '"a,b/#"', '"a""+"',
)  # fmt: skip
BROKER_NAMES = (
    "b0", "b 0", "bé", "\u00a0b", "b\x85", "", "b ", "\u3000b", "b\u2009", '" b"',
    "\ufeffb", "b\u2028", "b\u2028c",
)  # fmt: skip
SITES = ("", "v1", "v 1", "ü", "v,1", '"v,1"', '"v', " ", '""')
FIELDS = {
    POSITIONS: (TIMES, CLIENTS, NUMBERS, NUMBERS, SITES),
    SUBSCRIPTIONS: (TIMES, CLIENTS, TOPICS, TRUTHS),
    PUBLICATIONS: (TIMES, TOPICS, CLIENTS, COUNTS),
    CONNECTIONS: (TIMES, CLIENTS, BROKER_NAMES, TRUTHS),
    BROKERS: (BROKER_NAMES, NUMBERS, NUMBERS, COUNTS, SITES),
    DELAYS: (BROKER_NAMES, BROKER_NAMES, NUMBERS),
}


@pytest.mark.parametrize("table", FIELDS, ids=lambda table: table.name)
def test_single_rows_are_judged_as_spark_judges_them(
    table: Table, spark: SparkSession, tmp_path: Path
) -> None:
    names = NAMES if table is POSITIONS else {}
    header = [names.get(name, name) for name in table.column_names()]
    lines = [line for line in some_lines(FIELDS[table]) if line.strip(" ")]
    path = write_lines(tmp_path / "rows.csv", ",".join(header), *lines)
    rows = judged(csv_records(spark, [path], header), table, names)
    if "time" in table.column_names():
        rows = rows.withColumn("time", sf.unix_micros("time"))
    judge = RowJudge(PlainForm(tuple(header), table, names))
    found = rows.toArrow().to_pylist()
    told = [(row, judge.verdict(lines[row["line"] - 2])) for row in found]
    own = [(row, verdict) for row, verdict in told if verdict is not None]
    assert 0.6 * len(lines) < len(own) < len(found)
    assert sum(not isinstance(verdict, str) for _, verdict in own) > 50
    for row, verdict in own:
        values = tuple(row[name] for name in table.column_names())
        assert verdict == (values if row["reason"] is None else row["reason"]), row["text"][:99]


def some_lines(fields: tuple[tuple[str, ...], ...]) -> list[str]:
    """Each value among good ones, values of all fields, characters of CSV, and one too many."""
    rng = np.random.default_rng(17)
    good = [own[0] for own in fields]
    lines = [
        ",".join([*good[:place], value, *good[place + 1 :]])
        for place, own in enumerate(fields)
        for value in own
    ]
    lines += [",".join(str(rng.choice(own)) for own in fields) for _ in range(600)]
    lines += ["".join(rng.choice([*'",,ab "'], size=rng.integers(1, 14))) for _ in range(300)]
    lines += ["," * 30_000, f'"a"{"," * 30_000}', f'"{"," * 30_000}",b', '"",' * 30_000]
    for _ in range(300):
        line = lines[rng.integers(len(lines))]
        place = rng.integers(len(line) + 1)
        lines.append(line[:place] + str(rng.choice([*'",. 0Z+'])) + line[place:])
    return lines


FRIENDS = {
    "user_a,user_b": ("1,2", "2,1", "3,3", "1,", "1,4", "1,4", '"1",4', "x", "é, 1", "5,6,7"),
    "user_b,in_new,user_a,in_old": (
        "1,1,2,0", "2,,1,1", "3,0,3,1", "1,1,4,0", "5,0,6,1", "5, 0 ,6,1", "1,1,4,1",
        "8,x,9,", "8,1,8,",
    ),
}  # fmt: skip


@pytest.mark.parametrize("friends_header", FRIENDS)
def test_a_trace_is_the_same_with_and_without_spark(
    friends_header: str, spark: SparkSession, tmp_path: Path
) -> None:
    friends = write_lines(tmp_path / "friends.csv", friends_header, *FRIENDS[friends_header])
    rows = random_checkins(3000, seed=8)
    one = write_lines(tmp_path / "one.csv", HEADER, GOOD, *rows[:2000], GOOD, "x")
    two = tmp_path / "two.csv.gz"
    two.write_bytes(gzip.compress(one.read_bytes() + b"\xff,2010-08-01T12:00:00Z,1,1,v"))
    other = "venue_id,lon,user_id,lat,ts_utc"
    turned = [",".join(row.split(",")[place] for place in (4, 3, 0, 2, 1)) for row in rows[1500:]]
    three = write_lines(tmp_path / "three.csv", other, *turned)
    files = [two, three, one]
    told = [
        import_trace(spark, files, GOWALLA, friends=friends, out=tmp_path / "on Spark"),
        import_without_spark(files, GOWALLA, friends=friends, out=tmp_path / "here"),
    ]
    assert told[0] == told[1]
    assert told[0].row_counts["quarantine"] > 2000
    for table in told[0].row_counts:
        tables = [pq.read_table(tmp_path / name / table) for name in ("on Spark", "here")]
        order = [(name, "ascending") for name in tables[0].column_names]
        assert tables[0].schema.remove_metadata() == tables[1].schema.remove_metadata()
        assert tables[0].sort_by(order).equals(tables[1].sort_by(order)), table


@pytest.mark.usefixtures("spark")
def test_the_first_refused_row_is_told_alike_with_and_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write_lines(tmp_path / "good.csv", HEADER, GOOD)
    bad = write_lines(tmp_path / "bad.csv", HEADER, GOOD.replace("v1", "v2"), "", GOOD, "7,x,1,1,")
    words = ("import", "--format", "gowalla", good, bad, "--strict", "--out", tmp_path / "trace")
    sentence = refused(*words)
    assert sentence.startswith(f"error: {bad}, line 4: it repeats line 2 of {good}, and 1 other")
    monkeypatch.setattr(trace_import, "BYTES_WITHOUT_SPARK_MAX", 0)
    assert refused(*words) == sentence
    assert not (tmp_path / "trace").exists()


@pytest.mark.usefixtures("spark")
def test_strange_rows_and_too_many_that_are_not_plain_are_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "a.csv", HEADER, GOOD, GOOD.replace("v1", '"v" 1'))
    assert import_without_spark([path], GOWALLA, friends=None, out=tmp_path / "trace") is None
    assert not (tmp_path / "trace").exists()
    document = answered("import", "--format", "gowalla", path, "--out", tmp_path / "trace")
    assert document["tables"] == {"positions": 2, "quarantine": 0}
    friends = write_lines(tmp_path / "friends.csv", "user_a,user_b,in_new", "1,2,1", ",2,0")
    path = write_lines(tmp_path / "b.csv", HEADER, GOOD, "x", "y")
    out = tmp_path / "trace"
    assert import_without_spark([path], GOWALLA, friends=friends, out=out) is None
    assert import_without_spark([path], GOWALLA, friends=None, out=tmp_path / "trace") is not None
    monkeypatch.setattr(without_spark, "OTHERS_MAX", 1)
    assert import_without_spark([path], GOWALLA, friends=None, out=tmp_path / "trace") is None


def test_large_files_and_other_formats_are_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "a.csv", HEADER, GOOD)
    lines = ImportParameters(format="jsonl", table="positions")
    assert import_without_spark([path], lines, friends=None, out=tmp_path / "trace") is None
    assert is_little([path])
    monkeypatch.setattr(trace_import, "BYTES_WITHOUT_SPARK_MAX", path.stat().st_size - 1)
    assert not is_little([path])
    assert import_without_spark([path], GOWALLA, friends=None, out=tmp_path / "trace") is not None
    # A packed file may have more rows than its size tells.
    monkeypatch.setattr(without_spark, "memory_bytes", lambda: 100)
    assert import_without_spark([path], GOWALLA, friends=None, out=tmp_path / "trace") is None


def test_a_damaged_file_is_named_without_spark(tmp_path: Path) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress("\n".join([HEADER, *random_checkins(9000, 1)]).encode())[:-4000])
    told = r"cut\.csv\.gz: the file is damaged or cut short; fetch or make it again"
    with pytest.raises(InputFileError, match=told), reading_faults():
        import_without_spark([cut], GOWALLA, friends=None, out=tmp_path / "trace")
    assert [path.name for path in tmp_path.iterdir()] == ["cut.csv.gz"]


@pytest.mark.parametrize(("words", "starts_java"), [((), False), (("--master", "local[2]"), True)])
def test_a_small_import_starts_no_java_unless_spark_is_asked_for(
    words: tuple[str, ...], starts_java: bool, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "a.csv", HEADER, GOOD)
    command = ["trace", "import", "--format", "gowalla", path, "--out", tmp_path / "trace", *words]
    program = (
        "import pyspark.java_gateway, sys; from meshwright.cli.main import app\n"
        "def told(*_): sys.exit(77)\n"
        "import meshwright.pipeline.spark.java as java; java.launch_gateway = told\n"
        "app(sys.argv[1:])\n"
    )
    run = subprocess.run([sys.executable, "-c", program, *command], check=False, timeout=200)
    assert run.returncode == (77 if starts_java else 0)
    assert (tmp_path / "trace").exists() is not starts_java
