"""The reconfiguration manager on several servers: each holds the topic trees of some topics.

The paper says that the manager can be distributed over servers and leaves open how [DYNATOPS, II].
Costs are sums over topics. So each server knows the members of its own topics alone, works out its
part of what a swap would change, and the first server adds the parts up: the swaps are those of one
server, and a round takes each server its share of the work and a few messages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, interests_from_pairs
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.planning.arrangement.kernels.partners import partner_changes
from meshwright.planning.arrangement.kernels.reach import Reach, reach_of, swap_within_reach
from meshwright.planning.arrangement.kernels.search import ROUNDING_SHARE
from meshwright.planning.arrangement.problem import Problem, arrangement_problem
from meshwright.planning.arrangement.search import frozen_positions, search_tables

# To each other server and back: who costs most, and what its swaps would change.
MESSAGES_PER_ROUND = 4


@dataclass(frozen=True, slots=True, eq=False)
class SharedSearch:
    """Swaps as one server finds them, (swap, 2), and what it took several to find them.

    report_messages: of brokers to the servers of their topics. round_messages: between servers.
    largest_share: of all interests, those at the server that has most.
    """

    swaps: Int32Array
    report_messages: int
    round_messages: int
    largest_share: float


def shared_greedy(problem: Problem, start: Int32Array, server_count: int) -> SharedSearch:
    """SSBR-Greedy by several servers [DYNATOPS, Alg. 2]; topics go to servers in turn."""
    if problem.knows_delays:
        raise CallerError("servers share searches over hops; leave the delays out")
    interests = problem.snapshot.interests
    servers = interests.columns % server_count
    reported = np.unique(interests.row_of_pairs().astype(np.int64) * server_count + servers)
    parts = [
        reach_of(search_tables(_part(problem, server, server_count)), frozen_positions(start))
        for server in range(server_count)
    ]
    costs = _broker_costs(parts)
    gain_min = ROUNDING_SHARE * float(costs.sum())
    swaps: list[tuple[int, int]] = []
    while True:
        first = int(np.argmax(costs))
        changes = np.sum([partner_changes(part, first) for part in parts], axis=0)
        changes[first] = np.inf
        second = int(np.argmin(changes))
        if changes[second] >= -gain_min:
            break
        swaps.append((first, second))
        for part in parts:
            swap_within_reach(part, first, second)
        costs = _broker_costs(parts)
    loads = np.bincount(servers, minlength=server_count)
    return SharedSearch(
        np.array(swaps, dtype=np.int32).reshape(-1, 2),
        len(reported),
        MESSAGES_PER_ROUND * (server_count - 1) * (len(swaps) + 1),
        float(loads.max()) / max(int(loads.sum()), 1),
    )


def _part(problem: Problem, server: int, server_count: int) -> Problem:
    """What one server knows: the topics that are its own."""
    snapshot = problem.snapshot
    topics = np.arange(server, len(snapshot.topics), server_count)
    interests = snapshot.interests
    chosen = interests.columns % server_count == server
    own: Snapshot = replace(
        snapshot,
        topics=tuple(snapshot.topics[topic] for topic in topics),
        interests=interests_from_pairs(
            interests.row_of_pairs()[chosen],
            interests.columns[chosen] // server_count,
            interests.row_count,
            len(topics),
        ),
        publications=snapshot.publications[topics],
        publishers=None,  # ways from the roots on are the same wherever publications enter
    )
    return arrangement_problem(own, problem.geometry, problem.delay_weight)


def _broker_costs(parts: list[Reach]) -> Float64Array:
    """What each broker costs, added up over servers: (broker,) [DYNATOPS, eq. 9]."""
    total: Float64Array = np.sum([_costs(part) for part in parts], axis=0)
    return total


def _costs(part: Reach) -> Float64Array:
    positions = part.seating.positions
    brokers = np.arange(len(positions))
    costs: Float64Array = (
        part.seating.relay_costs[positions] + part.tables.assignment_costs[brokers, positions]
    )
    return costs
