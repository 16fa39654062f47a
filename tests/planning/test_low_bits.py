"""How many low bits a hypercube gets, against counting message by message."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import forwarding_of
from meshwright.planning.low_bits import choose_low_bits, with_low_bits


def network(publications: float, broker_count: int = 40) -> tuple[Overlay, Snapshot]:
    snapshot = generate_snapshot(
        broker_count, 12, 3, "unif", seed=5, publications_per_topic=publications
    )
    return build_overlay("hypercube", snapshot, rng=np.random.default_rng(1)), snapshot


def dull_cost(overlay: Overlay, snapshot: Snapshot, subscriptions: float) -> float:
    """Every publication of every broker, and every subscription, counted one by one."""
    forwarding = forwarding_of(overlay, snapshot)
    brokers, topics = len(snapshot.brokers), len(snapshot.topics)
    events = sum(
        forwarding.publication(topic, broker).total * snapshot.publications[topic] / brokers
        for topic in range(topics)
        for broker in range(brokers)
    )
    members = snapshot.interests.transposed()
    messages = [
        forwarding.subscription(topic, int(broker))
        for topic in range(topics)
        for broker in members.of(topic)
    ]
    return float(events + subscriptions * np.mean(messages))


@pytest.mark.parametrize("subscriptions", [0.0, 100.0, 1e6])
def test_the_cost_of_every_number_of_low_bits_is_that_of_its_messages(subscriptions: float) -> None:
    overlay, snapshot = network(2.0, 20)
    choice = choose_low_bits(overlay, snapshot, subscriptions)
    costs = {
        cost.low_bit_count: dull_cost(
            with_low_bits(overlay, cost.low_bit_count), snapshot, subscriptions
        )
        for cost in choice.costs
    }
    assert [cost.total for cost in choice.costs] == pytest.approx(list(costs.values()))
    assert costs[choice.best.low_bit_count] == pytest.approx(min(costs.values()))


def test_many_events_ask_for_many_low_bits_and_many_subscriptions_for_few() -> None:
    overlay, snapshot = network(1000.0)
    assert choose_low_bits(overlay, snapshot, 0.0).best.low_bit_count > 3
    assert choose_low_bits(overlay, snapshot, 1e9).best.low_bit_count == 1


def test_a_plan_for_a_hypercube_that_stands_chooses_its_low_bits_and_says_why() -> None:
    _, snapshot = network(1000.0)
    source = build_overlay("hypercube", snapshot, rng=np.random.default_rng(1))
    wish = PlanWish("hypercube", objective="cost", subscriptions=10.0)
    plan = plan_network(snapshot, wish, source=source)
    best = choose_low_bits(source, snapshot, 10.0).best.low_bit_count
    assert plan.target.params["low_bit_count"] == best
    assert f"{best} low bits cost" in plan.summary


def test_a_number_of_low_bits_that_is_asked_for_by_name_is_kept() -> None:
    _, snapshot = network(1000.0)
    plan = plan_network(snapshot, PlanWish("hypercube:low_bit_count=2", subscriptions=10.0))
    assert plan.target.params["low_bit_count"] == 2


def test_a_change_of_low_bits_that_costs_more_than_it_saves_is_not_planned() -> None:
    overlay, snapshot = network(0.0)
    wish = PlanWish("hypercube", subscriptions=1.0)
    assert plan_network(snapshot, wish, source=overlay).target == overlay
