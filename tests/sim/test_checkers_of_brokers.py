from __future__ import annotations

import msgspec
import numpy as np

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import forwarding_of, publication_messages
from meshwright.sim.checkers.closed_form import miscounted, publications_due, subscriptions_due
from meshwright.sim.checkers.connectivity import k_not_held
from meshwright.sim.checkers.loops import loops
from meshwright.sim.checkers.queues import QueueLength, overfull

SNAPSHOT = generate_snapshot(8, 5, 2, "unif", seed=1)


def built(design: str) -> Overlay:
    return build_overlay(design, SNAPSHOT, rng=np.random.default_rng(0))


class Dropped(msgspec.Struct, frozen=True):
    reason: str
    topic: str


def test_what_was_dropped_for_its_hops_went_in_a_circle() -> None:
    records = [(5, "b0", Dropped("hops", "a")), (6, "b1", Dropped("expired", "a")), (7, "b1", 3)]
    (violation,) = loops(records)
    assert violation.topic == "a"
    assert violation.time_us == 5


def test_a_queue_is_reported_once_when_it_outgrows_its_bound() -> None:
    lengths = [
        QueueLength(1, "b0", "log", 10, 10),
        QueueLength(2, "b0", "log", 11, 10),
        QueueLength(3, "b0", "log", 12, 10),
        QueueLength(3, "b1", "log", 3, 10),
    ]
    (violation,) = overfull(lengths)
    assert violation.sentence.startswith("log of b0 held 11")


def test_a_link_less_breaks_what_k_promises_and_other_designs_promise_nothing() -> None:
    overlay = built("gm")
    assert k_not_held(overlay, SNAPSHOT, 1) == []
    cut = msgspec.structs.replace(overlay, links=overlay.links[1:])
    assert k_not_held(cut, SNAPSHOT, 1)
    assert k_not_held(msgspec.structs.replace(built("chord"), links=()), SNAPSHOT, 1) == []


def test_publications_due_are_the_sum_of_the_closed_form() -> None:
    overlay = built("chord")
    published = [(0, 1), (2, 3), (0, 1)]
    due = publications_due(overlay, SNAPSHOT, published)
    assert due == sum(publication_messages(overlay, SNAPSHOT, *at).total for at in published)


def test_subscriptions_due_grow_with_the_overlay_as_it_was() -> None:
    pairs = zip(
        SNAPSHOT.interests.columns.tolist(),
        SNAPSHOT.interests.row_of_pairs().tolist(),
        strict=True,
    )
    overlay = built("pastry")
    forwarding = forwarding_of(overlay, SNAPSHOT)
    assert subscriptions_due(overlay, SNAPSHOT, pairs) == forwarding.all_subscriptions()


def test_a_class_that_was_counted_wrongly_is_named() -> None:
    assert miscounted({"publication": 3}, {"publication": 3}) == []
    (violation,) = miscounted({"publication": 3}, {"publication": 4})
    assert violation.sentence == "3 messages of class publication where 4 are due"
    assert miscounted({}, {"repair": 0}) == []
