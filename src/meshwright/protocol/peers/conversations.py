"""Conversations with peers: each message arrives once and in order while both brokers live.

A connection may break at any time and lose what is under way. A conversation outlives it: messages
are numbered and kept until the peer has them, and a new connection resumes where the last ended.
Only a crash, or a silence that lasts too long, ends a conversation; both sides then begin a new one
(a new epoch), and the machines above are told that what they had not finished is void.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from meshwright.protocol.foundation.effects import CloseLink, OpenLink, SendPeer
from meshwright.protocol.foundation.events import PeerFrame
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn

TICK = ("links",)

Body = TypeVar("Body")


class ConversationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often peers are heard, and when silence counts as death."""

    heartbeat_us: int = 1_000_000
    suspect_us: int = 4_000_000
    unacknowledged_max: int = 20_000
    acknowledge_every: int = 64


class Hello(PeerMessage, frozen=True, gc=False, tag=32):
    """First word on a connection: who I am now, whom I think you are, what I have of yours."""

    counts_as = "link"

    source_epoch: int
    target_epoch: int
    received: int


class Frame(PeerMessage, Generic[Body], frozen=True, gc=False, tag=33):
    """One numbered message of a conversation; number 0 carries only the acknowledgement."""

    counts_as = "link"

    source_epoch: int
    target_epoch: int
    number: int
    received: int
    body: Body | None = None


class Conversation:
    """What one broker remembers of its exchange with one peer."""

    __slots__ = (
        "acknowledged_sent", "epoch", "heard_us", "is_connected", "is_lost", "is_open",
        "is_overfull", "number", "received", "their_epoch", "unacknowledged",
    )  # fmt: skip

    def __init__(self, epoch: int, now_us: int) -> None:
        self.epoch = epoch
        self.their_epoch = 0
        self.heard_us = now_us
        self.is_connected = False
        self.is_open = False
        self.is_lost = False
        self.begin()

    def begin(self) -> None:
        """Start counting anew, with nothing under way."""
        self.number = 0
        self.received = 0
        self.acknowledged_sent = 0
        self.is_overfull = False
        # The last of these has the number of the conversation.
        self.unacknowledged: deque[Any] = deque()

    def settle(self, received: int) -> None:
        """The peer has everything up to a number."""
        unacknowledged = self.unacknowledged
        count = received - self.number + len(unacknowledged)
        while count > 0 and unacknowledged:
            unacknowledged.popleft()
            count -= 1


class Position(NamedTuple):
    """How far a conversation is: its two halves, and the last numbers sent and received."""

    own: int
    sent: int
    theirs: int
    received: int


class Mark(NamedTuple):
    """A place in what is sent to a peer: this broker's half of the conversation, and a number."""

    epoch: int
    number: int


class Conversations:
    """All conversations of one broker in one of its lives, of which each has a higher number.

    handlers: who takes which message. It tells when a peer has been silent for too long, and when a
    conversation begins anew after a crash or a loss.
    """

    def __init__(
        self,
        me: str,
        life: int,
        settings: ConversationSettings,
        *,
        handlers: Mapping[type, Callable[[Turn, str, Any], None]],
    ) -> None:
        self._me = me
        self._settings = settings
        self._acknowledge_every = settings.acknowledge_every
        self._unacknowledged_max = settings.unacknowledged_max
        self._handlers = handlers
        # Lives are far apart, so that no epoch is ever used twice.
        self._next_epoch = life << 19
        self._conversations: dict[str, Conversation] = {}
        self._kept: set[str] = set()

    def keep(self, turn: Turn, peers: Iterable[str]) -> None:
        """Stay connected with these peers, and watch whether they live."""
        former, self._kept = self._kept, set(peers)
        for peer in sorted(self._kept):
            conversation = self._conversation(turn, peer)
            if peer not in former:
                conversation.heard_us = max(conversation.heard_us, turn.now_us)

    def queue_length(self) -> int:
        """The most that waits for one peer."""
        waiting = [len(one.unacknowledged) for one in self._conversations.values()]
        return max(waiting, default=0)

    def is_lost(self, peer: str) -> bool:
        conversation = self._conversations.get(peer)
        return conversation is not None and conversation.is_lost

    def peers(self) -> tuple[str, ...]:
        """Everybody with whom there was a conversation, sorted."""
        return tuple(sorted(self._conversations))

    def position(self, peer: str) -> Position:
        """How far the conversation with a peer is."""
        one = self._conversations.get(peer)
        if one is None:
            return Position(0, 0, 0, 0)
        return Position(one.epoch, one.number, one.their_epoch, one.received)

    def mark(self, peer: str) -> Mark:
        """Where all that was sent to a peer so far ends."""
        one = self._conversations.get(peer)
        return Mark(0, 0) if one is None else Mark(one.epoch, one.number)

    def has_reached(self, peer: str, mark: Mark) -> bool:
        """True if a peer is known to have got all up to a mark, in one conversation."""
        one = self._conversations.get(peer)
        if one is None or one.epoch != mark.epoch or one.is_overfull:
            return False
        return mark.number <= one.number - len(one.unacknowledged)

    def send(self, turn: Turn, peer: str, body: object) -> None:
        """Send a message, or take one to this broker itself.

        One to a lost peer, or past what may wait, is void from the start.
        """
        conversation = self._conversations.get(peer)
        if conversation is None:
            if peer == self._me:
                self._handlers[type(body)](turn, peer, body)
                return
            conversation = self._conversation(turn, peer)
        if conversation.is_lost:
            return
        unacknowledged = conversation.unacknowledged
        if len(unacknowledged) >= self._unacknowledged_max or conversation.is_overfull:
            conversation.is_overfull = True
            return
        if not unacknowledged and peer not in self._kept and turn.now_us > conversation.heard_us:
            # An answer is due only from now on: silence before says nothing about the peer.
            conversation.heard_us = turn.now_us
        number = conversation.number = conversation.number + 1
        unacknowledged.append(body)
        if conversation.is_open:
            # As _send_frame does, which is a call too many for what is done most often.
            received = conversation.acknowledged_sent = conversation.received
            frame = Frame(conversation.epoch, conversation.their_epoch, number, received, body)
            turn.effects.append(SendPeer(peer, frame))

    def link_up(self, turn: Turn, peer: str) -> None:
        """A connection stands: say hello."""
        conversation = self._conversation(turn, peer, connect=False)
        conversation.is_connected = True
        conversation.is_open = False
        conversation.heard_us = turn.now_us
        self._send_hello(turn, peer, conversation)

    def link_down(self, turn: Turn, peer: str) -> None:
        """A connection broke, or could not be made; the next tick tries again."""
        conversation = self._conversation(turn, peer, connect=False)
        conversation.is_connected = False
        conversation.is_open = False

    def frame(self, turn: Turn, event: PeerFrame) -> None:
        """A hello or a frame came in."""
        peer = event.peer
        frame = event.frame
        conversation = self._conversations.get(peer)
        if conversation is None:
            conversation = self._conversation(turn, peer, connect=False)
        conversation.heard_us = turn.now_us
        if type(frame) is Hello:
            self._hello(turn, peer, conversation, frame)
            return
        if (
            frame.source_epoch != conversation.their_epoch
            or frame.target_epoch != conversation.epoch
        ):
            return
        unacknowledged = conversation.unacknowledged
        if unacknowledged:
            settled_count = frame.received - conversation.number + len(unacknowledged)
            if settled_count == 1:
                unacknowledged.popleft()
            elif settled_count:
                conversation.settle(frame.received)
        number = frame.number
        if number == conversation.received + 1:
            conversation.received = number
            behind = number - conversation.acknowledged_sent
            body = frame.body
            self._handlers[type(body)](turn, peer, body)
            if behind >= self._acknowledge_every and conversation.is_open:
                _send_frame(turn, peer, conversation, 0, None)

    def tick(self, turn: Turn) -> None:
        """Once a heartbeat: be heard, and judge who is not."""
        for peer in sorted(self._conversations):
            conversation = self._conversations[peer]
            is_wanted = (
                peer in self._kept or conversation.is_overfull or bool(conversation.unacknowledged)
            )
            owes_word = conversation.received > conversation.acknowledged_sent
            if is_wanted or owes_word or conversation.is_lost:
                self._tick_one(turn, peer, conversation, is_wanted=is_wanted)
        turn.timer(TICK, turn.now_us + self._settings.heartbeat_us)

    def _tick_one(
        self, turn: Turn, peer: str, conversation: Conversation, *, is_wanted: bool
    ) -> None:
        silence_us = turn.now_us - conversation.heard_us
        if conversation.is_connected:
            owes_word = conversation.received > conversation.acknowledged_sent
            if conversation.is_open and (is_wanted or owes_word):
                _send_frame(turn, peer, conversation, 0, None)
        elif is_wanted or conversation.is_lost:
            turn.ask(OpenLink(peer))
        if (
            is_wanted
            and not conversation.is_lost
            and (silence_us > self._settings.suspect_us or conversation.is_overfull)
        ):
            self._lose(turn, peer, conversation)

    def _lose(self, turn: Turn, peer: str, conversation: Conversation) -> None:
        if conversation.is_connected:
            conversation.is_connected = False
            turn.ask(CloseLink(peer))
        conversation.is_lost = True
        conversation.epoch = self._fresh_epoch()
        conversation.their_epoch = 0
        conversation.is_open = False
        conversation.begin()
        turn.facts.peer_lost.tell(turn, peer)

    def _hello(self, turn: Turn, peer: str, conversation: Conversation, hello: Hello) -> None:
        if hello.source_epoch != conversation.their_epoch:
            is_first = conversation.their_epoch == 0 and not conversation.is_lost
            if not is_first:
                conversation.begin()
            conversation.their_epoch = hello.source_epoch
            conversation.is_lost = False
            if conversation.is_connected:
                self._send_hello(turn, peer, conversation)
            self._resume(turn, peer, conversation, hello)
            if not is_first:
                turn.facts.peer_renewed.tell(turn, peer)
        else:
            self._resume(turn, peer, conversation, hello)

    def _resume(self, turn: Turn, peer: str, conversation: Conversation, hello: Hello) -> None:
        """Once both sides name the same pair of epochs, send again what the peer has not got."""
        if hello.target_epoch != conversation.epoch or not conversation.is_connected:
            return
        conversation.is_open = True
        conversation.settle(hello.received)
        first = conversation.number - len(conversation.unacknowledged) + 1
        for number, body in enumerate(conversation.unacknowledged, first):
            _send_frame(turn, peer, conversation, number, body)

    def _conversation(self, turn: Turn, peer: str, *, connect: bool = True) -> Conversation:
        conversation = self._conversations.get(peer)
        if conversation is None:
            conversation = Conversation(self._fresh_epoch(), turn.now_us)
            self._conversations[peer] = conversation
            if connect:
                turn.ask(OpenLink(peer))
        return conversation

    def _fresh_epoch(self) -> int:
        self._next_epoch += 1
        return self._next_epoch

    def _send_hello(self, turn: Turn, peer: str, conversation: Conversation) -> None:
        conversation.acknowledged_sent = conversation.received
        hello = Hello(conversation.epoch, conversation.their_epoch, conversation.received)
        turn.ask(SendPeer(peer, hello))


def _send_frame(
    turn: Turn, peer: str, conversation: Conversation, number: int, body: object
) -> None:
    received = conversation.acknowledged_sent = conversation.received
    frame = Frame(conversation.epoch, conversation.their_epoch, number, received, body)
    turn.effects.append(SendPeer(peer, frame))
