"""The overlays in use: one forwarding machine for each epoch, the newest carries what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.filters.topics import has_wildcard
from meshwright.protocol.effects import TimerKey
from meshwright.protocol.forwarding.forwarding import Forwarding
from meshwright.protocol.stream import StreamFrame
from meshwright.protocol.turn import Action, Turn


class Roads:
    """Forwarding machines by epoch. Interest goes to all of them, frames to the current one."""

    def __init__(self) -> None:
        self._machines: dict[int, Forwarding] = {}
        self.epoch = 0

    def build(self, turn: Turn, epoch: int, machine: Forwarding, filters: Iterable[Filter],
              ready: Action) -> None:  # fmt: skip
        """Add the machine of an epoch and give it all interest; ready when it carries all."""
        self._machines[epoch] = machine
        remaining = 1

        def one_done(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining:
                ready(later)

        for wanted in filters:
            if self._takes(machine, wanted):
                remaining += 1
                machine.add_interest(turn, wanted, one_done)
        one_done(turn)

    def switch(self, epoch: int) -> None:
        """Send new frames on the overlay of this epoch."""
        self.epoch = epoch

    def retire(self, epoch: int) -> None:
        """Forget the overlay of an epoch."""
        self._machines.pop(epoch, None)

    def accepts_filters(self) -> bool:
        """True if the current overlay takes wildcards and content itself."""
        return self._machines[self.epoch].accepts == "filter"

    def neighbours(self) -> list[str]:
        """Brokers that some overlay in use is connected with."""
        names = {name for machine in self._machines.values() for name in machine.neighbours()}
        return sorted(names)

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """Have every overlay in use carry a filter here; done when the current one does."""
        is_waiting = False
        for epoch, machine in list(self._machines.items()):
            if self._takes(machine, wanted):
                is_current = epoch == self.epoch
                machine.add_interest(turn, wanted, done if is_current else _nothing)
                is_waiting = is_waiting or is_current
        if not is_waiting:
            done(turn)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        """No overlay need carry a filter here any more."""
        for machine in list(self._machines.values()):
            if self._takes(machine, wanted):
                machine.remove_interest(turn, wanted)

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        """Carry a frame on the current overlay."""
        self._machines[self.epoch].send_out(turn, frame)

    def handle(self, turn: Turn, peer: str, message: Any) -> None:
        """Give a message to the machine of its epoch; one of a forgotten epoch is void."""
        machine = self._machines.get(message.epoch)
        if machine is not None:
            machine.handle(turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """Give a timer to the machine of its epoch, which stands second in its key."""
        machine = self._machines.get(int(key[1]))
        if machine is not None:
            machine.timer_fired(turn, key)

    def for_each(self, tell: Callable[[Forwarding], None]) -> None:
        """Tell all overlays in use something."""
        for machine in list(self._machines.values()):
            tell(machine)

    @staticmethod
    def _takes(machine: Forwarding, wanted: Filter) -> bool:
        return machine.accepts == "filter" or not has_wildcard(wanted.levels)


def _nothing(_turn: Turn) -> None:
    """Nobody waits for this."""
