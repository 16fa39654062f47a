from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.planning.arrangement.break_even import break_even
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.designs import build_overlay


def published(snapshot: Snapshot, mean: float) -> Snapshot:
    return replace(
        snapshot, publications=snapshot.publications * mean / snapshot.publications.mean()
    )


@pytest.mark.parametrize("beta", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_a_move_pays_just_above_the_break_even_and_not_below(beta: float, seed: int) -> None:
    drawn = generate_snapshot(16, 12, 3, "multimodal", seed=seed, publications_per_topic=10.0)
    rates = np.random.default_rng(seed).uniform(1, 3, size=12)
    snapshot = replace(drawn, publications=rates)
    overlay = build_overlay("chord", snapshot, rng=np.random.default_rng(0))
    mean = break_even(overlay, snapshot, beta=beta)
    assert mean is not None
    moved = [
        arrange(
            published(snapshot, share * mean),
            "chord",
            "dynatops-greedy",
            source=overlay,
            reconfigurability_beta=beta,
            must_pay=True,
        ).moved
        for share in (0.999, 1.001)
    ]
    assert moved[0] == 0
    assert moved[1] > 0


def test_nothing_pays_at_any_rate_where_everybody_wants_everything() -> None:
    drawn = generate_snapshot(8, 4, 2, "unif", seed=1)
    everything = interests_from_sets([range(4)] * 8, 4)
    snapshot = replace(drawn, interests=everything, publications=np.ones(4))
    overlay = build_overlay("chord", snapshot, rng=np.random.default_rng(0))
    assert break_even(overlay, snapshot) is None
