"""A broker's disk: one SQLite file, written by one thread, many batches to a sync.

A batch is whole or not there. While one group of batches is being synced the next gathers, so the
slower the disk is, the more messages share a sync.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.errors import OperatorError
from meshwright.protocol.effects import DiskKey, Write
from meshwright.protocol.wire import decode_disk, encode

FORMAT = 1
FILE_NAME = "broker.sqlite"
RETRY_S = 0.2


class Opened(NamedTuple):
    """What a disk held when it was opened; incarnation counts how often that happened."""

    incarnation: int
    contents: dict[DiskKey, Any]


class Store:
    """The disk of one broker.

    synced is told the last batch of every sync, full whether the disk has no room, and failed of
    anything else that goes wrong, after which nothing is written; all are called in the writing
    thread. A batch that finds no room is tried until there is some. sync_count and sync_s: how
    often the disk was synced, and how long that took in all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        synced: Callable[[int], None],
        full: Callable[[bool], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._path = folder / FILE_NAME
        self._synced = synced
        self._full = full
        self._failed = failed
        self.sync_count = 0
        self.sync_s = 0.0
        self._gathered: list[Write] = []
        self._wakes = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="disk", daemon=True)

    def open(self) -> Opened:
        """Read everything, and begin to take batches."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = _connect(self._path)
            opened = _read(database)
            database.close()
        except (OSError, sqlite3.Error, ValueError) as error:
            raise OperatorError(
                f"{self._path}: the broker's disk cannot be opened ({error}); "
                "let no other broker use this folder, or restore it from a copy."
            ) from error
        self._thread.start()
        return opened

    def write(self, batch: Write) -> None:
        """Take a batch; synced tells when it is safe."""
        with self._wakes:
            self._gathered.append(batch)
            self._wakes.notify()

    def close(self) -> None:
        """Sync what was taken, and let the file go."""
        with self._wakes:
            self._is_closing = True
            self._wakes.notify()
        self._thread.join()

    def _run(self) -> None:
        database = _connect(self._path)
        try:
            while batches := self._next_batches():
                begun_s = time.perf_counter()
                self._sync(database, batches)
                self.sync_s += time.perf_counter() - begun_s
                self.sync_count += 1
                self._synced(batches[-1].batch)
        except sqlite3.Error as error:
            self._failed(error)
        finally:
            database.close()

    def _next_batches(self) -> list[Write]:
        """All that has gathered; nothing only when the disk is being closed."""
        with self._wakes:
            while not self._gathered and not self._is_closing:
                self._wakes.wait()
            batches, self._gathered = self._gathered, []
        return batches

    def _sync(self, database: sqlite3.Connection, batches: list[Write]) -> None:
        changes: dict[DiskKey, Any] = {}
        for batch in batches:
            changes |= batch.changes
        kept = [(encode(key), encode(value)) for key, value in changes.items() if value is not None]
        gone = [(encode(key),) for key, value in changes.items() if value is None]
        was_full = False
        while not _commit(database, kept, gone):
            if not was_full:
                was_full = True
                self._full(True)
            with self._wakes:
                self._wakes.wait(RETRY_S)
        if was_full:
            self._full(False)


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    return database


def _read(database: sqlite3.Connection) -> Opened:
    """Count this opening, and read what was kept."""
    database.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER)")
    database.execute(
        "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
    )
    facts = dict(database.execute("SELECT name, value FROM facts"))
    if facts.get("format", FORMAT) != FORMAT:
        raise ValueError(f"it has format {facts['format']}, this version reads {FORMAT}")
    incarnation = facts.get("incarnation", 0) + 1
    rows = [("format", FORMAT), ("incarnation", incarnation)]
    database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)
    contents = dict(decode_disk(*row) for row in database.execute("SELECT key, value FROM kept"))
    return Opened(incarnation, contents)


def _commit(
    database: sqlite3.Connection, kept: Iterable[tuple[bytes, bytes]], gone: Iterable[tuple[bytes]]
) -> bool:
    """Change everything and sync; False if there is no room."""
    try:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", kept)
        database.executemany("DELETE FROM kept WHERE key = ?", gone)
        database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if database.in_transaction:
            database.execute("ROLLBACK")
        if error.sqlite_errorcode not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE):
            raise
        return False
    return True
