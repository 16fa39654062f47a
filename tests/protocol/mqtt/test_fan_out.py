"""One message for many connections has the bytes that each would have got alone."""

from __future__ import annotations

import msgspec
from generated_packets import VERSIONS, publishes
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.protocol.mqtt.encoding import encode, encode_publish
from meshwright.protocol.mqtt.fan_out import FanOut, encode_for_many
from meshwright.protocol.mqtt.packets import MQTT_5, Publish

publications = st.lists(publishes(MQTT_5, is_server=True), min_size=1, max_size=3)
ways = st.lists(
    st.tuples(
        st.sampled_from(VERSIONS),
        st.integers(0, 2),
        st.booleans(),
        st.integers(1, 65_535),
        st.sampled_from([(), (1,), (2, 300)]),
        st.sampled_from([(0, True), (3, True), (3, False)]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150)
@given(publications, ways)
def test_shared_bytes_are_those_of_each_alone(messages: list[Publish], ways: list[tuple]) -> None:
    fan_out = FanOut()
    for message in [*messages, *messages]:
        for version, qos, retain, packet_id, identifiers, named in ways:
            packet = msgspec.structs.replace(
                message, qos=qos, retain=retain, packet_id=packet_id, subscription_ids=identifiers
            )
            alias, has_topic = named if version == MQTT_5 else (0, True)
            head, tail = fan_out.cut(packet, version, alias=alias, has_topic=has_topic)
            shared = head + (packet_id.to_bytes(2) if qos else b"") + tail
            alone = encode_publish(packet, version, alias=alias, has_topic=has_topic)
            assert shared == alone


@given(publishes(MQTT_5, is_server=True), st.lists(st.integers(1, 65_535), max_size=5))
def test_one_message_for_many_sessions_differs_in_its_packet_identifier(
    message: Publish, packet_ids: list[int]
) -> None:
    packet = msgspec.structs.replace(message, qos=1)
    for version in VERSIONS:
        assert encode_for_many(packet, version, packet_ids) == [
            encode(msgspec.structs.replace(packet, packet_id=one), version) for one in packet_ids
        ]
