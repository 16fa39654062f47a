"""The keeper's side of shared subscriptions: the members of groups, and messages handed out.

Publications on a group's filter come in at deliver. Members tells who is in a group; HandDone,
HandUndone and HandMoved tell what became of a message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.filters.index import FilterIndex
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.peers.roll import SEATS_MAX
from meshwright.protocol.sessions.deliveries import is_too_late
from meshwright.protocol.shared.group import (
    Group,
    GroupMessage,
    GroupMessageState,
    group_message_of,
)
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
)
from meshwright.protocol.shared.room import SharedRoom
from meshwright.protocol.shared.takeover import (
    Holding,
    Holdings,
    HoldingsQuestion,
    Stage,
    TakeOver,
    formers_of,
)
from meshwright.protocol.streams.messages import Legacy, LegacyQuestion


class SharedKeeper:
    """All groups that this broker keeps.

    want, unwant: subscribe and unsubscribe this broker to a group's filter.
    remember: writes to disk how far the streams that a new group wants are passed.
    is_lost: True if a peer has been silent for too long.
    change_count: grows with each new group, so that shortcuts are found anew.
    """

    def __init__(
        self,
        me: str,
        room: SharedRoom,
        removals: Removals,
        *,
        send: Callable[[Turn, str, Any], None],
        want: Callable[[Turn, Filter, Action], None],
        unwant: Callable[[Turn, Filter], None],
        remember: Callable[[Turn, str], None],
        is_lost: Callable[[str], bool],
        incarnation: int,
    ) -> None:
        self._room = room
        self._send = send
        self._want = want
        self._unwant = unwant
        self._remember = remember
        self._is_lost = is_lost
        self._me = me
        self._removals = removals
        self._serials = serials(incarnation)
        self._groups: dict[str, Group] = {}
        self._index: FilterIndex[str] = FilterIndex()
        self.change_count = 0

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(Members, self.members_told),
            on(HandDone, self.done),
            on(HandUndone, self.undone),
            on(HandAccepted, self.accepted),
            on(HandMoved, self.moved),
            on(Holdings, self.holdings_told),
            on(Legacy, self.legacy_told),
        )

    def restore(self, disk: dict[DiskKey, Any]) -> list[Filter]:
        """After a start, read groups and their messages from disk; returns their filters."""
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
            entry = group.entries[int(key[2])] = group_message_of(
                int(key[2]), GroupMessageState(*disk[key])
            )
            group.hands.update(dict.fromkeys(entry.former_hands, entry))
            if entry.hand:
                group.hands[entry.hand] = entry
                entry.tried[entry.client] = None
        for key in sorted(key for key in disk if key[0] == "take over"):
            if key[1] in self._groups:
                self._groups[str(key[1])].take_over = TakeOver(self._removals.present)
        for group in self._groups.values():
            group.qos0.waiting = dict.fromkeys(group.members)
            if formers_of(group.key, self._me, self._removals.in_line()):
                entries = group.entries.values()
                group.inherited = {entry.publication.publication_id for entry in entries}
        return [group.wanted for group in self._groups.values()]

    def started(self, turn: Turn) -> None:
        """After a start, ask for members, and hand out again what is not acknowledged."""
        for group in list(self._groups.values()):
            for broker in sorted({*group.members, *(e.broker for e in group.entries.values())}):
                # If the broker is this one, it answers at once, which may end the group.
                if broker and group.key in self._groups:
                    self._hand_again(turn, group, broker)
            if group.key in self._groups:
                self._room.changed(turn, group)
                self._ask_holders(turn, group)
                self._assign_rest(turn, group)

    def deliver(self, turn: Turn, frame: StreamFrame) -> bool:
        """Give a publication to one member of every group that wants it; True if it is on disk."""
        if not self._groups:
            return False
        publication = frame.publication
        wrote = False
        for key, _ in self._index.match(publication.topic, publication.properties):
            group = self._groups[key]
            if not frame.number:
                self._hand_qos0(turn, group, publication)
                continue
            wrote = True
            if group.was_handed(frame):
                continue
            if self._room.drops(group):
                turn.report(group.refusal(publication, "the queue of the group is full"))
                continue
            self._add_entry(turn, group, frame)
            self._room.changed(turn, group)
        return wrote

    def takes(self, topic: str) -> bool:
        """True if a group may want publications on a topic."""
        index = self._index
        return bool(self._groups) and (index.asks_content(topic) or bool(index.match(topic)))

    def queue_length(self) -> int:
        """The most messages that one group has, handed out and waiting."""
        return max([len(group.entries) for group in self._groups.values()], default=0)

    def members_told(self, turn: Turn, peer: str, message: Members) -> None:
        """A broker tells which of its clients are in a group."""
        group = self._groups.get(message.key)
        if group is None:
            if not message.members:
                self._send(turn, peer, MembersKept(message.key, message.version))
                return
            group = self._add_group(message.key)
            self._remember(turn, group.wanted.topic_filter)
            if formers_of(group.key, self._me, self._removals.in_line()):
                group.take_over = TakeOver(self._removals.present)
                turn.write(("take over", group.key), True)
            self._want(turn, group.wanted, partial(self._in_force, group=group))
            self._ask_holders(turn, group)
        self._note_members(turn, group, peer, message)
        if message.handed is not None:
            group.qos0.learn(peer, message.handed)
        group.unconfirmed.append((peer, message.version))
        if not self._ended(turn, group):
            self._assign_rest(turn, group)
            self._rescue(turn, group)
        self._confirm(turn, group)

    def done(self, turn: Turn, peer: str, message: HandDone) -> None:
        """A client has acknowledged a message, even if another was handed it meanwhile."""
        group = self._groups.get(message.key)
        entry = group.hands.get(message.hand) if group is not None else None
        told = {peer}
        if group is not None and entry is not None:
            if entry.hand == message.hand:
                told.add(entry.broker)
            self._forget(turn, group, entry)
        forgotten = HandForgotten(message.key, message.hand)
        for broker in sorted(told):
            self._send_once_synced(turn, broker, forgotten)

    def accepted(self, turn: Turn, _peer: str, message: HandAccepted) -> None:
        """A member accepts a QoS 2 message: once that is on disk, it is sent, and to no other."""
        group = self._groups.get(message.key)
        entry = group.hands.get(message.hand) if group is not None else None
        is_current = entry is not None and entry.hand == message.hand
        if group is not None and entry is not None and is_current and not entry.is_granted:
            entry.is_granted = True
            self._write_entry(turn, group, entry)
            send = partial(self._send_entry, group=group, entry=entry, hand=message.hand)
            turn.once_synced(send)

    def undone(self, turn: Turn, _peer: str, message: HandUndone) -> None:
        """A member did not get a message: hand it to another one."""
        group = self._groups.get(message.key)
        entry = group.hands.get(message.hand) if group is not None else None
        if group is not None and entry is not None:
            if entry.hand == message.hand:
                del group.hands[entry.hand]
                entry.hand = 0
                self._assign(turn, group, entry)
        elif group is not None and message.publication is not None:
            self._add_entry(turn, group, StreamFrame("", 0, message.publication))

    def moved(self, turn: Turn, peer: str, message: HandMoved) -> None:
        """A client has taken messages to another broker: their answers come from there."""
        group = self._groups.get(message.key)
        for hand in message.hands if group is not None else ():
            entry = group.hands.get(hand) if group is not None else None
            if group is None or entry is None or entry.hand != hand or message.claim < entry.claim:
                continue
            entry.broker, entry.claim = message.target, message.claim
            self._write_entry(turn, group, entry)
            if self._removals.is_removed(entry.broker):
                self._bereave(turn, group, entry)
            elif entry.former_hands and entry.qos < 2:
                # There it may be known only by the number under which it was handed out before.
                turn.once_synced(partial(self._send_entry, group=group, entry=entry, hand=hand))
        first, *others = message.hands
        self._send_once_synced(turn, peer, HandForgotten(message.key, first, tuple(others)))

    def holdings_told(self, turn: Turn, peer: str, message: Holdings) -> None:
        """A broker tells what its members were handed by a former keeper."""
        group = self._groups.get(message.key)
        if group is None or group.take_over is None or peer not in group.take_over.holders:
            return
        del group.take_over.holders[peer]
        group.take_over.handed_out.learn(message)
        group.qos0.learn(peer, message.qos0)
        for one in map(Holding._make, message.holdings):
            if one.hand not in group.hands:
                entry = GroupMessage(self._next_serial(), one.publication)
                entry.hand, entry.client, entry.broker = one.hand, one.client, peer
                entry.qos, entry.is_granted = one.qos, True
                entry.tried[one.client] = None
                group.entries[entry.index] = group.hands[one.hand] = entry
                group.take_over.events.add(one.publication.publication_id)
                self._write_entry(turn, group, entry)
        self._ask_origins(turn, group)

    def legacy_told(self, turn: Turn, peer: str, message: Legacy) -> None:
        """An origin tells which publications it owed to former keepers."""
        group = self._groups.get(message.key)
        if group is None or group.take_over is None or peer not in group.take_over.origins:
            return
        del group.take_over.origins[peer]
        for frame in message.frames:
            if group.take_over.is_new(frame):
                group.inherited.add(frame.publication.publication_id)
                self._add_entry(turn, group, frame)
        self._end_take_over(turn, group)

    def roll_changed(self, turn: Turn) -> None:
        """Brokers were removed: drop their members, and wait for no answer of theirs."""
        is_removed = self._removals.is_removed
        for group in list(self._groups.values()):
            if group.take_over is not None:
                for waiting in (group.take_over.holders, group.take_over.origins):
                    for name in [name for name in waiting if is_removed(name)]:
                        del waiting[name]
                self._ask_origins(turn, group)
                self._end_take_over(turn, group)
            for name in [name for name in group.members if is_removed(name)]:
                self.members_told(turn, name, Members(group.key, 0, ()))
            for entry in list(group.entries.values()):
                if entry.hand and is_removed(entry.broker) and group.key in self._groups:
                    self._bereave(turn, group, entry)

    def moving(self) -> list[tuple[str, str]]:
        """Members that are on their way between brokers, each with its group."""
        return [(key, client) for key, group in self._groups.items() for client in group.moving]

    def stays_away(self, turn: Turn, key: str, client: str) -> None:
        """A client that was on its way is no member any more: wait for it no longer."""
        group = self._groups.get(key)
        if group is None or client not in group.moving:
            return
        del group.moving[client]
        turn.write(("moving", key), tuple(group.moving) or None)
        if self._ended(turn, group):
            self._confirm(turn, group)

    def forget_all(self, turn: Turn) -> None:
        """Drop all groups, as another broker keeps them now."""
        for group in list(self._groups.values()):
            for broker in group.members:
                turn.delete(("group", group.key, broker))
            turn.delete(("moving", group.key))
            self._drop_group(turn, group)

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """A peer is silent: hand its messages to members elsewhere, if two may get them."""
        for group in list(self._groups.values()):
            if any(entry.broker == peer for entry in group.entries.values()):
                self._rescue(turn, group)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A broker may have restarted: ask for its members, and hand out its messages again."""
        for group in list(self._groups.values()):
            if peer in group.members or any(e.broker == peer for e in group.entries.values()):
                self._hand_again(turn, group, peer)
            if group.take_over is not None and peer in group.take_over.holders:
                self._send(turn, peer, HoldingsQuestion(group.key))
            elif group.take_over is not None and peer in group.take_over.origins:
                self._ask_origin(turn, group, peer)

    def _add_group(self, key: str) -> Group:
        group = self._groups[key] = Group(key)
        self._index.add(key, group.wanted)
        self.change_count += 1
        return group

    def _ended(self, turn: Turn, group: Group) -> bool:
        """True if a group has nobody left, and is dropped; nobody waits for it to be in force."""
        if group.members or group.moving:
            return False
        self._drop_group(turn, group)
        group.is_in_force = True
        return True

    def _drop_group(self, turn: Turn, group: Group) -> None:
        """The last member has left: end the subscription, and drop its messages."""
        del self._groups[group.key]
        if group.take_over is not None:
            turn.delete(("take over", group.key))
        self._index.discard(group.key, group.wanted)
        for entry in list(group.entries.values()):
            self._forget(turn, group, entry)
        self._room.over(turn, group)
        self._unwant(turn, group.wanted)

    def _note_members(self, turn: Turn, group: Group, peer: str, message: Members) -> None:
        """Write a broker's members to disk; clients that move keep the group alive meanwhile."""
        if message.members:
            group.members[peer] = message.members
        else:
            group.members.pop(peer, None)
        turn.write(("group", group.key, peer), message.members or None)
        group.members_changed()
        moving = (*group.moving, *message.moving)
        if not moving:
            return
        had_moving = list(group.moving)
        present = {candidate.member.client for candidate in group.candidates()}
        group.moving = dict.fromkeys(client for client in moving if client not in present)
        if list(group.moving) != had_moving:
            turn.write(("moving", group.key), tuple(group.moving) or None)
            turn.facts.member_moving.tell(turn)

    def _in_force(self, turn: Turn, group: Group) -> None:
        group.is_in_force = True
        self._confirm(turn, group)
        self._ask_origins(turn, group)

    def _ask_holders(self, turn: Turn, group: Group) -> None:
        if group.take_over is not None:
            for broker in list(group.take_over.holders):
                self._send(turn, broker, HoldingsQuestion(group.key))

    def _ask_origins(self, turn: Turn, group: Group) -> None:
        """Ask the origins what they owed to former keepers, once all brokers sent their Holdings.

        This broker's own subscription must be in force too, so that it misses nothing new.
        """
        take_over = group.take_over
        if take_over is None or take_over.stage is Stage.ORIGINS:
            return
        if group.is_in_force and not take_over.holders:
            take_over.ask_origins()
            for origin in list(take_over.origins):
                self._ask_origin(turn, group, origin)

    def _ask_origin(self, turn: Turn, group: Group, origin: str) -> None:
        if group.take_over is not None and group.take_over.stage is Stage.ORIGINS:
            formers = formers_of(group.key, self._me, self._removals.in_line())
            self._send(turn, origin, LegacyQuestion(group.key, formers))

    def _end_take_over(self, turn: Turn, group: Group) -> None:
        take_over = group.take_over
        if take_over is not None and not take_over.holders and not take_over.origins:
            group.take_over = None
            turn.delete(("take over", group.key))
            group.handed_before = take_over.handed_out
            for entry in [one for one in group.entries.values() if not one.hand]:
                if group.handed_before.has(entry.origin, entry.number, entry.publication):
                    self._forget(turn, group, entry)
            self._assign_rest(turn, group)

    def _bereave(self, turn: Turn, group: Group, entry: GroupMessage) -> None:
        """Hand a message of a removed broker's member to another member, if that is allowed."""
        if entry.may_move:
            self._assign(turn, group, entry)
        else:
            turn.report(group.refusal(entry.publication, "its member is gone for good"))
            self._forget(turn, group, entry)

    def _next_serial(self) -> int:
        """A number used once; its remainder by SEATS_MAX is the seat of the keeper that handed."""
        return next(self._serials) * SEATS_MAX + self._removals.seat

    def _add_entry(self, turn: Turn, group: Group, frame: StreamFrame) -> None:
        publication = frame.publication
        entry = GroupMessage(self._next_serial(), publication, frame.origin, frame.number)
        group.entries[entry.index] = entry
        if group.take_over is not None:
            group.take_over.events.add(publication.publication_id)
        self._assign(turn, group, entry)

    def _confirm(self, turn: Turn, group: Group) -> None:
        if group.is_in_force:
            unconfirmed, group.unconfirmed = group.unconfirmed, []
            for peer, version in unconfirmed:
                self._send_once_synced(turn, peer, MembersKept(group.key, version))

    def _hand_again(self, turn: Turn, group: Group, broker: str) -> None:
        """Ask a broker for its members first, then send it again what its members were handed."""
        self._send(turn, broker, MembersQuestion(group.key))
        mine = [entry for entry in group.entries.values() if entry.broker == broker]
        for entry in sorted(mine, key=lambda one: one.hand):
            self._send_entry(turn, group, entry, entry.hand)

    def _assign_rest(self, turn: Turn, group: Group) -> None:
        for entry in [one for one in group.entries.values() if not one.hand]:
            self._assign(turn, group, entry)

    def _rescue(self, turn: Turn, group: Group) -> None:
        """Hand messages of lost brokers to members that can be reached, if two may get them."""
        for entry in list(group.entries.values()):
            if entry.hand and entry.may_move and self._is_lost(entry.broker):
                candidate = group.next_candidate(entry.tried, self._is_lost)
                is_better = candidate is not None and not self._is_lost(candidate.broker)
                if (
                    is_better
                    and candidate is not None
                    and candidate.member.client not in entry.tried
                ):
                    self._assign(turn, group, entry)

    def _assign(self, turn: Turn, group: Group, entry: GroupMessage) -> None:
        """Hand a message to the next member; if none can be reached, it waits for one."""
        if is_too_late(entry.publication, turn.now_us):
            turn.report(group.refusal(entry.publication, "it has expired"))
            self._forget(turn, group, entry)
            return
        if entry.hand:
            entry.former_hands += (entry.hand,)
        entry.is_granted, entry.claim = False, 0
        candidate = (
            group.next_candidate(entry.tried, self._is_lost) if group.take_over is None else None
        )
        if candidate is None or self._is_lost(candidate.broker):
            entry.hand, entry.client, entry.broker = 0, "", ""
        else:
            entry.hand = self._next_serial()
            group.hands[entry.hand] = entry
            entry.client, entry.broker = candidate.member.client, candidate.broker
            entry.qos = min(entry.publication.qos, candidate.member.qos)
            entry.tried[entry.client] = None
            group.last = (entry.client, entry.broker)
        self._write_entry(turn, group, entry)
        if entry.hand:
            hand = entry.hand
            turn.once_synced(lambda later: self._send_entry(later, group, entry, hand))

    def _write_entry(self, turn: Turn, group: Group, entry: GroupMessage) -> None:
        turn.write(("shared", group.key, entry.index), entry.state())

    def _send_once_synced(self, turn: Turn, peer: str, message: object) -> None:
        turn.once_synced(lambda later: self._send(later, peer, message))

    def _send_entry(self, turn: Turn, group: Group, entry: GroupMessage, hand: int) -> None:
        if entry.hand == hand and entry.index in group.entries:
            if entry.qos == 2 and not entry.is_granted:
                self._send(turn, entry.broker, HandOffered(group.key, hand, entry.client))
                return
            at = (entry.origin, entry.number)
            handed = Handed(group.key, hand, entry.client, entry.publication, *at)
            self._send(turn, entry.broker, handed)

    def _hand_qos0(self, turn: Turn, group: Group, publication: Publication) -> None:
        if group.take_over is not None or not group.qos0.may_hand(publication, self._is_lost):
            return
        candidate = group.next_candidate((), self._is_lost)
        if candidate is not None and candidate.member.is_connected:
            group.last = (candidate.member.client, candidate.broker)
            handed = Handed(group.key, QOS0, candidate.member.client, publication)
            self._send(turn, candidate.broker, handed)

    def _forget(self, turn: Turn, group: Group, entry: GroupMessage) -> None:
        del group.entries[entry.index]
        for hand in (entry.hand, *entry.former_hands):
            group.hands.pop(hand, None)
        turn.write(("shared", group.key, entry.index), None)
        self._room.changed(turn, group)
