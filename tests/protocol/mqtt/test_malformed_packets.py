"""Packets that the standards refuse, by the phase of the conversation in which they come."""

from __future__ import annotations

import pytest

from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5

MALFORMED = 0x81
PROTOCOL = 0x82
VERSION = 0x84
CLIENT_ID = 0x85
TOPIC = 0x90
ALIAS = 0x94
TOO_LARGE = 0x95

MQTT = b"\0\4MQTT"
BAD_TEXTS = {
    "a lone surrogate": b"\xed\xa0\x80",
    "a pair of surrogates": b"\xed\xa0\x80\xed\xb0\x80",
    "an overlong form": b"\xc0\xaf",
    "half a character": b"\xe2\x82",
    "beyond the last character": b"\xf4\x90\x80\x80",
    "the character U+0000": b"a\0b",
}


def packet(first: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes((first, len(body))) + body


def text(raw: bytes) -> bytes:
    return len(raw).to_bytes(2) + raw


def connect(level: int, flags: int, rest: bytes) -> bytes:
    return packet(0x10, MQTT + bytes((level, flags)) + b"\0\x0a" + rest)


def properties(raw: bytes) -> bytes:
    return bytes((len(raw),)) + raw


PHASE_1_CONNECT = {
    "01 no CONNECT first: PUBLISH": (b"\x30\x03\0\1a", PROTOCOL),
    "01 no CONNECT first: a packet of type 0": (b"\0\0", PROTOCOL),
    "01 no CONNECT first: text of another protocol": (b"GET / HTTP/1.1\r\n", PROTOCOL),
    "02 CONNECT with flags": (b"\x11\x00", PROTOCOL),
    "03 empty": (packet(0x10, b""), MALFORMED),
    "04 another protocol": (packet(0x10, b"\0\4MQXX\4\2\0\0\0\0"), MALFORMED),
    "05 level 6": (connect(6, 2, b"\0\0\0"), VERSION),
    "05 level 3 of MQTT": (connect(3, 2, b"\0\0"), VERSION),
    "05 level 4 of MQIsdp": (packet(0x10, b"\0\6MQIsdp\4\2\0\0\0\1a"), VERSION),
    "06 reserved flag in 3.1.1": (connect(4, 3, b"\0\1a"), MALFORMED),
    "06 reserved flag in 5": (connect(5, 3, b"\0\0\1a"), MALFORMED),
    "07 will of QoS 3": (connect(4, 0x1E, b"\0\1a\0\1w\0\0"), MALFORMED),
    "07 QoS of no will": (connect(4, 0x0A, b"\0\1a"), MALFORMED),
    "07 retain flag of no will": (connect(5, 0x22, b"\0\0\1a"), MALFORMED),
    "07 will to a wildcard": (connect(4, 0x06, b"\0\1a\0\1#\0\0"), TOPIC),
    "07 will to no topic": (connect(5, 0x06, b"\0\0\1a\0\0\0\0\0"), TOPIC),
    "08 password without user name in 3.1.1": (connect(4, 0x42, b"\0\1a\0\1p"), MALFORMED),
    "09 no client identifier for a lasting session in 3.1.1": (connect(4, 0, b"\0\0"), CLIENT_ID),
    "09 no client identifier in 3.1": (packet(0x10, b"\0\6MQIsdp\3\2\0\0\0\0"), CLIENT_ID),
    "09 24 characters in 3.1": (
        packet(0x10, b"\0\6MQIsdp\3\2\0\0" + text(b"x" * 24)),
        CLIENT_ID,
    ),
    "10 ends before the client identifier": (connect(4, 2, b"\0\5a"), MALFORMED),
    "10 ends before the user name": (connect(4, 0x82, b"\0\1a"), MALFORMED),
    "10 goes on after its end": (connect(4, 2, b"\0\1ax"), MALFORMED),
    "11 receive maximum 0": (connect(5, 2, properties(b"\x21\0\0") + b"\0\1a"), PROTOCOL),
    "11 maximum packet size 0": (
        connect(5, 2, properties(b"\x27\0\0\0\0") + b"\0\1a"),
        PROTOCOL,
    ),
    "11 request problem information 2": (
        connect(5, 2, properties(b"\x17\2") + b"\0\1a"),
        PROTOCOL,
    ),
    "11 expiry twice": (
        connect(5, 2, properties(b"\x11\0\0\0\1\x11\0\0\0\1") + b"\0\1a"),
        PROTOCOL,
    ),
    "11 a property of CONNACK": (connect(5, 2, properties(b"\x24\1") + b"\0\1a"), MALFORMED),
    "11 an unknown property": (connect(5, 2, properties(b"\x7e\1") + b"\0\1a"), MALFORMED),
    "11 a property past the end of properties": (
        connect(5, 2, properties(b"\x11\0\0") + b"\0\1a\0\0"),
        MALFORMED,
    ),
    "11 properties past the end of the packet": (connect(5, 2, b"\x7f\0\1a"), MALFORMED),
    "11 authentication data without a method": (
        connect(5, 2, properties(b"\x16\0\1x") + b"\0\1a"),
        PROTOCOL,
    ),
    "11 delay of a will outside of it": (
        connect(5, 2, properties(b"\x18\0\0\0\1") + b"\0\1a"),
        MALFORMED,
    ),
    "11 response topic of a will with a wildcard": (
        connect(5, 6, b"\0\0\1a" + properties(b"\x08\0\1#") + b"\0\1w\0\0"),
        PROTOCOL,
    ),
    **{
        f"12 the client identifier is {name}": (connect(4, 2, text(raw)), MALFORMED)
        for name, raw in BAD_TEXTS.items()
    },
}

PHASE_2_FRAME = {
    "20 length of five bytes": (b"\x30\xff\xff\xff\xff\x01", MALFORMED),
    "20 packet of type 0": (b"\0\0", MALFORMED),
    "21 second CONNECT": (connect(4, 2, b"\0\1a"), PROTOCOL),
    "21 CONNACK of a client": (b"\x20\2\0\0", PROTOCOL),
    "21 SUBACK of a client": (b"\x90\3\0\1\0", PROTOCOL),
    "21 UNSUBACK of a client": (b"\xb0\2\0\1", PROTOCOL),
    "21 PINGRESP of a client": (b"\xd0\0", PROTOCOL),
    "21 SUBACK is refused before it is whole": (b"\x90\x7f", PROTOCOL),
    "22 PUBACK with flags": (b"\x41\2\0\1", MALFORMED),
    "22 PUBREL without its flag": (b"\x60\2\0\1", MALFORMED),
    "22 SUBSCRIBE without its flag": (packet(0x80, b"\0\1\0\0\1a\0"), MALFORMED),
    "22 UNSUBSCRIBE without its flag": (packet(0xA0, b"\0\1\0\0\1a"), MALFORMED),
    "22 PINGREQ with flags": (b"\xc1\0", MALFORMED),
    "22 DISCONNECT with flags": (b"\xe1\0", MALFORMED),
    "23 PINGREQ with content": (b"\xc0\1x", MALFORMED),
    "24 larger than this server takes": (b"\x30\xa0\x9c\1", TOO_LARGE),
}

PHASE_3_PUBLISH = {
    "30 QoS 3": (packet(0x36, b"\0\1a\0\1\0"), MALFORMED),
    "30 QoS 3 is refused before it is whole": (b"\x36\x7f", MALFORMED),
    "30 duplicate of QoS 0": (packet(0x38, b"\0\1a\0"), MALFORMED),
    "31 empty": (b"\x30\0", MALFORMED),
    "31 half a topic length": (b"\x30\1\0", MALFORMED),
    "31 topic past the end": (packet(0x30, b"\0\5a"), MALFORMED),
    "31 no packet identifier": (packet(0x32, b"\0\1a\0"), MALFORMED),
    "32 packet identifier 0": (packet(0x32, b"\0\1a\0\0\0"), PROTOCOL),
    "32 packet identifier 0 on QoS 2": (packet(0x34, b"\0\1a\0\0\0"), PROTOCOL),
    "33 wildcard #": (packet(0x30, b"\0\3a/#\0"), TOPIC),
    "33 wildcard +": (packet(0x30, b"\0\3+/a\0"), TOPIC),
    **{
        f"34 the topic is {name}": (packet(0x30, text(raw) + b"\0"), MALFORMED)
        for name, raw in BAD_TEXTS.items()
    },
}

PHASE_3_PUBLISH_OF_5 = {
    "35 no length of properties": (packet(0x30, b"\0\1a"), MALFORMED),
    "35 no length of properties on QoS 1": (packet(0x32, b"\0\1a\0\1"), MALFORMED),
    "35 properties past the end": (packet(0x30, b"\0\1a\5\1\1"), MALFORMED),
    "35 remaining length longer than needed": (b"\x30\x84\0\0\1a\0", MALFORMED),
    "35 length of properties longer than needed": (packet(0x30, b"\0\1a\x80\0"), MALFORMED),
    "36 no topic and no alias": (packet(0x30, b"\0\0\0"), PROTOCOL),
    "36 alias 0": (packet(0x30, b"\0\1a\3\x23\0\0"), ALIAS),
    "36 alias past the maximum": (packet(0x30, b"\0\1a\3\x23\0\6"), ALIAS),
    "36 alias of no topic": (packet(0x30, b"\0\0\3\x23\0\1"), PROTOCOL),
    "36 alias twice": (packet(0x30, b"\0\1a\6\x23\0\1\x23\0\1"), PROTOCOL),
    "37 subscription identifier of a client": (packet(0x30, b"\0\1a\2\x0b\1"), PROTOCOL),
    "37 subscription identifier 0": (packet(0x30, b"\0\1a\2\x0b\0"), PROTOCOL),
    "37 payload format 2": (packet(0x30, b"\0\1a\2\1\2"), PROTOCOL),
    "37 expiry twice": (packet(0x30, b"\0\1a\x0a\2\0\0\0\1\2\0\0\0\1"), PROTOCOL),
    "37 response topic with a wildcard": (packet(0x30, b"\0\1a\4\x08\0\1+"), PROTOCOL),
    "37 a property of CONNECT": (packet(0x30, b"\0\1a\3\x21\0\1"), MALFORMED),
    "37 a user property without a value": (packet(0x30, b"\0\1a\4\x26\0\1k"), MALFORMED),
    **{
        f"38 the content type is {name}": (
            packet(0x30, b"\0\1a" + properties(b"\3" + text(raw))),
            MALFORMED,
        )
        for name, raw in BAD_TEXTS.items()
    },
}

PHASE_4_ANSWERS = {
    "40 PUBACK without a packet identifier": (b"\x40\1\0", MALFORMED),
    "40 PUBACK 0": (b"\x40\2\0\0", PROTOCOL),
    "40 PUBREC 0": (b"\x50\2\0\0", PROTOCOL),
    "40 PUBREL 0": (b"\x62\2\0\0", PROTOCOL),
    "40 PUBCOMP 0": (b"\x70\2\0\0", PROTOCOL),
}
PHASE_4_ANSWERS_OF_5 = {
    "41 PUBACK with a reason of its own": (b"\x40\3\0\1\x81", PROTOCOL),
    "41 PUBREL with a reason of PUBACK": (b"\x62\3\0\1\x97", PROTOCOL),
    "42 PUBACK with a property of PUBLISH": (b"\x40\6\0\1\0\2\1\1", MALFORMED),
    "42 PUBACK with two reason strings": (packet(0x40, b"\0\1\0\6\x1f\0\0\x1f\0\0"), PROTOCOL),
    "43 PUBACK goes on after its end": (b"\x40\5\0\1\0\0x", MALFORMED),
}
PHASE_4_ANSWERS_OF_3 = {
    "44 PUBACK with a reason": (b"\x40\3\0\1\0", MALFORMED),
}

PHASE_5_SUBSCRIBE = {
    "50 packet identifier 0": (packet(0x82, b"\0\0\0\0\1a\0"), PROTOCOL),
    "52 UNSUBSCRIBE 0": (packet(0xA2, b"\0\0\0\0\1a"), PROTOCOL),
}
PHASE_5_SUBSCRIBE_OF_5 = {
    "50 no filter": (packet(0x82, b"\0\1\0"), PROTOCOL),
    "50 no options": (packet(0x82, b"\0\1\0\0\1a"), MALFORMED),
    "51 QoS 3": (packet(0x82, b"\0\1\0\0\1a\3"), PROTOCOL),
    "51 retain handling 3": (packet(0x82, b"\0\1\0\0\1a\x30"), PROTOCOL),
    "51 reserved bits": (packet(0x82, b"\0\1\0\0\1a\x40"), MALFORMED),
    "51 no local messages of a shared one": (
        packet(0x82, b"\0\1\0" + text(b"$share/g/a") + b"\4"),
        PROTOCOL,
    ),
    "51 identifier 0": (packet(0x82, b"\0\1\2\x0b\0\0\1a\0"), PROTOCOL),
    "51 two identifiers": (packet(0x82, b"\0\1\4\x0b\1\x0b\2\0\1a\0"), PROTOCOL),
    "52 UNSUBSCRIBE without a filter": (packet(0xA2, b"\0\1\0"), PROTOCOL),
    "52 UNSUBSCRIBE with an identifier": (packet(0xA2, b"\0\1\2\x0b\1\0\1a"), MALFORMED),
    **{
        f"53 the filter is {name}": (packet(0x82, b"\0\1\0" + text(raw) + b"\0"), MALFORMED)
        for name, raw in BAD_TEXTS.items()
    },
}
PHASE_5_SUBSCRIBE_OF_3 = {
    "50 no filter": (packet(0x82, b"\0\1"), PROTOCOL),
    "51 QoS 3": (packet(0x82, b"\0\1\0\1a\3"), PROTOCOL),
    "51 options of MQTT 5": (packet(0x82, b"\0\1\0\1a\4"), MALFORMED),
    "52 UNSUBSCRIBE without a filter": (packet(0xA2, b"\0\1"), PROTOCOL),
}

PHASE_6_END_OF_5 = {
    "60 DISCONNECT with an unknown reason": (b"\xe0\1\x42", PROTOCOL),
    "60 DISCONNECT with a property of CONNACK": (b"\xe0\4\0\2\x24\1", MALFORMED),
    "61 AUTH with flags": (b"\xf1\0", MALFORMED),
    "61 AUTH with an unknown reason": (b"\xf0\1\1", PROTOCOL),
    "61 AUTH with a reason and no length of properties": (b"\xf0\1\x19", MALFORMED),
}
PHASE_6_END_OF_3 = {
    "60 DISCONNECT with a reason": (b"\xe0\1\0", MALFORMED),
    "61 AUTH": (b"\xf0\0", MALFORMED),
}


def rows(*tables: dict[str, tuple[bytes, int]]) -> pytest.MarkDecorator:
    joined = {name: row for table in tables for name, row in table.items()}
    return pytest.mark.parametrize(("raw", "reason"), joined.values(), ids=joined.keys())


def refuses(decoder: Decoder, raw: bytes, reason: int) -> None:
    for at in range(len(raw)):
        assert decoder.take(raw[at : at + 1]) == []
    assert decoder.fault is not None
    assert decoder.fault.reason == reason, str(decoder.fault)
    assert str(decoder.fault).endswith("the connection is closed.")


def limited(version: int) -> Decoder:
    return Decoder(version, packet_bytes_max=20_000, topic_alias_maximum=5)


@rows(PHASE_1_CONNECT)
def test_a_bad_connect_is_refused(raw: bytes, reason: int) -> None:
    refuses(Decoder(), raw, reason)


@rows(
    PHASE_2_FRAME,
    PHASE_3_PUBLISH,
    PHASE_3_PUBLISH_OF_5,
    PHASE_4_ANSWERS,
    PHASE_4_ANSWERS_OF_5,
    PHASE_5_SUBSCRIBE,
    PHASE_5_SUBSCRIBE_OF_5,
    PHASE_6_END_OF_5,
)
def test_mqtt_5_refuses(raw: bytes, reason: int) -> None:
    refuses(limited(MQTT_5), raw, reason)


@rows(
    PHASE_2_FRAME,
    PHASE_3_PUBLISH,
    PHASE_4_ANSWERS,
    PHASE_4_ANSWERS_OF_3,
    PHASE_5_SUBSCRIBE,
    PHASE_5_SUBSCRIBE_OF_3,
    PHASE_6_END_OF_3,
)
def test_mqtt_3_1_1_refuses(raw: bytes, reason: int) -> None:
    refuses(limited(MQTT_3_1_1), raw, reason)


def test_mqtt_3_1_leaves_flags_free_where_its_standard_does() -> None:
    for raw in (b"\x6a\2\0\1", packet(0x8A, b"\0\1\0\1a\0"), packet(0xAA, b"\0\1\0\1a")):
        decoder = Decoder(MQTT_3_1)
        assert len(decoder.take(raw)) == 1
        assert decoder.fault is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x20\2\2\0", MALFORMED),
        (b"\x20\3\1\x87\0", PROTOCOL),
        (b"\x20\3\0\x42\0", PROTOCOL),
        (b"\x82\6\0\1\0\0\0\0", PROTOCOL),
        (b"\x90\4\0\1\0\3", PROTOCOL),
        (b"\xc0\0", PROTOCOL),
        (b"\xe0\7\0\5\x11\0\0\0\1", PROTOCOL),
    ],
    ids=[
        "CONNACK with reserved flags", "refusal with a session", "CONNACK with an unknown reason",
        "SUBSCRIBE of a server", "SUBACK with QoS 3", "PINGREQ of a server",
        "DISCONNECT with an expiry",
    ],
)  # fmt: skip
def test_a_client_refuses_what_no_server_may_say(raw: bytes, reason: int) -> None:
    refuses(Decoder(MQTT_5, is_server=False), raw, reason)
