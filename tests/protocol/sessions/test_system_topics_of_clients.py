"""What is under $SYS is what brokers say of themselves: no client adds to it, by any way."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.events import SystemPublished
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.sessions.publishing import BROKERS_OWN

UPTIME = "$SYS/broker/uptime"


def reading_network() -> SmallNetwork:
    network = SmallNetwork(2)
    network.connect("reader", "b1")
    for text in ("$SYS", "$SYS/#", "#", "+/broker/uptime", "$share/group/#"):
        network.subscribe("reader", text)
    network.connect("writer", "b0")
    return network


def refused(network: SmallNetwork) -> list[str]:
    found = [one for one in network.reports if isinstance(one, Refused)]
    assert all(one.reason == BROKERS_OWN and one.client == "writer" for one in found)
    return [one.topic for one in found]


@pytest.mark.parametrize("topic", [UPTIME, "$SYS", "$SYS/"])
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_client_publishes_nothing_under_sys(qos: int, retain: bool, topic: str) -> None:
    network = reading_network()
    assert network.publish("writer", topic, "false", qos, retain=retain)
    answers = [one for one in network.got["writer"] if not isinstance(one, packets.Connack)]
    assert [one.reason for one in answers] == [packets.NOT_AUTHORIZED] * (qos > 0)
    assert refused(network) == [topic]
    network.connect("late", "b0")
    network.subscribe("late", "$SYS/#")
    network.advance(1)
    assert network.payloads("reader") == network.payloads("late") == []
    assert network.machines["b0"].shortcuts.find(network.now_us, "writer", topic) is None
    assert network.machines["b0"].shortcuts.find_qos1(network.now_us, "writer", topic) is None


def test_a_will_under_sys_is_refused_or_left_out() -> None:
    network = reading_network()
    will = packets.Will(UPTIME, b"false", 1, retain=True)
    found = network.connect("writer", "b0", will=will)
    assert found is not None
    assert found.reason == packets.NOT_AUTHORIZED
    found = network.connect("writer", "b0", will=will, protocol_version=packets.MQTT_3_1_1)
    assert found is not None
    assert found.reason == packets.SUCCESS
    assert refused(network) == [UPTIME]
    network.drop("writer")
    network.advance(1)
    assert network.payloads("reader") == []


def test_brokers_speak_under_sys_and_leading_wildcards_do_not_hear_it() -> None:
    network = reading_network()
    for number, is_local in enumerate((True, False), start=1):
        publication = Publication("$SYS@b1", number, UPTIME, str(number).encode())
        network.tell("b1", SystemPublished(publication, is_local))
    network.advance(1)
    # Once for each: only one of its filters names $SYS.
    assert network.payloads("reader") == ["1", "2"]
    assert refused(network) == []
