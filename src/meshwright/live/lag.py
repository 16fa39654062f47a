"""When what a client published the whole way is through."""

from __future__ import annotations

from meshwright.protocol.shortcuts import Shortcuts

# One for the message itself, and one for what waits for its readers.
SYNC_COUNT = 2


class Lag:
    """Begins with a message that goes the whole way, and is over when nothing can overtake it.

    sync_count: how often the disk must have been reached until then; 0 if it is known to be over.
    """

    __slots__ = ("_batch", "sync_count")

    def __init__(self) -> None:
        self._batch = 0
        self.sync_count = 0

    def begin(self, shortcuts: Shortcuts) -> None:
        """A message was just taken."""
        self._batch = shortcuts.written
        self.sync_count = SYNC_COUNT

    def is_over(self, shortcuts: Shortcuts) -> bool:
        """True if it, and all before it, was handed over."""
        while self.sync_count and shortcuts.synced >= self._batch:
            self.sync_count -= 1
            self._batch = shortcuts.written
        return not self.sync_count
