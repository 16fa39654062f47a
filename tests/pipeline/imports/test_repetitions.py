from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from checkin_files import HEADER, write_lines
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from meshwright.errors import InputFileError
from meshwright.model.schema import POSITIONS
from meshwright.pipeline.imports import csv_tables, lines, tallies
from meshwright.pipeline.imports.gowalla import NAMES
from meshwright.pipeline.imports.judging import usable
from meshwright.pipeline.imports.likeness import likenesses
from meshwright.pipeline.imports.repetitions import _compared, reasons_of_repetitions
from meshwright.pipeline.imports.without_spark import read_here
from meshwright.pipeline.job_faults import spark_faults

Row = tuple[str, int, str | None]
TEXTS = st.lists(st.none() | st.text(max_size=6), min_size=1)


@given(TEXTS, st.integers(0, 3))
def test_equal_texts_are_alike_wherever_they_stand_and_others_are_not(
    texts: list[str | None], begin: int
) -> None:
    texts = [*texts, *reversed(texts)]
    found = likenesses([pa.array(texts, pa.string()).slice(begin)]).tolist()
    by_text = dict(zip(texts[begin:], found, strict=True))
    assert found == [by_text[text] for text in texts[begin:]]
    assert len(set(found)) == len(by_text)


def test_values_are_alike_column_by_column_and_both_zeros_are_one() -> None:
    numbers = pa.array([0.0, -0.0, 1.0, None, 5e-324])
    assert sorted(Counter(likenesses([numbers]).tolist()).values()) == [1, 1, 1, 2]
    ones, twos = pa.array(["a", "b", "ab", ""]), pa.array(["b", "a", "", "ab"])
    times = pa.array([1, 2, 1, 2]).cast(pa.timestamp("us", tz="UTC"))
    truths = pa.array([True, False, True, None])
    assert len({*likenesses([ones, twos]).tolist(), *likenesses([twos, ones]).tolist()}) == 4
    assert len(set(likenesses([times, truths]).tolist())) == 3


def some_here(patch: pytest.MonkeyPatch) -> None:
    """As it is of files that are not large."""


def none_here(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(csv_tables, "BYTES_HERE_MAX", 0)
    patch.setattr(tallies, "PART_ROWS", 100)


def too_many_alike(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(csv_tables, "BROADCAST_ROWS_MAX", 3)  # fewer than there are


def none_here_and_too_many_alike(patch: pytest.MonkeyPatch) -> None:
    none_here(patch)
    too_many_alike(patch)


@pytest.mark.parametrize(
    "limit", [some_here, none_here, too_many_alike, none_here_and_too_many_alike]
)
def test_repetitions_are_those_that_a_loop_over_all_rows_finds(
    limit: Callable[[pytest.MonkeyPatch], None],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit(monkeypatch)
    monkeypatch.setattr(lines, "PIECE_BYTES_MIN", 700)
    rng = np.random.default_rng(11)
    files = [
        write_lines(tmp_path / name, header, *(random_line(rng, header) for _ in range(150)))
        for name, header in (
            ("a.csv", HEADER),
            ("b.csv.gz", HEADER),
            ("c.csv", "venue_id,lon,user_id,lat,ts_utc"),
        )
    ]
    source = csv_tables.CsvTable(files, POSITIONS, NAMES, list(NAMES.values()))
    found = csv_tables.judged_csv(spark, source)
    kept, refused = judged_by_a_loop(files)
    good = usable(found, POSITIONS).collect()
    assert sorted((row["client"], row["time"], row["latitude"]) for row in good) == sorted(kept)
    told = found.rows.filter("reason is not null").select("file", "line", "reason").collect()
    assert sorted(map(tuple, told)) == sorted(refused)
    assert 100 < len(kept) < len(refused)
    for frame in found.kept:
        frame.unpersist()
    read = read_here(source)
    assert read is not None
    times = read.rows["time"].cast(pa.timestamp("us")).to_pylist()
    others = (read.rows[name].to_pylist() for name in ("client", "latitude"))
    clients, latitudes = others
    assert sorted(zip(clients, times, latitudes, strict=True)) == sorted(kept)
    assert [(*read.origin(row), row.reason) for row in read.refused] == in_order(refused, files)


def in_order(refused: list[Row], files: list[Path]) -> list[Row]:
    names = [str(file) for file in files]
    return sorted(refused, key=lambda row: (names.index(row[0]), row[1]))


def random_line(rng: np.random.Generator, header: str) -> str:
    """Few values in several spellings, some of which are not plain, and some of which are wrong."""
    values = {
        "user_id": str(rng.choice(["7", '"7"', "8", " 8", "9"], p=[0.4, 0.1, 0.3, 0.1, 0.1])),
        "ts_utc": f"2010-08-{rng.integers(10, 30)}{rng.choice(['T', ' '])}12:00:00",
        "lat": str(rng.choice(["40.7", " 40.70 ", "4.07e1", "0", "-0", "x"])),
        "lon": "1",
        "venue_id": "v",
    }
    return ",".join(values[name] for name in header.split(","))


def judged_by_a_loop(files: list[Path]) -> tuple[list[tuple[str, datetime, float]], list[Row]]:
    kept: list[tuple[str, datetime, float]] = []
    refused: list[Row] = []
    first: dict[tuple[str, datetime, float], tuple[Path, int]] = {}
    for path in files:
        read = lines_of_file(path)
        header = read[0].split(",")
        for line, text in enumerate(read[1:], 2):
            fields = dict(zip(header, text.split(","), strict=True))
            if fields["lat"] == "x":
                refused.append((str(path), line, "lat is not a number from -90 to 90"))
                continue
            time = datetime.fromisoformat(fields["ts_utc"]).replace(tzinfo=UTC)
            row = fields["user_id"].strip('"'), time.replace(tzinfo=None), float(fields["lat"])
            if row in first:
                where, number = first[row]
                place = "" if where == path else f" of {where}"
                refused.append((str(path), line, f"it repeats line {number}{place}"))
            else:
                first[row] = path, line
                kept.append(row)
    return kept, refused


def lines_of_file(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def test_rows_of_one_likeness_are_compared_in_full() -> None:
    origin = [("a", 2), ("a", 3), ("a", 5), ("b", 2), ("b", 3)]
    batch = pa.RecordBatch.from_pydict(
        {
            "file": [file for file, _ in origin],
            "line": [line for _, line in origin],
            "client": ["x", "y", "x", "y", "x"],
            "reason": pa.nulls(5, pa.string()),
            "likeness": [7, 7, 7, 7, 8],
        }
    )
    halves = [batch.slice(0, 2), batch.slice(2)]
    reasons = [
        text for half in _compared(halves, ["client"]) for text in half["reason"].to_pylist()
    ]
    assert reasons == [None, None, "it repeats line 2", "it repeats line 3 of a", None]
    told = reasons_of_repetitions(pa.Table.from_batches([batch.drop_columns("reason")]), ["client"])
    assert told == reasons


def test_rows_of_one_likeness_that_are_all_equal_repeat_the_first() -> None:
    suspects = pa.table(
        {
            "file": ["a", "a", "b", "a", "b"],
            "line": [2, 4, 2, 3, 3],
            "client": ["x", "x", "x", None, None],
            "latitude": [0.0, -0.0, 0.0, 1.0, 1.0],
            "likeness": [7, 7, 7, 8, 8],
        }
    )
    told = reasons_of_repetitions(suspects, ["client", "latitude"])
    assert told == [None, "it repeats line 2", "it repeats line 2 of a", None,
                    "it repeats line 3 of a"]  # fmt: skip


def test_a_file_that_is_written_to_between_two_looks_at_it_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "a.csv", HEADER, "7,2010-08-01T12:00:00Z,40.7,-73.9,v1")
    source = csv_tables.CsvTable([path], POSITIONS, NAMES, list(NAMES.values()))
    found = csv_tables.judged_csv(spark, source)
    os.utime(path, ns=(1, 1))
    sentence = r"a\.csv: the file was written to while it was read"
    with pytest.raises(InputFileError, match=sentence), spark_faults():
        usable(found, POSITIONS).collect()
