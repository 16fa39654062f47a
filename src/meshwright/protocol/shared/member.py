"""A member's side of shared subscriptions: the clients here in groups, and what they hold.

A hand is one message given to one member, by its number. This broker knows a hand from when it
takes it until the keeper has forgotten it, and holds it while the message waits for the client or
its acknowledgement. A known hand that is not held is done. The hand is written to disk when the
message is taken for good: the session is on disk itself, or a QoS 2 message goes out. A hand that
was not written is unknown after a crash, and goes back to the keeper. A message may come under a
second hand after this broker was out of reach: it is held under the first, and all are answered
together. Hands that a client took to another broker are answered there once the keeper knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from meshwright.filters.filter import SHARE_PREFIX
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Action, Turn, nothing
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.peers.roll import SEATS_MAX
from meshwright.protocol.sessions.session import Hand, Session, Waiting
from meshwright.protocol.shared.at_most_once import LastHanded, Line
from meshwright.protocol.shared.messages import (
    QOS0,
    HandAccepted,
    HandDone,
    Handed,
    HandForgotten,
    HandMoved,
    HandOffered,
    HandUndone,
    Member,
    Members,
    MembersKept,
    MembersQuestion,
    keeper_of,
)
from meshwright.protocol.shared.takeover import Holding, Holdings, HoldingsQuestion

# How many numbers are remembered of each stream of a group.
RECENT_MAX = 64

# The text of a shared subscription, and the origin and topic of a stream.
Stream = tuple[str, str, str]
# The text of a shared subscription, and the publisher and sequence of a message.
GroupMessage = tuple[str, str, int]
Take = Callable[[Turn, str, Hand, Publication], bool]


class Away(NamedTuple):
    """Where a client has gone with a message, "" while it is on its way, and by which claim."""

    target: str
    claim: int


class SharedMember:
    """All members of groups at this broker.

    take: queues a message for a client; False if the client is not here.
    _known: the hands known here, with the message of each.
    _held: the hands held here.
    _away: hands that clients took along to another broker.
    _moving: clients on their way, with the version of Members that first says so.
    _unconfirmed: what to do when the keeper has a version of Members on disk.
    _highest, _recent: numbers handed here, for a keeper that has to take over.
    _came_as: for each hand, the stream and number of its message.
    _marks: the hands on disk.
    """

    def __init__(
        self,
        removals: Removals,
        *,
        send: Callable[[Turn, str, Any], None],
        take: Take,
        incarnation: int,
    ) -> None:
        self._removals = removals
        self._keepers = removals.never_removed()
        self._send = send
        self._take = take
        self._version = incarnation << 32
        self._members: dict[str, dict[str, Member]] = {}
        self._moving: dict[str, dict[str, int]] = {}
        self._unconfirmed: dict[str, list[tuple[int, Action]]] = {}
        self._known: dict[Hand, GroupMessage] = {}
        self._hands_by_message: dict[GroupMessage, dict[Hand, None]] = {}
        self._held: dict[Hand, Holding] = {}
        self._away: dict[Hand, Away] = {}
        self._highest: dict[Stream, int] = {}
        self._recent: dict[Stream, dict[int, None]] = {}
        self._came_as: dict[Hand, tuple[Stream, int]] = {}
        self._marks: dict[Hand, None] = {}
        self._last_handed = LastHanded()

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(MembersKept, self.kept),
            on(MembersQuestion, self.asked),
            on(HandOffered, self.offered),
            on(Handed, self.handed),
            on(HandForgotten, self.forgotten),
            on(HoldingsQuestion, self.holdings_asked),
        )

    def restore(self, turn: Turn, disk: dict[DiskKey, Any], sessions: Iterable[Session]) -> None:
        """After a start, read from disk what sessions hold, and tell keepers the members."""
        # The roll was not read from disk yet when this object was made.
        self._keepers = self._removals.never_removed()
        for key in sorted(key for key in disk if key[0] == "hand"):
            hand = (str(key[1]), int(key[2]))
            self._marks[hand] = None
            self._know(hand, (hand[0], *disk[key]))
        for key in sorted(key for key in disk if key[0] == "hand away"):
            hand = (str(key[1]), int(key[2]))
            publisher, sequence, *away = disk[key]
            self._know(hand, (hand[0], publisher, sequence))
            self._away[hand] = Away(*away)
        for key in sorted(key for key in disk if key[0] == "handed"):
            self._highest[str(key[1]), str(key[2]), str(key[3])] = disk[key]
        for session in sessions:
            for text in shared_texts(session):
                member = Member(session.client, session.subscriptions[text].qos, False)
                self._members.setdefault(text, {})[session.client] = member
            self._hold(turn, session)
        self._tell_ends(turn, list(self._known))
        for text in self._members:
            self._tell(turn, text)

    def join(self, turn: Turn, session: Session, key: str, done: Action) -> None:
        """A client subscribes; done is called once the keeper has it and hands it messages."""
        member = Member(session.client, session.subscriptions[key].qos, session.is_connected)
        self._members.setdefault(key, {})[session.client] = member
        self._version += 1
        self._unconfirmed.setdefault(key, []).append((self._version, done))
        self._tell(turn, key)

    def leave(self, turn: Turn, client: str, key: str, *, is_moving: bool = False) -> None:
        """A client's subscription ends here; is_moving: it goes on at another broker."""
        members = self._members.get(key, {})
        if members.pop(client, None) is None:
            return
        if is_moving:
            # Every Members message says so until the keeper has this version on disk.
            self._moving.setdefault(key, {})[client] = self._version + 1
        self._tell(turn, key)
        if not members:
            del self._members[key]

    def stirred(self, turn: Turn, session: Session) -> None:
        """A client connected or disconnected: tell the keepers of its groups."""
        for key in shared_texts(session):
            members = self._members.get(key, {})
            member = members.get(session.client)
            if member is not None and member.is_connected != session.is_connected:
                members[session.client] = member._replace(is_connected=session.is_connected)
                self._tell(turn, key)

    def arrived(self, turn: Turn, session: Session) -> None:
        """A session has moved here: tell the keepers, and hold the messages it brought."""
        self._hold(turn, session)
        for key in shared_texts(session):
            self.join(turn, session, key, nothing)

    def departed(self, turn: Turn, session: Session, target: str = "") -> None:
        """A session leaves for another broker with all messages that it holds.

        target: the broker that has it, "" while it is on its way.
        """
        for key in shared_texts(session):
            self.leave(turn, session.client, key, is_moving=True)
        away = Away(target, session.claim)
        hands = [hand for one in _handed(session) for hand in self._send_off(turn, one, away)]
        if target:
            turn.once_synced(lambda later: self._tell_away(later, hands))

    def ended(self, turn: Turn, session: Session, target: str | None) -> None:
        """The session here ends, as it goes on elsewhere.

        target: the broker that got it from here; None if this copy is just dropped.
        """
        self.departed(turn, session, target or "")
        if target is None:
            for waiting in _handed(session):
                self._release(waiting)

    def kept(self, turn: Turn, _peer: str, message: MembersKept) -> None:
        """A keeper has this broker's members on disk, up to a version."""
        unconfirmed = self._unconfirmed.pop(message.key, [])
        later = [(version, done) for version, done in unconfirmed if version > message.version]
        if later:
            self._unconfirmed[message.key] = later
        moving = self._moving.pop(message.key, {})
        untold = {client: at for client, at in moving.items() if at > message.version}
        if untold:
            self._moving[message.key] = untold
        for version, done in unconfirmed:
            if version <= message.version:
                done(turn)

    def asked(self, turn: Turn, _peer: str, message: MembersQuestion) -> None:
        """A keeper asks for the members here."""
        self._tell(turn, message.key, self._last_handed.lines(message.key))

    def offered(self, turn: Turn, peer: str, message: HandOffered) -> None:
        """A QoS 2 message is offered: say whether its client is here."""
        is_here = message.client in self._members.get(message.key, {})
        answer = HandAccepted if is_here else HandUndone
        self._send(turn, peer, answer(message.key, message.hand))

    def handed(self, turn: Turn, peer: str, message: Handed) -> None:
        """A message for a client comes: queue it, unless it came before or the client is gone."""
        hand = (message.key, message.hand)
        if message.hand == QOS0:
            if self._last_handed.is_new(message.key, message.publication):
                self._take(turn, message.client, hand, message.publication)
            return
        message_id = (message.key, *message.publication.publication_id)
        if hand in self._away:
            self._tell_away(turn, (hand,))
            return
        if self._is_held(message_id):
            self._know(hand, message_id)
            return
        if not all(one in self._away for one in self._hands_by_message.get(message_id, ())):
            self._send(turn, peer, HandDone(*hand))
            return
        self._know(hand, message_id)
        member = self._members.get(message.key, {}).get(message.client)
        qos = min(message.publication.qos, member.qos) if member is not None else 0
        self._held[hand] = Holding(message.hand, message.client, message.publication, qos)
        if not self._take(turn, message.client, hand, message.publication):
            del self._held[hand]
            self._unknow(turn, hand)
            self._send(turn, peer, HandUndone(*hand))
        else:
            self._remember(turn, message, is_once=qos == 2)

    def forgotten(self, turn: Turn, _peer: str, message: HandForgotten) -> None:
        """A keeper has forgotten hands: forget them here too."""
        for hand in (message.hand, *message.others):
            self._unknow(turn, (message.key, hand))

    def mark(self, turn: Turn, waiting: Waiting) -> None:
        """Write to disk that a message is taken for good."""
        if waiting.hand is not None and waiting.hand not in self._marks:
            self._marks[waiting.hand] = None
            turn.write(("hand", *waiting.hand), tuple(waiting.publication.publication_id))

    def settled(self, turn: Turn, waiting: Waiting) -> None:
        """A client has acknowledged a message, or it was dropped with a report: tell the keeper."""
        hands = self._release(waiting)

        def settle(later: Turn) -> None:
            for one in hands:
                self._send(later, self._hander(one), HandDone(*one))

        if hands:
            turn.once_synced(settle)

    def abandoned(self, turn: Turn, session: Session) -> None:
        """A session has ended: give its messages back for other members.

        QoS 2 messages in flight may have reached the client, so they count as done.
        """
        for waiting in session.in_flight.values():
            if waiting.qos == 2:
                self.settled(turn, waiting)
            else:
                self._give_back(turn, waiting)
        for waiting in session.queue:
            self._give_back(turn, waiting)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A keeper may have restarted: tell it members and finished hands again."""
        for key in {**self._members, **self._moving, **self._unconfirmed}:
            if self._keeper(key) == peer:
                self._tell(turn, key)
        self._tell_ends(turn, [hand for hand in self._known if self._hander(hand) == peer])

    def roll_changed(self, turn: Turn) -> None:
        """Brokers were removed or joined: tell new keepers of groups the members here."""
        former, self._keepers = self._keepers, self._removals.never_removed()
        for key in {**self._members, **self._moving, **self._unconfirmed}:
            if keeper_of(key, former) != self._keeper(key):
                self._tell(turn, key)
        kept = [hand for hand in self._known if self._hander(hand) == self._keeper(hand[0])]
        self._tell_ends(turn, kept)

    def all_passed(self, turn: Turn, origin: str, number: int) -> None:
        """Forget numbers of an origin up to this one: no keeper is owed them any more."""
        passed = [one for one, last in self._highest.items() if one[1] == origin and last <= number]
        for stream in passed:
            del self._highest[stream]
            turn.forget(("handed", *stream))
        for stream in [one for one in self._recent if one[1] == origin]:
            if max(self._recent[stream], default=0) <= number:
                del self._recent[stream]

    def holdings_asked(self, turn: Turn, peer: str, message: HoldingsQuestion) -> None:
        """A new keeper asks what members here hold and were handed."""
        held = tuple(one for (key, _), one in self._held.items() if key == message.key)
        highest = tuple(
            (origin, topic, number)
            for (key, origin, topic), number in self._highest.items()
            if key == message.key
        )
        recent = tuple(
            (origin, topic, tuple(numbers))
            for (key, origin, topic), numbers in self._recent.items()
            if key == message.key
        )
        qos0 = self._last_handed.lines(message.key)
        answer = Holdings(message.key, held, highest, recent, qos0)
        turn.once_synced(lambda later: self._send(later, peer, answer))

    def _remember(self, turn: Turn, message: Handed, *, is_once: bool) -> None:
        """Note the number of a message handed here, for a keeper that has to take over."""
        stream = (message.key, message.origin, message.publication.topic)
        recent = self._recent.setdefault(stream, {})
        recent[message.number] = None
        if len(recent) > RECENT_MAX:
            del recent[next(iter(recent))]
        self._came_as[message.key, message.hand] = (stream, message.number)
        if is_once:
            self._highest[stream] = max(message.number, self._highest.get(stream, 0))
            turn.write(("handed", *stream), self._highest[stream])

    def _hold(self, turn: Turn, session: Session) -> None:
        """Hold all messages of shared subscriptions in a session."""
        for waiting in _handed(session):
            hand = waiting.hand
            assert hand is not None
            self._know(hand, (hand[0], *waiting.publication.publication_id))
            self._held[hand] = Holding(hand[1], session.client, waiting.publication, waiting.qos)
            if session.is_durable:
                self.mark(turn, waiting)
            for one in self._hands_of(waiting):
                if self._away.pop(one, None) is not None:
                    turn.write(("hand away", *one), None)

    def _give_back(self, turn: Turn, waiting: Waiting) -> None:
        """Give a message back to the keeper, for another member."""
        hands = self._release(waiting)
        if not hands:
            return
        *formers, last = hands
        for one in hands:
            stream, number = self._came_as.get(one, (None, 0))
            if stream in self._recent:
                self._recent[stream].pop(number, None)
            self._unknow(turn, one)

        def give_back(later: Turn) -> None:
            for one in formers:
                self._send(later, self._hander(one), HandUndone(*one))
            is_inherited = self._hander(last) != self._first_hander(last)
            publication = waiting.publication if is_inherited else None
            self._send(later, self._hander(last), HandUndone(*last, publication))

        turn.once_synced(give_back)

    def _is_held(self, message_id: GroupMessage) -> bool:
        return any(hand in self._held for hand in self._hands_by_message.get(message_id, ()))

    def _send_off(self, turn: Turn, waiting: Waiting, away: Away) -> tuple[Hand, ...]:
        """Note that a message leaves with its client; returns its hands."""
        hands = self._release(waiting)
        for hand in hands:
            self._away[hand] = away
            if away.target:
                turn.write(("hand away", *hand), (*waiting.publication.publication_id, *away))
        return hands

    def _release(self, waiting: Waiting) -> tuple[Hand, ...]:
        """Hold a message no more; returns its hands, if it was held or on its way elsewhere."""
        hand = waiting.hand
        if hand is None:
            return ()
        hands = self._hands_of(waiting)
        was_held = self._held.pop(hand, None) is not None
        on_its_way = [one for one in hands if one in self._away and not self._away[one].target]
        for one in on_its_way:
            del self._away[one]
        return hands if was_held or on_its_way else ()

    def _tell_away(self, turn: Turn, hands: Iterable[Hand]) -> None:
        """Tell keepers to which broker hands went with their client, if it has arrived there."""
        together: dict[tuple[str, str, Away], list[int]] = {}
        for hand in hands:
            away = self._away.get(hand)
            if away is not None and away.target:
                together.setdefault((self._hander(hand), hand[0], away), []).append(hand[1])
        for (hander, key, away), numbers in together.items():
            self._send(turn, hander, HandMoved(key, tuple(numbers), *away))

    def _tell_ends(self, turn: Turn, hands: list[Hand]) -> None:
        """Tell keepers what became of hands that nobody here holds: moved away, or done."""
        self._tell_away(turn, hands)
        for hand in hands:
            if hand not in self._away and not self._is_held(self._known[hand]):
                self._send(turn, self._hander(hand), HandDone(*hand))

    def _hands_of(self, waiting: Waiting) -> tuple[Hand, ...]:
        """All hands under which a message came."""
        hand = waiting.hand
        if hand is None:
            return ()
        return tuple(
            self._hands_by_message.get((hand[0], *waiting.publication.publication_id), (hand,))
        )

    def _know(self, hand: Hand, message_id: GroupMessage) -> None:
        self._known[hand] = message_id
        self._hands_by_message.setdefault(message_id, {})[hand] = None

    def _unknow(self, turn: Turn, hand: Hand) -> None:
        self._came_as.pop(hand, None)
        message_id = self._known.pop(hand, None)
        if message_id is not None:
            hands = self._hands_by_message[message_id]
            del hands[hand]
            if not hands:
                del self._hands_by_message[message_id]
        if self._marks.pop(hand, self) is None:
            turn.write(("hand", *hand), None)
        if self._away.pop(hand, None) is not None:
            turn.write(("hand away", *hand), None)

    def _tell(self, turn: Turn, key: str, handed: tuple[Line, ...] | None = None) -> None:
        members = tuple(self._members.get(key, {}).values())
        moving = tuple(self._moving.get(key, ()))
        self._version += 1
        told = Members(key, self._version, members, moving, handed)
        self._send(turn, self._keeper(key), told)

    def _keeper(self, key: str) -> str:
        return keeper_of(key, self._keepers)

    def _first_hander(self, hand: Hand) -> str | None:
        return self._removals.broker_at(hand[1] % SEATS_MAX)

    def _hander(self, hand: Hand) -> str:
        """The keeper that handed a message; if it was removed, the group's keeper now."""
        broker = self._first_hander(hand)
        return broker if broker in self._keepers else self._keeper(hand[0])


def _handed(session: Session) -> list[Waiting]:
    """The messages of shared subscriptions in a session that its client has not acknowledged."""
    waiting = (*session.in_flight.values(), *session.queue)
    return [one for one in waiting if one.hand is not None]


def shared_texts(session: Session) -> list[str]:
    """The shared subscriptions among the filters of a session."""
    return [text for text in session.subscriptions if text.startswith(SHARE_PREFIX)]
