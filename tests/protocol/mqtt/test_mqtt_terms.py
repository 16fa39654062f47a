"""What an operator does not offer is refused in the words of the client's version."""

from __future__ import annotations

from typing import Any

import pytest
from mqtt_clients import Server

from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5, Publish, Will
from meshwright.protocol.mqtt.terms import Terms

VERSIONS = [MQTT_3_1_1, MQTT_5]
NOT_OFFERED: list[tuple[Terms, dict[str, Any], int]] = [
    (Terms(retain_available=False), {"retain": True}, packets.RETAIN_NOT_SUPPORTED),
    (Terms(qos_max=1), {"qos": 2}, packets.QOS_NOT_SUPPORTED),
    (Terms(qos_max=0), {"qos": 1}, packets.QOS_NOT_SUPPORTED),
    (Terms(payload_bytes_max=3), {"payload": b"four"}, packets.PACKET_TOO_LARGE),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("terms", "options", "reason"), NOT_OFFERED)
def test_a_message_that_is_not_offered_ends_the_connection(
    terms: Terms, options: dict[str, Any], reason: int, version: int
) -> None:
    server = Server(terms)
    client, reader = server.client(version), server.client()
    client.connect("c")
    reader.connect("reader")
    reader.subscribe("t")
    packet_id = int("qos" in options)
    answers = client.say(Publish("t", b"ok"), Publish("t", packet_id=packet_id, **options))
    assert client.is_closed
    assert [one.payload for one in reader.messages()] == [b"ok"]
    goodbyes = [one.reason for one in answers if isinstance(one, packets.Disconnect)]
    assert goodbyes == [reason] * (version == MQTT_5)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("terms", "options", "reason"), NOT_OFFERED)
def test_so_does_a_will(terms: Terms, options: dict[str, Any], reason: int, version: int) -> None:
    client = Server(terms).client(version)
    answer = client.connect("c", will=Will("t", **options))
    assert client.is_closed
    assert (answer.reason if version == MQTT_5 else answer) == (
        reason if version == MQTT_5 else None
    )


def test_mqtt_5_is_told_of_it_beforehand() -> None:
    connack = Server(Terms(retain_available=False, qos_max=1)).client().connect("c")
    assert (connack.retain_available, connack.maximum_qos) == (False, 1)
    connack = Server().client().connect("c")
    assert (connack.retain_available, connack.maximum_qos) == (True, 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_subscription_is_granted_the_highest_qos_at_most(version: int) -> None:
    server = Server(Terms(qos_max=1))
    client = server.client(version)
    client.connect("c")
    assert [client.subscribe("t", qos) for qos in (0, 1, 2)] == [(0,), (1,), (1,)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_may_have_to_have_an_identifier(version: int) -> None:
    server = Server(Terms(empty_client_ids=False))
    nobody, somebody = server.client(version), server.client(version)
    answer = nobody.connect("", clean_start=True)
    assert answer.reason == packets.CLIENT_IDENTIFIER_NOT_VALID
    assert nobody.is_closed
    assert somebody.connect("c").reason == packets.SUCCESS


@pytest.mark.parametrize("keep_alive_s", [0, 61])
def test_a_keep_alive_that_is_too_long_is_refused_in_mqtt_3_and_replaced_in_5(
    keep_alive_s: int,
) -> None:
    server = Server(Terms(keep_alive_max_s=60))
    three, five, good = server.client(MQTT_3_1_1), server.client(), server.client(MQTT_3_1_1)
    answer = three.connect("three", keep_alive_s=keep_alive_s)
    assert answer.reason == packets.CLIENT_IDENTIFIER_NOT_VALID
    assert three.is_closed
    assert five.connect("five", keep_alive_s=keep_alive_s).server_keep_alive_s == 60
    assert good.connect("good", keep_alive_s=60).reason == packets.SUCCESS


@pytest.mark.parametrize("version", [MQTT_3_1, MQTT_3_1_1])
def test_a_bridge_gets_nothing_of_its_own_back_and_all_as_it_was_published(version: int) -> None:
    server = Server()
    bridge, other = server.client(version), server.client(version)
    assert bridge.connect("bridge", is_bridge=True).reason == packets.SUCCESS
    other.connect("other")
    bridge.subscribe("#", 1)
    other.subscribe("#", 1)
    bridge.publish("t", b"of the bridge", 1, 1)
    other.publish("t", b"of another", 1, 1, retain=True)
    server.hear()
    assert [(one.payload, one.retain) for one in bridge.messages()] == [(b"of another", True)]
    assert [(one.payload, one.retain) for one in other.messages()] == [
        (b"of the bridge", False),
        (b"of another", False),
    ]
