"""Pieces of text files that executors read on their own, each a run of whole lines.

A piece has the lines that begin in its bytes. A packed file is one piece: it has no middle.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BLOCK_BYTES = 1 << 22
BYTE_ORDER_MARK = "\ufeff".encode()
# To open a file takes as long as to read so much of one.
OPENING_COSTS_BYTES = 1 << 11
NEWLINE = 10
# Files are read more than once, and each time must say the same.
CHANGED_FILE = "Encountered a change of file"
NO_TEXT = "this is not UTF-8 text"


class Piece(NamedTuple):
    """Bytes of a file, and how many lines of it are before them; task: who reads it.

    changed_ns: when the file was last written: a file that is written to later is refused.
    """

    file: str
    file_number: int
    path: str
    changed_ns: int
    begin: int
    end: int
    lines_before: int = 0
    task: int = 0


class Run(NamedTuple):
    """Whole lines that follow each other in a file, the last with its line end, too."""

    piece: Piece
    line: int
    lines: bytes
    line_count: int


def cut(number: int, path: Path, piece_bytes: int) -> list[Piece]:
    """The pieces of one file."""
    found = path.stat()
    size = found.st_size
    whole = Piece(str(path), number, str(path.absolute()), found.st_mtime_ns, 0, size)
    if path.suffix == ".gz":
        return [whole._replace(end=np.iinfo(np.int64).max)]
    return [
        whole._replace(begin=begin, end=min(begin + piece_bytes, size))
        for begin in range(0, max(size, 1), piece_bytes)
    ]


def shared_out(pieces: Sequence[Piece], task_bytes: int) -> list[Piece]:
    """The same pieces, with tasks that each read about so many bytes."""
    filled, found = 0, []
    for piece in pieces:
        found.append(piece._replace(task=filled // task_bytes))
        filled += OPENING_COSTS_BYTES + min(piece.end - piece.begin, task_bytes)
    return found


def runs(pieces: Iterable[Piece]) -> Iterator[list[Run]]:
    """All lines of some pieces, some megabytes at a time."""
    found: list[Run] = []
    filled = 0
    for piece in pieces:
        line = piece.lines_before + 1
        for block in blocks(piece):
            lines = block if block.endswith(b"\n") else block + b"\n"
            found.append(Run(piece, line, lines, lines.count(b"\n")))
            line += found[-1].line_count
            filled += len(lines)
            if filled >= BLOCK_BYTES:
                yield found
                found, filled = [], 0
    if found:
        yield found


def line_count(piece: Piece) -> int:
    """How many lines a piece has; the last of a file counts with and without a line end."""
    return sum(block.count(b"\n") + (not block.endswith(b"\n")) for block in blocks(piece))


def blocks(piece: Piece) -> Iterator[bytes]:
    """The lines of a piece, some megabytes at a time; only the last may lack its line end."""
    try:
        with Path(piece.path).open("rb") as stored:
            file = gzip.GzipFile(fileobj=stored) if piece.path.endswith(".gz") else stored
            _refuse_change(stored, piece)
            position = 0
            if piece.begin:
                file.seek(piece.begin - 1)
                position = piece.begin - 1 + len(file.readline())
            while position < piece.end:
                block = file.read(min(BLOCK_BYTES, piece.end - position))
                if not block:
                    break
                if not block.endswith(b"\n"):
                    block += file.readline()
                yield block if position else _unmarked(block)
                position += len(block)
    except (EOFError, OSError, zlib.error) as error:
        if str(error).startswith(CHANGED_FILE):
            raise
        # As Spark itself says it of files that it reads.
        place = Path(piece.path).as_uri()
        raise OSError(f"Encountered error while reading file {place}.") from None


def _refuse_change(stored: BinaryIO, piece: Piece) -> None:
    if os.fstat(stored.fileno()).st_mtime_ns != piece.changed_ns:
        raise OSError(f"{CHANGED_FILE} {Path(piece.path).as_uri()}.")


def _unmarked(block: bytes) -> bytes:
    while block.startswith(BYTE_ORDER_MARK):
        block = block.removeprefix(BYTE_ORDER_MARK)
    return block


def texts(lines: bytes) -> tuple[pa.Array, pa.Array]:
    """Lines without their ends, and the reason why one is no text, or null."""
    try:
        lines.decode()
    except UnicodeDecodeError:
        single = [line.rstrip(b"\r") for line in lines.removesuffix(b"\n").split(b"\n")]
        found = [line.decode(errors="replace") for line in single]
        reasons = [
            None if text.encode() == line else NO_TEXT
            for text, line in zip(found, single, strict=True)
        ]
        return pa.array(found, pa.string()), pa.array(reasons, pa.string())
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == NEWLINE).astype(np.int32) + 1
    offsets = np.concatenate((np.zeros(1, np.int32), ends))
    whole = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(lines))
    return pc.utf8_rtrim(whole, "\r\n"), pa.nulls(len(ends), pa.string())
