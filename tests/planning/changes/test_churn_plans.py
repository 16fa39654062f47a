"""Plans for brokers that came to a topic-connected network, or went: few links, for a reason."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest
from test_broker_changes import peopled
from test_network_plans import drawn_snapshot

from meshwright.errors import ProblemError
from meshwright.model.designs import DESIGNS
from meshwright.model.goals import Goals
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.growth import with_broker
from meshwright.planning.changes.broker_change import BrokerChange
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.proposal import Circumstances, propose

CONNECTED = [name for name, row in DESIGNS.items() if row.choose_links is not None]


def with_newcomer(snapshot: Snapshot, *topics: int) -> Snapshot:
    """The same brokers and one that wants these topics."""
    rows = [snapshot.interests.of(row).tolist() for row in range(len(snapshot.brokers))]
    return replace(
        snapshot,
        brokers=(*snapshot.brokers, BrokerName("new")),
        interests=interests_from_sets([*rows, list(topics)], len(snapshot.topics)),
        delays_ms=None,
        coordinates=None,
    )


def churned(snapshot: Snapshot, source: Overlay, change: BrokerChange, goals: Goals) -> Plan:
    wish = PlanWish(source.design, method="churn")
    return propose(snapshot, wish, Circumstances(source=source, change=change), goals)


def links_of(overlay: Overlay) -> set[frozenset[str]]:
    return {frozenset(link) for link in overlay.links}


def is_k_connected(overlay: Overlay, snapshot: Snapshot) -> bool:
    """By networkx: the brokers of each topic among themselves."""
    k = int(overlay.params["k"] or 1)
    joined = nx.Graph(overlay.links)
    joined.add_nodes_from(overlay.brokers)
    for topic in range(len(snapshot.topics)):
        members = [
            name for row, name in enumerate(snapshot.brokers) if topic in snapshot.interests.of(row)
        ]
        part = joined.subgraph(members)
        if len(part) > 1 and nx.node_connectivity(part) < min(k, len(part) - 1):
            return False
    return nx.is_connected(joined)


@pytest.mark.parametrize("name", CONNECTED)
def test_a_newcomer_linked_with_everybody_keeps_the_links_that_its_topics_need(name: str) -> None:
    before = drawn_snapshot()
    today = with_broker(plan_network(before, PlanWish(name)).target, "new")
    after = with_newcomer(before, 0, 1)
    plan = churned(after, today, BrokerChange(added=("new",)), Goals())
    changed = links_of(today) ^ links_of(plan.target)
    assert changed
    assert all("new" in link for link in changed)
    assert is_k_connected(plan.target, after)
    assert {(step.action, step.metric) for step in plan.steps} == {("remove_link", "links")}
    figures = [(step.before, step.after) for step in plan.steps]
    assert figures[0][0] == len(today.links)
    assert figures[-1][1] == len(plan.target.links)
    assert not plan.client_moves()
    assert plan.reconfiguration_cost == len(changed)
    assert plan.summary.startswith("new has ")
    assert plan.against is not None


@pytest.mark.parametrize("name", ["gm", "gm2", "best"])
def test_a_newcomer_that_wants_nothing_keeps_k_links(name: str) -> None:
    before = drawn_snapshot()
    today = with_broker(plan_network(before, PlanWish(name)).target, "new")
    plan = churned(with_newcomer(before), today, BrokerChange(added=("new",)), Goals())
    assert sum("new" in link for link in plan.target.links) == today.params["k"]


def test_a_broker_that_might_come_is_placed_without_linking_it_with_everybody() -> None:
    snapshot = drawn_snapshot()
    today = plan_network(snapshot, PlanWish("gm2")).target
    plan = churned(snapshot, today, BrokerChange(added=("new",)), Goals())
    assert plan.steps[0].action == "add_broker"
    assert [step.metric for step in plan.steps[1:]] == ["topics_at_k", "topics_at_k"]
    assert len(plan.target.links) == len(today.links) + 2


@pytest.mark.parametrize("name", CONNECTED)
def test_a_gap_is_closed_among_the_neighbours_of_who_left(name: str) -> None:
    snapshot, _ = peopled()
    today = plan_network(snapshot, PlanWish(name)).target
    plan = churned(snapshot, today, BrokerChange(removed=("b03",)), Goals())
    near = {end for link in today.links if "b03" in link for end in link}
    gone = {link for link in links_of(today) if "b03" in link}
    assert links_of(today) - links_of(plan.target) == gone
    assert all(link <= near for link in links_of(plan.target) - links_of(today))
    rows = [snapshot.interests.of(row).tolist() for row in range(8)]
    rows[3] = []
    left = replace(snapshot, interests=interests_from_sets(rows, 10))
    members = nx.Graph(plan.target.links)
    assert set(members) == set(snapshot.brokers) - {"b03"}
    k = int(today.params["k"] or 1)
    for topic in range(10):
        wanting = [one for row, one in enumerate(left.brokers) if topic in left.interests.of(row)]
        part = members.subgraph(wanting)
        assert len(part) < 2 or nx.node_connectivity(part) >= min(k, len(part) - 1)
    adding = [step for step in plan.steps if step.action == "add_link"]
    assert all(step.before <= step.after for step in adding)
    assert not adding or adding[-1].after == 10
    assert plan.steps[0].action == "remove_broker"


def test_where_nobody_comes_or_goes_links_are_added_for_topics_below_k() -> None:
    snapshot = drawn_snapshot()
    today = plan_network(snapshot, PlanWish("gm2")).target
    rows = [snapshot.interests.of(row).tolist() for row in range(12)]
    rows[3] = list(range(10))
    more = replace(snapshot, interests=interests_from_sets(rows, 10))
    plan = churned(more, today, BrokerChange(), Goals(k_min=2))
    assert links_of(today) < links_of(plan.target)
    assert is_k_connected(plan.target, more)
    assert not churned(more, plan.target, BrokerChange(), Goals()).steps


def test_what_cannot_be_planned_broker_by_broker_is_refused() -> None:
    snapshot = drawn_snapshot()
    ring = plan_network(snapshot, PlanWish("chord")).target
    with pytest.raises(ProblemError, match="chord is none; leave out the method churn"):
        churned(snapshot, ring, BrokerChange(), Goals())
    with pytest.raises(ProblemError, match="give it with --from FILE or --data FOLDER"):
        propose(snapshot, PlanWish("gm", method="churn"), Circumstances())
    today = plan_network(snapshot, PlanWish("gm")).target
    with pytest.raises(ProblemError, match="no broker 'x' to remove"):
        churned(snapshot, today, BrokerChange(removed=("x",)), Goals())
