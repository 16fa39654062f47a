"""Runs of QoS 1 messages that differ in their packet identifiers and payloads only.

They are of one publisher, one topic and one length, so whatever is done to each is done to a column
of bytes of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from meshwright.model.publication import Publication
from meshwright.protocol.mqtt.body import variable_integer
from meshwright.protocol.mqtt.packets import Qos1Run

PACKET_ID_MAX = 65_535
PUBACK_HEAD = b"\x40\x02"
PUBACK = PUBACK_HEAD + b"\x00\x00"
PUBACK_BYTES = 4
NO_PACKET_ID = b"\x00\x00"
QOS1_HEAD_BYTE = 0x32
PLAIN = 0x30
# Packet identifiers by their bytes.
HIGH_BYTES = bytes(number >> 8 for number in range(PACKET_ID_MAX + 1))
LOW_BYTES = bytes(number & 0xFF for number in range(PACKET_ID_MAX + 1))


class SentRun(msgspec.Struct, frozen=True, gc=False):
    """A run as one client was sent it: its first packet identifier, and index in the queue."""

    run: Qos1Run
    publisher: str
    sequence: int
    packet_id: int
    index: int

    def publication(self, packet_id: int) -> Publication:
        """The message that was sent with a packet identifier."""
        index = packet_id - self.packet_id
        payload = payload_of(self.run, index)
        return Publication(self.publisher, self.sequence + index, self.run.topic, payload, 1)


def publications(run: Qos1Run, publisher: str, sequence: int) -> Iterator[Publication]:
    """The messages of a run one by one, the first with a sequence number."""
    for index in range(run.count):
        payload = payload_of(run, index)
        yield Publication(publisher, sequence + index, run.topic, payload, 1)


def payload_of(run: Qos1Run, index: int) -> bytes:
    """What one message of a run says."""
    step = len(run.packets) // run.count
    return run.packets[index * step + payload_at(run) : (index + 1) * step]


def payload_at(run: Qos1Run) -> int:
    """Where the payload is in each packet."""
    return run.id_at + 2 + run.is_5


def payload_size(run: Qos1Run) -> int:
    """How long the payload of each message is."""
    return len(run.packets) // run.count - payload_at(run)


def payload_sum(run: Qos1Run) -> int:
    """How long all payloads are together."""
    return len(run.packets) - run.count * payload_at(run)


def packet_ids(run: Qos1Run) -> bytes:
    """The publisher's packet identifiers, two bytes each."""
    return ids_at(run.packets, run.id_at, len(run.packets) // run.count)


def ids_at(packets: bytes, id_at: int, step: int) -> bytes:
    """The packet identifiers of packets that are step bytes each and have theirs at one place."""
    if len(packets) == step:
        return packets[id_at : id_at + 2]
    ids = bytearray(2 * (len(packets) // step))
    ids[::2] = packets[id_at::step]
    ids[1::2] = packets[id_at + 1 :: step]
    return bytes(ids)


def has_zero(ids: bytes) -> bool:
    """True if one of packet identifiers of two bytes each is none."""
    # Not "in", which takes bytes for a number first, and fails inside.
    return ids.find(NO_PACKET_ID) >= 0 and 0 in numbers(ids)


def pubacks(ids: bytes) -> bytes:
    """Answers that need no reason for packet identifiers of two bytes each."""
    if len(ids) == 2:
        return PUBACK_HEAD + ids
    answers = bytearray(PUBACK * (len(ids) // 2))
    answers[2::PUBACK_BYTES] = ids[::2]
    answers[3::PUBACK_BYTES] = ids[1::2]
    return bytes(answers)


def numbers(ids: bytes | bytearray) -> list[int]:
    """Packet identifiers of two bytes each as numbers."""
    if len(ids) == 2:
        return [ids[0] << 8 | ids[1]]
    return [high << 8 | low for high, low in zip(ids[::2], ids[1::2], strict=True)]


def packed(ids: list[int]) -> bytes:
    """Packet identifiers as two bytes each."""
    return b"".join([number.to_bytes(2) for number in ids])


def spliced(run: Qos1Run, packet_id: int, *, is_5: bool) -> bytes:
    """The packets of a run for a client of a version, with packet identifiers from one on."""
    if run.count == 1 and is_5 == run.is_5:
        packets, id_at = run.packets, run.id_at
        return packets[:id_at] + packet_id.to_bytes(2) + packets[id_at + 2 :]
    stop = packet_id + run.count
    if is_5 != run.is_5:
        extra = b"\x00" if is_5 else b""
        head = _head(run, QOS1_HEAD_BYTE, 2 + len(extra))
        ids = (number.to_bytes(2) for number in range(packet_id, stop))
        return b"".join([head + one + extra + payload for one, payload in _zipped(run, ids)])
    step = len(run.packets) // run.count
    together = bytearray(run.packets)
    together[run.id_at :: step] = HIGH_BYTES[packet_id:stop]
    together[run.id_at + 1 :: step] = LOW_BYTES[packet_id:stop]
    return bytes(together)


def qos0(run: Qos1Run) -> bytes:
    """The packets of a run as plain messages of MQTT 3.1.1, for a client that asks for QoS 0."""
    head = _head(run, PLAIN, 0)
    return b"".join([head + payload_of(run, index) for index in range(run.count)])


def _zipped(run: Qos1Run, ids: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for index, one in enumerate(ids):
        yield one, payload_of(run, index)


def _head(run: Qos1Run, first: int, extra: int) -> bytes:
    """What each packet begins with if it has so many bytes between topic and payload."""
    topic = run.topic.encode()
    size = variable_integer(2 + len(topic) + extra + payload_size(run))
    return first.to_bytes(1) + size + len(topic).to_bytes(2) + topic
