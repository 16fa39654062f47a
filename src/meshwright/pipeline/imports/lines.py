"""Lines of text files with their true numbers, in however many pieces the files are read.

Executors read the files themselves, and hand whole columns to Spark. Only of a file that is cut are
the lines counted first, so that each piece knows how many are before it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from string import ascii_letters
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from meshwright.errors import InputFileError
from meshwright.pipeline.imports.pieces import Piece, Run, cut, line_count, runs, shared_out, texts

Maker: TypeAlias = Callable[[Sequence[Run]], Iterator[pa.RecordBatch]]

ORIGIN = ("file", "file_number", "line", "text")
LINES = "file string, file_number long, line long, text string, reason string"
COUNTS = "number long, begin long, count long"
HEADER_BYTES_MAX = 65_536
PIECE_BYTES_MIN = 1 << 24
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


def numbered_lines(session: SparkSession, files: Mapping[int, Path]) -> DataFrame:
    """Lines that are not blank: ORIGIN and the reason why one is no text, or null.

    files: by the numbers that they get in file_number; all are read in one scan. The first line of
    each is number 1.
    """
    return read_numbered(session, files, _as_they_are, LINES)


def read_numbered(
    session: SparkSession, files: Mapping[int, Path], made: Maker, schema: StructType | str
) -> DataFrame:
    """What executors make of the lines of whole files, which know their numbers."""
    pieces = counted(cut_files(session, files), _counts(session, files))
    return read_pieces(session, pieces, made, schema)


def read_pieces(
    session: SparkSession, pieces: Sequence[Piece], made: Maker, schema: StructType | str
) -> DataFrame:
    """What executors make of whole lines, some megabytes of them at a time."""

    def read(own: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        for found in runs(own):
            yield from made(found)

    return _each_task(session, pieces, read, schema)


def cut_files(session: SparkSession, files: Mapping[int, Path]) -> list[Piece]:
    """What tasks read."""
    size = _piece_bytes(session, sum(path.stat().st_size for path in files.values()))
    return shared_out([piece for file in files.items() for piece in cut(*file, size)], size)


def counted(pieces: Sequence[Piece], counts: Mapping[tuple[int, int], int]) -> list[Piece]:
    """The same pieces, each with how many lines of its file are before it.

    counts: lines of each piece, by the number of its file and where it begins there.
    """
    found = []
    for _, own in groupby(pieces, key=attrgetter("file_number")):
        before = 0
        for piece in own:
            found.append(piece._replace(lines_before=before))
            before += counts.get((piece.file_number, piece.begin), 0)
    return found


def _counts(session: SparkSession, files: Mapping[int, Path]) -> dict[tuple[int, int], int]:
    """The lines of pieces of files that are cut."""
    pieces = cut_files(session, files)
    several = {piece.file_number for piece in pieces if piece.begin}
    wanted = [piece for piece in pieces if piece.file_number in several]
    if not wanted:
        return {}

    def count(own: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        for piece in own:
            found = {"number": piece.file_number, "begin": piece.begin, "count": line_count(piece)}
            yield pa.RecordBatch.from_pylist([found])

    rows = _each_task(session, wanted, count, COUNTS).collect()
    return {(row["number"], row["begin"]): row["count"] for row in rows}


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


def _each_task(
    session: SparkSession,
    pieces: Sequence[Piece],
    read: Callable[[Sequence[Piece]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """What is read of the pieces of each task; its place among all is all that Spark hands it."""
    by_task: dict[int, list[Piece]] = {}
    for piece in pieces:
        by_task.setdefault(piece.task, []).append(piece)
    shares = list(by_task.values())

    def own(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch["id"].to_pylist():
                yield from read(shares[place])

    return session.range(0, len(shares), 1, len(shares)).mapInArrow(own, schema)


def as_spark_has_them(lines: pa.RecordBatch) -> pa.RecordBatch:
    """The same lines, as LINES says."""
    file = lines["file"].cast(pa.string())
    others = [name for name in (*ORIGIN, "reason") if name != "file"]
    return pa.RecordBatch.from_arrays([file, *(lines[name] for name in others)], ["file", *others])


def in_batches(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The same rows, so many at a time as Spark likes."""
    for first in range(0, len(rows), BATCH_ROWS):
        yield rows.slice(first, BATCH_ROWS)


def _as_they_are(found: Sequence[Run]) -> Iterator[pa.RecordBatch]:
    return in_batches(as_spark_has_them(lines_of(found)))


def lines_of(found: Sequence[Run]) -> pa.RecordBatch:
    """Lines that are not blank; begin: where the piece begins, without which lines are not counted.

    The file is a dictionary, as all lines of a piece have the same.
    """
    text, reason = texts(b"".join(run.lines for run in found))
    counts = [run.line_count for run in found]
    owners = np.repeat(np.arange(len(found)), counts)
    # The number of a line is its place among all of these, moved to where its own run begins.
    moves = np.array([run.line for run in found]) - np.cumsum([0, *counts[:-1]])
    columns = {
        "file": pa.DictionaryArray.from_arrays(owners, [run.piece.file for run in found]),
        "file_number": pa.array(np.array([run.piece.file_number for run in found])[owners]),
        "begin": pa.array(np.array([run.piece.begin for run in found])[owners]),
        "line": pa.array(np.arange(len(owners)) + moves[owners]),
        "text": text,
        "reason": reason,
    }
    lines = pa.RecordBatch.from_pydict(columns)
    is_said = pc.not_equal(pc.utf8_ltrim(text, " "), "")
    return lines if pc.all(is_said).as_py() else lines.filter(is_said)


def united(frames: list[DataFrame]) -> DataFrame:
    """Rows of all the frames, which have the same columns."""
    return reduce(DataFrame.unionByName, frames)


def first_line(path: Path) -> str:
    """The first line of a file with its end, read now, so that a wrong file is refused at once."""
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
        return start.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        raise InputFileError(
            str(path), "this is not UTF-8 text", remedy="save the file as UTF-8", line=1
        ) from None
