"""Rendezvous and partition: the closed form when nothing changes, and mending when it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from broker_pump import Pump

from meshwright.errors import CallerError
from meshwright.filters.filter import Filter
from meshwright.model.overlay import Overlay, Parameter
from meshwright.overlays.hypercube import dimensions_for
from meshwright.planning.evaluation.evaluate import forwarding_of
from meshwright.protocol.forwarding.climbing_trees import TreeInstalled
from meshwright.protocol.forwarding.forwarding import Forwarding, Surroundings
from meshwright.protocol.forwarding.partition import Partition
from meshwright.protocol.forwarding.rendezvous import Rendezvous
from meshwright.protocol.turn import Turn

TOPICS = tuple(f"topic/{index}" for index in range(5))


class Kind(NamedTuple):
    design: str
    machine: Callable[[Surroundings], Forwarding]
    params: dict[str, Parameter]


KINDS = {
    "chord": Kind("chord", Rendezvous, {"arrangement": "hash"}),
    "tapestry": Kind("tapestry", Rendezvous, {"base": 4, "arrangement": "hash"}),
    "pastry": Kind("pastry", Rendezvous, {"base": 2, "leaf_count": 2}),
    "quadtree": Kind("quadtree", Rendezvous, {"arrangement": "location"}),
    "hypercube": Kind("hypercube", Partition, {"events": "selective"}),
    "hypercube broadcast": Kind("hypercube", Partition, {"events": "broadcast"}),
}
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
        assert pump.sent.total() - pump.sent[TreeInstalled] == expected, f"seed {seed}"
        assert pump.done[name, topic] == before + 1
    check_counts(pump)
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
def test_the_trees_mend_themselves_when_brokers_die_and_when_they_return(
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
    if kind.machine is Rendezvous:
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
        if kind.machine is Rendezvous:
            check_counts(pump)


@every_kind
@every_seed
def test_a_broker_that_restarts_unseen_gets_back_its_part_in_the_trees(
    kind: Kind, seed: int
) -> None:
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
        assert pump.done[name, TOPICS[0]] == 1
    pump.drain()
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
def test_a_wildcard_is_refused(kind: Kind) -> None:
    pump = new_pump(kind, np.random.default_rng(4))
    with pytest.raises(CallerError, match="single topic"):
        pump.add(pump.overlay.brokers[0], "topic/+")


def new_pump(kind: Kind, rng: np.random.Generator, *, broker_count_min: int = 1) -> Pump:
    broker_count = int(rng.integers(broker_count_min, 26))
    names = tuple(f"b{index}" for index in range(broker_count))
    params = dict(kind.params)
    if kind.design == "hypercube":
        positions = rng.permutation(broker_count)
        dimension_count = dimensions_for(broker_count)
        params["low_bit_count"] = int(rng.integers(1, max(2, dimension_count)))
    else:
        positions = rng.choice(2**32, size=broker_count, replace=False)
    overlay = Overlay(
        design=kind.design,
        params=params,
        brokers=names,
        links=(),
        positions=dict(zip(names, positions.tolist(), strict=True)),
    )
    near = {name: kind.machine(alone(name, overlay)).neighbours() for name in names}
    links = tuple((name, other) for name in names for other in near[name] if name < other)
    assert all(name in near[other] for name in names for other in near[name])
    return Pump(Overlay(**{**as_fields(overlay), "links": links}), kind.machine)


def alone(name: str, overlay: Overlay) -> Surroundings:
    def nothing(*_: object) -> None:
        return None

    return Surroundings(name, 0, overlay, nothing, nothing, lambda _: ())


def as_fields(overlay: Overlay) -> dict[str, object]:
    return {name: getattr(overlay, name) for name in overlay.__struct_fields__}


def change_interests(pump: Pump, rng: np.random.Generator, count: int) -> None:
    """Add and remove at random, with messages under way meanwhile."""
    for _ in range(count):
        name, topic = str(rng.choice(sorted(pump.machines))), str(rng.choice(TOPICS))
        if topic in pump.wanted[name]:
            pump.remove(name, topic)
        else:
            pump.done[name, topic] = 0
            pump.add(name, topic)
        pump.step(int(rng.integers(8)))


def some_of(names: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """Some, but not all."""
    count = int(rng.integers(0, len(names)))
    return [str(name) for name in rng.choice(names, size=count, replace=False)]


def tell_who_is_alive(pump: Pump, rng: np.random.Generator) -> None:
    """To one after the other in random order, with messages under way meanwhile."""
    for name in rng.permutation(sorted(pump.machines)):
        pump.see(str(name), pump.machines)
        pump.step(int(rng.integers(20)))


def assert_everybody_is_done(pump: Pump) -> None:
    for name in pump.machines:
        for topic in pump.wanted[name]:
            assert pump.done[name, topic] >= 1, (name, topic)


def check_reached(pump: Pump) -> None:
    """Every frame comes once to all who want it, and to nobody twice."""
    for topic in TOPICS:
        for origin in pump.machines:
            pump.publish(origin, topic)
            assert pump.members(topic) <= set(pump.arrivals)
            assert max(pump.arrivals.values()) == 1


def check_counts(pump: Pump) -> None:
    """Every frame comes to all who want it, over as many messages as the closed form says."""
    overlay = pump.living_overlay()
    expected = forwarding_of(overlay, pump.snapshot(TOPICS))
    for topic_index, topic in enumerate(TOPICS):
        for index, origin in enumerate(overlay.brokers):
            messages = pump.publish(origin, topic)
            assert messages == expected.publication(topic_index, index).total, (topic, origin)
            assert pump.members(topic) <= set(pump.arrivals)
            assert max(pump.arrivals.values()) == 1
