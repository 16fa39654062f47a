"""What is known is carried over to the next overlay, and the old one ends when it is empty."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from changing_networks import MILLISECOND_US, SECOND_US, TRAFFIC_US, ChangingNetwork
from hypothesis import given
from hypothesis import strategies as st
from small_network import SmallNetwork

from meshwright.model.overlay import Overlay
from meshwright.protocol.forwarding.rendezvous.key_routes import key_routes
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.reconfiguration.conversation_marks import (
    PeerMark,
    late_hearers,
    torn_pairs,
)
from meshwright.protocol.reconfiguration.draining import LostInChange
from meshwright.protocol.reconfiguration.heirs import heirs_of, is_worth_carrying
from meshwright.protocol.reconfiguration.messages import Bundle, Lock, Renew
from meshwright.protocol.reconfiguration.reconfigure import ReconfigureSettings
from meshwright.protocol.settings import BrokerSettings

DESIGNS = ("chord", "tapestry", "pastry", "quadtree", "hypercube", "gm", "harary", "tree")
GIVEN_US = TRAFFIC_US + SECOND_US


def spent_on(network: ChangingNetwork, kind: str) -> int:
    return network.world.counts_by_class().get(kind, 0)


def traffic_costs(network: ChangingNetwork) -> int:
    """What a few seconds of the same traffic cost from now on."""
    before = spent_on(network, "publication")
    start_s = network.world.agenda.now_us / SECOND_US
    network.traffic(4)
    network.run(start_s + 8)
    return spent_on(network, "publication") - before


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("brokers", [7, 12])
def test_what_is_carried_over_is_what_would_have_been_built(design: str, brokers: int) -> None:
    network = ChangingNetwork(design, brokers, wildcard="#")
    target = network.swapped()
    assert is_worth_carrying(network.overlay, target)
    fresh = ChangingNetwork(design, brokers, wildcard="#", overlay=target)
    network.give(GIVEN_US, network.brokers[3], "apply", target)
    for one in (network, fresh):
        one.traffic(2)
        one.run(9)
    assert network.agreed() == target
    assert traffic_costs(network) == traffic_costs(fresh)
    assert network.faults() == []
    assert spent_on(network, "repair") == 0


@pytest.mark.parametrize("design", ["chord", "pastry", "hypercube", "gm", "tree"])
def test_small_changes_send_little(design: str) -> None:
    network = ChangingNetwork(design, 24)
    network.give(GIVEN_US, network.brokers[0], "apply", network.swapped())
    network.run(12)
    few = network.world.message_counts[Bundle]
    anew = ChangingNetwork(design, 24)
    # The dead broker knows nothing, so all others build the overlay from nothing.
    anew.world.at(GIVEN_US - 8 * SECOND_US // 2, partial(anew.world.crash, anew.brokers[5]))
    anew.give(GIVEN_US + 6 * SECOND_US, anew.brokers[0], "apply", anew.swapped())
    anew.run(20)
    assert network.agreed() == anew.agreed() == network.swapped()
    assert 2 * few < anew.world.message_counts[Bundle]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(3))
def test_subscriptions_that_change_meanwhile_are_carried_too(design: str, seed: int) -> None:
    network = ChangingNetwork(design, seed=seed)
    network.give(GIVEN_US, "b2", "apply", network.swapped(seed=seed))
    clients = list(network.world.clients.values())
    for number in range(160):
        at_us = GIVEN_US - 10 * MILLISECOND_US + number * MILLISECOND_US // 4
        subscriber = clients[number % 8]
        network.world.at(at_us, partial(subscriber.subscribe, f"new/{number}", 1))
        if number % 3 == 0:
            end = partial(subscriber.unsubscribe, f"new/{number}")
            network.world.at(at_us + 30 * MILLISECOND_US, end)
        publish = partial(clients[(number + 3) % 8].publish, f"new/{number}", 1)
        network.world.at(GIVEN_US + 3 * SECOND_US, publish)
    network.run(20)
    assert network.agreed() == network.swapped(seed=seed)
    assert network.faults() == []
    assert spent_on(network, "repair") == 0
    # What stands costs what it would cost had nothing changed while it was made.
    fresh = ChangingNetwork(design, seed=seed, overlay=network.agreed())
    fresh.run(20)
    assert traffic_costs(network) == traffic_costs(fresh)


def test_pairs_that_were_talking_when_all_was_carried_over_begin_anew() -> None:
    network = ChangingNetwork()
    network.give(GIVEN_US, "b2", "apply", network.swapped())
    clients = list(network.world.clients.values())
    for number in range(200):
        at_us = GIVEN_US - 5 * MILLISECOND_US + number * MILLISECOND_US // 10
        network.world.at(at_us, partial(clients[number % 8].subscribe, f"new/{number}", 1))
    network.run(20)
    assert network.steps("mended")
    assert network.world.message_counts[Renew] > 0


@pytest.mark.parametrize("at_ms", range(1, 60, 6))
@pytest.mark.parametrize("victim", ["b4", "b1"])
def test_who_crashes_while_all_is_carried_over_leaves_nothing_torn(victim: str, at_ms: int) -> None:
    network = ChangingNetwork()
    target = network.swapped(2)
    assert victim in {
        name for name, heir in heirs_of(network.overlay, target).items() if name != heir
    }
    network.give(GIVEN_US, "b2", "apply", target)
    network.crash(GIVEN_US + at_ms * MILLISECOND_US, victim, 300 * MILLISECOND_US)
    network.traffic(4)
    network.run(30)
    assert network.faults() == []
    overlay = network.agreed()
    assert overlay in (network.overlay, target)
    fresh = ChangingNetwork(overlay=overlay)
    fresh.traffic(4)
    fresh.run(30)
    assert traffic_costs(network) == traffic_costs(fresh)


def carried_to_a_newcomer() -> tuple[SmallNetwork, str]:
    """A network where b2 took the place of b1, and a topic whose root that is, wanted at b0.

    b2 was started again before, and has not met b0 since.
    """
    network = SmallNetwork(3)
    positions = network.overlay.positions
    assert positions is not None
    roots = key_routes(network.overlay, frozenset(network.names))
    topic = next(one for one in map(str, range(100)) if roots.root(one) == "b1")
    network.connect("early", "b0")
    assert network.subscribe("early", topic)
    network.separate(one="b0", other="b2")
    network.crash("b2")
    network.start("b2")
    network.advance(1)
    places = {"b0": positions["b0"], "b1": positions["b2"], "b2": positions["b1"]}
    target = msgspec.structs.replace(network.overlay, positions=places)
    network.tell("b1", PlanGiven("apply", target))
    network.advance(1)
    assert all(machine.overlay == target for machine in network.machines.values())
    return network, topic


def test_who_meets_a_broker_that_was_started_again_has_it_tell_what_it_took_over() -> None:
    network, topic = carried_to_a_newcomer()
    network.cut.clear()
    network.advance(2)
    assert network.subscribe("early", f"$where/value>26/{topic}")


def test_who_was_started_again_has_others_tell_what_they_took_over() -> None:
    network, topic = carried_to_a_newcomer()
    network.crash("b0")
    network.start("b0")
    network.cut.clear()
    network.advance(2)
    network.connect("late", "b0")
    assert network.subscribe("late", topic)


def test_a_change_ends_when_the_old_overlay_is_empty_and_not_before() -> None:
    network = ChangingNetwork()
    slow_us = 2 * SECOND_US
    for other in network.brokers[1:]:
        network.world.network.slow("b0", other, slow_us)
    client = network.world.clients["c0"]
    topics = network.snapshot.topics
    for number in range(50):
        topic = topics[number % len(topics)]
        network.world.at(GIVEN_US + number * 200_000, partial(client.publish, topic, 0))
    network.give(GIVEN_US, "b3", "apply", network.turned())
    network.run(30)
    ((done_us, _, _),) = network.steps("done")
    switched_us = max(time_us for time_us, _, _ in network.steps("switched"))
    assert done_us >= switched_us + slow_us
    assert network.agreed() == network.turned()
    lost = [one for one in network.world.records.all if isinstance(one[2], LostInChange)]
    assert lost == []


def test_what_comes_too_late_without_promise_is_counted() -> None:
    hasty = ReconfigureSettings(forget_us=400_000)
    network = ChangingNetwork(settings=BrokerSettings(reconfigure=hasty))
    for other in network.brokers[1:]:
        network.world.at(GIVEN_US, partial(network.world.network.slow, "b0", other, 3 * SECOND_US))
    client = network.world.clients["c0"]
    for number in range(40):
        topic = network.snapshot.topics[number % len(network.snapshot.topics)]
        network.world.at(GIVEN_US + number * 50_000, partial(client.publish, topic, 0))
    network.give(GIVEN_US, "b3", "apply", network.turned())
    network.run(30)
    lost = [record for _, _, record in network.world.records.all if type(record) is LostInChange]
    assert lost
    assert {record.publisher.partition("@")[0] for record in lost} == {"c0"}


def test_overlays_that_differ_in_more_than_places_are_built_anew() -> None:
    network = ChangingNetwork()
    assert is_worth_carrying(network.overlay, network.swapped())
    assert not is_worth_carrying(network.overlay, network.turned())
    assert not is_worth_carrying(network.overlay, network.other("pastry"))
    assert not is_worth_carrying(network.overlay, network.other("tree"))


def conversation(events: list[tuple[int, bool]]) -> tuple[list[PeerMark], list[PeerMark]]:
    """Marks of two brokers before and after each message; True if it tells something."""
    sent = told = received = heard = 0
    tellers = [PeerMark(1, 0, 0, 2, 0, 0)]
    hearers = [PeerMark(2, 0, 0, 1, 0, 0)]
    for number, tells in events:
        sent, told = number, number if tells else told
        tellers.append(PeerMark(1, sent, told, 2, 0, 0))
    for number, tells in events:
        received, heard = number, number if tells else heard
        hearers.append(PeerMark(2, 0, 0, 1, received, heard))
    return tellers, hearers


@given(st.lists(st.booleans(), max_size=6), st.data())
def test_two_are_torn_unless_one_heard_exactly_what_the_other_told(
    tells: list[bool], data: st.DataObject
) -> None:
    tellers, hearers = conversation(list(enumerate(tells, start=1)))
    sent = data.draw(st.integers(0, len(tells)))
    received = data.draw(st.integers(0, len(tells)))
    marks = {"a": {"b": tellers[sent]}, "b": {"a": hearers[received]}}
    low, high = sorted((sent, received))
    is_torn = any(tells[low:high])
    assert torn_pairs(marks) == ([("a", "b")] if is_torn else [])
    is_late = received < sent and any(tells[received:sent])
    assert late_hearers(marks) == (["b"] if is_late else [])


def test_marks_of_different_conversations_do_not_fit() -> None:
    teller, hearer = PeerMark(1, 5, 5, 2, 0, 0), PeerMark(2, 0, 0, 9, 7, 5)
    assert torn_pairs({"a": {"b": teller}, "b": {"a": hearer}}) == [("a", "b")]
    assert late_hearers({"a": {"b": teller}, "b": {"a": hearer}}) == []
    assert torn_pairs({"a": {"b": teller}, "b": {}}) == [("a", "b")]


def test_the_lock_says_how_to_build() -> None:
    network = ChangingNetwork()
    overlay: Overlay = network.swapped()
    network.give(GIVEN_US, "b2", "apply", overlay)
    network.run(10)
    assert network.world.message_counts[Lock] == 7
