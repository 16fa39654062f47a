"""The overlays in use: one forwarding machine for each epoch; the one in force carries frames.

While the overlay changes there are two: interest is added to both, new frames go on one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from meshwright.filters.filter import Filter
from meshwright.filters.topics import has_wildcard
from meshwright.protocol.forwarding.forwarding import Forwarding, ForwardingMessage
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn, nothing


class _Wait:
    """An action that waits until the overlay in force carries a filter.

    asked, carried: the epochs whose machines were asked for it, and those that carry it.
    """

    __slots__ = ("asked", "carried", "done")

    def __init__(self, done: Action, asked: set[int]) -> None:
        self.done = done
        self.asked = asked
        self.carried: set[int] = set()


class ForwardingByEpoch:
    """Forwarding machines by epoch; interest goes to all, frames to the one in force.

    It tells facts: a message came for an epoch that has no machine here, or an overlay older than
    the one in force was used.
    """

    def __init__(self) -> None:
        self._machines: dict[int, Forwarding] = {}
        self._waits: dict[_Wait, None] = {}
        self.epoch = 0

    def __contains__(self, epoch: int) -> bool:
        return epoch in self._machines

    def epochs(self) -> tuple[int, ...]:
        """The epochs of all overlays in use."""
        return tuple(self._machines)

    def add(self, epoch: int, machine: Forwarding) -> None:
        """Add the machine of an epoch; it carries nothing for this broker yet."""
        self._machines[epoch] = machine

    def machine(self, epoch: int) -> Forwarding:
        """The machine of an epoch, which must be known."""
        return self._machines[epoch]

    def fill(
        self,
        turn: Turn,
        epoch: int,
        filters: Iterable[Filter],
        *,
        topics: Iterable[str],
        ready: Action,
    ) -> None:
        """Add all interest to the machine of an epoch; topics: those found by wildcards."""
        machine = self._machines[epoch]
        remaining = 1

        def one_done(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining:
                ready(later)

        found = map(Filter, topics) if machine.accepts == "topic" else ()
        for wanted in (*filters, *found):
            if _takes(machine, wanted):
                remaining += 1
                machine.add_interest(turn, wanted, one_done)
        one_done(turn)

    def switch(self, turn: Turn, epoch: int) -> None:
        """Send new frames on the overlay of this epoch from now on."""
        self.epoch = epoch
        for wait in list(self._waits):
            # A machine that was not asked for this filter got it when it was filled.
            if epoch in wait.carried or epoch not in wait.asked:
                self._end(turn, wait)

    def drop(self, epoch: int) -> None:
        """Forget the overlay of an epoch."""
        self._machines.pop(epoch, None)

    def drop_older(self) -> None:
        """Forget all overlays older than the one in force."""
        for epoch in [epoch for epoch in self._machines if epoch < self.epoch]:
            del self._machines[epoch]

    def neighbours(self) -> list[str]:
        """The brokers to stay connected with for any overlay in use."""
        names = {name for machine in self._machines.values() for name in machine.neighbours()}
        return sorted(names)

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """Have every overlay in use carry a filter here; done when the one in force does."""
        takers = {epoch: one for epoch, one in self._machines.items() if _takes(one, wanted)}
        self._add(turn, takers, wanted, done)

    def add_topic(self, turn: Turn, topic: str, done: Action) -> None:
        """Have overlays that take no wildcards carry a topic that was found by one."""
        takers = {epoch: one for epoch, one in self._machines.items() if one.accepts == "topic"}
        self._add(turn, takers, Filter(topic), done)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        """No overlay need carry a filter here any more."""
        for machine in list(self._machines.values()):
            if _takes(machine, wanted):
                machine.remove_interest(turn, wanted)

    def remove_topic(self, turn: Turn, topic: str) -> None:
        """No overlay need carry a topic that was found by a wildcard."""
        for machine in list(self._machines.values()):
            if machine.accepts == "topic":
                machine.remove_interest(turn, Filter(topic))

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        """Carry a frame on the overlay in force."""
        self._machines[self.epoch].send_out(turn, frame)

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        """Give a message to the machine of its epoch."""
        machine = self._machines.get(message.epoch)
        if machine is not None:
            machine.handle(turn, peer, message)
            if message.epoch < self.epoch:
                turn.facts.late_frame.tell(turn)
        else:
            turn.facts.unknown_epoch.tell(turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """Give a timer to the machine of its epoch, the second part of its key."""
        epoch = int(key[1])
        machine = self._machines.get(epoch)
        if machine is not None:
            machine.timer_fired(turn, key)
            if epoch < self.epoch:
                turn.facts.late_frame.tell(turn)

    def peer_renewed(self, turn: Turn, peer: str, epoch: int) -> None:
        """A peer may have missed what the machine of one epoch told it: tell it again."""
        machine = self._machines.get(epoch)
        if machine is not None:
            machine.peer_renewed(turn, peer)

    def for_each(self, tell: Callable[[Forwarding], None]) -> None:
        """Call a function with the machine of every overlay in use."""
        for machine in list(self._machines.values()):
            tell(machine)

    def _add(self, turn: Turn, takers: dict[int, Forwarding], wanted: Filter, done: Action) -> None:
        if self.epoch not in takers:
            done(turn)
            done = nothing
            if not takers:
                return
        wait = _Wait(done, set(takers))
        if self.epoch in takers:
            self._waits[wait] = None
        for epoch, machine in takers.items():
            machine.add_interest(turn, wanted, partial(self._carried, wait=wait, epoch=epoch))

    def _carried(self, turn: Turn, wait: _Wait, epoch: int) -> None:
        wait.carried.add(epoch)
        if epoch == self.epoch:
            self._end(turn, wait)

    def _end(self, turn: Turn, wait: _Wait) -> None:
        if self._waits.pop(wait, self) is None:
            wait.done(turn)


def _takes(machine: Forwarding, wanted: Filter) -> bool:
    return machine.accepts == "filter" or not has_wildcard(wanted.levels)
