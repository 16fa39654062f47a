"""Entries of the directory that say that their owner left: forgotten once all replicas know.

An entry must leave its word behind, or an older copy of it would count again. There is no older
copy any more when all who keep its key have stored it, nobody is away who may have kept the key
before, and whoever kept it by an earlier roll had time to drop it.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.removals import Removals

# How long after a change of the roll everybody has dropped what others keep now.
DROPPED_AFTER_US = 300_000_000
AT_ONCE_MAX = 1_000


class Erase(PeerMessage, frozen=True, gc=False, tag=50):
    """Forget these entries of mine, each under its key, unless they have a later version."""

    counts_as = "directory"

    entries: tuple[tuple[str, int], ...]


class Erasures:
    """What one broker has others forget, gathered until it is told."""

    def __init__(self, removals: Removals, send: Callable[[Turn, str, Any], None]) -> None:
        self._removals = removals
        self._send = send
        self._gathered: dict[str, list[tuple[str, int]]] = {}

    def may_begin(self, now_us: int) -> bool:
        """True if nobody can have an older copy of what all replicas of its key have stored."""
        removals = self._removals
        is_whole = removals.present == removals.brokers
        return is_whole and removals.is_settled_since(now_us - DROPPED_AFTER_US)

    def gather(self, replicas: tuple[str, ...], key: str, version: int) -> None:
        """An entry is to be forgotten by all who keep it."""
        for replica in replicas:
            self._gathered.setdefault(replica, []).append((key, version))

    def tell(self, turn: Turn, *, asked: Container[str]) -> None:
        """Have everybody forget what was gathered.

        asked: keys on which a question is open, so that a replica may yet get an older copy.
        """
        gathered, self._gathered = self._gathered, {}
        for replica, entries in gathered.items():
            ready = [entry for entry in entries if entry[0] not in asked]
            if len(ready) < len(entries):
                self._gathered[replica] = [entry for entry in entries if entry[0] in asked]
            for first in range(0, len(ready), AT_ONCE_MAX):
                self._send(turn, replica, Erase(tuple(ready[first : first + AT_ONCE_MAX])))
