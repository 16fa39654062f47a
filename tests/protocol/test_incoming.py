from __future__ import annotations

from typing import Any

import msgspec
import pytest

from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol.incoming import Incoming, IncomingSettings
from meshwright.protocol.stream import OwedNothing, StreamFrame
from meshwright.protocol.turn import Turn


def incoming(*, held_max: int = 4) -> tuple[Incoming, list[bytes]]:
    """A machine whose broker keeps nothing on disk, and what it has passed on."""
    passed: list[bytes] = []

    def deliver(_: Turn, frame: StreamFrame) -> bool:
        passed.append(frame.publication.payload)
        return False

    machine = Incoming(
        "me",
        IncomingSettings(held_max=held_max),
        send=lambda *_: None,
        deliver=deliver,
        is_informed=lambda _: True,
        is_removed=lambda _: False,
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
    after = StreamPoint("b1", 7)
    machine.arrive(Turn(0), frame(1, after=after))
    assert machine.held_length() == 2
    machine.arrive(Turn(0), frame(1))
    assert passed == [b"1"]


def test_what_is_next_is_held_though_as_much_is_held_as_may_be() -> None:
    machine, passed = incoming(held_max=2)
    # Of what others are owed some comes by, and this broker will never be sent what is before it.
    for number in (3, 4):
        machine.arrive(Turn(0), frame(number))
    after = StreamPoint("b1", 7)
    first = msgspec.structs.replace(frame(6, after=after), previous=(("me", 0),))
    machine.arrive(Turn(0), first)
    machine.owed_nothing(Turn(0), "b1", OwedNothing("a/b", 7))
    assert passed == [b"6"]


def test_what_is_held_for_nobody_does_not_come_to_who_wants_the_topic_later() -> None:
    machine, passed = incoming()
    machine.arrive(Turn(0), frame(2))
    machine.arrive(Turn(0), frame(1, after=StreamPoint("b1", 7)))
    machine.forget_unwanted(lambda topic: topic == "a/b")
    assert machine.held_length() == 2
    machine.forget_unwanted(lambda topic: topic != "a/b")
    assert machine.held_length() == 0
    machine.owed_nothing(Turn(0), "b1", OwedNothing("a/b", 7))
    assert passed == []
