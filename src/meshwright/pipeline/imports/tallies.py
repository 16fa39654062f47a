"""What executors tell of the plain rows of CSV files, and how they give rows that are wanted.

Files are read twice, which is cheap where they are read by whole columns. First a tally is made of
some megabytes of lines at a time: how many there are, and one number of each plain row, its
likeness. When it is known which numbers several rows have, rows are read as they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from meshwright.pipeline.imports.likeness import likenesses
from meshwright.pipeline.imports.lines import (
    LINES,
    ORIGIN,
    as_spark_has_them,
    in_batches,
    lines_of,
    read_pieces,
    united,
)
from meshwright.pipeline.imports.pieces import Piece, Run
from meshwright.pipeline.imports.plain import PlainForm, plain_values
from meshwright.pipeline.imports.repetitions import LIKENESS
from meshwright.pipeline.tables.frames import spark_schema

Batches: TypeAlias = Iterator[pa.RecordBatch]
Numbers: TypeAlias = NDArray[np.int64]

TALLY = "lines binary, plain_count long, other_count long, likenesses binary"
DEALT = "part int, likenesses binary"
LIKENESS_FIELD = StructField(LIKENESS, LongType())
# Rows whose numbers one task looks through without any trouble.
PART_ROWS = 1_000_000


class Source(NamedTuple):
    """Files with one header, cut into pieces, and what their plain rows look like."""

    form: PlainForm
    pieces: Sequence[Piece]


def tallies(session: SparkSession, source: Source) -> DataFrame:
    """TALLY; lines: of each piece or part of one, its file's number, where it begins, how many."""

    def made(found: Sequence[Run]) -> Batches:
        records = records_of(found)
        is_plain, values = plain_values(records["text"], records["reason"], source.form)
        plain_count = pc.sum(is_plain).as_py() or 0
        counts = [(run.piece.file_number, run.piece.begin, run.line_count) for run in found]
        tally = {
            "lines": np.array(counts, np.int64).tobytes(),
            "plain_count": plain_count,
            "other_count": len(records) - plain_count,
            "likenesses": likenesses(values).tobytes(),
        }
        yield pa.RecordBatch.from_pylist([tally])

    return read_pieces(session, source.pieces, made, TALLY)


def line_counts(tallies: pa.Table) -> dict[tuple[int, int], int]:
    """The lines of each piece, by the number of its file and where it begins."""
    found: dict[tuple[int, int], int] = {}
    for cell in tallies["lines"]:
        for number, begin, count in np.frombuffer(cell.as_buffer(), np.int64).reshape(-1, 3):
            place = int(number), int(begin)
            found[place] = found.get(place, 0) + int(count)
    return found


def other_lines(session: SparkSession, source: Source) -> DataFrame:
    """Lines that are neither plain nor the header, as numbered_lines has them."""

    def made(found: Sequence[Run]) -> Batches:
        records = records_of(found)
        is_plain, _ = plain_values(records["text"], records["reason"], source.form)
        return in_batches(as_spark_has_them(records.filter(pc.invert(is_plain))))

    return read_pieces(session, source.pieces, made, LINES)


def rows_unlike(session: SparkSession, source: Source, numbers: Numbers) -> DataFrame:
    """Plain rows as the table, without those whose likeness is among the numbers."""
    table = source.form.table

    def made(found: Sequence[Run]) -> Batches:
        records = records_of(found)
        _, values = plain_values(records["text"], records["reason"], source.form)
        rows = pa.RecordBatch.from_arrays(values, table.column_names())
        if len(numbers):
            rows = rows.filter(pc.invert(is_among(pa.array(likenesses(values)), numbers)))
        return in_batches(rows)

    return read_pieces(session, source.pieces, made, spark_schema(table))


def rows_alike(session: SparkSession, source: Source, numbers: Numbers | None) -> DataFrame:
    """Plain rows whose likeness is among the numbers, or all, with their origin and likeness."""
    table = source.form.table

    def made(found: Sequence[Run]) -> Batches:
        records = records_of(found)
        is_plain, values = plain_values(records["text"], records["reason"], source.form)
        origin = as_spark_has_them(records.filter(is_plain)).select(ORIGIN)
        own = pa.array(likenesses(values))
        rows = pa.RecordBatch.from_arrays(
            [*origin.columns, *values, own],
            [*ORIGIN, *table.column_names(), LIKENESS],
        )
        return in_batches(rows if numbers is None else rows.filter(is_among(own, numbers)))

    origin = StructType().add("file", "string").add("file_number", "long").add("line", "long")
    schema = [*origin.add("text", "string"), *spark_schema(table), LIKENESS_FIELD]
    return read_pieces(session, source.pieces, made, StructType(schema))


def with_likeness(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Rows that Spark has judged, with the likeness that they would have as plain rows."""

    def numbered(batches: Iterable[pa.RecordBatch]) -> Batches:
        for batch in batches:
            own = pa.array(likenesses([batch[name] for name in names]))
            yield batch.append_column(LIKENESS, own)

    return rows.mapInArrow(numbered, StructType([*rows.schema, LIKENESS_FIELD]))


def repeated(numbers: Sequence[Numbers]) -> Numbers:
    """Those that are there more than once, each once, in their order."""
    ordered = np.sort(np.concatenate([np.empty(0, np.int64), *numbers]))
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def repeated_apart(frames: Sequence[DataFrame], row_count: int) -> DataFrame:
    """The same of tallies and of rows with their likeness, found by executors."""
    parts_max = int(frames[0].sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    parts = min(parts_max, 1 + row_count // PART_ROWS)
    dealt = united([frame.mapInArrow(_dealer(parts), DEALT) for frame in frames])
    apart = dealt.repartitionById(parts, sf.col("part"))
    return apart.mapInArrow(_repeated, StructType([LIKENESS_FIELD]))


def numbers_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Numbers]:
    """The numbers of tallies, which have many each, or of rows, which have one each."""
    for batch in batches:
        if LIKENESS in batch.schema.names:
            yield batch[LIKENESS].to_numpy()
        else:
            for cell in batch["likenesses"]:
                yield np.frombuffer(cell.as_buffer(), np.int64)


def is_among(own: pa.Array | pa.ChunkedArray, numbers: Numbers) -> pa.BooleanArray:
    """Which of some likenesses are among others."""
    return pc.is_in(own, value_set=pa.array(numbers))


def records_of(found: Sequence[Run]) -> pa.RecordBatch:
    """Lines but for the headers, the first of each file; lines need not be counted for that."""
    lines = lines_of(found)
    is_header = pc.and_(pc.equal(lines["line"], 1), pc.equal(lines["begin"], 0))
    return lines.filter(pc.invert(is_header)) if pc.any(is_header).as_py() else lines


def _dealer(parts: int) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """Numbers dealt out so that equal ones come to one part."""

    def dealt(batches: Iterable[pa.RecordBatch]) -> Batches:
        for numbers in numbers_of(batches):
            owners = numbers % parts
            places = np.argsort(owners, kind="stable")
            ends = np.searchsorted(owners[places], np.arange(1, parts))
            shares = np.split(numbers[places], ends)
            found = [(part, share) for part, share in enumerate(shares) if len(share)]
            owner = pa.array([part for part, _ in found], pa.int32())
            cells = pa.array([share.tobytes() for _, share in found], pa.binary())
            yield pa.RecordBatch.from_arrays([owner, cells], ["part", "likenesses"])

    return dealt


def _repeated(batches: Iterable[pa.RecordBatch]) -> Batches:
    found = repeated(list(numbers_of(batches)))
    yield pa.RecordBatch.from_arrays([pa.array(found)], [LIKENESS])
