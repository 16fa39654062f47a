"""The overlay of a network of which nothing is known yet: everybody may want everything."""

from __future__ import annotations

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.designs import begun_with, design, joined_as
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay


def founding_overlay(
    name: str, brokers: tuple[str, ...], *, k: int | None = None, seed: int = 0
) -> Overlay:
    """How brokers are joined before any of them has clients.

    There is nothing yet to arrange or adapt a variant by: it begins as its base, and is noted.
    """
    if len(set(brokers)) != len(brokers):
        raise ProblemError("Two brokers have the same name; give each its own.")
    everybody = np.arange(len(brokers), dtype=np.int64)
    interests = interests_from_pairs(everybody, np.zeros_like(everybody), len(brokers), 1)
    snapshot = Snapshot(
        tuple(map(BrokerName, brokers)), (TopicName("everything"),), interests, np.ones(1)
    )
    row = design(name)
    rng = np.random.default_rng(seed)
    overlay = build_overlay(joined_as(name), snapshot, k=k, rng=rng, **begun_with(name))
    return msgspec.structs.replace(overlay, params={**overlay.params, **row.given})
