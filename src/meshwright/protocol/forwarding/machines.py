"""The forwarding machine of every design, by name, and the messages that machines exchange."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.protocol.forwarding.acyclic import Acyclic
from meshwright.protocol.forwarding.forwarding import Forwarding, ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.partition import Partition
from meshwright.protocol.forwarding.rendezvous import Rendezvous
from meshwright.protocol.forwarding.topic_connected import TopicConnected
from meshwright.protocol.foundation.message import kinds_of

MACHINES: dict[str, Callable[[Surroundings], Forwarding]] = {
    "chord": Rendezvous,
    "tapestry": Rendezvous,
    "pastry": Rendezvous,
    "quadtree": Rendezvous,
    "hypercube": Partition,
    "gm": TopicConnected,
    "gm2": TopicConnected,
    "harary": TopicConnected,
    "cycle": TopicConnected,
    "dcbm": TopicConnected,
    "minmax": TopicConnected,
    "best": TopicConnected,
    "tree": Acyclic,
}

# All that the machines of any design say to each other.
MESSAGES = kinds_of(ForwardingMessage)

# Frames and what goes with them, and what changes who wants what.
FRAMES = tuple(one for one in MESSAGES if one.counts_as in {"publication", "offer"})
TELLINGS = tuple(one for one in MESSAGES if one not in FRAMES)
