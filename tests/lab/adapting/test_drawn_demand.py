"""Drawn trees and traffic are valid, differ as their kinds say, and depend on the seed alone."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.lab.adapting.demand import (
    KINDS,
    TrafficKind,
    drawn_costs,
    drawn_traffic,
    drawn_tree,
    drifted,
)
from meshwright.lab.adapting.planned import (
    NEVER,
    measure_clients,
    measure_drift,
    measure_gap,
    measure_rounds,
    measure_search,
)
from meshwright.lab.adapting.simulated import measure_self_adaptation
from meshwright.planning.adaptation.values import check_demand


@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_of_clients_and_fit_the_tree_and_its_costs(kind: TrafficKind) -> None:
    tree = drawn_tree(12, np.random.default_rng(1))
    traffic = drawn_traffic(kind, tree, np.random.default_rng(2))
    check_demand(tree, traffic, drawn_costs(tree, 2, 3, np.random.default_rng(3)))
    assert traffic.classes.columns.min() >= tree.broker_count
    again = drawn_traffic(kind, tree, np.random.default_rng(2))
    assert again.classes.columns.tolist() == traffic.classes.columns.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_traffic_drifts_by_the_share_that_is_asked_for(kind: TrafficKind) -> None:
    tree = drawn_tree(20, np.random.default_rng(1))
    traffic = drawn_traffic(kind, tree, np.random.default_rng(2))
    for share in (0.0, 0.5, 1.0):
        later = drifted(kind, tree, traffic, share, np.random.default_rng(3))
        rows = range(traffic.classes.row_count)
        same = [set(traffic.classes.of(row)) == set(later.classes.of(row)) for row in rows]
        assert np.mean(same) == pytest.approx(1.0 - share, abs=0.2)


def test_groups_gain_more_from_adapting_than_anybody_with_anybody() -> None:
    ends = {
        kind: np.mean(
            [
                measure_rounds(seed=seed, kind=kind, broker_count=24)[0]["cost_share_end"]
                for seed in range(6)
            ]
        )
        for kind in ("groups", "uniform")
    }
    assert ends["groups"] < ends["uniform"] < 1.0


def test_a_measure_depends_on_its_arguments_alone() -> None:
    for _ in range(2):
        first = measure_search(seed=3, neighbour_count=6, tenure=NEVER, iterations=9, moves_max=5)
        assert first == measure_search(
            seed=3, neighbour_count=6, tenure=NEVER, iterations=9, moves_max=5
        )
    drift = measure_drift(seed=1, drift_share=0.5, kind="groups", broker_count=8, period_count=3)
    assert drift == measure_drift(
        seed=1, drift_share=0.5, kind="groups", broker_count=8, period_count=3
    )


def test_no_tree_is_cheaper_than_the_optimum() -> None:
    for seed in range(5):
        found = measure_gap(seed=seed, kind="content", broker_count=5, tenure=7)
        assert 0.0 <= found["gap"] <= found["gap_before"]


def test_clients_move_only_if_they_may() -> None:
    stay, move = (
        measure_clients(seed=2, kind="groups", broker_count=8, move_clients=may)
        for may in (False, True)
    )
    assert stay["moved_share"] == 0.0 < move["moved_share"]
    assert move["cost_left"] < stay["cost_left"]


def test_simulated_brokers_save_messages_and_lose_none() -> None:
    found = measure_self_adaptation(
        seed=1, popularity="multimodal", broker_count=10, every_s=2, duration_s=12
    )
    assert found["violations"] == 0
    assert found["changes"] > 0
    assert found["messages_after"] < found["messages_before"]
    assert found["messages_per_change"] < found["whole_messages"]
