"""Brokers that fit their tree to its traffic by themselves, simulated under steady traffic.

Every topic in use is published equally often, by those who want it in turn. The same runs are made
with brokers that leave their tree as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from meshwright.history.duplicated import duplicated
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.lab.workloads import Popularity, generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost
from meshwright.model.snapshot import Snapshot
from meshwright.planning.adaptation.redraw import BROKER_RULES
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.designs import build_overlay
from meshwright.protocol.adaptation.self_adaptation import AdaptationRecord
from meshwright.protocol.broker import Broker
from meshwright.protocol.forwarding.acyclic.acyclic import AlongTree
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.reconfiguration.tree_rows import with_links_replaced
from meshwright.protocol.settings import BrokerSettings
from meshwright.sim.brokers.adapting import adapting_settings
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.world import World

SECOND_US = 1_000_000
TRAFFIC_US = 4 * SECOND_US
TOPICS_PER_BROKER = 2
# Between two publications on a topic; a window is seen from between two to between two others.
BETWEEN_US = SECOND_US // 4
WINDOW_US, ASIDE_US = 2 * SECOND_US, BETWEEN_US // 2
FREE = PlanCost(
    before=0.0,
    after=0.0,
    overhead_external_before=0.0,
    overhead_external_after=0.0,
    delay_before=0.0,
    delay_after=0.0,
)

IsUsed = Callable[[int, int], bool]


class Story(NamedTuple):
    """Who is there, on which tree, until when, and which topics are in use when."""

    snapshot: Snapshot
    overlay: Overlay
    seed: int
    end_us: int
    is_used: IsUsed = lambda _topic, _at_us: True


def measure_self_adaptation(
    *,
    seed: int,
    popularity: Popularity,
    broker_count: int,
    degree_max: int = 8,
    every_s: int = 4,
    duration_s: int = 40,
) -> dict[str, Any]:
    """Messages for a publication before and after, and what the changes cost."""
    story = _story(seed, popularity, broker_count, duration_s)
    rules = replace(BROKER_RULES, search=SearchRules(degree_max=degree_max))
    still = _world(story, BrokerSettings())
    before = _messages_per_publication(still, TRAFFIC_US)
    world = _world(story, adapting_settings(every_s * SECOND_US, rules))
    after = _messages_per_publication(world, story.end_us - WINDOW_US - SECOND_US)
    world.run_until(story.end_us + 10 * SECOND_US)
    applied = _applied(world)
    spent = world.counts_by_class().get("adaptation", 0)
    locked = [len(_locked(one)) for one in applied]
    row = {
        "messages_before": before,
        "messages_after": after,
        "messages_left": after / before,
        "changes": len(applied),
        "given_up": _count(world, "given up"),
        "violations": _violations(world),
        "messages_per_change": spent / len(applied) if applied else np.nan,
        "locked_share": float(np.mean(locked)) / broker_count if applied else np.nan,
        "whole_messages": np.nan,
    }
    if applied:
        row["whole_messages"] = _messages_of_whole_switch(story, applied[0])
    return row


def measure_other_topics(
    *,
    seed: int,
    broker_count: int,
    popularity: Popularity = "unif",
    every_s: int = 4,
    duration_s: int = 60,
) -> list[dict[str, Any]]:
    """Half of the topics are in use, then the other half: messages for a publication over time."""
    story = _story(seed, popularity, broker_count, duration_s)
    middle_us = (TRAFFIC_US + story.end_us) // 2
    story = story._replace(is_used=lambda topic, at: (topic % 2 == 0) == (at < middle_us))
    rows: list[dict[str, Any]] = []
    for name, settings in (
        ("stays", BrokerSettings()),
        ("adapts", adapting_settings(every_s * SECOND_US)),
    ):
        world = _world(story, settings)
        for at_s in range(0, duration_s - 2, 3):
            at_us = TRAFFIC_US + at_s * SECOND_US
            if abs(at_us + WINDOW_US // 2 - middle_us) > WINDOW_US:
                found = _messages_per_publication(world, at_us)
                rows.append({"tree": name, "time_s": at_s, "messages_per_publication": found})
        world.run_until(story.end_us + 10 * SECOND_US)
        for row in rows:
            row.setdefault("violations", _violations(world))
    return rows


def _story(seed: int, popularity: Popularity, broker_count: int, duration_s: int) -> Story:
    snapshot = generate_snapshot(
        broker_count, broker_count, TOPICS_PER_BROKER, popularity, seed=seed
    )
    overlay = build_overlay("tree", snapshot, rng=np.random.default_rng(seed))
    return Story(snapshot, overlay, seed, TRAFFIC_US + duration_s * SECOND_US)


def _world(story: Story, settings: BrokerSettings) -> World:
    overlay, snapshot = story.overlay, story.snapshot
    world = World(
        overlay,
        lambda name: Broker(name, settings, overlay),
        NetworkSettings(),
        streams(story.seed),
    )
    clients = []
    for number, broker in enumerate(snapshot.brokers):
        client = world.add_client(f"c{number}", ClientSettings(session_expiry_s=3600))
        clients.append(client)
        world.at(SECOND_US, partial(client.connect, broker))
        for topic in snapshot.interests.of(number).tolist():
            world.at(2 * SECOND_US, partial(client.subscribe, snapshot.topics[topic], 1))
    members = snapshot.interests.transposed()
    for number, at_us in enumerate(range(TRAFFIC_US, story.end_us, BETWEEN_US)):
        for topic, name in enumerate(snapshot.topics):
            wanting = members.of(topic).tolist()
            if wanting and story.is_used(topic, at_us):
                publish = partial(clients[wanting[number % len(wanting)]].publish, name, 1)
                world.at(at_us, publish)
    world.start()
    return world


def _messages_per_publication(world: World, from_us: int) -> float:
    world.run_until(from_us + ASIDE_US)
    messages, publications = world.message_counts[AlongTree], len(world.history.publications)
    world.run_until(from_us + ASIDE_US + WINDOW_US)
    count = len(world.history.publications) - publications
    return (world.message_counts[AlongTree] - messages) / count


def _messages_of_whole_switch(story: Story, change: AdaptationRecord) -> int:
    """What the same change costs as a plan, for which all brokers are locked."""
    target = with_links_replaced(story.overlay, change.removed, change.added)
    plan = Plan(
        source=story.overlay,
        target=target,
        steps=(),
        cost=FREE,
        reconfiguration_cost=0.0,
        net_benefit=0.0,
        moved=0,
        summary="",
    )
    world = _world(story._replace(end_us=TRAFFIC_US + 8 * SECOND_US), BrokerSettings())
    given = partial(world.tell, story.overlay.brokers[0], PlanGiven("apply", plan))
    world.at(TRAFFIC_US + 2 * SECOND_US, given)
    world.run_until(TRAFFIC_US + 12 * SECOND_US)
    in_force = world.hosts[story.overlay.brokers[-1]].disk.kept["overlay",][1]
    assert sorted(in_force.links) == sorted(target.links)
    return int(world.counts_by_class().get("reconfiguration", 0))


def _locked(change: AdaptationRecord) -> set[str]:
    """The master, who names the change, and those whose links it changes."""
    ends = {end for link in (*change.added, *change.removed) for end in link}
    return ends | {change.change.partition(".")[0]}


def _applied(world: World) -> list[AdaptationRecord]:
    return [one for one in _records(world) if one.step == "applied"]


def _count(world: World, step: str) -> int:
    return sum(one.step == step for one in _records(world))


def _records(world: World) -> list[AdaptationRecord]:
    return [one for _, _, one in world.records.all if isinstance(one, AdaptationRecord)]


def _violations(world: World) -> int:
    history = world.history
    return len([*lost(history), *duplicated(history), *reordered(history)])
