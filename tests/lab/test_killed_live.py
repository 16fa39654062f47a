"""Brokers of a live network are killed: messages find no topic cut that the links do not cut."""

from __future__ import annotations

from typing import Any

from meshwright.lab.topic_connectivity.killing_live import measure_live_cuts


def test_no_topic_is_cut_while_k_holds_and_some_are_when_the_middle_of_a_star_dies() -> None:
    workload: dict[str, Any] = {
        "brokers": 4,
        "topics": 3,
        "topics_per_broker": 3,
        "popularity": "unif",
    }
    held = measure_live_cuts(seed=1, design="harary", k=2, killed=1, **workload)
    assert held == {"topics_cut_by_links": 0, "topics_cut_at_once": 0}
    cut = measure_live_cuts(seed=11, design="gm", k=1, killed=1, **workload)
    assert cut == {"topics_cut_by_links": 3, "topics_cut_at_once": 3}
