"""CSV files that are a table of a trace, under its names or under others.

Most rows are plain and are judged by whole columns where they are read. Spark judges all others,
and looks at both together only where rows may be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.model.schema import Table
from meshwright.pipeline.imports.judging import Judged, judged, no_rows
from meshwright.pipeline.imports.lines import counted, cut_files, united
from meshwright.pipeline.imports.plain import PlainForm
from meshwright.pipeline.imports.records import by_header, records_of_lines
from meshwright.pipeline.imports.repetitions import (
    BROADCAST_ROWS_MAX,
    LIKENESS,
    parted,
    told_repetitions,
)
from meshwright.pipeline.imports.tallies import (
    Numbers,
    Source,
    line_counts,
    numbers_of,
    other_lines,
    repeated,
    repeated_apart,
    rows_alike,
    rows_unlike,
    tallies,
    with_likeness,
)
from meshwright.pipeline.tables.frames import conform

# The numbers of rows of so many bytes of text come here and are compared; those of more stay with
# executors. A packed file may have some ten times its size.
BYTES_HERE_MAX = 1 << 28
PACKED_BY = 10


class CsvTable(NamedTuple):
    """Files that are a table, whose columns they may call otherwise.

    names: what a column of the table is called there. required, optional: columns of the files.
    """

    paths: Sequence[Path]
    table: Table
    names: Mapping[str, str]
    required: Sequence[str]
    optional: Sequence[str] = ()


class Counted(NamedTuple):
    """Files whose lines are counted, how many are plain and not, and the numbers of plain rows.

    apart: the numbers of many rows, which stay with executors.
    """

    sources: Sequence[Source]
    plain_count: int
    other_count: int
    numbers: list[Numbers]
    apart: DataFrame | None


def judged_csv(session: SparkSession, source: CsvTable) -> Judged:
    """Rows of the files as the table."""
    paths, table, names, required, optional = source
    sources = [
        Source(PlainForm(header, table, names), cut_files(session, files))
        for header, files in by_header(paths, required, optional).items()
    ]
    found = _counted(session, sources, is_little=text_bytes(paths) <= BYTES_HERE_MAX)
    others = None
    if found.other_count:
        records = [
            records_of_lines(
                other_lines(session, source), source.form.header, [*required, *optional]
            )
            for source in found.sources
        ]
        rows = united([judged(own, table, names) for own in records])
        others = with_likeness(rows, table.column_names()).persist()
    alike = _alike(found, others)
    told = _without_repetitions(session, found.sources, others, alike, table)
    kept = [frame for frame in (found.apart, others) if frame is not None]
    return told._replace(kept=(*told.kept, *kept))


def _counted(session: SparkSession, sources: Sequence[Source], *, is_little: bool) -> Counted:
    """What is told of all lines by the first who read them."""
    found = united([tallies(session, source) for source in sources])
    if is_little:
        here = found.toArrow()
    else:
        found = found.persist()
        here = found.drop("likenesses").toArrow()
    counts = line_counts(here)
    return Counted(
        [source._replace(pieces=counted(source.pieces, counts)) for source in sources],
        sum(here["plain_count"].to_pylist()),
        sum(here["other_count"].to_pylist()),
        [*numbers_of(here.to_batches())] if is_little else [],
        None if is_little else found,
    )


def text_bytes(paths: Sequence[Path]) -> int:
    """How much text files have, or may have where they are packed."""
    return sum(path.stat().st_size * (PACKED_BY if path.suffix == ".gz" else 1) for path in paths)


def _alike(found: Counted, others: DataFrame | None) -> Numbers | DataFrame:
    """Each likeness that several rows have: few of them here, many as a table."""
    good = [] if others is None else [others.filter("reason is null").select(LIKENESS)]
    if found.apart is None:
        numbers = repeated([*found.numbers, *(each for own in good for each in _collected(own))])
        if len(numbers) <= BROADCAST_ROWS_MAX:
            return numbers
        return _table(SparkSession.active(), numbers)
    apart = [found.apart.select("likenesses"), *good]
    table = repeated_apart(apart, found.plain_count + found.other_count).persist()
    if table.count() > BROADCAST_ROWS_MAX:
        return table
    numbers = np.concatenate([np.empty(0, np.int64), *_collected(table)])
    table.unpersist()
    return numbers


def _collected(frame: DataFrame) -> list[Numbers]:
    return list(numbers_of(frame.toArrow().to_batches()))


def _table(session: SparkSession, numbers: Numbers) -> DataFrame:
    return session.createDataFrame(pa.table({LIKENESS: numbers}))


def _without_repetitions(
    session: SparkSession,
    sources: Sequence[Source],
    others: DataFrame | None,
    alike: Numbers | DataFrame,
    table: Table,
) -> Judged:
    """All rows, told apart by whether their likeness is that of others."""
    is_little = not isinstance(alike, DataFrame)
    if isinstance(alike, DataFrame):
        rows = united([rows_alike(session, source, None) for source in sources])
        plain = conform(rows.join(alike, LIKENESS, how="left_anti"), table)
        suspects = rows.join(alike, LIKENESS, how="left_semi")
    else:
        plain = united([rows_unlike(session, source, alike) for source in sources])
        if not len(alike):
            return Judged(no_rows(session, table) if others is None else others, (), plain)
        suspects = united([rows_alike(session, source, alike) for source in sources])
        alike = _table(session, alike)
    suspects = suspects.withColumn("reason", sf.lit(None).cast("string"))
    if others is None:
        told = told_repetitions(suspects, table).persist()
    else:
        alike_others, unlike = parted(others, alike, is_little=is_little)
        told = told_repetitions(suspects.unionByName(alike_others), table)
        told = told.unionByName(unlike).persist()
    return Judged(told, (told, alike), plain)
