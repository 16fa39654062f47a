"""Conversations with peers: each message arrives once and in order while both brokers live.

A connection may break at any time and lose what was sent on it. A conversation outlives it:
messages are numbered and kept until the peer has them, and a new connection resumes where the last
ended. Only a crash, or a silence that lasts too long, ends a conversation; both sides then begin a
new one (a new generation), and the machines above are told that what they had not finished is void.

So many messages are in flight to a peer at once (the window); others wait for room (the backlog).
Who has much to tell, feeds it: it is asked for the next message when there is room for one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from meshwright.protocol.foundation.dispatch import Table
from meshwright.protocol.foundation.effects import CloseLink, OpenLink, SendPeer
from meshwright.protocol.foundation.events import PeerEnvelope
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Turn

TICK = ("links",)

Body = TypeVar("Body")
Item = TypeVar("Item")


class LinkState(Enum):
    """How far the connection with a peer is."""

    DOWN = "there is none"
    GREETING = "it stands, and this broker has said Hello on it"
    OPEN = "both brokers name the same generations, so messages are sent on it"


LINK_STATES = Transitions(
    {
        # One that could not be made ends, too.
        LinkState.DOWN: (LinkState.DOWN, LinkState.GREETING),
        # A new connection may stand before the end of the former one is known.
        LinkState.GREETING: (LinkState.DOWN, LinkState.GREETING, LinkState.OPEN),
        # A peer that begins anew says Hello once more.
        LinkState.OPEN: (LinkState.DOWN, LinkState.GREETING, LinkState.OPEN),
    }
)
# Looked at for each message, and an attribute of an enum is slow to find.
OPEN = LinkState.OPEN


class ConversationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often peers are heard, when silence counts as death, how much goes to a peer at once.

    window: messages that are sent before the first of them is acknowledged; all brokers of a
    network have the same, as a peer acknowledges in time for it. spare_max: spare messages
    that wait besides; more are left out.
    """

    heartbeat_us: int = 1_000_000
    suspect_us: int = 4_000_000
    window: int = 4_000
    spare_max: int = 16_000
    acknowledge_every: int = 64


class Hello(PeerMessage, frozen=True, gc=False, tag=32):
    """First word on a connection: who I am now, whom I think you are, what I have of yours."""

    counts_as = "link"

    source_generation: int
    target_generation: int
    received: int


class Envelope(PeerMessage, Generic[Body], frozen=True, gc=False, tag=33):
    """One numbered message of a conversation; number 0: a heartbeat, with a message or without."""

    counts_as = "link"

    source_generation: int
    target_generation: int
    number: int
    received: int
    body: Body | None = None


class Conversation:
    """What one broker remembers of its exchange with one peer.

    in_flight: sent and not acknowledged; the last of these has the number of the conversation.
    backlog: what follows them, spare_count of which may be left out. feeds: what is told when there
    is room, each in its turn.
    """

    __slots__ = (
        "acknowledged_sent",
        "backlog",
        "feeds",
        "generation",
        "heard_us",
        "in_flight",
        "is_lost",
        "link",
        "number",
        "received",
        "spare_count",
        "their_generation",
    )  # fmt: skip

    def __init__(self, generation: int, now_us: int) -> None:
        self.generation = generation
        self.their_generation = 0
        self.heard_us = now_us
        self.link = LinkState.DOWN
        self.is_lost = False
        self.begin()

    def begin(self) -> None:
        """Start counting anew, with nothing in flight."""
        self.number = 0
        self.received = 0
        self.acknowledged_sent = 0
        self.in_flight: deque[Any] = deque()
        self.backlog: deque[Any] = deque()
        self.spare_count = 0
        self.feeds: deque[Feed] = deque()

    def go_on(self, link: LinkState) -> None:
        """The connection has changed."""
        self.link = LINK_STATES.checked(self.link, link)

    @property
    def last_number(self) -> int:
        """The number of the last message that was taken, sent or not."""
        return self.number + len(self.backlog)

    def settle(self, received: int) -> None:
        """The peer has everything up to a number."""
        in_flight = self.in_flight
        count = received - self.number + len(in_flight)
        while count > 0 and in_flight:
            in_flight.popleft()
            count -= 1


class Feed(NamedTuple):
    """What a peer is told item by item; tell sends what is to be said of one."""

    items: Iterator[Any]
    tell: Callable[[Turn, str, Any], None]


class Progress(NamedTuple):
    """How far a conversation is: its two halves, and the last numbers sent and received."""

    own: int
    sent: int
    theirs: int
    received: int


class Mark(NamedTuple):
    """A place in what is sent to a peer: this broker's half of the conversation, and a number."""

    generation: int
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
        handlers: Table[str],
    ) -> None:
        self._me = me
        self._settings = settings
        self._acknowledge_every = min(settings.acknowledge_every, max(1, settings.window // 4))
        self._window = settings.window
        self._spare_max = settings.spare_max
        # What is fed leaves room for what is sent.
        self._fed_max = max(1, settings.window // 2)
        self._handlers = handlers
        # Lives are far apart, so that no generation is ever used twice.
        self._next_generation = life << 19
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
        """The most that is in flight to one peer, with the spare messages that wait for it."""
        every = self._conversations.values()
        return max((len(one.in_flight) + one.spare_count for one in every), default=0)

    def is_lost(self, peer: str) -> bool:
        conversation = self._conversations.get(peer)
        return conversation is not None and conversation.is_lost

    def peers(self) -> tuple[str, ...]:
        """Everybody with whom there was a conversation, sorted."""
        return tuple(sorted(self._conversations))

    def progress(self, peer: str) -> Progress:
        """How far the conversation with a peer is."""
        one = self._conversations.get(peer)
        if one is None:
            return Progress(0, 0, 0, 0)
        return Progress(one.generation, one.last_number, one.their_generation, one.received)

    def mark(self, peer: str) -> Mark:
        """Where all that was sent to a peer so far ends."""
        one = self._conversations.get(peer)
        return Mark(0, 0) if one is None else Mark(one.generation, one.last_number)

    def has_reached(self, peer: str, mark: Mark) -> bool:
        """True if a peer is known to have got all up to a mark, in one conversation."""
        one = self._conversations.get(peer)
        if one is None or one.generation != mark.generation:
            return False
        return mark.number <= one.number - len(one.in_flight)

    def send(self, turn: Turn, peer: str, body: object) -> None:
        """Send a message, after those before it, or take one to this broker itself.

        One to a lost peer is void from the start, as is a spare one past what may wait.
        """
        conversation = self._conversations.get(peer)
        if conversation is None:
            if peer == self._me:
                self._handlers[type(body)](turn, peer, body)
                return
            conversation = self._conversation(turn, peer)
        if conversation.is_lost:
            return
        in_flight = conversation.in_flight
        if len(in_flight) >= self._window:
            self._put_off(conversation, body)
            return
        if not in_flight and peer not in self._kept and turn.now_us > conversation.heard_us:
            # An answer is due only from now on: silence before says nothing about the peer.
            conversation.heard_us = turn.now_us
        number = conversation.number = conversation.number + 1
        in_flight.append(body)
        if conversation.link is OPEN:
            # As _send_envelope does, which is a call too many for what is done most often.
            received = conversation.acknowledged_sent = conversation.received
            envelope = Envelope(
                conversation.generation, conversation.their_generation, number, received, body
            )
            turn.effects.append(SendPeer(peer, envelope))

    def say(self, turn: Turn, peer: str, body: object) -> bool:
        """Send a message with a heartbeat: at once or not at all, and never again.

        True if it was sent; where there is no connection one is made, for the next time.
        """
        conversation = self._conversation(turn, peer)
        if conversation.link is OPEN:
            _send_envelope(turn, peer, conversation, 0, body)
            return True
        if conversation.link is LinkState.DOWN:
            turn.ask(OpenLink(peer))
        return False

    def feed(
        self,
        turn: Turn,
        peer: str,
        items: Iterable[Item],
        tell: Callable[[Turn, str, Item], None],
    ) -> None:
        """Tell a peer of one item after the other, each when there is room for it.

        Other messages go in between. What is not told when the conversation ends is void.
        """
        if peer == self._me:
            for item in items:
                tell(turn, peer, item)
            return
        conversation = self._conversation(turn, peer)
        if not conversation.is_lost:
            conversation.feeds.append(Feed(iter(items), tell))
            self._fill(turn, peer, conversation)

    def link_up(self, turn: Turn, peer: str) -> None:
        """A connection stands: say hello."""
        conversation = self._conversation(turn, peer, connect=False)
        conversation.go_on(LinkState.GREETING)
        conversation.heard_us = turn.now_us
        self._send_hello(turn, peer, conversation)

    def link_down(self, turn: Turn, peer: str) -> None:
        """A connection broke, or could not be made; the next tick tries again."""
        conversation = self._conversation(turn, peer, connect=False)
        conversation.go_on(LinkState.DOWN)

    def envelope_came(self, turn: Turn, event: PeerEnvelope) -> None:
        """A Hello or an Envelope came in from a peer."""
        peer = event.peer
        envelope = event.envelope
        conversation = self._conversations.get(peer)
        if conversation is None:
            conversation = self._conversation(turn, peer, connect=False)
        conversation.heard_us = turn.now_us
        if type(envelope) is Hello:
            self._hello(turn, peer, conversation, envelope)
            return
        if (
            envelope.source_generation != conversation.their_generation
            or envelope.target_generation != conversation.generation
        ):
            return
        in_flight = conversation.in_flight
        if in_flight:
            settled_count = envelope.received - conversation.number + len(in_flight)
            if settled_count == 1:
                in_flight.popleft()
            elif settled_count:
                conversation.settle(envelope.received)
            if conversation.backlog or conversation.feeds:
                self._fill(turn, peer, conversation)
        number = envelope.number
        if number == conversation.received + 1:
            conversation.received = number
            behind = number - conversation.acknowledged_sent
            body = envelope.body
            self._handlers[type(body)](turn, peer, body)
            if behind >= self._acknowledge_every and conversation.link is OPEN:
                _send_envelope(turn, peer, conversation, 0, None)
        elif number == 0 and envelope.body is not None:
            self._handlers.get(type(envelope.body), _unheard)(turn, peer, envelope.body)

    def tick(self, turn: Turn) -> None:
        """Once a heartbeat: be heard, and judge who is not."""
        for peer in sorted(self._conversations):
            conversation = self._conversations[peer]
            is_wanted = peer in self._kept or bool(conversation.in_flight)
            owes_word = conversation.received > conversation.acknowledged_sent
            if is_wanted or owes_word or conversation.is_lost:
                self._tick_one(turn, peer, conversation, is_wanted=is_wanted)
        turn.timer(TICK, turn.now_us + self._settings.heartbeat_us)

    def _tick_one(
        self, turn: Turn, peer: str, conversation: Conversation, *, is_wanted: bool
    ) -> None:
        silence_us = turn.now_us - conversation.heard_us
        if conversation.link is LinkState.OPEN:
            owes_word = conversation.received > conversation.acknowledged_sent
            if is_wanted or owes_word:
                _send_envelope(turn, peer, conversation, 0, None)
        elif conversation.link is LinkState.DOWN and (is_wanted or conversation.is_lost):
            turn.ask(OpenLink(peer))
        if is_wanted and not conversation.is_lost and silence_us > self._settings.suspect_us:
            self._lose(turn, peer, conversation)

    def _lose(self, turn: Turn, peer: str, conversation: Conversation) -> None:
        if conversation.link is not LinkState.DOWN:
            conversation.go_on(LinkState.DOWN)
            turn.ask(CloseLink(peer))
        conversation.is_lost = True
        conversation.generation = self._fresh_generation()
        conversation.their_generation = 0
        conversation.begin()
        turn.facts.peer_lost.tell(turn, peer)

    def _hello(self, turn: Turn, peer: str, conversation: Conversation, hello: Hello) -> None:
        if hello.source_generation != conversation.their_generation:
            is_first = conversation.their_generation == 0 and not conversation.is_lost
            if not is_first:
                conversation.begin()
            conversation.their_generation = hello.source_generation
            conversation.is_lost = False
            if conversation.link is not LinkState.DOWN:
                self._send_hello(turn, peer, conversation)
            self._resume(turn, peer, conversation, hello)
            if not is_first:
                turn.facts.peer_renewed.tell(turn, peer)
        else:
            self._resume(turn, peer, conversation, hello)

    def _resume(self, turn: Turn, peer: str, conversation: Conversation, hello: Hello) -> None:
        """Send again what the peer has not got, once both sides name the same generations."""
        if (
            hello.target_generation != conversation.generation
            or conversation.link is LinkState.DOWN
        ):
            return
        conversation.go_on(LinkState.OPEN)
        conversation.settle(hello.received)
        first = conversation.number - len(conversation.in_flight) + 1
        for number, body in enumerate(conversation.in_flight, first):
            _send_envelope(turn, peer, conversation, number, body)
        self._fill(turn, peer, conversation)

    def _fill(self, turn: Turn, peer: str, conversation: Conversation) -> None:
        """Use the room that there is: what waits goes first, then what is fed."""
        in_flight, backlog, feeds = conversation.in_flight, conversation.backlog, conversation.feeds
        while backlog and len(in_flight) < self._window:
            body = backlog.popleft()
            conversation.spare_count -= _is_spare(body)
            conversation.number += 1
            in_flight.append(body)
            if conversation.link is OPEN:
                _send_envelope(turn, peer, conversation, conversation.number, body)
        while feeds and len(in_flight) < self._fed_max:
            feed = feeds.popleft()
            for item in feed.items:
                feed.tell(turn, peer, item)
                feeds.append(feed)
                break

    def _put_off(self, conversation: Conversation, body: object) -> None:
        """Let a message wait for room, unless it is one spare message too many."""
        if _is_spare(body):
            if conversation.spare_count >= self._spare_max:
                return
            conversation.spare_count += 1
        conversation.backlog.append(body)

    def _conversation(self, turn: Turn, peer: str, *, connect: bool = True) -> Conversation:
        conversation = self._conversations.get(peer)
        if conversation is None:
            conversation = Conversation(self._fresh_generation(), turn.now_us)
            self._conversations[peer] = conversation
            if connect:
                turn.ask(OpenLink(peer))
        return conversation

    def _fresh_generation(self) -> int:
        self._next_generation += 1
        return self._next_generation

    def _send_hello(self, turn: Turn, peer: str, conversation: Conversation) -> None:
        conversation.acknowledged_sent = conversation.received
        hello = Hello(conversation.generation, conversation.their_generation, conversation.received)
        turn.ask(SendPeer(peer, hello))


def _send_envelope(
    turn: Turn, peer: str, conversation: Conversation, number: int, body: object
) -> None:
    received = conversation.acknowledged_sent = conversation.received
    envelope = Envelope(
        conversation.generation, conversation.their_generation, number, received, body
    )
    turn.effects.append(SendPeer(peer, envelope))


def _unheard(_turn: Turn, _peer: str, _body: object) -> None:
    """What comes with a heartbeat may be left alone."""


def _is_spare(body: object) -> bool:
    return isinstance(body, PeerMessage) and body.is_spare
