from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.lab.carried import carried_on_geometry, carried_on_tree
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate

SNAPSHOTS = st.builds(
    lambda brokers, topics, seed: generate_snapshot(
        brokers, topics, 1 + seed % topics, "unif", seed=seed, publications_per_topic=3.0
    ),
    st.integers(2, 14),
    st.integers(1, 6),
    st.integers(0, 99),
)


@settings(max_examples=40)
@given(SNAPSHOTS, st.sampled_from(["chord", "tapestry", "pastry", "quadtree"]))
def test_links_carry_and_brokers_relay_what_the_evaluation_counts(
    snapshot: Snapshot, design: str
) -> None:
    overlay = build_overlay(design, snapshot, rng=np.random.default_rng(0))
    carried = carried_on_geometry(overlay, snapshot)
    found = evaluate(overlay, snapshot)
    assert carried.relayed.sum() == pytest.approx(found.messages_external)
    assert carried.links.sum() == pytest.approx(found.messages_internal + found.messages_external)


@settings(max_examples=40)
@given(SNAPSHOTS)
def test_a_tree_carries_the_paths_between_members(snapshot: Snapshot) -> None:
    overlay = build_overlay("tree", snapshot, rng=np.random.default_rng(0))
    tree = nx.Graph(overlay.links)
    links = dict.fromkeys((frozenset(link) for link in overlay.links), 0.0)
    relayed = dict.fromkeys(overlay.brokers, 0.0)
    for topic, rate in enumerate(snapshot.publications.tolist()):
        wants = snapshot.interests.dense()[:, topic]
        members = [name for name, wanted in zip(snapshot.brokers, wants, strict=True) if wanted]
        paths = [nx.shortest_path(tree, members[0], member) for member in members]
        for link in {frozenset(step) for path in paths for step in pairwise(path)}:
            links[link] += rate
        for relay in {name for path in paths for name in path} - set(members):
            relayed[relay] += rate
    carried = carried_on_tree(overlay, snapshot)
    assert carried.links.tolist() == [links[frozenset(link)] for link in overlay.links]
    assert carried.relayed.tolist() == [relayed[name] for name in overlay.brokers]
