"""A broker's disk: one SQLite file, written by one thread, many batches to a sync.

A batch is whole or not there. While one group of batches is being synced the next gathers, so the
slower the disk is, the more messages share a sync.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.errors import OperatorError
from meshwright.files.reading import is_absent
from meshwright.files.writing import make_folder, refuse_folder
from meshwright.live.disk.disk_room import FILE_NAME, RESERVE_NAME, DiskRoom
from meshwright.protocol.foundation.effects import DiskKey, Write
from meshwright.protocol.streams.quiet_streams import USED_UP_TO
from meshwright.protocol.wire import decode_disk, encode

FORMAT = 1
RETRY_S = 0.2
NUMBER_BITS = 32
UNSURE = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# This fact is 1 while what counts is in memory only.
IN_MEMORY = "in memory"
NOTE = "INSERT OR REPLACE INTO facts VALUES (?, ?)"
KEEP = "INSERT OR REPLACE INTO kept VALUES (?, ?)"


class Opened(NamedTuple):
    """What a disk held when it was opened; incarnation counts how often that happened."""

    incarnation: int
    contents: dict[DiskKey, Any]


class Store:
    """The disk of one broker.

    synced is told the last batch of every sync, full why the disk takes no more, or None once it
    does again, and failed of anything else that goes wrong, after which nothing is written; all are
    called in the writing thread. A batch that finds no room, or cannot be written, is tried until
    it can; one of which nobody knows whether it is on disk is never tried again, for the system
    may have forgotten what it could not write. bytes_max: how much the disk
    may hold, 0 for all that there is. sync_count and sync_s: how often the disk was synced, and how
    long that took in all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        bytes_max: int,
        synced: Callable[[int], None],
        full: Callable[[str | None], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._synced = synced
        self._full = full
        self._failed = failed
        self.sync_count = 0
        self.sync_s = 0.0
        self._gathered: list[Write] = []
        self._wakes = threading.Condition()
        self._is_closing = False
        self._trouble: str | None = None
        self._thread = threading.Thread(target=self._run, name="disk", daemon=True)

    def open(self) -> Opened:
        """Read everything, and begin to take batches."""
        self._database, opened = open_database(self._folder, is_memory=False)
        self._room = DiskRoom(self._database, self._folder, self._bytes_max)
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
        try:
            while batches := self._next_batches():
                begun_s = time.perf_counter()
                last = self._sync(batches)
                if last is None:
                    break
                self.sync_s += time.perf_counter() - begun_s
                self.sync_count += 1
                self._synced(last)
        except sqlite3.Error as error:
            is_unsure = getattr(error, "sqlite_errorcode", None) in UNSURE
            what = "could not be synced" if is_unsure else "failed"
            self._failed(
                OperatorError(
                    f"{self._folder / FILE_NAME}: the broker's disk {what} ({error}), and nothing "
                    "more is promised; check the disk, then start the broker again."
                )
            )
        except Exception as error:  # what nobody is told of would leave clients waiting for ever
            self._failed(error)
        finally:
            with suppress(sqlite3.Error):
                self._database.close()

    def _next_batches(self) -> list[Write]:
        """All that has gathered; nothing only when the disk is being closed."""
        with self._wakes:
            while not self._gathered and not self._is_closing:
                self._wakes.wait(None if self._trouble is None else RETRY_S)
                if self._trouble is not None and not self._gathered:
                    self._tell_full(self._room.look())
            return self._taken()

    def _sync(self, batches: list[Write]) -> int | None:
        """Write batches, and whatever came meanwhile if there is no room; returns the last one.

        None if the broker is stopped before there is room: nobody was promised anything of these.
        """
        changes: dict[DiskKey, Any] = {}
        last = batches[-1].batch
        while True:
            for batch in batches:
                changes |= batch.changes
                last = batch.batch
            fault = _commit(self._database, changes)
            if fault is None:
                self._tell_full(self._room.look())
                return last
            self._tell_full(self._room.failed(fault))
            batches = []
            has_more = self._room.give_up_reserve()
            self._room.reuse_log()
            if not has_more:
                with self._wakes:
                    self._wakes.wait(RETRY_S)
                    # Messages that are done with may be among what came meanwhile.
                    batches = self._taken()
                    if self._is_closing:
                        return None

    def _taken(self) -> list[Write]:
        batches, self._gathered = self._gathered, []
        return batches

    def _tell_full(self, trouble: str | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._full(trouble)


def open_database(folder: Path, *, is_memory: bool) -> tuple[sqlite3.Connection, Opened]:
    """A broker's database, for it alone, and what is in it."""
    with _explained(folder):
        make_folder(folder, is_private=True)
        try:
            database = _connect(folder / FILE_NAME)
            return database, _read(database, is_memory)
        except sqlite3.OperationalError as error:
            # A broker that ended with a full disk begins with its reserve, and keeps a new one.
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL or is_absent(folder / RESERVE_NAME):
                raise
        (folder / RESERVE_NAME).unlink()
        database = _connect(folder / FILE_NAME)
        return database, _read(database, is_memory)


def refuse_unusable(folder: Path) -> None:
    """Say why no broker could have its disk in a folder, which stays as it is."""
    refuse_folder(folder)
    path = folder / FILE_NAME
    with _explained(folder):
        if is_absent(path):
            return
        database = _connect(path)
        try:
            _check_format(dict(database.execute("SELECT name, value FROM facts")))
        finally:
            database.close()


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say what is wrong with a disk: that it is forbidden, in use, or damaged."""
    path = folder / FILE_NAME
    try:
        yield
    except (sqlite3.Error, ValueError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_FULL:
            raise OperatorError(
                f"{path}: no room is left on the disk; make some, then start the broker again."
            ) from None
        if code in LOCKED:
            raise OperatorError(
                f"{path}: another broker uses this disk; let no other broker use this folder."
            ) from None
        if not all(os.access(one, os.R_OK | os.W_OK) for one in (folder, path) if one.exists()):
            raise OperatorError(
                f"{path}: the broker's disk may not be read and written (permission denied); run "
                "the broker as the user who owns it."
            ) from None
        raise OperatorError(
            f"{path}: the broker's disk cannot be opened ({error}); restore it from a copy, or "
            "choose another folder and name."
        ) from error


def save_all(database: sqlite3.Connection, contents: dict[DiskKey, Any]) -> None:
    """Put everything that a broker had in memory on disk, in place of what was there."""
    kept = [(encode(key), encode(value)) for key, value in contents.items()]
    database.execute("BEGIN IMMEDIATE")
    database.execute("DELETE FROM kept")
    database.executemany(KEEP, kept)
    database.execute(NOTE, (IN_MEMORY, 0))
    database.execute("COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    # Many systems build SQLite so that it overwrites what it deletes, by way of its log: then a
    # full disk has no room to delete anything.
    database.execute("PRAGMA secure_delete = FAST")
    return database


def _read(database: sqlite3.Connection, is_memory: bool) -> Opened:
    """Count this opening, and read what was kept; what is of before a crash in memory is not."""
    database.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER)")
    database.execute(
        "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
    )
    facts = dict(database.execute("SELECT name, value FROM facts"))
    _check_format(facts)
    incarnation = facts.get("incarnation", 0) + 1
    database.execute("BEGIN IMMEDIATE")
    if facts.get(IN_MEMORY):
        database.execute("DELETE FROM kept")
        database.execute(KEEP, (encode(USED_UP_TO), encode(incarnation << NUMBER_BITS)))
    rows = [("format", FORMAT), ("incarnation", incarnation), (IN_MEMORY, int(is_memory))]
    database.executemany(NOTE, rows)
    database.execute("COMMIT")
    contents = dict(decode_disk(*row) for row in database.execute("SELECT key, value FROM kept"))
    return Opened(incarnation, contents)


def _check_format(facts: dict[str, int]) -> None:
    if facts.get("format", FORMAT) != FORMAT:
        raise ValueError(f"it has format {facts['format']}, this version reads {FORMAT}")


def _commit(
    database: sqlite3.Connection, changes: dict[DiskKey, Any]
) -> sqlite3.OperationalError | None:
    """Change everything and sync; returns why nothing was changed, if it can be tried again."""
    kept = [(encode(key), encode(value)) for key, value in changes.items() if value is not None]
    gone = [(encode(key),) for key, value in changes.items() if value is None]
    try:
        database.execute("BEGIN IMMEDIATE")
        # First what makes room.
        database.executemany("DELETE FROM kept WHERE key = ?", gone)
        database.executemany(KEEP, kept)
        database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if database.in_transaction:
            database.execute("ROLLBACK")
        if error.sqlite_errorcode not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE):
            raise
        return error
    return None
