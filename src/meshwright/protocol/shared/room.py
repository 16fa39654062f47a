"""Limits how many messages a group may have; more are refused to publishers, or dropped."""

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
    """Watches the queues of all groups of a keeper."""

    def __init__(self, settings: SharedSettings, full: FullQueues) -> None:
        self._settings = settings
        self._full = full

    def drops(self, group: Group) -> bool:
        """True if a message for this group must be dropped, as it has no room."""
        return self._settings.queue_full == "drop" and self._is_over(group)

    def changed(self, turn: Turn, group: Group) -> None:
        """Refuse publishers from when a group is full until a quarter of its room is free."""
        is_full = self._full.is_full(group.key)
        if self._settings.queue_full == "refuse" and not is_full and self._is_over(group):
            self._full.mark(turn, group.key, (group.wanted,))
        elif is_full and 4 * len(group.entries) <= 3 * self._settings.queue_max:
            self._full.clear(turn, group.key)

    def over(self, turn: Turn, group: Group) -> None:
        """The group has ended: refuse nobody because of it."""
        self._full.clear(turn, group.key)

    def _is_over(self, group: Group) -> bool:
        return len(group.entries) >= self._settings.queue_max
