"""Topic-connected forwarding: planned overlays, deaths seen and unseen, offers and flooding."""

from __future__ import annotations

import numpy as np
import pytest
from broker_pump import Pump
from broker_stories import (
    TOPICS,
    assert_everybody_is_done,
    check_counts,
    check_reached,
    some_of,
    tell_who_is_alive,
)

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import Overlay
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.topic_connected import TopicConnected as ClosedForm
from meshwright.planning.evaluation.topic_connected import topic_connected_of
from meshwright.protocol.forwarding.topic_connected.offers import (
    GRAFT_AFTER_US,
    KEPT_MIN,
    OFFER_AFTER_US,
    Graft,
    Offer,
)
from meshwright.protocol.forwarding.topic_connected.topic_connected import (
    HandIn,
    Prune,
    TopicConnected,
)
from meshwright.protocol.foundation.effects import SetTimer
from meshwright.protocol.foundation.turn import Turn

PLANNED = [name for name, one in DESIGNS.items() if one.forwarding == "topic_connected"]
every_seed = pytest.mark.parametrize("seed", range(5))


@pytest.mark.parametrize("design", PLANNED)
def test_on_planned_overlays_the_closed_form_holds_from_the_first_frame_on(design: str) -> None:
    pump = planned_pump(design, seed=1)
    links = {(min(link), max(link)) for link in pump.overlay.links}
    assert pump.links_used <= links
    for topic in TOPICS:
        for origin in pump.overlay.brokers:
            expected = closed_form(pump).publication(*indexes(pump, topic, origin))
            assert pump.publish(origin, topic) == expected.total
            assert pump.sent[HandIn] == expected.entry
            assert pump.receivers(topic) <= set(pump.arrivals)
            assert len(pump.arrivals) == len(pump.receivers(topic) | {origin}) + max(
                expected.entry - 1, 0
            )
    pump.pass_time(OFFER_AFTER_US + 10 * GRAFT_AFTER_US)
    assert not pump.sent[Graft]
    assert not pump.timers


@every_seed
def test_flooding_takes_as_many_messages_as_its_closed_form_says(seed: int) -> None:
    pump = planned_pump("harary", seed=seed, dissemination="flood")
    for topic in TOPICS:
        for origin in pump.overlay.brokers:
            expected = closed_form(pump).flooding(*indexes(pump, topic, origin))
            assert pump.publish(origin, topic) == expected.total
    assert not pump.timers
    for name in some_of(pump.overlay.brokers, np.random.default_rng(seed)):
        pump.kill(name)
    tell_who_is_alive(pump, np.random.default_rng(seed))
    check_reached(pump)


@every_seed
def test_members_that_no_link_joins_are_reached_all_the_same(seed: int) -> None:
    for params in ({}, {"dissemination": "flood"}):
        names = tuple(f"b{index}" for index in range(12))
        overlay = Overlay(design="gm", params=params, brokers=names, links=(names[:2],))
        pump = Pump(overlay, TopicConnected)
        receivers = some_of(names, np.random.default_rng(seed))
        for name in receivers:
            pump.add(name, TOPICS[0])
        pump.drain()
        for origin in names:
            messages = pump.publish(origin, TOPICS[0])
            assert set(pump.arrivals) >= {*receivers, origin}
            assert messages == len({*receivers, origin}) - 1


@pytest.mark.parametrize("k", [2, 3])
@every_seed
def test_fewer_than_k_deaths_leave_a_topic_joined_by_its_own_links(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = planned_pump("harary", seed=seed, k=k)
    for name in rng.choice(pump.overlay.brokers, size=k - 1, replace=False):
        pump.kill(str(name))
    tell_who_is_alive(pump, rng)
    pump.drain()
    pump.links_used.clear()
    for topic in TOPICS:
        for origin in pump.receivers(topic):
            assert pump.publish(origin, topic) == len(pump.receivers(topic)) - 1
            assert set(pump.arrivals) == pump.receivers(topic)
    assert pump.links_used <= {(min(link), max(link)) for link in pump.overlay.links}
    check_counts(pump)


@every_seed
def test_what_dies_with_a_broker_that_nobody_missed_yet_is_offered_and_grafted(seed: int) -> None:
    pump = planned_pump("harary", seed=seed, k=2)
    topic = TOPICS[0]
    receivers = sorted(pump.receivers(topic))
    origin, victim = receivers[0], receivers[1 + seed % (len(receivers) - 1)]
    pump.kill(victim)
    pump.publish(origin, topic)
    missed = pump.receivers(topic) - set(pump.arrivals)
    pump.pass_time(len(missed) * (OFFER_AFTER_US + GRAFT_AFTER_US))
    assert set(pump.arrivals) == pump.receivers(topic)
    assert max(pump.arrivals.values()) == 1
    pump.publish(origin, topic)
    assert set(pump.arrivals) == pump.receivers(topic), "who was grafted need not wait again"
    for name in pump.machines:
        pump.see(name, pump.machines)
    check_counts(pump)


def test_who_gets_frames_twice_prunes_the_graft_and_the_tree_is_as_planned_again() -> None:
    pump = planned_pump("harary", seed=3, k=2)
    origin = min(pump.receivers(TOPICS[0]))
    pump.send_out(origin, TOPICS[0])
    pump.queue.popleft()
    pump.drain()
    assert set(pump.arrivals) < pump.receivers(TOPICS[0])
    pump.pass_time(8 * (OFFER_AFTER_US + GRAFT_AFTER_US))
    assert pump.sent[Graft] >= 1
    assert set(pump.arrivals) == pump.receivers(TOPICS[0]) - {origin}
    assert pump.publish(origin, TOPICS[0]) > len(pump.receivers(TOPICS[0])) - 1
    assert pump.sent[Prune] >= 1
    check_counts(pump)


def test_many_frames_are_offered_in_one_message_and_kept_in_bounded_memory() -> None:
    pump = planned_pump("harary", seed=2, k=4)
    for _ in range(3 * KEPT_MIN):
        pump.publish(pump.overlay.brokers[0], TOPICS[0])
    pump.sent.clear()
    pump.pass_time(OFFER_AFTER_US)
    assert 0 < pump.sent[Offer] <= 2 * len(pump.overlay.links)
    machine = pump.machines[min(pump.receivers(TOPICS[0]))]
    assert isinstance(machine, TopicConnected)
    offers = machine._offers
    assert len(offers._kept) + len(offers._kept_before) < 2 * KEPT_MIN


def test_a_frame_is_offered_once_over_each_link_beside_its_tree() -> None:
    pump = planned_pump("harary", seed=2, k=4)
    for topic in TOPICS:
        receivers = pump.receivers(topic)
        links = [link for link in pump.overlay.links if receivers.issuperset(link)]
        pump.publish(min(receivers), topic)
        pump.sent.clear()
        pump.pass_time(OFFER_AFTER_US)
        assert pump.sent[Offer] == len(links) - (len(receivers) - 1)


def test_an_offer_is_asked_for_only_when_it_stays_missing_and_then_from_one_after_the_other() -> (
    None
):
    pump = planned_pump("harary", seed=2, k=4)
    topic = TOPICS[0]
    first, second, lacking = sorted(pump.receivers(topic))[:3]
    machine = pump.machines[lacking]
    offer = Offer(7, numbered=(("b9", topic, 1),), events=(("client", 5),))
    offered = Turn(0)
    machine.handle(offered, first, offer)
    machine.handle(Turn(GRAFT_AFTER_US // 2), second, offer)
    (timer,) = offered.effects
    assert isinstance(timer, SetTimer)
    assert timer.at_us == GRAFT_AFTER_US
    pump.sent.clear()
    for count, asked in enumerate((first, second), start=1):
        turn = Turn(count * GRAFT_AFTER_US)
        machine.timer_fired(turn, timer.key)
        assert pump.sent[Graft] == count
        assert pump.queue.pop() == (lacking, asked, Graft(7, offer.numbered, offer.events))
    machine.timer_fired(Turn(10 * GRAFT_AFTER_US), timer.key)
    assert pump.sent[Graft] == 2


@every_seed
def test_brokers_that_die_and_return_again_and_again_end_as_planned(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = planned_pump("harary", seed=seed, k=3)
    for _ in range(4):
        dead = some_of(pump.overlay.brokers, rng)
        for name in dead:
            pump.kill(name)
        for topic in TOPICS:
            pump.publish(str(rng.choice(sorted(pump.machines))), topic)
        tell_who_is_alive(pump, rng)
        pump.pass_time(int(rng.integers(2 * GRAFT_AFTER_US)))
        check_reached(pump)
        for name in dead:
            pump.revive(name, pump.machines)
            pump.step(int(rng.integers(20)))
        tell_who_is_alive(pump, rng)
        pump.drain()
    assert_everybody_is_done(pump)
    pump.pass_time(10 * GRAFT_AFTER_US)
    # Who was offered what it had missed while dead was grafted; the first frame ends that.
    check_reached(pump)
    check_counts(pump)


def planned_pump(design: str, *, seed: int, k: int | None = None, **params: str) -> Pump:
    """Brokers that want what the overlay was planned for."""
    snapshot = generate_snapshot(14, len(TOPICS), 2, "unif", seed=seed)
    overlay = build_overlay(design, snapshot, k=k, rng=np.random.default_rng(seed))
    fields = {name: getattr(overlay, name) for name in overlay.__struct_fields__}
    pump = Pump(Overlay(**{**fields, "params": {**overlay.params, **params}}), TopicConnected)
    degrees = {name: sum(name in link for link in overlay.links) for name in overlay.brokers}
    for index, name in enumerate(overlay.brokers):
        for topic in snapshot.interests.of(index).tolist():
            pump.sent.clear()
            pump.add(name, TOPICS[topic])
            pump.drain()
            assert pump.sent_of("subscription") == degrees[name]
            assert pump.done[name, TOPICS[topic]] == 1
    return pump


def closed_form(pump: Pump) -> ClosedForm:
    return topic_connected_of(pump.overlay, pump.snapshot(TOPICS))


def indexes(pump: Pump, topic: str, origin: str) -> tuple[int, int]:
    return TOPICS.index(topic), pump.overlay.brokers.index(origin)
