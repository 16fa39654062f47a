"""A newcomer: it asks brokers of a network to let it in, and does nothing else until then."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.overlays.growth import lone_overlay
from meshwright.protocol.directory.directory import REPLICAS
from meshwright.protocol.foundation.dispatch import Doors, Take, on, on_event, table_of
from meshwright.protocol.foundation.effects import CloseClient, CloseLink, DiskKey, SendClient
from meshwright.protocol.foundation.events import (
    ClientDown,
    ClientPacket,
    ClientUp,
    DiskSpace,
    EmptyingGiven,
    Event,
    ForgettingGiven,
    HoldingGiven,
    LinkDown,
    LinkUp,
    PeerEnvelope,
    PlanGiven,
    RightsChanged,
    SystemPublished,
    TimerFired,
)
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.observation import Observation
from meshwright.protocol.peers import conversations
from meshwright.protocol.peers.admission import JoinAsked, NotYet, Welcome
from meshwright.protocol.peers.conversations import Conversations, ConversationSettings
from meshwright.protocol.peers.removals import FOUNDERS
from meshwright.protocol.peers.roll import own_count
from meshwright.protocol.reconfiguration.entering import OUTSIDE

ASK = ("apply",)
# A broker that cannot have everybody's word by then may be the wrong one to ask.
ASK_EVERY_US = 2_000_000
ASKS, WAITS, LET_IN = "asks", "waits", "is let in"


class JoinRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How a broker comes into its network; step: asks one of it, waits for some, or is let in."""

    step: str
    detail: str = ""


class Applicant:
    """Asks one broker after the other; let_in gets what is to be on disk from then on."""

    def __init__(
        self,
        me: str,
        others: tuple[str, ...],
        settings: ConversationSettings,
        *,
        incarnation: int,
        let_in: Callable[[Turn, dict[DiskKey, Any]], None],
    ) -> None:
        self._me = me
        self._others = others
        self._let_in = let_in
        # Those that come at once do not all ask the same broker.
        self._asked_count = hashlib.sha1(me.encode()).digest()[0]
        self._is_let_in = False
        self.disk_is_full = False
        # Half a life before the one in which it belongs: those conversations are others.
        self._conversations = Conversations(
            me,
            2 * incarnation - 1,
            settings,
            handlers=_Deaf(table_of(on(NotYet, _not_yet), on(Welcome, self._welcomed))),
        )

    def doors(self) -> Doors:
        """What is done about each kind of event; clients are turned away."""
        return (
            on_event(PeerEnvelope, self._conversations.envelope_came),
            on_event(LinkUp, lambda turn, it: self._conversations.link_up(turn, it.peer)),
            on_event(LinkDown, lambda turn, it: self._conversations.link_down(turn, it.peer)),
            on_event(TimerFired, self._timer_fired),
            on_event(ClientUp, _turn_away),
            on_event(DiskSpace, self._disk_space),
            on_event(ClientPacket, _ignore),
            on_event(ClientDown, _ignore),
            on_event(PlanGiven, _ignore),
            on_event(EmptyingGiven, _ignore),
            on_event(ForgettingGiven, _ignore),
            on_event(HoldingGiven, _ignore),
            on_event(SystemPublished, _ignore),
            on_event(RightsChanged, _ignore),
        )

    def started(self, turn: Turn) -> None:
        """Begin to ask."""
        self._conversations.tick(turn)
        self._ask(turn)

    def observe(self, bounds: tuple[tuple[str, int], ...]) -> Observation:
        """How it stands: outside of everything."""
        lengths = (0,) * len(bounds)
        return Observation(OUTSIDE, lone_overlay(self._me), True, lengths, bounds)

    def hang_up(self, turn: Turn) -> None:
        """End all connections: conversations begin anew once the broker belongs."""
        for name in self._conversations.peers():
            turn.ask(CloseLink(name))
        turn.report(JoinRecord(step=LET_IN))

    def _ask(self, turn: Turn) -> None:
        if self._is_let_in:
            return
        broker = self._others[self._asked_count % len(self._others)]
        self._asked_count += 1
        turn.report(JoinRecord(step=ASKS, detail=broker))
        self._conversations.send(turn, broker, JoinAsked())
        turn.timer(ASK, turn.now_us + ASK_EVERY_US)

    def _timer_fired(self, turn: Turn, event: TimerFired) -> None:
        if event.key == conversations.TICK:
            self._conversations.tick(turn)
        elif event.key == ASK:
            self._ask(turn)

    def _welcomed(self, turn: Turn, peer: str, message: Welcome) -> None:
        """It is on the roll: have that on disk."""
        del peer
        if self._is_let_in:
            return
        self._is_let_in = True
        counts = dict(message.roll)
        counts[self._me] = own_count(self._me, message.founders, counts)
        kept: dict[DiskKey, Any] = {("removals", name): count for name, count in counts.items()}
        kept[FOUNDERS] = message.founders
        kept[REPLICAS] = message.replica_count
        self._let_in(turn, kept)

    def _disk_space(self, _turn: Turn, event: DiskSpace) -> None:
        self.disk_is_full = event.is_full


class _Deaf(dict[type, Take[str]]):
    """Handlers that ignore what they do not know: it is said again once the broker belongs."""

    def __missing__(self, _kind: type) -> Take[str]:
        return _ignore_message


def _not_yet(turn: Turn, _peer: str, message: NotYet) -> None:
    turn.report(JoinRecord(step=WAITS, detail=", ".join(message.waiting)))


def _ignore_message(_turn: Turn, _peer: str, _message: object) -> None:
    """Nothing to do."""


def _ignore(_turn: Turn, _event: Event) -> None:
    """Nothing to do."""


def _turn_away(turn: Turn, event: ClientUp) -> None:
    refusal = packets.Connack(False, packets.SERVER_UNAVAILABLE)
    turn.ask(SendClient(event.client, refusal))
    turn.ask(CloseClient(event.client))
