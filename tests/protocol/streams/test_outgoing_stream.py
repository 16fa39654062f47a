from __future__ import annotations

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.stream_frames import NOTHING_OWED
from meshwright.protocol.streams.outgoing_stream import (
    Member,
    OutgoingStream,
    owe,
    owe_late,
    settle,
)


def a_stream(*numbers: int) -> OutgoingStream:
    stream = OutgoingStream()
    for number in numbers:
        stream.log[number] = Publication("publisher", number, "t")
        stream.owed_counts[number] = 0
    return stream


def test_a_member_must_have_what_it_was_owed_before() -> None:
    stream, member = a_stream(1, 2, 5), Member(0)
    assert [owe(stream, member, number, 7) for number in (1, 2, 5)] == [NOTHING_OWED, 1, 2]
    assert member.progress_us == 7
    member.is_fresh = False
    settle(stream, member, 5)
    assert owe(a_stream(6), member, 6, 9) == 5
    assert member.progress_us == 9


def test_what_the_last_member_has_got_is_owed_to_nobody_any_more() -> None:
    stream, one, other = a_stream(1, 2, 3), Member(0), Member(0)
    for number in (1, 2, 3):
        owe(stream, one, number, 0)
    owe_late(stream, other, (3, 2))
    assert settle(stream, one, 2) == [1]
    assert settle(stream, other, 1) == []
    assert settle(stream, other, 9) == [2]
    assert settle(stream, one, 3) == [3]
    assert (one.pending, other.pending) == ([], [])
    assert stream.owed_counts == {1: 0, 2: 0, 3: 0}
