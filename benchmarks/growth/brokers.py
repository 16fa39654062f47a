"""Whole brokers joined by one queue, without sockets or clocks: the cores, and their bytes."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np

from meshwright.lab.workloads import generate_snapshot
from meshwright.planning.designs import build_overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.foundation.effects import (
    CloseClient,
    OpenLink,
    SendClient,
    SendPeer,
    SetTimer,
    TimerKey,
    Write,
)
from meshwright.protocol.foundation.events import (
    ClientDown,
    ClientPacket,
    ClientUp,
    Event,
    LinkDown,
    LinkUp,
    PeerEnvelope,
    Started,
    Synced,
    TimerFired,
)
from meshwright.protocol.mqtt import packets
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.wire import decode_disk, decode_envelopes, encode

SECOND_US = 1_000_000
STEPS_MAX = 10_000_000


class Brokers:
    """Brokers that all run, each with a disk; received counts what clients got, by its kind."""

    def __init__(self, count: int = 1, design: str = "chord") -> None:
        snapshot = generate_snapshot(count, 1, 1, "unif", seed=0)
        self.names = tuple(map(str, snapshot.brokers))
        self.overlay = build_overlay(design, snapshot, rng=np.random.default_rng(0))
        self.disks: dict[str, dict[bytes, bytes]] = {name: {} for name in self.names}
        self.received: Counter[type] = Counter()
        self.unanswered: dict[str, list[int]] = {}
        self.now_us = 0
        self._machines: dict[str, Broker] = {}
        self._lives: Counter[str] = Counter()
        self._links: set[frozenset[str]] = set()
        self._timers: dict[tuple[str, TimerKey], int] = {}
        self._queue: deque[tuple[str, Event]] = deque()
        for name in self.names:
            self.start(name)

    def broker(self, number: int = 0) -> Broker:
        """One of the brokers, to be asked."""
        return self._machines[self.names[number]]

    def start(self, name: str) -> None:
        """Begin a life of a broker with what it has on disk."""
        self._lives[name] += 1
        self._machines[name] = Broker(name, BrokerSettings(), self.overlay)
        disk = dict(decode_disk(*row) for row in self.disks[name].items())
        self.tell(name, Started(self._lives[name], disk))

    def crash(self, name: str) -> None:
        """End a broker; those who were connected with it notice."""
        del self._machines[name]
        self._timers = {key: at_us for key, at_us in self._timers.items() if key[0] != name}
        for link in [one for one in self._links if name in one]:
            self._links.discard(link)
            (other,) = link - {name}
            self.tell(other, LinkDown(name))

    def connect(self, client: str, number: int = 0, **options: Any) -> None:
        """Connect a client to a broker."""
        self.unanswered.setdefault(client, [])
        self.tell(self.names[number], ClientUp(client, packets.Connect(**options)))

    def drop(self, client: str, number: int = 0) -> None:
        """End a client's connection without a goodbye."""
        self.tell(self.names[number], ClientDown(client, clean=False))

    def send(self, client: str, packet: Any, number: int = 0) -> None:
        """Have a client send a packet."""
        self.tell(self.names[number], ClientPacket(client, packet))

    def subscribe(self, client: str, *texts: str, number: int = 0) -> None:
        """Subscribe with one packet, and have it granted."""
        before = self.received[packets.Suback]
        filters = tuple(packets.Subscription(text, 1) for text in texts)
        self.send(client, packets.Subscribe(1, filters), number)
        while self.received[packets.Suback] == before:
            self.advance(0.1)

    def publish(self, client: str, topic: str, number: int = 0, **options: Any) -> None:
        """Publish with QoS 1."""
        options = {"qos": 1, "packet_id": 1, **options}
        self.send(client, packets.Publish(topic, b"x", **options), number)

    def tell(self, name: str, event: Event) -> None:
        """Let something happen, and all that follows without time going by."""
        self._queue.append((name, event))
        for _ in range(STEPS_MAX):
            if not self._queue:
                return
            at, one = self._queue.popleft()
            machine = self._machines.get(at)
            if machine is not None:
                for effect in machine.step(self.now_us, one):
                    self._do(at, effect)
        raise AssertionError("messages go in a circle")

    def advance(self, seconds: float) -> None:
        """Let time go by, in steps of a tenth of a second, with all that falls due."""
        end_us = self.now_us + int(seconds * SECOND_US)
        while self.now_us < end_us:
            self.now_us += SECOND_US // 10
            while due := [key for key, at_us in self._timers.items() if at_us <= self.now_us + 1]:
                for name, key in due:
                    if self._timers.pop((name, key), None) is not None:
                        self.tell(name, TimerFired(key))

    def _do(self, name: str, effect: Any) -> None:
        match effect:
            case SendPeer(peer, envelope):
                if frozenset((name, peer)) in self._links:
                    (read,) = decode_envelopes(encode([envelope]))
                    self._queue.append((peer, PeerEnvelope(name, read)))
            case SendClient(client, packet):
                self.received[type(packet)] += 1
                if isinstance(packet, packets.Publish) and packet.qos:
                    self.unanswered[client].append(packet.packet_id)
            case Write(batch, changes):
                disk = self.disks[name]
                for key, value in changes.items():
                    if value is None:
                        disk.pop(encode(key), None)
                    else:
                        disk[encode(key)] = encode(value)
                self._queue.append((name, Synced(batch)))
            case SetTimer(key, at_us):
                self._timers[name, key] = at_us
            case OpenLink(peer):
                self._open(name, peer)
            case CloseClient():
                pass

    def _open(self, name: str, peer: str) -> None:
        link = frozenset((name, peer))
        if peer not in self._machines:
            self._queue.append((name, LinkDown(peer)))
        elif link not in self._links:
            self._links.add(link)
            self._queue.append((name, LinkUp(peer)))
            self._queue.append((peer, LinkUp(name)))
