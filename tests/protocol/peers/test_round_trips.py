"""Round trips are measured with heartbeats, by the clock of the broker that asks."""

from __future__ import annotations

import numpy as np
import pytest
from small_network import SECOND_US, SmallNetwork

from meshwright.planning.founding import founding_overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.peers.round_trips import Ping, RoundTripSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.clocks import SkewedClock
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.world import World

NAMES = ("b0", "b1", "b2", "b3", "b4")


def test_delays_are_found_though_every_clock_is_wrong() -> None:
    overlay = founding_overlay("tree", NAMES)
    delays_ms = np.array(
        [[0 if a == b else 5 + 3 * abs(a - b) for b in range(5)] for a in range(5)]
    )
    world = World(
        overlay,
        lambda name: Broker(name, BrokerSettings(), overlay),
        NetworkSettings(jitter_us=0),
        streams(1),
        delays_ms=delays_ms,
    )
    for number, host in enumerate(world.hosts.values()):
        host.clock = SkewedClock(offset_us=number * 3_600_000_000, drift_ppm=100 * number)
    world.start()
    world.run_until(15_000_000)
    for number, name in enumerate(NAMES):
        machine = world.hosts[name].machine
        assert isinstance(machine, Broker)
        expected = {
            peer: 2 * delays_ms[number, at] for at, peer in enumerate(NAMES) if at != number
        }
        assert machine.view().round_trips_ms == pytest.approx(expected, rel=0.01)


def test_a_round_trip_is_smoothed_and_an_answer_that_was_lost_does_not_count() -> None:
    often = BrokerSettings(round_trips=RoundTripSettings(every_us=SECOND_US))
    network = SmallNetwork(2, often)

    def measured_ms() -> float:
        return network.machines["b0"].view().round_trips_ms["b1"]

    def until_asked() -> None:
        network.sent.clear()
        for _ in range(3):
            if any(source == "b0" and isinstance(said, Ping) for source, _, said in network.sent):
                return
            network.advance(1)
        raise AssertionError("b1 is never measured again")

    network.advance(2)
    assert measured_ms() == 0
    network.hold(source="b1", target="b0")
    until_asked()
    network.advance(0.8)
    network.release(source="b1", target="b0")
    assert measured_ms() == pytest.approx(800 / 8)
    network.hold(source="b1", target="b0")
    until_asked()
    network.held["b1", "b0"].clear()
    network.release(source="b1", target="b0")
    network.separate(one="b0", other="b1")
    network.cut.clear()
    network.advance(3)
    # The seconds until the connection stood again would have made it longer.
    assert measured_ms() < 800 / 8


def test_a_broker_that_died_is_left_out() -> None:
    network = SmallNetwork(3)
    network.advance(2)
    assert set(network.machines["b0"].view().round_trips_ms) == {"b1", "b2"}
    network.crash("b2")
    network.advance(8)
    assert set(network.machines["b0"].view().round_trips_ms) == {"b1"}
