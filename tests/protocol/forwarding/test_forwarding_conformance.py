"""All machines by the same laws: the closed form when nothing changes, and mending when it does."""

from __future__ import annotations

import numpy as np
import pytest
from broker_kinds import KINDS, Kind, new_pump
from broker_stories import (
    TOPICS,
    assert_everybody_is_done,
    change_interests,
    check_counts,
    check_reached,
    some_of,
    tell_who_is_alive,
)

from meshwright.errors import CallerError
from meshwright.filters.filter import Filter
from meshwright.planning.evaluation.evaluate import forwarding_of
from meshwright.protocol.forwarding.partition.partition import Partition
from meshwright.protocol.forwarding.rehearsal import Rehearsal
from meshwright.protocol.forwarding.topic_connected.topic_connected import TopicConnected
from meshwright.protocol.foundation.turn import Turn

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_seed = pytest.mark.parametrize("seed", range(5))


@every_kind
@every_seed
def test_subscriptions_and_publications_take_as_many_messages_as_the_closed_form_says(
    kind: Kind, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng)
    for _ in range(40):
        name, topic = str(rng.choice(pump.overlay.brokers)), str(rng.choice(TOPICS))
        if topic in pump.wanted[name]:
            pump.remove(name, topic)
            pump.drain()
            continue
        expected = forwarding_of(pump.overlay, pump.snapshot(TOPICS)).subscription(
            TOPICS.index(topic), pump.overlay.brokers.index(name)
        )
        pump.sent.clear()
        before = pump.done[name, topic]
        pump.add(name, topic)
        pump.drain()
        assert pump.sent_of("subscription") == expected, f"seed {seed}"
        assert pump.done[name, topic] == before + 1
    check_counts(pump)
    if kind.machine is not TopicConnected:
        assert pump.links_used <= {(min(link), max(link)) for link in pump.overlay.links}


@every_kind
@every_seed
def test_who_came_and_left_while_others_did_is_served_as_the_closed_form_says(
    kind: Kind, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng)
    change_interests(pump, rng, 60)
    pump.drain()
    assert_everybody_is_done(pump)
    check_counts(pump)


@every_kind
@every_seed
def test_the_overlay_mends_itself_when_brokers_die_and_when_they_return(
    kind: Kind, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng, broker_count_min=4)
    change_interests(pump, rng, 60)
    pump.step(int(rng.integers(60)))
    dead = some_of(pump.overlay.brokers, rng)
    for name in dead:
        pump.kill(name)
    tell_who_is_alive(pump, rng)
    pump.drain()
    assert_everybody_is_done(pump)
    check_reached(pump)
    if kind.machine is not Partition:
        check_counts(pump)
    for name in dead:
        pump.revive(name, pump.machines)
        pump.step(int(rng.integers(20)))
    tell_who_is_alive(pump, rng)
    pump.drain()
    assert_everybody_is_done(pump)
    check_counts(pump)


@every_kind
def test_what_a_dead_broker_sent_does_no_harm_when_it_comes_late(kind: Kind) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pump = new_pump(kind, rng, broker_count_min=9)
        for name in pump.overlay.brokers:
            pump.add(name, TOPICS[0])
        pump.step(int(rng.integers(len(pump.queue) + 1)))
        pump.kill(str(rng.choice(pump.overlay.brokers)))
        for name in pump.machines:
            pump.see(name, pump.machines)
        pump.drain()
        check_reached(pump)
        if kind.machine is not Partition:
            check_counts(pump)


@every_kind
@every_seed
def test_a_broker_that_restarts_unseen_gets_back_its_part(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng)
    change_interests(pump, rng, 60)
    pump.step(int(rng.integers(60)))
    for name in some_of(pump.overlay.brokers, rng):
        pump.revive(name, pump.overlay.brokers)
        pump.step(int(rng.integers(20)))
    pump.drain()
    assert_everybody_is_done(pump)
    check_counts(pump)


@every_kind
@every_seed
def test_nothing_goes_in_a_circle_while_views_differ_and_all_is_well_when_they_agree(
    kind: Kind, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng)
    change_interests(pump, rng, 40)
    for _ in range(6):
        for name in rng.permutation(pump.overlay.brokers):
            pump.see(str(name), some_of(pump.overlay.brokers, rng))
            pump.step(int(rng.integers(10)))
        change_interests(pump, rng, 20)
        pump.drain()
        for topic in TOPICS:
            origin = str(rng.choice(pump.overlay.brokers))
            messages = pump.publish(origin, topic)
            assert pump.arrivals[origin] == 1
            assert max(pump.arrivals.values()) == 1
            assert messages < 8 * len(pump.overlay.brokers) ** 2
    tell_who_is_alive(pump, rng)
    pump.drain()
    assert_everybody_is_done(pump)
    check_counts(pump)


@every_kind
def test_frames_without_a_promise_are_told_apart_by_their_event(kind: Kind) -> None:
    pump = new_pump(kind, np.random.default_rng(1), broker_count_min=9)
    for name in pump.overlay.brokers:
        pump.add(name, TOPICS[0])
    pump.drain()
    for origin in pump.overlay.brokers[:3]:
        pump.publish(origin, TOPICS[0], number=0)
        assert dict(pump.arrivals) == dict.fromkeys(pump.overlay.brokers, 1)


@every_kind
def test_a_topic_is_wanted_until_all_that_was_added_is_removed(kind: Kind) -> None:
    pump = new_pump(kind, np.random.default_rng(2), broker_count_min=9)
    name, topic = pump.overlay.brokers[0], TOPICS[0]
    calls: list[str] = []
    machine = pump.machines[name]
    filters = [Filter(topic), Filter(topic, group="group")]
    machine.add_interest(Turn(0), filters[0], lambda _: calls.append("first"))
    machine.add_interest(Turn(0), filters[1], lambda _: calls.append("second"))
    pump.drain()
    assert calls == ["first", "second"]
    machine.add_interest(Turn(0), filters[1], lambda _: calls.append("third"))
    assert calls[2:] == ["third"]
    pump.wanted[name] = {topic}
    for wanted in (filters[0], filters[0], filters[1]):
        machine.remove_interest(Turn(0), wanted)
        pump.drain()
        check_counts(pump)
    machine.remove_interest(Turn(0), filters[1])
    pump.drain()
    pump.wanted[name] = set()
    check_counts(pump)


@every_kind
def test_nobody_waits_for_an_interest_that_was_removed_again(kind: Kind) -> None:
    pump = new_pump(kind, np.random.default_rng(5), broker_count_min=9)
    for name in pump.overlay.brokers:
        pump.add(name, TOPICS[0])
        pump.remove(name, TOPICS[0])
    pump.drain()
    assert set(pump.done.values()) == {1}
    check_counts(pump)


@every_kind
def test_a_member_that_leaves_and_comes_at_once_is_done_only_when_it_is_back(kind: Kind) -> None:
    pump = new_pump(kind, np.random.default_rng(3), broker_count_min=16)
    for name in pump.overlay.brokers:
        pump.add(name, TOPICS[0])
        pump.drain()
        pump.remove(name, TOPICS[0])
        pump.add(name, TOPICS[0])
        while pump.done[name, TOPICS[0]] == 1:
            pump.step(1)
        pump.publish(pump.overlay.brokers[0], TOPICS[0])
        assert pump.arrivals[name] == 1
        assert pump.done[name, TOPICS[0]] == 2
        pump.remove(name, TOPICS[0])
        pump.drain()


@every_kind
@every_seed
def test_the_paths_that_brokers_know_are_those_that_frames_take(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng)
    change_interests(pump, rng, 40)
    pump.drain()
    for topic in TOPICS:
        origin = str(rng.choice(pump.overlay.brokers))
        known = {hop for machine in pump.machines.values() for hop in machine.path(topic, origin)}
        pump.links_used.clear()
        pump.publish(origin, topic)
        assert {(min(hop), max(hop)) for hop in known} == pump.links_used


@every_kind
@every_seed
def test_a_rehearsal_shows_the_links_that_frames_take(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(kind, rng)
    change_interests(pump, rng, 40)
    pump.drain()
    brokers = pump.overlay.brokers
    for topic in TOPICS:
        origin = str(rng.choice(brokers))
        rehearsal = Rehearsal(pump.overlay, brokers, topic=topic, receivers=pump.receivers(topic))
        pump.links_used.clear()
        pump.publish(origin, topic)
        for _ in range(2):
            hops = rehearsal.hops_from(origin)
            assert {tuple(sorted(hop[:2])) for hop in hops} == pump.links_used
            reached = {origin, *(hop.target for hop in hops)}
            assert pump.receivers(topic) <= reached


@every_kind
def test_a_wildcard_is_refused_where_topics_are_routed(kind: Kind) -> None:
    pump = new_pump(kind, np.random.default_rng(4))
    if kind.machine.accepts == "filter":
        return
    with pytest.raises(CallerError, match="single topic"):
        pump.add(pump.overlay.brokers[0], "topic/+")
