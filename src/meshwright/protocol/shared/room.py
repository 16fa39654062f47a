"""How many messages a group may have, in flight and waiting, and what becomes of more."""

from __future__ import annotations

import msgspec

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.sessions.full_queues import FullQueues
from meshwright.protocol.sessions.session_settings import QueueFull
from meshwright.protocol.shared.group import Group


class SharedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages a group may have, and whether more are refused or dropped."""

    queue_max: int = 100_000
    queue_full: QueueFull = "refuse"


class SharedRoom:
    """Watches the queues of all groups that a broker keeps."""

    def __init__(self, settings: SharedSettings, full: FullQueues) -> None:
        self._settings = settings
        self._full = full

    def drops(self, group: Group) -> bool:
        """True if a message for a group is to be dropped."""
        return self._settings.queue_full == "drop" and self._is_over(group)

    def changed(self, turn: Turn, group: Group) -> None:
        """Have publishers refused while a group has no room, until a quarter of it is free."""
        is_full = self._full.is_full(group.key)
        if self._settings.queue_full == "refuse" and not is_full and self._is_over(group):
            self._full.mark(turn, group.key, (group.wanted,))
        elif is_full and 4 * len(group.entries) <= 3 * self._settings.queue_max:
            self._full.clear(turn, group.key)

    def over(self, turn: Turn, group: Group) -> None:
        """There is no such group any more."""
        self._full.clear(turn, group.key)

    def _is_over(self, group: Group) -> bool:
        return len(group.entries) >= self._settings.queue_max
