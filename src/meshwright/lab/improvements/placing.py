"""Client placement by similarity, as in the paper and with hysteresis and a cap [DYNATOPS].

Clients live for some hours in which now and then one drops a topic for another; whoever does is
placed anew. Under uniform interests, selection without hysteresis is worse than none.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.placement.clients import NO_BROKER, Clients, PlacementProblem, view_of
from meshwright.planning.placement.clusters import random_clusters
from meshwright.planning.placement.outcome import place
from meshwright.planning.placement.strategies import PLACEMENTS, PlacementRules

Pattern = Literal["uniform", "multimodal"]
Start = Literal["random", "selected"]
# No broker is ever so full.
NO_CAP = 1e9
# Each of the two that we add is also left out alone, so that what it does can be told.
VARIANTS: dict[str, tuple[str, PlacementRules]] = {
    "static": ("static", PlacementRules()),
    "similarity": ("similarity", PlacementRules()),
    "hysteresis and cap": ("similarity-bounded", PlacementRules()),
    "hysteresis alone": ("similarity-bounded", PlacementRules(load_slack=NO_CAP)),
    "cap alone": ("similarity-bounded", PlacementRules(gain_min=0.0)),
}
TOPICS_PER_CLIENT = 5
MODE_TOPICS = 10
CLUSTER = 5
CHANGES_PER_HOUR = 0.1
BATCHES = 20


def measure_placement(
    *,
    seed: int,
    pattern: Pattern,
    start: Start,
    client_count: int,
    broker_count: int = 50,
    topic_count: int = 500,
    hours: int = 12,
) -> list[dict[str, Any]]:
    """Changes of broker subscriptions, hand-overs and the load deviation of each method.

    start: whether clients come to random brokers or to those that the method selects.
    """
    mean_load = client_count * TOPICS_PER_CLIENT / broker_count
    rows = []
    for variant, (method, rules) in VARIANTS.items():
        # Streams of their own, so that every method lives through the same changes of interest.
        rng, placement_rng, cluster_rng = np.random.default_rng(seed).spawn(3)
        clusters = random_clusters(broker_count, CLUSTER, cluster_rng)
        wants = drawn_wants(client_count, topic_count, pattern, rng)
        first = "static" if start == "random" else method
        interests = interests_of(wants, topic_count)
        clients = _arrived(interests, clusters, first, rules, placement_rng)
        lived = [0.0, 0.0, 0.0]
        for _ in range(hours):
            asking = rng.random(client_count) < 1.0 - np.exp(-CHANGES_PER_HOUR)
            wants = changed_wants(wants, asking, topic_count, pattern, rng)
            problem = PlacementProblem(
                Clients(interests_of(wants, topic_count), clients.brokers),
                view_of(clients, broker_count),
                clusters,
                viewed=clients,
                asking=asking,
            )
            placement = place(problem, method, placement_rng, rules=rules)
            clients = problem.clients.moved_to(placement.brokers)
            load = placement.load_deviation / mean_load
            hour = (placement.subscription_changes, placement.hand_overs, load)
            lived = [total + one / hours for total, one in zip(lived, hour, strict=True)]
        names = ("subscription_changes", "hand_overs", "load_deviation")
        rows.append({"method": variant, **dict(zip(names, lived, strict=True))})
    return rows


def _arrived(
    interests: Interests,
    clusters: Int32Array,
    method: str,
    rules: PlacementRules,
    rng: np.random.Generator,
) -> Clients:
    """Clients come in batches, each placed on a view of those before it."""
    wants = interests.columns.reshape(-1, TOPICS_PER_CLIENT)
    hosts = np.full(len(wants), NO_BROKER, dtype=np.int32)
    for batch in np.array_split(np.arange(len(wants)), BATCHES):
        view = view_of(Clients(interests, hosts.copy()), len(clusters))
        newcomers = Clients(interests_of(wants[batch], interests.column_count), hosts[batch])
        problem = PlacementProblem(newcomers, view, clusters)
        hosts[batch] = PLACEMENTS[method](problem, rules, rng)
    return Clients(interests, hosts)


def drawn_wants(
    client_count: int, topic_count: int, pattern: Pattern, rng: np.random.Generator
) -> Int32Array:
    """Distinct topics of every client, of one random mode if there are any: (client, topic)."""
    if pattern == "multimodal":
        modes = rng.integers(topic_count // MODE_TOPICS, size=(client_count, 1))
        inside = rng.permuted(np.tile(np.arange(MODE_TOPICS), (client_count, 1)), axis=1)
        topics: Int32Array = modes * MODE_TOPICS + inside[:, :TOPICS_PER_CLIENT]
        return topics.astype(np.int32)
    wants = rng.integers(topic_count, size=(client_count, TOPICS_PER_CLIENT), dtype=np.int32)
    while (clashing := (np.diff(np.sort(wants, axis=1), axis=1) == 0).any(axis=1)).any():
        count = int(np.count_nonzero(clashing))
        wants[clashing] = rng.integers(topic_count, size=(count, TOPICS_PER_CLIENT))
    return wants


def changed_wants(
    wants: Int32Array,
    asking: np.ndarray,
    topic_count: int,
    pattern: Pattern,
    rng: np.random.Generator,
) -> Int32Array:
    """Each asking client drops one topic for a fresh one of the same pattern (and mode)."""
    after = wants.copy()
    rows = np.flatnonzero(asking)
    places = rng.integers(TOPICS_PER_CLIENT, size=len(rows))
    while len(rows):
        if pattern == "multimodal":
            first = wants[rows, 0] // MODE_TOPICS * MODE_TOPICS
            fresh = first + rng.integers(MODE_TOPICS, size=len(rows), dtype=np.int32)
        else:
            fresh = rng.integers(topic_count, size=len(rows), dtype=np.int32)
        known = (wants[rows] == fresh[:, None]).any(axis=1)
        after[rows[~known], places[~known]] = fresh[~known]
        rows, places = rows[known], places[known]
    return after


def interests_of(wants: Int32Array, topic_count: int) -> Interests:
    """What clients want, each as many topics as the others."""
    offsets = np.arange(len(wants) + 1, dtype=np.int64) * wants.shape[1]
    return Interests(topic_count, offsets, np.sort(wants, axis=1).ravel())
