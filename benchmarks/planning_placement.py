"""Client placement: a million clients at once."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.table import Row, timed
from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.placement.clients import (
    Clients,
    PlacementProblem,
    view_of,
)
from meshwright.planning.placement.clusters import one_cluster, random_clusters
from meshwright.planning.placement.strategies import PLACEMENTS, PlacementRules

BROKERS = 100
TOPICS = 1000
TOPICS_PER_CLIENT = 5
MODE_TOPICS = 10
CLUSTER = 5


def rows() -> list[Row]:
    return [_compilation(), *_million_clients()]


def _compilation() -> Row:
    start = time.perf_counter()
    _place_all(_static_problem(100, one_cluster(BROKERS), TOPICS), "similarity-bounded")
    seconds = time.perf_counter() - start
    return Row(
        "placement: first call of the kernel",
        f"{seconds:.2f} s",
        "-",
        note="compilation, or reading the cached kernel; excluded below",
    )


def _million_clients() -> list[Row]:
    found = []
    for topic_count, cluster_size in ((TOPICS, BROKERS), (100_000, BROKERS), (TOPICS, CLUSTER)):
        clusters = _clusters() if cluster_size == CLUSTER else one_cluster(BROKERS)
        problem = _static_problem(1_000_000, clusters, topic_count)
        for method in ("similarity", "similarity-bounded"):
            seconds, chosen = timed(lambda p=problem, m=method: _place_all(p, m))
            moved = int(np.count_nonzero(chosen != problem.clients.brokers))
            found.append(
                Row(
                    "placement of 1,000,000 clients with 5 topics on 100 brokers: "
                    f"{method}, {topic_count} topics, clusters of {cluster_size}",
                    f"{seconds:.2f} s",
                    "5 s",
                    met=seconds <= 5.0,
                    note=f"{moved} hand-overs; fullest broker {int(np.bincount(chosen).max())}",
                )
            )
    return found


def _draw_modes(client_count: int, topic_count: int, rng: np.random.Generator) -> Int32Array:
    """Distinct topics of one random mode for every client: (client, topic)."""
    modes = rng.integers(topic_count // MODE_TOPICS, size=(client_count, 1))
    inside = rng.permuted(np.tile(np.arange(MODE_TOPICS), (client_count, 1)), axis=1)
    return (modes * MODE_TOPICS + inside[:, :TOPICS_PER_CLIENT]).astype(np.int32)


def _static_problem(client_count: int, clusters: Int32Array, topic_count: int) -> PlacementProblem:
    rng = np.random.default_rng(7)
    interests = _interests(_draw_modes(client_count, topic_count, rng), topic_count)
    brokers = rng.integers(BROKERS, size=client_count, dtype=np.int32)
    clients = Clients(interests, brokers)
    return PlacementProblem(clients, view_of(clients, BROKERS), clusters)


def _place_all(problem: PlacementProblem, method: str) -> Int32Array:
    return PLACEMENTS[method](problem, PlacementRules(), np.random.default_rng(0))


def _clusters() -> Int32Array:
    return random_clusters(BROKERS, CLUSTER, np.random.default_rng(3))


def _interests(wants: Int32Array, topic_count: int = TOPICS) -> Interests:
    offsets = np.arange(len(wants) + 1, dtype=np.int64) * wants.shape[1]
    return Interests(topic_count, offsets, np.sort(wants, axis=1).ravel())
