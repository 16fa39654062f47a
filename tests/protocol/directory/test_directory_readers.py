from __future__ import annotations

from small_network import SmallNetwork


def test_readers_of_long_ago_are_forgotten_in_memory_and_on_disk() -> None:
    network = SmallNetwork(3)
    network.connect("writer", "b0")
    network.connect("reader", "b1")
    network.subscribe("reader", "reply/last")
    for number in range(20):
        network.publish("writer", f"reply/{number}", "x")
    network.advance(130)
    for disk in network.disks.values():
        assert not any(key[0] == "reader" for key in disk)
    network.publish("writer", "reply/last", "y")
    assert network.payloads("reader") == ["y"]
