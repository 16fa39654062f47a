"""The keeper's side of shared subscriptions: who is in which group, and who was handed what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.model.publication import Publication
from meshwright.protocol.deliveries import Refused, is_too_late
from meshwright.protocol.effects import DiskKey
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
)
from meshwright.protocol.stream import StreamFrame
from meshwright.protocol.turn import Action, Turn


class SharedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages a group may have under way and waiting."""

    queue_max: int = 100_000


class _Place(NamedTuple):
    """Where a member is."""

    broker: str
    member: Member


class _Entry:
    """A message of a group; hand 0 was handed to nobody yet. tried: who was handed it before."""

    __slots__ = ("broker", "client", "hand", "place", "publication", "qos", "tried")

    def __init__(self, place: int, publication: Publication) -> None:
        self.place = place
        self.publication = publication
        self.hand = 0
        self.client = ""
        self.broker = ""
        self.qos = publication.qos
        self.tried: dict[str, None] = {}


class _Group:
    """One shared subscription. last: who was handed something last. moving: who is nowhere yet."""

    __slots__ = (
        "entries", "hands", "is_in_force", "key", "last", "members", "moving", "unconfirmed",
        "wanted",
    )  # fmt: skip

    def __init__(self, key: str) -> None:
        self.key = key
        self.wanted = parse_filter(key).ungrouped()
        self.members: dict[str, tuple[Member, ...]] = {}
        self.moving: dict[str, None] = {}
        self.entries: dict[int, _Entry] = {}
        self.hands: dict[int, _Entry] = {}
        self.last = ("", "")
        self.is_in_force = False
        self.unconfirmed: list[tuple[str, int]] = []

    def places(self) -> Iterator[_Place]:
        for broker in sorted(self.members):
            for member in self.members[broker]:
                yield _Place(broker, member)


class SharedKeeper:
    """All groups that this broker keeps. want and unwant subscribe for them in the network."""

    def __init__(
        self,
        settings: SharedSettings,
        *,
        send: Callable[[Turn, str, Any], None],
        want: Callable[[Turn, Filter, Action], None],
        unwant: Callable[[Turn, Filter], None],
        remember: Callable[[Turn, str], None],
        is_lost: Callable[[str], bool],
        incarnation: int,
    ) -> None:
        self._settings = settings
        self._send = send
        self._want = want
        self._unwant = unwant
        self._remember = remember
        self._is_lost = is_lost
        self._serial = incarnation << 32
        self._groups: dict[str, _Group] = {}
        self._index: FilterIndex[str] = FilterIndex()

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {
            Members: self.members_told,
            HandDone: self.done,
            HandUndone: self.undone,
        }

    def restore(self, disk: dict[DiskKey, Any]) -> list[Filter]:
        """Take back groups and their messages; returns the filters that they want."""
        for key in sorted(key for key in disk if key[0] == "group"):
            text, broker = str(key[1]), str(key[2])
            group = self._groups.get(text) or self._add_group(text)
            group.is_in_force = True
            group.members[broker] = tuple(Member(*one) for one in disk[key])
        for key in sorted(key for key in disk if key[0] == "moving"):
            group = self._groups.get(str(key[1])) or self._add_group(str(key[1]))
            group.is_in_force = True
            group.moving = dict.fromkeys(disk[key])
        for key in sorted(key for key in disk if key[0] == "shared"):
            group = self._groups[str(key[1])]
            publication, *rest = disk[key]
            entry = group.entries[int(key[2])] = _Entry(int(key[2]), publication)
            entry.hand, entry.client, entry.broker, entry.qos = rest
            if entry.hand:
                group.hands[entry.hand] = entry
                entry.tried[entry.client] = None
        return [group.wanted for group in self._groups.values()]

    def started(self, turn: Turn) -> None:
        """After a crash: ask who is still there, and hand again what was not answered."""
        for group in list(self._groups.values()):
            for broker in sorted({*group.members, *(e.broker for e in group.entries.values())}):
                # A broker may answer at once, if it is this one, and that may end the group.
                if broker and group.key in self._groups:
                    self._hand_again(turn, group, broker)
            if group.key in self._groups:
                self._assign_rest(turn, group)

    def deliver(self, turn: Turn, frame: StreamFrame) -> bool:
        """Give a publication to one member of every group that wants it; True if on disk."""
        if not self._groups:
            return False
        publication = frame.publication
        wrote = False
        for key, _ in self._index.match(publication.topic, publication.properties):
            group = self._groups[key]
            if not frame.number:
                self._hand_unpromised(turn, group, publication)
                continue
            wrote = True
            if len(group.entries) >= self._settings.queue_max:
                turn.report(_refusal(group, publication, "the queue of the group is full"))
                continue
            self._serial += 1
            entry = group.entries[self._serial] = _Entry(self._serial, publication)
            self._assign(turn, group, entry)
        return wrote

    def queue_length(self) -> int:
        """The most that one group has under way and waiting."""
        return max((len(group.entries) for group in self._groups.values()), default=0)

    def members_told(self, turn: Turn, peer: str, message: Members) -> None:
        """A broker tells who shares a subscription there."""
        group = self._groups.get(message.key)
        if group is None:
            if not message.members:
                self._send(turn, peer, MembersKept(message.key, message.version))
                return
            group = self._add_group(message.key)
            self._remember(turn, group.wanted.topic_filter)
            self._want(turn, group.wanted, partial(self._in_force, group=group))
        self._note_members(turn, group, peer, message)
        group.unconfirmed.append((peer, message.version))
        if not group.members and not group.moving:
            self._drop_group(turn, group)
            group.is_in_force = True
        else:
            self._assign_rest(turn, group)
            self._rescue(turn, group)
        self._confirm(turn, group)

    def done(self, turn: Turn, peer: str, message: HandDone) -> None:
        """A message has found its client."""
        group = self._groups.get(message.key)
        entry = group.hands.get(message.hand) if group is not None else None
        told = {peer}
        if group is not None and entry is not None:
            told.add(entry.broker)
            self._forget(turn, group, entry)
        forgotten = HandForgotten(message.key, message.hand)
        for broker in sorted(told):
            self._send_once_synced(turn, broker, forgotten)

    def undone(self, turn: Turn, _peer: str, message: HandUndone) -> None:
        """A message must go to another member."""
        group = self._groups.get(message.key)
        entry = group.hands.get(message.hand) if group is not None else None
        if group is not None and entry is not None:
            self._assign(turn, group, entry)

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """Hand what may be handed twice to members elsewhere."""
        for group in list(self._groups.values()):
            if any(entry.broker == peer for entry in group.entries.values()):
                self._rescue(turn, group)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A broker may have forgotten its members, and what they were handed."""
        for group in list(self._groups.values()):
            if peer in group.members or any(e.broker == peer for e in group.entries.values()):
                self._hand_again(turn, group, peer)

    def _add_group(self, key: str) -> _Group:
        group = self._groups[key] = _Group(key)
        self._index.add(key, group.wanted)
        return group

    def _drop_group(self, turn: Turn, group: _Group) -> None:
        """The last member left: the subscription is over, and all that waited for it is void."""
        del self._groups[group.key]
        self._index.discard(group.key, group.wanted)
        for entry in list(group.entries.values()):
            self._forget(turn, group, entry)
        self._unwant(turn, group.wanted)

    def _note_members(self, turn: Turn, group: _Group, peer: str, message: Members) -> None:
        """Keep who is where; who is on its way keeps the group alive until it arrives."""
        if message.members:
            group.members[peer] = message.members
        else:
            group.members.pop(peer, None)
        turn.write(("group", group.key, peer), message.members or None)
        had_moving = list(group.moving)
        present = {place.member.client for place in group.places()}
        moving = (*group.moving, *message.moving)
        group.moving = dict.fromkeys(client for client in moving if client not in present)
        if list(group.moving) != had_moving:
            turn.write(("moving", group.key), tuple(group.moving) or None)

    def _in_force(self, turn: Turn, group: _Group) -> None:
        group.is_in_force = True
        self._confirm(turn, group)

    def _confirm(self, turn: Turn, group: _Group) -> None:
        if group.is_in_force:
            unconfirmed, group.unconfirmed = group.unconfirmed, []
            for peer, version in unconfirmed:
                self._send_once_synced(turn, peer, MembersKept(group.key, version))

    def _hand_again(self, turn: Turn, group: _Group, broker: str) -> None:
        """First ask who is there: the answer comes before any word on what is handed."""
        self._send(turn, broker, MembersQuestion(group.key))
        mine = [entry for entry in group.entries.values() if entry.broker == broker]
        for entry in sorted(mine, key=lambda one: one.hand):
            self._send_entry(turn, group, entry, entry.hand)

    def _assign_rest(self, turn: Turn, group: _Group) -> None:
        for entry in [one for one in group.entries.values() if not one.hand]:
            self._assign(turn, group, entry)

    def _rescue(self, turn: Turn, group: _Group) -> None:
        """Give what lost brokers hold to members that can be reached, if two may get it."""
        for entry in list(group.entries.values()):
            if entry.hand and entry.qos < 2 and self._is_lost(entry.broker):
                place = self._next_place(group, entry)
                is_better = place is not None and not self._is_lost(place.broker)
                if is_better and place is not None and place.member.client not in entry.tried:
                    self._assign(turn, group, entry)

    def _assign(self, turn: Turn, group: _Group, entry: _Entry) -> None:
        """Hand a message to the next member; if there is none now, to the first that comes."""
        if is_too_late(entry.publication, turn.now_us):
            turn.report(_refusal(group, entry.publication, "it has expired"))
            self._forget(turn, group, entry)
            return
        group.hands.pop(entry.hand, None)
        place = self._next_place(group, entry)
        if place is None:
            entry.hand, entry.client, entry.broker = 0, "", ""
        else:
            self._serial += 1
            entry.hand = self._serial
            group.hands[entry.hand] = entry
            entry.client, entry.broker = place.member.client, place.broker
            entry.qos = min(entry.publication.qos, place.member.qos)
            entry.tried[entry.client] = None
            group.last = (entry.client, entry.broker)
        state = (entry.publication, entry.hand, entry.client, entry.broker, entry.qos)
        turn.write(("shared", group.key, entry.place), state)
        if entry.hand:
            hand = entry.hand
            turn.once_synced(lambda later: self._send_entry(later, group, entry, hand))

    def _send_once_synced(self, turn: Turn, peer: str, message: object) -> None:
        turn.once_synced(lambda later: self._send(later, peer, message))

    def _send_entry(self, turn: Turn, group: _Group, entry: _Entry, hand: int) -> None:
        if entry.hand == hand and entry.place in group.entries:
            handed = Handed(group.key, hand, entry.client, entry.publication)
            self._send(turn, entry.broker, handed)

    def _hand_unpromised(self, turn: Turn, group: _Group, publication: Publication) -> None:
        entry = _Entry(0, publication)
        place = self._next_place(group, entry)
        if place is not None and place.member.is_connected:
            group.last = (place.member.client, place.broker)
            handed = Handed(group.key, UNPROMISED, place.member.client, publication)
            self._send(turn, place.broker, handed)

    def _next_place(self, group: _Group, entry: _Entry) -> _Place | None:
        """Whose turn it is: among the best there are, the one after who was last."""

        def rank(place: _Place) -> tuple[bool, bool, bool, bool, tuple[str, str]]:
            turn_order = (place.member.client, place.broker)
            return (
                self._is_lost(place.broker),
                place.member.client in entry.tried,
                not place.member.is_connected,
                turn_order <= group.last,
                turn_order,
            )

        return min(group.places(), key=rank, default=None)

    def _forget(self, turn: Turn, group: _Group, entry: _Entry) -> None:
        del group.entries[entry.place]
        group.hands.pop(entry.hand, None)
        turn.write(("shared", group.key, entry.place), None)


def _refusal(group: _Group, publication: Publication, reason: str) -> Refused:
    return Refused(
        client=group.key,
        publisher=publication.publisher,
        sequence=publication.sequence,
        topic=publication.topic,
        reason=reason,
    )
