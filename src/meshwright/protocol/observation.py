"""What an onlooker may know of a broker without asking it to do anything."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.overlay import Overlay
from meshwright.protocol.broker_settings import BrokerSettings


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


def observed(
    settings: BrokerSettings, epoch: int, overlay: Overlay, is_free: bool, lengths: dict[str, int]
) -> Observation:
    """How a broker stands, its queues each with its bound."""
    bounds = {
        "log": settings.sessions.log_max,
        "client": settings.sessions.queue_max,
        "peer": settings.links.unacknowledged_max,
        "held": settings.incoming.held_max,
        "unpromised": settings.outgoing.unpromised_max,
        "group": settings.shared.queue_max,
    }
    queues = tuple(Queue(name, lengths[name], bound) for name, bound in bounds.items())
    return Observation(epoch, overlay, not is_free, queues)
