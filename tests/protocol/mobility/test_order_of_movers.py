"""What a client publishes keeps its order while it moves, whoever is new and whatever is slow."""

from __future__ import annotations

from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.model.publication import StreamPoint
from meshwright.protocol.directory.directory import replicas_of
from meshwright.protocol.directory.entries import claim_key, register_key
from meshwright.protocol.mqtt import packets
from meshwright.protocol.streams.messages import Repair

HIGH = (("value", "9"),)
LOW = (("value", "1"),)


def network_of(broker_count: int, **brokers: str) -> SmallNetwork:
    """Clients at their brokers; what is published on "t" goes by way of b1, straight from most."""
    network = SmallNetwork(broker_count)
    for client, broker in brokers.items():
        network.connect(client, broker, session_expiry_s=60)
    return network


def move(network: SmallNetwork, client: str, *, source: str, target: str) -> None:
    network.drop(client)
    network.connect(client, target, session_expiry_s=60, previous_broker=source)
    network.advance(0.3)


def points_of(network: SmallNetwork, client: str, broker: str) -> dict[str, Any]:
    """What goes before all that a client publishes, as its broker has it on disk."""
    return dict(network.disks[broker]["moved", client][1])


def test_a_copy_that_nobody_was_owed_does_not_come_after_what_its_publisher_sent_since() -> None:
    network = network_of(3, writer="b0", early="b1", late="b1")
    network.subscribe("early", "$where/value>5/t")
    network.publish("writer", "t", "first", properties=HIGH)
    network.advance(2)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "for nobody", properties=LOW)
    network.advance(1.2)
    move(network, "writer", source="b0", target="b2")
    network.subscribe("late", "t")
    network.publish("writer", "t", "moved", properties=HIGH)
    network.release(source="b0", target="b1")
    network.advance(5)
    assert network.payloads("early") == ["first", "moved"]
    assert network.payloads("late") == ["moved"]


def test_a_copy_on_its_way_to_where_a_subscriber_goes_does_not_come_after_newer_ones() -> None:
    network = network_of(5, writer="b0", early="b3", late="b2")
    network.subscribe("early", "t")
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "slow")
    network.advance(3)
    assert network.payloads("early") == ["slow"]
    move(network, "writer", source="b0", target="b2")
    network.subscribe("late", "t")
    network.publish("writer", "t", "moved")
    network.answer_all("late")
    move(network, "late", source="b2", target="b1")
    network.release(source="b0", target="b1")
    network.advance(5)
    network.publish("writer", "t", "last")
    assert network.connected["late"] == "b1"
    assert network.payloads("late") == ["moved", "last"]


@pytest.mark.parametrize("before", ["t", "+"])
@pytest.mark.parametrize("since", ["t", "+"])
def test_what_was_sent_again_for_who_has_left_does_not_come_to_who_joined_since(
    before: str, since: str
) -> None:
    network = network_of(5, writer="b0", early="b1", late="b1")
    network.subscribe("early", before)
    network.publish("writer", "t", "first")
    network.advance(2)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "stuck")
    network.advance(3.2)
    assert ("b0", "b1", Repair) in [(*ends, type(body)) for *ends, body in network.sent]
    network.unsubscribe("early", before)
    move(network, "writer", source="b0", target="b2")
    assert points_of(network, "writer", "b2") == {}
    network.subscribe("late", since)
    network.publish("writer", "t", "moved")
    network.release(source="b0", target="b1")
    network.advance(5)
    network.publish("writer", "t", "last")
    assert network.payloads("early") == ["first"]
    assert network.payloads("late") == ["moved", "last"]


def test_who_wants_only_some_content_gets_it_in_order_from_a_client_that_moved_twice() -> None:
    network = network_of(5, writer="b0", picky="b1", reader="b4")
    network.subscribe("picky", "$where/value>5/t")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first", properties=HIGH)
    network.advance(2)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "slow", properties=HIGH)
    move(network, "writer", source="b0", target="b2")
    for source in ("b1", "b2"):
        network.hold(source=source, target="b4")
    network.publish("writer", "t", "for others", properties=LOW)
    move(network, "writer", source="b2", target="b3")
    network.publish("writer", "t", "moved twice", properties=HIGH)
    for source, target in (("b0", "b1"), ("b1", "b4"), ("b2", "b4")):
        network.release(source=source, target=target)
    network.advance(5)
    assert network.payloads("picky") == ["first", "slow", "moved twice"]
    assert network.payloads("reader") == ["first", "slow", "for others", "moved twice"]


def test_a_former_broker_is_named_only_while_somebody_waits_for_what_was_published_there() -> None:
    network = network_of(3, writer="b0", reader="b1")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first")
    network.advance(2)
    network.hold(source="b1", target="b0")
    network.publish("writer", "t", "unsettled")
    network.connect("other", "b0")
    network.publish("other", "t", "of somebody else")
    move(network, "writer", source="b0", target="b2")
    points = {"t": (StreamPoint("b0", 3),)}
    assert points_of(network, "writer", "b2") == points
    network.advance(1)
    assert points_of(network, "writer", "b2") == points
    network.release(source="b1", target="b0")
    network.advance(12)
    assert points_of(network, "writer", "b2") == {}


def test_nobody_waits_for_the_last_of_a_stream_who_is_owed_only_some_before_it() -> None:
    network = network_of(3, writer="b0", picky="b1", reader="b0")
    network.subscribe("picky", "$where/value>5/t")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first", properties=HIGH)
    network.advance(2)
    network.separate(one="b0", other="b1")
    network.advance(6)
    network.publish("writer", "t", "wanted", properties=HIGH)
    network.publish("writer", "t", "for others", properties=LOW)
    move(network, "writer", source="b0", target="b2")
    network.publish("writer", "t", "moved", properties=HIGH)
    network.cut.clear()
    network.advance(15)
    assert network.payloads("picky") == ["first", "wanted", "moved"]


def test_the_will_of_a_client_that_moved_comes_after_what_it_published_before() -> None:
    network = network_of(3, writer="b0", reader="b1")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first")
    network.advance(2)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "slow")
    network.drop("writer")
    will = packets.Will("t", b"will", 1)
    network.connect("writer", "b2", session_expiry_s=60, previous_broker="b0", will=will)
    network.advance(0.3)
    network.drop("writer")
    assert network.payloads("reader") == ["first"]
    network.release(source="b0", target="b1")
    network.advance(5)
    assert network.payloads("reader") == ["first", "slow", "will"]


def test_points_are_not_settled_while_the_disk_has_yet_to_forget_what_goes_before() -> None:
    network = network_of(5, writer="b0", reader="b1", late="b3")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first")
    network.advance(2)
    network.hold(source="b1", target="b0")
    network.publish("writer", "t", "slow")
    move(network, "writer", source="b0", target="b2")
    network.stall_disk("b0")
    network.release(source="b1", target="b0")
    network.advance(12)
    assert points_of(network, "writer", "b2") == {"t": (StreamPoint("b0", 2),)}
    network.subscribe("late", "t")
    network.publish("writer", "t", "moved")
    network.crash("b0")
    network.start("b0")
    network.advance(10)
    assert network.payloads("late") == ["moved"]


def test_what_went_before_does_not_come_late_when_its_origin_and_its_reader_crash() -> None:
    network = network_of(5, writer="b0", reader="b1", other="b0", picky="b3")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first", properties=HIGH)
    network.advance(2)
    network.hold(source="b1", target="b0")
    network.publish("writer", "t", "for the reader", properties=HIGH)
    move(network, "writer", source="b0", target="b2")
    network.connect("fleeting", "b3")
    network.subscribe("fleeting", "t")
    network.subscribe("picky", "$where/value>5/t")
    # b3 now has a later one of b0, of which nobody there wants anything after a crash.
    network.publish("other", "t", "for the fleeting", properties=LOW)
    network.publish("writer", "t", "moved", properties=HIGH)
    assert network.payloads("picky") == ["moved"]
    for name in ("b0", "b3"):
        network.crash(name)
    for name in ("b3", "b0"):
        network.start(name)
    network.release(source="b1", target="b0")
    network.forget("picky")
    network.connect("picky", "b3", session_expiry_s=60)
    network.advance(10)
    assert network.payloads("picky") == ["moved"]


def test_a_copy_that_a_broker_was_owed_before_its_crash_comes_in_turn_or_not_at_all() -> None:
    network = network_of(5, writer="b0")
    network.connect("fleeting", "b3")
    network.subscribe("fleeting", "t")
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "slow")
    network.advance(3.05)
    assert network.payloads("fleeting") == ["slow"]
    move(network, "writer", source="b0", target="b2")
    network.crash("b3")
    network.start("b3")
    network.connect("late", "b3", session_expiry_s=60)
    network.subscribe("late", "t")
    network.publish("writer", "t", "moved")
    network.release(source="b0", target="b1")
    network.advance(5)
    assert network.payloads("late") == ["moved"]


def test_what_waits_where_it_was_published_is_not_skipped_while_a_wish_is_on_its_way() -> None:
    network = network_of(3, writer="b0", other="b2", reader="b1", late="b2")
    network.subscribe("reader", "t")
    network.publish("other", "t", "first")
    network.advance(2)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "slow")
    move(network, "writer", source="b0", target="b2")
    assert points_of(network, "writer", "b2")
    for source in ("b0", "b1"):
        network.hold(source=source, target="b2")
    # It counts here at once, but not at the origin that this very broker is.
    network.subscribe("late", "t")
    network.publish("writer", "t", "waits")
    network.release(source="b1", target="b2")
    network.publish("other", "t", "next")
    network.advance(5)
    for target in ("b1", "b2"):
        network.release(source="b0", target=target)
    network.advance(5)
    network.publish("writer", "t", "last")
    network.advance(5)
    assert network.payloads("late") == ["waits", "next", "last"]
    assert network.payloads("reader") == ["first", "slow", "waits", "next", "last"]


def test_who_comes_back_to_an_origin_gets_what_it_took_meanwhile_and_could_not_send() -> None:
    def is_kept_by(key: str, *brokers: str) -> bool:
        """Whether these brokers are a majority of those that keep a key."""
        return sum(one in brokers for one in replicas_of(key, network.names, 3)) >= 2

    network = SmallNetwork(5)
    network.advance(1)
    alive, stuck = ("b0", "b1", "b2"), ("b3", "b4")
    names = [f"n{number}" for number in range(200)]
    topic = next(
        one for one in names if is_kept_by(one, *alive) and is_kept_by(register_key(one), *stuck)
    )
    reader, publisher = [one for one in names if is_kept_by(claim_key(one), *alive)][:2]
    network.connect(publisher, "b0", session_expiry_s=600)
    network.connect(reader, "b0", session_expiry_s=600)
    assert network.subscribe(reader, topic, qos=1)
    move(network, reader, source="b0", target="b1")
    for name in stuck:
        network.stall_disk(name)
    network.publish(publisher, topic, "kept", retain=True)
    network.forget(reader)
    move(network, reader, source="b1", target="b0")
    for name in stuck:
        network.unstall_disk(name)
    network.advance(8)
    assert network.payloads(reader) == ["kept"]


@pytest.mark.parametrize("wanted", ["t", "#"])
@pytest.mark.parametrize("broker_count", [2, 3, 5])
def test_what_entered_where_a_client_goes_before_its_session_is_there_reaches_it(
    broker_count: int, wanted: str
) -> None:
    for target in [f"b{number}" for number in range(1, broker_count)]:
        network = network_of(broker_count, reader="b0", near=target, writer=target)
        network.subscribe("reader", wanted)
        network.subscribe("near", "t")
        network.drop("reader")
        network.stall_disk(target)
        network.publish("writer", "t", "first of its topic")
        network.connect("reader", target, session_expiry_s=60, previous_broker="b0")
        network.unstall_disk(target)
        network.advance(5)
        assert network.connected["reader"] == target
        assert network.payloads("near") == ["first of its topic"]
        assert network.payloads("reader") == ["first of its topic"]
