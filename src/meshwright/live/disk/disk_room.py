"""Room on a broker's disk: how much it may use, and a reserve for what it cannot refuse.

A broker whose disk is full refuses publications, but what it has promised must still go through:
answers of clients, sessions that move, messages that are done with. So a file of some size is kept
for nothing, and given up when nothing else is left. Where there is no room for such a file, what
messages left free inside the database is a reserve as good.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 4 << 20
RESERVE_NAME = "reserve"
FILE_NAME = "broker.sqlite"
LOG_NAME = f"{FILE_NAME}-wal"
# A disk that was full is so until this part of what it may hold is free.
FREE_PART = 10
# Bytes that are free inside the database and so a reserve: to be full no more, and not again.
INSIDE_WHEN_FULL_BYTES = RESERVE_BYTES // 2
INSIDE_BYTES = RESERVE_BYTES // 4
TRY_AGAIN_S = 1.0
TRIAL_BYTES = 1 << 16

WANT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
NO_ROOM = "no room is left on the disk"
OVER_LIMIT = "the disk holds more than disk_bytes_max"


class DiskRoom:
    """Watches one database; bytes_max: how much it may hold before it counts as full, 0: all.

    What came before anybody was told that it is full goes beyond that: who asks for less than there
    is wants publications refused, not a broker that stands still.
    trouble: why the disk takes nothing more that may be refused, if that is so.
    """

    def __init__(self, database: sqlite3.Connection, folder: Path, bytes_max: int) -> None:
        self._database = database
        self._folder = folder
        self._path = folder / RESERVE_NAME
        self._page_bytes = self._ask("page_size")
        self._bytes_max = bytes_max
        self.trouble: str | None = None
        self._tried_s = 0.0
        self._has_file = self._keep_reserve()

    def look(self) -> str | None:
        """Why the disk is full, if it is, after something was written to it."""
        if not self._has_reserve():
            self.trouble = self.trouble or NO_ROOM
        elif self._bytes_max and self._used() > self._bytes_max - self._slack():
            self.trouble = OVER_LIMIT
        else:
            self.trouble = None
        return self.trouble

    def failed(self, error: sqlite3.OperationalError) -> str:
        """Why nothing could be written: there is no room, or the disk has a fault."""
        if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
            self.trouble = f"the disk cannot be written ({self._fault()})"
        else:
            self.trouble = NO_ROOM
        return self.trouble

    def give_up_reserve(self) -> bool:
        """Nothing else is left; False if there was no reserve any more."""
        self._has_file = False
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        return True

    def reuse_log(self) -> None:
        """Let the database write its log from the beginning: it may have no room to grow."""
        with suppress(sqlite3.OperationalError):
            self._database.execute("PRAGMA wal_checkpoint(RESTART)")

    def _has_reserve(self) -> bool:
        if self._has_file:
            return True
        now_s = time.monotonic()
        if now_s - self._tried_s >= TRY_AGAIN_S:
            self._tried_s = now_s
            self._has_file = self._keep_reserve()
        needed = INSIDE_BYTES if self.trouble is None else INSIDE_WHEN_FULL_BYTES
        return self._has_file or self._inside() >= needed

    def _inside(self) -> int:
        """Bytes that can be written without any more of the disk, also by way of the log."""
        free = self._ask("freelist_count") * self._page_bytes
        try:
            return min(free, self._folder.joinpath(LOG_NAME).stat().st_size)
        except FileNotFoundError:
            return 0

    def _used(self) -> int:
        return (self._ask("page_count") - self._ask("freelist_count")) * self._page_bytes

    def _slack(self) -> int:
        return self._bytes_max // FREE_PART if self.trouble is not None else 0

    def _fault(self) -> str:
        """What the system says to who writes a little."""
        trial = self._folder / "trial.aside"
        try:
            with trial.open("wb") as file:
                file.write(b"\0" * TRIAL_BYTES)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            return (error.strerror or str(error)).lower()
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)
        return "an error of input or output"

    def _keep_reserve(self) -> bool:
        """Take the reserve, if it fits; True if it is there."""
        if self._path.exists():
            return True
        aside = self._path.with_suffix(".aside")
        try:
            with aside.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
            aside.rename(self._path)
        except OSError as error:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            # A disk on which nothing can be kept back is not full for that.
            return error.errno not in WANT_OF_ROOM
        return True

    def _ask(self, pragma: str) -> int:
        return int(self._database.execute(f"PRAGMA {pragma}").fetchone()[0])
