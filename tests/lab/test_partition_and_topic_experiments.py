"""Experiments on hypercubes and topic-connected overlays, at sizes that take moments."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import ProblemError
from meshwright.lab.papers.ktco import KILLED_DESIGNS, cuts
from meshwright.lab.partition_routing.traffic import measure_ratios, measure_simulated
from meshwright.lab.topic_connectivity.killing import cut_topics, measure_simulated_cuts
from meshwright.lab.topic_connectivity.links import measure_links
from meshwright.lab.workloads import Exponents, draw_interests, generate_snapshot, topic_weights

NETWORK = {"brokers": 16, "topics": 12, "topics_per_broker": 4, "popularity": "unif"}


@pytest.mark.parametrize("reading", ["selective+path", "broadcast+sub_partition"])
@pytest.mark.parametrize("digit_bits", [4, 1])
def test_simulated_messages_of_a_hypercube_and_of_scribe_are_those_of_the_closed_form(
    reading: str, digit_bits: int
) -> None:
    found = measure_simulated(
        seed=3, dimensions=4, digit_bits=digit_bits, reading=reading, event_count=4,
        patterns=30, matches=8,
    )  # fmt: skip
    assert found["bt_events"] == found["bt_events_due"]
    assert found["bt_subscriptions"] == found["bt_subscriptions_due"]


def test_more_low_bits_make_events_cheaper_and_subscriptions_dearer() -> None:
    rows = [
        measure_ratios(seed=1, dimensions=7, digit_bits=4, low_bits=k, event_count=200)
        for k in (1, 3, 6)
    ]
    events, subscriptions = (
        [row[name] for row in rows] for name in ("bt_events", "bt_subscriptions")
    )
    assert events[0] > events[1]
    assert subscriptions == sorted(subscriptions)


@pytest.mark.parametrize(("design", "k"), KILLED_DESIGNS)
@pytest.mark.parametrize("killed", [1, 2])
def test_a_topic_is_cut_for_messages_if_it_is_cut_on_the_links(
    design: str, k: int, killed: int
) -> None:
    for seed in range(2):
        found = measure_simulated_cuts(seed=seed, design=design, k=k, killed=killed, **NETWORK)
        assert found["topics_cut_at_once"] == found["topics_cut_by_links"], f"seed {seed}"
        if k > killed:
            assert found["topics_cut_at_once"] == 0, f"seed {seed}"


@given(st.integers(0, 2**16), st.integers(0, 3))
@settings(max_examples=30)
def test_cut_topics_are_those_that_networkx_finds_in_pieces(seed: int, killed: int) -> None:
    rng = np.random.default_rng(seed)
    interests = draw_interests(9, 5, 3, "unif", rng)
    links = np.argwhere(np.triu(rng.random((9, 9)) < 0.3, 1)).astype(np.int32)
    dead = rng.choice(9, killed, replace=False)
    whole = nx.Graph(links.tolist())
    whole.add_nodes_from(range(9))
    expected = []
    for topic in range(5):
        living = set(interests.transposed().of(topic).tolist()) - set(dead.tolist())
        if living and not nx.is_connected(whole.subgraph(living)):
            expected.append(topic)
    assert cut_topics(links, interests, dead) == expected


def test_every_design_of_the_paper_has_a_row_with_its_links() -> None:
    rows = measure_links(seed=2, **NETWORK | {"brokers": 60})
    lines = {row["line"]: row["degree"] for row in rows}
    assert set(lines) == {"gm", "gm2", "cycle", "best", *(f"harary {k}" for k in range(2, 15))}
    assert lines["gm"] < lines["gm2"] < lines["cycle"]


def test_exponents_say_how_unequal_topics_are() -> None:
    assert topic_weights(4, "zipf", Exponents(zipf=1.0)).tolist() == pytest.approx(
        [1, 1 / 2, 1 / 3, 1 / 4]
    )
    assert topic_weights(2, "expo", Exponents(expo=2.0)).tolist() == pytest.approx([1, np.exp(-1)])
    even, steep = (
        generate_snapshot(50, 40, 5, "zipf", seed=1, exponents=Exponents(zipf=zipf))
        for zipf in (0.0, 3.0)
    )
    assert len(steep.topics) < len(even.topics)
    with pytest.raises(ProblemError, match="take 0 or more"):
        Exponents(zipf=-1.0)


def test_cuts_are_counted_apart_for_designs_that_hold_enough() -> None:
    rows = pd.DataFrame({"k": [1, 2, 3], "killed": [1, 1, 2], "topics_cut_worst": [5, 0, 1]})
    assert cuts("topics_cut_worst", holds=True)(rows) == 1
    assert cuts("topics_cut_worst", holds=False)(rows) == 5
