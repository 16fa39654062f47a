"""A group: a shared subscription as its keeper knows it, with members and messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Iterator
from itertools import chain, islice
from typing import NamedTuple

from meshwright.filters.filter import parse_filter
from meshwright.model.publication import Publication, PublicationId
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.shared.at_most_once import HandedBefore
from meshwright.protocol.shared.messages import Member
from meshwright.protocol.shared.takeover import HandedOut, TakeOver


class Candidate(NamedTuple):
    """A member with the broker where it is, one of those to choose from for a message."""

    broker: str
    member: Member


class GroupMessageState(NamedTuple):
    """A message of a group as it is on disk.

    Disks of older versions have no former_hands and no claim.
    """

    publication: Publication
    hand: int
    client: str
    broker: str
    qos: int
    origin: str
    number: int
    is_granted: bool
    former_hands: tuple[int, ...] = ()
    claim: int = 0


class GroupMessage:
    """A message of a group that no member has acknowledged.

    hand: its number at the member that has it now; 0 if no member has.
    former_hands: its numbers at earlier members, which may have got it all the same.
    tried: clients that it was handed to.
    origin, number: which publication of which stream it is.
    is_granted: its member may send it to its client; for QoS 2, no other may then.
    claim: of its client's last move with it, as in HandMoved.
    """

    __slots__ = (
        "broker",
        "claim",
        "client",
        "former_hands",
        "hand",
        "index",
        "is_granted",
        "number",
        "origin",
        "publication",
        "qos",
        "tried",
    )  # fmt: skip

    def __init__(
        self, index: int, publication: Publication, origin: str = "", number: int = 0
    ) -> None:
        self.index = index
        self.origin = origin
        self.number = number
        self.publication = publication
        self.hand = 0
        self.former_hands: tuple[int, ...] = ()
        self.client = ""
        self.broker = ""
        self.qos = publication.qos
        self.is_granted = False
        self.claim = 0
        self.tried: dict[str, None] = {}

    def state(self) -> GroupMessageState:
        """What to write to disk."""
        return GroupMessageState(
            self.publication,
            self.hand,
            self.client,
            self.broker,
            self.qos,
            self.origin,
            self.number,
            self.is_granted,
            self.former_hands,
            self.claim,
        )

    @property
    def may_move(self) -> bool:
        """True if another member may get it although this one cannot be asked."""
        return self.qos < 2 or not self.is_granted


class Group:
    """One shared subscription.

    wanted: its filter without `$share/group/`.
    members: by broker.
    moving: clients on their way between brokers; they keep the group alive.
    entries: its messages, by index.
    hands: its messages, by each hand that they have or had.
    last: client and broker of the member that was handed a message last.
    is_in_force: the keeper's own subscription is in force.
    unconfirmed: brokers and versions that are owed a MembersKept.
    inherited: messages owed to a former keeper, which may come once more in their stream.
    handed_before: QoS 1 and 2 messages that former keepers handed out.
    qos0: QoS 0 messages handed out by a former keeper, or before a crash of this one.
    """

    __slots__ = (
        "_order",
        "entries",
        "handed_before",
        "hands",
        "inherited",
        "is_in_force",
        "key",
        "last",
        "members",
        "moving",
        "qos0",
        "take_over",
        "unconfirmed",
        "wanted",
    )  # fmt: skip

    def __init__(self, key: str) -> None:
        self.key = key
        self.wanted = parse_filter(key).ungrouped()
        self.members: dict[str, tuple[Member, ...]] = {}
        self.moving: dict[str, None] = {}
        self.entries: dict[int, GroupMessage] = {}
        self.hands: dict[int, GroupMessage] = {}
        self.last = ("", "")
        self.is_in_force = False
        self.unconfirmed: list[tuple[str, int]] = []
        self.take_over: TakeOver | None = None
        self.inherited: set[PublicationId] = set()
        self.handed_before = HandedOut()
        self.qos0 = HandedBefore()
        self._order: list[Candidate] = []

    def was_handed(self, frame: StreamFrame) -> bool:
        """True if a former keeper had this message, so that it must not be handed out again."""
        is_inherited = frame.publication.publication_id in self.inherited
        return is_inherited or self.handed_before.has(frame.origin, frame.number, frame.publication)

    def refusal(self, publication: Publication, reason: str) -> Refused:
        """The record that says why no member gets a publication."""
        return Refused(
            client=self.key,
            publisher=publication.publisher,
            sequence=publication.sequence,
            topic=publication.topic,
            reason=reason,
        )

    def members_changed(self) -> None:
        """Members came or went: the order of turns is computed anew when needed."""
        self._order = []

    def next_candidate(
        self, tried: Container[str], is_lost: Callable[[str], bool]
    ) -> Candidate | None:
        """The member to hand the next message to; members take turns.

        The best are connected, were not handed this message before, and are at a broker that is not
        lost. If there are none, the least bad member is taken.
        """
        if not self._order:
            self._order = sorted(self.candidates(), key=_turn_order)
        first = bisect_right(self._order, self.last, key=_turn_order)
        for candidate in chain(islice(self._order, first, None), islice(self._order, first)):
            member = candidate.member
            is_new = member.client not in tried
            if member.is_connected and is_new and not is_lost(candidate.broker):
                return candidate

        def rank(candidate: Candidate) -> tuple[bool, bool, bool, bool, tuple[str, str]]:
            at = _turn_order(candidate)
            is_tried, is_away = candidate.member.client in tried, not candidate.member.is_connected
            return (is_lost(candidate.broker), is_tried, is_away, at <= self.last, at)

        return min(self._order, key=rank, default=None)

    def candidates(self) -> Iterator[Candidate]:
        """All members, in a fixed order."""
        for broker in sorted(self.members):
            for member in self.members[broker]:
                yield Candidate(broker, member)


def _turn_order(candidate: Candidate) -> tuple[str, str]:
    return candidate.member.client, candidate.broker


def group_message_of(index: int, state: GroupMessageState) -> GroupMessage:
    """A message of a group, read from disk."""
    entry = GroupMessage(index, state.publication, state.origin, state.number)
    entry.hand, entry.client, entry.broker = state.hand, state.client, state.broker
    entry.qos, entry.is_granted = state.qos, state.is_granted
    entry.former_hands, entry.claim = state.former_hands, state.claim
    return entry
