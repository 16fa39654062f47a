"""What a plan does to the price of a publication, and how its steps are told."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import candidates
from meshwright.model.plan import ClientMove, Plan, Step, told_worth
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.grouping import grouped, grouped_links, grouped_moves
from meshwright.planning.changes.network import PlanWish
from meshwright.planning.changes.proposal import Circumstances, propose
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.pricing import price_of


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return generate_snapshot(12, 20, 4, "zipf", seed=2)


def from_tree(snapshot: Snapshot, wish: PlanWish) -> Plan:
    today = build_overlay("tree", snapshot, rng=np.random.default_rng(0))
    return propose(snapshot, wish, Circumstances(source=today))


@pytest.mark.parametrize("name", candidates())
def test_a_plan_is_priced_as_a_comparison_prices_its_overlays(
    name: str, snapshot: Snapshot
) -> None:
    plan = from_tree(snapshot, PlanWish(name))
    assert plan.price is not None
    for overlay, price, change in (
        (plan.source, plan.price.before, 0.0),
        (plan.target, plan.price.after, plan.reconfiguration_cost),
    ):
        expected = price_of(evaluate(overlay, snapshot), snapshot, PriceWeights(), change)
        assert msgspec.to_builtins(price) == pytest.approx(msgspec.to_builtins(expected))
    if not plan.steps:
        assert plan.price.saved == 0.0
        assert told_worth(plan).startswith("Nothing changes")
    else:
        written = plan.price.after.shown()["price"]
        assert f" to {written}, the change included" in told_worth(plan)


def test_a_plan_that_links_make_dear_is_at_a_loss_and_says_so(snapshot: Snapshot) -> None:
    wish = PlanWish("mesh", objective="cost")
    assert not from_tree(snapshot, wish).is_at_a_loss
    dear = from_tree(snapshot, weighed(wish, PriceWeights(link=2.0)))
    assert dear.is_at_a_loss
    verdict = told_worth(dear)
    assert "mostly for links: the plan is at a loss." in verdict


def weighed(wish: PlanWish, weights: PriceWeights) -> PlanWish:
    return PlanWish(wish.design, wish.objective, weights=weights)


def moved(client: str, source: str, target: str, before: float, after: float) -> Step:
    return Step(
        action="move_client", brokers=(client, source, target), why="so.", algorithm="similarity",
        metric="topics_shared", before=before, after=after,
    )  # fmt: skip


def test_clients_that_go_the_same_way_are_told_in_one_line() -> None:
    steps = [moved(f"c{number}", "b7", "b3", 1.0, 4.0) for number in range(312)]
    steps.append(moved("x", "b1", "b3", 0.0, 2.0))
    first, second = grouped(steps)
    assert (first.number, len(first.steps), second.number) == (1, 312, 313)
    assert first.sentence.startswith("312 clients of b7 to b3: on average they share 4 topics with")
    assert "c0, c1, c2, c3 and 308 more" in first.sentence
    assert second.sentence.startswith("move_client x b1 b3")
    moves = [ClientMove(step.brokers[0], step.brokers[1], step.brokers[2]) for step in steps]
    assert grouped_moves(reversed(moves)) == ["312 clients: b7 to b3", "client x: b1 to b3"]


def test_links_of_one_broker_are_told_in_one_line_and_no_step_is_lost(snapshot: Snapshot) -> None:
    plan = from_tree(snapshot, PlanWish("mesh", objective="cost"))
    groups = grouped(plan.steps)
    assert sorted(step.brokers for group in groups for step in group.steps) == sorted(
        step.brokers for step in plan.steps
    )
    assert len(groups) <= len(snapshot.brokers)
    assert "is linked with" in groups[0].sentence
    assert grouped_links([("a", "b"), ("a", "c"), ("d", "e")]) == ["link a b, c", "link d e"]
