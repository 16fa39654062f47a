"""Where publishers have places, our arrangement counts the ways from them to topics' roots."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.planning.arrangement.cost import arrangement_cost, broker_costs
from meshwright.planning.arrangement.methods import METHODS, arrangement_method
from meshwright.planning.arrangement.problem import arrangement_problem, hash_positions
from meshwright.planning.arrangement.search import new_search
from meshwright.planning.arrangement.seats import arranged_overlay
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate, forwarding_of
from meshwright.planning.pricing import price_of
from meshwright.planning.succession import EpochRules, follow

GEOMETRIES = sorted(KEY_GEOMETRIES)


def placed(broker_count: int, topic_count: int, seed: int, rate: float = 100.0) -> Snapshot:
    """Each topic is published at two brokers, and unequally often."""
    rng = np.random.default_rng(seed)
    drawn = generate_snapshot(
        broker_count, topic_count, 2, "unif", seed=seed, publications_per_topic=rate
    )
    shape = (broker_count, len(drawn.topics))
    publishers = np.zeros(shape)
    for topic in range(shape[1]):
        for broker in rng.choice(broker_count, size=2, replace=False):
            publishers[broker, topic] = rng.integers(1, 10) * rate
    return replace(drawn, publications=publishers.sum(axis=0), publishers=publishers)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("with_delays", [False, True])
def test_the_cost_with_ways_in_is_what_is_evaluated(geometry: str, with_delays: bool) -> None:
    snapshot = placed(9, 12, seed=4)
    if with_delays:  # all alike, as a hop of the way in counts as one in the mean
        snapshot = replace(snapshot, delays_ms=7.0 * (1.0 - np.eye(9)))
    shape = key_geometry(geometry, 9)
    positions = hash_positions(snapshot.brokers)
    problem = arrangement_problem(snapshot, shape, 2.0, with_ways_in=True)
    overlay = arranged_overlay(geometry, snapshot, shape, positions, {"arrangement": "hash"})
    totals = forwarding_of(overlay, snapshot).totals()
    each = snapshot.publications / len(snapshot.brokers)
    waited = float(each @ totals.delay_hops)
    expected = float(each @ (totals.external + totals.entry)) + 2.0 * waited
    assert arrangement_cost(problem, positions).total == pytest.approx(expected)
    assert float(broker_costs(problem, positions).sum()) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_our_arrangement_of_few_brokers_is_the_best_of_all(seed: int) -> None:
    snapshot = placed(5, 6, seed)
    problem = arrangement_problem(snapshot, key_geometry("chord", 5), 1.0, with_ways_in=True)
    search = new_search(problem, hash_positions(snapshot.brokers), seed=seed, net=False)
    found = arrangement_method("best")(search).target
    least = min(
        arrangement_cost(problem, np.array(order, dtype=np.int32)).total
        for order in permutations(range(5))
    )
    assert arrangement_cost(problem, found).total == pytest.approx(least)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "best"])
def test_the_papers_methods_do_not_know_them(method: str) -> None:
    snapshot = placed(9, 12, seed=2)
    name = f"chord:arrangement={method}"
    anywhere = replace(snapshot, publishers=None)
    assert build_overlay(name, snapshot, rng=np.random.default_rng(0)) == build_overlay(
        name, anywhere, rng=np.random.default_rng(0)
    )


@pytest.mark.parametrize("seed", range(10))
def test_moving_brokers_never_costs_more_than_leaving_them_where_publishers_stay(
    seed: int,
) -> None:
    snapshot = placed(8, 5, seed, rate=300.0)
    weights, rules = PriceWeights(), EpochRules()
    prices = []
    for name in ("chord", "dynatops"):
        found = follow(name, None, snapshot, rules, seed=seed)
        assert found.evaluation == evaluate(found.overlay, snapshot)
        change = found.reconfiguration_messages
        prices.append(price_of(found.evaluation, snapshot, weights, change).total)
    assert prices[1] <= prices[0] + 1e-9
