"""Emptying: a broker that is to be stopped sends its clients elsewhere, and keeps its promises.

Clients that connect are turned away, connected ones are told to go elsewhere, and sessions follow
them or go ahead. The broker stays the origin of what was published here until all receivers have
it. When nothing is left that only its disk has, it reports that it is empty. It stays in this state
over restarts until an operator has it take clients again. What it keeps for the directory has
copies elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from meshwright.protocol.foundation.effects import CloseClient, DiskKey, SendClient
from meshwright.protocol.foundation.events import EmptyingGiven
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.messages import MoveOffer
from meshwright.protocol.mobility.pace import Pace
from meshwright.protocol.mobility.prefetching import may_go_ahead
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.sessions import Sessions

TICK = ("emptying",)
TICK_US = 1_000_000
IS_EMPTYING: DiskKey = ("emptying",)


class EmptyingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports what a broker that is being emptied still has, whenever that changes.

    step: emptying, empty or filling again.
    publications: how many publications a receiver may still need from here.
    """

    step: str
    sessions: int
    publications: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyingAround:
    """What emptying needs of the rest of the broker.

    others: the other brokers that are believed alive, sorted.
    publication_count: how many publications are kept here because a receiver may need them.
    """

    send: Callable[[Turn, str, Any], None]
    others: Callable[[], tuple[str, ...]]
    publication_count: Callable[[], int]


class Emptying:
    """Sends clients away while the broker is to be emptied.

    _targets: the brokers to send them to; any if empty.
    """

    def __init__(self, sessions: Sessions, pace: Pace, around: EmptyingAround) -> None:
        self._sessions = sessions
        self._pace = pace
        self._around = around
        self.is_on = False
        self._targets: tuple[str, ...] = ()
        self._last: EmptyingRecord | None = None

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start, go on emptying if the disk says so."""
        if IS_EMPTYING in disk:
            self.is_on, self._targets = True, disk[IS_EMPTYING]
            turn.timer(TICK, turn.now_us + TICK_US)

    def given(self, turn: Turn, event: EmptyingGiven) -> None:
        """An operator wants the broker emptied, or wants it to take clients again."""
        was_on, self.is_on = self.is_on, event.is_on
        self._targets = event.targets
        self._last = None
        turn.write(IS_EMPTYING, self._targets if self.is_on else None)
        if self.is_on:
            if not was_on:
                self._pace.announce(turn)
            turn.once_synced(self.tick)
        elif was_on:
            self._report(turn, "filling again")

    def turns_away(self, turn: Turn, client: str, packet: packets.Connect) -> bool:
        """Refuse a client that connects, if the broker is being emptied; returns whether it is."""
        if not self.is_on or self._pace.is_noticed(turn.now_us):
            return False
        target = self._target(client)
        reason = packets.USE_ANOTHER_SERVER
        if target is None or not packet.can_be_redirected:
            target, reason = None, packets.SERVER_UNAVAILABLE
        turn.ask(SendClient(client, packets.Connack(False, reason, target)))
        turn.ask(CloseClient(client))
        return True

    def tick(self, turn: Turn) -> None:
        """Send away the clients that are here, and report what is left."""
        if not self.is_on:
            return
        for session in self._sessions.all():
            if self._may_go(session):
                send = partial(self._send_away, client=session.client)
                self._pace.when_free(turn, session.client, send)
        is_empty = not self._sessions.all() and not self._around.publication_count()
        self._report(turn, "empty" if is_empty else "emptying")
        turn.timer(TICK, turn.now_us + TICK_US)

    def _send_away(self, turn: Turn, *, client: str) -> None:
        """Tell a connected client to go; offer the session of one that is away."""
        session, target = self._sessions.find(client), self._target(client)
        if not self.is_on or session is None or target is None or not self._may_go(session):
            return
        if session.is_connected:
            goodbye = packets.Disconnect(packets.USE_ANOTHER_SERVER, target)
            turn.ask(SendClient(client, goodbye))
            turn.ask(CloseClient(client))
            self._sessions.disconnect(turn, client, clean=False)
        else:
            self._around.send(turn, target, MoveOffer(client))

    def _may_go(self, session: Session) -> bool:
        """True if a client can be told to go, or its session be offered."""
        if session.is_arriving or self._target(session.client) is None:
            return False
        return session.is_connected or (may_go_ahead(session) and not session.is_leaving)

    def _target(self, client: str) -> str | None:
        """The broker for a client; the same one as long as the same brokers are alive."""
        others = self._around.others()
        names = [name for name in others if not self._targets or name in self._targets]
        if not names:
            return None
        return max(names, key=lambda name: hashlib.sha1(f"{client}\0{name}".encode()).digest())

    def _report(self, turn: Turn, step: str) -> None:
        record = EmptyingRecord(
            step=step,
            sessions=len(self._sessions.all()),
            publications=self._around.publication_count(),
        )
        if record != self._last:
            self._last = record
            turn.report(record)
