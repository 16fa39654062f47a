"""Messages of clients in bytes through a real broker, both ways, until the connection ends."""

from __future__ import annotations

import pytest
from mqtt_clients import Server

from meshwright.model.publication import Extras
from meshwright.protocol.foundation.events import ClientDown, ClientPacket
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.connection import Connection
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.encoding import encode, encode_publish
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1,
    MQTT_3_1_1,
    MQTT_5,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Will,
)
from meshwright.protocol.mqtt.terms import Terms
from meshwright.protocol.sessions.deliveries import Refused

every_version = pytest.mark.parametrize("version", [MQTT_3_1, MQTT_3_1_1, MQTT_5])


# Messages from a client.


@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_messages_of_each_qos_go_through_to_clients_of_each_version(version: int) -> None:
    server = Server()
    publisher = server.client(version)
    publisher.connect("p")
    readers = [server.client(one) for one in (MQTT_3_1, MQTT_3_1_1, MQTT_5)]
    for number, reader in enumerate(readers):
        reader.connect(f"r{number}")
        assert reader.subscribe("t/+", 2) == (2,)
    publisher.publish("t/0", b"zero")
    assert publisher.publish("t/1", b"one", 1, 11) == [Puback(11)]
    assert publisher.publish("t/2", b"two", 2, 12) == [Pubrec(12)]
    assert publisher.say(Pubrel(12)) == [Pubcomp(12)]
    for reader in readers:
        assert [(one.topic, one.payload, one.qos) for one in reader.messages()] == [
            ("t/0", b"zero", 0),
            ("t/1", b"one", 1),
            ("t/2", b"two", 2),
        ]


def test_all_that_mqtt_5_carries_arrives_in_order_and_with_repeats() -> None:
    server = Server()
    publisher, reader, old = server.client(), server.client(), server.client(MQTT_3_1_1)
    for name, client in (("p", publisher), ("r", reader), ("o", old)):
        client.connect(name)
    reader.subscribe("t", 1, identifier=9)
    reader.subscribe("#", 2, identifier=200)
    old.subscribe("t", 1)
    extras = Extras(1, "text/plain", "replies/1", b"\0\1")
    sent = Publish(
        "t",
        b"x",
        1,
        packet_id=5,
        properties=(("b", "1"), ("a", "2"), ("b", "1")),
        expiry_s=60,
        extras=extras,
    )
    publisher.say(sent)
    (got,) = reader.messages()
    assert (got.properties, got.expiry_s, got.extras) == (sent.properties, 60, extras)
    assert sorted(got.subscription_ids) == [9, 200]
    assert old.messages() == [Publish("t", b"x", 1, packet_id=1)]


def test_a_will_has_all_properties_of_a_message() -> None:
    server = Server()
    mortal, reader = server.client(), server.client()
    extras = Extras(None, "text/plain", None, b"k")
    mortal.connect("m", will=Will("w", b"gone", 1, properties=(("k", "v"),), extras=extras))
    reader.connect("r")
    reader.subscribe("w", 1)
    server.cause(mortal.connection.lost())
    server.hear()
    (got,) = reader.messages()
    assert (got.payload, got.properties, got.extras) == (b"gone", (("k", "v"),), extras)


@pytest.mark.parametrize(("reason", "is_published"), [(0, False), (4, True), (0x80, True)])
def test_only_a_plain_goodbye_takes_the_will_back(reason: int, is_published: bool) -> None:
    server = Server()
    mortal, reader = server.client(), server.client()
    mortal.connect("m", will=Will("w", b"gone"))
    reader.connect("r")
    reader.subscribe("w")
    mortal.say(Disconnect(reason))
    assert bool(reader.messages()) is is_published


def test_disconnect_may_not_prolong_a_session_that_was_to_end() -> None:
    server = Server()
    client = server.client()
    client.connect("c")
    (answer,) = client.say(Disconnect(session_expiry_s=10))
    assert answer.reason == packets.PROTOCOL_ERROR
    other = server.client()
    other.connect("d", session_expiry_s=5)
    assert other.say(Disconnect(session_expiry_s=10)) == []
    server.later(7)
    again = server.client()
    assert again.connect("d", session_expiry_s=5).session_present


def test_topic_aliases_of_a_client_are_its_own() -> None:
    server = Server(Terms(topic_alias_maximum=2))
    one, other, reader = server.client(), server.client(), server.client()
    for name, client in (("1", one), ("2", other), ("r", reader)):
        client.connect(name)
    reader.subscribe("#")
    for client, topic in ((one, "a"), (other, "b")):
        first = Publish(topic, b"1")
        client.say(encode_publish(first, MQTT_5, alias=1))
        client.say(encode_publish(first, MQTT_5, alias=1, has_topic=False))
    assert [message.topic for message in reader.messages()] == ["a", "a", "b", "b"]
    (goodbye,) = one.say(encode_publish(Publish("a"), MQTT_5, alias=3))
    assert goodbye.reason == packets.TOPIC_ALIAS_INVALID


def test_more_unanswered_messages_than_allowed_end_the_connection() -> None:
    server = Server(Terms(receive_maximum=2))
    client, reader = server.client(), server.client()
    client.connect("c")
    reader.connect("r")
    for packet_id in range(1, 10):
        assert client.publish("t", b"", 1, packet_id) == [Puback(packet_id)]
    assert [type(one) for one in client.say(*[_qos_2(n) for n in (1, 2)])] == [Pubrec] * 2
    assert client.say(_qos_2(2)) == [Pubrec(2)]
    assert client.say(Pubrel(1)) == [Pubcomp(1)]
    assert client.say(_qos_2(3)) == [Pubrec(3)]
    (goodbye,) = client.say(_qos_2(4))
    assert goodbye.reason == packets.RECEIVE_MAXIMUM_EXCEEDED
    assert client.is_closed


def test_mqtt_3_has_no_receive_maximum() -> None:
    server = Server(Terms(receive_maximum=2))
    client = server.client(MQTT_3_1_1)
    client.connect("c")
    assert len(client.say(*[_qos_2(n) for n in range(1, 20)])) == 19


def test_a_refusal_that_mqtt_3_cannot_say_ends_the_connection() -> None:
    for version in (MQTT_3_1_1, MQTT_5):
        server = Server()
        client = server.client(version)
        client.connect("c")
        heard = len(client.heard)
        answers = client.connection.send(Puback(7, packets.QUOTA_EXCEEDED, "the disk is full"))
        server.cause(answers)
        client.hear()
        if version == MQTT_5:
            assert client.heard[heard:] == [Puback(7, packets.QUOTA_EXCEEDED, "the disk is full")]
        else:
            assert client.is_closed
            assert client.heard[heard:] == []
            assert answers == [ClientDown("c", clean=False)]


def test_mqtt_3_answers_what_is_not_allowed_as_if_it_were() -> None:
    client = Server().client(MQTT_3_1_1)
    client.connect("c")
    client.connection.send(Puback(7, packets.NOT_AUTHORIZED))
    client.hear()
    assert client.heard[-1] == Puback(7)
    assert not client.is_closed


def test_a_packet_that_is_too_large_is_refused_before_it_has_come() -> None:
    client = Server(Terms(packet_bytes_max=100)).client()
    client.connect("c")
    (goodbye,) = client.say(b"\x30\x80\x01")
    assert goodbye.reason == packets.PACKET_TOO_LARGE


# Messages to a client.


def test_a_client_gets_topic_aliases_as_far_as_it_takes_them() -> None:
    server = Server()
    publisher, reader = server.client(), server.client(alias_max=2)
    publisher.connect("p")
    reader.connect("r")
    reader.subscribe("#")
    before = len(reader.raw)
    for topic in ("long/topic/a", "long/topic/b", "long/topic/c") * 2:
        publisher.publish(topic, b"x")
    assert [one.topic for one in reader.messages()] == [
        "long/topic/a", "long/topic/b", "long/topic/c",
    ] * 2  # fmt: skip
    sent = reader.raw[before:]
    assert [sent.count(one) for one in (b"topic/a", b"topic/b", b"topic/c")] == [1, 1, 2]


def test_a_message_too_large_for_a_client_is_dropped_reported_and_blocks_nothing() -> None:
    server = Server()
    publisher = server.client()
    small = server.client(alias_max=5)
    publisher.connect("p")
    small.connect("s", maximum_packet_size=60, receive_maximum=1)
    small.subscribe("#", 2)
    publisher.publish("t", b"x" * 100)
    publisher.publish("t", b"x" * 100, 1, 1)
    publisher.publish("t", b"x" * 100, 2, 2)
    assert small.messages() == []
    publisher.publish("t", b"fits", 1, 3)
    assert [one.payload for one in small.messages()] == [b"fits"]
    assert small.connection.dropped_count == 1
    refused = [one for one in server.reports if isinstance(one, Refused)]
    assert [(one.client, one.topic) for one in refused] == [("s", "t"), ("s", "t")]
    assert all("0x95" in one.reason for one in refused)


def test_a_client_gets_no_more_unanswered_messages_than_it_takes() -> None:
    server = Server()
    publisher, reader = server.client(), server.client()
    publisher.connect("p")
    reader.connect("r", receive_maximum=2)
    reader.subscribe("#", 2)
    for number in range(1, 6):
        publisher.publish("t", bytes((number,)), 1, number)
    assert len(reader.messages()) == 2
    reader.say(Puback(reader.messages()[0].packet_id))
    assert len(reader.messages()) == 3


def test_what_was_under_way_is_sent_again_only_as_far_as_the_client_takes_it_now() -> None:
    server = Server()
    publisher, reader = server.client(), server.client()
    publisher.connect("p")
    reader.connect("r", session_expiry_s=100)
    reader.subscribe("#", 2)
    for number in range(1, 8):
        publisher.publish("t", bytes((number,)), 1 + number % 2, number)
    first = {one.payload: one.packet_id for one in reader.messages()}
    assert len(first) == 7
    reader.say(Pubrec(first[b"\1"]))
    server.cause(reader.connection.lost())
    again = server.client()
    again.connect("r", session_expiry_s=100, receive_maximum=3)
    publisher.publish("t", b"new", 1, 8)
    assert again.heard[1] == Pubrel(first[b"\1"])
    assert [one.payload for one in again.messages()] == [b"\2", b"\3"]
    again.say(Puback(first[b"\4"]), Pubrec(first[b"\3"]), Pubcomp(first[b"\1"]))
    again.say(Puback(first[b"\2"]))
    again.say(Pubrec(first[b"\5"]), Pubcomp(first[b"\5"]))
    again.say(Puback(first[b"\6"]))
    assert [one.payload for one in again.messages()] == [b"\2", b"\3", b"\5", b"\6", b"\7", b"new"]
    assert [one.packet_id for one in again.messages()[:5]] == [
        first[bytes((n,))] for n in (2, 3, 5, 6, 7)
    ]
    assert [one.is_duplicate for one in again.messages()] == [True] * 5 + [False]


def test_disconnect_cannot_ask_for_more_than_the_terms() -> None:
    server = Server(Terms(session_expiry_max_s=10))
    client = server.client()
    client.connect("c", session_expiry_s=5)
    client.say(Disconnect(session_expiry_s=1_000))
    server.later(11)
    assert not server.client().connect("c").session_present


def test_who_wants_no_words_gets_none_but_at_the_end() -> None:
    client = Server().client()
    client.connect("c", request_problem_information=False)
    client.connection.send(Puback(1, packets.QUOTA_EXCEEDED, "full", (("k", "v"),)))
    client.connection.send(Disconnect(packets.SERVER_BUSY, reason_text="later"))
    client.hear()
    assert client.heard[-2:] == [
        Puback(1, packets.QUOTA_EXCEEDED),
        Disconnect(packets.SERVER_BUSY, reason_text="later"),
    ]


def test_words_that_are_too_many_for_a_client_are_left_out() -> None:
    client = Server().client()
    client.connect("c", maximum_packet_size=30)
    client.connection.send(Puback(1, packets.QUOTA_EXCEEDED, "x" * 100))
    client.hear()
    assert client.heard[-1] == Puback(1, packets.QUOTA_EXCEEDED)


def test_the_broker_hears_once_of_the_end_whoever_makes_it() -> None:
    server = Server()
    client = server.client()
    client.connect("c")
    client.say(Disconnect())
    ends = [
        *client.connection.lost(),
        *client.connection.close(packets.SERVER_SHUTTING_DOWN),
        *client.connection.expire(10**12),
        *client.connection.receive(0, b"\xc0\0"),
    ]
    assert ends == []
    assert client.connection.send(Puback(1)) == []
    assert client.connection.flush() == b""


def test_a_stopping_server_says_so_to_who_can_read_it() -> None:
    server = Server()
    for version, words in ((MQTT_3_1_1, []), (MQTT_5, [packets.SERVER_SHUTTING_DOWN])):
        client = server.client(version)
        client.connect(f"c{version}")
        heard = len(client.heard)
        server.cause(client.connection.close(packets.SERVER_SHUTTING_DOWN))
        client.hear()
        assert [one.reason for one in client.heard[heard:]] == words
        assert server.happened[-1] == ClientDown(f"c{version}", clean=False)


@every_version
def test_the_brokers_goodbye_has_words_in_mqtt_5_only_and_ends_every_connection(
    version: int,
) -> None:
    server = Server()
    client = server.client(version)
    client.connect("c")
    before = len(client.raw)
    assert client.connection.send(Disconnect(packets.SESSION_TAKEN_OVER)) == []
    client.hear()
    assert client.raw[before:] == (b"\xe0\1\x8e" if version == MQTT_5 else b"")
    assert client.is_closed


def test_nobody_is_told_goodbye_before_the_answer_to_connect() -> None:
    server = Server()
    client = server.client()
    client.connection.receive(0, encode(client.connect_packet("c"), MQTT_5))
    client.connection.accept()
    told = client.connection.close(packets.SERVER_SHUTTING_DOWN)
    assert told == [ClientDown("c", clean=False)]
    assert client.connection.flush() == b""


@every_version
def test_a_fault_ends_the_connection_and_keeps_what_came_before_it(version: int) -> None:
    server = Server()
    client = server.client(version)
    client.connect("c")
    good = Publish("t", b"good")
    heard = client.say(good, b"\x36\0", good)
    assert [one.reason for one in heard] == [packets.MALFORMED_PACKET] * (version == MQTT_5)
    packets_told = [one for one in server.happened if isinstance(one, ClientPacket)]
    assert [one.packet for one in packets_told] == [good]
    assert client.connection.fault is not None


@every_version
def test_the_end_waits_for_answers_but_not_for_ever(version: int) -> None:
    connection = Connection(Terms(), 0, assigned_client_id="c")
    connect = packets.Connect(client_id="c", protocol_version=version)
    connection.receive(0, encode(connect, version))
    connection.accept()
    connection.send(packets.Connack(False))
    connection.flush()
    said = (_qos_2(1), Publish("t", b"", 1, packet_id=2), b"\xf1\0", Publish("t"))
    block = b"".join(one if isinstance(one, bytes) else encode(one, version) for one in said)
    assert len(connection.receive(0, block)) == 2
    assert connection.send(packets.Pubrec(1)) == []
    assert not connection.is_reading
    assert connection.receive(1, encode(packets.Pingreq(), version)) == []
    deadline_us = connection.deadline_us
    assert deadline_us is not None
    assert connection.expire(deadline_us - 1) == []
    assert connection.expire(deadline_us) == [ClientDown("c", clean=False)]
    heard = Decoder(version, is_server=False).take(connection.flush())
    goodbye = [packets.MALFORMED_PACKET] * (version == MQTT_5)
    assert [type(one) for one in heard[:1]] == [packets.Pubrec]
    assert [one.reason for one in heard[1:] if isinstance(one, packets.Disconnect)] == goodbye


def _qos_2(packet_id: int) -> Publish:
    return Publish("t", b"", 2, packet_id=packet_id)
