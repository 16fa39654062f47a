"""A network that is to stand k - 1 deaths keeps its directory at enough brokers for that."""

from __future__ import annotations

from itertools import combinations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.directory.directory import REPLICAS

BROKERS = 7


@pytest.mark.parametrize(
    "dead", list(combinations(range(1, BROKERS), 2)), ids=lambda pair: "-".join(map(str, pair))
)
def test_new_topics_work_while_k_less_one_brokers_are_dead(dead: tuple[int, int]) -> None:
    network = SmallNetwork(BROKERS, design="harary", k=3)
    network.advance(1)
    for number in dead:
        network.crash(f"b{number}")
    living = [name for name in network.names if name in network.machines]
    network.connect("reader", living[-1])
    network.connect("publisher", living[0])
    network.advance(30)
    for number in range(5):
        assert network.subscribe("reader", f"new/{number}")
        assert network.publish("publisher", f"new/{number}", str(number))
    network.advance(10)
    assert network.payloads("reader") == [str(number) for number in range(5)]


def test_a_newcomer_is_told_how_many_replicas_there_are() -> None:
    network = SmallNetwork(BROKERS, design="harary", k=3)
    network.advance(1)
    network.start("newcomer")
    network.advance(30)
    assert network.disks["newcomer"][REPLICAS] == 5


def test_what_was_founded_with_three_replicas_keeps_them() -> None:
    network = SmallNetwork(BROKERS, design="harary", k=3)
    network.advance(1)
    for name in network.names:
        network.crash(name)
    for name in network.names:
        network.disks[name] = {("removals", "b0"): 0}
        network.start(name)
    network.start("newcomer")
    network.advance(60)
    assert network.disks["newcomer"][REPLICAS] == 3
