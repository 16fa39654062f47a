"""Lines of text files with their true numbers, in however many pieces the files are read.

Executors read the files themselves, and hand whole columns to Spark. Only of a file that is cut are
the lines counted first, so that each piece knows how many are before it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from pathlib import Path
from string import ascii_letters
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.model.schema import Column
from meshwright.pipeline.imports.pieces import Piece, Run, cut, line_count, runs, shared_out, texts
from meshwright.pipeline.imports.plain import PlainForm, plain_values
from meshwright.pipeline.tables.frames import SPARK_TYPES

Reader: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

ORIGIN = ("file", "file_number", "line", "text")
LINES = "file string, file_number long, line long, text string, reason string"
COUNTS = "number long, begin long, count long"
HEADER_BYTES_MAX = 65_536
PIECE_BYTES_MIN = 1 << 22
BATCH_ROWS = 10_000
UNIT_BITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
BYTE_ORDER_MARK = "\ufeff"


def distinct_files(paths: Sequence[Path]) -> list[Path]:
    """The files in their order, each once, by whatever name it comes again."""
    first: dict[tuple[int, int], Path] = {}
    for path in paths:
        first_line(path)  # says what is wrong with one that cannot be read
        place = path.stat()
        first.setdefault((place.st_dev, place.st_ino), path)
    return list(first.values())


def numbered_lines(
    session: SparkSession, files: Mapping[int, Path], form: PlainForm | None = None
) -> DataFrame:
    """Lines that are not blank: ORIGIN and the reason why one is no text, or null.

    files: by the numbers that they get in file_number; all are read in one scan. The first line of
    each is number 1. form: also is_plain, and what plain rows have in each column of it.
    """
    pieces = _pieces(session, files)
    schema = LINES if form is None else f"{LINES}, {_plain_schema(form)}"
    return _spread(session, pieces).mapInArrow(_reader(form), schema)


def plain_name(column: Column) -> str:
    """What the column of values of plain rows is called, until all rows are judged."""
    return f"{column.name} plain"


def _pieces(session: SparkSession, files: Mapping[int, Path]) -> list[Piece]:
    """What tasks read; the lines of a file that is cut are counted first."""
    piece_bytes = _piece_bytes(session, sum(path.stat().st_size for path in files.values()))
    cuts = {number: cut(number, path, piece_bytes) for number, path in files.items()}
    several = [piece for found in cuts.values() if len(found) > 1 for piece in found]
    if several:
        counted = _spread(session, shared_out(several, piece_bytes)).mapInArrow(_counts, COUNTS)
        counts = {(row[0], row[1]): row[2] for row in counted.collect()}
        for number, found in cuts.items():
            sizes = [counts.get((number, piece.begin), 0) for piece in found]
            cuts[number] = [
                piece._replace(lines_before=before)
                for piece, before in zip(found, accumulate(sizes, initial=0), strict=False)
            ]
    return shared_out([piece for found in cuts.values() for piece in found], piece_bytes)


def _piece_bytes(session: SparkSession, total_bytes: int) -> int:
    """As much as Spark would read in a task, or less, so that there are tasks for all cores."""
    greatest = session.conf.get("spark.sql.files.maxPartitionBytes") or ""
    tasks = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    return min(_bytes(greatest), max(PIECE_BYTES_MIN, -(-total_bytes // tasks)))


def _bytes(setting: str) -> int:
    """A size as Spark writes it: 134217728, 134217728b, 128MB, 128m."""
    digits = setting.rstrip(ascii_letters)
    unit = setting.removeprefix(digits)[:1].lower()
    return int(digits) << UNIT_BITS[unit]


def _spread(session: SparkSession, pieces: Sequence[Piece]) -> DataFrame:
    """Pieces, each in the partition of its task."""
    columns = zip(Piece._fields, zip(*pieces, strict=True), strict=True)
    frame = session.createDataFrame(pa.table({name: list(found) for name, found in columns}))
    return frame.repartitionById(pieces[-1].task + 1, sf.col("task").cast("int"))


def _given(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    for batch in batches:
        yield from (Piece(**row) for row in batch.to_pylist())


def _counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many lines each piece has."""
    for piece in _given(batches):
        found = {"number": piece.file_number, "begin": piece.begin, "count": line_count(piece)}
        yield pa.RecordBatch.from_pylist([found])


def _reader(form: PlainForm | None) -> Reader:
    """Reads the lines of pieces, and what of them is plain."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in runs(_given(batches)):
            lines = _without_blank(_lines(found))
            if form is not None:
                is_plain, values = plain_values(lines["text"], lines["reason"], form)
                lines["is_plain"] = is_plain
                lines |= zip(map(plain_name, form.table.columns), values, strict=True)
            yield from pa.table(lines).to_batches(max_chunksize=BATCH_ROWS)

    return read


def _lines(found: Sequence[Run]) -> dict[str, pa.Array]:
    """The columns of numbered lines."""
    text, reason = texts(b"".join(run.lines for run in found))
    counts = [run.line_count for run in found]
    owners = np.repeat(np.arange(len(found)), counts)
    # The number of a line is its place among all of these, moved to where its own run begins.
    moves = np.array([run.line for run in found]) - np.cumsum([0, *counts[:-1]])
    return {
        "file": pa.array([run.piece.file for run in found]).take(pa.array(owners)),
        "file_number": pa.array(np.array([run.piece.file_number for run in found])[owners]),
        "line": pa.array(np.arange(len(owners)) + moves[owners]),
        "text": text,
        "reason": reason,
    }


def _without_blank(lines: dict[str, pa.Array]) -> dict[str, pa.Array]:
    is_said = pc.not_equal(pc.utf8_ltrim(lines["text"], " "), "")
    if pc.all(is_said).as_py():
        return lines
    return {name: column.filter(is_said) for name, column in lines.items()}


def _plain_schema(form: PlainForm) -> str:
    values = (
        f"`{plain_name(column)}` {SPARK_TYPES[column.kind].simpleString()}"
        for column in form.table.columns
    )
    return ", ".join(["is_plain boolean", *values])


def united(frames: list[DataFrame]) -> DataFrame:
    """Rows of all the frames, which have the same columns."""
    return reduce(DataFrame.unionByName, frames)


def first_line(path: Path) -> str:
    """The first line of a file, read here and now, so that a wrong file is refused at once."""
    try:
        with path.open("rb") as packed:
            file = gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed
            start = file.readline(HEADER_BYTES_MAX)
    except FileNotFoundError:
        raise InputFileError(str(path), "there is no such file", remedy="check the name") from None
    except IsADirectoryError:
        raise InputFileError(
            str(path), "this is a folder, not a file", remedy="name the files in it"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputFileError(
            str(path),
            "the name ends in .gz but this is not a whole gzip file",
            remedy="compress it again, or rename it",
        ) from None
    except OSError as error:
        raise InputFileError(
            str(path),
            f"the file cannot be read ({(error.strerror or str(error)).lower()})",
            remedy="check its name and permissions",
        ) from None
    try:
        return start.decode("utf-8").removeprefix(BYTE_ORDER_MARK).rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputFileError(
            str(path), "this is not UTF-8 text", remedy="save the file as UTF-8", line=1
        ) from None
