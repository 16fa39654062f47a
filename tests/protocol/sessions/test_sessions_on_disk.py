"""Messages of sessions that last, on disk: one key each, a second one for what it cannot say."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.mqtt import packets


def message_keys(network: SmallNetwork) -> list[tuple[str, int]]:
    return sorted(
        (key[0], key[2]) for key in network.disks["b1"] if key[0] in {"queue", "under_way"}
    )


def network_with_reader(receive_maximum: int) -> SmallNetwork:
    network = SmallNetwork()
    network.connect("reader", "b1", session_expiry_s=600, receive_maximum=receive_maximum)
    network.subscribe("reader", "t", 2)
    network.connect("writer", "b0")
    return network


def test_a_message_that_is_sent_at_once_has_one_key_until_it_is_answered() -> None:
    network = network_with_reader(receive_maximum=10)
    network.publish("writer", "t", "0")
    assert message_keys(network) == [("queue", 0)]
    network.send("reader", packets.Puback(1))
    network.publish("writer", "t", "1")
    assert message_keys(network) == [("queue", 1)]


def test_what_had_to_wait_or_was_released_has_a_second_key_until_it_is_answered() -> None:
    network = network_with_reader(receive_maximum=2)
    for qos in (1, 2, 1):
        network.publish("writer", "t", qos=qos)
    network.send("reader", packets.Puback(1))
    network.send("reader", packets.Pubrec(2))
    kinds = [("queue", 1), ("queue", 2), ("under_way", 2), ("under_way", 3)]
    assert [one for one in message_keys(network) if one != ("queue", 0)] == kinds
    network.send("reader", packets.Pubcomp(2))
    network.send("reader", packets.Puback(3))
    network.publish("writer", "t")
    assert message_keys(network) == [("queue", 3)]


@pytest.mark.parametrize("moves", [False, True])
def test_each_message_comes_again_under_its_number_after_a_crash(moves: bool) -> None:
    network = network_with_reader(receive_maximum=3)
    for number, qos in enumerate((1, 2, 2, 1, 1)):
        network.publish("writer", "t", str(number), qos=qos)
    network.send("reader", packets.Puback(1))
    network.send("reader", packets.Pubrec(2))
    broker = "b1"
    if moves:
        network.drop("reader")
        network.connect("reader", "b2", session_expiry_s=600, receive_maximum=3)
        broker = "b2"
    network.crash(broker)
    network.start(broker)
    network.forget("reader")
    network.connect("reader", broker, session_expiry_s=600, receive_maximum=3)
    network.send("reader", packets.Pubcomp(2))
    assert [one for one in network.got["reader"] if isinstance(one, packets.Pubrel)] == [
        packets.Pubrel(2)
    ]
    network.answer_all("reader")
    assert [
        (one.payload, one.packet_id, one.is_duplicate) for one in network.messages("reader")
    ] == [(b"2", 3, True), (b"3", 4, True), (b"4", 5, False)]
