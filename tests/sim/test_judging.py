"""Every checker judges every run: evidence that is doctored in one way is found by its checker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from tests.history.histories import delivered, published, subscribed

from meshwright.history.history import Oddity
from meshwright.protocol.forwarding.forwarding import Dropped
from meshwright.protocol.reconfiguration.messages import PlanRecord
from meshwright.sim.brokers.breakdown import Breakdown
from meshwright.sim.checkers.queues import QueueLength
from meshwright.sim.runs.run import Run, run
from meshwright.sim.runs.simulation import builder_of, judge
from meshwright.sim.scenario.parameters import SimulationParameters

STILL = SimulationParameters(
    design="gm", brokers=4, clients=6, duration_s=2.0, changes_per_s=0.0, wildcard_share=0.0,
    content_share=0.0,
)  # fmt: skip


def lived() -> Run:
    return run(STILL, 1, builder_of(STILL))


def lose(done: Run) -> Run:
    published(done.world.history)
    subscribed(done.world.history)
    return done


def deliver(done: Run, *sequences: int) -> Run:
    subscribed(done.world.history)
    for sequence in sorted(set(sequences)):
        published(done.world.history, sequence, qos=2, acknowledged_us=None)
    for sequence in sequences:
        delivered(done.world.history, sequence, qos=2)
    return done


def surprise(done: Run) -> Run:
    delivered(done.world.history, publisher="nobody")
    return done


def offend(done: Run) -> Run:
    done.world.history.oddities.append(Oddity(7, "s", "b0", "a second CONNACK"))
    return done


def ask(done: Run) -> Run:
    next(iter(done.world.clients.values())).publish("t0", 1)
    return done


def break_down(done: Run) -> Run:
    done.world.breakdowns.append(Breakdown(7, "b0", "Synced", "KeyError: 1", "here"))
    return done


def circle(done: Run) -> Run:
    done.world.records.add(7, "b0", Dropped(origin="b1", number=1, topic="a", reason="hops"))
    return done


def overfill(done: Run) -> Run:
    done.world.queue_peaks["b0", "log"] = QueueLength(7, "b0", "log", 11, 10)
    return done


def share_an_epoch(done: Run) -> Run:
    for plan in ("one", "other"):
        done.world.records.add(7, "b0", PlanRecord(plan=plan, epoch=5, step="granted"))
    return done


def leave_behind(done: Run) -> Run:
    ahead = done.observed["b0"]._replace(epoch=3)
    return replace(done, observed={**done.observed, "b0": ahead})


def bind(done: Run) -> Run:
    bound = done.observed["b0"]._replace(is_changing=True)
    return replace(done, observed={**done.observed, "b0": bound})


def cut_links(done: Run) -> Run:
    bare = msgspec.structs.replace(done.overlay, links=())
    observed = {name: one._replace(epoch=3, overlay=bare) for name, one in done.observed.items()}
    return replace(done, observed=observed)


def repair(done: Run) -> Run:
    repairs = next(kind for kind in done.world.message_counts if kind.__name__ == "Push")
    done.world.message_counts[repairs] += 1
    return done


@pytest.mark.parametrize(
    ("doctor", "checker"),
    [
        (lose, "lost"),
        (lambda done: deliver(done, 1, 1), "duplicated"),
        (lambda done: deliver(done, 2, 1), "reordered"),
        (surprise, "unexpected"),
        (offend, "manners"),
        (ask, "unanswered"),
        (break_down, "broken"),
        (circle, "loops"),
        (lambda done: replace(done, late_messages={"publication": 1}), "loops"),
        (overfill, "queues"),
        (share_an_epoch, "epochs"),
        (leave_behind, "epochs"),
        (bind, "epochs"),
        (cut_links, "k_held"),
        (repair, "closed_form"),
    ],
)
def test_doctored_evidence_is_found_by_one_checker(
    doctor: Callable[[Run], Run], checker: str
) -> None:
    done = lived()
    assert judge(done) == {}
    doctored = doctor(done)
    # What is made up was not counted on the way, of which the closed form need not be told.
    if checker != "closed_form":
        moving = msgspec.structs.replace(STILL, changes_per_s=1.0)
        doctored = replace(doctored, parameters=moving)
    assert list(judge(doctored)) == [checker]


def test_every_queue_of_every_broker_is_looked_at() -> None:
    done = lived()
    queues = {"log", "client", "peer", "held", "qos0", "group"}
    assert set(done.world.queue_peaks) == {(b, q) for b in done.world.hosts for q in queues}
    assert max(one.length for one in done.world.queue_peaks.values()) > 0


def test_brokers_with_little_room_meet_their_bounds_and_refuse_aloud() -> None:
    tight = SimulationParameters(
        design="chord", brokers=5, clients=10, duration_s=6.0, tight=True,
        publications_per_s=150.0, faults=("crash", "partition"),
    )  # fmt: skip
    met: set[str] = set()
    for seed in range(1, 5):
        done = run(tight, seed, builder_of(tight))
        assert judge(done) == {}
        peaks = done.world.queue_peaks.values()
        met |= {one.queue for one in peaks if one.length == one.length_max}
        assert any(one.refused for one in done.world.history.publications.values())
    assert {"log", "held"} <= met
