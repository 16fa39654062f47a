"""The designs by name: how each forwards, and what builds its overlay.

Nothing else asks which design is in use. Plain consistent hashing is `chord` as it stands,
DYNATOPS is `chord` with arrangement="best", Bayeux is `tapestry`, Scribe `pastry`, GeoPS
`quadtree`, SHG `hypercube`, and OCBR `tree` with adapted=True.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.snapshot import Snapshot
from meshwright.planning import overlay_builders as builders
from meshwright.planning.topic_connected.builders import BUILDERS

ForwardingKind = Literal["rendezvous", "partition", "topic_connected", "acyclic"]


@dataclass(frozen=True, slots=True)
class Design:
    """How a design forwards, what builds its overlay, and the k that can be asked of it.

    build(design, snapshot, rng=, **params), and k= where forwarding is topic_connected. k_most is
    None where any k from k_least on can be had.
    """

    forwarding: ForwardingKind
    build: Callable[..., Overlay]
    k_least: int = 1
    k_most: int | None = 1

    def can_be_asked(self, k: int) -> bool:
        """Whether the design can be built for k."""
        return self.k_least <= k and (self.k_most is None or k <= self.k_most)


def _topic_connected(name: str) -> Design:
    builder = BUILDERS[name]
    return Design("topic_connected", builders.topic_connected, builder.k_least, builder.k_most)


DESIGNS: dict[str, Design] = {
    "chord": Design("rendezvous", builders.on_key_geometry),
    "tapestry": Design("rendezvous", builders.on_key_geometry),
    "pastry": Design("rendezvous", builders.on_key_geometry),
    "quadtree": Design("rendezvous", builders.on_map),
    "hypercube": Design("partition", builders.on_hypercube),
    "gm": _topic_connected("gm"),
    "gm2": _topic_connected("gm2"),
    "harary": _topic_connected("harary"),
    "cycle": _topic_connected("cycle"),
    "dcbm": _topic_connected("dcbm"),
    "minmax": _topic_connected("minmax"),
    "best": _topic_connected("best"),
    "tree": Design("acyclic", builders.on_tree),
}


def build_overlay(
    name: str,
    snapshot: Snapshot,
    *,
    k: int | None = None,
    rng: np.random.Generator,
    **params: Parameter,
) -> Overlay:
    """The overlay of a design for a snapshot's brokers; params are those of its builder.

    k is how many brokers must die to part a topic: None for the design's own.
    """
    chosen = design(name)
    if chosen.forwarding == "topic_connected":
        params["k"] = k
    elif k is not None and not chosen.can_be_asked(k):
        able = [other for other, entry in DESIGNS.items() if entry.can_be_asked(k)]
        advice = f"choose {' or '.join(able)}" if able else "k is 1 or more"
        raise ProblemError(f"The design {name} cannot be built for k = {k}; {advice}.")
    return chosen.build(name, snapshot, rng=rng, **params)


def design(name: str) -> Design:
    """The design of a name."""
    if name not in DESIGNS:
        raise ProblemError(f"There is no design {name!r}; choose one of {', '.join(DESIGNS)}.")
    return DESIGNS[name]


def check_adaptable(name: str) -> None:
    """Refuse a design that brokers cannot fit to their traffic by themselves."""
    if design(name).forwarding != "acyclic":
        raise ProblemError(
            f"Brokers on the design {name!r} cannot adapt it by themselves; take 'tree'."
        )
