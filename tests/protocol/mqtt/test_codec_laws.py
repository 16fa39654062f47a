"""What is written is read again, wherever the bytes are split, and written the same."""

from __future__ import annotations

import pytest
from generated_packets import MQTT_5, VERSIONS, connects, from_clients, from_servers
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.encoding import encode, encode_publish

by_version = pytest.mark.parametrize("version", VERSIONS)


def decoded(decoder: Decoder, *blocks: bytes) -> list[packets.Packet]:
    found = [packet for block in blocks for packet in decoder.take(block)]
    assert decoder.fault is None, decoder.fault
    return found


@by_version
@settings(max_examples=150)
@given(st.data())
def test_a_clients_packets_are_read_as_written_and_written_as_read(
    version: int, data: st.DataObject
) -> None:
    packet = data.draw(from_clients(version))
    raw = encode(packet, version)
    (read,) = decoded(Decoder(version), raw)
    assert read == packet
    assert encode(read, version) == raw


@by_version
@settings(max_examples=150)
@given(st.data())
def test_a_servers_packets_are_read_as_written_and_written_as_read(
    version: int, data: st.DataObject
) -> None:
    packet = data.draw(from_servers(version))
    raw = encode(packet, version)
    (read,) = decoded(Decoder(version, is_server=False), raw)
    assert read == packet
    assert encode(read, version) == raw


@by_version
@settings(max_examples=100)
@given(st.data())
def test_connect_is_read_as_written_and_tells_the_version(
    version: int, data: st.DataObject
) -> None:
    packet = data.draw(connects(version))
    decoder = Decoder()
    raw = encode(packet, version)
    assert decoded(decoder, raw) == [packet]
    assert decoder.version == version


@by_version
@settings(max_examples=30)
@given(st.data())
def test_a_stream_reads_the_same_at_every_split(version: int, data: st.DataObject) -> None:
    said = [data.draw(connects(version))]
    said += data.draw(st.lists(from_clients(version), min_size=1, max_size=4))
    stream = b"".join([encode(packet, version) for packet in said])
    for split in range(len(stream)):
        assert decoded(Decoder(), stream[:split], stream[split:]) == said
    assert decoded(Decoder(), *[stream[at : at + 1] for at in range(len(stream))]) == said


@by_version
def test_a_length_of_any_number_of_bytes_is_read_in_small_blocks(version: int) -> None:
    for size in (0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152):
        packet = packets.Publish("t", bytes(size), 1, packet_id=9)
        raw = encode(packet, version)
        blocks = [raw[at : at + 50_000] for at in range(0, len(raw), 50_000)]
        assert decoded(Decoder(version), raw[:3], raw[3:]) == [packet]
        assert decoded(Decoder(version), *blocks) == [packet]


def test_a_topic_alias_stands_for_the_topic_that_came_with_it_last() -> None:
    decoder = Decoder(MQTT_5, topic_alias_maximum=2)
    first, second = packets.Publish("a", b"1"), packets.Publish("b", b"2")
    stream = [
        encode_publish(first, MQTT_5, alias=1),
        encode_publish(second, MQTT_5, alias=2),
        encode_publish(first, MQTT_5, alias=1, has_topic=False),
        encode_publish(second, MQTT_5, alias=1),
        encode_publish(second, MQTT_5, alias=1, has_topic=False),
    ]
    assert decoded(decoder, *stream) == [first, second, first, second, second]


def test_what_came_before_a_fault_is_good_and_nothing_after_it_is_read() -> None:
    decoder = Decoder(MQTT_5)
    good = packets.Publish("a", b"1")
    raw = encode(good, MQTT_5)
    assert decoder.take(raw + raw + b"\x36\0" + raw) == [good, good]
    assert decoder.fault is not None
    assert decoder.fault.reason == packets.MALFORMED_PACKET
    assert decoder.take(raw) == []
