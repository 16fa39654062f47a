from __future__ import annotations

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.stream_frames import NOTHING_OWED
from meshwright.protocol.streams.outgoing_stream import (
    OutgoingStream,
    Receiver,
)


def a_stream(*numbers: int) -> OutgoingStream:
    stream = OutgoingStream()
    for number in numbers:
        stream.log[number] = Publication("publisher", number, "t")
        stream.owed_counts[number] = 0
    return stream


def test_a_receiver_must_have_what_it_was_owed_before() -> None:
    stream, receiver = a_stream(1, 2, 5), Receiver(0)
    assert [stream.owe(receiver, number, 7) for number in (1, 2, 5)] == [NOTHING_OWED, 1, 2]
    assert receiver.progress_us == 7
    receiver.is_fresh = False
    stream.settle(receiver, 5)
    assert a_stream(6).owe(receiver, 6, 9) == 5
    assert receiver.progress_us == 9


def test_what_the_last_receiver_has_got_is_owed_to_nobody_any_more() -> None:
    stream, one, other = a_stream(1, 2, 3), Receiver(0), Receiver(0)
    for number in (1, 2, 3):
        stream.owe(one, number, 0)
    stream.owe_late(other, (3, 2))
    assert stream.settle(one, 2) == [1]
    assert stream.settle(other, 1) == []
    assert stream.settle(other, 9) == [2]
    assert stream.settle(one, 3) == [3]
    assert (one.pending, other.pending) == ([], [])
    assert stream.owed_counts == {1: 0, 2: 0, 3: 0}
