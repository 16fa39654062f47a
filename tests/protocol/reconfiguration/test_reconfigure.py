from __future__ import annotations

from functools import partial

import pytest
from changing_networks import MILLISECOND_US, SECOND_US, TRAFFIC_US, ChangingNetwork

from meshwright.planning.arrangement.plan import arrange

GIVEN_US = TRAFFIC_US + SECOND_US
# Lock and prepare take about a tenth of a second in these networks.
BEFORE_DECISION_US = GIVEN_US + 50 * MILLISECOND_US
AFTER_DECISION_US = GIVEN_US + 500 * MILLISECOND_US


def step_names(network: ChangingNetwork, broker: str) -> list[str]:
    return [record.step for _, name, record in network.steps() if name == broker]


@pytest.mark.parametrize("brokers", [8, 16])
def test_arrangements_change_under_traffic_and_nobody_waits_or_misses_anything(
    brokers: int,
) -> None:
    network = ChangingNetwork(brokers=brokers, seed=brokers)
    still = ChangingNetwork(brokers=brokers, seed=brokers)
    source = network.overlay
    for number, method in enumerate(("best", "hash", "lsap")):
        plan = arrange(network.snapshot, "chord", method, source=source, net=False, seed=number)
        assert plan.moved
        at_us = GIVEN_US + number * 4 * SECOND_US
        network.give(at_us, network.brokers[number], "apply", plan)
        source = plan.target
    for one in (network, still):
        one.traffic(14)
        one.run(30)
        assert one.faults() == []
    assert network.agreed() == source
    assert len(network.steps("done")) == 3
    assert len(network.steps("drained")) == 3 * brokers
    assert "repair" not in network.world.counts_by_class()
    longest_us = max(still.answer_times_us())
    assert max(network.answer_times_us()) < longest_us + MILLISECOND_US


@pytest.mark.parametrize("source", ["chord", "hypercube", "gm", "tree"])
@pytest.mark.parametrize("target", ["pastry", "hypercube", "harary", "tree"])
def test_any_design_can_be_changed_to_any_other(source: str, target: str) -> None:
    network = ChangingNetwork(source, wildcard="#")
    overlay = network.other(target)
    network.give(GIVEN_US, network.brokers[3], "apply", overlay)
    network.traffic(5)
    network.run(18)
    assert network.faults() == []
    assert network.agreed() == overlay
    assert "repair" not in network.world.counts_by_class()


def test_after_a_change_messages_cost_what_the_new_overlay_costs() -> None:
    changed, fresh = ChangingNetwork("chord"), ChangingNetwork("tree")
    changed.give(2 * SECOND_US + SECOND_US // 2, "b0", "apply", fresh.overlay)
    spent = []
    for network in (changed, fresh):
        network.traffic(1)
        network.run(7)
        before = network.world.counts_by_class()["publication"]
        network.traffic(5)
        network.run(15)
        spent.append(network.world.counts_by_class()["publication"] - before)
    assert changed.agreed() == fresh.overlay
    assert spent[0] == spent[1]


def test_subscriptions_made_during_a_change_are_answered_and_carried() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, "b2", "apply", network.turned())
    clients = list(network.world.clients.values())
    for number in range(240):
        subscribe = partial(clients[number % 8].subscribe, f"new/{number}", 1)
        network.world.at(GIVEN_US + number * MILLISECOND_US // 2, subscribe)
        publish = partial(clients[(number + 3) % 8].publish, f"new/{number}", 1)
        network.world.at(GIVEN_US + 2 * SECOND_US, publish)
    network.run(15)
    assert network.faults() == []
    assert network.agreed() == network.turned()
    assert all(one.granted_us is not None for one in network.world.history.subscriptions)
    assert len(network.world.history.deliveries) == 240
    assert "repair" not in network.world.counts_by_class()


def test_an_abort_before_the_decision_leaves_everything_as_it_was() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, "b2", "apply", network.turned())
    network.give(BEFORE_DECISION_US, "b2", "abort", None)
    network.traffic(5)
    network.run(15)
    assert network.faults() == []
    assert network.agreed() == network.overlay
    assert {epoch for epoch, _ in network.in_force().values()} == {0}
    assert len(network.steps("aborted")) == 1 + len(network.brokers)


def test_an_abort_may_be_asked_for_at_any_broker() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, "b2", "apply", network.turned())
    network.give(BEFORE_DECISION_US, "b6", "abort", None)
    network.run(15)
    assert network.agreed() == network.overlay
    assert "aborted" in step_names(network, "b2")


def test_a_decided_plan_is_not_aborted_but_can_be_undone() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, "b2", "apply", network.turned())
    network.give(AFTER_DECISION_US, "b2", "abort", None)
    network.give(GIVEN_US + 5 * SECOND_US, "b5", "undo", None)
    network.traffic(12)
    network.run(9)
    assert [broker for _, broker, _ in network.steps("refused")] == ["b2"]
    assert network.agreed() == network.turned()
    network.run(22)
    assert network.faults() == []
    assert network.agreed() == network.overlay
    assert len(network.steps("done")) == 2


def test_a_plan_for_another_overlay_than_that_in_force_is_refused() -> None:
    network = ChangingNetwork()
    first = arrange(network.snapshot, "chord", "best", source=network.overlay, net=False)
    second = arrange(network.snapshot, "chord", "lsap", source=network.overlay, net=False)
    network.give(GIVEN_US, "b0", "apply", first)
    network.give(GIVEN_US + 5 * SECOND_US, "b1", "apply", second)
    network.give(GIVEN_US + 5 * SECOND_US, "b2", "undo", second)
    network.give(GIVEN_US + 5 * SECOND_US, "b3", "apply", first.target)
    network.give(GIVEN_US + 5 * SECOND_US, "b4", "praise", None)
    network.run(12)
    assert [name for _, name, _ in network.steps("refused")] == ["b1", "b2", "b3", "b4"]
    assert network.agreed() == first.target


@pytest.mark.parametrize("apart_us", [0, 1_000, 3_000, 20_000, 95_000, 300_000])
def test_of_two_plans_at_once_one_is_carried_out(apart_us: int) -> None:
    network = ChangingNetwork()
    one, other = network.turned(1), network.turned(2)
    network.give(GIVEN_US, "b6", "apply", one)
    network.give(GIVEN_US + apart_us, "b1", "apply", other)
    network.traffic(5)
    network.run(18)
    assert network.faults() == []
    assert len(network.steps("done")) == 1
    assert network.agreed() in (one, other)


def test_a_lone_broker_changes_its_overlay_too() -> None:
    network = ChangingNetwork(brokers=1)
    network.give(GIVEN_US, "b0", "apply", network.other("tree"))
    network.traffic(3)
    network.run(12)
    assert network.faults() == []
    assert network.agreed() == network.other("tree")
