from __future__ import annotations

from meshwright.model.publication import Publication
from meshwright.protocol.overtaking import REMEMBERED_MIN, Overtaking
from meshwright.protocol.stream import StreamFrame


def frame(origin: str, sequence: int, *, publisher: str = "p", topic: str = "t") -> StreamFrame:
    return StreamFrame(origin, 1, Publication(publisher, sequence, topic))


def test_only_what_a_publisher_sent_earlier_elsewhere_is_overtaken() -> None:
    overtaking = Overtaking()
    assert not overtaking.is_overtaken(frame("b1", 5))
    assert overtaking.is_overtaken(frame("b0", 4))
    assert not overtaking.is_overtaken(frame("b0", 4, publisher="q"))
    assert not overtaking.is_overtaken(frame("b0", 4, topic="u"))
    assert not overtaking.is_overtaken(frame("b1", 3))
    assert not overtaking.is_overtaken(frame("b0", 6))
    assert overtaking.is_overtaken(frame("b1", 5))


def test_the_last_many_are_remembered_and_no_more_than_twice_as_many() -> None:
    overtaking = Overtaking()
    overtaking.is_overtaken(frame("b1", 5))
    for number in range(REMEMBERED_MIN - 1):
        overtaking.is_overtaken(frame("b1", 5, publisher=str(number)))
    assert overtaking.is_overtaken(frame("b0", 4))
    for number in range(2 * REMEMBERED_MIN):
        overtaking.is_overtaken(frame("b1", 5, publisher=str(number)))
    assert not overtaking.is_overtaken(frame("b0", 4))
