"""Clients are sent away after a notice, and a few at a time."""

from __future__ import annotations

from changing_networks import plan_of
from small_network import SECOND_US, SmallNetwork

from meshwright.protocol.foundation.events import EmptyingGiven, PlanGiven
from meshwright.protocol.mobility.messages import MovingSettings
from meshwright.protocol.mobility.redirects import ClientMoveRecord
from meshwright.protocol.mqtt import packets
from meshwright.protocol.settings import BrokerSettings

COUNT = 12


def crowded(clients_per_second: int, notice_s: float = 0.0) -> SmallNetwork:
    """Three brokers, and clients at the first, each with a session that outlives its connection."""
    moving = MovingSettings(
        clients_per_second=clients_per_second, notice_us=round(notice_s * SECOND_US)
    )
    network = SmallNetwork(3, BrokerSettings(moving=moving))
    for number in range(COUNT):
        network.connect(f"c{number:02}", "b0", session_expiry_s=60)
    return network


def here(network: SmallNetwork) -> int:
    return sum(broker == "b0" for broker in network.connected.values())


def test_a_broker_that_is_to_be_emptied_waits_and_then_sends_clients_at_its_rate() -> None:
    network = crowded(4, notice_s=2)
    network.tell("b0", EmptyingGiven(is_on=True))
    network.advance(1.9)
    assert here(network) == COUNT
    assert network.machines["b0"].departures == (True, COUNT)
    assert network.machines["b0"].view().sends_away == COUNT
    welcome = network.connect("late", "b0", session_expiry_s=60)
    assert welcome is not None
    assert welcome.reason == packets.SUCCESS
    counts = []
    for _ in range(4):
        network.advance(1)
        counts.append(here(network))
    assert counts == [COUNT + 1 - 4, COUNT + 1 - 8, COUNT + 1 - 12, 0]
    assert network.machines["b0"].departures == (True, 0)
    refused = network.connect("later", "b0", session_expiry_s=60)
    assert refused is not None
    assert refused.reason == packets.USE_ANOTHER_SERVER


def test_a_plan_gives_notice_and_who_waits_for_its_turn_is_not_given_up() -> None:
    network = crowded(4, notice_s=3)
    moves = [(f"c{number:02}", "b0", "b1") for number in range(COUNT)]
    network.tell("b1", PlanGiven("apply", plan_of(network.overlay, network.overlay, *moves)))
    network.advance(0.5)
    assert network.machines["b0"].departures == (False, COUNT)
    assert here(network) == COUNT
    network.advance(2.9)
    left = [COUNT - here(network)]
    for _ in range(3):
        network.advance(1)
        left.append(COUNT - here(network))
    assert left == sorted(left)
    assert 1 <= left[0] <= 5
    assert left[-1] == COUNT
    sent = [one for one in network.reports if isinstance(one, ClientMoveRecord)]
    assert "stays" not in {one.step for one in sent}


def test_an_order_that_is_taken_back_sends_nobody() -> None:
    network = crowded(4, notice_s=2)
    network.tell("b0", EmptyingGiven(is_on=True))
    network.advance(1)
    network.tell("b0", EmptyingGiven(is_on=False))
    network.advance(10)
    assert here(network) == COUNT
    assert network.machines["b0"].departures == (False, 0)


def test_without_a_rate_and_a_notice_all_go_at_once() -> None:
    network = crowded(0)
    network.tell("b0", EmptyingGiven(is_on=True))
    assert here(network) == 0
