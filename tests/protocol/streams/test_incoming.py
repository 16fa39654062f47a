from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec
import pytest

from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol.foundation.stream_frames import NOTHING_OWED, StreamFrame
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations, ConversationSettings
from meshwright.protocol.streams.incoming import Incoming, IncomingSettings
from meshwright.protocol.streams.messages import OwedNothing, Repair

# Versions of what this broker wants, and of what it wanted before.
PRESENT = (2, 0)
FORMER = (1, 0)


def incoming(*, held_max: int = 4, unwanted: Container[str] = ()) -> tuple[Incoming, list[bytes]]:
    """A machine whose broker keeps nothing on disk, and what it has passed on."""
    passed: list[bytes] = []

    def deliver(_: Turn, frame: StreamFrame) -> bool:
        passed.append(frame.publication.payload)
        return False

    conversations = Conversations(
        "me",
        1,
        ConversationSettings(),
        handlers={},
    )
    machine = Incoming(
        "me",
        IncomingSettings(held_max=held_max),
        conversations=conversations,
        deliver=deliver,
        is_informed=lambda _: True,
        is_known_by=lambda _, known: known >= PRESENT,
        is_removed=lambda _: False,
        wants=lambda topic: topic not in unwanted,
    )
    return machine, passed


def frame(number: int, **options: Any) -> StreamFrame:
    publication = Publication("p", number, "a/b", str(number).encode(), 1, **options)
    return StreamFrame("b0", number, publication)


@pytest.mark.parametrize(
    ("text", "is_remembered"), [("a/b", True), ("a/+", True), ("#", True), ("a/c", False)]
)
def test_where_a_stream_stands_is_kept_for_every_filter_that_takes_its_topic(
    text: str, is_remembered: bool
) -> None:
    machine, _ = incoming()
    machine.arrive(Turn(0), frame(1))
    turn = Turn(1)
    machine.remember(turn, text)
    assert turn.changes == ({("position", "b0", "a/b"): 1} if is_remembered else {})


def test_no_more_is_held_than_is_allowed_whatever_it_waits_for() -> None:
    machine, passed = incoming(held_max=2)
    for number in (5, 4, 3, 2):
        machine.arrive(Turn(0), frame(number))
    assert machine.held_length() == 2
    after = (StreamPoint("b1", 7),)
    machine.arrive(Turn(0), frame(1, after=after))
    assert machine.held_length() == 2
    machine.arrive(Turn(0), frame(1))
    assert passed == [b"1"]


def test_what_is_next_is_held_though_as_much_is_held_as_may_be() -> None:
    machine, passed = incoming(held_max=2)
    # Of what others are owed some comes by, and this broker will never be sent what is before it.
    for number in (3, 4):
        machine.arrive(Turn(0), frame(number))
    after = (StreamPoint("b1", 7),)
    first = msgspec.structs.replace(frame(6, after=after), previous=(("me", 0),))
    machine.arrive(Turn(0), first)
    machine.owed_nothing(Turn(0), "b1", OwedNothing("a/b", 7))
    assert passed == [b"6"]


def test_what_is_held_for_nobody_does_not_come_to_who_wants_the_topic_later() -> None:
    unwanted: set[str] = set()
    machine, passed = incoming(unwanted=unwanted)
    machine.arrive(Turn(0), frame(2))
    machine.arrive(Turn(0), frame(1, after=(StreamPoint("b1", 7),)))
    machine.forget_unwanted(Turn(0))
    assert machine.held_length() == 2
    unwanted.add("a/b")
    machine.forget_unwanted(Turn(0))
    assert machine.held_length() == 0
    machine.owed_nothing(Turn(0), "b1", OwedNothing("a/b", 7))
    assert passed == []


def elsewhere(sequence: int) -> StreamFrame:
    """What the publisher of the frames sends from another broker."""
    return StreamFrame("b9", sequence, Publication("p", sequence, "a/b", b"elsewhere", 1))


def test_a_copy_is_not_passed_on_after_what_its_publisher_sent_later_from_elsewhere() -> None:
    machine, passed = incoming()
    machine.arrive(Turn(0), frame(1))
    machine.arrive(Turn(0), frame(3))
    later = msgspec.structs.replace(elsewhere(4), previous=(("me", NOTHING_OWED),))
    machine.arrive(Turn(0), later)
    machine.arrive(Turn(0), frame(2))
    assert passed == [b"1", b"elsewhere"]
    assert machine.last_of("b0", "a/b") == 1


def test_what_is_owed_is_passed_on_whatever_its_publisher_sent_later_from_elsewhere() -> None:
    machine, passed = incoming()
    machine.arrive(Turn(0), elsewhere(1))
    machine.passed_qos1("p", "a/b", 7)
    owed = msgspec.structs.replace(frame(1), previous=(("me", NOTHING_OWED),))
    later = msgspec.structs.replace(frame(3), previous=(("me", 1),))
    for one in (owed, frame(2), later):
        machine.arrive(Turn(0), one)
    assert passed == [b"elsewhere"]
    for one in (owed, later):
        machine.repaired(Turn(0), "b0", Repair(one, FORMER))
    assert passed == [b"elsewhere"]
    for one in (owed, later):
        machine.repaired(Turn(0), "b0", Repair(one, PRESENT))
    assert passed == [b"elsewhere", b"1", b"3"]


def test_a_long_row_of_what_is_held_is_passed_on_at_once() -> None:
    machine, passed = incoming(held_max=4_096)
    for number in range(2, 4_002):
        machine.arrive(Turn(0), frame(number))
    machine.arrive(Turn(0), frame(1))
    assert passed == [str(number).encode() for number in range(1, 4_002)]


def test_a_long_row_of_what_waits_for_other_streams_is_passed_on_at_once() -> None:
    machine, passed = incoming(held_max=4_096)

    def point(sequence: int) -> StreamPoint:
        """A publisher that goes to and fro between two brokers."""
        return StreamPoint(("b0", "b1")[sequence % 2], (sequence + 1) // 2)

    for sequence in (*range(2, 2_002), 1):
        assert passed == []
        after = (point(sequence - 1),) if sequence > 1 else ()
        one = Publication("p", sequence, "a/b", str(sequence).encode(), 1, after=after)
        machine.arrive(Turn(0), StreamFrame(*point(sequence)[:2], one))
    assert passed == [str(sequence).encode() for sequence in range(1, 2_002)]


def test_what_waits_for_a_stream_goes_though_the_next_of_that_waits_itself() -> None:
    machine, passed = incoming()
    machine.arrive(Turn(0), frame(2, after=(StreamPoint("b1", 2),)))
    for number in (1, 2):
        after = (StreamPoint("b0", 1),) if number == 1 else ()
        one = Publication("q", number, "a/b", f"b1 {number}".encode(), 1, after=after)
        machine.arrive(Turn(0), StreamFrame("b1", number, one))
    assert passed == []
    machine.arrive(Turn(0), frame(1))
    assert passed == [b"1", b"b1 1", b"b1 2", b"2"]


def test_a_crash_does_not_undo_that_nothing_of_a_stream_is_to_come() -> None:
    machine, _ = incoming()
    turn = Turn(0)
    machine.owed_nothing(turn, "b0", OwedNothing("a/b", 2))
    after_a_crash, passed = incoming()
    after_a_crash.restore(turn.changes)
    owed_by_mistake = msgspec.structs.replace(frame(2), previous=(("me", NOTHING_OWED),))
    after_a_crash.arrive(Turn(1), owed_by_mistake)
    after_a_crash.arrive(Turn(1), frame(3))
    assert passed == [b"3"]


@pytest.mark.parametrize("held_max", [1, 4])
def test_what_waits_here_is_not_left_out_as_its_own_broker_was_not_owed_it(held_max: int) -> None:
    """It was published while the first subscription to its topic was not in force yet."""
    machine, passed = incoming(held_max=held_max)
    after = (StreamPoint("b0", 9),)
    waits = StreamFrame("me", 1, Publication("mover", 1, "a/b", b"waits", 1, after=after))
    behind_it = StreamFrame("me", 2, Publication("p", 1, "a/b", b"behind it", 1))
    elsewhere = StreamFrame("me", 1, Publication("mover", 2, "a/c", b"elsewhere", 1))
    for one in (waits, behind_it, elsewhere):
        machine.take_own(Turn(0), one)
    owed = msgspec.structs.replace(behind_it, previous=(("me", NOTHING_OWED),))
    machine.repaired(Turn(1), "me", Repair(owed, PRESENT))
    assert not passed
    machine.owed_nothing(Turn(2), "b0", OwedNothing("a/b", 9))
    machine.repaired(Turn(3), "me", Repair(owed, PRESENT))
    assert sorted(passed) == [b"behind it", b"elsewhere", b"waits"]
    assert passed[0] == b"waits"
    assert not machine.unpassed("a/b")
