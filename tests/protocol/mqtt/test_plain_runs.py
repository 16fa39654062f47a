"""A run of messages between brokers is worth the same as its messages one by one."""

from __future__ import annotations

from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.model.publication import Publication
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_3_1_1, MQTT_5, Publish, PublishRun
from meshwright.protocol.mqtt.plain_messages import converted, payload_bytes, payloads
from meshwright.protocol.mqtt.runs import single_publications

SIZES = (0, 1, 120, 128, 16_384, 2_097_152)


def a_run(topic: str, payloads_sent: list[bytes], version: int = MQTT_3_1_1) -> bytes:
    return b"".join(encode(Publish(topic, payload), version) for payload in payloads_sent)


def network_with_an_open_topic() -> SmallNetwork:
    network = SmallNetwork(3)
    network.connect("writer", "b0")
    for name in network.names:
        network.connect(f"reader {name}", name)
    return network


def got(network: SmallNetwork, client: str) -> list[bytes]:
    """All payloads that a client has got, those of runs included."""
    found: list[bytes] = []
    for one in network.got[client]:
        if isinstance(one, PublishRun):
            found += payloads(one.packets)
        elif isinstance(one, Publish):
            found.append(one.payload)
    return found


@pytest.mark.parametrize(
    "options", [{}, {"identifier": 3}, {"no_local": True}, {"retain_as_published": True}]
)
@pytest.mark.parametrize("text", ["t/1", "t/#", "$share/g1/t/1"])
def test_readers_elsewhere_get_the_messages_of_a_run_in_order(
    text: str, options: dict[str, Any]
) -> None:
    network = network_with_an_open_topic()
    network.subscribe("reader b1", text, 0, **options)
    network.subscribe("reader b2", "t/1", 1)
    network.publish("writer", "t/1", "first", 0)
    sent = [b"%d" % number for number in range(9)]
    network.send("writer", PublishRun("t/1", a_run("t/1", sent[:8]), 8))
    network.send("writer", PublishRun("t/1", a_run("t/1", sent[8:]), 1))
    network.publish("writer", "t/1", "last", 0)
    for reader in ("reader b1", "reader b2"):
        assert got(network, reader) == [b"first", *sent, b"last"]


def test_a_run_that_comes_back_is_not_handed_out_where_it_came_from() -> None:
    network = network_with_an_open_topic()
    network.subscribe("reader b0", "t", 0)
    network.subscribe("reader b1", "t", 0)
    network.publish("writer", "t", "first", 0)
    network.send("writer", PublishRun("t", a_run("t", [b"x", b"y"]), 2))
    assert got(network, "reader b0") == [b"first"]
    assert got(network, "reader b1") == [b"first", b"x", b"y"]


def test_the_messages_of_a_run_are_numbered_one_by_one() -> None:
    run = Publication("p", 5, "t", a_run("t", [b"x", b"", b"z"]), count=3)
    assert list(single_publications(run)) == [
        Publication("p", 5, "t", b"x"),
        Publication("p", 6, "t"),
        Publication("p", 7, "t", b"z"),
    ]


def test_plain_messages_of_one_version_become_those_of_the_other() -> None:
    sent = [b"x" * size for size in SIZES]
    for topic in ("t", "ö" * 40):
        three, five = a_run(topic, sent), a_run(topic, sent, MQTT_5)
        assert converted(three, is_5=False) == five
        assert converted(five, is_5=True) == three
        assert list(payloads(three)) == list(payloads(five, is_5=True)) == sent
        assert payload_bytes(three) == sum(SIZES)
