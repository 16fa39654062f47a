from __future__ import annotations

from functools import partial

import pytest
from changing_networks import MILLISECOND_US, SECOND_US, TRAFFIC_US, ChangingNetwork
from small_network import SmallNetwork

from meshwright.protocol.foundation.events import EmptyingGiven
from meshwright.protocol.mobility.emptying import EmptyingRecord
from meshwright.protocol.mobility.policies import MobilitySettings, parse_policies
from meshwright.protocol.mqtt import packets
from meshwright.protocol.settings import BrokerSettings

GIVEN_US = TRAFFIC_US + SECOND_US
LEAVING = "b3"


def emptied(network: ChangingNetwork, *targets: str) -> ChangingNetwork:
    order = EmptyingGiven(is_on=True, targets=targets)
    network.world.at(GIVEN_US, partial(network.world.tell, LEAVING, order))
    return network


def records(network: ChangingNetwork) -> list[EmptyingRecord]:
    return [one for _, _, one in network.world.records.all if isinstance(one, EmptyingRecord)]


def has_moved(network: ChangingNetwork) -> bool:
    client = network.world.clients["c3"]
    return client.is_connected and client.broker != LEAVING


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm", "tree"])
def test_a_broker_that_is_empty_can_be_lost_and_nothing_is(design: str) -> None:
    network = emptied(ChangingNetwork(design))
    network.traffic(5)
    network.run(12)
    assert records(network)[-1] == EmptyingRecord(step="empty", sessions=0, publications=0)
    network.world.crash(LEAVING)
    network.world.history.gone_us[LEAVING] = network.world.agenda.now_us
    network.traffic(5)
    network.run(40)
    assert has_moved(network)
    assert network.faults() == []


@pytest.mark.parametrize("policies", ["standard", "home", "prefetching+logging", "device"])
def test_sessions_leave_under_every_policy(policies: str) -> None:
    mobility = MobilitySettings(policies=parse_policies(policies))
    network = emptied(ChangingNetwork(settings=BrokerSettings(mobility=mobility)), "b1", "b6")
    client = network.world.clients["c3"]
    network.traffic(8)
    network.run(25)
    assert client.broker in {"b1", "b6"}
    assert client.is_connected
    assert records(network)[-1].step == "empty"
    assert network.faults() == []


@pytest.mark.parametrize("at_ms", [1, 3, 200, 700, 1_500])
def test_a_broker_that_crashes_on_the_way_goes_on_being_emptied(at_ms: int) -> None:
    network = emptied(ChangingNetwork())
    network.crash(GIVEN_US + at_ms * MILLISECOND_US, LEAVING, SECOND_US)
    network.traffic(5)
    network.run(30)
    assert network.faults() == []
    if records(network):
        assert records(network)[-1].step == "empty"
        assert has_moved(network)


def test_the_session_of_a_client_that_is_away_leaves_too() -> None:
    network = emptied(ChangingNetwork())
    client = network.world.clients["c3"]
    network.world.at(GIVEN_US - SECOND_US // 2, client.leave)
    network.traffic(5)
    network.run(15)
    assert records(network)[-1].step == "empty"
    client.connect(LEAVING)
    network.run(25)
    assert has_moved(network)
    assert network.faults() == []


def test_an_empty_broker_takes_clients_again_when_it_is_told_to() -> None:
    network = emptied(ChangingNetwork())
    again = EmptyingGiven(is_on=False)
    network.world.at(GIVEN_US + 5 * SECOND_US, partial(network.world.tell, LEAVING, again))
    network.run(12)
    assert [one.step for one in records(network)][-2:] == ["empty", "filling again"]
    client = network.world.clients["c3"]
    client.leave()
    client.connect(LEAVING)
    network.run(15)
    assert client.is_connected
    assert client.broker == LEAVING


def test_clients_are_told_where_to_go_if_they_understand_it() -> None:
    network = SmallNetwork()
    network.connect("old", "b0", session_expiry_s=60, can_be_redirected=False)
    network.connect("new", "b0")
    network.tell("b0", EmptyingGiven(is_on=True, targets=("b2",)))
    assert "new" not in network.connected
    goodbyes = [one for one in network.got["new"] if isinstance(one, packets.Disconnect)]
    assert goodbyes == [packets.Disconnect(packets.USE_ANOTHER_SERVER, "b2")]
    for client, reason, reference in (
        ("old", packets.SERVER_UNAVAILABLE, None),
        ("new", packets.USE_ANOTHER_SERVER, "b2"),
    ):
        can = client == "new"
        answer = network.connect(client, "b0", session_expiry_s=60, can_be_redirected=can)
        assert answer is not None
        assert (answer.reason, answer.server_reference) == (reason, reference)
