"""What a broker does not take, it refuses in the words of the client's version."""

from __future__ import annotations

import pytest
from mqtt_clients import Server

from meshwright.model.publication import Extras
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1,
    MQTT_3_1_1,
    MQTT_5,
    Puback,
    Pubcomp,
    Pubrec,
    Will,
)

TEXT = Extras(payload_format=1)


@pytest.mark.parametrize(("qos", "answer"), [(1, Puback), (2, Pubrec)])
def test_a_payload_that_is_not_the_text_it_is_said_to_be_is_refused(
    qos: int, answer: type[Puback | Pubrec]
) -> None:
    client = Server().client()
    client.connect("c")
    client.subscribe("#", 2)
    (refusal,) = client.publish("t", b"\xff", qos, 7, extras=TEXT)
    words = "the payload is not UTF-8 text, as it is said"
    assert refusal == answer(7, packets.PAYLOAD_FORMAT_INVALID, words)
    client.publish("t", "grün".encode(), qos, 8, extras=TEXT)
    client.publish("t", b"\xff", qos, 9)
    assert [one.payload for one in client.messages()] == ["grün".encode(), b"\xff"]


def test_what_has_no_answer_of_its_own_is_refused_with_the_connection() -> None:
    server = Server()
    careless, mortal = server.client(), server.client()
    careless.connect("careless")
    (goodbye,) = careless.publish("t", b"\xff", extras=TEXT)
    assert goodbye.reason == packets.PAYLOAD_FORMAT_INVALID
    assert careless.is_closed
    connack = mortal.connect("mortal", will=Will("w", b"\xff", extras=TEXT))
    assert connack.reason == packets.PAYLOAD_FORMAT_INVALID
    assert mortal.is_closed


@pytest.mark.parametrize(
    ("qos", "wrong"), [(1, Pubrec(1)), (1, Pubcomp(1)), (2, Puback(1)), (2, Puback(1, 0x80))]
)
@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_an_answer_of_another_qos_ends_the_connection_and_the_message_comes_again(
    version: int, qos: int, wrong: packets.Packet
) -> None:
    server = Server()
    first, second = server.client(version), server.client(version)
    first.connect("c", session_expiry_s=600)
    first.subscribe("t", qos)
    writer = server.client()
    writer.connect("writer")
    writer.publish("t", b"x", qos, 1)
    server.hear()
    (message,) = first.messages()
    assert message.packet_id == 1
    answers = first.say(wrong)
    assert first.is_closed
    if version == MQTT_5:
        assert [one.reason for one in answers] == [packets.PROTOCOL_ERROR]
        assert answers[0].reason_text.startswith(f"message 1 has QoS {qos}")
    second.connect("c", session_expiry_s=600)
    server.hear()
    (again,) = second.messages()
    assert (again.payload, again.is_duplicate) == (b"x", True)


@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_pubcomp_without_pubrec_ends_the_connection_and_the_message_comes_again(
    version: int,
) -> None:
    server = Server()
    first, second = server.client(version), server.client(version)
    first.connect("c", session_expiry_s=600)
    first.subscribe("t", 2)
    writer = server.client()
    writer.connect("writer")
    writer.publish("t", b"x", 2, 1)
    server.hear()
    assert [one.packet_id for one in first.messages()] == [1]
    answers = first.say(Pubcomp(1))
    assert first.is_closed
    assert [one.reason for one in answers] == [packets.PROTOCOL_ERROR] * (version == MQTT_5)
    second.connect("c", session_expiry_s=600)
    server.hear()
    (again,) = second.messages()
    assert (again.payload, again.is_duplicate) == (b"x", True)


def test_a_refused_filter_is_explained_and_in_mqtt_3_1_ends_the_connection() -> None:
    server = Server()
    five, three = server.client(MQTT_5), server.client(MQTT_3_1)
    five.connect("five")
    three.connect("three")
    wrong = packets.Subscription("$where/b=1&&c=2/a")
    asked = packets.Subscribe(1, (packets.Subscription("a"), wrong))
    (suback,) = five.say(asked)
    assert suback.reasons == (0, packets.TOPIC_FILTER_INVALID)
    assert suback.reason_text
    quiet = server.client(MQTT_5)
    quiet.connect("quiet", request_problem_information=False)
    (suback,) = quiet.say(asked)
    assert suback.reason_text is None
    assert three.say(asked) == []
    assert three.is_closed


def test_what_an_mqtt_3_1_client_may_not_read_is_granted_in_words_only() -> None:
    server = Server()
    client = server.client(MQTT_3_1)
    client.connect("c")
    client.connection.send(packets.Suback(1, (1, packets.NOT_AUTHORIZED)))
    server.hear()
    assert client.heard[-1] == packets.Suback(1, (1, 0))
    assert not client.is_closed
