from __future__ import annotations

from functools import partial

import pytest
from changing_networks import MILLISECOND_US, SECOND_US, TRAFFIC_US, ChangingNetwork, plan_of
from small_network import SmallNetwork

from meshwright.model.plan import ClientMove, Plan
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.mobility.redirects import TURNED_AWAY_MAX, ClientMoveRecord
from meshwright.protocol.mqtt import packets

GIVEN_US = TRAFFIC_US + SECOND_US
COORDINATOR = "b2"


def moving_plan(network: ChangingNetwork) -> Plan:
    """Everybody has another seat, and three clients another broker."""
    moves = (("c0", "b0", "b5"), ("c3", "b3", "b1"), ("c7", "b7", "b0"))
    return plan_of(network.overlay, network.turned(), *moves)


def steps_of(network: ChangingNetwork) -> list[tuple[str, str]]:
    return [
        (record.client, record.step)
        for _, _, record in network.world.records.all
        if isinstance(record, ClientMoveRecord)
    ]


def brokers_of(network: ChangingNetwork, *clients: str) -> list[str]:
    assert all(network.world.clients[name].is_connected for name in clients)
    return [network.world.clients[name].broker for name in clients]


def test_the_moves_of_a_client_come_to_one_from_its_first_broker_to_its_last() -> None:
    overlay = ChangingNetwork().overlay
    steps = (("c", "b0", "b1"), ("d", "b4", "b5"), ("c", "b1", "b2"), ("d", "b5", "b4"))
    assert plan_of(overlay, overlay, *steps).client_moves() == (ClientMove("c", "b0", "b2"),)


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm", "tree"])
def test_clients_of_a_plan_move_under_traffic_and_miss_nothing(design: str) -> None:
    network = ChangingNetwork(design)
    target = network.other(design) if design in {"gm", "tree"} else network.turned()
    moves = (("c0", "b0", "b5"), ("c3", "b3", "b1"))
    network.give(GIVEN_US, COORDINATOR, "apply", plan_of(network.overlay, target, *moves))
    network.traffic(6)
    network.run(20)
    assert network.faults() == []
    assert brokers_of(network, "c0", "c3", "c4") == ["b5", "b1", "b4"]
    assert sorted(steps_of(network)) == sorted(
        (client, step) for client in ("c0", "c3") for step in ("redirected", "moved")
    )


def test_clients_may_move_while_the_overlay_stays() -> None:
    network = ChangingNetwork()
    plan = plan_of(network.overlay, network.overlay, ("c0", "b0", "b5"))
    network.give(GIVEN_US, COORDINATOR, "apply", plan)
    network.traffic(6)
    network.run(20)
    assert network.faults() == []
    assert network.agreed() == network.overlay
    assert brokers_of(network, "c0") == ["b5"]


def test_an_undone_plan_brings_its_clients_back() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, COORDINATOR, "apply", moving_plan(network))
    network.give(GIVEN_US + 6 * SECOND_US, "b6", "undo", None)
    network.traffic(14)
    network.run(9)
    assert brokers_of(network, "c0", "c3", "c7") == ["b5", "b1", "b0"]
    network.run(30)
    assert network.faults() == []
    assert network.agreed() == network.overlay
    assert brokers_of(network, "c0", "c3", "c7") == ["b0", "b3", "b7"]


def test_an_aborted_plan_moves_nobody() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, COORDINATOR, "apply", moving_plan(network))
    network.give(GIVEN_US + 50 * MILLISECOND_US, COORDINATOR, "abort", None)
    network.traffic(5)
    network.run(15)
    assert steps_of(network) == []
    assert brokers_of(network, "c0", "c3", "c7") == ["b0", "b3", "b7"]


@pytest.mark.parametrize("victim", ["b0", COORDINATOR, "b5"])
@pytest.mark.parametrize("at_ms", [40, 100, 106, 150, 400, 900])
def test_clients_move_with_the_overlay_whoever_crashes_when(victim: str, at_ms: int) -> None:
    network = ChangingNetwork()
    plan = plan_of(network.overlay, network.turned(), ("c0", "b0", "b5"))
    network.give(GIVEN_US, COORDINATOR, "apply", plan)
    network.crash(GIVEN_US + at_ms * MILLISECOND_US, victim, SECOND_US)
    network.traffic(5)
    network.run(40)
    assert network.faults() == []
    expected = "b5" if network.agreed() == plan.target else "b0"
    assert brokers_of(network, "c0") == [expected]


def test_the_session_of_a_client_that_is_away_goes_ahead() -> None:
    network = ChangingNetwork()
    client = network.world.clients["c0"]
    network.world.at(GIVEN_US - MILLISECOND_US, client.leave)
    network.give(
        GIVEN_US,
        COORDINATOR,
        "apply",
        plan_of(network.overlay, network.overlay, ("c0", "b0", "b5")),
    )
    network.traffic(6)
    network.run(12)
    assert steps_of(network) == [("c0", "moved")]
    network.world.at(13 * SECOND_US, partial(client.connect, "b5"))
    network.run(20)
    assert network.faults() == []
    assert brokers_of(network, "c0") == ["b5"]


def given_to(network: SmallNetwork, *moves: tuple[str, str, str]) -> list[ClientMoveRecord]:
    plan = plan_of(network.overlay, network.overlay, *moves)
    network.tell("b1", PlanGiven("apply", plan))
    network.advance(8)
    return [one for one in network.reports if isinstance(one, ClientMoveRecord)]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "end with its connection"),
        ({"session_expiry_s": 60, "will": packets.Will("t")}, "its will would go out"),
        ({"session_expiry_s": 60, "can_be_redirected": False}, "cannot be told where to go"),
    ],
)
def test_clients_that_a_move_would_harm_stay(options: dict[str, object], why: str) -> None:
    network = SmallNetwork()
    network.connect("c", "b0", **options)
    (record,) = given_to(network, ("c", "b0", "b2"))
    assert record.step == "stays"
    assert why in record.detail
    assert network.connected["c"] == "b0"


def test_a_client_is_told_with_the_reason_and_the_broker_to_go_to() -> None:
    network = SmallNetwork()
    network.connect("c", "b0", session_expiry_s=60)
    given_to(network, ("c", "b0", "b2"))
    told = [one for one in network.got["c"] if isinstance(one, packets.Disconnect)]
    assert told == [packets.Disconnect(packets.USE_ANOTHER_SERVER, "b2")]
    assert "c" not in network.connected


def test_a_client_that_insists_is_let_in_again() -> None:
    network = SmallNetwork()
    network.connect("c", "b0", session_expiry_s=60)
    network.separate(one="b0", other="b2")
    plan = plan_of(network.overlay, network.overlay, ("c", "b0", "b2"))
    network.tell("b1", PlanGiven("apply", plan))
    refused = []
    for _ in range(TURNED_AWAY_MAX):
        answer = network.connect("c", "b0", session_expiry_s=60)
        assert answer is not None
        refused.append((answer.reason, answer.server_reference))
    assert refused[:-1] == [(packets.USE_ANOTHER_SERVER, "b2")] * (TURNED_AWAY_MAX - 1)
    assert refused[-1] == (packets.SUCCESS, None)


def test_a_plan_that_moves_a_client_to_nowhere_is_refused() -> None:
    network = ChangingNetwork()
    plan = plan_of(network.overlay, network.turned(), ("c0", "b0", "nowhere"))
    network.give(GIVEN_US, COORDINATOR, "apply", plan)
    network.run(10)
    ((_, _, record),) = network.steps("refused")
    assert "nowhere, which is no broker" in record.detail


def test_a_client_that_comes_back_before_its_session_is_known_to_have_gone_is_let_in() -> None:
    network = SmallNetwork()
    network.connect("client", "b0", session_expiry_s=60)
    network.drop("client")
    network.connect("client", "b1", session_expiry_s=60, previous_broker="b0")
    network.hold(source="b1", target="b0")
    network.advance(6)
    network.drop("client")
    network.connect("client", "b0", session_expiry_s=60, previous_broker="b1")
    network.release(source="b1", target="b0")
    network.advance(10)
    connacks = [one for one in network.got["client"] if isinstance(one, packets.Connack)]
    assert [one.session_present for one in connacks] == [False, True, True]
    assert network.publish("client", "t", "here again")
