"""Room on a broker's disk: how much it may use, and a reserve for what it cannot refuse.

A broker whose disk is full refuses publications, but what it has promised must still go through:
answers of clients, sessions that move, messages that are done with. So a file of some size is kept
for nothing, and given up when nothing else is left.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

RESERVE_BYTES = 4 << 20
RESERVE_NAME = "reserve"
# A disk that was full is so until this part of what it may hold is free.
FREE_PART = 10


class DiskRoom:
    """Watches one database; bytes_max: how much it may hold before it counts as full, 0: all."""

    def __init__(self, database: sqlite3.Connection, folder: Path, bytes_max: int) -> None:
        self._database = database
        self._path = folder / RESERVE_NAME
        self._page_bytes = self._ask("page_size")
        self._bytes_max = bytes_max
        self.is_full = False
        if bytes_max:
            reserve_bytes = min(RESERVE_BYTES, bytes_max)
            page_count = (bytes_max + reserve_bytes) // self._page_bytes
            database.execute(f"PRAGMA max_page_count = {page_count}")
        self._keep_reserve()

    def look(self) -> bool:
        """Whether the disk is full, after something was written to it."""
        if self.is_full and not self._keep_reserve():
            return True
        if self._bytes_max:
            used = (self._ask("page_count") - self._ask("freelist_count")) * self._page_bytes
            part = self._bytes_max // FREE_PART if self.is_full else 0
            self.is_full = used > self._bytes_max - part
        else:
            self.is_full = False
        return self.is_full

    def give_up_reserve(self) -> bool:
        """Nothing else is left: the disk is full; False if there was no reserve any more."""
        self.is_full = True
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _keep_reserve(self) -> bool:
        """Take the reserve, if it fits; True if it is there."""
        if self._path.exists():
            return True
        aside = self._path.with_suffix(".aside")
        try:
            with aside.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
            aside.rename(self._path)
        except OSError:
            aside.unlink(missing_ok=True)
            return False
        return True

    def _ask(self, pragma: str) -> int:
        return int(self._database.execute(f"PRAGMA {pragma}").fetchone()[0])
