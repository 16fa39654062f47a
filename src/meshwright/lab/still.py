"""A still workload on live brokers: what a plan says a delivery will cost, and what it does cost.

Clients want the same all the time and publish the same over and over, and only the plan moves them.
All is counted when everything has come to rest, so what the two costs differ by is a mistake in one
of them, not a matter of when somebody looked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meshwright.history.history import History
from meshwright.history.judgement import violations
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.manager.collecting.measuring import Look, look, message_count, traffic_between
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Outcome, carry_out
from meshwright.model.identifiers import BrokerName, ClientName, TopicName
from meshwright.model.interests import Int64Array, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.expectation import DeliveryCost, Published, expected_cost
from meshwright.planning.changes.network import PlanWish
from meshwright.planning.changes.proposal import HORIZON_S, Circumstances, propose
from meshwright.planning.placement.clients import Clients
from meshwright.planning.placement.clusters import one_cluster
from meshwright.planning.placement.strategies import DEFAULT_PLACEMENT

# So often everybody publishes on each of its topics while a cost is measured: the last time may be
# cut short, and should weigh little.
ROUNDS = 4
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StillParameters:
    """Clients of so many tastes, of so many topics each, spread over brokers by chance."""

    clients: int = 16
    tastes: int = 4
    topics_per_taste: int = 2
    publications_per_s: float = 200.0
    seed: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StillCosts:
    """Messages between brokers for a delivery, predicted and measured.

    faults: of what clients saw, by the history checker.
    """

    design: str
    predicted: DeliveryCost
    measured: DeliveryCost
    outcome: Outcome
    faults: tuple[str, ...]

    @property
    def difference(self) -> float:
        """The greater of two: by which share of it a predicted cost is off, before or after."""
        pairs = zip(self.predicted, self.measured, strict=True)
        return max(abs(found - said) / max(said, 1e-9) for said, found in pairs)


def still_costs(
    design: str,
    network: RunningNetwork,
    addresses: Mapping[str, str],
    parameters: StillParameters | None = None,
) -> StillCosts:
    """Measure a network, plan for it and change it under traffic, and measure it again.

    addresses: of brokers, by name.
    """
    crowd = _Crowd(parameters or StillParameters(), network.in_force())
    plan, predicted = crowd.plan(design)
    before, seen = _measured(network, crowd.script(crowd.homes), addresses)
    faults = [*map(str, violations(seen))]
    with playing(crowd.script(crowd.homes), addresses) as play:
        play.wait_begun()
        outcome = carry_out(network, "apply", plan, leader=None, tell=lambda _sight: None)
        seen = play.end()
    faults += map(str, violations(seen))
    homes = {name: own[-1].broker for name, own in seen.connections.items()}
    after, seen = _measured(network, crowd.script(homes), addresses)
    return StillCosts(
        design=design,
        predicted=predicted,
        measured=DeliveryCost(before, after),
        outcome=outcome,
        faults=(*faults, *map(str, violations(seen))),
    )


class _Crowd:
    """Clients of the same wishes; homes: where each begins, by name."""

    def __init__(self, parameters: StillParameters, overlay: Overlay) -> None:
        self._parameters = parameters
        self._overlay = overlay
        chance = np.random.default_rng(parameters.seed)
        self._hosts = chance.integers(len(overlay.brokers), size=parameters.clients)
        self._names = tuple(f"still{number}" for number in range(parameters.clients))
        count = parameters.topics_per_taste
        self._topics = [f"taste/{number}" for number in range(parameters.tastes * count)]
        # By client: the numbers of its topics.
        self._wants = [
            range(taste * count, (taste + 1) * count)
            for taste in (number % parameters.tastes for number in range(parameters.clients))
        ]

    @property
    def homes(self) -> dict[str, str]:
        brokers = self._overlay.brokers
        return {
            name: brokers[host]
            for name, host in zip(self._names, self._hosts.tolist(), strict=True)
        }

    def script(self, homes: Mapping[str, str]) -> Script:
        """Everybody publishes on each of its topics in turn, evenly in time."""
        wants = [
            Deed(0.0, name, "want", self._topics[topic])
            for name, own in zip(self._names, self._wants, strict=True)
            for topic in own
        ]
        told = [
            (name, self._topics[self._wants[number][turn]])
            for turn in range(self._parameters.topics_per_taste)
            for number, name in enumerate(self._names)
        ]
        rate = self._parameters.publications_per_s
        deeds = [
            Deed((number + 1) / rate, name, "publish", topic)
            for number, (name, topic) in enumerate(told)
        ]
        return Script(homes, (*wants, *deeds), len(told) / rate)

    def plan(self, design: str) -> tuple[Plan, DeliveryCost]:
        """The plan of least cost for the crowd as it is, and what it is to cost."""
        snapshot, population = self._snapshot(), self._population()
        plan = propose(
            snapshot,
            PlanWish(design, objective="cost"),
            Circumstances(
                source=self._overlay,
                population=population,
                placement=DEFAULT_PLACEMENT,
                seed=self._parameters.seed,
            ),
        )
        homes = self.homes
        published = [
            Published(name, homes[name], self._topics[topic], 1)
            for name, own in zip(self._names, self._wants, strict=True)
            for topic in own
        ]
        predicted = expected_cost(plan, snapshot, population, published)
        assert predicted is not None  # everybody gets what it publishes
        return plan, predicted

    def _pairs(self) -> tuple[Int64Array, Int64Array]:
        """Clients and topics that they want."""
        counts = [len(own) for own in self._wants]
        return np.repeat(np.arange(len(counts)), counts), np.concatenate(self._wants)

    def _snapshot(self) -> Snapshot:
        clients, topics = self._pairs()
        brokers, wanted = np.unique(np.stack((self._hosts[clients], topics)), axis=1)
        shape = len(self._overlay.brokers), len(self._topics)
        per_topic = self._parameters.publications_per_s / shape[1] * HORIZON_S
        return Snapshot(
            tuple(map(BrokerName, self._overlay.brokers)),
            tuple(map(TopicName, self._topics)),
            interests_from_pairs(brokers, wanted, *shape),
            np.full(shape[1], per_topic),
        )

    def _population(self) -> Population:
        wants = interests_from_pairs(*self._pairs(), len(self._names), len(self._topics))
        return Population(
            tuple(map(ClientName, self._names)),
            Clients(wants, self._hosts.astype(np.int32)),
            one_cluster(len(self._overlay.brokers)),
        )


def _measured(
    network: RunningNetwork, script: Script, addresses: Mapping[str, str]
) -> tuple[float, History]:
    """What a delivery costs, from before clients come until all is at rest again."""
    first = look(network, 0)
    with playing(script, addresses) as play:
        count = ROUNDS * sum(deed.kind == "publish" for deed in script.deeds)
        play.wait_begun()
        while len(play.seen().publications) < count:
            time.sleep(LOOK_EVERY_S)
        history = play.end()
    return _cost(first, look(network, 0), history), history


def _cost(first: Look, last: Look, history: History) -> float:
    once = {(one.client, one.publisher, one.sequence) for one in history.deliveries}
    return message_count(traffic_between(first.carried, last.carried)) / len(once)
