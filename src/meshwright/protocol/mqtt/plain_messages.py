"""PUBLISH packets of QoS 0 that are nothing but a topic and a payload, many in one piece of bytes.

A client of MQTT 5 has one byte more in each: the length of the properties, which is 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshwright.protocol.mqtt.body import variable_integer

PUBLISH = 0x30
FIRST = b"\x30"
# What is between topic and payload in MQTT 3.1.1, and in MQTT 5.
NOTHING = b""
NO_PROPERTIES = b"\x00"
TOPIC_LENGTH_BYTES = 2


def run_stop(block: bytes, header: bytes | tuple[bytes, ...], step: int, at: int) -> int:
    """Where a run of packets ends that are step bytes each and begin alike, from a place on."""
    startswith = block.startswith
    while startswith(header, at):
        at += step
    return at if at <= len(block) else at - step


def long_size(block: bytes, at: int, bytes_max: int) -> tuple[int, int]:
    """The size in two or three bytes of a packet at a place, and where its content begins.

    0, 0 if the packet is too large, or its size not whole or written as nobody should.
    """
    if at + 6 > len(block):
        return 0, 0
    size = block[at + 1] & 0x7F | (block[at + 2] & 0x7F) << 7
    last = at + 2
    if block[last] >= 0x80:
        last += 1
        size |= block[last] << 14
    if not 0 < block[last] < 0x80 or last + 1 + size - at > bytes_max:
        return 0, 0
    return size, last + 1


def payloads(packets: bytes, *, is_5: bool = False) -> Iterator[bytes]:
    """The payloads of whole packets."""
    for _, payload_at, stop in _places(packets, is_5=is_5):
        yield packets[payload_at:stop]


def topics_and_sizes(packets: bytes, *, is_5: bool) -> Iterator[tuple[bytes, int]]:
    """The topic of each whole packet as bytes, and the size of its payload."""
    for topic_at, payload_at, stop in _places(packets, is_5=is_5):
        yield packets[topic_at + TOPIC_LENGTH_BYTES : payload_at - is_5], stop - payload_at


def payload_bytes(packets: bytes) -> int:
    """How long the payloads of whole packets are together."""
    return sum(stop - payload_at for _, payload_at, stop in _places(packets, is_5=False))


def converted(packets: bytes, *, is_5: bool) -> bytes:
    """The same packets for a client of the other version; is_5: those that come are MQTT 5."""
    return rewritten(packets, NOTHING if is_5 else NO_PROPERTIES, is_5=is_5)


def rewritten(packets: bytes, between: bytes, *, is_5: bool) -> bytes:
    """The same packets with something else between topic and payload."""
    parts: list[bytes] = []
    for topic_at, payload_at, stop in _places(packets, is_5=is_5):
        topic, payload = packets[topic_at : payload_at - is_5], packets[payload_at:stop]
        size = len(topic) + len(between) + len(payload)
        parts += (FIRST, variable_integer(size), topic, between, payload)
    return b"".join(parts)


def identifying(identifiers: tuple[int, ...]) -> bytes:
    """The properties of a message that say by which subscriptions a client gets it."""
    written = b"".join([b"\x0b" + variable_integer(one) for one in identifiers])
    return variable_integer(len(written)) + written


def _places(packets: bytes, *, is_5: bool) -> Iterator[tuple[int, int, int]]:
    """Where the topic, the payload and the end of each packet are."""
    at, end = 0, len(packets)
    while at < end:
        size, shift = 0, 0
        at += 1
        while True:
            byte = packets[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        stop = at + size
        topic_stop = at + TOPIC_LENGTH_BYTES + (packets[at] << 8 | packets[at + 1])
        yield at, topic_stop + is_5, stop
        at = stop
