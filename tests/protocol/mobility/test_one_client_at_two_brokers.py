"""Two connections of one client at once, at different brokers: one is served, soon, and whole."""

from __future__ import annotations

from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.protocol.foundation.effects import CloseClient, SendClient
from meshwright.protocol.foundation.events import ClientDown, ClientUp
from meshwright.protocol.mqtt import packets


class Watched(SmallNetwork):
    """A network that notes which broker says what to a client that is at several of them."""

    def __init__(self) -> None:
        self.said: dict[str, list[Any]] = {}
        super().__init__(4)

    def _do(self, broker: str, effect: Any) -> None:
        match effect:
            case SendClient("twice", packet):
                self.said.setdefault(broker, []).append(packet)
            case CloseClient("twice") if self.said.get(broker):
                self.said[broker].append("closed")
                self.queue.append((broker, ClientDown("twice", clean=False)))
        super()._do(broker, effect)

    def served(self) -> list[str]:
        """Brokers at which the client is connected."""
        return [name for name, said in sorted(self.said.items()) if said[-1] != "closed"]


def connects(broker: str) -> tuple[str, ClientUp]:
    return broker, ClientUp("twice", packets.Connect(session_expiry_s=100))


@pytest.mark.parametrize("brokers", [("b0", "b1"), ("b1", "b0"), ("b0", "b2"), ("b2", "b0")])
def test_one_of_two_connections_is_served_and_the_other_one_told_so(
    brokers: tuple[str, str],
) -> None:
    network = Watched()
    network.connect("twice", "b2", session_expiry_s=100)
    network.subscribe("twice", "t")
    network.drop("twice")
    network.said.clear()
    network.queue.extend(map(connects, brokers))
    network.run()
    network.advance(0.5)
    (broker,) = network.served()
    for name, said in network.said.items():
        if name != broker:
            assert isinstance(said[0], packets.Connack)
            assert said[-1] == "closed"
    network.connect("writer", "b3")
    network.publish("writer", "t", "x")
    network.advance(0.5)
    last = network.said[broker][-1]
    assert isinstance(last, packets.Publish)
    assert last.payload == b"x"


def test_a_client_that_comes_home_meanwhile_is_served_there() -> None:
    network = Watched()
    network.connect("twice", "b2", session_expiry_s=100)
    network.drop("twice")
    network.said.clear()
    network.hold(source="b2", target="b0")
    network.queue.append(connects("b0"))
    network.run()
    network.queue.append(connects("b2"))
    network.run()
    network.release(source="b2", target="b0")
    network.advance(0.5)
    assert network.served() == ["b2"]
    (refused, _) = network.said["b0"]
    assert refused.reason == packets.SERVER_UNAVAILABLE
