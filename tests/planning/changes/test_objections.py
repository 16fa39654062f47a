"""What speaks against a plan: the same figures message by message."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_network_plans import drawn_snapshot

from meshwright.model.interests import interests_from_sets
from meshwright.model.objections import METRIC_WORDS, Objections, WorseTopic
from meshwright.model.overlay import Overlay
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.objections import METRICS, objections_to
from meshwright.planning.changes.proposal import Circumstances, propose
from meshwright.planning.evaluation.evaluate import evaluate, forwarding_of
from meshwright.planning.placement.clients import Clients
from meshwright.planning.pricing import price_of


def topic_figures(overlay: Overlay, snapshot: Snapshot, topic: int) -> tuple[float, float]:
    """Messages of a publication and the mean delay in hops, over every publisher one by one."""
    forwarding = forwarding_of(overlay, snapshot)
    sent = [forwarding.publication(topic, broker) for broker in range(len(snapshot.brokers))]
    delays = [hops for one in sent for hops in one.delays_hops.tolist() if hops >= 0]
    wanted = sum(len(one.delays_hops) for one in sent)
    share = wanted / len(delays)
    return share * sum(one.total for one in sent) / len(sent), sum(delays) / len(delays)


def test_topics_that_get_worse_are_named_with_their_figures() -> None:
    snapshot = drawn_snapshot()
    joined = plan_network(snapshot, PlanWish("gm2")).target
    plan = plan_network(snapshot, PlanWish("chord", objective="cost"), source=joined)
    found = objections_to(plan, snapshot)
    worse = {}
    for number, topic in enumerate(snapshot.topics):
        old = topic_figures(plan.source, snapshot, number)
        new = topic_figures(plan.target, snapshot, number)
        if new[0] > old[0] + 1e-9 or new[1] > old[1] + 1e-9:
            worse[topic] = (*old, *new)
    assert worse
    assert found.worse_topic_count == len(worse)
    assert {one.topic for one in found.topics} <= set(worse)
    assert len(found.topics) == min(5, len(worse))
    for one in found.topics:
        figures = (
            one.messages_before, one.delay_hops_before, one.messages_after, one.delay_hops_after,
        )  # fmt: skip
        assert figures == pytest.approx(worse[one.topic])


def test_metrics_that_get_worse_are_named_and_no_others() -> None:
    snapshot = drawn_snapshot()
    gm2 = plan_network(snapshot, PlanWish("gm2")).target
    plan = plan_network(snapshot, PlanWish("gm", objective="cost"), source=gm2)
    old, new = evaluate(plan.source, snapshot), evaluate(plan.target, snapshot)
    found = {one.metric: (one.before, one.after) for one in objections_to(plan, snapshot).metrics}
    assert found["k_held"] == (2.0, 1.0)
    assert found["delay_hops_mean"] == (old.delay_hops_mean, new.delay_hops_mean)
    assert "degree_mean" not in found


def test_a_network_that_costs_more_is_named_first() -> None:
    snapshot = drawn_snapshot()
    joined = plan_network(snapshot, PlanWish("gm")).target
    plan = plan_network(snapshot, PlanWish("chord", objective="cost"), source=joined)
    first = objections_to(plan, snapshot).metrics[0]
    prices = [
        price_of(evaluate(overlay, snapshot), snapshot, PriceWeights()).total
        for overlay in (plan.source, plan.target)
    ]
    assert (first.metric, first.before, first.after) == ("price", *map(pytest.approx, prices))
    assert first.after > first.before


def test_deliveries_that_are_missed_today_do_not_make_a_plan_look_worse() -> None:
    snapshot = drawn_snapshot()
    links = plan_network(snapshot, PlanWish("gm")).target.links
    broken = Overlay(design="gm", brokers=snapshot.brokers, links=links[:1])
    plan = plan_network(snapshot, PlanWish("gm"), source=broken)
    assert plan.cost.missed_before > plan.cost.missed_after == 0.0
    assert "deliveries of 10 topics that are missed today are made" in plan.summary
    metrics = {one.metric for one in objections_to(plan, snapshot).metrics}
    assert "deliveries_missed" not in metrics


def test_who_must_reconnect_and_how_long_that_takes() -> None:
    rng = np.random.default_rng(3)
    rows = [rng.choice(5, size=3, replace=False) + 5 * (client % 2) for client in range(40)]
    wants = interests_from_sets([row.tolist() for row in rows], 10)
    brokers = rng.integers(6, size=40).astype(np.int32)
    names = tuple(f"c{number}" for number in range(40))
    population = Population(names, Clients(wants, brokers), np.zeros(6, dtype=np.int32))
    wanted = [{t for c in np.flatnonzero(brokers == b) for t in rows[c].tolist()} for b in range(6)]
    snapshot = replace(drawn_snapshot(6, 10), interests=interests_from_sets(wanted, 10))
    plan = propose(
        snapshot,
        PlanWish("chord", objective="cost"),
        Circumstances(
            population=population,
            placement="similarity",
            clients_per_s=4.0,
            data_until_us=1_000_000,
        ),
    )
    against = plan.against
    assert against is not None
    assert against.clients_reconnecting == len(plan.client_moves()) > 0
    leaving = [move.source for move in plan.client_moves()]
    assert against.move_s == max(map(leaving.count, leaving)) / 4.0
    assert against.move_messages == plan.reconfiguration_cost
    shown = "\n".join(against.sentences(now_us=601_000_000))
    assert "must connect to another broker" in shown
    assert "Its data ends 10 minutes ago." in shown


def test_figures_that_get_worse_are_told_apart_and_others_are_as_before() -> None:
    worse = WorseTopic(
        topic="news", messages_before=3.1671, messages_after=3.1671,
        delay_hops_before=1.20001, delay_hops_after=1.20002,
    )  # fmt: skip
    against = Objections(
        clients_reconnecting=0, move_messages=72.5754, move_s=0.0, clients_per_s=0.0,
        metrics=(), topics=(worse,), worse_topic_count=1,
    )  # fmt: skip
    assert against.sentences(0) == (
        "The change takes 72.6 messages; no client must connect anew.",
        "1 topic gets worse:",
        "  news: 3.17 messages a publication as before, delay 1.20001 to 1.20002 hops",
    )


def test_a_plan_without_steps_has_nothing_against_it() -> None:
    snapshot = drawn_snapshot()
    today = plan_network(snapshot, PlanWish("gm")).target
    plan = propose(snapshot, PlanWish("gm"), Circumstances(source=today))
    assert plan.against is not None
    assert (plan.steps, plan.against.metrics, plan.against.topics) == ((), (), ())
    assert "No metric and no topic gets worse." in plan.against.sentences(0)


def test_every_figure_that_may_get_worse_has_words_for_people() -> None:
    assert set(METRICS) | {"price"} == set(METRIC_WORDS)
