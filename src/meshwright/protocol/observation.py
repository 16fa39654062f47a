"""What an onlooker may know of a broker without asking it to do anything."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.overlay import Overlay
from meshwright.protocol.assembly import Machines
from meshwright.protocol.settings import BrokerSettings


class Queue(NamedTuple):
    """How much waits somewhere, and how much may."""

    name: str
    length: int
    length_max: int


class Observation(NamedTuple):
    """The overlay in force, whether a plan is under way here, and the longest of each queue.

    lengths and bounds are in the same order; a bound is the name of a queue and how much may wait.
    """

    epoch: int
    overlay: Overlay
    is_changing: bool
    lengths: tuple[int, ...]
    bounds: tuple[tuple[str, int], ...]

    @property
    def queues(self) -> tuple[Queue, ...]:
        """Every queue with its length and its bound."""
        pairs = zip(self.lengths, self.bounds, strict=True)
        return tuple(Queue(name, length, length_max) for length, (name, length_max) in pairs)


def queue_bounds(settings: BrokerSettings) -> tuple[tuple[str, int], ...]:
    """How much may wait in each queue, in the order in which their lengths are observed."""
    return (
        ("log", settings.sessions.log_max),
        ("client", settings.sessions.queue_max),
        ("peer", settings.conversations.window + settings.conversations.spare_max),
        ("held", settings.incoming.held_max),
        ("qos0", settings.outgoing.qos0_max),
        ("group", settings.shared.queue_max),
    )


def observed(machines: Machines, bounds: tuple[tuple[str, int], ...]) -> Observation:
    """How a broker stands, its queues each with its bound."""
    lengths = (
        machines.retained_store.log_length(),
        machines.sessions.queue_length(),
        machines.conversations.queue_length(),
        machines.incoming.held_length(),
        machines.outgoing.qos0_length(),
        machines.shared_keeper.queue_length(),
    )
    change = machines.overlays.change
    is_changing = machines.overlays.is_changing
    return Observation(change.epoch, change.in_force.overlay, is_changing, lengths, bounds)
