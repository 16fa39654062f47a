"""A replay plans as often as moves of brokers need to pay for themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.replays.paying_period import EPOCH_SLOTS, paying_period
from meshwright.planning.arrangement.break_even import paying_share
from meshwright.planning.arrangement.plan import arrange


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    drawn = generate_snapshot(16, 12, 3, "unif", seed=1)
    return replace(drawn, publications=np.full(len(drawn.topics), 5.0))


def moves(snapshot: Snapshot, share: float) -> int:
    longer = replace(snapshot, publications=snapshot.publications * share)
    plan = arrange(longer, "chord", "dynatops-greedy", reconfigurability_beta=0.1, must_pay=True)
    return plan.moved


def test_below_the_break_even_nobody_moves_and_above_it_somebody_does(snapshot: Snapshot) -> None:
    share = paying_share(snapshot)
    assert share is not None
    assert moves(snapshot, 0.95 * share) == 0
    assert moves(snapshot, 1.05 * share) > 0


def test_the_period_is_twice_what_a_move_needs_within_the_trace(snapshot: Snapshot) -> None:
    share = paying_share(snapshot)
    assert share is not None
    slots = int(np.ceil(share * EPOCH_SLOTS))
    long = paying_period(snapshot, 100 * slots, delay_weight=1.0)
    assert long.epoch_slots == pytest.approx(2 * slots, abs=1)
    assert f"pays for itself in about {slots:,} at the rates" in long.reason
    tight = paying_period(snapshot, 2 * slots, delay_weight=1.0)
    assert tight.epoch_slots == slots
    short = paying_period(snapshot, slots, delay_weight=1.0)
    assert short.epoch_slots == EPOCH_SLOTS
    assert "dynatops has nothing to gain here" in short.reason


def test_where_nothing_is_published_nothing_pays(snapshot: Snapshot) -> None:
    silent = replace(snapshot, publications=np.zeros(len(snapshot.topics)))
    assert paying_period(silent, 100, delay_weight=1.0).reason.startswith("No move of brokers")
