from __future__ import annotations

import numpy as np
import pytest

from meshwright.errors import ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.succession import EpochRules, follow

RULES = EpochRules()
ARRANGED = [name for name, row in DESIGNS.items() if "arrangement" in row.given]


def snapshot(seed: int, publications: float) -> Snapshot:
    return generate_snapshot(
        16, 12, 3, "multimodal", seed=seed, publications_per_topic=publications
    )


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_follows_its_snapshots_and_says_what_it_is_like(name: str) -> None:
    first = follow(name, None, snapshot(1, 5000.0), RULES, seed=0)
    second = follow(name, first.overlay, snapshot(2, 5000.0), RULES, seed=1)
    assert second.overlay.brokers == first.overlay.brokers
    assert second.evaluation == evaluate(second.overlay, snapshot(2, 5000.0))
    assert (second.reconfiguration_messages > 0) == (second.moved > 0)
    assert (second.overlay == first.overlay) == (second.moved == 0)
    assert follow(name, first.overlay, snapshot(2, 5000.0), RULES, seed=1) == second


@pytest.mark.parametrize("name", ARRANGED)
def test_nobody_moves_where_the_whole_cost_is_small(name: str) -> None:
    quiet = follow(name, None, snapshot(1, 0.1), RULES, seed=0)
    assert quiet.moved == 0
    assert quiet.reconfiguration_messages == 0.0
    assert quiet.reason.startswith("Nothing better")


@pytest.mark.parametrize("name", ARRANGED)
def test_a_plan_that_does_not_pay_is_not_carried_out(name: str) -> None:
    assert follow(name, None, snapshot(1, 1.0), EpochRules(beta=0.0), seed=0).moved == 0
    found = follow(name, None, snapshot(1, 5000.0), EpochRules(beta=0.0), seed=0)
    assert found.plan is not None
    assert found.moved > 0
    assert found.plan.net_benefit > 0.0


def test_new_links_and_cut_links_cost_a_message_each() -> None:
    first = follow("gm", None, snapshot(1, 10.0), RULES, seed=0)
    second = follow("gm", first.overlay, snapshot(2, 10.0), RULES, seed=0)
    changed = set(first.overlay.links) ^ set(second.overlay.links)
    assert second.reconfiguration_messages == len(changed)
    assert first.reconfiguration_messages == 0.0


def test_an_epoch_in_which_nobody_wants_anything_has_an_overlay_too() -> None:
    nobody = interests_from_sets([()] * 16, 0)
    empty = Snapshot(snapshot(1, 1.0).brokers, (), nobody, np.zeros(0))
    for name in DESIGNS:
        assert follow(name, None, empty, RULES, seed=0).overlay.brokers == empty.brokers


def test_an_unknown_design_is_refused_with_those_there_are() -> None:
    with pytest.raises(ProblemError, match="choose one of chord"):
        follow("ring", None, snapshot(1, 1.0), RULES, seed=0)
