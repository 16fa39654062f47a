"""Members that move: a group waits for them, and for nobody who has left it elsewhere meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from shared_crews import GROUP, TOPIC, keeper, others
from small_network import SmallNetwork

Leave = Callable[[SmallNetwork, str], None]


def on_disk(network: SmallNetwork, broker: str) -> list[str]:
    """What a broker keeps of groups."""
    kinds = {"group", "moving", "shared"}
    return sorted(str(key[0]) for key in network.disks[broker] if key[0] in kinds)


def given(network: SmallNetwork, former: str, target: str) -> None:
    """Let ann's former broker send its session; it does not get to the disk of the new one."""
    network.drop("ann")
    network.stall_disk(target)
    network.connect("ann", target, session_expiry_s=3600)
    while ("given", "ann") not in network.disks[former]:
        network.sync_stalled(target)


def moved_behind_the_back(network: SmallNetwork, former: str, target: str) -> None:
    """Move ann's session; its former broker does not hear that it arrived."""
    given(network, former, target)
    network.hold(source=target, target=former)
    network.unstall_disk(target)


def with_ann() -> tuple[SmallNetwork, str, str]:
    """The only member of a group, at one broker; also another broker."""
    network = SmallNetwork(5)
    network.advance(1)
    former, target = others(network)[:2]
    network.connect("ann", former, session_expiry_s=3600)
    assert network.subscribe("ann", GROUP)
    network.connect("publisher", keeper(network))
    return network, former, target


def unsubscribed(network: SmallNetwork, _target: str) -> None:
    network.unsubscribe("ann", GROUP)


def ended(network: SmallNetwork, target: str) -> None:
    """A client that wants another session ends the one it has."""
    network.drop("ann")
    network.connect("ann", target, clean_start=True)


def restarted(network: SmallNetwork, former: str, target: str) -> None:
    """The former broker starts again, and tells the keeper that the session is on its way."""
    network.crash(former)
    del network.held[target, former]
    network.start(former)
    network.advance(30)


@pytest.mark.parametrize("leave", [unsubscribed, ended])
def test_nobody_waits_for_a_member_that_left_the_group_where_it_moved_to(leave: Leave) -> None:
    network, former, target = with_ann()
    moved_behind_the_back(network, former, target)
    leave(network, target)
    restarted(network, former, target)
    assert on_disk(network, keeper(network)) == []
    assert network.publish("publisher", TOPIC)
    assert on_disk(network, keeper(network)) == []


def test_a_member_that_comes_late_is_waited_for() -> None:
    network, former, target = with_ann()
    given(network, former, target)
    network.crash(target)
    assert network.publish("publisher", TOPIC, "kept")
    network.advance(60)
    assert "moving" in on_disk(network, keeper(network))
    network.start(target)
    network.connect("ann", target, session_expiry_s=3600)
    network.advance(30)
    assert network.payloads("ann") == ["kept"]
