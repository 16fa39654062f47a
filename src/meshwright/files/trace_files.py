"""Files of telemetry over time: many small ones are put together, and old ones are let go.

A file that was put together has the rows of its parts in their order, and a name that says which:
b0-7-000001to000360.parquet. It gets that name before its parts are deleted, so that nothing is
lost; whoever is killed in between leaves parts that the name covers, and the next one who reads or
puts together deletes them first. Who reads holds a lock on the trace that keeps parts from going.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from meshwright.errors import OperatorError
from meshwright.model.schema import (
    CONNECTIONS,
    PUBLICATIONS,
    RECORDED_BY,
    STATEMENTS,
    SUBSCRIPTIONS,
)

GROWING = (SUBSCRIPTIONS, PUBLICATIONS, CONNECTIONS, STATEMENTS)
NAME = re.compile(r"(?P<broker>.+)-(?P<life>\d+)-(?P<first>\d{6,})(?:to(?P<last>\d{6,}))?\.parquet")
TOGETHER_BYTES = 64 << 20
GROUP_ROWS = 100_000
SECOND_NS = 1_000_000_000
_read_now: dict[Path, int] = {}


class TraceFile(NamedTuple):
    """Files first to last of a table, in one life of a broker."""

    table: str
    name: str
    bytes: int
    written_ns: int
    broker: str
    life: int
    first: int
    last: int

    @property
    def series(self) -> tuple[str, str, int]:
        return self.table, self.broker, self.life

    def covers(self, other: TraceFile) -> bool:
        """Whether the rows of another file are in this one."""
        is_within = self.first <= other.first and other.last <= self.last
        return self.series == other.series and is_within and self.name != other.name


class Retention(NamedTuple):
    """How much is kept: seconds since a file was written, bytes of all files; 0: any."""

    age_s: float = 0.0
    bytes_max: int = 0


class PutTogether(NamedTuple):
    """Files that became one."""

    parts: tuple[TraceFile, ...]
    whole: TraceFile


def trace_file(trace: Path, table: str, name: str) -> TraceFile | None:
    """What a file's name and size say; None if it is no telemetry of a broker, or gone."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    try:
        status = (trace / table / name).stat()
    except FileNotFoundError:
        return None
    first, last = int(found["first"]), int(found["last"] or found["first"])
    life = int(found["life"])
    size, written_ns = status.st_size, status.st_mtime_ns
    return TraceFile(table, name, size, written_ns, found["broker"], life, first, last)


def trace_files(trace: Path) -> list[TraceFile]:
    """All that brokers recorded in a trace, oldest first."""
    found = []
    for table in GROWING:
        with suppress(FileNotFoundError):
            paths = list((trace / table.name).iterdir())
            found += [trace_file(trace, table.name, path.name) for path in paths]
    return sorted((one for one in found if one is not None), key=_age)


def groups_to_put_together(
    files: Iterable[TraceFile], is_free: Callable[[TraceFile], bool], files_min: int
) -> list[list[TraceFile]]:
    """Runs of files that follow each other, up to a size; fewer files than files_min stay apart.

    A file that is not free ends a run: what follows it is not put before it.
    """
    groups: list[list[TraceFile]] = []
    for one in sorted(files, key=lambda file: (*file.series, file.first)):
        last = groups[-1] if groups else []
        size = sum(file.bytes for file in last) + one.bytes
        if not is_free(one):
            groups.append([])
        elif last and last[0].series == one.series and size <= TOGETHER_BYTES:
            last.append(one)
        else:
            groups.append([one])
    return [group for group in groups if len(group) >= max(files_min, 2)]


def put_all_together(trace: Path, groups: Iterable[list[TraceFile]]) -> list[PutTogether]:
    """One file of each group; for whoever is alone with the trace."""
    for table in GROWING:
        for leaving in (trace / table.name).glob(".*to*.parquet"):  # of somebody who was killed
            leaving.unlink(missing_ok=True)
    return [done for one in groups if (done := put_together(trace, one)) is not None]


def put_together(trace: Path, group: list[TraceFile]) -> PutTogether | None:
    """One file of several; None if one of them does not say of its rows where they come from."""
    first, last = group[0], group[-1]
    folder = trace / first.table
    if not all(_says_parts(folder / one.name) for one in group):
        return None
    name = f"{first.broker}-{first.life}-{first.first:06d}to{last.last:06d}.parquet"
    aside = folder / f".{name}"
    try:
        _write_rows([folder / one.name for one in group], aside)
        os.utime(aside, ns=(last.written_ns, last.written_ns))
        aside.rename(folder / name)
        for one in group:
            (folder / one.name).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        aside.unlink(missing_ok=True)
    whole = trace_file(trace, first.table, name)
    assert whole is not None
    return PutTogether(tuple(group), whole)


def finish(trace: Path) -> None:
    """Delete files whose rows stand in another one: somebody was killed before doing it."""
    files = trace_files(trace)
    wholes = [one for one in files if one.first < one.last]
    for one in files:
        if any(whole.covers(one) for whole in wholes):
            _delete(trace, one)


def compact(trace: Path, *, before_ns: int, files_min: int = 2) -> list[PutTogether]:
    """Put together all that was written before a time; nothing while somebody reads the trace."""
    with alone_with(trace) as is_alone:
        if not is_alone:
            return []
        finish(trace)
        groups = groups_to_put_together(
            trace_files(trace), lambda one: one.written_ns < before_ns, files_min
        )
        return put_all_together(trace, groups)


def outdated(files: Iterable[TraceFile], kept: Retention, now_ns: int) -> list[TraceFile]:
    """What has to go, oldest first.

    What brokers told since their last statement tells who wants what now, so that age does not end
    it; only for want of room it goes, and last. A file that is larger than all the room goes, too.
    """
    ordered = sorted(files, key=_age)
    is_needed = _since_statements(ordered)
    before_ns = now_ns - round(kept.age_s * SECOND_NS)
    gone = [
        one for one in ordered if kept.age_s and one.written_ns < before_ns and not is_needed(one)
    ]
    left = [one for one in ordered if one not in set(gone)]
    room = kept.bytes_max - sum(one.bytes for one in left) if kept.bytes_max else 0
    for one in sorted(left, key=lambda file: (is_needed(file), _age(file))):
        if room >= 0:
            break
        gone.append(one)
        room += one.bytes
    return gone


def retire(trace: Path, kept: Retention, now_ns: int) -> list[TraceFile]:
    """Delete what is outdated; nothing while somebody reads the trace."""
    with alone_with(trace) as is_alone:
        gone = outdated(trace_files(trace), kept, now_ns) if is_alone else []
        for one in gone:
            _delete(trace, one)
    return gone


@contextmanager
def alone_with(trace: Path) -> Iterator[bool]:
    """Whether nobody reads the trace, nor will until the block ends."""
    try:
        descriptor = os.open(trace, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def keep_for_reading(trace: Path) -> None:
    """From now on, for as long as this process lives, no file of the trace goes."""
    place = trace.resolve()
    if place in _read_now:
        return
    with suppress(OSError):  # not a file system with locks, or not ours to write
        descriptor = os.open(place, os.O_RDONLY)
        _read_now[place] = descriptor
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        finish(place)


def _since_statements(files: list[TraceFile]) -> Callable[[TraceFile], bool]:
    newest: dict[str, TraceFile] = {}
    for one in files:
        if one.table == STATEMENTS.name:
            newest[one.broker] = one

    def is_needed(one: TraceFile) -> bool:
        if one.table == PUBLICATIONS.name:
            return False
        last = newest.get(one.broker)
        is_later = last is None or one.written_ns >= last.written_ns
        return is_later or (last is not None and one.life == last.life and one.last >= last.last)

    return is_needed


def _write_rows(sources: list[Path], target: Path) -> None:
    """All rows in their order, in groups of many."""
    schema = parquet.read_schema(sources[0])
    waiting: list[pa.Table] = []
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        for source in sources:
            waiting.append(parquet.read_table(source).cast(schema))
            if sum(one.num_rows for one in waiting) >= GROUP_ROWS:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))
    with target.open("rb") as written:
        os.fsync(written.fileno())


def _says_parts(path: Path) -> bool:
    names = set(parquet.read_schema(path).names)
    return {column.name for column in RECORDED_BY} <= names


def _delete(trace: Path, one: TraceFile) -> None:
    try:
        (trace / one.table / one.name).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(trace / one.table, error) from error


def _unwritable(folder: Path, error: OSError) -> OperatorError:
    return OperatorError(
        f"{folder}: telemetry cannot be put together or deleted here ({error.strerror}); make room "
        "or let this user write in the folder."
    )


def _age(file: TraceFile) -> tuple[int, int, int, str]:
    return file.written_ns, file.life, file.first, file.table
