from __future__ import annotations

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.overlay import Parameter
from meshwright.planning.designs import build_overlay
from meshwright.sim.checkers.closed_form import miscounted, publications_due, subscriptions_due
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.world import World

SECOND_US = 1_000_000
SNAPSHOT = generate_snapshot(9, 6, 2, "unif", seed=4)
SIMULATED = (
    "chord", "tapestry", "pastry", "quadtree", "hypercube",
    "gm", "gm2", "harary", "cycle", "best", "minmax", "dcbm", "tree",
)  # fmt: skip
PARAMETERS: tuple[tuple[str, dict[str, Parameter]], ...] = (
    *((design, {}) for design in SIMULATED),
    ("hypercube", {"low_bit_count": 1, "events": "broadcast"}),
    ("hypercube", {"low_bit_count": 3, "events": "broadcast"}),
    ("hypercube", {"low_bit_count": 3, "subscriptions": "sub_partition"}),
    ("hypercube", {"low_bit_count": 2, "subscriptions": "sub_partition", "events": "broadcast"}),
    ("pastry", {"base": 2}),
)


def pairs() -> list[tuple[int, int]]:
    """Every topic with every broker that wants it."""
    interests = SNAPSHOT.interests
    return list(zip(interests.columns.tolist(), interests.row_of_pairs().tolist(), strict=True))


@pytest.mark.parametrize(("design", "params"), PARAMETERS)
def test_messages_of_a_network_where_nothing_changes_equal_the_closed_form(
    design: str, params: dict[str, Parameter]
) -> None:
    overlay = build_overlay(design, SNAPSHOT, rng=np.random.default_rng(1), **params)
    world = World(overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(2))
    world.start()
    for number, broker in enumerate(SNAPSHOT.brokers):
        client = world.add_client(f"c{number}", ClientSettings(session_expiry_s=60))
        world.at(SECOND_US, lambda client=client, broker=broker: client.connect(broker))
    clients = list(world.clients.values())
    world.run_until(4 * SECOND_US)
    for topic, broker in pairs():
        clients[broker].subscribe(SNAPSHOT.topics[topic], 1)
        world.run_until(world.agenda.now_us + SECOND_US)
    subscribed = world.counts_by_class()
    published = [
        (topic, broker)
        for topic in range(len(SNAPSHOT.topics))
        for broker in range(len(SNAPSHOT.brokers))
    ]
    for topic, broker in published:
        clients[broker].publish(SNAPSHOT.topics[topic], 1)
        world.run_until(world.agenda.now_us + SECOND_US // 5)
    world.run_until(world.agenda.now_us + 10 * SECOND_US)
    counted = world.counts_by_class()
    due = {
        "publication": publications_due(overlay, SNAPSHOT, published),
        "subscription": subscriptions_due(overlay, SNAPSHOT, pairs()),
        "repair": 0,
    }
    assert miscounted(counted, due) == []
    assert miscounted(subscribed, {"subscription": due["subscription"], "publication": 0}) == []
    deliveries = len(world.history.deliveries)
    assert deliveries == SNAPSHOT.interests.pair_count * len(SNAPSHOT.brokers)
