"""What links and brokers carry under an overlay, for pictures: where the traffic is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.tree import steiner_brokers, tree
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.evaluation.rendezvous import rendezvous_of


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """links: messages on each link of the overlay, (link,).

    relayed: messages that each broker receives without wanting them, (broker,).
    """

    links: Float64Array
    relayed: Float64Array


def carried_on_geometry(overlay: Overlay, snapshot: Snapshot) -> Carried:
    """The topic trees of a key geometry, each as often as its topic is published."""
    trees = rendezvous_of(overlay, snapshot)
    brokers = np.argsort(trees.positions).astype(np.int32)
    received = trees.below > 0
    received[np.arange(len(trees.roots)), trees.roots] = False
    topics, positions = np.nonzero(received)
    receivers = brokers[positions]
    senders = brokers[trees.geometry.parents[trees.roots[topics], positions]]
    rates = snapshot.publications[topics]
    unwanted = ~snapshot.interests.dense()[receivers, topics]
    return Carried(
        _by_link(link_indexes(overlay, snapshot), np.stack((senders, receivers), axis=1), rates),
        np.bincount(receivers, weights=rates * unwanted, minlength=len(overlay.brokers)).astype(
            np.float64
        ),
    )


def carried_on_tree(overlay: Overlay, snapshot: Snapshot) -> Carried:
    """The smallest subtree that joins the brokers of a topic, as often as it is published."""
    links = link_indexes(overlay, snapshot)
    members = snapshot.interests.dense()
    visited = steiner_brokers(tree(len(members), links), members)
    crossed = visited[links[:, 0]] & visited[links[:, 1]]
    return Carried(crossed @ snapshot.publications, (visited & ~members) @ snapshot.publications)


def _by_link(links: Int32Array, pairs: Int32Array, messages: Float64Array) -> Float64Array:
    """Messages between pairs of brokers, summed for each link: (link,)."""
    count = int(max(links.max(initial=0), pairs.max(initial=0))) + 1
    link_keys, pair_keys = (
        np.sort(ends, axis=1).astype(np.int64) @ np.array([count, 1]) for ends in (links, pairs)
    )
    order = np.argsort(link_keys)
    places = order[np.searchsorted(link_keys, pair_keys, sorter=order)]
    return np.bincount(places, weights=messages, minlength=len(links)).astype(np.float64)
