"""Hard goals refuse plans by name, soft goals choose between them; networkx is the judge of k."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from test_network_plans import drawn_snapshot

from meshwright.errors import ProblemError, SettingError
from meshwright.model.designs import DESIGNS
from meshwright.model.goals import Goals
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.goals import Outlook, broken_goals
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.proposal import Circumstances, propose
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate, forwarding_of
from meshwright.planning.placement.clients import Clients


def weak_topics(overlay: Overlay, snapshot: Snapshot, k: int) -> dict[str, int]:
    """Topics whose members fall apart when fewer than k of them die, by networkx."""
    joined = nx.Graph(overlay.links)
    joined.add_nodes_from(overlay.brokers)
    members = snapshot.interests.transposed()
    found = {}
    for number, topic in enumerate(snapshot.topics):
        inner = joined.subgraph([snapshot.brokers[broker] for broker in members.of(number)])
        held = nx.node_connectivity(inner) if len(inner) > 1 else 0
        if held < min(k, len(inner) - 1):
            found[topic] = held
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_is_judged_topic_by_topic(k: int, seed: int) -> None:
    snapshot = drawn_snapshot(9, 8, seed)
    overlay = build_overlay("gm2", snapshot, rng=np.random.default_rng(0))
    fewer = Overlay(design="gm2", brokers=overlay.brokers, links=overlay.links[seed:])
    broken = broken_goals(Goals(k_min=k), Outlook(fewer, snapshot, 60.0))
    weak = weak_topics(fewer, snapshot, k)
    assert bool(broken) == bool(weak)
    for one in broken:
        assert (one.goal, one.place_count, one.found) == ("k_min", len(weak), weak[one.where])
        assert one.found == min(weak.values())


@pytest.mark.parametrize("name", ["chord", "hypercube", "tree", "gm"])
def test_a_design_that_cannot_hold_k_is_refused_with_the_goal_and_the_topic(name: str) -> None:
    snapshot = drawn_snapshot()
    with pytest.raises(ProblemError, match=r"goal k_min = 2 is broken at topic 't\d': .* 1 of"):
        propose(snapshot, PlanWish(name), Circumstances(), Goals(k_min=2))


def test_a_design_that_can_is_planned_for_the_k_of_the_goal() -> None:
    snapshot = drawn_snapshot()
    plan = propose(snapshot, PlanWish("harary"), Circumstances(), Goals(k_min=3))
    assert not weak_topics(plan.target, snapshot, 3)
    assert DESIGNS["harary"].k_own < 3


def degrees(overlay: Overlay) -> list[int]:
    return [sum(name in link for link in overlay.links) for name in overlay.brokers]


def test_degrees_are_capped_or_the_broker_is_named() -> None:
    snapshot = drawn_snapshot()
    free = plan_network(snapshot, PlanWish("ocbr", objective="cost"))
    assert max(degrees(free.target)) > 3
    tree = propose(
        snapshot, PlanWish("ocbr", objective="cost"), Circumstances(), Goals(degree_max=5)
    )
    assert max(degrees(tree.target)) <= 5
    first = plan_network(snapshot, PlanWish("gm")).target
    evener = build_overlay("gm", snapshot, rng=np.random.default_rng(0), tie="degree")
    assert max(degrees(evener)) < max(degrees(first))
    goals = Goals(degree_max=max(degrees(evener)))
    linked = propose(snapshot, PlanWish("gm"), Circumstances(), goals)
    assert max(degrees(linked.target)) == max(degrees(evener))
    with pytest.raises(ProblemError, match=r"goal degree_max = 1 is broken at broker 'b\d+': it"):
        propose(snapshot, PlanWish("gm"), Circumstances(), Goals(degree_max=1))


def test_messages_of_a_broker_are_counted_by_the_second() -> None:
    snapshot = drawn_snapshot()
    target = plan_network(snapshot, PlanWish("chord")).target
    forwarding = forwarding_of(target, snapshot)
    sent = sum(
        forwarding.publication(topic, publisher).total * snapshot.publications[topic]
        for topic in range(len(snapshot.topics))
        for publisher in range(len(snapshot.brokers))
    ) / len(snapshot.brokers)
    mean = 2 * sent / len(snapshot.brokers) / 100.0
    outlook = Outlook(target, snapshot, 100.0)
    (broken,) = broken_goals(Goals(messages_per_s_max=mean), outlook)
    assert (broken.goal, broken.limit) == ("messages_per_s_max", mean)
    assert broken.found > mean
    assert not broken_goals(Goals(messages_per_s_max=broken.found), outlook)


def crowd() -> tuple[Snapshot, Population]:
    """Twelve clients of two kinds, most of them at b00."""
    wants = interests_from_sets([{client % 2} for client in range(12)], 10)
    brokers = np.array([0] * 7 + [1, 2, 3, 4, 5], dtype=np.int32)
    names = tuple(f"c{number}" for number in range(12))
    rows = [{client % 2 for client in np.flatnonzero(brokers == b).tolist()} for b in range(6)]
    snapshot = replace(drawn_snapshot(6, 10), interests=interests_from_sets(rows, 10))
    return snapshot, Population(names, Clients(wants, brokers), np.zeros(6, dtype=np.int32))


def client_counts(plan: Plan, population: Population) -> dict[str, int]:
    homes = dict(zip(population.names, population.clients.brokers.tolist(), strict=True))
    where = {client: f"b{broker:02}" for client, broker in homes.items()}
    where.update({move.client: move.target for move in plan.client_moves()})
    return {broker: list(where.values()).count(broker) for broker in where.values()}


def test_clients_of_a_broker_are_capped() -> None:
    snapshot, population = crowd()
    around = Circumstances(population=population, placement="similarity")
    wish = PlanWish("chord", objective="cost")
    moved = propose(snapshot, wish, around)
    crowded = max(client_counts(moved, population).values())
    with pytest.raises(ProblemError, match=r"clients_max = 3 is broken at broker 'b\d+': .* and "):
        propose(snapshot, wish, around, Goals(clients_max=3))
    kept = propose(snapshot, wish, around, Goals(clients_max=crowded))
    assert max(client_counts(kept, population).values()) <= crowded


def test_soft_goals_decide_in_their_order() -> None:
    snapshot, population = crowd()
    today = plan_network(snapshot, PlanWish("chord", method="hash")).target
    around = Circumstances(source=today, population=population, placement="similarity")
    wish = PlanWish("chord", objective="cost")
    cheap = propose(snapshot, wish, around, Goals(prefer=("cost", "moved_clients")))
    still = propose(snapshot, wish, around, Goals(prefer=("moved_clients", "cost")))
    calm = propose(snapshot, wish, around, Goals(prefer=("moved_brokers", "moved_clients")))
    assert cheap.client_moves()
    assert not still.client_moves()
    assert not calm.steps
    assert cheap.cost.after < still.cost.after <= calm.cost.after


def test_a_broken_goal_is_mended_though_that_does_not_pay() -> None:
    snapshot = drawn_snapshot()
    tree = plan_network(snapshot, PlanWish("ocbr", objective="cost")).target
    quiet = replace(snapshot, publications=snapshot.publications / 1e6)
    around = Circumstances(source=tree)
    assert not propose(quiet, PlanWish("gm2"), around).steps
    mended = propose(quiet, PlanWish("gm2"), around, Goals(k_min=2))
    assert mended.target.design == "gm2"
    assert evaluate(mended.target, snapshot).k_held == 2


def test_goals_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SettingError, match="k_min = 3 takes 3 links of a broker, and degree_max"):
        Goals(k_min=3, degree_max=2).check()
    with pytest.raises(SettingError, match="prefer names 'cost' twice"):
        Goals(prefer=("cost", "delay", "cost")).check()


def test_no_goals_leave_the_plan_as_wished() -> None:
    snapshot = drawn_snapshot()
    for name in ("dynatops", "gm", "ocbr"):
        plan = propose(snapshot, PlanWish(name), Circumstances())
        wished = plan_network(snapshot, PlanWish(name))
        assert (plan.target, plan.steps, plan.summary) == (
            wished.target, wished.steps, wished.summary,
        )  # fmt: skip
    assert BrokerName("b00") in plan.target.brokers
