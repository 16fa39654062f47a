"""Topics that were used once: brokers forget them, and what comes later is right all the same."""

from __future__ import annotations

from small_network import SmallNetwork
from test_incoming import frame, incoming

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.streams.messages import AllPassed, Joined
from meshwright.protocol.streams.quiet_streams import USED_UP_TO


def used_once(topic_count: int) -> SmallNetwork:
    """A network where so many topics were used once, and somebody outlives crashes."""
    network = SmallNetwork()
    network.connect("writer", "b0", session_expiry_s=10_000)
    network.connect("reader", "b1", session_expiry_s=10_000)
    network.subscribe("reader", "reply/#", 2)
    for number in range(topic_count):
        for qos in range(3):
            network.publish("writer", f"reply/{number}", f"{number}", qos)
    network.answer_all("reader")
    network.forget("reader")
    network.advance(200)
    return network


def test_no_disk_remembers_topics_on_which_nothing_happens() -> None:
    for topic_count in (1, 20):
        disks = used_once(topic_count).disks.values()
        kinds = ("stream", "position", "log")
        assert sum(key[0] in kinds for disk in disks for key in disk) == 0


def test_no_broker_remembers_topics_on_which_nothing_happens() -> None:
    network = used_once(20)
    network.publish("writer", "reply/5", "x")
    network.connect("late", "b2")
    network.subscribe("late", "reply/#")
    # The answer of an origin to a wildcard names all its topics.
    told = [message for _, _, message in network.sent if isinstance(message, Joined)]
    assert told[-1].topics == ("reply/5",)


def test_a_forgotten_topic_goes_on_in_order_whoever_crashed_meanwhile() -> None:
    for crashed in ("b0", "b1", "b2"):
        network = used_once(3)
        network.crash(crashed)
        network.start(crashed)
        network.advance(5)
        for client, broker in (("writer", "b0"), ("reader", "b1")):
            if client not in network.connected:
                network.connect(client, broker, session_expiry_s=10_000)
        for number in range(4):
            assert network.publish("writer", "reply/1", str(number), 2)
        network.advance(5)
        assert network.payloads("reader") == ["0", "1", "2", "3"]


def test_numbers_that_were_called_late_are_never_given_again() -> None:
    network = used_once(1)
    used_up_to = network.disks["b0"][USED_UP_TO]
    assert used_up_to >= 2
    network.crash("b0")
    network.start("b0")
    network.connect("writer", "b0", session_expiry_s=10_000)
    network.publish("writer", "another", "x")
    assert network.disks["b0"]["stream", "another"] > used_up_to


def test_late_copies_of_forgotten_streams_are_not_passed_on() -> None:
    machine, passed = incoming()
    machine.arrive(Turn(0), frame(1))
    machine.arrive(Turn(0), frame(3))
    machine.all_passed(Turn(0), "b0", AllPassed(3))
    for number in (1, 2, 3, 4):
        machine.arrive(Turn(0), frame(number))
    assert passed == [b"1", b"4"]
    assert machine.last_of("b0", "another") == 3


def test_what_is_held_goes_on_when_nothing_before_it_can_come() -> None:
    machine, passed = incoming()
    machine.arrive(Turn(0), frame(4))
    machine.all_passed(Turn(0), "b0", AllPassed(3))
    assert passed == [b"4"]


def test_where_forgotten_streams_stand_survives_a_crash() -> None:
    machine, passed = incoming()
    disk = {("passed", "b0"): 3, ("position", "b0", "a/b"): 2}
    machine.restore(disk)
    for number in (2, 3, 4):
        machine.arrive(Turn(0), frame(number))
    assert passed == [b"4"]
