from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol import directory


def test_readers_of_long_ago_are_forgotten_in_memory_and_on_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directory, "READERS_MIN", 30)
    network = SmallNetwork(3)
    network.connect("writer", "b0")
    network.connect("reader", "b1")
    network.subscribe("reader", "reply/last")
    for number in range(200):
        network.publish("writer", f"reply/{number}", "x")
        if number % 20 == 0:
            network.advance(61)
    network.advance(5)
    for disk in network.disks.values():
        assert sum(key[0] == "reader" for key in disk) < 200
    network.publish("writer", "reply/last", "y")
    assert network.payloads("reader") == ["y"]
