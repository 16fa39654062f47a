from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from changing_networks import MILLISECOND_US, SECOND_US, TRAFFIC_US, ChangingNetwork, plan_of

from meshwright.model.plan import Plan
from meshwright.overlays.growth import with_broker, without_broker
from meshwright.protocol.reconfiguration.reconfigure import ReconfigureSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.messages import Repair

GIVEN_US = TRAFFIC_US + SECOND_US
COORDINATOR = "b2"


def given(network: ChangingNetwork) -> ChangingNetwork:
    network.give(GIVEN_US, COORDINATOR, "apply", network.turned())
    network.traffic(5)
    return network


@pytest.mark.parametrize("seed", range(30))
def test_whoever_crashes_whenever_all_end_in_the_old_or_in_the_new_overlay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = given(ChangingNetwork(seed=seed))
    # One crash for certain while the plan is under way, most often of its coordinator.
    for number in range(int(rng.integers(1, 4))):
        at_us = GIVEN_US + int(rng.integers(1, 130)) * MILLISECOND_US
        victim = network.brokers[int(rng.integers(8))] if number else COORDINATOR
        victim = victim if rng.random() < 0.7 else network.brokers[int(rng.integers(8))]
        network.crash(at_us, victim, int(rng.integers(10, 8_000)) * MILLISECOND_US)
    network.run(60)
    assert network.faults() == []
    assert network.agreed() in (network.overlay, network.turned())


@pytest.mark.parametrize("at_ms", range(1, 110, 4))
def test_a_coordinator_that_crashes_has_decided_or_has_not(at_ms: int) -> None:
    network = given(ChangingNetwork())
    network.crash(GIVEN_US + at_ms * MILLISECOND_US, COORDINATOR, 500 * MILLISECOND_US)
    network.run(25)
    assert network.faults() == []
    expected = network.turned() if network.steps("decided") else network.overlay
    assert network.agreed() == expected
    network.give(26 * SECOND_US, "b7", "apply", network.turned(3))
    network.run(40)
    assert network.agreed() == network.turned(3)


def test_a_broker_that_was_down_during_the_change_learns_of_it() -> None:
    network = given(ChangingNetwork())
    network.crash(TRAFFIC_US - 2 * SECOND_US, "b5", 40 * SECOND_US)
    network.run(20)
    assert network.in_force().keys() == set(network.brokers) - {"b5"}
    network.run(60)
    assert network.agreed() == network.turned()
    # All conversations that the crash ended have begun anew after this.
    network.traffic(5)
    network.run(75)
    repaired = network.world.message_counts[Repair]
    network.traffic(5)
    network.run(90)
    assert network.faults() == []
    assert network.world.message_counts[Repair] == repaired


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm", "tree"])
def test_a_dead_broker_is_left_out_by_a_plan_and_enters_when_it_returns(design: str) -> None:
    network = ChangingNetwork(design)
    network.crash(TRAFFIC_US - 2 * SECOND_US, "b5", 40 * SECOND_US)
    smaller = without_broker(network.overlay, "b5")
    plan = plan_of(network.overlay, smaller)
    network.give(TRAFFIC_US + 12 * SECOND_US, COORDINATOR, "apply", plan)
    network.traffic(30)
    network.run(35)
    assert network.agreed() == smaller
    network.run(80)
    found = network.agreed()
    assert found == with_broker(smaller, "b5")
    network.traffic(5)
    network.run(100)
    assert network.faults() == []


def test_a_plan_without_a_dead_broker_can_be_undone() -> None:
    network = ChangingNetwork()
    network.world.at(TRAFFIC_US, lambda: network.world.crash("b5"))
    plan = plan_of(network.overlay, without_broker(network.overlay, "b5"))
    network.give(TRAFFIC_US + 12 * SECOND_US, COORDINATOR, "apply", plan)
    network.run(30)
    assert network.agreed() == plan.target
    network.give(31 * SECOND_US, "b1", "undo", plan)
    network.run(50)
    assert network.agreed() == network.overlay


def test_who_lives_or_was_never_here_cannot_be_left_out_or_put_in() -> None:
    network = ChangingNetwork()
    for other in (without_broker(network.overlay, "b5"), with_broker(network.overlay, "b9")):
        network.give(GIVEN_US, COORDINATOR, "apply", plan_of(network.overlay, other))
    network.run(10)
    assert [record.detail for _, _, record in network.steps("refused")] == [
        "b5 is alive and has no place in the plan; drain it, or plan again",
        "b9 is not in this network; have it join, and plan again",
    ]
    assert network.agreed() == network.overlay


def test_all_brokers_that_crash_together_wake_up_in_the_overlay_they_had() -> None:
    network = given(ChangingNetwork())
    for broker in network.brokers:
        network.crash(GIVEN_US + 5 * SECOND_US, broker, SECOND_US)
    network.run(40)
    assert network.agreed() == network.turned()
    assert network.faults() == []


@pytest.mark.parametrize("at_ms", [2, 40, 97, 100, 104])
def test_a_coordinator_that_never_returns_does_not_lock_the_network_for_good(at_ms: int) -> None:
    network = given(ChangingNetwork())
    network.world.at(GIVEN_US + at_ms * MILLISECOND_US, lambda: network.world.crash(COORDINATOR))
    network.run(60)
    assert network.agreed() in (network.overlay, network.turned())
    network.give(60 * SECOND_US, "b7", "apply", network.turned(3))
    network.run(80)
    assert network.agreed() == network.turned(3)


@pytest.mark.parametrize("at_ms", [40, 97, 100])
def test_a_plan_that_was_overruled_has_no_effect_when_its_coordinator_returns(at_ms: int) -> None:
    network = given(ChangingNetwork())
    network.crash(GIVEN_US + at_ms * MILLISECOND_US, COORDINATOR, 90 * SECOND_US)
    network.run(15)
    has_spread = any(epoch for epoch, _ in network.in_force().values())
    network.give(15 * SECOND_US, "b4", "abort", None)
    network.run(120)
    assert network.agreed() == (network.turned() if has_spread else network.overlay)
    assert network.faults() == []


def test_a_plan_that_most_brokers_cannot_hear_of_is_given_up() -> None:
    patience = ReconfigureSettings(patience_us=6 * SECOND_US)
    network = ChangingNetwork(settings=BrokerSettings(reconfigure=patience))
    few = ("b0", "b1", COORDINATOR)
    for one in few:
        for other in network.brokers:
            if other not in few:
                network.world.network.block(one, other)
    network.give(GIVEN_US + 10 * SECOND_US, COORDINATOR, "apply", network.turned())
    network.run(40)
    assert len(network.steps("aborted")) == 1 + len(few)
    assert network.agreed() == network.overlay


def few_seats() -> tuple[ChangingNetwork, object]:
    network = ChangingNetwork()
    return network, network.swapped()


def all_seats() -> tuple[ChangingNetwork, object]:
    network = ChangingNetwork("hypercube")
    return network, network.turned()


def links_of_a_graph() -> tuple[ChangingNetwork, object]:
    network = ChangingNetwork("gm")
    other = network.other("harary")
    return network, msgspec.structs.replace(network.overlay, links=other.links)


def links_of_a_tree() -> tuple[ChangingNetwork, object]:
    network = ChangingNetwork("tree")
    return network, network.swapped()


def another_design() -> tuple[ChangingNetwork, object]:
    network = ChangingNetwork("pastry")
    return network, network.other("tree")


def clients() -> tuple[ChangingNetwork, object]:
    network = ChangingNetwork()
    moves = (("c0", "b0", "b5"), ("c6", "b6", "b2"))
    return network, plan_of(network.overlay, network.swapped(), *moves)


KINDS = (few_seats, all_seats, links_of_a_graph, links_of_a_tree, another_design, clients)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["apply", "abort", "undo"])
@pytest.mark.parametrize("seed", range(2))
def test_every_kind_of_plan_ends_in_one_of_two_overlays_whoever_crashes(
    kind: Callable[[], tuple[ChangingNetwork, object]], action: str, seed: int
) -> None:
    rng = np.random.default_rng([seed, *action.encode(), *kind.__name__.encode()])
    network, plan = kind()
    names = list(network.brokers)
    network.give(GIVEN_US, COORDINATOR, "apply", plan)
    last_us = GIVEN_US
    if action != "apply":
        after_ms = int(rng.integers(1, 200)) if action == "abort" else 3_000
        last_us += after_ms * MILLISECOND_US
        network.give(last_us, str(rng.choice(names)), action, None)
    for _ in range(2):
        at_us = last_us + int(rng.integers(1, 400)) * MILLISECOND_US
        victim = COORDINATOR if rng.random() < 0.4 else str(rng.choice(names))
        network.crash(at_us, victim, int(rng.integers(10, 6_000)) * MILLISECOND_US)
    network.traffic(6)
    network.run(60)
    target = plan.target if isinstance(plan, Plan) else plan
    assert network.agreed() in (network.overlay, target)
    assert network.faults() == []
    assert all(client.is_settled for client in network.world.clients.values())
    # Nobody is bound to a plan any more.
    network.give(61 * SECOND_US, "b7", "apply", network.other("chord", seed=9))
    network.run(75)
    assert network.agreed() == network.other("chord", seed=9)
