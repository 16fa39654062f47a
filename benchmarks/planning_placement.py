"""Client placement: a million clients at once, and what selection does to broker subscriptions."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from benchmarks.table import Row, timed
from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.placement.clients import (
    NO_BROKER,
    Clients,
    PlacementProblem,
    view_of,
)
from meshwright.planning.placement.clusters import one_cluster, random_clusters
from meshwright.planning.placement.outcome import place
from meshwright.planning.placement.strategies import PLACEMENTS, PlacementRules

Pattern = Literal["uniform", "multimodal"]
Start = Literal["static", "selected"]

BROKERS = 100
TOPICS = 1000
TOPICS_PER_CLIENT = 5
MODE_TOPICS = 10
CLUSTER = 5
HOURS = 30
CHANGES_PER_HOUR = 0.1


def rows() -> list[Row]:
    return [_compilation(), *_million_clients(), *_subscription_changes()]


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


def _subscription_changes() -> list[Row]:
    """The trap: under uniform interests, selection without hysteresis is worse than none."""
    found = []
    for pattern in ("uniform", "multimodal"):
        still, _, deviation = _live_through(pattern, "static", "static")
        found.append(_changes_row(f"{pattern}: static", (still, 0, deviation), still))
        for start in ("static", "selected"):
            for method in ("similarity", "similarity-bounded"):
                lived = _live_through(pattern, method, start)
                found.append(_changes_row(f"{pattern}, {start} start: {method}", lived, still))
    return found


def _changes_row(label: str, lived: tuple[int, int, float], still: int) -> Row:
    changed, hand_overs, deviation = lived
    return Row(
        f"broker subscription changes, 50,000 clients, {HOURS} h, {label}",
        f"{changed} ({changed / still:.2f} x static)",
        "report",
        "-80 % in multimodal" if "multimodal" in label else "-",
        note=f"{hand_overs} hand-overs, load deviation {deviation:.0f}",
    )


def _live_through(pattern: Pattern, method: str, start: Start) -> tuple[int, int, float]:
    """Changed (broker, topic) pairs, hand-overs, last load deviation, once all clients have come.

    Clients come either to random brokers or to those the method selects.
    """
    # Two streams, so that every method lives through the same changes of interest.
    rng, placement_rng = np.random.default_rng(11).spawn(2)
    wants = _draw_wants(50_000, pattern, rng)
    first = "static" if start == "static" else method
    clients = _arrive(_interests(wants), first, placement_rng)
    changed, hand_overs, deviation = 0, 0, 0.0
    for _ in range(HOURS):
        asking = rng.random(len(wants)) < 1.0 - np.exp(-CHANGES_PER_HOUR)
        wants = _change_wants(wants, asking, pattern, rng)
        problem = PlacementProblem(
            Clients(_interests(wants), clients.brokers),
            view_of(clients, BROKERS),
            _clusters(),
            viewed=clients,
            asking=asking,
        )
        placement = place(problem, method, placement_rng)
        clients = problem.clients.moved_to(placement.brokers)
        changed += placement.subscription_changes
        hand_overs += placement.hand_overs
        deviation = placement.load_deviation
    return changed, hand_overs, deviation


def _arrive(interests: Interests, method: str, rng: np.random.Generator) -> Clients:
    """Clients come in fifty batches, each placed on a view of those before it."""
    wants = interests.columns.reshape(-1, TOPICS_PER_CLIENT)
    hosts = np.full(len(wants), NO_BROKER, dtype=np.int32)
    for batch in np.array_split(np.arange(len(wants)), 50):
        view = view_of(Clients(interests, hosts.copy()), BROKERS)
        newcomers = Clients(_interests(wants[batch]), hosts[batch])
        problem = PlacementProblem(newcomers, view, _clusters())
        hosts[batch] = PLACEMENTS[method](problem, PlacementRules(), rng)
    return Clients(interests, hosts)


def _draw_wants(client_count: int, pattern: Pattern, rng: np.random.Generator) -> Int32Array:
    """Distinct topics of every client: (client, topic)."""
    if pattern == "multimodal":
        return _draw_modes(client_count, TOPICS, rng)
    wants = rng.integers(TOPICS, size=(client_count, TOPICS_PER_CLIENT), dtype=np.int32)
    while (clashing := _clashing(wants)).any():
        count = int(np.count_nonzero(clashing))
        wants[clashing] = rng.integers(TOPICS, size=(count, TOPICS_PER_CLIENT))
    return wants


def _draw_modes(client_count: int, topic_count: int, rng: np.random.Generator) -> Int32Array:
    """Distinct topics of one random mode for every client: (client, topic)."""
    modes = rng.integers(topic_count // MODE_TOPICS, size=(client_count, 1))
    inside = rng.permuted(np.tile(np.arange(MODE_TOPICS), (client_count, 1)), axis=1)
    return (modes * MODE_TOPICS + inside[:, :TOPICS_PER_CLIENT]).astype(np.int32)


def _change_wants(
    wants: Int32Array, asking: np.ndarray, pattern: Pattern, rng: np.random.Generator
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
            fresh = rng.integers(TOPICS, size=len(rows), dtype=np.int32)
        known = (wants[rows] == fresh[:, None]).any(axis=1)
        after[rows[~known], places[~known]] = fresh[~known]
        rows, places = rows[known], places[known]
    return after


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


def _clashing(wants: Int32Array) -> np.ndarray:
    return (np.diff(np.sort(wants, axis=1), axis=1) == 0).any(axis=1)
