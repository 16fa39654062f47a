"""Brokers of a live network killed at once: how many topics are cut, message by message.

The network is processes of this machine, and each broker has one MQTT client. As in a simulation,
a message of QoS 0 on every topic is published right after the deaths, before anybody can have
mended a link.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from meshwright.history.history import History
from meshwright.lab.topic_connectivity.killing import (
    BEFORE_ANYBODY_KNOWS_US,
    SECOND_US,
    doomed_network,
)
from meshwright.lab.witness import Stopwatch, Witness
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.model.snapshot import Snapshot

WAIT_S = BEFORE_ANYBODY_KNOWS_US / SECOND_US
LOOK_EVERY_S = 0.05


def measure_live_cuts(
    *, seed: int, design: str, k: int, killed: int, **workload: Any
) -> dict[str, Any]:
    """Topics cut in a live network right after brokers were killed."""
    doomed = doomed_network(seed=seed, design=design, k=k, killed=killed, **workload)
    count = len(doomed.snapshot.brokers)
    port = free_ports(2 * count)
    with tempfile.TemporaryDirectory(prefix="meshwright-") as folder:
        network = LocalNetwork(
            doomed.overlay, Path(folder) / "net", port=port, peer_port=port + count
        )
        network.start()
        try:
            cut = asyncio.run(_Trial(network, doomed.snapshot).run(doomed.dead))
        finally:
            network.stop()
    return {"topics_cut_by_links": doomed.topics_cut_by_links, "topics_cut_at_once": cut}


class _Trial:
    """The clients of a network, one at each broker, that want what their broker wants."""

    def __init__(self, network: LocalNetwork, snapshot: Snapshot) -> None:
        self._network = network
        self._snapshot = snapshot
        self._members = snapshot.interests.transposed()
        self._history = History()
        self._clients: list[Witness] = []

    async def run(self, dead: Sequence[int]) -> int:
        """Topics of which some living client got nothing."""
        stopwatch = Stopwatch()
        async with AsyncExitStack() as stack:
            for broker in self._network.brokers:
                home = {str(broker.clients): broker.name}
                client = Witness(
                    f"c{broker.name}",
                    home,
                    str(broker.clients),
                    history=self._history,
                    stopwatch=stopwatch,
                )
                self._clients.append(await stack.enter_async_context(client))
            for topic, name in enumerate(self._snapshot.topics):
                for one in self._members.of(topic):
                    await self._clients[one].subscribe(name, 0)
            # A stream opens with its first message; what is measured is how later ones travel.
            await self._missing(self._wanted(()))
            for one in dead:
                self._network.kill(self._snapshot.brokers[one])
            return await self._missing(self._wanted(dead))

    def _wanted(self, dead: Sequence[int]) -> dict[str, list[int]]:
        """The brokers that live and want a topic, by topic."""
        members = {
            name: [int(one) for one in self._members.of(topic) if one not in dead]
            for topic, name in enumerate(self._snapshot.topics)
        }
        return {topic: living for topic, living in members.items() if living}

    async def _missing(self, wanted: dict[str, list[int]]) -> int:
        """Publish once on every topic at the first who wants it; topics that some lack."""
        before = len(self._history.deliveries)
        for topic, living in wanted.items():
            await self._clients[living[0]].publish(topic, 0)
        owed = {
            (name, self._clients[one].name) for name, living in wanted.items() for one in living
        }
        for _ in range(round(WAIT_S / LOOK_EVERY_S)):
            await asyncio.sleep(LOOK_EVERY_S)
            owed -= {(one.topic, one.client) for one in self._history.deliveries[before:]}
            if not owed:
                break
        return len({topic for topic, _ in owed})
