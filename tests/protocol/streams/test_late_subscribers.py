from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.planning.founding import founding_overlay
from meshwright.protocol.mqtt.packets import Suback
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.world import World

SECOND_US = 1_000_000


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm2", "tree"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_who_subscribes_long_after_the_last_message_gets_the_next(design: str, qos: int) -> None:
    overlay = founding_overlay(design, ("b0", "b1", "b2"))
    world = World(overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(1))
    writer, early, late = (
        world.add_client(name, ClientSettings(session_expiry_s=600))
        for name in ("writer", "early", "late")
    )
    world.start()
    writer.connect("b1")
    early.connect("b2")
    late.connect("b0")
    early.subscribe("t", qos)
    for from_s in (10, 105):
        world.run_until(from_s * SECOND_US)
        writer.publish("t", qos)
    world.run_until(250 * SECOND_US)
    late.subscribe("t", qos)
    world.run_until(300 * SECOND_US)
    writer.publish("t", qos)
    world.run_until(310 * SECOND_US)
    got = [(one.client, one.sequence) for one in world.history.deliveries]
    assert sorted(got) == [("early", 1), ("early", 2), ("early", 3), ("late", 3)]


def test_who_gave_up_waiting_for_an_origin_gets_what_that_took_before_it_heard() -> None:
    network = network_before_a_late_subscriber()
    network.hold(source="b2", target="b0")
    network.advance(3)
    network.hold(source="b0", target="b2")
    assert not network.subscribe("late", "t")
    network.advance(2)
    # Silence has lasted too long for one side, not yet for the other.
    assert [one for one in network.got["late"] if isinstance(one, Suback)]
    assert network.publish("writer", "t", "between")
    network.release(source="b0", target="b2")
    network.release(source="b2", target="b0")
    network.advance(20)
    assert network.payloads("late") == ["between"]


def test_an_origin_that_was_cut_off_for_long_owes_who_joined_meanwhile_all_that_it_took() -> None:
    network = network_before_a_late_subscriber()
    network.separate(one="b2", other="b0")
    network.separate(one="b2", other="b1")
    network.advance(8)
    assert network.subscribe("late", "t")
    assert network.publish("writer", "t", "trusting who was known")
    network.advance(20)
    assert network.publish("writer", "t", "trusting nobody")
    network.cut.clear()
    network.advance(20)
    assert network.payloads("late") == ["trusting who was known", "trusting nobody"]


def test_what_was_for_nobody_comes_before_what_its_publisher_sent_from_elsewhere() -> None:
    network = SmallNetwork()
    for client, broker in (("writer", "b0"), ("early", "b1"), ("late", "b1")):
        network.connect(client, broker, session_expiry_s=60)
    network.subscribe("early", "$where/value>5/t")
    network.publish("writer", "t", "first", properties=(("value", "9"),))
    network.advance(2)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "wanted", properties=(("value", "9"),))
    network.publish("writer", "t", "unwanted", properties=(("value", "1"),))
    network.advance(1.2)
    network.drop("writer")
    network.connect("writer", "b2", session_expiry_s=60, previous_broker="b0")
    network.advance(0.5)
    network.subscribe("late", "t")
    network.publish("writer", "t", "moved", properties=(("value", "9"),))
    network.release(source="b0", target="b1")
    network.advance(5)
    assert network.payloads("early") == ["first", "wanted", "moved"]
    assert network.payloads("late") == ["wanted", "unwanted", "moved"]


def network_before_a_late_subscriber() -> SmallNetwork:
    """One message has gone from b2 to b1; "late" is connected to b0 and wants nothing yet."""
    network = SmallNetwork()
    for client, broker in (("writer", "b2"), ("early", "b1"), ("late", "b0")):
        network.connect(client, broker, session_expiry_s=600)
    network.subscribe("early", "t")
    network.publish("writer", "t", "before")
    network.advance(5)
    return network
