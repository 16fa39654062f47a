"""What a plan is expected to do to the cost of a delivery, in the unit that live brokers count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.clients import Population, snapshot_after
from meshwright.planning.evaluation.evaluate import forwarding_of


class Published(NamedTuple):
    """How often a client at a broker published a topic."""

    client: str
    broker: str
    topic: str
    publications: int


class DeliveryCost(NamedTuple):
    """Messages between brokers for each message that a client gets."""

    before: float
    after: float


def expected_cost(
    plan: Plan, snapshot: Snapshot, population: Population, published: Sequence[Published]
) -> DeliveryCost | None:
    """The same publications on both overlays, with clients where they are and where they go.

    None if nobody would get any of them, or if the plan is for other brokers than the snapshot's.
    """
    brokers = set(snapshot.brokers)
    if set(plan.source.brokers) != brokers or set(plan.target.brokers) != brokers:
        return None
    numbers = {topic: number for number, topic in enumerate(snapshot.topics)}
    readers = population.clients.interests.transposed().counts()
    wanted = [one for one in published if TopicName(one.topic) in numbers]
    deliveries = sum(
        one.publications * int(readers[numbers[TopicName(one.topic)]]) for one in wanted
    )
    if not deliveries:
        return None
    moved = {move.client: move.target for move in plan.client_moves()}
    return DeliveryCost(
        _messages(plan.source, snapshot, wanted, {}) / deliveries,
        _messages(plan.target, snapshot_after(snapshot, population, plan), wanted, moved)
        / deliveries,
    )


def _messages(
    overlay: Overlay,
    snapshot: Snapshot,
    published: Sequence[Published],
    moved: Mapping[str, str],
) -> int:
    """Messages between brokers of all publications; moved: clients that are elsewhere."""
    forwarding = forwarding_of(overlay, snapshot)
    brokers = {name: number for number, name in enumerate(snapshot.brokers)}
    topics = {name: number for number, name in enumerate(snapshot.topics)}
    known: dict[tuple[int, int], int] = {}
    total = 0
    for one in published:
        publisher = brokers[BrokerName(moved.get(one.client, one.broker))]
        key = (topics[TopicName(one.topic)], publisher)
        if key not in known:
            known[key] = forwarding.publication(*key).total_live
        total += one.publications * known[key]
    return total
