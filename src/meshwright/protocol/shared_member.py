"""A member's side of shared subscriptions: clients here that are in groups, and what they hold.

A hand is known here from when it is taken until its keeper has forgotten it, and held while its
message waits for a client or for its answer. It is marked on disk once it is taken for good: by a
session that is on disk itself, or because its message of QoS 2 goes out to a client. A hand that
is known and not held is done. One that a crash made unknown was not taken for good, and goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.filters.filter import SHARE_PREFIX
from meshwright.model.publication import Publication
from meshwright.protocol.effects import DiskKey
from meshwright.protocol.session import Session, Waiting
from meshwright.protocol.shared import (
    UNPROMISED,
    HandDone,
    Handed,
    HandForgotten,
    HandUndone,
    Member,
    Members,
    MembersKept,
    MembersQuestion,
    keeper_of,
)
from meshwright.protocol.turn import Action, Turn, nothing

Hand = tuple[str, int]
# A shared subscription, and the publisher and sequence of a message.
Event = tuple[str, str, int]
Take = Callable[[Turn, str, Hand, Publication], bool]


class SharedMember:
    """All memberships at this broker; take lets a message wait for a client, if it is here."""

    def __init__(
        self,
        brokers: tuple[str, ...],
        *,
        send: Callable[[Turn, str, Any], None],
        take: Take,
        incarnation: int,
    ) -> None:
        self._brokers = brokers
        self._send = send
        self._take = take
        self._version = incarnation << 32
        self._members: dict[str, dict[str, Member]] = {}
        self._moving: dict[str, dict[str, int]] = {}
        self._unconfirmed: dict[str, list[tuple[int, Action]]] = {}
        self._known: dict[Hand, Event] = {}
        self._events: dict[Event, Hand] = {}
        self._held: dict[Hand, None] = {}
        self._marks: dict[Hand, None] = {}

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {
            MembersKept: self.kept,
            MembersQuestion: self.asked,
            Handed: self.handed,
            HandForgotten: self.forgotten,
        }

    def restore(self, turn: Turn, disk: dict[DiskKey, Any], sessions: Iterable[Session]) -> None:
        """Take back what sessions hold, and tell the keepers who is here."""
        for key in sorted(key for key in disk if key[0] == "hand"):
            hand = (str(key[1]), int(key[2]))
            self._marks[hand] = None
            self._know(hand, (hand[0], *disk[key]))
        for session in sessions:
            for text in shared_texts(session):
                member = Member(session.client, session.subscriptions[text].qos, False)
                self._members.setdefault(text, {})[session.client] = member
            self._hold(session)
        for text in self._members:
            self._tell(turn, text)

    def join(self, turn: Turn, session: Session, key: str, done: Action) -> None:
        """A client shares a subscription; done when it may count on its messages."""
        member = Member(session.client, session.subscriptions[key].qos, session.is_connected)
        self._members.setdefault(key, {})[session.client] = member
        self._version += 1
        self._unconfirmed.setdefault(key, []).append((self._version, done))
        self._tell(turn, key)

    def leave(self, turn: Turn, client: str, key: str, *, is_moving: bool = False) -> None:
        """A client shares a subscription no more."""
        members = self._members.get(key, {})
        if members.pop(client, None) is None:
            return
        if is_moving:
            # Told with every word to the keeper until it is known there.
            self._moving.setdefault(key, {})[client] = self._version + 1
        self._tell(turn, key)
        if not members:
            del self._members[key]

    def stirred(self, turn: Turn, session: Session) -> None:
        """A client has come or gone: its groups are told."""
        for key in shared_texts(session):
            members = self._members.get(key, {})
            member = members.get(session.client)
            if member is not None and member.is_connected != session.is_connected:
                members[session.client] = member._replace(is_connected=session.is_connected)
                self._tell(turn, key)

    def arrived(self, turn: Turn, session: Session) -> None:
        """A session is here for good: its groups are told, and what it holds is known."""
        self._hold(session)
        for key in shared_texts(session):
            self.join(turn, session, key, nothing)

    def departed(self, turn: Turn, session: Session) -> None:
        """A session is on its way elsewhere with all that it holds."""
        for key in shared_texts(session):
            self.leave(turn, session.client, key, is_moving=True)
        for waiting in (*session.under_way.values(), *session.queue):
            if waiting.hand is not None:
                self._held.pop(waiting.hand, None)

    def kept(self, turn: Turn, _peer: str, message: MembersKept) -> None:
        """A keeper has our members on disk, up to a version of them."""
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
        """A keeper asks who is here."""
        self._tell(turn, message.key)

    def handed(self, turn: Turn, peer: str, message: Handed) -> None:
        """A message for a client: once it waits for it, nobody else gets it."""
        hand = (message.key, message.hand)
        if message.hand == UNPROMISED:
            self._take(turn, message.client, hand, message.publication)
            return
        event = (message.key, *message.publication.event_id)
        if hand in self._held:
            return
        if hand in self._known or event in self._events:
            # One that comes under another number was handed twice because we were out of reach.
            self._send(turn, peer, HandDone(*hand))
            return
        self._know(hand, event)
        self._held[hand] = None
        if not self._take(turn, message.client, hand, message.publication):
            del self._held[hand]
            self._unknow(turn, hand)
            self._send(turn, peer, HandUndone(*hand))

    def forgotten(self, turn: Turn, _peer: str, message: HandForgotten) -> None:
        """A hand will not come again."""
        self._unknow(turn, (message.key, message.hand))

    def mark(self, turn: Turn, waiting: Waiting) -> None:
        """A message was taken for good."""
        if waiting.hand is not None and waiting.hand not in self._marks:
            self._marks[waiting.hand] = None
            turn.write(("hand", *waiting.hand), tuple(waiting.publication.event_id))

    def settled(self, turn: Turn, waiting: Waiting) -> None:
        """A client has answered a message, or it was dropped aloud."""
        hand = waiting.hand
        if hand is not None and self._held.pop(hand, self) is None:
            done = HandDone(*hand)
            turn.once_synced(lambda later: self._send(later, self._keeper(hand[0]), done))

    def abandoned(self, turn: Turn, session: Session) -> None:
        """A session is over: what nobody else may get is done, the rest goes back."""
        for waiting in session.under_way.values():
            if waiting.qos == 2:
                self.settled(turn, waiting)
            else:
                self._give_back(turn, waiting)
        for waiting in session.queue:
            self._give_back(turn, waiting)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A keeper may have forgotten who is here, and what was answered."""
        for key in {**self._members, **self._moving, **self._unconfirmed}:
            if self._keeper(key) == peer:
                self._tell(turn, key)
        for hand in self._known:
            if hand not in self._held and self._keeper(hand[0]) == peer:
                self._send(turn, peer, HandDone(*hand))

    def _hold(self, session: Session) -> None:
        for waiting in (*session.under_way.values(), *session.queue):
            if waiting.hand is not None:
                self._held[waiting.hand] = None
                self._know(waiting.hand, (waiting.hand[0], *waiting.publication.event_id))

    def _give_back(self, turn: Turn, waiting: Waiting) -> None:
        hand = waiting.hand
        if hand is None or self._held.pop(hand, self) is not None:
            return
        self._unknow(turn, hand)
        undone = HandUndone(*hand)
        turn.once_synced(lambda later: self._send(later, self._keeper(hand[0]), undone))

    def _know(self, hand: Hand, event: Event) -> None:
        self._known[hand] = event
        self._events[event] = hand

    def _unknow(self, turn: Turn, hand: Hand) -> None:
        event = self._known.pop(hand, None)
        if event is not None and self._events.get(event) == hand:
            del self._events[event]
        if self._marks.pop(hand, self) is None:
            turn.write(("hand", *hand), None)

    def _tell(self, turn: Turn, key: str) -> None:
        members = tuple(self._members.get(key, {}).values())
        moving = tuple(self._moving.get(key, ()))
        self._version += 1
        self._send(turn, self._keeper(key), Members(key, self._version, members, moving))

    def _keeper(self, key: str) -> str:
        return keeper_of(key, self._brokers)


def shared_texts(session: Session) -> list[str]:
    """The shared ones among the filters of a session."""
    return [text for text in session.subscriptions if text.startswith(SHARE_PREFIX)]
