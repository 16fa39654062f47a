"""What an onlooker may know of a broker without asking it to do anything."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.overlay import Overlay
from meshwright.protocol.broker_settings import BrokerSettings
from meshwright.protocol.machines import Machines


class Queue(NamedTuple):
    """How much waits somewhere, and how much may."""

    name: str
    length: int
    length_max: int


class Observation(NamedTuple):
    """The overlay in force, whether a plan is under way here, and the longest of each queue."""

    epoch: int
    overlay: Overlay
    is_changing: bool
    queues: tuple[Queue, ...]


def observed(settings: BrokerSettings, machines: Machines) -> Observation:
    """How a broker stands, its queues each with its bound."""
    lengths = {
        "log": (machines.retaining.log_length(), settings.sessions.log_max),
        "client": (machines.sessions.queue_length(), settings.sessions.queue_max),
        "peer": (machines.links.queue_length(), settings.links.unacknowledged_max),
        "held": (machines.incoming.held_length(), settings.incoming.held_max),
        "unpromised": (machines.outgoing.unpromised_length(), settings.outgoing.unpromised_max),
        "group": (machines.shared_keeper.queue_length(), settings.shared.queue_max),
    }
    queues = tuple(Queue(name, *length) for name, length in lengths.items())
    change = machines.ways.change
    is_changing = machines.ways.is_changing
    return Observation(change.epoch, change.in_force.overlay, is_changing, queues)
