"""Bytes that are nearly MQTT: whole conversations with a few places changed, from a seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meshwright.model.publication import Extras
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.encoding import encode, encode_publish
from meshwright.protocol.mqtt.packets import MQTT_5, Publish, Subscription, Will

# Bytes that mean something in many places: lengths, flags, first bytes, property identifiers.
TELLING = bytes(
    (0, 1, 2, 3, 0x0B, 0x10, 0x23, 0x26, 0x30, 0x32, 0x34, 0x7F, 0x80, 0xC0, 0xE0, 0xFF)
)


def conversation(version: int, name: str, *, is_clean: bool = False) -> list[bytes]:
    """One of each packet that a client sends, CONNECT first."""
    is_5 = version == MQTT_5
    pairs = (("k", "v"), ("k", "w"))
    extras = Extras(1, "text", "reply", b"key")
    said: list[packets.Packet] = [
        packets.Connect(
            client_id=name,
            clean_start=is_clean,
            protocol_version=version,
            will=Will("will", b"gone", 1, properties=pairs, delay_s=5, extras=extras),
            user_name="user",
            password=b"secret",
            keep_alive_s=60,
            session_expiry_s=100,
            receive_maximum=10,
            topic_alias_maximum=4,
            properties=pairs,
        ),
        packets.Subscribe(1, (Subscription("a/+", 2, identifier=7), Subscription("$share/g/#"))),
        Publish("a/b", b"zero"),
        Publish("a/b", b"one", 1, packet_id=2, properties=pairs, extras=extras, expiry_s=9),
        Publish("a/c", b"two", 2, retain=True, packet_id=3),
        packets.Pubrel(3),
        packets.Puback(1),
        packets.Pubrec(1),
        packets.Pubcomp(1),
        packets.Pingreq(),
        packets.Unsubscribe(4, ("a/+", "nothing")),
        packets.Disconnect(packets.DISCONNECT_WITH_WILL, session_expiry_s=3),
    ]
    written = [encode(packet, version) for packet in said]
    if is_5:
        written.insert(3, encode_publish(Publish("a/b", b"alias"), MQTT_5, alias=1))
        written.insert(4, encode_publish(Publish("a/b"), MQTT_5, alias=1, has_topic=False))
    return written


def mutated(rng: np.random.Generator, written: list[bytes]) -> list[bytes]:
    """Most packets as they are, some changed, lost, repeated or in the wrong place."""
    found = []
    for raw in written:
        chance = rng.integers(10)
        if chance == 0:
            found.append(_changed(rng, raw, is_framed=True))
        elif chance == 1:
            found.append(_changed(rng, raw, is_framed=False))
        elif chance == 2:
            found.insert(int(rng.integers(len(found) + 1)), raw)
        elif chance > 3:
            found.append(raw)
    return found


def blocks(rng: np.random.Generator, stream: bytes) -> Iterator[bytes]:
    """A stream in pieces of any size."""
    at = 0
    while at < len(stream):
        size = int(rng.integers(1, 60))
        yield stream[at : at + size]
        at += size


def _changed(rng: np.random.Generator, raw: bytes, *, is_framed: bool) -> bytes:
    """A few bytes changed, put in or left out; framed, the length still fits."""
    changed = bytearray(raw)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(changed)))
        value = int(rng.integers(256)) if rng.integers(2) else TELLING[rng.integers(len(TELLING))]
        match int(rng.integers(4)):
            case 0:
                changed[at] = value
            case 1:
                changed[at] ^= 1 << int(rng.integers(8))
            case 2:
                changed.insert(at, value)
            case _ if len(changed) > 2:
                del changed[at]
    if is_framed and len(changed) < 129:
        changed[1] = len(changed) - 2
    return bytes(changed)
