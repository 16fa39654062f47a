"""A shared subscription as its keeper knows it: who is in it, and who was handed what."""

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
    """A member with the broker where it is, to be handed a message."""

    broker: str
    member: Member


class GroupMessageState(NamedTuple):
    """What is on disk of a message of a group; older disks have no former_hands and no claim."""

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
    """A message of a group; hand 0 was handed to nobody yet. tried: who was handed it before.

    former_hands: those of members that may have got it all the same. origin and number: where it
    stands in its stream. is_granted: if of QoS 2, its member may have sent it to its client. claim:
    of the last move of its client with it.
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
        """What is to be on disk."""
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
        """True if another member may get it, even if this one cannot be asked."""
        return self.qos < 2 or not self.is_granted


class Group:
    """One shared subscription. last: who was handed something last. moving: who is nowhere yet.

    hands: entries by all numbers under which they were handed out. inherited: what came from a
    former keeper's origins, and may come once more in its stream. handed_before: what former
    keepers have handed out of QoS 1 and 2. qos0: what was handed out of QoS 0, by a former keeper
    or before a crash.
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
        """True if a former keeper had a message, so that it is no more for this one."""
        is_inherited = frame.publication.publication_id in self.inherited
        return is_inherited or self.handed_before.has(frame.origin, frame.number, frame.publication)

    def refusal(self, publication: Publication, reason: str) -> Refused:
        """Why no member gets a publication."""
        return Refused(
            client=self.key,
            publisher=publication.publisher,
            sequence=publication.sequence,
            topic=publication.topic,
            reason=reason,
        )

    def members_changed(self) -> None:
        """Members came or went: forget the order of turns."""
        self._order = []

    def next_candidate(
        self, tried: Container[str], is_lost: Callable[[str], bool]
    ) -> Candidate | None:
        """The member whose turn it is: of the best, the one after the last.

        The best can be reached, were not handed the same message before, and are connected.
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
    """A message of a group as it was on disk."""
    entry = GroupMessage(index, state.publication, state.origin, state.number)
    entry.hand, entry.client, entry.broker = state.hand, state.client, state.broker
    entry.qos, entry.is_granted = state.qos, state.is_granted
    entry.former_hands, entry.claim = state.former_hands, state.claim
    return entry
