"""What a roaming client of Meshwright says in CONNECT, as user properties of MQTT 5."""

from __future__ import annotations

import msgspec

from meshwright.errors import MqttError
from meshwright.protocol.mqtt.packets import IMPLEMENTATION_SPECIFIC_ERROR, Connect, Subscription

PREVIOUS_BROKER = "meshwright-previous-broker"
CARRIED = "meshwright-carried"

_subscriptions = msgspec.json.Decoder(tuple[Subscription, ...])


def told(packet: Connect) -> Connect:
    """A CONNECT whose user properties tell where the client was and what it brings along."""
    properties = list(packet.properties)
    if packet.previous_broker is not None:
        properties.append((PREVIOUS_BROKER, packet.previous_broker))
    if packet.carried is not None:
        properties.append((CARRIED, "[]"))
        # One by one: a property holds at most 65,535 bytes.
        properties += [(CARRIED, msgspec.json.encode((one,)).decode()) for one in packet.carried]
    return msgspec.structs.replace(packet, properties=tuple(properties))


def understood(packet: Connect) -> Connect:
    """The same, read again from the user properties."""
    previous_broker = None
    carried: tuple[Subscription, ...] | None = None
    for name, value in packet.properties:
        if name == PREVIOUS_BROKER:
            previous_broker = value
        elif name == CARRIED:
            carried = (*(carried or ()), *_read(value))
    return msgspec.structs.replace(packet, previous_broker=previous_broker, carried=carried)


def _read(value: str) -> tuple[Subscription, ...]:
    try:
        return _subscriptions.decode(value)
    except msgspec.MsgspecError as error:
        problem = f"the user property {CARRIED} is no list of subscriptions"
        raise MqttError(IMPLEMENTATION_SPECIFIC_ERROR, problem) from error
