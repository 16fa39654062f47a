"""Brokers that never return, and some that do after all."""

from __future__ import annotations

from small_network import SmallNetwork

from meshwright.filters.filter import Filter
from meshwright.protocol.directory.directory import replicas_of
from meshwright.protocol.directory.entries import register_key
from meshwright.protocol.peers.removals import RemovalSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.interest import key_of

SETTINGS = BrokerSettings(removal=RemovalSettings(remove_after_us=10_000_000))
TOPIC = "a/topic"
LASTING = {"session_expiry_s": 600, "clean_start": False}


def network_of(broker_count: int) -> SmallNetwork:
    network = SmallNetwork(broker_count, SETTINGS)
    network.advance(1)
    return network


def rolls(network: SmallNetwork) -> list[dict[str, int]]:
    """Who is on the roll with which count, on each disk."""
    return [
        {str(key[1]): value for key, value in network.disks[name].items() if key[0] == "removals"}
        for name in network.names
        if name in network.machines
    ]


def keepers(network: SmallNetwork, key: str = key_of(Filter(TOPIC))) -> tuple[str, ...]:
    return replicas_of(key, network.overlay.brokers, 3)


def test_a_broker_that_stays_silent_is_removed_and_one_that_returns_in_time_is_not() -> None:
    network = network_of(5)
    network.crash("b1")
    network.advance(8)
    network.start("b1")
    network.advance(60)
    assert rolls(network) == [{}] * 5
    network.crash("b1")
    network.advance(60)
    assert rolls(network) == [{"b1": 1}] * 4


def test_the_few_do_not_remove_the_many() -> None:
    network = network_of(5)
    for one in ("b0", "b1"):
        for other in ("b2", "b3", "b4"):
            network.separate(one=one, other=other)
    network.advance(60)
    assert rolls(network) == [{}, {}] + [{"b0": 1, "b1": 1}] * 3


def test_a_pair_that_cannot_reach_each_other_does_not_remove_each_other() -> None:
    network = network_of(5)
    network.separate(one="b0", other="b1")
    network.advance(120)
    assert rolls(network) == [{}] * 5


def test_subscriptions_outlive_the_loss_of_two_of_their_keepers_in_a_row() -> None:
    network = network_of(8)
    first, second, third = keepers(network)
    here = next(name for name in network.names if name not in keepers(network))
    network.connect("client", here, **LASTING)
    assert network.subscribe("client", TOPIC)
    for gone in (first, second):
        network.crash(gone)
        network.advance(60)
    network.connect("publisher", third)
    assert network.publish("publisher", TOPIC, "x")
    network.advance(5)
    assert network.payloads("client") == ["x"]
    newcomer = next(name for name in network.machines if name not in {here, third})
    network.connect("late", newcomer)
    assert network.subscribe("late", TOPIC)


def test_retained_messages_outlive_the_loss_of_two_of_their_keepers_in_a_row() -> None:
    network = network_of(8)
    first, second, third = keepers(network, register_key(TOPIC))
    network.connect("publisher", third)
    assert network.publish("publisher", TOPIC, "kept", retain=True)
    for gone in (first, second):
        network.crash(gone)
        network.advance(60)
    for text in (TOPIC, "a/#"):
        network.connect("client", third)
        assert network.subscribe("client", text)
        network.advance(1)
        assert network.payloads("client") == ["kept"]
        network.drop("client")
        network.forget("client")


def test_a_session_that_went_with_its_broker_begins_anew() -> None:
    network = network_of(5)
    network.connect("client", "b1", **LASTING)
    network.subscribe("client", TOPIC)
    network.crash("b1")
    network.connect("client", "b2", **LASTING)
    network.advance(60)
    answer = network.connect("client", "b2", **LASTING)
    assert answer is not None
    assert not answer.session_present
    assert network.subscribe("client", TOPIC)


def test_a_session_given_to_a_broker_that_never_claimed_it_is_where_it_was() -> None:
    network = network_of(5)
    network.connect("client", "b1", **LASTING)
    network.subscribe("client", TOPIC)
    network.drop("client")
    network.stall_disk("b2")
    network.connect("client", "b2", **LASTING)
    network.crash("b2")
    network.connect("publisher", "b3")
    network.publish("publisher", TOPIC, "x")
    network.advance(60)
    answer = network.connect("client", "b4", **LASTING)
    network.advance(2)
    assert answer is not None
    assert network.payloads("client") == ["x"]


def test_a_publisher_that_left_a_broker_for_good_is_heard_again() -> None:
    network = network_of(5)
    network.connect("client", "b2")
    network.subscribe("client", TOPIC)
    network.connect("publisher", "b1", **LASTING)
    network.publish("publisher", TOPIC, "opens the topic")
    for name in network.names:
        if name not in {"b1", "b3"}:
            network.separate(one="b1", other=name)
    network.publish("publisher", TOPIC, "only b1 has it")
    network.connect("publisher", "b3", **LASTING)
    network.crash("b1")
    network.publish("publisher", TOPIC, "next")
    network.advance(60)
    assert network.payloads("client") == ["opens the topic", "next"]


def test_a_removed_broker_that_returns_begins_anew_and_still_delivers_what_it_took() -> None:
    network = network_of(5)
    network.connect("client", "b2", **LASTING)
    network.subscribe("client", TOPIC)
    network.connect("resident", "b1", **LASTING)
    network.subscribe("resident", TOPIC)
    network.connect("publisher", "b1")
    for name in network.names:
        if name != "b1":
            network.separate(one="b1", other=name)
    assert network.publish("publisher", TOPIC, "taken while cut off")
    network.advance(60)
    assert rolls(network)[0] == {"b1": 1}
    network.cut.clear()
    network.advance(20)
    assert rolls(network) == [{"b1": 2}] * 5
    assert network.payloads("client") == ["taken while cut off"]
    assert "resident" not in network.connected
    answer = network.connect("resident", "b1", **LASTING)
    assert answer is not None
    assert not answer.session_present
    assert network.subscribe("resident", TOPIC)
    network.connect("publisher", "b3")
    assert network.publish("publisher", TOPIC, "afterwards")
    network.advance(5)
    assert network.payloads("resident")[-1] == "afterwards"
    assert network.payloads("client")[-1] == "afterwards"


def test_a_client_is_served_though_an_origin_that_owes_its_session_is_cut_off() -> None:
    network = network_of(5)
    network.connect("client", "b1", **LASTING)
    network.subscribe("client", TOPIC)
    network.connect("publisher", "b3", **LASTING)
    network.publish("publisher", TOPIC, "first")
    network.advance(1)
    cut_off = [name for name in network.names if name != "b3"]
    for name in cut_off:
        network.separate(one="b3", other=name)
    network.publish("publisher", TOPIC, "second")
    network.connect("client", "b2", **LASTING)
    network.advance(4)
    assert network.connected["client"] == "b2"
    assert network.messages("client")[0].payload == b"first"
    network.connect("other", "b4")
    assert network.publish("other", TOPIC, "meanwhile")
    network.advance(8)
    assert network.payloads("client")[-1] == "meanwhile"
    network.cut.clear()
    network.advance(20)
    new = [one.payload.decode() for one in network.messages("client") if not one.is_duplicate]
    assert new == ["first", "meanwhile", "second"]


def test_a_broker_that_starts_again_says_anew_what_it_wants() -> None:
    """An origin that could not be told of a subscription owes what it took since."""
    network = network_of(5)
    network.connect("publisher", "b0")
    network.publish("publisher", TOPIC, "opens the topic", 0)
    for name in network.names:
        if name != "b0":
            network.separate(one="b0", other=name)
    network.advance(8)
    network.connect("client", "b2", **LASTING)
    assert network.subscribe("client", TOPIC)
    assert network.publish("publisher", TOPIC, "x")
    network.crash("b2")
    network.start("b2")
    network.cut.clear()
    network.advance(10)
    network.connect("client", "b2", **LASTING)
    network.advance(1)
    assert network.payloads("client") == ["x"]
