"""The properties of MQTT 5: which there are, in which packets, and how they are read and written.

A property is named as the field of the packet's value that holds it. A property that is absent has
the field's default, which is the standard's; so a field with its default is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from meshwright.model.publication import Extras
from meshwright.protocol.mqtt import body as wire
from meshwright.protocol.mqtt.body import Body, malformed, protocol_error


class Property(NamedTuple):
    """How one property stands on the wire."""

    name: str
    read: Callable[[Body], Any]
    write: Callable[[Any], bytes]
    is_repeated: bool = False


class SubscribeIdentifier(msgspec.Struct, frozen=True):
    """The one property of SUBSCRIBE that its value has elsewhere: in each subscription."""

    identifier: int = 0


Allowed = dict[int, Property]


def allowed_in(*identifiers: int) -> Allowed:
    """The properties of a packet; any packet that has properties may have user properties."""
    return {identifier: PROPERTIES[identifier] for identifier in (*identifiers, USER_PROPERTY)}


def read_properties(body: Body, allowed: Allowed) -> dict[str, Any]:
    """The properties that stand at this place of a body, by name."""
    stop = body.variable_integer() + body.at
    if stop > body.stop:
        raise wire.ends_early()
    found: dict[str, Any] = {}
    repeated: dict[str, list[Any]] = {}
    while body.at < stop:
        identifier = body.variable_integer()
        known = allowed.get(identifier)
        if known is None:
            raise malformed(f"property 0x{identifier:02X} is not allowed in this packet")
        value = known.read(body)
        name = known.name
        if known.is_repeated:
            repeated.setdefault(name, []).append(value)
        elif name in found:
            raise protocol_error(f"property 0x{identifier:02X} is given twice")
        else:
            found[name] = value
    if body.at != stop:
        raise malformed("a property is longer than the properties together")
    for name, values in repeated.items():
        found[name] = tuple(values)
    return found


def with_extras(found: dict[str, Any]) -> dict[str, Any]:
    """The properties of a message, those that are rarely used gathered in one."""
    rare = {name: found.pop(name) for name in EXTRAS if name in found}
    if rare:
        topic = rare.get("response_topic")
        if topic is not None and not is_one_topic(topic):
            raise protocol_error("the response topic is no topic name")
        found["extras"] = Extras(**rare)
    return found


def is_one_topic(topic: str) -> bool:
    """True if a text that is well-formed names a topic, and no wildcard."""
    return bool(topic) and "+" not in topic and "#" not in topic


def written_properties(allowed: Allowed, *values: msgspec.Struct | None) -> bytes:
    """All properties that these values have and that are not as they are when absent."""
    written = b"".join(
        [part for value in values if value is not None for part in written_parts(allowed, value)]
    )
    return wire.variable_integer(len(written)) + written


def written_parts(allowed: Allowed, value: msgspec.Struct) -> Iterator[bytes]:
    """The same, one by one and without their length."""
    for name, default in _defaults(type(value)).items():
        one = getattr(value, name)
        known = allowed.get(IDENTIFIERS[name])
        if one != default and known is not None:
            mark = wire.byte(IDENTIFIERS[name])
            for each in one if known.is_repeated else (one,):
                yield mark + known.write(each)


def _defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields of a value that are properties, with their defaults."""
    defaults = _DEFAULTS.get(kind)
    if defaults is None:
        defaults = _DEFAULTS[kind] = {
            field.name: field.default
            for field in msgspec.structs.fields(kind)
            if field.name in IDENTIFIERS
        }
    return defaults


_DEFAULTS: dict[type[msgspec.Struct], dict[str, Any]] = {}


def _number(name: str) -> Property:
    return Property(name, Body.four_bytes, wire.four_bytes)


def _short(name: str) -> Property:
    return Property(name, Body.two_bytes, wire.two_bytes)


def _text(name: str) -> Property:
    return Property(name, Body.text, wire.text)


def _binary(name: str) -> Property:
    return Property(name, Body.binary, wire.binary)


def _bit(name: str, kind: Callable[[int], int] = bool) -> Property:
    """A byte that must be 0 or 1: all properties of one byte are of this kind."""

    def read(body: Body) -> int:
        value = body.byte()
        if value > 1:
            raise protocol_error(f"the property {name} is {value}, and must be 0 or 1")
        return kind(value)

    return Property(name, read, wire.byte)


def _positive(known: Property) -> Property:
    """A number for which 0 is an error."""

    def read(body: Body) -> int:
        value: int = known.read(body)
        if not value:
            raise protocol_error(f"the property {known.name} is 0")
        return value

    return known._replace(read=read)


def _identifier(name: str, *, is_repeated: bool) -> Property:
    known = Property(name, Body.variable_integer, wire.variable_integer, is_repeated)
    return _positive(known)


USER_PROPERTY = 0x26
SUBSCRIPTION_IDENTIFIER = 0x0B
TOPIC_ALIAS = 0x23

PROPERTIES: Allowed = {
    0x01: _bit("payload_format", int),
    0x02: _number("expiry_s"),
    0x03: _text("content_type"),
    0x08: _text("response_topic"),
    0x09: _binary("correlation"),
    SUBSCRIPTION_IDENTIFIER: _identifier("subscription_ids", is_repeated=True),
    0x11: _number("session_expiry_s"),
    0x12: _text("assigned_client_id"),
    0x13: _short("server_keep_alive_s"),
    0x15: _text("authentication_method"),
    0x16: _binary("authentication_data"),
    0x17: _bit("request_problem_information"),
    0x18: _number("delay_s"),
    0x19: _bit("request_response_information"),
    0x1A: _text("response_information"),
    0x1C: _text("server_reference"),
    0x1F: _text("reason_text"),
    0x21: _positive(_short("receive_maximum")),
    0x22: _short("topic_alias_maximum"),
    TOPIC_ALIAS: _short("topic_alias"),
    0x24: _bit("maximum_qos", int),
    0x25: _bit("retain_available"),
    USER_PROPERTY: Property("properties", Body.pair, wire.pair, is_repeated=True),
    0x27: _positive(_number("maximum_packet_size")),
    0x28: _bit("wildcard_subscriptions_available"),
    0x29: _bit("subscription_identifiers_available"),
    0x2A: _bit("shared_subscriptions_available"),
}
IDENTIFIERS = {known.name: identifier for identifier, known in PROPERTIES.items()}
IDENTIFIERS["identifier"] = SUBSCRIPTION_IDENTIFIER

EXTRAS = ("payload_format", "content_type", "response_topic", "correlation")
OF_MESSAGE = (0x01, 0x02, 0x03, 0x08, 0x09)
OF_WILL = allowed_in(*OF_MESSAGE, 0x18)
OF_PUBLISH = allowed_in(*OF_MESSAGE, SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS)
OF_CONNECT = allowed_in(0x11, 0x15, 0x16, 0x17, 0x19, 0x21, 0x22, 0x27)
OF_CONNACK = allowed_in(
    0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x1F, 0x21, 0x22, 0x24, 0x25, 0x27, 0x28, 0x29, 0x2A
)  # fmt: skip
OF_ANSWER = allowed_in(0x1F)
OF_SUBSCRIBE = {
    **allowed_in(),
    SUBSCRIPTION_IDENTIFIER: _identifier("identifier", is_repeated=False),
}
OF_UNSUBSCRIBE = allowed_in()
OF_DISCONNECT = allowed_in(0x11, 0x1C, 0x1F)
OF_AUTH = allowed_in(0x15, 0x16, 0x1F)
