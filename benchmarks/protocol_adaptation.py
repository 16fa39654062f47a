"""Trees of 40 brokers that fit themselves to steady traffic: what that saves, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.table import Row
from meshwright.history.duplicated import duplicated
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.lab.workloads import Popularity, generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.tree import FANOUT
from meshwright.planning.adaptation.cost import tree_cost
from meshwright.planning.adaptation.naming import tree_from_names
from meshwright.planning.adaptation.redraw import BROKER_RULES, MESSAGES_PER_BROKER
from meshwright.planning.adaptation.rounds import AdaptationRules, adapt_in_rounds
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import Traffic
from meshwright.planning.designs import build_overlay
from meshwright.protocol.adaptation.self_adaptation import AdaptationRecord
from meshwright.protocol.broker import Broker
from meshwright.protocol.forwarding.acyclic import AlongTree
from meshwright.protocol.settings import BrokerSettings
from meshwright.sim.brokers.adapting import adapting_settings
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.world import World

SECOND_US = 1_000_000
# Interests in a few groups of topics and in anything, and how many links a broker may come to have;
# inner brokers of the regular tree begin with one more than its fanout, so 4 leaves them no room.
CASES: tuple[tuple[Popularity, int], ...] = (
    ("multimodal", 2 * FANOUT),
    ("unif", 2 * FANOUT),
    ("unif", FANOUT),
)
SEED = 1
BROKERS, TOPICS, TOPICS_PER_BROKER = 40, 40, 2
EVERY_US = 5 * SECOND_US
BETWEEN_US = SECOND_US // 5  # between two publications on a topic
TRAFFIC_US, END_US = 4 * SECOND_US, 124 * SECOND_US
# Seen is what a window brings between two publications and two later ones.
WINDOW_US, ASIDE_US = 2 * SECOND_US, BETWEEN_US // 2


def rows() -> list[Row]:
    return [*(row for case in CASES for row in _rows_of(*case)), _drift_row()]


def _rows_of(popularity: Popularity, degree_max: int) -> Iterator[Row]:
    snapshot = generate_snapshot(BROKERS, TOPICS, TOPICS_PER_BROKER, popularity, seed=SEED)
    overlay = build_overlay("tree", snapshot, rng=np.random.default_rng(SEED))
    rules = replace(BROKER_RULES, search=SearchRules(degree_max=degree_max))
    still = _world(snapshot, overlay, BrokerSettings())
    before = _messages_per_publication(still, TRAFFIC_US + SECOND_US)
    world = _world(snapshot, overlay, adapting_settings(EVERY_US, rules))
    after = _messages_per_publication(world, END_US - WINDOW_US - SECOND_US)
    world.run_until(END_US + 10 * SECOND_US)
    proposed, applied = (_changes(world, step) for step in ("proposed", "applied"))
    per_s = len(snapshot.topics) * SECOND_US / BETWEEN_US
    spent = world.counts_by_class().get("adaptation", 0)
    name = (
        f"tree of {BROKERS} brokers that adapts, {popularity} interests, up to {degree_max} links"
    )
    yield Row(
        f"{name}: messages per publication",
        f"{after:.2f}",
        f"fewer than before, {before:.2f}" if degree_max > FANOUT else f"before, {before:.2f}",
        met=after < before if degree_max > FANOUT else None,
        note=_costs(snapshot, overlay, world, rules),
    )
    yield Row(
        f"{name}: messages of the switches",
        f"{spent:,}",
        "-",
        note=_switches(proposed, applied, _paid_back_s(spent, per_s, before - after)),
    )
    violations = [*lost(world.history), *duplicated(world.history), *reordered(world.history)]
    yield Row(
        f"{name}: lost, doubled or reordered",
        f"{len(violations)} of {len(world.history.deliveries):,}",
        "0",
        met=not violations,
    )


def _drift_row() -> Row:
    """Half of the topics are in use, then the other half: whether the tree follows."""
    snapshot = generate_snapshot(BROKERS, TOPICS, TOPICS_PER_BROKER, "unif", seed=SEED)
    overlay = build_overlay("tree", snapshot, rng=np.random.default_rng(SEED))
    middle_us = (TRAFFIC_US + END_US) // 2

    def is_used(topic: int, at_us: int) -> bool:
        return (topic % 2 == 0) == (at_us < middle_us)

    seen = []
    for settings in (BrokerSettings(), adapting_settings(EVERY_US)):
        world = _world(snapshot, overlay, settings, is_used)
        moments_us = (
            TRAFFIC_US + SECOND_US,
            middle_us - WINDOW_US - SECOND_US,
            middle_us + SECOND_US,
            END_US - WINDOW_US - SECOND_US,
        )
        seen.append([_messages_per_publication(world, at_us) for at_us in moments_us])
        world.run_until(END_US + 10 * SECOND_US)
        violations = [*lost(world.history), *duplicated(world.history), *reordered(world.history)]
        assert not violations
    still, (_, fitted, surprised, again) = seen
    return Row(
        f"tree of {BROKERS} brokers that adapts, other topics in use after a minute: "
        "messages per publication",
        f"{fitted:.2f}, then {surprised:.2f} at once and {again:.2f} in the end",
        f"less in the end than at once; without adapting {still[1]:.2f}, then {still[3]:.2f}",
        met=again < surprised and again < still[3],
        note=f"{len(_changes(world, 'applied'))} changes applied in two minutes",
    )


def _world(
    snapshot: Snapshot,
    overlay: Overlay,
    settings: BrokerSettings,
    is_used: Callable[[int, int], bool] = lambda _topic, _at_us: True,
) -> World:
    """Every topic in use is published equally often, by those who want it in turn."""
    world = World(
        overlay, lambda name: Broker(name, settings, overlay), NetworkSettings(), streams(SEED)
    )
    clients = []
    for number, broker in enumerate(snapshot.brokers):
        client = world.add_client(f"c{number}", ClientSettings(session_expiry_s=3600))
        clients.append(client)
        world.at(SECOND_US, partial(client.connect, broker))
        for topic in snapshot.interests.of(number).tolist():
            world.at(2 * SECOND_US, partial(client.subscribe, snapshot.topics[topic], 1))
    members = snapshot.interests.transposed()
    for number in range((END_US - TRAFFIC_US) // BETWEEN_US):
        for topic, name in enumerate(snapshot.topics):
            wanting = members.of(topic).tolist()
            if wanting and is_used(topic, TRAFFIC_US + number * BETWEEN_US):
                publish = partial(clients[wanting[number % len(wanting)]].publish, name, 1)
                world.at(TRAFFIC_US + number * BETWEEN_US, publish)
    world.start()
    return world


def _messages_per_publication(world: World, from_us: int) -> float:
    world.run_until(from_us + ASIDE_US)
    messages, publications = world.message_counts[AlongTree], len(world.history.publications)
    world.run_until(from_us + ASIDE_US + WINDOW_US)
    count = len(world.history.publications) - publications
    return (world.message_counts[AlongTree] - messages) / count


def _changes(world: World, step: str) -> list[tuple[int, AdaptationRecord]]:
    """When changes came to a step, and what they are."""
    return [
        (time_us, one)
        for time_us, _, one in world.records.all
        if isinstance(one, AdaptationRecord) and one.step == step
    ]


def _switches(
    proposed: list[tuple[int, AdaptationRecord]],
    applied: list[tuple[int, AdaptationRecord]],
    paid_back_s: float,
) -> str:
    span_s = (END_US - TRAFFIC_US) // SECOND_US
    last_s = ((applied[-1][0] if applied else TRAFFIC_US) - TRAFFIC_US) / SECOND_US
    return (
        f"{len(proposed)} changes proposed and {len(applied)} applied in {span_s} s, the last "
        f"after {last_s:.0f} s; the rule reckons with "
        f"{_price(applied):,}; saved within {paid_back_s:.0f} s"
    )


def _price(applied: list[tuple[int, AdaptationRecord]]) -> int:
    rules = replace(BROKER_RULES, messages_fixed=MESSAGES_PER_BROKER * (BROKERS - 1))
    return sum(rules.price(one.degree) for _, one in applied)


def _paid_back_s(spent: int, publications_per_s: float, saved_per_publication: float) -> float:
    per_s = publications_per_s * saved_per_publication
    return spent / per_s if per_s > 0 else float("inf")


def _costs(snapshot: Snapshot, overlay: Overlay, world: World, rules: AdaptationRules) -> str:
    """Costs of the tree as planning sees them: at first, in the end, and by planning itself."""
    classes = snapshot.interests.transposed()
    messages = np.full(classes.row_count, EVERY_US // BETWEEN_US, dtype=np.int64)
    traffic = Traffic(classes, messages)
    final = world.hosts[overlay.brokers[0]].disk.kept.get(("overlay",), (0, overlay))[1]
    tree = tree_from_names(overlay)
    planned = adapt_in_rounds(tree, traffic, np.random.default_rng(SEED), rules=rules)
    return (
        f"cost of a period {tree_cost(tree, traffic):,} before, "
        f"{tree_cost(tree_from_names(final), traffic):,} after; planning that knows all traffic "
        f"ends at {planned.round_costs[-1]:,} in {len(planned.reconfigurations)} changes"
    )
