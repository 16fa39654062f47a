"""Brokers killed at once: how many topics are cut, by the links alone and message by message.

A topic is cut if two of its living brokers are joined by no path of its living brokers. Simulated,
brokers die under a network of real ones, and before anybody can have mended a link, a message of
QoS 0, which is never sent again, is published on every topic: it is cut if a living broker's client
that wants it gets nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from meshwright.lab.topic_connectivity.links import drawn_interests
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.interests import Int32Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.topic_connected.builders import build_links
from meshwright.planning.topic_connected.validation import failing_topics
from meshwright.sim.clients.client import Client, ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.world import World

SECOND_US = 1_000_000
# Less than the silence after which a broker counts as dead, so nobody has mended anything yet.
BEFORE_ANYBODY_KNOWS_US = 3 * SECOND_US
MENDED_US = 20 * SECOND_US


def measure_cuts(
    *, seed: int, design: str, k: int, killed: int, draws: int = 100, **workload: Any
) -> dict[str, Any]:
    """Topics that the worst choice of brokers can cut, exactly, and that random ones do cut."""
    interests = drawn_interests(seed=seed, **workload)
    rng = np.random.default_rng(seed)
    links = build_links(design, interests, k=k, rng=rng)
    cut = [
        len(cut_topics(links, interests, rng.choice(interests.row_count, killed, replace=False)))
        for _ in range(draws)
    ]
    return {
        "topics_cut_worst": len(failing_topics(links, interests, killed + 1)),
        "topics_cut_mean": float(np.mean(cut)),
        "topics_cut_most": int(np.max(cut)),
        "degree": 2 * len(links) / interests.row_count,
    }


def cut_topics(links: Int32Array, interests: Interests, dead: Any) -> list[int]:
    """The topics whose living brokers are in more than one piece without the dead."""
    living = interests.dense()
    living[np.asarray(dead)] = False
    # One node for each broker and topic, so that all topics are looked at together.
    joined, topics = np.nonzero(living[links[:, 0]] & living[links[:, 1]])
    ends = links[joined] * living.shape[1] + topics[:, None]
    matrix = coo_matrix((np.ones(len(ends), dtype=np.int8), ends.T), shape=(living.size,) * 2)
    pieces = connected_components(matrix, directed=False)[1].reshape(living.shape)
    lowest = np.where(living, pieces, living.size).min(axis=0)
    highest = np.where(living, pieces, -1).max(axis=0)
    return [int(topic) for topic in np.flatnonzero(lowest < highest)]


class Doomed(NamedTuple):
    """A network, the brokers that are to die, and the topics that its links say are cut then."""

    snapshot: Snapshot
    overlay: Overlay
    dead: tuple[int, ...]
    topics_cut_by_links: int


def doomed_network(*, seed: int, design: str, k: int, killed: int, **workload: Any) -> Doomed:
    """The network of a seed, and who of it dies."""
    names = ("brokers", "topics", "topics_per_broker", "popularity")
    snapshot = generate_snapshot(*(workload[name] for name in names), seed=seed)
    rng = np.random.default_rng(seed)
    overlay = build_overlay(design, snapshot, k=k, rng=rng)
    dead = rng.choice(len(snapshot.brokers), killed, replace=False)
    by_links = cut_topics(link_indexes(overlay, snapshot), snapshot.interests, dead)
    return Doomed(snapshot, overlay, tuple(dead.tolist()), len(by_links))


def measure_simulated_cuts(
    *, seed: int, design: str, k: int, killed: int, **workload: Any
) -> dict[str, Any]:
    """Topics cut in a simulated network right after brokers died, and after it mended itself."""
    doomed = doomed_network(seed=seed, design=design, k=k, killed=killed, **workload)
    names = [doomed.snapshot.brokers[one] for one in doomed.dead]
    at_once, mended = _simulated(doomed.overlay, doomed.snapshot, names, seed)
    return {
        "topics_cut_by_links": doomed.topics_cut_by_links,
        "topics_cut_at_once": at_once,
        "topics_cut_mended": mended,
    }


def _simulated(overlay: Overlay, snapshot: Snapshot, dead: list[Any], seed: int) -> tuple[int, int]:
    world = World(
        overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(seed)
    )
    world.start()
    clients = [world.add_client(f"c{name}", ClientSettings()) for name in snapshot.brokers]
    members = snapshot.interests.transposed()
    for client, broker_name in zip(clients, snapshot.brokers, strict=True):
        client.connect(broker_name)
    world.run_until(4 * SECOND_US)
    for topic, name in enumerate(snapshot.topics):
        for broker in members.of(topic):
            clients[broker].subscribe(name, 0)
    world.run_until(world.agenda.now_us + 10 * SECOND_US)
    # A stream opens with its first message; what is measured is how later ones travel.
    _cut(world, snapshot, clients, MENDED_US)
    for name in dead:
        world.crash(name)
    at_once = _cut(world, snapshot, clients, BEFORE_ANYBODY_KNOWS_US)
    world.run_until(world.agenda.now_us + MENDED_US)
    return at_once, _cut(world, snapshot, clients, MENDED_US)


def _cut(world: World, snapshot: Snapshot, clients: list[Client], wait_us: int) -> int:
    """Publish once on every topic at its first living broker; topics that some living one lacks."""
    members = snapshot.interests.transposed()
    before = len(world.history.deliveries)
    wanted: dict[str, set[str]] = {}
    for topic, name in enumerate(snapshot.topics):
        living = [one for one in members.of(topic) if world.is_up(snapshot.brokers[one])]
        if living:
            wanted[name] = {clients[one].name for one in living}
            clients[living[0]].publish(name, 0)
    world.run_until(world.agenda.now_us + wait_us)
    got: dict[str, set[str]] = {}
    for delivery in world.history.deliveries[before:]:
        got.setdefault(delivery.topic, set()).add(delivery.client)
    return sum(not wanting <= got.get(name, set()) for name, wanting in wanted.items())
