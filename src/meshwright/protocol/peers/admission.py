"""How a newcomer is let into the network by a broker that it asks.

All present brokers must answer for the newcomer, with the same roll on disk. So a broker that is
cut off cannot make a majority of newcomers, and the directory, which waits for all after a change
of the roll, does not wait in vain. Then the broker puts the newcomer on the roll, which spreads as
a removal does. The newcomer serves clients once all have the roll that it is on.
"""

from __future__ import annotations

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.open_questions import OpenQuestion, OpenQuestions
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.peers.roll import Roll


class JoinAsked(PeerMessage, frozen=True, gc=False, tag=38):
    """Let me into the network."""

    counts_as = "membership"


class NewcomerCall(PeerMessage, frozen=True, gc=False, tag=39):
    """A broker wants to join: say that you are there, and have this roll."""

    counts_as = "membership"

    serial: int
    roll: Roll


class NewcomerAnswered(PeerMessage, frozen=True, gc=False, tag=40):
    """I am, and have it on disk."""

    counts_as = "membership"

    serial: int


class NotYet(PeerMessage, frozen=True, gc=False, tag=41):
    """These brokers have not answered for you: ask again."""

    counts_as = "membership"

    waiting: tuple[str, ...]


class Welcome(PeerMessage, frozen=True, gc=False, tag=42):
    """You are on the roll; these brokers have founded the network.

    replica_count: how many brokers keep a key of its directory.
    """

    counts_as = "membership"

    founders: tuple[str, ...]
    roll: Roll
    replica_count: int


class _Call(OpenQuestion):
    """A question to everybody present."""

    __slots__ = ("newcomer", "roll")

    def __init__(self, newcomer: str, serial: int, removals: Removals) -> None:
        super().__init__(NewcomerCall(serial, removals.roll), removals.present)
        self.newcomer = newcomer
        self.roll = removals.roll


class Admission:
    """Lets newcomers in; calls: those under way, of which a newcomer has one."""

    def __init__(
        self,
        removals: Removals,
        *,
        replica_count: int,
        conversations: Conversations,
        incarnation: int,
    ) -> None:
        self._removals = removals
        self._replica_count = replica_count
        self._send = conversations.send
        self._serials = serials(incarnation)
        self._calls: OpenQuestions[int, _Call] = OpenQuestions(conversations)

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(JoinAsked, self.asked),
            on(NewcomerCall, self.called),
            on(NewcomerAnswered, self.answered),
            # For a newcomer that another broker has let in meanwhile.
            on(NotYet, _late),
            on(Welcome, _late),
        )

    def asked(self, turn: Turn, peer: str, _message: JoinAsked) -> None:
        """A broker wants to join, or has not heard that it may."""
        for serial in [n for n, one in self._calls.items() if one.newcomer == peer]:
            self._send(turn, peer, NotYet(tuple(sorted(self._calls.pop(serial).waiting_for))))
        self._call(turn, peer)

    def called(self, turn: Turn, peer: str, message: NewcomerCall) -> None:
        """Answer if the rolls are the same; otherwise tell this roll, and be asked again later."""
        self._removals.learn(turn, message.roll)
        if message.roll != self._removals.roll:
            self._removals.tell(turn, peer)
            return
        answer = NewcomerAnswered(message.serial)
        turn.once_synced(lambda later: self._send(later, peer, answer))

    def answered(self, turn: Turn, peer: str, message: NewcomerAnswered) -> None:
        """When everybody has, the newcomer is on the roll."""
        call = self._calls.answered(peer, message.serial)
        if call is None or call.waiting_for:
            return
        del self._calls[message.serial]
        if call.roll != self._removals.roll:
            self._call(turn, call.newcomer)
        elif self._removals.admit(turn, call.newcomer):
            self._welcome(turn, call.newcomer)

    def _call(self, turn: Turn, newcomer: str) -> None:
        """Ask everybody present, unless it is on the roll already."""
        removals = self._removals
        if newcomer in removals.brokers:
            self._welcome(turn, newcomer)
            return
        serial = next(self._serials)
        self._calls.ask(turn, serial, _Call(newcomer, serial, removals))

    def _welcome(self, turn: Turn, newcomer: str) -> None:
        def welcome(later: Turn) -> None:
            removals = self._removals
            words = Welcome(removals.founders, removals.roll, self._replica_count)
            self._send(later, newcomer, words)

        turn.once_synced(welcome)


def _late(_turn: Turn, _peer: str, _message: NotYet | Welcome) -> None:
    """Nothing to do."""
