"""Messages of a group without a promise go to one member at most, whoever crashes."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.model.publication import Publication
from meshwright.protocol.shared.at_most_once import GROUPS_MAX, LINES_MAX, HandedBefore, LastHanded
from meshwright.protocol.shared.messages import keeper_of

GROUP = "$share/crew/t"


def said(publisher: str, sequence: int) -> Publication:
    return Publication(publisher, sequence, "t")


@pytest.mark.parametrize(("design", "slow"), [("gm2", "b1"), ("harary", "b3")])
def test_a_slow_copy_goes_to_nobody_after_its_keeper_has_crashed(design: str, slow: str) -> None:
    network = SmallNetwork(4, design=design)
    keeper = keeper_of(GROUP, network.names)
    members = [f"member at {name}" for name in network.names if name != keeper]
    for member in members:
        network.connect(member, member.split()[-1])
        network.subscribe(member, GROUP)
        # A reader of its own, so that the overlay has several ways.
        network.connect(f"reader beside {member}", member.split()[-1])
        network.subscribe(f"reader beside {member}", "t", 0)
    network.connect("writer", "b0")
    network.publish("writer", "t", "first", qos=0)
    network.advance(3)
    network.hold(source="b0", target=slow)
    network.publish("writer", "t", "slow", qos=0)
    network.crash(keeper)
    network.start(keeper)
    network.advance(0.2)
    network.release(source="b0", target=slow)
    network.advance(2)
    network.publish("writer", "t", "last", qos=0)
    network.advance(1)
    got = [payload for member in members for payload in network.payloads(member)]
    assert sorted(got) == ["first", "last", "slow"]


def test_a_member_takes_no_line_twice_and_remembers_a_bounded_number_of_them() -> None:
    last = LastHanded()
    assert last.is_new("group", said("p", 2))
    assert not last.is_new("group", said("p", 2))
    assert not last.is_new("group", said("p", 1))
    assert last.is_new("other group", said("p", 1))
    for number in range(LINES_MAX):
        last.is_new("group", said(f"p{number}", 1))
    assert last.lines("group") == tuple((f"p{number}", "t", 1) for number in range(LINES_MAX))
    for number in range(GROUPS_MAX):
        last.is_new(str(number), said("p", 1))
    assert last.lines("group") == ()


def test_a_keeper_hands_out_nothing_until_those_have_told_that_it_can_ask() -> None:
    before = HandedBefore()
    before.waiting = dict.fromkeys(("b1", "b2"))
    before.learn("b1", [("p", "t", 4)])
    assert not before.may_hand(said("q", 1), lambda _: False)
    assert before.may_hand(said("q", 1), lambda name: name == "b2")
    before.learn("b2", [("p", "t", 3)])
    assert before.may_hand(said("q", 1), lambda _: False)
    assert [before.may_hand(said("p", number), lambda _: False) for number in (3, 4, 5)] == [
        False,
        False,
        True,
    ]
