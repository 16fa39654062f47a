"""The codec beside another one, written in another language by others: mqtt5."""

from __future__ import annotations

from typing import Any

import mqtt5
import msgspec
from generated_packets import MQTT_5, connects, from_clients, from_servers
from hypothesis import given, settings

from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.encoding import encode


def through_the_other(packet: packets.Packet) -> bytes:
    """Written by us, read and written by the other codec."""
    raw = encode(packet, MQTT_5)
    read, size = mqtt5.read(memoryview(raw))
    assert size == len(raw)
    return read.write()


def is_known_to_both(packet: packets.Packet) -> bool:
    """False for AUTH without content, and for a reason that DISCONNECT has only in section 2.4."""
    is_short = packet == packets.Auth()
    bad_method = packets.BAD_AUTHENTICATION_METHOD
    return not is_short and not (
        isinstance(packet, packets.Disconnect) and packet.reason == bad_method
    )


def with_format(packet: Any) -> Any:
    """The other codec takes an absent payload format for 0, which means the same."""
    extras = packet.extras
    if extras is None or extras.payload_format != 0:
        return packet
    plain = msgspec.structs.replace(extras, payload_format=None)
    is_empty = plain == type(plain)()
    return msgspec.structs.replace(packet, extras=None if is_empty else plain)


def alike(packet: packets.Packet) -> packets.Packet:
    """A packet as it is after it went through the other codec."""
    if isinstance(packet, packets.Publish):
        return with_format(packet)
    if isinstance(packet, packets.Connect) and packet.will is not None:
        return msgspec.structs.replace(packet, will=with_format(packet.will))
    return packet


@settings(max_examples=300)
@given(from_clients(MQTT_5).filter(is_known_to_both))
def test_a_clients_packets_go_unchanged_through_another_codec(packet: packets.Packet) -> None:
    decoder = Decoder(MQTT_5)
    assert decoder.take(through_the_other(packet)) == [alike(packet)], decoder.fault


@settings(max_examples=300)
@given(from_servers(MQTT_5).filter(is_known_to_both))
def test_a_servers_packets_go_unchanged_through_another_codec(packet: packets.Packet) -> None:
    decoder = Decoder(MQTT_5, is_server=False)
    assert decoder.take(through_the_other(packet)) == [alike(packet)], decoder.fault


@settings(max_examples=150)
@given(connects(MQTT_5))
def test_connect_goes_unchanged_through_another_codec(packet: packets.Connect) -> None:
    decoder = Decoder()
    assert decoder.take(through_the_other(packet)) == [alike(packet)], decoder.fault
