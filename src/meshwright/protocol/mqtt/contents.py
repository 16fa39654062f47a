"""The content of each packet but PUBLISH, read from its body into a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.errors import MqttError
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt import properties as known
from meshwright.protocol.mqtt.body import Body, malformed, protocol_error
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5, NEVER_S
from meshwright.protocol.mqtt.properties import is_one_topic, read_properties, with_extras
from meshwright.protocol.mqtt.reasons import (
    AUTH_REASONS,
    CONNACK_REASONS,
    DISCONNECT_REASONS,
    PUBLISH_REASONS,
    RELEASE_REASONS,
    RETURN_CODES,
    SUBACK_REASONS,
    UNSUBACK_REASONS,
)

Read = Callable[[Body, int], packets.Packet]

PROTOCOL_NAMES = {b"MQTT": (MQTT_3_1_1, MQTT_5), b"MQIsdp": (MQTT_3_1,)}
CLIENT_ID_CHARACTERS_MAX_3_1 = 23

# The bit of the level with which a bridge says in MQTT 3 that it is one.
BRIDGE = 0x80

# Bits of CONNECT's flags.
RESERVED = 0x01
CLEAN = 0x02
WILL = 0x04
WILL_RETAIN = 0x20
PASSWORD = 0x40
USER_NAME = 0x80


def read_level(body: Body) -> tuple[int, bool, bool]:
    """In which version to answer a CONNECT, whether it asked for that, and if it is a bridge's."""
    name = body.binary()
    byte = body.byte()
    level, is_bridge = byte & ~BRIDGE, byte & BRIDGE > 0
    levels = PROTOCOL_NAMES.get(name)
    if levels is None:
        raise malformed("CONNECT names another protocol than MQTT")
    if level in levels:
        return level, True, is_bridge
    return (MQTT_5 if level >= MQTT_5 else MQTT_3_1_1), False, is_bridge


def read_connect(body: Body, version: int, *, is_bridge: bool) -> packets.Connect:
    """What follows the level of a CONNECT."""
    flags = body.byte()
    _check_connect_flags(flags, version)
    keep_alive_s = body.two_bytes()
    options: dict[str, Any] = {}
    if version == MQTT_5:
        options = read_properties(body, known.OF_CONNECT)
        if "authentication_data" in options and "authentication_method" not in options:
            raise protocol_error("CONNECT has authentication data and no method")
    elif not flags & CLEAN:
        options["session_expiry_s"] = NEVER_S
    client_id = body.text()
    if version != MQTT_5:
        _check_client_id(client_id, flags, version)
    will = _read_will(body, flags, version) if flags & WILL else None
    user_name = body.text() if flags & USER_NAME else None
    password = body.binary() if flags & PASSWORD else None
    body.end()
    return packets.Connect(
        clean_start=bool(flags & CLEAN),
        will=will,
        client_id=client_id,
        user_name=user_name,
        password=password,
        keep_alive_s=keep_alive_s,
        protocol_version=version,
        can_be_redirected=version == MQTT_5,
        is_bridge=is_bridge,
        **options,
    )


def _connack(body: Body, version: int) -> packets.Connack:
    flags, reason = body.byte(), body.byte()
    if flags > 1 and version != MQTT_3_1:
        raise malformed("CONNACK has reserved flags set")
    options: dict[str, Any] = {}
    if version == MQTT_5:
        _check_reason(reason, CONNACK_REASONS, "CONNACK")
        options = read_properties(body, known.OF_CONNACK)
    elif reason in RETURN_CODES:
        reason = RETURN_CODES[reason]
    else:
        raise protocol_error(f"CONNACK has the unknown return code {reason}")
    body.end()
    is_present = flags == 1
    if is_present and reason:
        raise protocol_error("CONNACK refuses a connection whose session is present")
    return packets.Connack(is_present, reason, **options)


def _answer_reader(kind: Callable[..., packets.Packet], name: str, reasons: frozenset[int]) -> Read:
    """How to read one of the four answers to a PUBLISH."""

    def read(body: Body, version: int) -> packets.Packet:
        packet_id = _packet_id(body, name)
        if body.is_over():
            return kind(packet_id)
        if version != MQTT_5:
            raise malformed(f"{name} is longer than its packet identifier")
        reason = body.byte()
        _check_reason(reason, reasons, name)
        options = {} if body.is_over() else read_properties(body, known.OF_ANSWER)
        body.end()
        return kind(packet_id, reason, **options)

    return read


def _subscribe(body: Body, version: int) -> packets.Subscribe:
    packet_id = _packet_id(body, "SUBSCRIBE")
    options = read_properties(body, known.OF_SUBSCRIBE) if version == MQTT_5 else {}
    identifier = options.get("identifier", 0)
    if body.is_over():
        raise protocol_error("SUBSCRIBE asks for no topic filter")
    subscriptions = []
    while not body.is_over():
        text = body.text()
        subscriptions.append(_subscription(text, body.byte(), identifier, version))
    return packets.Subscribe(packet_id, tuple(subscriptions), options.get("properties", ()))


def _suback(body: Body, version: int) -> packets.Suback:
    packet_id = _packet_id(body, "SUBACK")
    options = read_properties(body, known.OF_ANSWER) if version == MQTT_5 else {}
    reasons = tuple(body.rest())
    for reason in reasons:
        _check_reason(reason, SUBACK_REASONS, "SUBACK")
    return packets.Suback(packet_id, reasons, **options)


def _unsubscribe(body: Body, version: int) -> packets.Unsubscribe:
    packet_id = _packet_id(body, "UNSUBSCRIBE")
    options = read_properties(body, known.OF_UNSUBSCRIBE) if version == MQTT_5 else {}
    if body.is_over():
        raise protocol_error("UNSUBSCRIBE names no topic filter")
    texts = []
    while not body.is_over():
        texts.append(body.text())
    return packets.Unsubscribe(packet_id, tuple(texts), **options)


def _unsuback(body: Body, version: int) -> packets.Unsuback:
    packet_id = _packet_id(body, "UNSUBACK")
    if version != MQTT_5:
        body.end()
        return packets.Unsuback(packet_id, ())
    options = read_properties(body, known.OF_ANSWER)
    reasons = tuple(body.rest())
    for reason in reasons:
        _check_reason(reason, UNSUBACK_REASONS, "UNSUBACK")
    return packets.Unsuback(packet_id, reasons, **options)


def _pingreq(body: Body, _version: int) -> packets.Pingreq:
    body.end()
    return packets.Pingreq()


def _pingresp(body: Body, _version: int) -> packets.Pingresp:
    body.end()
    return packets.Pingresp()


def _disconnect(body: Body, version: int) -> packets.Disconnect:
    if version != MQTT_5:
        body.end()
        return packets.Disconnect()
    reason = packets.SUCCESS if body.is_over() else body.byte()
    _check_reason(reason, DISCONNECT_REASONS, "DISCONNECT")
    options = {} if body.is_over() else read_properties(body, known.OF_DISCONNECT)
    body.end()
    return packets.Disconnect(reason, **options)


def _auth(body: Body, _version: int) -> packets.Auth:
    if body.is_over():
        return packets.Auth()
    reason = body.byte()
    _check_reason(reason, AUTH_REASONS, "AUTH")
    options = read_properties(body, known.OF_AUTH)
    body.end()
    return packets.Auth(reason, **options)


def _check_connect_flags(flags: int, version: int) -> None:
    if flags & RESERVED:
        raise malformed("the reserved flag of CONNECT is set")
    will_qos = flags >> 3 & 3
    if will_qos == 3:
        raise malformed("the will has QoS 3")
    if not flags & WILL and (will_qos or flags & WILL_RETAIN):
        raise malformed("CONNECT has a QoS or retain flag for a will that is not there")
    if version != MQTT_5 and flags & PASSWORD and not flags & USER_NAME:
        raise malformed("CONNECT has a password and no user name")


def _check_client_id(client_id: str, flags: int, version: int) -> None:
    """What MQTT 3 asks of a client identifier; MQTT 5 lets the broker assign one at any time."""
    if not client_id and (version == MQTT_3_1 or not flags & CLEAN):
        problem = "a client without an identifier asks for a session that lasts"
    elif version == MQTT_3_1 and len(client_id) > CLIENT_ID_CHARACTERS_MAX_3_1:
        problem = "the client identifier is longer than MQTT 3.1 allows"
    else:
        return
    raise MqttError(packets.CLIENT_IDENTIFIER_NOT_VALID, problem)


def _read_will(body: Body, flags: int, version: int) -> packets.Will:
    options: dict[str, Any] = {}
    if version == MQTT_5:
        options = with_extras(read_properties(body, known.OF_WILL))
    topic = body.text()
    if not is_one_topic(topic):
        raise MqttError(packets.TOPIC_NAME_INVALID, "the topic of the will is no topic name")
    return packets.Will(topic, body.binary(), flags >> 3 & 3, bool(flags & WILL_RETAIN), **options)


def _subscription(text: str, options: int, identifier: int, version: int) -> packets.Subscription:
    qos = options & 3
    if qos == 3:
        raise protocol_error("a subscription asks for QoS 3")
    if options > 3 and version != MQTT_5:
        raise malformed("reserved bits of a subscription are set")
    if options >> 6:
        raise malformed("reserved bits of a subscription's options are set")
    handling = options >> 4 & 3
    if handling == 3:
        raise protocol_error("a subscription asks for retain handling 3")
    no_local = bool(options & 0x04)
    if no_local and text.startswith("$share/"):
        raise protocol_error("a shared subscription asks for no local messages")
    as_published = bool(options & 0x08)
    return packets.Subscription(text, qos, no_local, as_published, handling, identifier)


def _packet_id(body: Body, name: str) -> int:
    packet_id = body.two_bytes()
    if not packet_id:
        raise protocol_error(f"{name} has the packet identifier 0")
    return packet_id


def _check_reason(reason: int, reasons: frozenset[int], name: str) -> None:
    if reason not in reasons:
        raise protocol_error(f"{name} has the unknown reason code 0x{reason:02X}")


# By first byte, how to read each packet that both ends may take once the version is known.
READERS: dict[int, Read] = {
    0x20: _connack,
    0x40: _answer_reader(packets.Puback, "PUBACK", PUBLISH_REASONS),
    0x50: _answer_reader(packets.Pubrec, "PUBREC", PUBLISH_REASONS),
    0x62: _answer_reader(packets.Pubrel, "PUBREL", RELEASE_REASONS),
    0x70: _answer_reader(packets.Pubcomp, "PUBCOMP", RELEASE_REASONS),
    0x82: _subscribe,
    0x90: _suback,
    0xA2: _unsubscribe,
    0xB0: _unsuback,
    0xC0: _pingreq,
    0xD0: _pingresp,
    0xE0: _disconnect,
    0xF0: _auth,
}
