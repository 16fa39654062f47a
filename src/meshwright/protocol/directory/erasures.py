"""Erases entries that say that their broker left, once all replicas have stored them.

Such an entry must stay for a while, or an older copy of it at another replica would count again. No
older copy is left when all replicas of the key have stored the entry, no broker that may have kept
the key before is away, and brokers that kept it by an earlier roll had time to drop it.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.removals import Removals

# So long after a change of the roll, brokers have dropped keys that others keep now.
DROPPED_AFTER_US = 300_000_000
AT_ONCE_MAX = 1_000


class Erase(PeerMessage, frozen=True, gc=False, tag=50):
    """Tells a replica to drop these entries of the sender, unless they have a later version."""

    counts_as = "directory"

    entries: tuple[tuple[str, int], ...]


class Erasures:
    """Gathers the entries of one broker that its replicas may drop, and tells them together."""

    def __init__(self, removals: Removals, send: Callable[[Turn, str, Any], None]) -> None:
        self._removals = removals
        self._send = send
        self._gathered: dict[str, list[tuple[str, int]]] = {}

    def may_begin(self, now_us: int) -> bool:
        """True if no older copy can be left of an entry that all its replicas have stored."""
        removals = self._removals
        is_whole = removals.present == removals.brokers
        return is_whole and removals.is_settled_since(now_us - DROPPED_AFTER_US)

    def gather(self, replicas: tuple[str, ...], key: str, version: int) -> None:
        """Note an entry that all its replicas may drop."""
        for replica in replicas:
            self._gathered.setdefault(replica, []).append((key, version))

    def tell(self, turn: Turn, *, asked: Container[str]) -> None:
        """Tell the replicas to drop the entries gathered.

        asked: keys on which a request is open, so that a replica may yet get an older copy.
        """
        gathered, self._gathered = self._gathered, {}
        for replica, entries in gathered.items():
            ready = [entry for entry in entries if entry[0] not in asked]
            if len(ready) < len(entries):
                self._gathered[replica] = [entry for entry in entries if entry[0] in asked]
            for first in range(0, len(ready), AT_ONCE_MAX):
                self._send(turn, replica, Erase(tuple(ready[first : first + AT_ONCE_MAX])))
