"""Questions to peers, and what becomes of them when there are more than may be asked at once."""

from __future__ import annotations

from small_network import SmallNetwork

from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.settings import BrokerSettings


def test_brokers_that_have_more_to_ask_than_a_conversation_lets_wait_answer_each_other() -> None:
    conversations = ConversationSettings(window=20, spare_max=20)
    network = SmallNetwork(2, settings=BrokerSettings(conversations=conversations))
    network.separate(one="b0", other="b1")
    for number in range(40):
        network.connect(f"one{number}", "b0")
        network.connect(f"other{number}", "b1")
    network.advance(6)
    network.cut.clear()
    network.advance(5)
    network.connect("reader", "b0")
    network.subscribe("reader", "news")
    network.connect("writer", "b1")
    network.publish("writer", "news", "x", 1)
    network.advance(1)
    assert network.payloads("reader") == ["x"]
