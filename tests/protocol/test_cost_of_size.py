"""Work grows with what it is given, and no faster: twice as much costs twice as much."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from counted_work import QUADRUPLE_MAX, growth
from small_network import SmallNetwork

from meshwright.protocol.mqtt import packets

DESIGNS = ("chord", "tree", "gm2", "hypercube")
FILTERS: dict[str, Callable[[int], str]] = {
    "exact": lambda number: f"a/{number}/x",
    "wildcards": lambda number: f"a/{number}/+",
    "first wildcards": lambda number: f"+/{number}/#",
    "covered": lambda number: f"a/{number}/+" if number else "a/#",
    "content": lambda number: f"$where/v={number}/a/+",
    "content of one topic": lambda number: f"$where/v>{number}/a/x",
}
Network = Callable[[int], SmallNetwork]


def subscribe(network: SmallNetwork, texts: list[str], client: str = "c") -> None:
    """Subscribe to all with one packet, and have it granted."""
    network.send(client, packets.Subscribe(1, tuple(packets.Subscription(one) for one in texts)))
    # Many filters are taken some at a time.
    network.advance(0.01)
    assert any(isinstance(one, packets.Suback) for one in network.got[client])
    network.got[client].clear()


def unsubscribe(network: SmallNetwork, texts: list[str]) -> None:
    network.send("c", packets.Unsubscribe(2, tuple(texts)))
    network.advance(0.01)
    assert any(isinstance(one, packets.Unsuback) for one in network.got["c"])
    network.got["c"].clear()


def joined(broker_count: int = 1, design: str = "chord") -> SmallNetwork:
    network = SmallNetwork(broker_count, design=design)
    network.connect("c", "b0")
    return network


# Each kind of filters on one broker, and on some that each design joins.
CASES = [
    (kind, broker_count, design)
    for kind in FILTERS
    for broker_count, design in ((1, "chord"), *((4, one) for one in DESIGNS))
    if not (design == "tree" and "content" in kind)
]


@pytest.mark.parametrize(("kind", "broker_count", "design"), CASES)
def test_filters_in_one_packet(kind: str, broker_count: int, design: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        network = joined(broker_count, design)
        return lambda: subscribe(network, [FILTERS[kind](number) for number in range(count)])

    assert growth(prepare, 40) < QUADRUPLE_MAX


@pytest.mark.parametrize(("kind", "broker_count", "design"), CASES)
def test_filters_in_a_packet_each(kind: str, broker_count: int, design: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        network = joined(broker_count, design)
        return lambda: [subscribe(network, [FILTERS[kind](number)]) for number in range(count)]

    assert growth(prepare, 40) < QUADRUPLE_MAX


@pytest.mark.parametrize(("kind", "broker_count", "design"), CASES)
def test_filters_taken_back(kind: str, broker_count: int, design: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        network = joined(broker_count, design)
        texts = [FILTERS[kind](number) for number in range(count)]
        subscribe(network, texts)
        return lambda: unsubscribe(network, texts)

    assert growth(prepare, 40) < QUADRUPLE_MAX
