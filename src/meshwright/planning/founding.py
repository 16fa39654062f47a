"""The overlay of a network of which nothing is known yet: everybody may want everything."""

from __future__ import annotations

from math import isqrt

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.designs import begun_with, design, joined_as
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import Int32Array, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.planning.topic_connected.builders import supported_k
from meshwright.planning.topic_connected.circulants import harary
from meshwright.planning.topic_connected.validation import simple_links

# A ring alone joins so many brokers by short ways.
RING_MAX = 7


def founding_overlay(
    name: str, brokers: tuple[str, ...], *, k: int | None = None, seed: int = 0
) -> Overlay:
    """How brokers are joined before any of them has clients.

    There is nothing yet to arrange or adapt a variant by: it begins as its base, and is noted. Nor
    is there anything to choose links by: designs that do so by interests all begin alike.
    """
    if len(set(brokers)) != len(brokers):
        raise ProblemError("Two brokers have the same name; give each its own.")
    snapshot = founding_snapshot(brokers)
    row = design(name)
    if row.choose_links is not None:
        return _ring(name, snapshot, supported_k(name, k, len(brokers)))
    rng = np.random.default_rng(seed)
    overlay = build_overlay(joined_as(name), snapshot, k=k, rng=rng, **begun_with(name))
    return msgspec.structs.replace(overlay, params={**overlay.params, **row.given})


def founding_snapshot(brokers: tuple[str, ...]) -> Snapshot:
    """Every broker wants everything."""
    everybody = np.arange(len(brokers), dtype=np.int64)
    interests = interests_from_pairs(everybody, np.zeros_like(everybody), len(brokers), 1)
    return Snapshot(
        tuple(map(BrokerName, brokers)), (TopicName("everything"),), interests, np.ones(1)
    )


def _ring(name: str, snapshot: Snapshot, k: int) -> Overlay:
    """A Harary graph, for k = 1 too a ring, and in a larger network chords that shorten its ways.

    Greedy rules end in a star here, whose middle carries all and whose loss parts all, or in a
    path. On this graph all brokers have the same number of links, but for one where a Harary graph
    of odd k has one more.
    """
    links = harary(snapshot.interests, k=max(2, k))
    count = len(snapshot.brokers)
    if count > RING_MAX:
        links = simple_links(np.concatenate([links, _chords(count)]), count)
    names = snapshot.brokers
    return Overlay(
        design=joined_as(name),
        params={"k": k, **design(name).given},
        brokers=names,
        links=tuple((names[one], names[other]) for one, other in links.tolist()),
    )


def _chords(count: int) -> Int32Array:
    """From every place of a ring to the one the root of their number further: (link, 2)."""
    places = np.arange(count, dtype=np.int32)
    return np.stack([places, (places + isqrt(count)) % count], axis=1)
