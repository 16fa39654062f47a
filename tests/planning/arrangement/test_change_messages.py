from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.identifiers import topic_key
from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import key_geometry, owners, path
from meshwright.planning.arrangement.change_messages import ChangeMessages, change_messages
from meshwright.planning.arrangement.reconfiguration import reconfiguration_cost
from meshwright.planning.arrangement.seats import arranged_overlay


class Sender:
    """A dull twin: sends every message of the protocol hop by hop, and counts."""

    def __init__(
        self, geometry: KeyGeometry, before: list[int], after: list[int], snapshot: Snapshot
    ) -> None:
        self.geometry, self.before, self.after, self.snapshot = geometry, before, after, snapshot
        self.sent = dict.fromkeys(("told", "ordered", "rejoined", "shipped", "repaired"), 0)

    def route(self, kind: str, source: int, target: int) -> None:
        self.sent[kind] += len(path(self.geometry, source, target)) - 1

    def run(self) -> ChangeMessages:
        brokers = range(len(self.before))
        moved = [broker for broker in brokers if self.before[broker] != self.after[broker]]
        if not moved:
            return ChangeMessages()
        for _ in brokers:
            self.sent["told"] += 2  # RCFG_INIT, RCFG_FINISH
        for broker in moved:
            self.sent["ordered"] += 4  # two orders, two answers
            for one, other in self.geometry.links.tolist():
                if self.after[broker] in (one, other):
                    neighbour = self.after.index(one + other - self.after[broker])
                    self.route("rejoined", self.before[broker], self.before[neighbour])
                    self.sent["rejoined"] += 1
            self.route("shipped", self.after[broker], self.before[broker])
            self.repair(broker)
        return ChangeMessages(**self.sent)

    def repair(self, broker: int) -> None:
        place = self.after[broker]
        former = self.before.index(place)
        for number, topic in enumerate(self.snapshot.topics):
            wants, wanted = (number in self.snapshot.interests.of(one) for one in (broker, former))
            if wants != wanted:
                root = int(owners(self.geometry, np.array([topic_key(topic)]))[0])
                self.route("repaired", place, root)
                self.route("repaired", root, place)


@pytest.mark.parametrize("shape", ["chord", "tapestry"])
@given(seed=st.integers(0, 50), broker_count=st.integers(2, 12), swaps=st.integers(0, 4))
def test_a_change_costs_what_its_messages_cost_one_by_one(
    shape: str, seed: int, broker_count: int, swaps: int
) -> None:
    rng = np.random.default_rng(seed)
    snapshot = generate_snapshot(broker_count, 6, 2, "unif", seed=seed)
    geometry = key_geometry(shape, broker_count)
    before: Int32Array = rng.permutation(broker_count).astype(np.int32)
    after = before.copy()
    for _ in range(swaps):
        one, other = rng.integers(broker_count, size=2)
        after[one], after[other] = after[other], after[one]
    source, target = (
        arranged_overlay(shape, snapshot, geometry, seats, {}) for seats in (before, after)
    )
    found = change_messages(source, target, snapshot)
    assert found == Sender(geometry, before.tolist(), after.tolist(), snapshot).run()


def test_a_change_of_a_hundred_brokers_costs_less_than_the_papers_bound() -> None:
    snapshot = generate_snapshot(100, 200, 10, "unif", seed=1)
    geometry = key_geometry("chord", 100)
    before = np.arange(100, dtype=np.int32)
    after = before[::-1].copy()
    source, target = (
        arranged_overlay("chord", snapshot, geometry, seats, {}) for seats in (before, after)
    )
    assert change_messages(source, target, snapshot).total < reconfiguration_cost(100, 100, 200)
