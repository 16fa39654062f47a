from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checkin_files import write_lines
from pyspark.sql import SparkSession

from meshwright.model.schema import CONNECTIONS, POSITIONS, PUBLICATIONS, SUBSCRIPTIONS, Table
from meshwright.pipeline.imports.gowalla import NAMES
from meshwright.pipeline.imports.judging import judged
from meshwright.pipeline.imports.lines import cut_files
from meshwright.pipeline.imports.pieces import cut, line_count, runs
from meshwright.pipeline.imports.plain import PlainForm
from meshwright.pipeline.imports.records import csv_records
from meshwright.pipeline.imports.tallies import Source, rows_alike

FIELDS = (
    (
        "2010-08-01T12:00:00Z", "2010-08-01 12:00:00", "1970-01-01T00:00:00.5Z",
        "2199-12-31T23:59:59.999999", "2012-02-29T00:00:00Z", "2011-02-29T00:00:00Z",
        "2010-04-31T00:00:00Z", "2010-08-01T24:00:00Z", "1969-12-31T23:59:59Z",
        "2010-08-01T12:00:00+02:00", "2010-08-01T12:00",
    ),
    ("7", "a b", "é\u00a0", " x", "x ", "", "\\", "#1", '"q"', "0x\x1f", "\x7f"),
    ("40.7", "-0", "90", "90.000001", "-90.0", "007.50", "1e1", "+1", ".5", "5.", "nan"),
    ("-73.9", "180", "-180.5", "123456789012345.123456789012345", "0.1", "100.000000000000001"),
    ("v1", "", "v 1", "ü", "v,1"),
)  # fmt: skip


TIMES = ("2010-08-01T12:00:00Z",)
CLIENTS = ("c", "c d", "é", "c\0", "c\x1f", "", "\u00a0")
TOPICS = (
    "a", "a/b", "a b/é", "/", "a//b", "+", "#", "+/a/#", "a/+", "a+", "#/a", "$SYS/a", "$SYS/#",
    "$share/g/a", "$share/g+/a", "$share/g", "$where/n>1/a", "$where/n>1", "a\0", "", "\u00a0a",
    "ab" * 32_768,
)  # fmt: skip
OWN_FIELDS = {
    SUBSCRIPTIONS: (TIMES, CLIENTS, TOPICS, ("true", "0", "no")),
    PUBLICATIONS: (TIMES, TOPICS, CLIENTS, ("0", "7", "-5", "1e1", "9" * 18, "9" * 19)),
    CONNECTIONS: (TIMES, CLIENTS, ("b0", "b 0", "bé", "\u00a0b", "b\x85", "é", ""), ("true",)),
}


@pytest.mark.parametrize(
    ("table", "names", "fields"),
    [(POSITIONS, NAMES, FIELDS), *((table, {}, own) for table, own in OWN_FIELDS.items())],
)
def test_what_is_read_as_plain_is_what_spark_judges_to_be_good(
    table: Table,
    names: dict[str, str],
    fields: tuple[tuple[str, ...], ...],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(5)
    lines = [",".join(str(rng.choice(values)) for values in fields) for _ in range(3000)]
    columns = table.column_names()
    header = [names.get(name, name) for name in columns]
    path = write_lines(tmp_path / "rows.csv", ",".join(header), *lines)
    form = PlainForm(tuple(header), table, names)
    source = Source(form, cut_files(spark, {0: path}))
    plain = {
        row["line"]: tuple(row[name] for name in columns)
        for row in rows_alike(spark, source, None).collect()
    }
    dull = judged(csv_records(spark, [path], header), table, names)
    good = {
        row["line"]: tuple(row[name] for name in columns)
        for row in dull.filter("reason is null").collect()
    }
    assert 100 < len(plain) < len(good)
    assert plain == {line: good.get(line) for line in plain}


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 5, 100])
def test_every_line_is_in_one_piece_with_its_number(piece_bytes: int, tmp_path: Path) -> None:
    for text in ("", "\n", "a", "\ufeff", "\ufeffa\n\n", "a\n" * 9, "long line\nb\n\n\nlast"):
        path = tmp_path / "lines.txt"
        path.write_bytes(text.encode())
        expected = list(enumerate(text.removeprefix("\ufeff").removesuffix("\n").split("\n"), 1))
        pieces = cut(0, path, piece_bytes)
        before = 0
        found: list[tuple[int, str]] = []
        for piece in pieces:
            for group in runs([piece._replace(lines_before=before)]):
                for run in group:
                    texts = run.lines.decode().removesuffix("\n").split("\n")
                    found += enumerate(texts, run.line)
            before += line_count(piece)
        assert found == (expected if text else []), (text, pieces)
