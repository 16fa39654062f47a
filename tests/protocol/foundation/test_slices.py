"""Long work goes on in pieces: whoever else comes is served in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.protocol.foundation.slices import PIECE
from meshwright.protocol.mqtt import packets

MANY = 12 * PIECE
MOMENT_S = 0.001


def texts(kind: str) -> tuple[str, ...]:
    made = {"exact": "a/{}", "wild": "a/{}/+", "shared": "$share/g/a/{}"}[kind]
    return tuple(made.format(number) for number in range(MANY))


def answers(network: SmallNetwork, client: str, kind: type) -> list[Any]:
    return [one for one in network.got[client] if isinstance(one, kind)]


def network_of(broker_count: int) -> SmallNetwork:
    network = SmallNetwork(broker_count)
    network.connect("busy", "b0", receive_maximum=65_535, session_expiry_s=100)
    network.connect("other", "b0")
    assert network.subscribe("other", "t")
    return network


def subscribe_all(network: SmallNetwork, kind: str = "wild") -> None:
    filters = tuple(packets.Subscription(text, 1) for text in texts(kind))
    network.send("busy", packets.Subscribe(7, filters))


@pytest.mark.parametrize("broker_count", [1, 3])
@pytest.mark.parametrize("kind", ["exact", "wild", "shared"])
def test_others_are_served_while_many_filters_are_taken(broker_count: int, kind: str) -> None:
    network = network_of(broker_count)
    subscribe_all(network, kind)
    assert not answers(network, "busy", packets.Suback)
    assert network.publish("other", "t", "between")
    assert network.payloads("other") == ["between"]
    network.advance(MOMENT_S)
    (suback,) = answers(network, "busy", packets.Suback)
    assert suback.reasons == (1,) * MANY
    network.send("busy", packets.Unsubscribe(8, texts(kind)))
    assert not answers(network, "busy", packets.Unsuback)
    network.advance(MOMENT_S)
    (unsuback,) = answers(network, "busy", packets.Unsuback)
    assert unsuback.reasons == (packets.SUCCESS,) * MANY
    assert network.machines["b0"].view().sessions[0].subscriptions == ()
    assert [one.filter for one in network.machines["b0"].view().interests] == ["t"]


def test_packets_of_one_client_change_its_filters_in_their_order() -> None:
    network = network_of(3)
    subscribe_all(network)
    network.send("busy", packets.Unsubscribe(8, (texts("wild")[-1],)))
    network.send("busy", packets.Subscribe(9, (packets.Subscription("last", 1),)))
    assert not answers(network, "busy", packets.Unsuback)
    network.advance(MOMENT_S)
    kinds = (packets.Suback, packets.Unsuback)
    answered = [one.packet_id for one in network.got["busy"] if isinstance(one, kinds)]
    assert answered == [7, 8, 9]
    session = network.machines["b0"].view().sessions[0]
    assert [one.filter for one in session.subscriptions] == [*texts("wild")[:-1], "last"]


def test_what_is_not_taken_when_a_client_goes_is_not_taken_later() -> None:
    network = network_of(1)
    subscribe_all(network)
    network.drop("busy")
    network.connect("busy", "b0", session_expiry_s=100)
    network.advance(MOMENT_S)
    assert not answers(network, "busy", packets.Suback)
    assert len(network.machines["b0"].view().sessions[0].subscriptions) == PIECE
    assert network.subscribe("busy", "more")


def test_a_session_with_many_filters_ends_in_pieces() -> None:
    network = network_of(1)
    network.connect("busy", "b0")
    subscribe_all(network)
    network.advance(MOMENT_S)
    network.drop("busy")
    view = network.machines["b0"].view()
    assert [one.client for one in view.sessions] == ["other"]
    assert len(view.interests) > PIECE
    network.advance(MOMENT_S)
    assert [one.filter for one in network.machines["b0"].view().interests] == ["t"]


@pytest.mark.parametrize("broker_count", [1, 3])
def test_filters_that_take_the_same_topics_go_as_fast_as_they_came(broker_count: int) -> None:
    network = network_of(broker_count)
    network.connect("teller", network.names[-1])
    wanted = tuple("/".join(levels) for levels in product("a+", repeat=9))
    filters = tuple(packets.Subscription(text, 0) for text in wanted)

    def come() -> None:
        network.connect("busy", "b0")
        network.send("busy", packets.Subscribe(7, filters))
        network.advance(MOMENT_S)

    def go() -> None:
        network.drop("busy")
        network.advance(MOMENT_S)

    come()
    for number in range(PIECE):
        assert network.publish("teller", f"a/a/a/a/a/a/a/a/{number}", "found")
    go()
    come_s = seconds_of(come)
    assert seconds_of(go) < 0.5 + 3 * come_s
    assert [one.filter for one in network.machines["b0"].view().interests] == ["t"]


def seconds_of(work: Callable[[], None]) -> float:
    begun_s = time.process_time()
    work()
    return time.process_time() - begun_s


@pytest.mark.parametrize("broker_count", [1, 3])
def test_others_are_served_while_many_retained_messages_are_sent(broker_count: int) -> None:
    network = network_of(broker_count)
    network.connect("teller", network.names[-1])
    for number in range(MANY):
        assert network.publish("teller", f"a/{number}", str(number), retain=True)
    assert network.subscribe("busy", "a/+") is False
    assert network.publish("other", "t", "between")
    # What comes meanwhile takes the place of what was retained before it.
    assert network.publish("teller", f"a/{MANY - 1}", "new", retain=True)
    for _ in range(3 * MANY // 20):
        network.advance(MOMENT_S)
        network.answer_all("busy")
    found = list(dict.fromkeys(network.payloads("busy")))
    assert sorted(found) == sorted([*map(str, range(MANY - 1)), "new"])
    assert len(answers(network, "busy", packets.Suback)) == 1
