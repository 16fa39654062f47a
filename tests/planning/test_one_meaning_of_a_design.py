"""A design, a snapshot and a seed are one overlay, whoever builds it."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS, design
from meshwright.model.overlay import Overlay
from meshwright.model.price import PriceWeights
from meshwright.planning.changes.network import PlanWish, begun_overlay, plan_network
from meshwright.planning.changes.towards import plan_towards
from meshwright.planning.designs import build_overlay
from meshwright.planning.recommendation import Wish, candidate
from meshwright.planning.succession import EpochRules, follow

SEED = 7
SNAPSHOT = generate_snapshot(12, 30, 3, "unif", seed=3)


def links(overlay: Overlay) -> set[frozenset[str]]:
    return {frozenset(link) for link in overlay.links}


@pytest.mark.parametrize("name", DESIGNS)
def test_building_comparing_and_planning_agree_to_the_last_link(name: str) -> None:
    row = design(name)
    k = 2 if row.can_be_asked(2) else row.k_own
    built = build_overlay(name, SNAPSHOT, k=k, rng=np.random.default_rng(SEED))
    compared = candidate(name, SNAPSHOT, Wish(k=k), seed=SEED).overlay
    assert links(compared) == links(built)
    wish = PlanWish(name, objective="cost", k=k)
    assert links(plan_network(SNAPSHOT, wish, seed=SEED).target) == links(built)
    other = "chord" if row.geometry != "chord" else "tree"
    today = build_overlay(other, SNAPSHOT, rng=np.random.default_rng(0))
    assert links(plan_network(SNAPSHOT, wish, source=today, seed=SEED).target) == links(built)


@pytest.mark.parametrize("name", [name for name, row in DESIGNS.items() if not row.given])
def test_a_replay_begins_with_what_is_built(name: str) -> None:
    k = 2 if design(name).can_be_asked(2) else design(name).k_own
    built = build_overlay(name, SNAPSHOT, k=k, rng=np.random.default_rng(SEED))
    begun = follow(name, None, SNAPSHOT, EpochRules(k=k), seed=SEED)
    assert links(begun.overlay) == links(built)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_plan_towards_a_candidate_ends_there(name: str) -> None:
    chosen = candidate(name, SNAPSHOT, Wish(), seed=SEED).overlay
    for source in (
        begun_overlay(SNAPSHOT, PlanWish(name), 0),
        build_overlay("tree", SNAPSHOT, rng=np.random.default_rng(0)),
    ):
        plan = plan_towards(source, chosen, SNAPSHOT, PriceWeights())
        assert (plan.source, links(plan.target)) == (source, links(chosen))
        assert bool(plan.steps) == (links(source) != links(chosen))
