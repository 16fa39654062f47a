"""Laggards: brokers that missed a switch learn of it from any broker that they meet.

Peers compare epochs when they greet each other, and when a message comes for an overlay that its
receiver does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.messages import BuiltLate, Fetch, Switch

STRANGERS_MAX = 4_096


class Laggards:
    """Compares epochs with peers; the one with the newer overlay sends it to the other.

    in_force: the Switch message with the overlay in force here.
    void: the epoch of a plan that was given up; its messages may still come and mean nothing.
    """

    def __init__(
        self, *, send: Callable[[Turn, str, Any], None], in_force: Callable[[], Switch]
    ) -> None:
        self._send = send
        self._in_force = in_force
        self._missed: dict[tuple[int, str], None] = {}
        self._told: dict[str, int] = {}
        self._curious: dict[str, None] = {}
        self.void = 0

    def heard_epoch(self, turn: Turn, peer: str, epoch: int) -> None:
        """A peer says which epoch it has in force: send it ours, or fetch its."""
        mine = self._in_force().epoch
        if epoch < mine:
            self.push(turn, peer)
        elif epoch > mine:
            self._send(turn, peer, Fetch(mine))

    def unknown(self, turn: Turn, peer: str, epoch: int) -> None:
        """A peer sent a message of an overlay that this broker does not have."""
        mine = self._in_force().epoch
        if epoch < mine:
            if self._told.get(peer) != mine:
                self._told[peer] = mine
                self.push(turn, peer)
        elif epoch != self.void and (epoch, peer) not in self._missed:
            if len(self._missed) >= STRANGERS_MAX:
                self._missed.clear()
            self._missed[epoch, peer] = None
            self._send(turn, peer, Fetch(mine))

    def fetched(self, turn: Turn, peer: str, message: Fetch) -> None:
        """A peer asks for a newer overlay: send it now, or as soon as there is one."""
        if message.epoch < self._in_force().epoch:
            self.push(turn, peer)
        else:
            self._curious[peer] = None

    def built(self, turn: Turn, epoch: int) -> None:
        """This broker has a machine for an overlay now: ask peers again for what it missed."""
        for key in [key for key in self._missed if key[0] <= epoch]:
            del self._missed[key]
            if key[0] == epoch:
                self._send(turn, key[1], BuiltLate(epoch))

    def switched(self, turn: Turn) -> None:
        """A newer overlay is in force: send it to the peers that asked for one."""
        curious, self._curious = self._curious, {}
        for peer in curious:
            self.push(turn, peer)

    def peer_renewed(self, peer: str) -> None:
        """Forget what a peer was told, as it may have restarted."""
        self._told.pop(peer, None)

    def push(self, turn: Turn, peer: str) -> None:
        """Send a peer the overlay in force, once it is on this broker's disk.

        Otherwise a crash could take this broker back to an older overlay than it has told.
        """
        message = self._in_force()
        turn.once_synced(lambda later: self._send(later, peer, message))
