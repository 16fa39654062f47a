"""From bytes to packets: blocks that are split anywhere go in, values come out.

What a first byte may be, and what it means, is one table for each version and direction. A fault
ends the conversation: what came before it is good, nothing after it is read.
"""

from __future__ import annotations

from collections.abc import Callable

from meshwright.errors import MqttError
from meshwright.protocol.mqtt import contents, packets
from meshwright.protocol.mqtt.body import (
    VARIABLE_INTEGER_MAX,
    Body,
    ends_early,
    malformed,
    protocol_error,
)
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5, Publish
from meshwright.protocol.mqtt.topic_texts import TopicTexts

PACKET_BYTES_MAX = VARIABLE_INTEGER_MAX + 5
COUNT_MAX = 1 << 30


class Decoder:
    """The receiving end of one connection.

    version: None at a server before CONNECT came. fault: why the conversation is over.
    parts: what came of a packet that is not whole yet. topic_alias_maximum: how many aliases this
    end has allowed the other.
    """

    __slots__ = (
        "_aliases", "_bytes_max", "_is_server", "_missing", "_table", "fault", "parts",
        "topic_alias_maximum", "topics", "version",
    )  # fmt: skip

    def __init__(
        self,
        version: int | None = None,
        *,
        is_server: bool = True,
        packet_bytes_max: int = PACKET_BYTES_MAX,
        topic_alias_maximum: int = 0,
        topics: TopicTexts | None = None,
    ) -> None:
        self.version = version
        self.fault: MqttError | None = None
        self.topic_alias_maximum = topic_alias_maximum
        self.topics = TopicTexts() if topics is None else topics
        self._is_server = is_server
        self._bytes_max = packet_bytes_max
        self._aliases: dict[int, str] = {}
        self.parts: list[bytes] = []
        self._missing = 0
        self._table = _TABLES[version, is_server]

    def take(self, block: bytes) -> list[packets.Packet]:
        """The packets that are complete with this block, up to the first fault."""
        if self.fault is not None:
            return []
        found, _ = self.take_some(self.gather(block), 0)
        return found

    def gather(self, block: bytes) -> bytes:
        """A block with what came before it of a packet; empty until that packet is complete."""
        if not self.parts:
            return block
        # Joined once, when a packet is complete: a large one comes in many blocks.
        self.parts.append(block)
        self._missing -= len(block)
        if self._missing > 0:
            return b""
        block = b"".join(self.parts)
        self.parts = []
        return block

    def take_some(
        self, block: bytes, at: int, count_max: int = COUNT_MAX
    ) -> tuple[list[packets.Packet], int]:
        """Packets of a gathered block from a place on, and where the next one begins.

        Fewer than the most that are asked for: the rest of the block is kept for the next.
        """
        found: list[packets.Packet] = []
        end = len(block)
        bytes_max = self._bytes_max
        missing = 1
        try:
            while end - at >= 2:
                size = block[at + 1]
                content = at + 2
                if size >= 0x80:
                    size, content = self._long_size(block, at, end)
                    if not content:
                        break
                stop = content + size
                if stop - at > bytes_max:
                    raise _too_large(stop - at, bytes_max)
                first = block[at]
                if stop > end:
                    self._check_first(first)
                    missing = stop - end
                    break
                found.append(self._table[first](self, block, first, content, stop))
                at = stop
                if len(found) == count_max:
                    return found, at
        except MqttError as fault:
            self.fault = fault
            return found, end
        if at < end:
            self.parts = [block[at:]]
            self._missing = missing
        return found, end

    def _long_size(self, block: bytes, at: int, end: int) -> tuple[int, int]:
        """A remaining length of several bytes, and where it ends; 0, 0 if it is not whole."""
        size = 0
        for place in range(4):
            index = at + 1 + place
            if index >= end:
                return 0, 0
            byte = block[index]
            size |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if not byte and self.version == MQTT_5:
                    raise malformed("the remaining length takes more bytes than it needs")
                return size, index + 1
        raise malformed("the remaining length takes more than four bytes")

    def _check_first(self, first: int) -> None:
        """Refuse at once what will be refused, rather than wait for the rest of it."""
        if self._table[first] is _take_illegal:
            _take_illegal(self, b"", first, 0, 0)

    def take_connect(self, body: Body) -> packets.Connect:
        """A CONNECT, by which the version is known from now on."""
        version, is_supported, is_bridge = contents.read_level(body)
        self.version = version
        self._table = _TABLES[version, self._is_server]
        if not is_supported:
            raise MqttError(
                packets.UNSUPPORTED_PROTOCOL_VERSION, "CONNECT asks for an unknown version of MQTT"
            )
        return contents.read_connect(body, version, is_bridge=is_bridge)

    def take_publish(self, body: Body, raw_topic: bytes, first: int, packet_id: int) -> Publish:
        """A PUBLISH of MQTT 5 with properties, or without a topic."""
        start = body.at
        size = body.variable_integer()
        stop = body.at + size
        if stop > body.stop:
            raise ends_early()
        properties, expiry_s, identifiers, extras, alias = self.topics.properties[
            body.buffer[start:stop]
        ]
        if identifiers and self._is_server:
            raise protocol_error("a client's PUBLISH has a subscription identifier")
        if alias is not None:
            topic = self._by_alias(alias, raw_topic)
        elif raw_topic:
            topic = self.topics[raw_topic]
        else:
            raise protocol_error("a PUBLISH has neither a topic nor a topic alias")
        return Publish(
            topic,
            body.buffer[stop : body.stop],
            first >> 1 & 3,
            first & 1 == 1,
            packet_id,
            first & 8 == 8,
            properties,
            expiry_s,
            identifiers,
            extras,
        )

    def _by_alias(self, alias: int, raw_topic: bytes) -> str:
        if not 0 < alias <= self.topic_alias_maximum:
            problem = f"the topic alias {alias} is not from 1 to {self.topic_alias_maximum}"
            raise MqttError(packets.TOPIC_ALIAS_INVALID, problem)
        if raw_topic:
            topic = self._aliases[alias] = self.topics[raw_topic]
            return topic
        known = self._aliases.get(alias)
        if known is None:
            raise protocol_error(f"the topic alias {alias} stands for no topic yet")
        return known


Take = Callable[[Decoder, bytes, int, int, int], packets.Packet]


def _take_publish(decoder: Decoder, buffer: bytes, first: int, at: int, stop: int) -> Publish:
    """A PUBLISH of MQTT 3."""
    at += 2
    if at > stop:
        raise ends_early()
    topic_stop = at + (buffer[at - 2] << 8 | buffer[at - 1])
    if topic_stop > stop:
        raise ends_early()
    topic = decoder.topics[buffer[at:topic_stop]]
    if first < 0x32:
        return Publish(topic, buffer[topic_stop:stop], 0, first == 0x31)
    at = topic_stop + 2
    packet_id = _packet_id(buffer, topic_stop, stop)
    return Publish(
        topic, buffer[at:stop], first >> 1 & 3, first & 1 == 1, packet_id, first & 8 == 8
    )


def _take_publish_5(decoder: Decoder, buffer: bytes, first: int, at: int, stop: int) -> Publish:
    """A PUBLISH of MQTT 5; most have no properties."""
    at += 2
    if at > stop:
        raise ends_early()
    topic_stop = at + (buffer[at - 2] << 8 | buffer[at - 1])
    if topic_stop >= stop:
        raise ends_early()
    raw_topic = buffer[at:topic_stop]
    at = topic_stop
    packet_id = 0
    if first >= 0x32:
        packet_id = _packet_id(buffer, topic_stop, stop)
        at += 2
        if at >= stop:
            raise ends_early()
    if buffer[at] or not raw_topic:
        return decoder.take_publish(Body(buffer, at, stop), raw_topic, first, packet_id)
    topic = decoder.topics[raw_topic]
    if first < 0x32:
        return Publish(topic, buffer[at + 1 : stop], 0, first == 0x31)
    return Publish(
        topic, buffer[at + 1 : stop], first >> 1 & 3, first & 1 == 1, packet_id, first & 8 == 8
    )


def _packet_id(buffer: bytes, at: int, stop: int) -> int:
    if at + 2 > stop:
        raise ends_early()
    packet_id = buffer[at] << 8 | buffer[at + 1]
    if not packet_id:
        raise protocol_error("a PUBLISH has the packet identifier 0")
    return packet_id


def _take_connect(
    decoder: Decoder, buffer: bytes, _first: int, at: int, stop: int
) -> packets.Connect:
    return decoder.take_connect(Body(buffer, at, stop))


def _take_illegal(
    decoder: Decoder, _buffer: bytes, first: int, _at: int, _stop: int
) -> packets.Packet:
    """Say what is wrong with a first byte."""
    if decoder.version is None:
        raise protocol_error("the first packet is no CONNECT")
    kind = first & 0xF0
    if kind == PUBLISH:
        raise malformed("a PUBLISH has QoS 3, or is marked as a duplicate with QoS 0")
    if first in _MEANINGS and not (first == AUTH and decoder.version != MQTT_5):
        raise protocol_error(f"a packet of type {kind >> 4} is not expected here")
    raise malformed(f"no packet begins with the byte 0x{first:02X}")


def _content(read: contents.Read) -> Take:
    """Take a packet with what reads its content."""

    def take(decoder: Decoder, buffer: bytes, _first: int, at: int, stop: int) -> packets.Packet:
        assert decoder.version is not None
        return read(Body(buffer, at, stop), decoder.version)

    return take


def _answer(kind: Callable[[int], packets.Packet], read: contents.Read) -> Take:
    """Take an answer to a PUBLISH; most are only a packet identifier."""

    def take(decoder: Decoder, buffer: bytes, _first: int, at: int, stop: int) -> packets.Packet:
        if stop - at == 2:
            packet_id = buffer[at] << 8 | buffer[at + 1]
            if packet_id:
                return kind(packet_id)
        assert decoder.version is not None
        return read(Body(buffer, at, stop), decoder.version)

    return take


def _take_servers_disconnect(
    decoder: Decoder, buffer: bytes, first: int, at: int, stop: int
) -> packets.Packet:
    packet = _MEANINGS[DISCONNECT](decoder, buffer, first, at, stop)
    if isinstance(packet, packets.Disconnect) and packet.session_expiry_s is not None:
        raise protocol_error("a server's DISCONNECT changes the expiry of a session")
    return packet


CONNECT = 0x10
PUBLISH = 0x30
DISCONNECT = 0xE0
AUTH = 0xF0

_ANSWERS: dict[int, Callable[[int], packets.Packet]] = {
    0x40: packets.Puback,
    0x50: packets.Pubrec,
    0x62: packets.Pubrel,
    0x70: packets.Pubcomp,
}
_MEANINGS: dict[int, Take] = {
    CONNECT: _take_connect,
    **{first: _content(read) for first, read in contents.READERS.items()},
    **{first: _answer(kind, contents.READERS[first]) for first, kind in _ANSWERS.items()},
}
_FROM_CLIENT = (*_ANSWERS, 0x82, 0xA2, 0xC0, DISCONNECT)
_FROM_SERVER = (*_ANSWERS, 0x20, 0x90, 0xB0, 0xD0)
_PUBLISHES = (0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x3A, 0x3B, 0x3C, 0x3D)


def _table(version: int | None, *, is_server: bool) -> tuple[Take, ...]:
    """What each first byte means to one end."""
    table: list[Take] = [_take_illegal] * 256
    if version is None:
        table[CONNECT] = _take_connect
        return tuple(table)
    for first in _PUBLISHES:
        table[first] = _take_publish_5 if version == MQTT_5 else _take_publish
    for first in _FROM_CLIENT if is_server else _FROM_SERVER:
        table[first] = _MEANINGS[first]
        if version == MQTT_3_1:
            # MQTT 3.1 leaves the flags of these packets free, and has clients that use them.
            for flags in range(16):
                table[first & 0xF0 | flags] = _MEANINGS[first]
    if version == MQTT_5:
        table[AUTH] = _MEANINGS[AUTH]
        if not is_server:
            table[DISCONNECT] = _take_servers_disconnect
    return tuple(table)


def _too_large(size: int, bytes_max: int) -> MqttError:
    problem = f"a packet takes {size} bytes, of at most {bytes_max}"
    return MqttError(packets.PACKET_TOO_LARGE, problem)


_TABLES = {
    (version, is_server): _table(version, is_server=is_server)
    for version in (None, MQTT_3_1, MQTT_3_1_1, MQTT_5)
    for is_server in (True, False)
}
