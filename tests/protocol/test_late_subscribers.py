from __future__ import annotations

import pytest

from meshwright.planning.founding import founding_overlay
from meshwright.sim.chance import streams
from meshwright.sim.client import ClientSettings
from meshwright.sim.network import NetworkSettings
from meshwright.sim.simulation import build_broker
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
