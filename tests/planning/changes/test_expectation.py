"""What a delivery is expected to cost with a plan, counted by hand on a line of brokers."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from meshwright.model.identifiers import BrokerName, ClientName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.expectation import Published, expected_cost
from meshwright.planning.placement.clients import Clients

BROKERS = tuple(map(BrokerName, "abc"))
LINE = Overlay(design="tree", brokers=BROKERS, links=(("a", "b"), ("b", "c")))
BENT = Overlay(design="tree", brokers=BROKERS, links=(("a", "c"), ("b", "c")))


def network() -> tuple[Snapshot, Population]:
    """Readers r and s want t, both at c; the writer is at a."""
    wants = interests_from_pairs(np.array([0, 1]), np.array([0, 0]), 2, 1)
    clients = Clients(wants, np.array([2, 2], dtype=np.int32))
    snapshot = Snapshot(
        BROKERS, (TopicName("t"),), interests_from_pairs(np.array([2]), np.array([0]), 3, 1),
        np.ones(1),
    )  # fmt: skip
    names = (ClientName("r"), ClientName("s"))
    return snapshot, Population(names, clients, np.zeros(3, dtype=np.int32))


def plan_to(target: Overlay, *moves: tuple[str, str, str]) -> Plan:
    steps = tuple(
        Step(
            action="move_client", brokers=move, why="", algorithm="", metric="",
            before=0.0, after=0.0,
        )
        for move in moves
    )  # fmt: skip
    cost = PlanCost(
        before=0.0, after=0.0, overhead_external_before=0.0, overhead_external_after=0.0,
        delay_before=0.0, delay_after=0.0,
    )  # fmt: skip
    return Plan(
        source=LINE, target=target, steps=steps, cost=cost, reconfiguration_cost=0.0,
        net_benefit=0.0, moved=0, summary="",
    )  # fmt: skip


TWICE = (Published("w", "a", "t", 2),)


def test_a_shorter_way_costs_less_for_each_that_gets_it() -> None:
    snapshot, population = network()
    # Two hops on the line and one where it is bent, for two readers.
    assert expected_cost(plan_to(BENT), snapshot, population, TWICE) == (1.0, 0.5)


def test_clients_that_move_are_reached_where_they_go_and_publish_there() -> None:
    snapshot, population = network()
    to_a = (("r", "c", "a"), ("s", "c", "a"))
    assert expected_cost(plan_to(LINE, *to_a), snapshot, population, TWICE) == (1.0, 0.0)
    writer = ("w", "a", "b")
    assert expected_cost(plan_to(LINE, writer), snapshot, population, TWICE) == (1.0, 0.5)


def test_whom_the_overlay_does_not_reach_live_brokers_reach_straight() -> None:
    snapshot, population = network()
    apart = Overlay(design="gm", brokers=BROKERS, links=(("a", "b"),))
    wanted = interests_from_pairs(np.array([0, 2]), np.array([0, 0]), 3, 1)
    both = replace(snapshot, interests=wanted)
    clients = replace(population.clients, brokers=np.array([0, 2], dtype=np.int32))
    plan = msgspec.structs.replace(plan_to(apart), source=apart)
    assert expected_cost(plan, both, replace(population, clients=clients), TWICE) == (0.5, 0.5)


def test_what_nobody_gets_has_no_cost() -> None:
    snapshot, population = network()
    assert expected_cost(plan_to(BENT), snapshot, population, ()) is None
    others = (Published("w", "a", "other", 2),)
    assert expected_cost(plan_to(BENT), snapshot, population, others) is None


def test_a_plan_for_other_brokers_is_not_predicted() -> None:
    snapshot, population = network()
    longer = Overlay(design="tree", brokers=(*BROKERS, "d"), links=(*LINE.links, ("c", "d")))
    assert expected_cost(plan_to(longer), snapshot, population, TWICE) is None
