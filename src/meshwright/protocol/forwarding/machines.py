"""The forwarding machine of every design, by name, and the messages that machines exchange."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.protocol.forwarding.acyclic import (
    Acyclic,
    AdvertisementChange,
    AlongTree,
    ChangeInstalled,
    FilterChange,
)
from meshwright.protocol.forwarding.climbing_trees import TreeInstalled, TreeJoin, TreeLeave
from meshwright.protocol.forwarding.forwarding import Forwarding, Surroundings
from meshwright.protocol.forwarding.neighbour_interest import InterestChange
from meshwright.protocol.forwarding.offers import Graft, Offer, Push
from meshwright.protocol.forwarding.partition import (
    AcrossDominators,
    FromDominator,
    Partition,
    ToDominator,
)
from meshwright.protocol.forwarding.rendezvous import FromRoot, Rendezvous, ToRoot
from meshwright.protocol.forwarding.rooted_trees import (
    ReceiverInstall,
    ReceiverJoin,
    ReceiverLeave,
    ReceiverPrune,
)
from meshwright.protocol.forwarding.topic_connected import HandIn, Prune, TopicConnected
from meshwright.protocol.forwarding.trees import TellAgain

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

# What a message counts as; the closed forms of planning count publications and subscriptions.
FORWARDING_CLASSES: dict[type, str] = {
    ToRoot: "publication",
    FromRoot: "publication",
    ToDominator: "publication",
    AcrossDominators: "publication",
    FromDominator: "publication",
    HandIn: "publication",
    Push: "publication",
    AlongTree: "publication",
    ReceiverJoin: "subscription",
    ReceiverInstall: "subscription",
    ReceiverLeave: "subscription",
    ReceiverPrune: "subscription",
    TreeJoin: "subscription",
    TreeLeave: "subscription",
    TellAgain: "subscription",
    InterestChange: "subscription",
    FilterChange: "subscription",
    AdvertisementChange: "advertisement",
    TreeInstalled: "acknowledgement",
    ChangeInstalled: "acknowledgement",
    Offer: "offer",
    Graft: "offer",
    Prune: "offer",
}

# Frames on their way to where they are spread from.
ENTERING = frozenset({ToRoot, ToDominator, HandIn})

MESSAGES: tuple[type, ...] = tuple(FORWARDING_CLASSES)

# Frames and what goes with them, and what changes who wants what.
FRAMES = frozenset(
    one for one, kind in FORWARDING_CLASSES.items() if kind in {"publication", "offer"}
)
TELLINGS = tuple(one for one in FORWARDING_CLASSES if one not in FRAMES)
