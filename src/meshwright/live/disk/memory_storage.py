"""The disk of a broker that acknowledges before anything is on a disk, and forgets in a crash.

What it has is written when it is stopped, and read when it starts again. After a crash it begins
with nothing, but for numbers that no publication had before.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meshwright.errors import OperatorError
from meshwright.live.disk.storage import Opened, open_database, save_all
from meshwright.protocol.foundation.effects import DiskKey, Write


class MemoryStore:
    """The same for its broker as a Store; synced is told in the event loop, once a loop turn."""

    def __init__(self, folder: Path, *, synced: Callable[[int], None]) -> None:
        self.sync_count = 0
        self.sync_s = 0.0
        self._folder = folder
        self._synced = synced
        self._contents: dict[DiskKey, Any] = {}
        self._last_batch = 0
        self._is_telling = False
        self._database: sqlite3.Connection | None = None

    def open(self) -> Opened:
        """Take back what was there when the broker was stopped."""
        self._database, opened = open_database(self._folder, is_memory=True)
        self._contents = dict(opened.contents)
        return opened

    def write(self, batch: Write) -> None:
        """Take a batch, which is as safe now as it will ever be."""
        contents = self._contents
        for key, value in batch.changes.items():
            if value is None:
                contents.pop(key, None)
            else:
                contents[key] = value
        self._last_batch = batch.batch
        if not self._is_telling:
            self._is_telling = True
            asyncio.get_running_loop().call_soon(self._tell)

    def close(self) -> None:
        """Write everything for the next start."""
        if self._database is None:
            return
        try:
            save_all(self._database, self._contents)
        except sqlite3.Error as error:
            raise OperatorError(
                f"{self._folder}: what the broker had in memory cannot be kept ({error}); "
                "make room, and start it anew."
            ) from error
        finally:
            self._database.close()

    def _tell(self) -> None:
        self._is_telling = False
        self.sync_count += 1
        self._synced(self._last_batch)
