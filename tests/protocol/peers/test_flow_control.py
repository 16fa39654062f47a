"""Two ends of a conversation, joined by hand: what is in flight, waits, and is fed."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.effects import SendPeer
from meshwright.protocol.foundation.events import PeerEnvelope
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import (
    Conversations,
    ConversationSettings,
    Envelope,
)
from meshwright.protocol.shared.messages import QOS0, Handed

WINDOW = 8
SETTINGS = ConversationSettings(window=WINDOW, spare_max=10)
SPARE = Handed("$share/g/t", QOS0, "client", Publication("publisher", 1, "t"))


class End:
    """One end; what it says is under way until the other one takes it in."""

    def __init__(self, name: str, peer: str) -> None:
        self.peer = peer
        self.turn = Turn(0)
        self.heard: list[Any] = []
        self.under_way: deque[Any] = deque()
        self.conversations = Conversations(
            name,
            1,
            SETTINGS,
            handlers={int: self._hear, str: self._hear, Handed: self._hear},
        )

    def _hear(self, _turn: Turn, _peer: str, body: object) -> None:
        self.heard.append(body)

    def say(self, body: object) -> None:
        self.conversations.send(self.turn, self.peer, body)
        self.collect()

    def feed(self, bodies: list[int]) -> None:
        self.conversations.feed(self.turn, self.peer, bodies, self.conversations.send)
        self.collect()

    def collect(self) -> None:
        effects, self.turn.effects = self.turn.effects, []
        self.under_way += [one.envelope for one in effects if isinstance(one, SendPeer)]

    def take(self, other: End, count: int = 1_000_000) -> None:
        """Take in what the other end said, or so much of it."""
        for _ in range(min(count, len(other.under_way))):
            self.conversations.envelope_came(
                self.turn, PeerEnvelope(self.peer, other.under_way.popleft())
            )
        self.collect()

    def bodies_under_way(self) -> list[Any]:
        return [one.body for one in self.under_way if isinstance(one, Envelope) and one.number]


def connect(one: End, other: End) -> None:
    """Join two ends by a connection."""
    for end in (one, other):
        end.under_way.clear()
        end.conversations.link_up(end.turn, end.peer)
        end.collect()
    exchange(one, other)


def exchange(one: End, other: End) -> None:
    while one.under_way or other.under_way:
        one.take(other)
        other.take(one)


def joined() -> tuple[End, End]:
    one, other = End("one", "other"), End("other", "one")
    connect(one, other)
    return one, other


def test_no_more_is_in_flight_than_the_window_and_the_rest_follows_in_order() -> None:
    one, other = joined()
    for number in range(100):
        one.say(number)
    assert one.bodies_under_way() == list(range(WINDOW))
    exchange(one, other)
    assert other.heard == list(range(100))


def test_what_is_fed_is_asked_for_when_there_is_room_and_other_words_go_between() -> None:
    one, other = joined()
    taken: list[int] = []

    def tell(turn: Turn, peer: str, number: int) -> None:
        taken.append(number)
        one.conversations.send(turn, peer, number)

    one.conversations.feed(one.turn, "other", iter(range(100)), tell)
    one.collect()
    assert taken == list(range(WINDOW // 2))
    one.say("now")
    other.take(one)
    assert other.heard == [*range(WINDOW // 2), "now"]
    exchange(one, other)
    assert [body for body in other.heard if body != "now"] == list(range(100))


def test_feeds_take_turns() -> None:
    one, other = joined()
    one.feed([1, 2, 3, 4, 5, 6])
    one.feed([11, 12, 13])
    exchange(one, other)
    assert other.heard == [1, 2, 3, 4, 5, 11, 6, 12, 13]


def test_a_heartbeat_and_acknowledgements_do_not_wait_behind_a_backlog() -> None:
    one, other = joined()
    one.conversations.keep(one.turn, ("other",))
    for number in range(2 * WINDOW):
        one.say(number)
        other.say(number)
    one.take(other)
    count = len(one.under_way)
    one.conversations.tick(one.turn)
    one.collect()
    heartbeat = one.under_way[count]
    assert (heartbeat.number, heartbeat.received) == (0, WINDOW)


def test_spare_messages_past_their_bound_are_left_out_and_no_others() -> None:
    one, other = joined()
    for number in range(2 * WINDOW):
        one.say(number)
        one.say(SPARE)
    exchange(one, other)
    assert [body for body in other.heard if body != SPARE] == list(range(2 * WINDOW))
    # As many as there were among those in flight, and the first that waited.
    assert other.heard.count(SPARE) == WINDOW // 2 + SETTINGS.spare_max


def test_what_waits_and_is_fed_outlives_a_connection() -> None:
    one, other = joined()
    for number in range(2 * WINDOW):
        one.say(number)
    one.feed(list(range(100, 120)))
    other.take(one, 3)
    connect(one, other)
    assert other.heard == [*range(2 * WINDOW), *range(100, 120)]


def test_what_is_fed_is_void_when_the_conversation_ends() -> None:
    one, other = joined()
    one.feed(list(range(100)))
    again = End("other", "one")
    again.conversations = Conversations(
        "other",
        2,
        SETTINGS,
        handlers={int: again._hear},
    )
    connect(one, again)
    one.say(7)
    exchange(one, again)
    assert (other.heard, again.heard) == ([], [7])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("say"), st.integers(1, 20)),
            st.tuples(st.just("feed"), st.integers(1, 20)),
            st.tuples(st.just("take"), st.integers(1, 10)),
            st.tuples(st.just("answer"), st.integers(1, 10)),
            st.tuples(st.just("break"), st.just(0)),
        ),
        max_size=30,
    )
)
def test_all_arrives_once_and_in_order_however_it_is_said(steps: list[tuple[str, int]]) -> None:
    one, other = joined()
    said: list[int] = []
    fed: list[int] = []
    for kind, count in steps:
        numbers = list(range(len(said) + len(fed), len(said) + len(fed) + count))
        match kind:
            case "say":
                said += numbers
                for number in numbers:
                    one.say(number)
            case "feed":
                fed += numbers
                one.feed(numbers)
            case "take":
                other.take(one, count)
            case "answer":
                one.take(other, count)
            case _:
                connect(one, other)
        assert len(set(one.bodies_under_way())) <= WINDOW
    exchange(one, other)
    assert sorted(other.heard) == sorted(said + fed)
    assert [number for number in other.heard if number in set(said)] == said
