"""A topic whose receivers are joined by fewer than k ways is named."""

from __future__ import annotations

from collections import Counter

from small_network import SmallNetwork

from meshwright.protocol.reconfiguration.topic_watch import TopicCohesion


def told(network: SmallNetwork) -> list[TopicCohesion]:
    return [one for one in network.reports if isinstance(one, TopicCohesion)]


def with_receivers(network: SmallNetwork, *brokers: str) -> SmallNetwork:
    for broker in brokers:
        network.connect(f"at {broker}", broker, session_expiry_s=60)
        network.subscribe(f"at {broker}", "t")
    network.connect("writer", "b0")
    network.publish("writer", "t", "1")
    network.advance(2)
    return network


def test_a_topic_that_lost_one_of_k_ways_is_named_until_it_has_k_again() -> None:
    network = with_receivers(SmallNetwork(4, design="cycle"), "b0", "b1", "b2", "b3")
    assert told(network) == []
    network.crash("b2")
    network.advance(8)
    alarm = TopicCohesion(topic="t", held=1, k=2, receivers=3)
    assert told(network) == [alarm]
    assert network.machines["b0"].view().weak_topics == (alarm,)
    network.start("b2")
    network.advance(10)
    assert told(network)[1:] == [TopicCohesion(topic="t", held=2, k=2, receivers=4)]
    assert network.machines["b0"].view().weak_topics == ()


def test_receivers_that_only_others_join_are_named() -> None:
    network = SmallNetwork(4, design="gm")
    degrees = Counter(end for link in network.overlay.links for end in link)
    leaves = [name for name in network.names if degrees[name] == 1]
    with_receivers(network, *leaves[:2])
    assert [(one.topic, one.held, one.k) for one in told(network)] == [("t", 0, 1)]


def test_other_designs_promise_no_k() -> None:
    network = with_receivers(SmallNetwork(4, design="chord"), "b0", "b2")
    network.crash("b1")
    network.advance(8)
    assert told(network) == []
