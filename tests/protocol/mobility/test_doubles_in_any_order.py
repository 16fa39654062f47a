"""One client at several brokers at once, in any order of what brokers say: one is served, whole.

Every run draws its own interleaving from its seed: what goes over one link, or to one disk, stays
in order, and all else may overtake.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from small_network import SmallNetwork

from meshwright.protocol.foundation.effects import CloseClient, SendClient
from meshwright.protocol.foundation.events import ClientDown, ClientPacket, ClientUp, Event
from meshwright.protocol.mqtt import packets

CLIENT = "twice"
BROKER_COUNT = 4
SEEDS_AT_ONCE = 40


class Shuffled(SmallNetwork):
    """Brokers whose messages take any time; said: what each of them says to the client.

    The client subscribes wherever it is let in, publishes to itself when that is granted, and
    acknowledges what it gets.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.said: dict[str, list[Any]] = {}
        self.rng = rng
        self.is_shuffled = False
        super().__init__(BROKER_COUNT)
        self.is_shuffled = True

    def served(self) -> list[str]:
        """Brokers at which the client is connected."""
        return [name for name, said in sorted(self.said.items()) if said[-1] != "closed"]

    def sessions(self) -> list[str]:
        """Brokers that have a session of the client."""
        return [
            name
            for name, machine in sorted(self.machines.items())
            if any(one.client == CLIENT for one in machine.view().sessions)
        ]

    def heard(self, kind: type) -> list[tuple[str, Any]]:
        """All packets of a kind, and who sent them."""
        return [(name, one) for name in self.said for one in self.said[name] if type(one) is kind]

    def _next(self) -> tuple[str, Event]:
        if not self.is_shuffled:
            return super()._next()
        self.now_us += int(self.rng.integers(3))
        number = int(self.rng.integers(len(self.queue)))
        stream = _stream(*self.queue[number])
        first = next(n for n, one in enumerate(self.queue) if _stream(*one) == stream)
        drawn = self.queue[first]
        del self.queue[first]
        return drawn

    def _do(self, broker: str, effect: Any) -> None:
        match effect:
            case SendClient(client, packet) if client == CLIENT:
                self.said.setdefault(broker, []).append(packet)
                answer = self._answer(broker, packet)
                if answer is not None:
                    self.queue.append((broker, ClientPacket(CLIENT, answer)))
            case CloseClient(client) if client == CLIENT and broker in self.served():
                self.said[broker].append("closed")
        super()._do(broker, effect)

    def _answer(self, broker: str, packet: Any) -> Any:
        match packet:
            case packets.Connack(reason=packets.SUCCESS):
                return packets.Subscribe(1, (packets.Subscription(f"at/{broker}", 1),))
            case packets.Suback():
                return packets.Publish(f"at/{broker}", broker.encode(), 1, packet_id=2)
            case packets.Publish():
                return packets.Puback(packet.packet_id)
        return None


def _stream(broker: str, event: Event) -> tuple[str, str]:
    """What arrives in order: of one peer, of the disk, of the client."""
    return broker, getattr(event, "peer", type(event).__name__[:6])


def _connects(network: Shuffled, broker_count: int, *, expiry_s: int, clean_share: float) -> None:
    """Have the client connect at several brokers at once."""
    for name in network.rng.permutation(network.names).tolist()[:broker_count]:
        clean = bool(network.rng.random() < clean_share)
        connect = packets.Connect(clean_start=clean, session_expiry_s=expiry_s)
        if name in network.served():
            network.queue.append((name, ClientDown(CLIENT, clean=False)))
        network.queue.append((name, ClientUp(CLIENT, connect)))


def _race(
    seed: int, broker_count: int, *, expiry_s: int, clean_share: float, is_known: bool = False
) -> Shuffled:
    """The client connects at several brokers at once, perhaps with a link that is slow.

    is_known: it is connected already, at a broker that none of them need be.
    """
    rng = np.random.default_rng(seed)
    network = Shuffled(rng)
    if is_known:
        connect = packets.Connect(session_expiry_s=expiry_s)
        network.tell(str(rng.choice(network.names)), ClientUp(CLIENT, connect))
        network.advance(1.0)
    source, target = rng.permutation(network.names)[:2].tolist()
    is_held = rng.random() < 0.5
    if is_held:
        network.hold(source=source, target=target)
    _connects(network, broker_count, expiry_s=expiry_s, clean_share=clean_share)
    network.run()
    network.advance(float(rng.choice([0.0, 0.2, 1.5])))
    if is_held:
        network.release(source=source, target=target)
    network.advance(2.0)
    return network


def _crash(seed: int) -> Shuffled:
    """One of the brokers crashes meanwhile, and the client comes once more when it is back."""
    rng = np.random.default_rng(seed)
    network = Shuffled(rng)
    _connects(network, 2, expiry_s=100, clean_share=0.0)
    network.run(int(rng.integers(5, 60)))
    gone, last = rng.permutation(network.names)[:2].tolist()
    network.crash(gone)
    if network.said.get(gone):
        network.said[gone].append("closed")
    network.advance(float(rng.choice([0.0, 1.0])))
    network.start(gone)
    network.advance(10.0)
    if network.served() == [last]:
        network.said[last].append("closed")
        network.tell(last, ClientDown(CLIENT, clean=False))
    network.tell(last, ClientUp(CLIENT, packets.Connect(session_expiry_s=100)))
    network.advance(2.0)
    return network


def _judge(network: Shuffled, *, is_kept: bool) -> None:
    """One connection is served; is_kept: all that any of them was promised is there."""
    (broker,) = network.served()
    assert len(network.sessions()) == 1
    network.connect("writer", "b3")
    granted = dict.fromkeys(name for name, _ in network.heard(packets.Suback))
    topics = list(granted) if is_kept else [broker]
    for name in topics:
        assert network.publish("writer", f"at/{name}", f"last {name}")
        network.advance(0.5)
    got = [(at, one.payload.decode()) for at, one in network.heard(packets.Publish)]
    assert [one for one in got if "last" in one[1]] == [(broker, f"last {one}") for one in topics]
    if is_kept:
        acknowledged = {name for name, _ in network.heard(packets.Puback)}
        assert acknowledged <= {payload for _, payload in got}


def _judge_goodbyes(network: Shuffled) -> None:
    """Everybody else was refused, or told that the session was taken over."""
    for name, said in network.said.items():
        if name not in network.served():
            assert said[-2].reason in {packets.SERVER_UNAVAILABLE, packets.SESSION_TAKEN_OVER}


@pytest.mark.parametrize("broker_count", [2, 3])
@pytest.mark.parametrize(("expiry_s", "clean_share"), [(100, 0.0), (100, 0.5), (0, 0.0), (0, 1.0)])
def test_one_of_several_first_connections_is_served(
    broker_count: int, expiry_s: int, clean_share: float
) -> None:
    for seed in range(SEEDS_AT_ONCE):
        network = _race(seed, broker_count, expiry_s=expiry_s, clean_share=clean_share)
        with _naming(seed, network):
            _judge_goodbyes(network)
            _judge(network, is_kept=expiry_s > 0 and not clean_share)


@pytest.mark.parametrize(("expiry_s", "clean_share"), [(100, 0.0), (100, 0.5), (0, 1.0)])
def test_one_of_several_connections_takes_over_a_session(expiry_s: int, clean_share: float) -> None:
    for seed in range(SEEDS_AT_ONCE):
        network = _race(seed, 3, expiry_s=expiry_s, clean_share=clean_share, is_known=True)
        with _naming(seed, network):
            _judge(network, is_kept=expiry_s > 0 and not clean_share)


def test_a_crash_amid_two_first_connections_leaves_one_session_with_all_that_was_promised() -> None:
    for seed in range(SEEDS_AT_ONCE):
        network = _crash(seed)
        with _naming(seed, network):
            _judge(network, is_kept=True)


@contextmanager
def _naming(seed: int, network: Shuffled) -> Iterator[None]:
    """Say with what seed an assertion failed."""
    try:
        yield
    except (AssertionError, ValueError) as error:
        at = network.sessions()
        raise AssertionError(f"seed {seed}: {network.said}, sessions at {at}") from error
