"""From packets to bytes, in the version of the connection.

What a version cannot say is left out: MQTT 3 has no properties and few reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.protocol.mqtt import contents, packets
from meshwright.protocol.mqtt import properties as known
from meshwright.protocol.mqtt.body import (
    binary,
    byte,
    four_bytes,
    pair,
    text,
    two_bytes,
    variable_integer,
)
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1,
    MQTT_5,
    SUCCESS,
    UNSPECIFIED_ERROR,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from meshwright.protocol.mqtt.properties import (
    SubscribeIdentifier,
    written_parts,
    written_properties,
)
from meshwright.protocol.mqtt.reasons import return_code

# A PUBLISH cut where its packet identifier belongs; with QoS 0 all of it is before the cut.
Cut = tuple[bytes, bytes]


def encode(packet: packets.Packet, version: int) -> bytes:
    """One packet as bytes; b"" for one that the version does not have."""
    return _WRITERS[type(packet)](packet, version)


def encode_publish(
    packet: Publish, version: int, *, alias: int = 0, has_topic: bool = True
) -> bytes:
    """A PUBLISH as bytes; with an alias, it may go without its topic."""
    head, tail = cut_publish(packet, version, alias=alias, has_topic=has_topic)
    return head + packet.packet_id.to_bytes(2) + tail if packet.qos else head


def cut_publish(packet: Publish, version: int, *, alias: int = 0, has_topic: bool = True) -> Cut:
    """All of a PUBLISH but its packet identifier, which differs from client to client."""
    payload = packet.payload
    raw_topic = packet.topic.encode() if has_topic else b""
    qos = packet.qos
    properties = b""
    if version == MQTT_5:
        properties = b"\0"
        if (
            packet.properties
            or packet.expiry_s is not None
            or packet.subscription_ids
            or alias
            or packet.extras
        ):
            properties = _message_properties(packet, alias)
    topic_size = len(raw_topic)
    size = 2 + topic_size + len(properties) + len(payload) + (2 if qos else 0)
    first = 0x30 | packet.is_duplicate << 3 | qos << 1 | packet.retain
    if size < 0x80:
        head = bytes((first, size, topic_size >> 8, topic_size & 0xFF))
    else:
        head = byte(first) + variable_integer(size) + two_bytes(topic_size)
    if qos:
        return head + raw_topic, properties + payload
    return head + raw_topic + properties + payload, b""


def _message_properties(packet: Publish, alias: int) -> bytes:
    """The properties of a PUBLISH; the most frequent ones are written without a table."""
    parts = [b"\x26" + pair(one) for one in packet.properties]
    if packet.expiry_s is not None:
        parts.append(b"\x02" + four_bytes(packet.expiry_s))
    if packet.subscription_ids:
        parts += [b"\x0b" + variable_integer(one) for one in packet.subscription_ids]
    if alias:
        parts.append(b"\x23" + two_bytes(alias))
    if packet.extras is not None:
        parts += written_parts(known.OF_PUBLISH, packet.extras)
    written = b"".join(parts)
    return variable_integer(len(written)) + written


def _connect(packet: packets.Connect, _version: int) -> bytes:
    """CONNECT says in which version it is."""
    version = packet.protocol_version
    will = packet.will
    is_clean = packet.clean_start if version == MQTT_5 else not packet.session_expiry_s
    flags = contents.CLEAN if is_clean else 0
    parts = [text(packet.client_id)]
    if will is not None:
        flags |= contents.WILL | will.qos << 3 | (contents.WILL_RETAIN if will.retain else 0)
        if version == MQTT_5:
            parts.append(written_properties(known.OF_WILL, will, will.extras))
        parts += (text(will.topic), binary(will.payload))
    if packet.user_name is not None:
        flags |= contents.USER_NAME
        parts.append(text(packet.user_name))
    if packet.password is not None:
        flags |= contents.PASSWORD
        parts.append(binary(packet.password))
    properties = written_properties(known.OF_CONNECT, packet) if version == MQTT_5 else b""
    name = b"MQIsdp" if version == MQTT_3_1 else b"MQTT"
    level = version | contents.BRIDGE if packet.is_bridge else version
    front = binary(name) + byte(level) + byte(flags) + two_bytes(packet.keep_alive_s)
    return _framed(0x10, front + properties + b"".join(parts))


def _connack(packet: packets.Connack, version: int) -> bytes:
    code = return_code(packet.reason, version)
    if code is None:
        return b""
    flags = packet.session_present and not packet.reason and version != MQTT_3_1
    properties = written_properties(known.OF_CONNACK, packet) if version == MQTT_5 else b""
    return _framed(0x20, byte(flags) + byte(code) + properties)


def _answer(first: int) -> Callable[[Any, int], bytes]:
    """How to write one of the four answers to a PUBLISH."""
    short = byte(first) + b"\2"

    def write(packet: Puback | Pubrec | Pubrel | Pubcomp, version: int) -> bytes:
        packet_id = packet.packet_id.to_bytes(2)
        has_properties = packet.reason_text is not None or packet.properties
        if version != MQTT_5 or (packet.reason == SUCCESS and not has_properties):
            return short + packet_id
        properties = written_properties(known.OF_ANSWER, packet) if has_properties else b""
        return _framed(first, packet_id + byte(packet.reason) + properties)

    return write


def _subscribe(packet: packets.Subscribe, version: int) -> bytes:
    parts = [two_bytes(packet.packet_id)]
    if version == MQTT_5:
        identifier = SubscribeIdentifier(packet.subscriptions[0].identifier)
        parts.append(written_properties(known.OF_SUBSCRIBE, identifier, packet))
    for one in packet.subscriptions:
        options = one.qos
        if version == MQTT_5:
            options |= one.no_local << 2 | one.retain_as_published << 3 | one.retain_handling << 4
        parts += (text(one.filter_text), byte(options))
    return _framed(0x82, b"".join(parts))


def _suback(packet: packets.Suback, version: int) -> bytes:
    if version == MQTT_5:
        properties = written_properties(known.OF_ANSWER, packet)
        return _framed(0x90, two_bytes(packet.packet_id) + properties + bytes(packet.reasons))
    # MQTT 3.1 has no word for a refusal: nothing comes of what it says is granted.
    refused = 0 if version == MQTT_3_1 else UNSPECIFIED_ERROR
    reasons = bytes(one if one < UNSPECIFIED_ERROR else refused for one in packet.reasons)
    return _framed(0x90, two_bytes(packet.packet_id) + reasons)


def _unsubscribe(packet: packets.Unsubscribe, version: int) -> bytes:
    properties = written_properties(known.OF_UNSUBSCRIBE, packet) if version == MQTT_5 else b""
    texts = b"".join(map(text, packet.filter_texts))
    return _framed(0xA2, two_bytes(packet.packet_id) + properties + texts)


def _unsuback(packet: packets.Unsuback, version: int) -> bytes:
    if version != MQTT_5:
        return _framed(0xB0, two_bytes(packet.packet_id))
    properties = written_properties(known.OF_ANSWER, packet)
    return _framed(0xB0, two_bytes(packet.packet_id) + properties + bytes(packet.reasons))


def _disconnect(packet: packets.Disconnect, version: int) -> bytes:
    if version != MQTT_5:
        return b"\xe0\0"
    properties = written_properties(known.OF_DISCONNECT, packet)
    if properties != b"\0":
        return _framed(0xE0, byte(packet.reason) + properties)
    return _framed(0xE0, byte(packet.reason) if packet.reason else b"")


def _auth(packet: packets.Auth, version: int) -> bytes:
    """AUTH may leave out its properties only along with its reason."""
    if version != MQTT_5:
        return b""
    if packet == packets.Auth():
        return b"\xf0\0"
    return _framed(0xF0, byte(packet.reason) + written_properties(known.OF_AUTH, packet))


def _framed(first: int, content: bytes) -> bytes:
    return byte(first) + variable_integer(len(content)) + content


_WRITERS: dict[type, Callable[[Any, int], bytes]] = {
    packets.Connect: _connect,
    packets.Connack: _connack,
    packets.Publish: encode_publish,
    packets.Puback: _answer(0x40),
    packets.Pubrec: _answer(0x50),
    packets.Pubrel: _answer(0x62),
    packets.Pubcomp: _answer(0x70),
    packets.Subscribe: _subscribe,
    packets.Suback: _suback,
    packets.Unsubscribe: _unsubscribe,
    packets.Unsuback: _unsuback,
    packets.Pingreq: lambda _packet, _version: b"\xc0\0",
    packets.Pingresp: lambda _packet, _version: b"\xd0\0",
    packets.Disconnect: _disconnect,
    packets.Auth: _auth,
}
