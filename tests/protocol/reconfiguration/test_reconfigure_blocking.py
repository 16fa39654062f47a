from __future__ import annotations

from functools import partial

import pytest
from changing_networks import MILLISECOND_US, SECOND_US, TRAFFIC_US, ChangingNetwork

from meshwright.planning.arrangement.change_messages import change_messages
from meshwright.planning.arrangement.plan import arrange
from meshwright.protocol.reconfiguration.blocking import (
    Blocked,
    HoldClients,
    LetClientsGo,
    RingFound,
    RingLookup,
    RingUpdate,
    RingUpdated,
    TableShipped,
    TreeUpdate,
)
from meshwright.protocol.reconfiguration.messages import Bundle

GIVEN_US = TRAFFIC_US + SECOND_US


def blocked(network: ChangingNetwork) -> list[Blocked]:
    records = [record for _, _, record in network.world.records.all]
    return [record for record in records if isinstance(record, Blocked)]


@pytest.mark.parametrize("design", ["chord", "tapestry"])
def test_clients_are_held_and_nothing_is_lost(design: str) -> None:
    network = ChangingNetwork(design, 12)
    network.give(GIVEN_US, network.brokers[4], "apply-blocking", network.turned())
    network.traffic(5, per_s=200)
    network.run(20)
    assert network.faults() == []
    assert network.agreed() == network.turned()
    assert len(blocked(network)) == 12
    assert sum(one.packet_count for one in blocked(network)) > 0
    assert max(network.answer_times_us()) > max(one.blocked_us for one in blocked(network)) / 2
    assert "repair" not in network.world.counts_by_class()


def test_messages_are_those_of_the_paper() -> None:
    network = ChangingNetwork("chord", 16)
    plan = arrange(network.snapshot, "chord", "ssbr-greedy", source=network.overlay)
    assert 0 < plan.moved < 16
    coordinator = network.brokers[0]
    network.give(GIVEN_US, coordinator, "apply-blocking", plan)
    network.run(4)
    counts = network.world.message_counts
    bundles_before = counts[Bundle]
    network.run(12)
    assert network.agreed() == plan.target
    assert counts[HoldClients] == counts[LetClientsGo] == 15
    before, after = plan.source.positions, plan.target.positions
    assert before is not None
    assert after is not None
    moved = [name for name in network.brokers if before[name] != after[name]]
    asked = len(moved) - (coordinator in moved)
    assert counts[RingUpdate] == counts[RingUpdated] == counts[TreeUpdate] == asked
    planned = change_messages(plan.source, plan.target, network.snapshot)
    assert counts[RingLookup] + counts[RingFound] == planned.rejoined
    assert counts[TableShipped] == planned.shipped
    assert counts[Bundle] - bundles_before == planned.repaired  # a join or a leave in each


def test_afterwards_messages_cost_what_they_cost_on_an_overlay_that_was_always_so() -> None:
    counts = []
    for action in ("apply", "apply-blocking"):
        network = ChangingNetwork("chord", 12)
        network.give(2 * SECOND_US + SECOND_US // 2, "b00", action, network.turned())
        network.traffic(1)
        network.run(10)
        before = network.world.counts_by_class()["publication"]
        network.traffic(4)
        network.run(20)
        assert network.faults() == []
        counts.append(network.world.counts_by_class()["publication"] - before)
    assert counts[0] == counts[1]


def test_it_is_refused_where_brokers_do_not_sit_on_a_ring() -> None:
    network = ChangingNetwork("chord")
    network.give(GIVEN_US, "b0", "apply-blocking", network.other("tree"))
    network.run(8)
    assert len(network.steps("refused")) == 1
    assert network.agreed() == network.overlay


@pytest.mark.parametrize("at_ms", range(1, 40, 3))
def test_a_coordinator_that_crashes_holds_nobody_for_good(at_ms: int) -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, "b3", "apply-blocking", network.turned())
    network.crash(GIVEN_US + at_ms * MILLISECOND_US, "b3", SECOND_US)
    network.traffic(5)
    network.run(60)
    assert network.faults() == []
    assert network.agreed() in (network.overlay, network.turned())


def test_nobody_is_held_for_a_change_of_an_overlay_that_is_no_longer_in_force() -> None:
    network = ChangingNetwork("chord", 8)
    network.give(GIVEN_US, "b4", "apply-blocking", network.turned())
    network.world.at(GIVEN_US + 5 * MILLISECOND_US, partial(network.world.crash, "b4"))
    network.give(GIVEN_US + SECOND_US, "b2", "apply", network.swapped())
    network.run(40)
    assert network.agreed() == network.swapped()
    (switched_us, *_) = [time_us for time_us, _, _ in network.steps("switched")]
    held_us = [one.blocked_us for one in blocked(network)]
    assert len(held_us) == 7
    assert max(held_us) < switched_us - GIVEN_US + SECOND_US


def test_what_a_client_said_on_a_connection_that_was_taken_over_is_not_done_later() -> None:
    network = ChangingNetwork("chord", 8)
    network.give(GIVEN_US, "b4", "apply-blocking", network.turned())
    network.crash(GIVEN_US + 5 * MILLISECOND_US, "b4", 30 * SECOND_US)
    client = network.world.clients["c0"]
    said_us = GIVEN_US + 100 * MILLISECOND_US
    for number in range(4):
        topic = network.snapshot.topics[number % 2]
        network.world.at(said_us, partial(client.publish, topic, 1 + number % 2))
    network.world.at(said_us + 50 * MILLISECOND_US, partial(client.switch, "b1"))
    back_us = said_us + 300 * MILLISECOND_US
    network.world.at(back_us, client.vanish)
    network.world.at(back_us, partial(client.connect, "b0"))
    network.run(60)
    assert sum(one.packet_count for one in blocked(network)) > 0
    assert network.faults() == []
    assert network.world.history.oddities == []
