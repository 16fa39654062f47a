"""What if brokers came or went: plans to a network of other brokers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from test_network_plans import drawn_snapshot

from meshwright.errors import InputFileError, ProblemError
from meshwright.files.plans import read_plan, write_plan
from meshwright.model.designs import candidates
from meshwright.model.goals import Goals
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.broker_change import BrokerChange
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.membership import plan_for_brokers
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.proposal import Circumstances, plan_without, propose
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.placement.clients import Clients


def peopled(seed: int = 5) -> tuple[Snapshot, Population]:
    """Eight brokers with thirty clients that want three of ten topics each."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(10, size=3, replace=False).tolist() for _ in range(30)]
    brokers = rng.integers(8, size=30).astype(np.int32)
    wanted = [{t for c in np.flatnonzero(brokers == b) for t in rows[c]} for b in range(8)]
    snapshot = replace(drawn_snapshot(8, 10), interests=interests_from_sets(wanted, 10))
    names = tuple(f"c{number}" for number in range(30))
    clients = Clients(interests_from_sets(rows, 10), brokers)
    return snapshot, Population(names, clients, np.zeros(8, dtype=np.int32))


def wanted_after(population: Population, plan_moves: dict[str, str], names: list[str]) -> set[str]:
    """Brokers that have a client in the end."""
    homes = [names[broker] for broker in population.clients.brokers.tolist()]
    pairs = zip(population.names, homes, strict=True)
    return {plan_moves.get(client, home) for client, home in pairs}


def test_who_cannot_be_told_to_go_leaves_only_a_broker_that_goes() -> None:
    snapshot, population = peopled()
    stuck = replace(population, staying=frozenset(population.names))
    change = BrokerChange(removed=("b03",))
    around = Circumstances(population=stuck, placement="similarity-bounded", change=change)
    plan = propose(snapshot, PlanWish("chord"), around)
    moves = plan.client_moves()
    assert moves
    assert {move.source for move in moves} == {"b03"}


@pytest.mark.parametrize("name", candidates())
def test_a_network_is_planned_with_other_brokers_for_every_design(name: str) -> None:
    snapshot, population = peopled()
    today = plan_network(snapshot, PlanWish(name)).target
    change = BrokerChange(added=("n1", "n2"), removed=("b03",))
    around = Circumstances(source=today, population=population, change=change)
    plan = propose(snapshot, PlanWish(name), around)
    assert plan.source == today
    assert set(plan.target.brokers) == {*snapshot.brokers, "n1", "n2"} - {"b03"}
    assert [step.brokers for step in plan.steps[:3]] == [("n1",), ("n2",), ("b03",)]
    moves = {move.client: move.target for move in plan.client_moves()}
    leaving = [
        client
        for client, broker in zip(population.names, population.clients.brokers, strict=True)
        if snapshot.brokers[broker] == "b03"
    ]
    assert sorted(moves) == sorted(leaving)
    assert plan.cost.missed_after == 0.0
    assert "b03" not in wanted_after(population, moves, list(snapshot.brokers))
    assert plan.against is not None
    assert plan.against.clients_reconnecting == len(leaving)
    joined = nx.Graph(plan.target.links)
    assert nx.is_connected(joined)
    assert set(joined) == set(plan.target.brokers)


@pytest.mark.parametrize("name", ["chord", "gm2", "ocbr", "hypercube"])
def test_a_plan_without_a_lost_broker_leaves_the_others_where_they_are(name: str) -> None:
    snapshot, population = peopled()
    today = plan_network(snapshot, PlanWish(name)).target
    quiet = replace(snapshot, publications=snapshot.publications / 1e6)  # no other change pays
    plan = plan_without(quiet, today, ["b05"], PlanWish(name), population=population)
    assert "b05" not in plan.target.brokers
    seats, others = today.positions or {}, plan.target.positions or {}
    moved = [broker for broker in plan.target.brokers if seats.get(broker) != others.get(broker)]
    assert len(moved) <= (name == "hypercube")
    kept = {frozenset(link) for link in today.links if "b05" not in link}
    new = {frozenset(link) for link in plan.target.links}
    if name in {"gm2", "ocbr"}:
        assert len(kept - new) <= len(kept) // 2
    assert plan.steps[0].action == "remove_broker"


def test_k_is_held_without_the_lost_broker() -> None:
    snapshot, population = peopled()
    today = plan_network(snapshot, PlanWish("gm2")).target
    goals = Goals(k_min=2)
    plan = plan_without(
        snapshot, today, ["b00", "b01"], PlanWish("gm2"), population=population, goals=goals
    )
    found = plan_for_brokers(
        snapshot,
        PlanWish("gm2"),
        BrokerChange(removed=("b00", "b01")),
        population=population,
        source=today,
    )
    assert found.plan.target == plan.target
    assert evaluate(plan.target, found.snapshot).k_held >= 2


def test_what_only_lost_brokers_wanted_is_given_up_where_clients_are_unknown() -> None:
    snapshot, _ = peopled()
    today = plan_network(snapshot, PlanWish("gm")).target
    plan = plan_without(snapshot, today, ["b02"], PlanWish("gm"))
    assert not plan.client_moves()
    assert plan.cost.missed_after == 0.0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (BrokerChange(removed=("x",)), "no broker 'x' to remove; there are b00, b01"),
        (BrokerChange(added=("b01",)), "'b01' is in the network already"),
        (BrokerChange(added=("n", "n")), "'n' is added twice"),
        (BrokerChange(removed=tuple(f"b{n:02}" for n in range(7))), "1 broker would be left"),
    ],
)
def test_changes_that_cannot_be_are_refused(change: BrokerChange, fault: str) -> None:
    snapshot, _ = peopled()
    with pytest.raises(ProblemError, match=fault):
        propose(snapshot, PlanWish("chord"), Circumstances(change=change))


def test_publications_of_a_broker_that_wants_nothing_find_their_way() -> None:
    snapshot = drawn_snapshot()
    rows = [set(snapshot.interests.of(row).tolist()) for row in range(12)]
    rows[4] = rows[9] = set()
    silent = replace(snapshot, interests=interests_from_sets(rows, 10))
    plan = plan_network(silent, PlanWish("gm"))
    assert plan.cost.missed_after == 0.0


def test_a_plan_to_other_brokers_is_read_as_it_was_written(tmp_path: Path) -> None:
    snapshot, population = peopled()
    today = plan_network(snapshot, PlanWish("chord")).target
    plan = plan_without(snapshot, today, ["b05"], PlanWish("chord"), population=population)
    path = tmp_path / "plan.json"
    write_plan(plan, path)
    assert read_plan(path) == plan
    path.write_text(path.read_text().replace('"remove_broker"', '"remove_link"'))
    with pytest.raises(InputFileError, match="'b05' is in only one of the plan's two overlays"):
        read_plan(path)
    assert Overlay(design="gm", brokers=("b05",), links=()) != plan.target
