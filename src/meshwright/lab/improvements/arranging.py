"""Broker arrangement: our `best` beside the greedy and the assignment of the paper [DYNATOPS]."""

from __future__ import annotations

from typing import Any

from meshwright.lab.workloads import Popularity, generate_snapshot
from meshwright.overlays.key_geometries import key_geometry
from meshwright.planning.arrangement.methods import arrangement_method
from meshwright.planning.arrangement.paths import net_benefits
from meshwright.planning.arrangement.problem import arrangement_problem, hash_positions
from meshwright.planning.arrangement.search import new_search

METHODS = ("lsap", "dynatops-greedy", "best")
# The effort of `best` was chosen on the first few seeds of these workloads: others judge it.
FRESH_SEEDS = 1_000


def measure_arrangement(
    *,
    seed: int,
    popularity: Popularity,
    broker_count: int,
    topic_count: int,
    topics_per_broker: int,
    publications_per_topic: float = 200.0,
    delay_weight: float = 1.0,
    geometry: str = "chord",
) -> list[dict[str, Any]]:
    """What each method leaves of the cost, and its net benefit as a share of the cost before."""
    snapshot = generate_snapshot(
        broker_count,
        topic_count,
        topics_per_broker,
        popularity,
        seed=FRESH_SEEDS + seed,
        publications_per_topic=publications_per_topic,
    )
    problem = arrangement_problem(snapshot, key_geometry(geometry, broker_count), delay_weight)
    rows = []
    for method in METHODS:
        found = {}
        for aim, net in (("net", True), ("gross", False)):
            search = new_search(problem, hash_positions(snapshot.brokers), seed=seed, net=net)
            found[aim] = arrangement_method(method)(search)
        before = float(found["net"].costs[0])
        rows.append(
            {
                "method": method,
                "cost_left": float(found["gross"].costs[-1]) / before,
                "net_benefit": float(net_benefits(problem, found["net"])[-1]) / before,
            }
        )
    return rows
