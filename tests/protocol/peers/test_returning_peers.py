"""Peers that come back to more than a conversation lets be in flight at once."""

from __future__ import annotations

import msgspec
import pytest
from small_network import SECOND_US, SmallNetwork

from meshwright.protocol.mqtt import packets
from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.peers.removals import RemovalSettings
from meshwright.protocol.settings import BrokerSettings

COUNT = 300
FEW = BrokerSettings(conversations=ConversationSettings(window=20, spare_max=20))


def read(network: SmallNetwork, reader: str, count: int) -> tuple[list[str], float]:
    """The first so many messages that a reader gets and answers, and the seconds it took."""
    start_us = network.now_us
    payloads: list[str] = []
    while len(payloads) < count and network.now_us - start_us < 100 * SECOND_US:
        network.advance(0.1)
        while messages := network.messages(reader):
            payloads += network.payloads(reader)
            network.forget(reader)
            for one in messages:
                network.send(reader, packets.Puback(one.packet_id))
    return payloads, (network.now_us - start_us) / SECOND_US


@pytest.mark.parametrize("topic_count", [1, 30, COUNT])
@pytest.mark.parametrize("away", ["crashed", "separated"])
def test_a_broker_that_returns_to_many_owed_messages_keeps_its_conversation(
    topic_count: int, away: str
) -> None:
    network = SmallNetwork(2, settings=FEW)
    network.connect("reader", "b0", session_expiry_s=600)
    network.connect("writer", "b1")
    for number in range(topic_count):
        assert network.subscribe("reader", f"news/{number}")
        assert network.publish("writer", f"news/{number}", "first")
    network.answer_all("reader")
    network.advance(1)
    if away == "crashed":
        network.crash("b0")
    else:
        network.separate(one="b0", other="b1")
    network.advance(6)
    for number in range(COUNT):
        assert network.publish("writer", f"news/{number % topic_count}", str(number))
    network.forget("reader")
    network.closed.clear()
    if away == "crashed":
        network.start("b0")
        network.connect("reader", "b0", session_expiry_s=600)
    else:
        network.cut.clear()
    payloads, took_s = read(network, "reader", COUNT)
    network.advance(10)
    assert network.closed == []
    assert took_s < 3
    for one in range(topic_count):
        mine = [number for number in map(int, payloads) if number % topic_count == one]
        assert mine == list(range(one, COUNT, topic_count))


def test_a_broker_that_returns_to_many_changed_subscriptions_hears_of_all() -> None:
    network = SmallNetwork(3, settings=FEW)
    network.connect("reader", "b0")
    network.connect("writer", "b1")
    for number in range(COUNT):
        assert network.publish("writer", f"news/{number}")
    network.separate(one="b0", other="b1")
    network.advance(6)
    for number in range(COUNT):
        network.subscribe("reader", f"news/{number}")
    network.cut.clear()
    network.advance(5)
    assert network.closed == []
    for number in range(COUNT):
        assert network.publish("writer", f"news/{number}", str(number))
    payloads, took_s = read(network, "reader", COUNT)
    assert sorted(map(int, payloads)) == list(range(COUNT))
    assert took_s < 1


def test_a_broker_that_returns_is_asked_for_all_that_was_searched_meanwhile() -> None:
    network = SmallNetwork(2, settings=FEW)
    network.connect("writer", "b1")
    for number in range(COUNT):
        assert network.publish("writer", f"news/{number}/x", str(number), retain=True)
    network.connect("reader", "b0")
    network.separate(one="b0", other="b1")
    network.advance(6)
    for number in range(COUNT):
        network.subscribe("reader", f"news/{number}/+")
    network.cut.clear()
    payloads, _ = read(network, "reader", COUNT)
    network.advance(10)
    assert network.closed == []
    assert sorted(map(int, payloads)) == list(range(COUNT))


def test_brokers_that_find_each_other_hand_over_more_than_is_in_flight_at_once() -> None:
    settings = msgspec.structs.replace(FEW, removal=RemovalSettings(remove_after_us=10 * SECOND_US))
    network = SmallNetwork(4, settings=settings)
    network.connect("reader", "b0", session_expiry_s=600)
    for number in range(COUNT):
        assert network.subscribe("reader", f"news/{number}")
    network.crash("b3")
    network.advance(60)
    assert network.closed == []
    network.connect("writer", "b1")
    for number in range(COUNT):
        assert network.publish("writer", f"news/{number}", str(number))
    payloads, _ = read(network, "reader", COUNT)
    assert sorted(map(int, payloads)) == list(range(COUNT))
