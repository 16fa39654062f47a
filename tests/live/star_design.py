"""A design as somebody adds it: one function, and one row of the table."""

from __future__ import annotations

import numpy as np

from meshwright.model.designs import Design
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot


def on_star(design: str, snapshot: Snapshot, *, rng: np.random.Generator) -> Overlay:
    """The first broker is joined with all others."""
    del rng
    middle, *others = snapshot.brokers
    links = tuple((middle, other) for other in others)
    return Overlay(design=design, brokers=snapshot.brokers, links=links)


STAR = Design(forwarding="acyclic", geometry="tree", build="star_design:on_star")
