"""The forwarding machines, and the messages that they exchange."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.model.designs import ForwardingKind, design
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic
from meshwright.protocol.forwarding.forwarding import Forwarding, ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.partition.partition import Partition
from meshwright.protocol.forwarding.rendezvous.rendezvous import Rendezvous
from meshwright.protocol.forwarding.topic_connected.topic_connected import TopicConnected
from meshwright.protocol.foundation.message import kinds_of

MACHINES: dict[ForwardingKind, Callable[[Surroundings], Forwarding]] = {
    "rendezvous": Rendezvous,
    "partition": Partition,
    "topic_connected": TopicConnected,
    "acyclic": Acyclic,
}

# All that the machines of any design say to each other.
MESSAGES = kinds_of(ForwardingMessage)

# Frames and what goes with them, and what changes who wants what.
FRAMES = tuple(one for one in MESSAGES if one.counts_as in {"publication", "offer"})
TELLINGS = tuple(one for one in MESSAGES if one not in FRAMES)


def machine_for(around: Surroundings) -> Forwarding:
    """The machine that carries frames on an overlay, by what its design forwards."""
    return MACHINES[design(around.overlay.design).forwarding](around)
