"""A few whole brokers joined by one queue: messages take no time, clocks move only when told to."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.foundation.effects import (
    CloseClient,
    CloseLink,
    OpenLink,
    Report,
    SendClient,
    SendPeer,
    SetTimer,
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
from meshwright.protocol.wire import decode_disk, encode

SECOND_US = 1_000_000
STEPS_MAX = 100_000


class SmallNetwork:
    """Brokers b0, b1, ... that all run at first, and what their clients have got."""

    def __init__(
        self,
        broker_count: int = 3,
        settings: BrokerSettings | None = None,
        *,
        design: str = "chord",
        k: int | None = None,
    ) -> None:
        names = tuple(f"b{number}" for number in range(broker_count))
        snapshot = Snapshot(
            brokers=tuple(map(BrokerName, names)),
            topics=(TopicName("t"),),
            interests=interests_from_sets([[0]] * broker_count, 1),
            publications=np.ones(1),
        )
        self.names = names
        self.overlay = build_overlay(design, snapshot, k=k, rng=np.random.default_rng(0))
        self.settings = settings or BrokerSettings()
        self.now_us = 0
        self.machines: dict[str, Broker] = {}
        self.disks: dict[str, dict[Any, Any]] = {name: {} for name in names}
        self.stalled: dict[str, list[Write]] = {}
        self.incarnations = dict.fromkeys(names, 0)
        self.timers: dict[tuple[str, Any], int] = {}
        self.links: set[frozenset[str]] = set()
        self.cut: set[frozenset[str]] = set()
        self.closed: list[tuple[str, str]] = []
        self.queue: deque[tuple[str, Event]] = deque()
        self.held: dict[tuple[str, str], list[Event]] = {}
        self.got: dict[str, list[Any]] = {}
        self.connected: dict[str, str] = {}
        self.reports: list[Any] = []
        self.sent: list[tuple[str, str, Any]] = []
        self._packet_id = 0
        for name in names:
            self.start(name)

    def start(self, name: str) -> None:
        """Begin a life of a broker, also of one that the network does not know."""
        self.disks.setdefault(name, {})
        self.incarnations[name] = self.incarnations.get(name, 0) + 1
        self.machines[name] = Broker(name, self.settings, self.overlay)
        self.queue.append((name, Started(self.incarnations[name], dict(self.disks[name]))))
        self.run()

    def crash(self, name: str) -> None:
        """End a broker; nothing that it has on the way arrives, and its stalled disk forgets."""
        del self.machines[name]
        self.stalled.pop(name, None)
        self.timers = {key: at for key, at in self.timers.items() if key[0] != name}
        self.queue = deque(
            (broker, event)
            for broker, event in self.queue
            if broker != name and not (isinstance(event, PeerEnvelope) and event.peer == name)
        )
        for client in [one for one, broker in self.connected.items() if broker == name]:
            del self.connected[client]
        for link in [one for one in self.links if name in one]:
            self._break(link)
        self.run()

    def separate(self, *, one: str, other: str) -> None:
        """Cut two brokers apart until they are joined again."""
        link = frozenset((one, other))
        self.cut.add(link)
        self._break(link)
        self.run()

    def hold(self, *, source: str, target: str) -> None:
        """Let nothing that a broker hears of another arrive until it is released."""
        self.held[source, target] = []

    def release(self, *, source: str, target: str) -> None:
        self.queue.extend((target, one) for one in self.held.pop((source, target)))
        self.run()

    def stall_disk(self, name: str) -> None:
        """Sync nothing at a broker until it goes on or crashes."""
        self.stalled[name] = []

    def sync_stalled(self, name: str) -> None:
        """Sync what waits at a stalled broker, and nothing that follows from it."""
        batches, self.stalled[name] = self.stalled[name], []
        for batch in batches:
            self._sync(name, batch)
        self.run()

    def unstall_disk(self, name: str) -> None:
        for batch in self.stalled.pop(name):
            self._sync(name, batch)
        self.run()

    def connect(self, client: str, broker: str, **options: Any) -> packets.Connack | None:
        self.got.setdefault(client, [])
        self.connected[client] = broker
        self.tell(broker, ClientUp(client, packets.Connect(**options)))
        found = [one for one in self.got[client] if isinstance(one, packets.Connack)]
        return found[-1] if found else None

    def drop(self, client: str, *, clean: bool = False) -> None:
        """End a client's connection, with or without a goodbye."""
        self.tell(self.connected.pop(client), ClientDown(client, clean=clean))

    def send(self, client: str, packet: Any) -> None:
        self.tell(self.connected[client], ClientPacket(client, packet))

    def subscribe(self, client: str, text: str, qos: int = 1, **options: Any) -> bool:
        """True if the subscription was granted."""
        self._packet_id += 1
        subscription = packets.Subscription(text, qos, **options)
        self.send(client, packets.Subscribe(self._packet_id, (subscription,)))
        return any(
            isinstance(one, packets.Suback) and one.packet_id == self._packet_id
            for one in self.got[client]
        )

    def unsubscribe(self, client: str, text: str) -> None:
        self._packet_id += 1
        self.send(client, packets.Unsubscribe(self._packet_id, (text,)))

    def publish(
        self, client: str, topic: str, payload: str = "", qos: int = 1, **options: Any
    ) -> bool:
        """True if the message was answered at once, or needs no answer."""
        self._packet_id += 1
        number = self._packet_id if qos else 0
        before = len(self.got[client])
        packet = packets.Publish(topic, payload.encode(), qos, packet_id=number, **options)
        self.send(client, packet)
        answers = (packets.Puback, packets.Pubrec)
        return qos == 0 or any(
            isinstance(one, answers) and one.packet_id == number
            for one in self.got[client][before:]
        )

    def answer_all(self, client: str) -> None:
        """Acknowledge all that a client has got, as far as it is new."""
        for one in self.messages(client):
            if one.qos == 1:
                self.send(client, packets.Puback(one.packet_id))
            elif one.qos == 2:
                self.send(client, packets.Pubrec(one.packet_id))
                self.send(client, packets.Pubcomp(one.packet_id))

    def messages(self, client: str) -> list[packets.Publish]:
        return [one for one in self.got[client] if isinstance(one, packets.Publish)]

    def payloads(self, client: str) -> list[str]:
        return [one.payload.decode() for one in self.messages(client)]

    def forget(self, client: str) -> None:
        """Look only at what a client gets from now on."""
        self.got[client].clear()

    def tell(self, broker: str, event: Event) -> None:
        self.queue.append((broker, event))
        self.run()

    def advance(self, seconds: float) -> None:
        """Let time go by, with all that falls due."""
        end_us = self.now_us + int(seconds * SECOND_US)
        while self.timers:
            key = min(self.timers, key=lambda one: (self.timers[one], one[0], str(one[1])))
            if self.timers[key] > end_us:
                break
            self.now_us = max(self.now_us, self.timers.pop(key))
            self.tell(key[0], TimerFired(key[1]))
        self.now_us = end_us

    def run(self, steps_max: int | None = None) -> None:
        """Take what happens until nothing more does, or so many steps."""
        for _ in range(steps_max or STEPS_MAX):
            if not self.queue:
                return
            self._take(*self._next())
        assert steps_max is not None, "messages go in a circle"

    def _next(self) -> tuple[str, Event]:
        return self.queue.popleft()

    def _take(self, broker: str, event: Event) -> None:
        if isinstance(event, LinkUp | LinkDown | PeerEnvelope):
            held = self.held.get((event.peer, broker))
            if held is not None:
                held.append(event)
                return
        machine = self.machines.get(broker)
        if machine is not None:
            for effect in machine.step(self.now_us, event):
                self._do(broker, effect)

    def _do(self, broker: str, effect: Any) -> None:
        match effect:
            case SendPeer(peer, envelope):
                self._send_peer(broker, peer, envelope)
            case OpenLink(peer):
                self._open(broker, peer)
            case CloseLink(peer):
                self.closed.append((broker, peer))
                self._break(frozenset((broker, peer)))
            case SendClient(client, packet):
                if self.connected.get(client) == broker:
                    self.got[client].append(packet)
            case CloseClient(client):
                if self.connected.get(client) == broker:
                    del self.connected[client]
            case SetTimer(key, at_us):
                self.timers[broker, key] = at_us
            case Write():
                if broker in self.stalled:
                    self.stalled[broker].append(effect)
                else:
                    self._sync(broker, effect)
            case Report(record):
                self.reports.append(record)

    def _send_peer(self, broker: str, peer: str, envelope: Any) -> None:
        if frozenset((broker, peer)) in self.links:
            self.sent.append((broker, peer, getattr(envelope, "body", None)))
            self.queue.append((peer, PeerEnvelope(broker, envelope)))

    def _sync(self, broker: str, batch: Write) -> None:
        disk = self.disks[broker]
        for key, value in batch.changes.items():
            if value is None:
                disk.pop(key, None)
            else:
                # A live broker's disk holds bytes, and is read by what DISK_VALUES says of them.
                read_key, read = decode_disk(encode(key), encode(value))
                assert (read_key, read) == (key, value), f"{key}: {value} is read as {read}"
                disk[key] = read
        self.queue.append((broker, Synced(batch.batch)))

    def _open(self, broker: str, peer: str) -> None:
        link = frozenset((broker, peer))
        if peer not in self.machines or link in self.cut:
            self.queue.append((broker, LinkDown(peer)))
        elif link not in self.links:
            self.links.add(link)
            self.queue.append((broker, LinkUp(peer)))
            self.queue.append((peer, LinkUp(broker)))

    def _break(self, link: frozenset[str]) -> None:
        if link in self.links:
            self.links.discard(link)
            one, other = sorted(link)
            self.queue = deque(
                (broker, event)
                for broker, event in self.queue
                if not (isinstance(event, PeerEnvelope) and frozenset((broker, event.peer)) == link)
            )
            self.queue.append((one, LinkDown(other)))
            self.queue.append((other, LinkDown(one)))
