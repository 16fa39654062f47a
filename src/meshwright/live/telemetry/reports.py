"""Finished files of a broker's trace, kept until somebody takes them, up to so many bytes.

What nobody takes is dropped, the oldest first, and counted. Files that a former life of the broker
left are here too; those of other brokers that share the folder are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.model.schema import TRACE_TABLES


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
    """All files of one broker, in the order in which they were written; bytes_max 0: no bound."""

    def __init__(self, folder: Path, broker: str, bytes_max: int) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._files: dict[tuple[str, str], int] = {}
        self.kept_bytes = 0
        self.dropped_files = 0
        self.dropped_bytes = 0
        self.hold(_found(folder, broker))

    def files(self) -> tuple[ReportFile, ...]:
        """Those that wait to be taken, oldest first."""
        return tuple(
            ReportFile(table=table, name=name, bytes=size)
            for (table, name), size in self._files.items()
        )

    def hold(self, written: Iterable[tuple[str, str]]) -> ReportsDropped | None:
        """Keep these files, the newest; tells what was dropped for them."""
        for table, name in written:
            self._let_go(table, name)
            with suppress(FileNotFoundError):
                size = self._path(table, name).stat().st_size
                self._files[table, name] = size
                self.kept_bytes += size
        return self._drop() if 0 < self._bytes_max < self.kept_bytes else None

    def path(self, table: str, name: str) -> Path | None:
        """Where a file is; None if there is no such one, or not any more."""
        return self._path(table, name) if (table, name) in self._files else None

    def taken(self, table: str, name: str) -> None:
        """Somebody has this one; to say so again does nothing."""
        if (table, name) in self._files:
            self._let_go(table, name)
            self._delete(table, name)

    def _drop(self) -> ReportsDropped:
        oldest = next(iter(self._files))
        files, size = self.dropped_files, self.dropped_bytes
        while self.kept_bytes > self._bytes_max and len(self._files) > 1:
            table, name = next(iter(self._files))
            self.dropped_files += 1
            self.dropped_bytes += self._files[table, name]
            self._let_go(table, name)
            self._delete(table, name)
        return ReportsDropped(
            files=self.dropped_files - files,
            bytes=self.dropped_bytes - size,
            oldest="/".join(oldest),
        )

    def _let_go(self, table: str, name: str) -> None:
        self.kept_bytes -= self._files.pop((table, name), 0)

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
    pattern = re.compile(rf"{re.escape(broker)}(?:-(\d+)-(\d+))?\.parquet")
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
