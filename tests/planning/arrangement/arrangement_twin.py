"""The arrangement problem done dully: trees as sets, costs from nothing, the paper's loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np
from hypothesis import strategies as st

from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.planning.arrangement.problem import Problem, arrangement_problem


def tree(problem: Problem, positions: list[int], topic: int) -> set[int]:
    """Positions in a topic's tree: every member's and those between it and the root."""
    root = int(problem.roots[topic])
    inside = {root}
    for broker in members(problem, topic):
        position = positions[broker]
        while position not in inside:
            inside.add(position)
            position = int(problem.geometry.parents[root, position])
    return inside


def members(problem: Problem, topic: int) -> list[int]:
    interests = problem.snapshot.interests
    return [b for b in range(interests.row_count) if topic in interests.of(b).tolist()]


def depth(problem: Problem, topic: int, position: int) -> int:
    root = int(problem.roots[topic])
    hops = 0
    while position != root:
        position = int(problem.geometry.parents[root, position])
        hops += 1
    return hops


def way(problem: Problem, positions: list[int], topic: int, position: int) -> float:
    """Hops down to a position, each as long as it is between those who sit there."""
    delays_ms = problem.snapshot.delays_ms
    if delays_ms is None:
        return depth(problem, topic, position)
    count = len(positions)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    mean_ms = sum(delays_ms[pair] for pair in pairs) / len(pairs) if pairs else 1.0
    root, length = int(problem.roots[topic]), 0.0
    while position != root:
        above = int(problem.geometry.parents[root, position])
        length += delays_ms[positions.index(above), positions.index(position)] / mean_ms
        position = above
    return length


def broker_costs(problem: Problem, positions: list[int]) -> list[float]:
    costs = [0.0] * len(positions)
    for topic, rate in enumerate(problem.snapshot.publications.tolist()):
        inside = tree(problem, positions, topic)
        wanting = members(problem, topic)
        for broker, position in enumerate(positions):
            if broker in wanting:
                length = way(problem, positions, topic, position)
                costs[broker] += problem.delay_weight * rate * length
            elif position in inside and position != problem.roots[topic]:
                costs[broker] += rate
    return costs


def overheads(problem: Problem, positions: list[int]) -> tuple[float, float]:
    """Messages received by members and by unrelated relays, the root left out."""
    internal = external = 0.0
    for topic, rate in enumerate(problem.snapshot.publications.tolist()):
        received = tree(problem, positions, topic) - {int(problem.roots[topic])}
        wanting = {positions[broker] for broker in members(problem, topic)}
        internal += rate * len(received & wanting)
        external += rate * len(received - wanting)
    return internal, external


def cost(problem: Problem, positions: list[int]) -> float:
    return sum(broker_costs(problem, positions))


def delay(problem: Problem, positions: list[int]) -> float:
    return sum(
        rate * way(problem, positions, topic, positions[broker])
        for topic, rate in enumerate(problem.snapshot.publications.tolist())
        for broker in members(problem, topic)
    )


def swapped(positions: list[int], first: int, second: int) -> list[int]:
    after = list(positions)
    after[first], after[second] = after[second], after[first]
    return after


def greedy(problem: Problem, positions: list[int], tries: int = 1) -> Iterator[tuple[int, int]]:
    """Swaps of SSBR-Greedy; with more tries than one, of ours."""
    stands_back: set[int] = set()
    while tries > 0 and len(stands_back) < len(positions):
        costs = broker_costs(problem, positions)
        first = max(
            set(range(len(costs))) - stands_back, key=lambda broker: (costs[broker], -broker)
        )
        others = [other for other in range(len(positions)) if other != first]
        after = {other: cost(problem, swapped(positions, first, other)) for other in others}
        second = min(others, key=after.__getitem__, default=None)
        if second is None or after[second] >= sum(costs):
            stands_back.add(first)
            tries -= 1
            continue
        yield first, second
        positions = swapped(positions, first, second)
        stands_back.discard(second)


def reconfiguration_cost(problem: Problem, source: list[int], target: list[int]) -> float:
    moved = sum(one != other for one, other in zip(source, target, strict=True))
    bits = math.log2(len(source))
    if moved == 0:
        return 0.0
    return len(source) + moved * bits**2 + moved * len(problem.snapshot.topics) * bits


def dynatops_greedy(problem: Problem, start: list[int]) -> list[int]:
    best, best_benefit = start, 0.0
    positions = start
    for first, second in greedy(problem, start):
        positions = swapped(positions, first, second)
        benefit = cost(problem, start) - cost(problem, positions)
        benefit -= reconfiguration_cost(problem, start, positions)
        if benefit > best_benefit:
            best, best_benefit = positions, benefit
    return best


def all_arrangements(problem: Problem) -> Iterator[list[int]]:
    return map(list, permutations(range(len(problem.snapshot.brokers))))


@st.composite
def problems(draw: st.DrawFn, broker_count_max: int = 9, broker_count_min: int = 1) -> Problem:
    """Small problems on every geometry; whole rates, so that sums are exact."""
    broker_count = draw(st.integers(broker_count_min, broker_count_max))
    topic_count = draw(st.integers(1, 6))
    topics = st.frozensets(st.integers(0, topic_count - 1))
    rows = draw(st.lists(topics, min_size=broker_count, max_size=broker_count))
    rates = draw(st.lists(st.integers(0, 9), min_size=topic_count, max_size=topic_count))
    salt = draw(st.integers(0, 99))
    snapshot = Snapshot(
        brokers=tuple(BrokerName(f"broker {index}") for index in range(broker_count)),
        topics=tuple(TopicName(f"topic {salt} {index}") for index in range(topic_count)),
        interests=interests_from_sets(rows, topic_count),
        publications=np.array(rates, dtype=np.float64),
    )
    geometry = key_geometry(draw(st.sampled_from(sorted(KEY_GEOMETRIES))), broker_count)
    return arrangement_problem(snapshot, geometry, draw(st.sampled_from((0.0, 0.5, 1.0, 2.0))))


@st.composite
def arranged_problems(
    draw: st.DrawFn, broker_count_max: int = 9, broker_count_min: int = 1
) -> tuple[Problem, list[int]]:
    """A problem and any arrangement of its brokers."""
    problem = draw(problems(broker_count_max, broker_count_min))
    return problem, draw(st.permutations(range(problem.broker_count)))


def busier(problem: Problem, times: int) -> Problem:
    """The same problem with more publications of every topic."""
    snapshot = problem.snapshot
    busy = Snapshot(
        snapshot.brokers, snapshot.topics, snapshot.interests, snapshot.publications * times
    )
    return arrangement_problem(busy, problem.geometry, problem.delay_weight)


def with_delays(problem: Problem, seed: int, *, are_equal: bool = False) -> Problem:
    """The same problem between brokers whose delays are known."""
    count = problem.broker_count
    drawn = np.random.default_rng(seed).integers(1, 40, size=(count, count)).astype(np.float64)
    delays_ms = np.full_like(drawn, 7.0) if are_equal else drawn
    np.fill_diagonal(delays_ms, 0.0)
    snapshot = replace(problem.snapshot, delays_ms=delays_ms)
    return arrangement_problem(snapshot, problem.geometry, problem.delay_weight)
