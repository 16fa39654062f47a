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


def moved(
    client: str,
    source: str,
    target: str,
    before: float,
    after: float,
    metric: str = "topics_shared",
    algorithm: str = "similarity",
) -> Step:
    return Step(
        action="move_client", brokers=(client, source, target), why="so.", algorithm=algorithm,
        metric=metric, before=before, after=after,
    )  # fmt: skip


def test_clients_that_go_the_same_way_are_told_in_one_line() -> None:
    steps = [moved(f"c{number}", "b7", "b3", 1.0, 4.0) for number in range(312)]
    steps.append(moved("x", "b1", "b3", 0.0, 2.0))
    first, second = grouped(steps)
    assert (len(first.steps), len(second.steps)) == (312, 1)
    assert first.sentence.startswith("312 clients of b7 to b3: on average they share 4 topics with")
    assert "c0, c1, c2, c3 and 308 more" in first.sentence
    assert second.sentence == "x moves from b1 to b3: so. (topics shared 0 to 2, by similarity)"
    moves = [ClientMove(step.brokers[0], step.brokers[1], step.brokers[2]) for step in steps]
    assert grouped_moves(reversed(moves)) == ["312 clients: b7 to b3", "client x: b1 to b3"]


def test_clients_that_go_the_same_way_for_other_reasons_are_told_apart() -> None:
    taste = [moved(f"c{number}", "b7", "b3", 1.0, 4.0) for number in range(39)]
    room = [moved(f"d{number}", "b7", "b3", 211.0, 210.0, "clients") for number in range(31)]
    first, second = grouped([*taste, *room])
    assert (len(first.steps), len(second.steps)) == (39, 31)
    assert "on average they share 4 topics with others of b3, and 1 with those of b7" in (
        first.sentence
    )
    # Each alone would be the 211th; all 31 that go would be there beside the 210 who stay.
    assert "with them b7 would have 241 clients, more than its fair share; b3 has 210" in (
        second.sentence
    )


@pytest.mark.parametrize("metric", ["clients", "subscriptions"])
def test_clients_that_make_room_for_those_who_come_are_told_so(metric: str) -> None:
    taste = [moved("c0", "b3", "b7", 1.0, 4.0), moved("c1", "b3", "b7", 1.0, 4.0)]
    room = [moved(f"d{number}", "b7", "b3", 211.0, 210.0, metric) for number in range(31)]
    told = "; they make room at b7 for clients that come for their topics"
    assert told in grouped([*taste, *room])[1].sentence
    assert told not in grouped(room)[0].sentence


def test_a_single_topic_that_is_shared_is_one_topic() -> None:
    (group,) = grouped([moved(f"c{number}", "b7", "b3", 0.0, 1.0) for number in range(2)])
    assert "they share 1 topic with others of b3, and 0 with those of b7" in group.sentence


@pytest.mark.parametrize(
    ("metric", "algorithm", "told"),
    [
        ("subscriptions", "similarity", "would have 60 subscriptions on average, those of b3 have"),
        ("clients_unserved", "similarity", "b7 leaves the network"),
        ("clients_elsewhere", "location", "b3 is the broker that is nearest to where they were"),
        ("clients_elsewhere", "static", "b3 is the broker for them by static placement, b7 is not"),
    ],
)
def test_every_reason_for_which_clients_go_is_told_of_all_of_them(
    metric: str, algorithm: str, told: str
) -> None:
    steps = [moved(name, "b7", "b3", 60.0, 40.0, metric, algorithm) for name in ("x", "y")]
    (group,) = grouped(steps)
    assert told in group.sentence
    assert "so." not in group.sentence


def test_links_that_join_no_parts_say_what_they_are_for() -> None:
    parts = [
        Step(
            action="add_link", brokers=("a", other), why="so.", algorithm="gm2",
            metric="topic_parts", before=before, after=after,
        )
        for other, before, after in (("b", 9.0, 7.0), ("c", 7.0, 5.0))
    ]  # fmt: skip
    (joining,) = grouped(parts)
    assert "the links join 4 parts of topics that were apart" in joining.sentence
    alike = [msgspec.structs.replace(step, after=step.before) for step in parts]
    (further,) = grouped(alike)
    assert "other ways, for when a broker fails" in further.sentence


def test_links_of_another_design_say_what_goes_over_them(snapshot: Snapshot) -> None:
    plan = from_tree(snapshot, PlanWish("cycle", objective="cost"))
    added, removed = (
        [step for step in plan.steps if step.action == action]
        for action in ("add_link", "remove_link")
    )
    assert added
    assert all("the link takes them straight" in step.why for step in added)
    assert all("carry them another way" in step.why or "no such" in step.why for step in removed)
    several = [group for group in grouped(plan.steps) if len(group.steps) > 1]
    assert "what they share goes straight between them" in several[0].sentence


def test_links_of_one_broker_are_told_in_one_line_and_no_step_is_lost(snapshot: Snapshot) -> None:
    plan = from_tree(snapshot, PlanWish("mesh", objective="cost"))
    groups = grouped(plan.steps)
    assert sorted(step.brokers for group in groups for step in group.steps) == sorted(
        step.brokers for step in plan.steps
    )
    assert len(groups) <= len(snapshot.brokers)
    assert "is linked with" in groups[0].sentence
    assert grouped_links([("a", "b"), ("a", "c"), ("d", "e")]) == ["link a b, c", "link d e"]
