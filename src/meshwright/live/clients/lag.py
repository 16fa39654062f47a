"""When what a client published the whole way is through."""

from __future__ import annotations

from meshwright.protocol.shortcuts import Shortcuts


class Lag:
    """Begins with a message that goes the whole way, and is over when nothing can overtake it.

    Its readers here get it as soon as it is on disk. is_on: it is not known to be over.
    """

    __slots__ = ("_batch", "is_on")

    def __init__(self) -> None:
        self._batch = 0
        self.is_on = False

    def begin(self, shortcuts: Shortcuts) -> None:
        """A message was just taken."""
        self._batch = shortcuts.written
        self.is_on = True

    def is_over(self, shortcuts: Shortcuts) -> bool:
        """True if it, and all before it, was handed over."""
        if self.is_on and shortcuts.synced >= self._batch:
            self.is_on = False
        return not self.is_on
