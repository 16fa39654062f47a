"""Brokers whose disks forget in a crash, and say so."""

from __future__ import annotations

from small_network import SmallNetwork

from meshwright.protocol.streams.quiet_streams import USED_UP_TO


def test_what_is_published_after_a_disk_forgot_is_delivered() -> None:
    network = SmallNetwork()
    network.connect("reader", "b1", session_expiry_s=60)
    network.subscribe("reader", "t")
    network.connect("writer", "b0")
    for number in range(5):
        assert network.publish("writer", "t", str(number))
    network.answer_all("reader")
    network.advance(5)
    network.crash("b0")
    network.disks["b0"] = {USED_UP_TO: 2 << 32}
    network.start("b0")
    network.advance(20)
    network.connect("writer", "b0")
    for number in range(5, 15):
        assert network.publish("writer", "t", str(number))
    network.advance(5)
    assert network.payloads("reader") == [str(number) for number in range(15)]
