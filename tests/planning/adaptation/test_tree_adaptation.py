from __future__ import annotations

from itertools import pairwise

import msgspec
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_trees import demands, tariffs, trees

from meshwright.errors import ProblemError
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.planning.adaptation.cost import broker_level, tree_cost, tree_figures
from meshwright.planning.adaptation.naming import (
    traffic_from_names,
    tree_from_names,
    vertex_names,
)
from meshwright.planning.adaptation.plan import adapt
from meshwright.planning.adaptation.rounds import AdaptationRules, adapt_in_rounds
from meshwright.planning.adaptation.search import SearchRules, optimal_tree

EAGER = AdaptationRules(gain_share_min=0.0, messages_per_neighbour=0)
TABU = SearchRules(exhaustive_trees_max=0, iterations=8)

rules_drawn = st.builds(
    AdaptationRules,
    search=st.sampled_from([SearchRules(), TABU]),
    gain_share_min=st.sampled_from([0.0, 0.02, 0.3]),
    horizon_periods=st.integers(1, 3),
    messages_per_neighbour=st.sampled_from([0, 1, 9]),
    move_clients=st.booleans(),
)


@settings(max_examples=80)
@given(st.data(), rules_drawn)
def test_every_change_pays_and_the_cost_falls_to_that_of_the_tree_reached(
    data: st.DataObject, rules: AdaptationRules
) -> None:
    tree = data.draw(trees())
    traffic, costs = data.draw(demands(tree)), data.draw(tariffs(tree))
    found = adapt_in_rounds(tree, traffic, np.random.default_rng(1), costs=costs, rules=rules)
    cost = tree_cost(tree, traffic, costs)
    for change in found.reconfigurations:
        assert change.cost_before == cost > change.cost_after
        gain = change.cost_before - change.cost_after
        assert gain * rules.horizon_periods > change.messages
        assert len(change.added) == len(change.removed) > 0
        cost = change.cost_after
    assert cost == found.round_costs[-1] == tree_cost(found.tree, traffic, costs)
    assert list(found.round_costs) == sorted(found.round_costs, reverse=True)
    if not rules.move_clients:
        assert found.tree.hosts().tolist() == tree.hosts().tolist()


@settings(max_examples=60)
@given(st.data())
def test_adapting_twice_changes_nothing_and_never_beats_the_optimum(data: st.DataObject) -> None:
    tree = data.draw(trees(brokers_max=6, clients_max=2))
    traffic, costs = data.draw(demands(tree)), data.draw(tariffs(tree))
    found = adapt_in_rounds(tree, traffic, np.random.default_rng(0), costs=costs, rules=EAGER)
    again = adapt_in_rounds(found.tree, traffic, np.random.default_rng(5), costs=costs, rules=EAGER)
    assert again.reconfigurations == ()
    optimum = tree_cost(optimal_tree(tree, traffic, costs), traffic, costs)
    assert optimum <= found.round_costs[-1]


@settings(max_examples=40)
@given(st.data())
def test_no_broker_gets_more_links_than_allowed(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    degree_max = data.draw(st.integers(2, 4))
    for trees_max in (0, 2000):
        search = SearchRules(iterations=8, exhaustive_trees_max=trees_max, degree_max=degree_max)
        rules = AdaptationRules(search=search, gain_share_min=0.0, messages_per_neighbour=0)
        found = adapt_in_rounds(tree, traffic, np.random.default_rng(1), rules=rules)
        limits = np.maximum(tree.degrees(), degree_max)
        assert bool(np.all(found.tree.degrees() <= limits))


@settings(max_examples=60)
@given(st.data(), rules_drawn)
def test_a_plan_replayed_step_by_step_reaches_its_target(
    data: st.DataObject, rules: AdaptationRules
) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    overlay, clients = _named(tree)
    plan = adapt(overlay, traffic, np.random.default_rng(2), clients=clients, rules=rules)
    links = {frozenset(link) for link in overlay.links}
    hosts = dict(clients)
    for step in plan.steps:
        if step.action == "add_link":
            links.add(frozenset(step.brokers))
        elif step.action == "remove_link":
            links.remove(frozenset(step.brokers))
        else:
            client, source, target = step.brokers
            assert hosts[client] == source
            hosts[client] = target
        assert step.before > step.after
        graph = nx.Graph([tuple(link) for link in links])
        graph.add_nodes_from(overlay.brokers)
        assert nx.is_connected(graph)
    assert links == {frozenset(link) for link in plan.target.links}
    after = tree_from_names(plan.target, hosts)
    horizon = rules.horizon_periods
    assert plan.cost.after == tree_cost(after, traffic) * horizon
    figures = tree_figures(after, traffic)
    assert plan.cost.overhead_external_after == figures.messages_external * horizon
    assert plan.cost.delay_after == pytest.approx(figures.delay_hops * horizon)
    _check_balance(plan, overlay)


def test_a_plan_says_why_and_survives_a_file() -> None:
    overlay = _chain(["a", "b", "c", "d"])
    traffic = traffic_from_names(vertex_names(overlay), [(1000, ["a", "d"]), (10, ["b", "c"])])
    plan = adapt(overlay, traffic, np.random.default_rng(0))
    assert plan.cost.before == 1000 * 7 + 10 * 3
    assert plan.cost.after < plan.cost.before
    assert plan.moved == len({name for step in plan.steps for name in step.brokers})
    assert plan.summary.startswith("The cost of the tree falls by ")
    assert " from 7030 " in plan.summary
    assert plan.steps[0].why.startswith("The neighbourhood of b costs ")
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_where_nothing_is_better_the_plan_says_so() -> None:
    overlay = _chain(["a", "b", "c"])
    traffic = traffic_from_names(vertex_names(overlay), [(1000, ["a", "b"]), (10, ["b", "c"])])
    plan = adapt(overlay, traffic, np.random.default_rng(0))
    assert plan.steps == ()
    assert plan.target == plan.source
    assert plan.moved == plan.net_benefit == plan.reconfiguration_cost == 0
    assert plan.summary.startswith("Nothing better than now")


def test_a_change_that_costs_more_than_it_gains_waits_for_a_longer_horizon() -> None:
    overlay = _chain(["a", "b", "c"])
    traffic = traffic_from_names(vertex_names(overlay), [(6, ["a", "c"])])
    once = adapt(overlay, traffic, np.random.default_rng(0))
    often = adapt(
        overlay, traffic, np.random.default_rng(0), rules=AdaptationRules(horizon_periods=2)
    )
    assert once.steps == ()
    assert often.net_benefit == 2 * 6 * 2 - 9 * 2


@settings(max_examples=20)
@given(st.data())
def test_the_same_seed_gives_the_same_plan_and_rounds_are_reported(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    overlay, clients = _named(tree)
    rules = AdaptationRules(search=TABU, gain_share_min=0.0, messages_per_neighbour=0)
    told: list[tuple[int, int]] = []

    def listen(number: int, cost: int) -> None:
        told.append((number, cost))

    plans = [
        adapt(
            overlay,
            traffic,
            np.random.default_rng(4),
            clients=clients,
            rules=rules,
            on_round=listen,
        )
        for _ in range(2)
    ]
    assert plans[0] == plans[1]
    half = len(told) // 2
    assert told[:half] == told[half:]
    assert told[-1][1] == plans[0].cost.after


def test_one_broker_and_no_traffic_are_fine() -> None:
    overlay = Overlay(design="tree", brokers=("a",), links=())
    traffic = traffic_from_names(("a",), [])
    plan = adapt(overlay, traffic, np.random.default_rng(0))
    assert plan.steps == ()
    assert broker_level(tree_from_names(overlay), traffic)[1].classes.row_count == 0


def test_names_that_cannot_be_understood_are_refused() -> None:
    overlay = _chain(["a", "b"])
    names = vertex_names(overlay, {"x": "a"})
    assert names == ("a", "b", "x")
    for row, sentence in (
        ((1, ["a", "z"]), "class 1 names 'z'"),
        ((1, ["a", "a"]), "names 'a' twice"),
        ((-1, ["a", "b"]), "has -1 messages"),
        ((2**62, ["a", "b"]), "messages; give"),
        ((1, []), "no members"),
    ):
        with pytest.raises(ProblemError, match=sentence):
            traffic_from_names(names, [row])
    with pytest.raises(ProblemError, match="'a' is the name of two"):
        vertex_names(overlay, {"a": "b"})
    with pytest.raises(ProblemError, match="on 'z', which is not a broker"):
        tree_from_names(overlay, {"x": "z"})
    stray = Overlay(design="tree", brokers=("a", "b"), links=(("a", "z"),))
    with pytest.raises(ProblemError, match="'z' is not a broker"):
        tree_from_names(stray)


def test_rules_without_sense_are_refused() -> None:
    with pytest.raises(ProblemError, match="periods"):
        AdaptationRules(horizon_periods=0)
    with pytest.raises(ProblemError, match="0 or more"):
        AdaptationRules(gain_share_min=-0.1)


def _check_balance(plan: Plan, overlay: Overlay) -> None:
    gained = plan.cost.before - plan.cost.after
    assert plan.net_benefit == gained - plan.reconfiguration_cost
    assert plan.net_benefit >= 0
    changed = {frozenset(link) for link in overlay.links} ^ {
        frozenset(link) for link in plan.target.links
    }
    assert plan.moved == len({name for link in changed for name in link})


def _chain(names: list[str]) -> Overlay:
    links = tuple(pairwise(names))
    return Overlay(design="tree", brokers=tuple(names), links=links)


def _named(tree) -> tuple[Overlay, dict[str, str]]:
    brokers = tuple(f"b{number}" for number in range(tree.broker_count))
    links = tuple((brokers[one], brokers[other]) for one, other in tree.links())
    hosts = tree.hosts().tolist()[tree.broker_count :]
    clients = {f"c{number}": brokers[host] for number, host in enumerate(hosts)}
    return Overlay(design="tree", brokers=brokers, links=links), clients
