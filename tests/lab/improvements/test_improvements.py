"""Our methods are measured beside the papers' on the same workloads, and the same seed says so."""

from __future__ import annotations

import numpy as np

from meshwright.lab.improvements.advising import measure_advice
from meshwright.lab.improvements.arranging import METHODS, measure_arrangement
from meshwright.lab.improvements.placing import changed_wants, drawn_wants, measure_placement
from meshwright.lab.improvements.recommending import measure_recommendation
from meshwright.lab.improvements.switching import measure_switch


def test_every_method_of_arrangement_starts_from_the_same_cost() -> None:
    rows = measure_arrangement(
        seed=1, popularity="zipf", broker_count=12, topic_count=10, topics_per_broker=3
    )
    assert [row["method"] for row in rows] == list(METHODS)
    assert all(0.0 < row["cost_left"] <= 1.0 for row in rows)
    best = rows[-1]
    assert all(row["cost_left"] >= best["cost_left"] for row in rows)


def test_clients_want_distinct_topics_and_change_one_at_a_time() -> None:
    for pattern in ("uniform", "multimodal"):
        rng = np.random.default_rng(1)
        wants = drawn_wants(200, 50, pattern, rng)
        asking = rng.random(200) < 0.5
        later = changed_wants(wants, asking, 50, pattern, rng)
        assert all(len(set(row)) == len(row) for row in (*wants.tolist(), *later.tolist()))
        assert ((wants != later).sum(axis=1) == asking).all()


def test_placement_is_measured_with_the_same_changes_for_every_method() -> None:
    arguments = {"pattern": "uniform", "start": "selected", "client_count": 300, "hours": 3}
    rows = measure_placement(seed=1, broker_count=10, topic_count=50, **arguments)
    assert rows == measure_placement(seed=1, broker_count=10, topic_count=50, **arguments)
    static, similar, bounded, uncapped, eager = rows
    assert static["hand_overs"] == 0.0 < similar["hand_overs"]
    assert uncapped["load_deviation"] > bounded["load_deviation"]
    assert eager["hand_overs"] >= bounded["hand_overs"]
    assert bounded["load_deviation"] < similar["load_deviation"]


def test_a_switch_by_epochs_holds_nobody_and_one_that_blocks_does() -> None:
    by_epochs, blocking = measure_switch(
        seed=1, broker_count=8, swap_count=1, publications_per_s=40
    )
    assert by_epochs["violations"] == blocking["violations"] == 0
    assert by_epochs["blocked_ms"] == 0.0 < blocking["blocked_ms"]
    assert by_epochs["answer_ms"] < blocking["answer_ms"]


def test_what_is_recommended_is_never_cheaper_than_the_winner() -> None:
    for seed in range(3):
        found = measure_recommendation(
            seed=seed, popularity="unif", seen_publications=100, changed_share=0.2, broker_count=8
        )
        assert not found["dearer"] < 0.0
        assert found["is_winner"] == (found["chosen"] == found["winner"])


def test_advice_is_judged_by_a_replay_of_what_came_after() -> None:
    found = measure_advice(seed=1, pattern="multimodal", users=80, brokers=6, topics=24, hours=10)
    assert found == measure_advice(
        seed=1, pattern="multimodal", users=80, brokers=6, topics=24, hours=10
    )
    assert found["dearer"] >= 0.0
    assert (found["dearer"] == 0.0) == (found["chosen"] == found["winner"])
    assert found["median_dearer"] > found["dearer"]
