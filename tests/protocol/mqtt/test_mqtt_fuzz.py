"""Bytes that are nearly MQTT harm nobody but their sender."""

from __future__ import annotations

import numpy as np
import pytest
from mqtt_clients import Server
from mqtt_mutations import blocks, conversation, mutated

from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5
from meshwright.protocol.mqtt.terms import Terms

VERSIONS = (MQTT_3_1, MQTT_3_1_1, MQTT_5)
PACKET_BYTES_MAX = 2_000


@pytest.mark.parametrize("version", VERSIONS)
def test_the_decoder_reads_or_refuses_whatever_comes(version: int) -> None:
    rng = np.random.default_rng(version)
    fault_count = 0
    for _ in range(1_500):
        stream = b"".join(mutated(rng, conversation(version, "c")))
        decoder = Decoder(packet_bytes_max=PACKET_BYTES_MAX, topic_alias_maximum=2)
        read = [one for block in blocks(rng, stream) for one in decoder.take(block)]
        whole = Decoder(packet_bytes_max=PACKET_BYTES_MAX, topic_alias_maximum=2)
        assert whole.take(stream) == read
        assert str(whole.fault) == str(decoder.fault)
        assert sum(map(len, decoder.parts)) <= PACKET_BYTES_MAX + 60
        fault_count += decoder.fault is not None
    assert fault_count > 500


def test_noise_is_refused_at_once_and_never_kept() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        decoder = Decoder(packet_bytes_max=PACKET_BYTES_MAX)
        noise = rng.bytes(300)
        assert decoder.take(noise) == [] or decoder.version is not None
        assert sum(map(len, decoder.parts)) <= PACKET_BYTES_MAX


@pytest.mark.parametrize("seed", range(3))
def test_a_broker_survives_its_clients_and_serves_the_good_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    server = Server(Terms(packet_bytes_max=PACKET_BYTES_MAX, receive_maximum=5))
    good = server.client()
    good.connect("good", session_expiry_s=1_000)
    good.subscribe("good/#", 1)
    for number in range(60):
        version = VERSIONS[number % 3]
        bad = server.client(version, is_deaf=True)
        stream = b"".join(mutated(rng, conversation(version, f"bad{number % 4}")))
        for block in blocks(rng, stream):
            server.take(bad, block)
        assert bad.is_closed or bad.connection.fault is None
        if not bad.is_closed and rng.integers(2):
            server.cause(bad.connection.lost())
        server.clients.remove(bad)
        server.later(1)
    for packet_id in range(1, 4):
        assert packets.Puback(packet_id) in good.publish("good/topic", b"x", 1, packet_id)
    mine = [one for one in good.messages() if one.topic == "good/topic"]
    assert [one.qos for one in mine] == [1, 1, 1]
    assert not good.is_closed
