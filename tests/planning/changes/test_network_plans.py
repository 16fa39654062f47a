from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from meshwright.errors import ProblemError
from meshwright.model.designs import DESIGNS
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.model.plan import told_worth
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import amount
from meshwright.planning.changes.clients import Population, gathered, plan_with_clients
from meshwright.planning.changes.differences import plan_difference
from meshwright.planning.changes.links import TopicParts
from meshwright.planning.changes.network import PlanWish, begun_overlay, plan_network
from meshwright.planning.changes.proposal import Circumstances, propose
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.placement.clients import Clients, PlacementProblem, view_of
from meshwright.planning.placement.outcome import place
from meshwright.planning.pricing import price_of
from meshwright.planning.topic_connected.validation import is_topic_connected


def drawn_snapshot(broker_count: int = 12, topic_count: int = 10, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)
    rows = [rng.choice(topic_count, size=4, replace=False).tolist() for _ in range(broker_count)]
    return Snapshot(
        tuple(BrokerName(f"b{number:02}") for number in range(broker_count)),
        tuple(TopicName(f"t{number}") for number in range(topic_count)),
        interests_from_sets(rows, topic_count),
        rng.integers(200, 4000, size=topic_count).astype(np.float64),
    )


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_is_planned_with_reasons(name: str) -> None:
    snapshot = drawn_snapshot()
    plan = plan_network(snapshot, PlanWish(name))
    assert set(plan.target.brokers) == set(snapshot.brokers)
    saved = plan.cost.before - (plan.cost.after - plan.cost.newly_made) - plan.reconfiguration_cost
    assert plan.net_benefit == pytest.approx(plan.price.saved if plan.price else saved)
    assert all(step.why.endswith(".") and step.algorithm for step in plan.steps)
    assert evaluate(plan.target, snapshot).deliveries_missed == 0.0
    assert plan == plan_network(snapshot, PlanWish(name))


@pytest.mark.parametrize("name", DESIGNS)
def test_a_plan_leads_where_the_next_one_finds_little_better(name: str) -> None:
    snapshot = drawn_snapshot()
    first = plan_network(snapshot, PlanWish(name))
    second = plan_network(snapshot, PlanWish(name), source=first.target)
    assert second.source == first.target
    assert second.cost.after <= second.cost.before
    if not second.steps:
        assert second.target == second.source
        assert second.summary.startswith("Nothing better than now")


def test_links_are_added_before_others_are_removed_and_topics_grow_together() -> None:
    snapshot = drawn_snapshot()
    source = build_overlay("cycle", snapshot, rng=np.random.default_rng(0))
    today = msgspec.structs.replace(source, design="gm")
    plan = plan_network(snapshot, PlanWish("gm", objective="cost"), source=today)
    actions = [step.action for step in plan.steps]
    assert actions == sorted(actions)
    standing = {frozenset(link) for link in today.links}
    for step in plan.steps:
        link = frozenset(step.brokers)
        standing = standing | {link} if step.action == "add_link" else standing - {link}
    assert standing == {frozenset(link) for link in plan.target.links}
    assert plan.reconfiguration_cost == len(plan.steps)


def test_a_network_without_links_is_joined_whatever_it_costs() -> None:
    snapshot = drawn_snapshot()
    plan = plan_network(snapshot, PlanWish("gm"))
    assert plan.source.links == ()
    assert plan.steps[0].metric == "topic_parts"
    assert plan.steps[0].before == snapshot.interests.pair_count
    assert plan.steps[-1].after == len(snapshot.topics)
    count = len(plan.target.links)
    assert plan.summary == f"No link stands: gm builds {count} links, for {count} messages."
    judged = propose(snapshot, PlanWish("gm"), Circumstances())
    assert told_worth(judged).startswith("Once it is built a publication costs ")
    assert judged.against is not None
    assert not judged.against.metrics + judged.against.topics  # nothing was delivered before


def test_topic_parts_fall_to_one_a_topic_exactly_when_topics_are_connected() -> None:
    snapshot = drawn_snapshot()
    links = build_overlay("gm", snapshot, rng=np.random.default_rng(0)).links
    numbers = {name: number for number, name in enumerate(snapshot.brokers)}
    parts = TopicParts(snapshot.interests)
    for count, (one, other) in enumerate(links, start=1):
        parts.join(numbers[BrokerName(one)], numbers[BrokerName(other)])
        joined = np.array(
            [[numbers[BrokerName(end)] for end in link] for link in links[:count]], dtype=np.int32
        )
        assert (parts.count == len(snapshot.topics)) == is_topic_connected(
            joined, snapshot.interests
        )


def test_another_design_takes_the_place_of_todays() -> None:
    snapshot = drawn_snapshot()
    chord = begun_overlay(snapshot, PlanWish("chord"), 0)
    plan = plan_network(snapshot, PlanWish("gm", objective="cost"), source=chord)
    assert (plan.source, plan.target.design) == (chord, "gm")
    assert all("topic" in step.why for step in plan.steps)
    away = plan_network(snapshot, PlanWish("chord", objective="cost"), source=plan.target)
    keyed = "chord links brokers by their positions, whatever they want."
    assert {step.why for step in away.steps} == {keyed}
    back = plan_network(snapshot, PlanWish("chord"), source=plan.target)
    assert not back.steps
    assert "with what was tried a publication would cost" in back.summary


@pytest.mark.parametrize("today", ["mesh", "tree", "chord"])
@pytest.mark.parametrize("name", ["gm", "gm2", "star", "hypercube"])
def test_another_design_is_planned_if_a_comparison_finds_it_cheaper(name: str, today: str) -> None:
    snapshot = drawn_snapshot()
    source = build_overlay(today, snapshot, k=None, rng=np.random.default_rng(0))
    anyway = plan_network(snapshot, PlanWish(name, objective="cost"), source=source)
    old, new = (
        price_of(evaluate(overlay, snapshot), snapshot, PriceWeights()).total
        for overlay in (anyway.source, anyway.target)
    )
    saved = (old - new) * snapshot.publications.sum() - anyway.reconfiguration_cost
    assert anyway.net_benefit == pytest.approx(saved)
    assert bool(plan_network(snapshot, PlanWish(name), source=source).steps) == (saved > 0.0)


def test_places_of_publishers_make_no_fraction_of_a_delivery_missed() -> None:
    snapshot = drawn_snapshot()
    shares = np.random.default_rng(1).random((12, 10))
    entering = shares / shares.sum(axis=0) * snapshot.publications
    placed = replace(snapshot, publishers=entering)
    for name in ("gm", "gm2", "best"):
        joined = build_overlay(name, placed, k=None, rng=np.random.default_rng(0))
        assert evaluate(joined, placed).deliveries_missed == 0.0


def test_no_positions_are_planned_where_the_cost_is_too_low_for_any_change() -> None:
    snapshot = drawn_snapshot()
    quiet = replace(snapshot, publications=snapshot.publications / 1e6)
    wish = PlanWish("dynatops", objective="cost", reconfigurability_beta=0.1)
    assert plan_network(snapshot, wish).steps
    assert not plan_network(quiet, wish).steps


def test_an_overlay_of_other_brokers_is_refused() -> None:
    with pytest.raises(ProblemError, match="'b02' is in only one of the network and its overlay"):
        plan_network(
            drawn_snapshot(),
            PlanWish("gm"),
            source=Overlay(design="gm", brokers=("b00", "b01"), links=()),
        )


def two_crowds(seed: int = 3) -> tuple[Snapshot, Population]:
    """Forty clients with one of two tastes, anywhere at six brokers."""
    rng = np.random.default_rng(seed)
    topics = [rng.choice(5, size=3, replace=False) + 5 * (client % 2) for client in range(40)]
    wants = interests_from_sets([row.tolist() for row in topics], 10)
    brokers = rng.integers(6, size=40).astype(np.int32)
    names = tuple(f"c{number}" for number in range(40))
    population = Population(names, Clients(wants, brokers), np.zeros(6, dtype=np.int32))
    rows = [{t for c in np.flatnonzero(brokers == b) for t in topics[c].tolist()} for b in range(6)]
    snapshot = Snapshot(
        tuple(BrokerName(f"b{number}") for number in range(6)),
        tuple(TopicName(f"t{number}") for number in range(10)),
        interests_from_sets(rows, 10),
        np.full(10, 500.0),
    )
    return snapshot, population


def test_clients_move_at_the_end_and_the_cost_counts_their_going() -> None:
    snapshot, population = two_crowds()
    brokers = population.clients.brokers
    wish = PlanWish("chord", objective="cost")
    plan = plan_with_clients(snapshot, wish, population, "similarity-bounded")
    moves = plan.client_moves()
    assert moves
    assert [step.action for step in plan.steps[-len(moves) :]] == ["move_client"] * len(moves)
    assert all(move.source == f"b{brokers[int(move.client[1:])]}" for move in moves)
    stayed = plan_network(snapshot, wish)
    assert plan.cost.before == pytest.approx(stayed.cost.before)
    assert plan.cost.after < stayed.cost.after
    assert plan_with_clients(snapshot, wish, population, "static") == stayed


def test_who_cannot_be_told_to_go_elsewhere_is_not_planned_to() -> None:
    snapshot, population = two_crowds()
    wish = PlanWish("chord", objective="cost")
    everybody = plan_with_clients(snapshot, wish, population, "similarity-bounded")
    stuck = frozenset(move.client for move in everybody.client_moves()[::2])
    some = replace(population, staying=stuck)
    plan = plan_with_clients(snapshot, wish, some, "similarity-bounded")
    assert plan.client_moves()
    assert not stuck & {move.client for move in plan.client_moves()}
    assert (
        f"of 40 clients ({len(stuck)} of these 40 cannot be told to go elsewhere)" in plan.summary
    )
    nobody = replace(population, staying=frozenset(population.names))
    assert plan_with_clients(snapshot, wish, nobody, "similarity-bounded") == plan_network(
        snapshot, wish
    )


@pytest.mark.parametrize("name", ["chord", "gm2", "tree", "hypercube"])
def test_the_summary_of_a_plan_with_clients_leaves_what_it_is_worth_to_the_price(name: str) -> None:
    snapshot, population = two_crowds()
    wish = PlanWish(name, objective="cost")
    source = build_overlay(wish.joined_as, snapshot, k=None, rng=np.random.default_rng(0))
    plan = plan_with_clients(snapshot, wish, population, "similarity-bounded", source=source)
    moves = len(plan.client_moves())
    assert f"similarity-bounded moves {moves} of 40 clients" in plan.summary
    assert plan.price is not None
    assert plan.summary.endswith(f", for {amount(plan.reconfiguration_cost)} messages.")
    steps = [step for step in plan.steps if step.metric == "links"]
    counts = [step.after for step in steps]
    assert counts[-1:] == [len(plan.target.links)] * bool(steps)
    assert f"that saves {amount(plan.net_benefit)} messages" in told_worth(plan)


def test_clients_of_one_taste_meet_in_one_plan_and_no_broker_is_overfull() -> None:
    rng = np.random.default_rng(1)
    wants = interests_from_sets([[topic] for topic in rng.integers(36, size=300).tolist()], 36)
    clients = Clients(wants, rng.integers(12, size=300).astype(np.int32))
    population = Population(
        tuple(f"c{number}" for number in range(300)), clients, np.zeros(12, dtype=np.int32)
    )
    problem = PlacementProblem(clients, view_of(clients, 12), population.clusters)
    once = clients.moved_to(place(problem, "similarity-bounded", np.random.default_rng(0)).brokers)

    def pair_count(found: Clients) -> int:
        return int(np.count_nonzero(view_of(found, 12).reference_counts))

    met = gathered(population, 12, "similarity-bounded").clients
    assert pair_count(met) < 0.8 * pair_count(once) < pair_count(clients)
    assert np.bincount(met.brokers).max() <= math.ceil(1.1 * 300 / 12)
    for placement in ("static", "similarity"):
        placed = place(problem, placement, np.random.default_rng(0)).brokers
        met = gathered(population, 12, placement).clients
        went = met.brokers != clients.brokers
        assert np.array_equal(met.brokers[went], placed[went])


@pytest.mark.parametrize("name", ["chord", "gm2", "tree", "hypercube"])
def test_moves_of_clients_that_do_not_pay_are_not_planned(name: str) -> None:
    snapshot, population = two_crowds()
    quiet = replace(snapshot, publications=np.full(10, 0.001))
    source = build_overlay(name, snapshot, k=None, rng=np.random.default_rng(0))
    # Broker subscriptions are told however little is published, and moves save some of them.
    wish = PlanWish(name, weights=PriceWeights(management=0.0))
    plan = plan_with_clients(quiet, wish, population, "similarity-bounded", source=source)
    assert plan == plan_network(quiet, wish, source=source)
    assert plan.client_moves() == ()
    anyway = replace(wish, objective="cost")
    moving = plan_with_clients(quiet, anyway, population, "similarity-bounded", source=source)
    assert moving.client_moves()


@pytest.mark.parametrize("placement", ["similarity", "similarity-bounded"])
@pytest.mark.parametrize("seed", range(4))
def test_who_moves_is_told_what_gets_better_and_staying_alone_would_be(
    placement: str, seed: int
) -> None:
    """Companions that go, too, are no reason to stay: what counts is who is left behind."""
    snapshot, population = two_crowds(seed)
    wish = PlanWish("chord", objective="cost")
    plan = plan_with_clients(snapshot, wish, population, placement)
    moved = {move.client: move.target for move in plan.client_moves()}
    assert moved
    brokers = {
        name: moved.get(name, f"b{broker}")
        for name, broker in zip(population.names, population.clients.brokers, strict=True)
    }
    wants = population.clients.interests

    def topics(names: Iterable[str]) -> list[int]:
        return [t for n in names for t in wants.of(population.names.index(n)).tolist()]

    for step in plan.steps[-len(moved) :]:
        client, source, target = step.brokers
        beside = {
            broker: [n for n in population.names if n != client and brokers[n] == broker]
            for broker in (source, target)
        }
        for broker, shown in ((source, step.before), (target, step.after)):
            others = beside[broker]
            assert (
                shown
                == {
                    "topics_shared": len(set(topics([client])) & set(topics(others))),
                    "clients": len(others) + 1,
                    "subscriptions": len(topics([*others, client])),
                }[step.metric]
            )
        is_better = step.after > step.before
        assert is_better if step.metric == "topics_shared" else step.after < step.before
        if step.metric == "clients":
            assert step.before > math.ceil(1.1 * 40 / 6)
        assert source in step.why
        assert f"{step.before:.0f}" in step.why
        assert f"{step.after:.0f}" in step.why


def test_a_client_whose_companions_moved_away_goes_for_fewer_clients_or_stays() -> None:
    """Six of nine clients are at one broker, which may have five: one must go, and only one."""
    wants = interests_from_sets([[client] for client in range(9)], 9)
    brokers = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    population = Population(
        tuple(f"c{number}" for number in range(9)),
        Clients(wants, brokers),
        np.zeros(2, dtype=np.int32),
    )
    settled = gathered(population, 2, "similarity-bounded")
    assert np.bincount(settled.clients.brokers).tolist() == [5, 4]
    gains = [settled.gain(client) for client in settled.moved()]
    assert [gain and gain[:3] for gain in gains] == [("clients", 6, 4)]


def test_plans_differ_by_where_they_lead() -> None:
    snapshot = drawn_snapshot()
    first = plan_network(snapshot, PlanWish("gm"))
    second = plan_network(snapshot, PlanWish("gm2"))
    assert plan_difference(first, first).is_none
    found = plan_difference(first, second)
    assert not found.is_none
    assert found.designs == ("gm", "gm2")
    assert set(found.links_first).isdisjoint(second.target.links)
    assert len(first.target.links) - len(found.links_first) + len(found.links_second) == len(
        second.target.links
    )
