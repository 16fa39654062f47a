"""Finished files of a broker's trace, kept until somebody takes them, up to so many bytes.

What nobody takes is put together, file by file, and in the end dropped, the oldest first, and
counted. Files that a former life of the broker left are here too; those of other brokers that share
the folder are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.trace_files import (
    SECOND_NS,
    PutTogether,
    Retention,
    TraceFile,
    alone_with,
    groups_to_put_together,
    outdated,
    put_all_together,
    trace_file,
)
from meshwright.model.schema import TRACE_TABLES

# Fewer files than this are not worth putting together.
FILES_MIN = 8


class ReportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a table."""

    table: str
    name: str
    bytes: int


class ReportsDropped(msgspec.Struct, frozen=True, kw_only=True):
    """Telemetry that nobody took had to make room; plans will not see it."""

    files: int
    bytes: int
    oldest: str


class Reports:
    """All files of one broker, in the order in which they were written."""

    def __init__(
        self, folder: Path, broker: str, bytes_max: int, age_s: float = 0.0, apart_s: float = 0.0
    ) -> None:
        """bytes_max, age_s: what is kept; apart_s: files older than this are put together.

        0: any, any, none.
        """
        self._folder = folder
        self._broker = broker
        self._kept = Retention(age_s, bytes_max)
        self._apart_s = apart_s
        self._files: dict[tuple[str, str], int] = {}
        # Somebody may be about to take these: they stay as they are.
        self._given: set[tuple[str, str]] = set()
        # These are being put together: nobody is given them.
        self._busy: set[tuple[str, str]] = set()
        self.kept_bytes = 0
        self.dropped_files = 0
        self.dropped_bytes = 0
        self.hold(_found(folder, broker), 0)

    def files(self) -> tuple[ReportFile, ...]:
        """Those that wait to be taken, oldest first."""
        return tuple(
            ReportFile(table=table, name=name, bytes=size)
            for (table, name), size in self._files.items()
            if (table, name) not in self._busy
        )

    def hold(self, written: Iterable[tuple[str, str]], now_ns: int) -> ReportsDropped | None:
        """Keep these files, the newest; tells what was dropped for them, or as it is too old."""
        for table, name in written:
            self._let_go(table, name)
            with suppress(FileNotFoundError):
                size = self._path(table, name).stat().st_size
                self._files[table, name] = size
                self.kept_bytes += size
        return self._drop(now_ns)

    def path(self, table: str, name: str) -> Path | None:
        """Where a file is; None if there is no such one, or not any more."""
        if (table, name) not in self._files or (table, name) in self._busy:
            return None
        self._given.add((table, name))
        return self._path(table, name)

    def taken(self, table: str, name: str) -> None:
        """Somebody has this one; to say so again does nothing."""
        if (table, name) in self._files:
            self._let_go(table, name)
            self._delete(table, name)

    def to_put_together(self, now_ns: int) -> list[list[TraceFile]]:
        """Files that are to become one; nobody is given them until that is done."""
        self._look_again()
        if not self._apart_s:
            return []
        before_ns = now_ns - round(self._apart_s * SECOND_NS)

        def is_free(one: TraceFile) -> bool:
            return one.written_ns < before_ns and (one.table, one.name) not in self._given

        groups = groups_to_put_together(self._recorded(), is_free, FILES_MIN)
        self._busy = {(one.table, one.name) for group in groups for one in group}
        return groups

    def put_together(self, groups: list[list[TraceFile]]) -> list[PutTogether]:
        """Do it; may run in another thread. Nothing happens while somebody reads the trace."""
        with alone_with(self._folder) as is_alone:
            return put_all_together(self._folder, groups) if is_alone else []

    def were_put_together(self, done: Iterable[PutTogether]) -> None:
        """Know the files that came of it, each in the place of its first part."""
        places: dict[tuple[str, str], TraceFile | None] = {}
        for parts, whole in done:
            places |= {(one.table, one.name): None for one in parts}
            places[parts[0].table, parts[0].name] = whole
        self._busy = set()
        files, self._files = self._files, {}
        for (table, name), size in files.items():
            whole_or_none = places.get((table, name))
            if (table, name) not in places:
                self._files[table, name] = size
            elif whole_or_none is not None:
                self._files[table, whole_or_none.name] = whole_or_none.bytes
        self.kept_bytes = sum(self._files.values())

    def _look_again(self) -> None:
        """Somebody else may have put files together, or deleted them."""
        missing = [key for key in self._files if not self._path(*key).exists()]
        for key in missing:
            self._let_go(*key)
        if missing:
            found = list(_found(self._folder, self._broker))
            self.hold([key for key in found if key not in self._files], 0)

    def _recorded(self) -> list[TraceFile]:
        found = (trace_file(self._folder, table, name) for table, name in self._files)
        return [one for one in found if one is not None]

    def _drop(self, now_ns: int) -> ReportsDropped | None:
        is_full = 0 < self._kept.bytes_max < self.kept_bytes
        if not is_full and not self._kept.age_s:
            return None
        gone = outdated(self._recorded(), self._kept, now_ns)
        gone = [one for one in gone if (one.table, one.name) not in self._busy]
        if not gone:
            return None
        for one in gone:
            self.dropped_files += 1
            self.dropped_bytes += one.bytes
            self._let_go(one.table, one.name)
            self._delete(one.table, one.name)
        oldest = f"{gone[0].table}/{gone[0].name}"
        return ReportsDropped(files=len(gone), bytes=sum(one.bytes for one in gone), oldest=oldest)

    def _let_go(self, table: str, name: str) -> None:
        self.kept_bytes -= self._files.pop((table, name), 0)
        self._given.discard((table, name))

    def _delete(self, table: str, name: str) -> None:
        try:
            self._path(table, name).unlink(missing_ok=True)
        except OSError as error:
            raise OperatorError(
                f"{self._path(table, name)}: this cannot be deleted ({error.strerror}); let the "
                "broker's user write in the folder of its trace."
            ) from error

    def _path(self, table: str, name: str) -> Path:
        return self._folder / table / name


def _found(folder: Path, broker: str) -> Iterator[tuple[str, str]]:
    """Files that are there already, with those first that describe the broker, then by age."""
    pattern = re.compile(rf"{re.escape(broker)}(?:-(\d+)-(\d+)(?:to\d+)?)?\.parquet")
    found = []
    for table in TRACE_TABLES:
        try:
            names = [one.name for one in (folder / table).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise OperatorError(
                f"{folder / table}: telemetry cannot be read ({error.strerror}); choose another "
                "folder for telemetry.trace."
            ) from error
        for name in names:
            known = pattern.fullmatch(name)
            if known is not None:
                age = tuple(int(one or 0) for one in known.groups())
                found.append((age, table, name))
    return ((table, name) for _age, table, name in sorted(found))
