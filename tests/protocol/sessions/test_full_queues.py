"""What was acknowledged is kept: a publisher whose message finds no room is told, or waits."""

from __future__ import annotations

from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.protocol.foundation.client_names import client_name
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    Puback,
    Publish,
    Pubrec,
    Suback,
    Will,
)
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.sessions.held_back import HeldBackRecord
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shared.room import SharedSettings

ROOM = 8
FULL = packets.QUOTA_EXCEEDED


def small(broker_count: int = 3, **options: Any) -> SmallNetwork:
    """A network where few messages may wait for a client."""
    sessions = SessionSettings(**{"queue_max": ROOM, **options})
    network = SmallNetwork(broker_count, BrokerSettings(sessions=sessions))
    network.advance(1)
    return network


def with_sleeper(
    *, reads: str = "b1", writes: str = "b0", version: int = MQTT_5, expiry_s: int = 600,
    **options: Any,
) -> SmallNetwork:  # fmt: skip
    """A client whose session waits for it, and one that publishes elsewhere or at its broker."""
    network = small(**options)
    network.connect("sleeper", reads, session_expiry_s=expiry_s)
    assert network.subscribe("sleeper", "t/#", 2)
    network.drop("sleeper")
    network.connect("writer", writes, session_expiry_s=600, protocol_version=version)
    return network


def outcomes(network: SmallNetwork, client: str = "writer") -> dict[int, int]:
    """By packet identifier, the reason with which each message was answered."""
    answers = [one for one in network.got[client] if isinstance(one, Puback | Pubrec)]
    return {one.packet_id: one.reason for one in answers}


def say(network: SmallNetwork, number: int, qos: int = 1, topic: str = "t/1") -> None:
    network.send(
        "writer", Publish(topic, str(number).encode(), qos, packet_id=number if qos else 0)
    )


def wake(network: SmallNetwork, broker: str = "b1") -> list[str]:
    """All that the sleeper gets when it comes back and answers."""
    network.got.setdefault("sleeper", []).clear()
    network.connect("sleeper", broker, session_expiry_s=600)
    answered = 0
    while len(network.messages("sleeper")) > answered:
        for one in network.messages("sleeper")[answered:]:
            answered += 1
            if one.qos == 1:
                network.send("sleeper", Puback(one.packet_id))
            elif one.qos:
                network.send("sleeper", Pubrec(one.packet_id))
                network.send("sleeper", packets.Pubcomp(one.packet_id))
        network.advance(0.2)
    return network.payloads("sleeper")


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("reads", ["b0", "b1"])
def test_all_that_was_acknowledged_is_delivered_and_the_rest_is_refused(
    reads: str, qos: int
) -> None:
    network = with_sleeper(reads=reads)
    for number in range(1, 4 * ROOM):
        say(network, number, qos)
    said = outcomes(network)
    assert set(said.values()) == {packets.SUCCESS, FULL}
    assert said[1] == packets.SUCCESS
    assert said[4 * ROOM - 1] == FULL
    kept = [str(number) for number, reason in said.items() if reason == packets.SUCCESS]
    assert ROOM <= len(kept) < 2 * ROOM
    assert wake(network, reads) == kept


def test_what_is_in_flight_when_a_queue_fills_up_is_kept_beyond_its_bound() -> None:
    network = with_sleeper()
    network.hold(source="b1", target="b0")
    for number in range(1, 3 * ROOM):
        say(network, number)
    assert set(outcomes(network).values()) == {packets.SUCCESS}
    network.release(source="b1", target="b0")
    say(network, 3 * ROOM)
    assert outcomes(network)[3 * ROOM] == FULL
    assert wake(network) == [str(number) for number in range(1, 3 * ROOM)]


def test_bytes_that_wait_are_bounded_too() -> None:
    network = with_sleeper(reads="b0", queue_max=1_000, queue_bytes_max=1_000)
    for number in range(1, 20):
        network.send("writer", Publish("t/1", bytes(100), 1, packet_id=number))
    taken = [reason for reason in outcomes(network).values() if reason == packets.SUCCESS]
    assert 9 <= len(taken) <= 11


def test_other_topics_and_other_content_are_not_refused() -> None:
    network = small()
    network.connect("sleeper", "b1", session_expiry_s=600)
    assert network.subscribe("sleeper", "$where/kind=loud/t", 1)
    assert network.subscribe("sleeper", "never", 0)
    network.drop("sleeper")
    network.connect("writer", "b0")
    for number in range(1, 2 * ROOM):
        packet = Publish("t", b"", 1, packet_id=number, properties=(("kind", "loud"),))
        network.send("writer", packet)
    assert outcomes(network)[2 * ROOM - 1] == FULL
    for number, topic in enumerate(("t", "never", "else"), 100):
        say(network, number, topic=topic)
        assert outcomes(network)[number] == packets.SUCCESS


def test_there_is_room_again_once_a_quarter_is_free() -> None:
    network = with_sleeper()
    for number in range(1, 3 * ROOM):
        say(network, number)
    wake(network)
    say(network, 100)
    assert outcomes(network)[100] == packets.SUCCESS
    assert network.payloads("sleeper")[-1] == "100"


def filled(**options: Any) -> SmallNetwork:
    network = with_sleeper(**options)
    for number in range(1, 3 * ROOM):
        say(network, number)
    network.advance(30)
    say(network, 50)
    assert outcomes(network)[50] == FULL
    return network


def test_a_refusal_ends_with_the_session() -> None:
    network = filled(expiry_s=60)
    network.advance(40)
    say(network, 100)
    assert outcomes(network)[100] == packets.SUCCESS


def test_a_refusal_ends_with_the_subscription() -> None:
    network = filled()
    network.connect("sleeper", "b1", session_expiry_s=600, receive_maximum=1)
    network.unsubscribe("sleeper", "t/#")
    say(network, 100)
    assert outcomes(network)[100] == packets.SUCCESS


def test_a_refusal_ends_when_its_broker_is_dead_or_cut_off_and_returns_with_it() -> None:
    for is_dead in (True, False):
        network = filled()
        if is_dead:
            network.crash("b1")
        else:
            network.separate(one="b0", other="b1")
            network.separate(one="b2", other="b1")
        network.advance(30)
        say(network, 100)
        assert outcomes(network)[100] == packets.SUCCESS
        if is_dead:
            network.start("b1")
        network.cut.clear()
        network.advance(30)
        say(network, 101)
        assert outcomes(network)[101] == FULL
        assert wake(network)[-1] == "100"
        say(network, 102)
        assert outcomes(network)[102] == packets.SUCCESS


def test_a_full_queue_moves_with_its_session() -> None:
    network = filled()
    network.connect("sleeper", "b2", session_expiry_s=600, receive_maximum=1)
    network.advance(5)
    network.drop("sleeper")
    say(network, 100)
    assert outcomes(network)[100] == FULL
    network.crash("b1")
    network.advance(30)
    say(network, 101)
    assert outcomes(network)[101] == FULL
    wake(network, "b2")
    say(network, 102)
    assert outcomes(network)[102] == packets.SUCCESS


def test_a_broker_that_joins_later_is_told_what_is_full() -> None:
    network = filled()
    network.crash("b0")
    network.advance(10)
    network.start("b0")
    network.advance(10)
    network.connect("writer", "b0", session_expiry_s=600)
    say(network, 100)
    assert outcomes(network)[100] == FULL


def test_mqtt_3_waits_and_goes_on_in_order() -> None:
    network = with_sleeper(version=MQTT_3_1_1)
    for number in range(1, 4 * ROOM):
        say(network, number, 1 + number % 2)
    waiting = 4 * ROOM
    say(network, waiting, 0)
    assert network.subscribe("writer", "elsewhere") is False
    said = outcomes(network)
    assert set(said.values()) == {packets.SUCCESS}
    assert ROOM <= len(said) < 2 * ROOM
    network.advance(100)
    assert len(outcomes(network)) == len(said)
    got = wake(network)
    got.remove(str(waiting))
    assert got == [str(number) for number in range(1, waiting)]
    assert list(outcomes(network)) == list(range(1, waiting))
    assert any(isinstance(one, Suback) for one in network.got["writer"])
    records = [one for one in network.reports if isinstance(one, HeldBackRecord)]
    assert [(one.is_over, one.waits_for, one.broker) for one in records] == [
        (False, "sleeper", "b1"),
        (True, "sleeper", "b1"),
    ]
    assert records[-1].waited_s >= 100


def test_mqtt_3_sends_again_what_waited_when_its_connection_ended() -> None:
    network = with_sleeper(version=MQTT_3_1_1)
    for number in range(1, 3 * ROOM):
        say(network, number)
    kept = len(outcomes(network))
    network.drop("writer")
    assert len(wake(network)) == kept
    network.connect("writer", "b0", session_expiry_s=600, protocol_version=MQTT_3_1_1)
    for number in range(kept + 1, 3 * ROOM):
        say(network, number)
    network.advance(1)
    assert wake(network) == [str(number) for number in range(kept + 1, 3 * ROOM)]


def test_who_waits_for_room_in_its_own_queue_makes_it() -> None:
    network = small()
    options = {"protocol_version": MQTT_3_1_1, "receive_maximum": 2}
    network.connect("writer", "b0", **options)
    assert network.subscribe("writer", "t/#")
    for number in range(1, 6 * ROOM):
        say(network, number)
    assert len(outcomes(network)) < 6 * ROOM - 1
    answered = 0
    while len(network.messages("writer")) > answered:
        for one in network.messages("writer")[answered:]:
            answered += 1
            network.send("writer", Puback(one.packet_id))
        network.advance(0.1)
    assert network.payloads("writer") == [str(number) for number in range(1, 6 * ROOM)]


def test_who_hears_nothing_of_itself_is_not_kept_from_publishing_by_its_own_queue() -> None:
    network = small()
    network.connect("writer", "b0", receive_maximum=1)
    assert network.subscribe("writer", "t/#", no_local=True)
    network.connect("other", "b1")
    for _ in range(3 * ROOM):
        network.publish("other", "t/1")
    assert network.got["other"][-1].reason == FULL
    say(network, 900)
    assert outcomes(network)[900] == packets.SUCCESS


def test_a_will_is_kept_beyond_the_bound() -> None:
    network = filled()
    network.connect("mortal", "b0", will=Will("t/will", b"gone", 1))
    network.drop("mortal")
    assert wake(network)[-1] == "gone"


def test_all_that_is_retained_goes_to_a_new_subscriber() -> None:
    network = small()
    network.connect("writer", "b0")
    for number in range(1, 5 * ROOM):
        network.send("writer", Publish(f"r/{number}", b"x", 1, True, number))
    network.advance(1)
    network.connect("sleeper", "b1", session_expiry_s=600, receive_maximum=1)
    network.subscribe("sleeper", "r/#")
    network.advance(1)
    network.drop("sleeper")
    assert len(wake(network)) == 5 * ROOM - 1


def test_the_operator_may_have_it_dropped_and_counted() -> None:
    network = with_sleeper(queue_full="drop")
    for number in range(1, 3 * ROOM):
        say(network, number)
    assert set(outcomes(network).values()) == {packets.SUCCESS}
    refused = [one for one in network.reports if isinstance(one, Refused)]
    assert [(one.client, one.topic) for one in refused] == [("sleeper", "t/1")] * (2 * ROOM - 1)
    assert wake(network) == [str(number) for number in range(1, ROOM + 1)]


def test_a_group_that_has_no_room_refuses_and_keeps_what_was_taken() -> None:
    shared = SharedSettings(queue_max=ROOM)
    network = SmallNetwork(3, BrokerSettings(shared=shared))
    network.advance(1)
    network.connect("sleeper", "b1", session_expiry_s=600)
    assert network.subscribe("sleeper", "$share/crew/t/#", 1)
    network.drop("sleeper")
    network.connect("writer", "b0", session_expiry_s=600)
    for number in range(1, 3 * ROOM):
        say(network, number)
        network.advance(0.1)
    said = outcomes(network)
    assert said[3 * ROOM - 1] == FULL
    kept = [str(number) for number, reason in said.items() if reason == packets.SUCCESS]
    assert wake(network) == kept
    say(network, 100)
    assert outcomes(network)[100] == packets.SUCCESS


def test_what_waits_for_all_clients_together_is_bounded() -> None:
    network = small(queue_max=1_000, queued_bytes_max=1_000)
    for name in ("one", "two"):
        network.connect(name, "b1", session_expiry_s=600)
        assert network.subscribe(name, name, 1)
        network.drop(name)
    network.connect("writer", "b0", session_expiry_s=600)
    for number in range(1, 9):
        network.send("writer", Publish("one", bytes(100), 1, packet_id=number))
    for number in range(9, 20):
        network.send("writer", Publish("two", bytes(100), 1, packet_id=number))
    said = outcomes(network)
    assert [said[8], said[9], said[19]] == [packets.SUCCESS, packets.SUCCESS, FULL]
    network.connect("one", "b1", session_expiry_s=600)
    network.answer_all("one")
    network.advance(5)
    network.send("writer", Publish("two", b"", 1, packet_id=100))
    assert outcomes(network)[100] == packets.SUCCESS


def test_a_user_cannot_take_the_room_of_others() -> None:
    network = small(user_sessions_max=2, sessions_max=4, user_queued_bytes_max=500)
    ann = [client_name("ann", f"c{number}") for number in range(3)]
    for name in ann[:2]:
        connack = network.connect(name, "b1", session_expiry_s=600)
        assert connack is not None
        assert connack.reason == packets.SUCCESS
    refused = network.connect(ann[2], "b1")
    assert refused is not None
    assert refused.reason == packets.QUOTA_EXCEEDED
    again = network.connect(ann[0], "b1", session_expiry_s=600)
    assert again is not None
    assert again.session_present
    for name, reason in (("x", packets.SUCCESS), ("y", packets.SUCCESS), ("z", FULL)):
        connack = network.connect(name, "b1")
        assert connack is not None
        assert connack.reason == reason
    assert network.subscribe(ann[0], "t", 1)
    network.drop(ann[0])
    network.drop(ann[1])
    network.connect("writer", "b0", session_expiry_s=600)
    for number in range(1, 9):
        network.send("writer", Publish("t", bytes(100), 1, packet_id=number))
    assert outcomes(network)[8] == FULL
    network.connect(ann[0], "b1", clean_start=True)
    network.advance(5)
    network.send("writer", Publish("t", b"", 1, packet_id=100))
    assert outcomes(network)[100] == packets.SUCCESS
