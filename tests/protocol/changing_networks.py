"""A simulated network under traffic whose overlay is changed by script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from meshwright.history.duplicated import duplicated
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.history.unexpected import unexpected
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.planning.designs import build_overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.reconfiguration.messages import PlanRecord
from meshwright.protocol.settings import BrokerSettings
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.scenario.plans import swapped
from meshwright.sim.world import World

SECOND_US = 1_000_000
MILLISECOND_US = 1_000
# Subscriptions stand and topics are open by then.
TRAFFIC_US = 4 * SECOND_US


class ChangingNetwork:
    """A client at each broker wants what the snapshot says, and publishes now and then."""

    def __init__(
        self,
        design: str = "chord",
        brokers: int = 8,
        *,
        seed: int = 0,
        settings: BrokerSettings | None = None,
        wildcard: str | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        settings = settings or BrokerSettings()
        self.snapshot = generate_snapshot(brokers, 6, 2, "unif", seed=seed)
        rng = np.random.default_rng(seed)
        self.overlay = overlay or build_overlay(design, self.snapshot, rng=rng)
        self.world = World(
            self.overlay,
            lambda name: Broker(name, settings, self.overlay),
            NetworkSettings(),
            streams(seed),
        )
        self._rng = np.random.default_rng(seed)
        self._add_clients(wildcard)
        self.world.start()

    @property
    def brokers(self) -> Sequence[str]:
        return self.snapshot.brokers

    def other(self, design: str, seed: int = 7) -> Overlay:
        """Another overlay for the same brokers."""
        return build_overlay(design, self.snapshot, rng=np.random.default_rng(seed))

    def swapped(self, pairs: int = 1, seed: int = 1) -> Overlay:
        """The same overlay with a few brokers in each other's places."""
        return swapped(self.overlay, np.random.default_rng(seed), pairs)

    def turned(self, shift: int = 1) -> Overlay:
        """The same overlay with everybody at the seat of a neighbour."""
        names = self.overlay.brokers
        seats = dict(zip(names, (*names[shift:], *names[:shift]), strict=True))
        positions = self.overlay.positions
        assert positions is not None
        links = [sorted((seats[one], seats[other])) for one, other in self.overlay.links]
        return Overlay(
            design=self.overlay.design,
            params=self.overlay.params,
            brokers=names,
            links=tuple((one, other) for one, other in links),
            positions={seats[name]: positions[name] for name in names},
        )

    def traffic(self, duration_s: float, per_s: int = 50) -> None:
        """Publications from now on, each by a client and on a topic drawn by chance."""
        start_us = max(self.world.agenda.now_us, TRAFFIC_US)
        clients = list(self.world.clients.values())
        for number in range(int(duration_s * per_s)):
            client = clients[int(self._rng.integers(len(clients)))]
            topic = self.snapshot.topics[int(self._rng.integers(len(self.snapshot.topics)))]
            publish = partial(client.publish, topic, 1 + number % 2)
            self.world.at(start_us + number * SECOND_US // per_s, publish)

    def give(self, at_us: int, broker: str, action: str, plan: object) -> None:
        """Hand a plan to a broker at a time."""
        self.world.at(at_us, partial(self.world.tell, broker, PlanGiven(action, plan)))

    def crash(self, at_us: int, broker: str, down_us: int) -> None:
        """Have a broker die at a time, and come back."""
        self.world.at(at_us, partial(self.world.crash, broker))
        self.world.at(at_us + down_us, partial(self.world.restart, broker))

    def run(self, until_s: float) -> None:
        """Let everything happen up to a time."""
        self.world.run_until(int(until_s * SECOND_US))

    def in_force(self) -> dict[str, tuple[int, Overlay]]:
        """Epoch and overlay on the disk of every broker that is up."""
        return {
            name: host.disk.kept.get(("overlay",), (0, self.overlay))[:2]
            for name, host in self.world.hosts.items()
            if host.is_up
        }

    def agreed(self) -> Overlay:
        """The overlay that all brokers have in force; it must be one and the same."""
        found = self.in_force()
        assert len({epoch for epoch, _ in found.values()}) == 1, found
        overlays = [overlay for _, overlay in found.values()]
        assert all(overlay == overlays[0] for overlay in overlays)
        return overlays[0]

    def steps(self, step: str | None = None) -> list[tuple[int, str, PlanRecord]]:
        """What was reported about plans, or about one step of them."""
        return [
            (time_us, broker, record)
            for time_us, broker, record in self.world.records.all
            if isinstance(record, PlanRecord) and step in {None, record.step}
        ]

    def faults(self) -> list[object]:
        """Everything that clients or hosts have to complain of."""
        history = self.world.history
        return [
            *lost(history),
            *duplicated(history),
            *reordered(history),
            *unexpected(history),
            *self.world.breakdowns,
        ]

    def answer_times_us(self) -> list[int]:
        """How long every publication waited for PUBACK or PUBREC."""
        publications = self.world.history.publications.values()
        return [
            one.acknowledged_us - one.attempted_us
            for one in publications
            if one.acknowledged_us is not None
        ]

    def _add_clients(self, wildcard: str | None) -> None:
        interests = self.snapshot.interests
        for number, broker in enumerate(self.snapshot.brokers):
            settings = ClientSettings(session_expiry_s=3600, roams_after=None)
            client = self.world.add_client(f"c{number}", settings)
            self.world.at(SECOND_US, partial(client.connect, broker))
            for topic in interests.of(number).tolist():
                subscribe = partial(client.subscribe, self.snapshot.topics[topic], 2)
                self.world.at(2 * SECOND_US, subscribe)
        if wildcard is not None:
            self.world.at(2 * SECOND_US, partial(client.subscribe, wildcard, 2))


def plan_of(source: Overlay, target: Overlay, *moves: tuple[str, str, str]) -> Plan:
    """A plan that moves clients, as (client, from, to)."""
    steps = tuple(
        Step(
            action="move_client",
            brokers=move,
            why="to see it move",
            algorithm="none",
            metric="none",
            before=0.0,
            after=0.0,
        )
        for move in moves
    )
    cost = PlanCost(
        before=0.0,
        after=0.0,
        overhead_external_before=0.0,
        overhead_external_after=0.0,
        delay_before=0.0,
        delay_after=0.0,
    )
    return Plan(
        source=source,
        target=target,
        steps=steps,
        cost=cost,
        reconfiguration_cost=0.0,
        net_benefit=0.0,
        moved=0,
        summary="",
    )
