"""How clients open a conversation in bytes with a real broker, and how it is kept alive."""

from __future__ import annotations

import pytest
from mqtt_clients import Server

from meshwright.protocol.foundation.events import ClientDown, ClientUp
from meshwright.protocol.mqtt import packets, roaming
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1,
    MQTT_3_1_1,
    MQTT_5,
    Connack,
    Disconnect,
    Pingreq,
    Pingresp,
    Publish,
    Subscription,
    Will,
)
from meshwright.protocol.mqtt.terms import Terms

every_version = pytest.mark.parametrize("version", [MQTT_3_1, MQTT_3_1_1, MQTT_5])


@every_version
def test_a_client_connects_pings_and_says_goodbye(version: int) -> None:
    server = Server()
    client = server.client(version)
    assert client.connect("c").reason == packets.SUCCESS
    assert client.say(Pingreq()) == [Pingresp()]
    assert client.say(Disconnect()) == []
    assert client.is_closed
    assert [type(one) for one in server.happened] == [ClientUp, ClientDown]
    assert server.happened[1] == ClientDown("c", clean=True)


def test_an_mqtt_5_client_is_told_the_terms_and_the_name_it_was_given() -> None:
    terms = Terms(
        receive_maximum=7,
        packet_bytes_max=9_000,
        topic_alias_maximum=3,
        keep_alive_max_s=60,
        session_expiry_max_s=100,
        response_information="replies/",
    )
    client = Server(terms).client()
    assert client.connect(
        "", keep_alive_s=90, session_expiry_s=200, request_response_information=True
    ) == Connack(
        False,
        session_expiry_s=100,
        receive_maximum=7,
        maximum_packet_size=9_000,
        assigned_client_id="assigned-0",
        topic_alias_maximum=3,
        server_keep_alive_s=60,
        response_information="replies/",
    )


def test_terms_that_are_as_asked_are_not_repeated() -> None:
    client = Server(Terms(receive_maximum=65_535, topic_alias_maximum=0)).client()
    assert client.connect("c", keep_alive_s=5, session_expiry_s=9) == Connack(False)
    assert client.raw == b"\x20\3\0\0\0"


@pytest.mark.parametrize(
    ("level", "answer"),
    [(6, b"\x20\x31\0\x84"), (2, b"\x20\2\0\1"), (0x82, b"\x20\2\0\1"), (0x86, b"\x20\x31\0\x84")],
    ids=["a later one", "an early one", "a bridge in an early one", "a bridge in a later one"],
)
def test_an_unknown_version_is_refused_in_the_nearest_one(level: int, answer: bytes) -> None:
    server = Server()
    client = server.client(MQTT_3_1_1 if answer[1] == 2 else MQTT_5)
    client.say(b"\x10\x0d\0\4MQTT" + bytes((level,)) + b"\2\0\0\0\1a")
    assert client.raw.startswith(answer)
    assert client.is_closed
    assert not server.happened


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\r\n", b"\x30\3\0\1a", b"\x10\x0c\0\4QTTM\4\2\0\0\0\0"]
)
def test_who_does_not_begin_with_connect_gets_no_answer(said: bytes) -> None:
    server = Server()
    client = server.client(MQTT_3_1_1)
    assert client.say(said) == []
    assert client.is_closed
    assert client.raw == b""
    assert not server.happened


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (packets.CLIENT_IDENTIFIER_NOT_VALID, 2),
        (packets.SERVER_UNAVAILABLE, 3),
        (packets.SERVER_BUSY, 3),
        (packets.USE_ANOTHER_SERVER, 3),
        (packets.BAD_USER_NAME_OR_PASSWORD, 4),
        (packets.NOT_AUTHORIZED, 5),
        (packets.BANNED, 5),
    ],
)
def test_mqtt_3_has_few_words_for_a_refusal(reason: int, code: int) -> None:
    server = Server()
    three, five = server.client(MQTT_3_1_1), server.client(MQTT_5)
    for client in (three, five):
        connect = encode(client.connect_packet("c", user_name="u", password=b"p"), client.version)
        client.connection.receive(0, connect)
        client.connection.refuse(reason, "not you")
        client.hear()
        assert client.is_closed
    assert three.raw == bytes((0x20, 2, 0, code))
    assert five.heard == [Connack(False, reason, reason_text="not you")]
    assert not server.happened


def test_a_will_to_a_wildcard_is_refused_with_a_reason_or_in_silence() -> None:
    for version, answer in ((MQTT_5, [packets.TOPIC_NAME_INVALID]), (MQTT_3_1_1, [])):
        client = Server().client(version)
        client.connect("c", will=Will("a/#"))
        assert [one.reason for one in client.heard] == answer
        assert client.is_closed


def test_an_authentication_method_is_refused_and_auth_later_is_a_protocol_error() -> None:
    server = Server()
    client = server.client()
    answer = client.connect("c", authentication_method="SCRAM", authentication_data=b"x")
    assert answer.reason == packets.BAD_AUTHENTICATION_METHOD
    assert client.is_closed
    other = server.client()
    other.connect("d")
    (goodbye,) = other.say(packets.Auth(packets.RE_AUTHENTICATE, "SCRAM"))
    assert goodbye.reason == packets.PROTOCOL_ERROR
    assert server.happened[-1] == ClientDown("d", clean=False)


def test_the_broker_sees_no_password() -> None:
    server = Server()
    client = server.client()
    client.connect("c", user_name="u", password=b"secret")
    assert client.connection.connect is not None
    assert client.connection.connect.password == b"secret"
    (up,) = server.happened
    assert isinstance(up, ClientUp)
    assert up.packet.password is None
    assert up.packet.client_id == "c"


def test_a_client_that_waits_for_its_connack_may_go_away_and_the_broker_hears_of_it() -> None:
    server = Server()
    client = server.client()
    server.stall_disk("b0")
    client.say(client.connect_packet("c", session_expiry_s=100))
    assert client.connection.is_reading
    assert client.connection.deadline_us is None
    assert client.connection.lost() == [ClientDown("c", clean=False)]
    assert not client.connection.is_reading


def test_what_a_client_sends_before_its_connack_is_taken_after_it() -> None:
    server = Server()
    client = server.client()
    server.stall_disk("b0")
    client.say(
        client.connect_packet("c", session_expiry_s=100),
        packets.Subscribe(1, (Subscription("t", 1),)),
        Publish("t", b"early", 1, packet_id=2),
    )
    assert not client.connection.is_reading
    client.say(Pingreq())
    assert client.heard == []
    server.unstall_disk("b0")
    server.hear()
    kinds = [type(one).__name__ for one in client.heard]
    assert kinds[:2] == ["Connack", "Pingresp"]
    assert {"Suback", "Puback", "Publish"} <= set(kinds)


def test_a_fault_before_the_connack_is_answered_after_it() -> None:
    server = Server()
    client = server.client()
    heard = client.say(client.connect_packet("c"), b"\x36\0")
    assert [type(one) for one in heard] == [Connack, Disconnect]
    assert heard[1].reason == packets.MALFORMED_PACKET
    assert server.happened[-1] == ClientDown("c", clean=False)


@every_version
def test_a_second_connect_ends_the_first(version: int) -> None:
    server = Server()
    client = server.client(version)
    client.connect("c")
    heard = client.say(client.connect_packet("c"))
    assert [one.reason for one in heard] == [packets.PROTOCOL_ERROR] * (version == MQTT_5)
    assert client.is_closed
    assert server.happened[-1] == ClientDown("c", clean=False)


def test_who_comes_with_the_same_name_takes_over() -> None:
    server = Server()
    first, second = server.client(), server.client()
    first.connect("c", session_expiry_s=100)
    assert second.connect("c", session_expiry_s=100).session_present
    assert first.heard[-1] == Disconnect(packets.SESSION_TAKEN_OVER)
    assert first.is_closed
    assert not second.is_closed


def test_a_client_that_never_connects_is_closed_after_a_while() -> None:
    server = Server(Terms(connect_patience_us=3_000_000))
    client = server.client()
    server.later(2.9)
    assert not client.is_closed
    server.later(0.1)
    assert client.is_closed
    assert client.raw == b""


def test_bytes_that_are_no_whole_connect_do_not_make_the_server_wait() -> None:
    server = Server(Terms(connect_patience_us=3_000_000))
    client = server.client()
    for byte in b"\x10\x0d":
        client.say(bytes((byte,)))
        server.later(1)
    client.say(b"\0")
    server.later(1)
    assert client.is_closed


@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_a_silent_client_is_closed_after_one_and_a_half_keep_alives(version: int) -> None:
    server = Server()
    client = server.client(version)
    client.connect("c", keep_alive_s=10)
    server.later(14)
    client.say(Pingreq())
    server.later(14.9)
    assert not client.is_closed
    server.later(0.1)
    assert client.is_closed
    if version == MQTT_5:
        assert client.heard[-1].reason == packets.KEEP_ALIVE_TIMEOUT
    assert server.happened[-1] == ClientDown("c", clean=False)


def test_without_keep_alive_a_client_may_be_silent_for_ever() -> None:
    server = Server()
    client = server.client()
    client.connect("c")
    assert client.connection.deadline_us is None
    server.later(100_000)
    assert not client.is_closed


def test_a_roaming_client_says_in_user_properties_where_it_was_and_what_it_wants() -> None:
    server = Server()
    client = server.client()
    said = packets.Connect(
        client_id="c", previous_broker="b7", carried=(Subscription("a/#", 1, identifier=3),)
    )
    client.say(roaming.told(said))
    (up,) = server.happened
    assert isinstance(up, ClientUp)
    assert up.packet.previous_broker == "b7"
    assert up.packet.carried == said.carried
    assert roaming.understood(roaming.told(packets.Connect(carried=()))).carried == ()
    bad = server.client()
    answer = bad.connect("d", properties=((roaming.CARRIED, "{"),))
    assert answer.reason == packets.IMPLEMENTATION_SPECIFIC_ERROR
