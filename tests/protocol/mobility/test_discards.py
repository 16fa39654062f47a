"""Sessions that other brokers are to forget, until they have."""

from __future__ import annotations

from one_end import OneEnd

from meshwright.protocol.mobility.discards import Discards
from meshwright.protocol.mobility.messages import Discard, DiscardDone

LATER = Discard("client", 5, "b5")
EARLIER = Discard("client", 3, "b3")


def test_a_discard_is_repeated_until_it_is_done_though_a_lower_one_was_told_since() -> None:
    end = OneEnd()
    end.meet("a")
    discards = Discards(end.conversations, lambda _name: False)
    discards.tell(end.turn, "a", LATER)
    discards.tell(end.turn, "a", EARLIER)
    assert end.sent() == [("a", LATER), ("a", EARLIER)]
    end.meet("a")
    discards.peer_renewed(end.turn, "a")
    assert end.sent() == [("a", LATER), ("a", EARLIER)]
    discards.done("a", DiscardDone("client", 5))
    end.meet("a")
    discards.peer_renewed(end.turn, "a")
    assert end.sent() == [("a", EARLIER)]


def test_nothing_is_told_to_a_broker_that_is_gone_for_good() -> None:
    end = OneEnd()
    end.meet("a")
    gone: set[str] = set()
    discards = Discards(end.conversations, gone.__contains__)
    discards.tell(end.turn, "a", LATER)
    gone.add("a")
    discards.roll_changed()
    discards.tell(end.turn, "a", EARLIER)
    assert end.sent() == [("a", LATER)]
    end.meet("a")
    discards.peer_renewed(end.turn, "a")
    assert end.sent() == []
