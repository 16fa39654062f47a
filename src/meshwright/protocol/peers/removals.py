"""Who belongs to the network: the roll, which all brokers come to share.

When a broker has been silent for long, one that noticed asks all others. It is removed if more than
half of them found it silent too, and none has heard it. If it returns after all, it raises its own
count; it forgets its part in the network, but not what publishers were promised. A broker that
learns of a change writes the roll to disk and tells all. It tells them once more when it has
settled: when all that it keeps for the network is where it belongs by the new roll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.roll import (
    Roll,
    brokers_of,
    is_out,
    next_count,
    own_count,
    present_of,
    seats_of,
)

LOOK = ("removals",)
FOUNDERS: DiskKey = ("founders",)
# A broker about which nobody has decided is asked about again after this part of the patience.
ASK_AGAIN_PART = 4


class RemovalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """After which silence a broker counts as gone for good."""

    remove_after_us: int = 600_000_000


class RollTold(PeerMessage, frozen=True, gc=False, tag=35):
    """The roll on my disk, and whether all that I keep is where it belongs by it."""

    counts_as = "membership"

    roll: Roll
    is_settled: bool
    is_question: bool = False


class LastCall(PeerMessage, frozen=True, gc=False, tag=36):
    """Say whether this broker has been silent for you, too."""

    counts_as = "membership"

    broker: str
    serial: int


class CallAnswered(PeerMessage, frozen=True, gc=False, tag=37):
    """It has been silent for me; or it lives."""

    counts_as = "membership"

    broker: str
    serial: int
    is_silent: bool


class Removals:
    """The roll at one broker, and who else is known to have the same.

    founders: the brokers with which the network began. It tells of every new roll, and when this
    broker finds itself removed.
    """

    def __init__(
        self,
        me: str,
        founders: tuple[str, ...],
        settings: RemovalSettings,
        *,
        incarnation: int,
        send: Callable[[Turn, str, Any], None],
    ) -> None:
        self._me = me
        self.founders = founders
        self._settings = settings
        self._send = send
        self._counts: dict[str, int] = {}
        self._silent_since_us: dict[str, int] = {}
        self._serials = serials(incarnation)
        self._calls: dict[str, tuple[int, set[str]]] = {}
        self._unanswered: dict[str, list[tuple[str, int]]] = {}
        self._have: set[str] = set()
        self._settled: set[str] = set()
        self._settled_us: int | None = None
        self._set_roll()
        # The present brokers by the roll by which this one has settled last.
        self.settled_present = founders

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(RollTold, self.told),
            on(LastCall, self.called),
            on(CallAnswered, self.call_answered),
        )

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """Take back the roll, and whether this broker had settled."""
        for key, value in disk.items():
            if key[0] == "removals":
                self._counts[str(key[1])] = value
        self._set_roll()
        self._have.add(self._me)
        settled: Roll = disk.get(("settled",), ())
        self.settled_present = present_of(self.founders, dict(settled))
        if settled == self.roll:
            self._settled.add(self._me)

    def started(self, turn: Turn) -> None:
        """After a start: ask all for their roll, if there ever was a change of it."""
        if self.roll:
            self._tell_all(turn, is_question=True)

    def is_removed(self, broker: str) -> bool:
        """True if a broker is gone for good, as far as is known."""
        return is_out(self._counts.get(broker, 0))

    def admit(self, turn: Turn, broker: str) -> bool:
        """Take a broker that was never here into the network, unless there is no seat for it."""
        count = next_count(self.founders, self._counts)
        if count is not None:
            self._change(turn, {broker: count})
        return count is not None

    @property
    def seat(self) -> int:
        """The number that no other broker has."""
        return self.seats[self._me]

    def broker_at(self, seat: int) -> str | None:
        """Who has a seat; None if that is not known here."""
        return self._at.get(seat)

    def never_removed(self) -> tuple[str, ...]:
        """Founders that were never removed; if there are none, all brokers that are present."""
        found = tuple(name for name in self.brokers if not self._counts.get(name))
        return found or self.present

    def in_line(self) -> tuple[str, ...]:
        """Brokers that may have kept before what this one keeps; for a founder, founders."""
        return self.founders if self._me in self.founders else self.brokers

    def without_roll(self) -> tuple[str, ...]:
        """Present brokers that may not have the roll on disk."""
        return () if not self.roll else _missing(self.present, self._have)

    def unsettled(self) -> tuple[str, ...]:
        """Present brokers that may keep something that belongs elsewhere."""
        return () if not self.roll else _missing(self.present, self._settled)

    def is_settled_since(self, time_us: int) -> bool:
        """True if everything was known to be where it belongs at a time."""
        return not self.roll or (self._settled_us is not None and self._settled_us <= time_us)

    def has_settled(self) -> bool:
        """True if all that this broker keeps is where it belongs."""
        return not self.roll or self._me in self._settled

    def settle(self, turn: Turn) -> None:
        """All that this broker keeps is where it belongs by the roll: say so."""
        self._settled.add(self._me)
        self.settled_present = self.present
        turn.write(("settled",), self.roll)
        self._note_settled(turn)
        turn.once_synced(self._tell_all)

    def learn(self, turn: Turn, roll: Roll) -> None:
        """Believe the higher count of each broker."""
        later = {name: count for name, count in roll if count > self._counts.get(name, 0)}
        if later:
            self._change(turn, later)

    def told(self, turn: Turn, peer: str, message: RollTold) -> None:
        """A peer tells its roll, and whether it has settled; so it is alive."""
        self._answer_calls(turn, peer, is_silent=False)
        self.learn(turn, message.roll)
        if message.roll == self.roll:
            self._have.add(peer)
            if message.is_settled:
                self._settled.add(peer)
                self._note_settled(turn)
        if message.is_question or message.roll != self.roll:
            self.tell(turn, peer)

    def tell(self, turn: Turn, peer: str, *, is_question: bool = False) -> None:
        """Tell a peer the roll and whether this broker has settled, once that is on disk."""
        turn.once_synced(
            lambda later: self._send(
                later, peer, RollTold(self.roll, self.has_settled(), is_question)
            )
        )

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have missed what was told."""
        if self.roll:
            self.tell(turn, peer)

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        """Note since when brokers are silent."""
        for name in self.brokers:
            if name in alive:
                self._silent_since_us.pop(name, None)
                self._calls.pop(name, None)
            elif name not in self._silent_since_us:
                self._silent_since_us[name] = turn.now_us
                self._answer_calls(turn, name, is_silent=True)
                turn.timer(LOOK, turn.now_us + self._settings.remove_after_us)

    def look(self, turn: Turn) -> None:
        """Ask all about brokers silent for too long; remove those that a majority found silent."""
        after_us = self._settings.remove_after_us
        silent = {
            name: since_us
            for name, since_us in self._silent_since_us.items()
            if not self.is_removed(name)
        }
        for name, since_us in silent.items():
            if turn.now_us - since_us < after_us:
                continue
            _, agreed = self._calls.pop(name, (0, set()))
            if 2 * len(agreed & set(self.present)) > len(self.present):
                self._change(turn, {name: self._counts.get(name, 0) + 1})
            else:
                serial = next(self._serials)
                self._calls[name] = (serial, set())
                for other in self.present:
                    self._send(turn, other, LastCall(name, serial))
        if silent:
            soonest_us = min(silent.values()) + after_us
            turn.timer(LOOK, max(soonest_us, turn.now_us + after_us // ASK_AGAIN_PART))

    def called(self, turn: Turn, peer: str, message: LastCall) -> None:
        """A peer asks whether a broker is silent; if that is not known, ask the broker itself."""
        name = message.broker
        self._unanswered.setdefault(name, []).append((peer, message.serial))
        if name == self._me or name in self._silent_since_us:
            self._answer_calls(turn, name, is_silent=name != self._me)
        else:
            self.tell(turn, name, is_question=True)

    def call_answered(self, _turn: Turn, peer: str, message: CallAnswered) -> None:
        """A peer answers about a silent broker; one answer that it lives ends the question."""
        serial, agreed = self._calls.get(message.broker, (0, set()))
        if serial == message.serial and message.is_silent:
            agreed.add(peer)
        elif serial == message.serial:
            del self._calls[message.broker]

    def _answer_calls(self, turn: Turn, name: str, *, is_silent: bool) -> None:
        for peer, serial in self._unanswered.pop(name, ()):
            self._send(turn, peer, CallAnswered(name, serial, is_silent))

    def _change(self, turn: Turn, counts: dict[str, int]) -> None:
        self._counts.update(counts)
        was_removed = self.is_removed(self._me)
        mine = own_count(self._me, self.founders, self._counts)
        if mine:
            self._counts[self._me] = mine
        for name in {**counts, self._me: None}:
            if name in self._counts:
                turn.write(("removals", name), self._counts[name])
        turn.write(FOUNDERS, self.founders)
        self._set_roll()
        if was_removed:
            turn.facts.was_removed.tell(turn)
        turn.once_synced(self._tell_all)
        turn.facts.roll_changed.tell(turn)

    def _set_roll(self) -> None:
        self.roll: Roll = tuple(sorted(self._counts.items()))
        self.brokers = brokers_of(self.founders, self._counts)
        self.present = present_of(self.founders, self._counts)
        self.seats = seats_of(self.founders, self._counts)
        self._at = {seat: name for name, seat in sorted(self.seats.items(), reverse=True)}
        self._have.clear()
        self._settled.clear()
        self._settled_us = None

    def _tell_all(self, turn: Turn, *, is_question: bool = False) -> None:
        self._have.add(self._me)
        for name in self.present:
            if name != self._me:
                self.tell(turn, name, is_question=is_question)

    def _note_settled(self, turn: Turn) -> None:
        if self._settled_us is None and not self.unsettled():
            self._settled_us = turn.now_us


def _missing(brokers: tuple[str, ...], known: set[str]) -> tuple[str, ...]:
    return tuple(name for name in brokers if name not in known)
