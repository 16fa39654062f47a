"""Small machines to run in a simulated world: one that echoes, and a lone MQTT broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.filters.filter import matches, parse_filter
from meshwright.model.overlay import Overlay
from meshwright.protocol.foundation.effects import (
    DiskKey,
    Effect,
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
from meshwright.protocol.mqtt.packets import (
    Connack,
    Connect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from meshwright.protocol.observation import Observation


class Echo:
    """Notes what happens to it, connects to whom it is told, and echoes numbers below a limit."""

    def __init__(self, name: str, peers: tuple[str, ...] = (), *, limit: int = 0) -> None:
        self.name = name
        self.peers = peers
        self.limit = limit
        self.noted: list[tuple[int, Event]] = []

    def step(self, now_us: int, event: Event) -> list[Effect]:
        self.noted.append((now_us, event))
        if isinstance(event, Started):
            return [OpenLink(peer) for peer in self.peers]
        if isinstance(event, LinkUp) and event.peer in self.peers:
            return [SendPeer(event.peer, 1)]
        if isinstance(event, PeerEnvelope) and event.envelope < self.limit:
            return [
                SendPeer(event.peer, event.envelope + 1),
                Report((self.name, event.envelope)),
            ]
        return []

    def envelopes(self) -> list[Any]:
        return [one.envelope for _, one in self.noted if isinstance(one, PeerEnvelope)]

    def links(self) -> list[Event]:
        return [one for _, one in self.noted if isinstance(one, LinkUp | LinkDown)]


class Scripted:
    """Does what it is told at its start, and notes what happens."""

    def __init__(self, effects: list[Effect]) -> None:
        self.effects = effects
        self.noted: list[tuple[int, Event]] = []

    def step(self, now_us: int, event: Event) -> list[Effect]:
        self.noted.append((now_us, event))
        return self.effects if isinstance(event, Started) else []

    def times(self, kind: type[TimerFired | Synced]) -> list[int]:
        return [now_us for now_us, one in self.noted if isinstance(one, kind)]


class Session:
    """What a lone broker keeps of a client."""

    def __init__(self) -> None:
        self.filters: dict[str, int] = {}
        self.queue: list[Publish] = []
        self.received: set[int] = set()
        self.released: set[int] = set()
        self.packet_id = 0


class LoneBroker:
    """A whole MQTT broker in one process and without bounds; its sessions are its disk.

    forgets names a duty that it neglects, so that checkers have something to find.
    """

    def __init__(self, *, forgets: str = "") -> None:
        self.forgets = forgets
        self.sessions: dict[str, Session] = {}
        self.connected: dict[str, Connect] = {}
        self.batch = 0
        self.waiting: dict[int, list[Effect]] = {}

    def observe(self) -> Observation:
        return Observation(0, Overlay(design="tree", brokers=(), links=()), False, (), ())

    def step(self, now_us: int, event: Event) -> list[Effect]:
        del now_us
        if isinstance(event, Started):
            self.sessions = {str(key[0]): value for key, value in event.disk.items()}
            return [SetTimer(("idle",), 10**12)]
        if isinstance(event, Synced):
            return self.waiting.pop(event.batch)
        if isinstance(event, ClientDown):
            self.connected.pop(event.client, None)
            return []
        if isinstance(event, ClientUp):
            return self.connect(event.client, event.packet)
        if isinstance(event, ClientPacket):
            return ANSWERS[type(event.packet)](self, event.client, event.packet)
        return []

    def connect(self, client: str, packet: Connect) -> list[Effect]:
        if packet.clean_start or self.forgets == "sessions":
            self.sessions.pop(client, None)
        is_present = client in self.sessions
        session = self.sessions.setdefault(client, Session())
        self.connected[client] = packet
        again = [
            Pubrel(one.packet_id) if one.packet_id in session.released else replaced(one)
            for one in session.queue
        ]
        packets = [Connack(is_present), *again]
        return self.once_synced([SendClient(client, packet) for packet in packets])

    def publish(self, client: str, packet: Publish) -> list[Effect]:
        session = self.sessions[client]
        effects: list[Effect] = []
        if packet.qos < 2 or packet.packet_id not in session.received:
            if packet.qos == 2 and self.forgets != "received":
                session.received.add(packet.packet_id)
            for name, other in self.sessions.items():
                effects.extend(self.deliver(name, other, packet))
        if packet.qos == 1:
            effects.append(SendClient(client, Puback(packet.packet_id)))
        if packet.qos == 2:
            effects.append(SendClient(client, Pubrec(packet.packet_id)))
        return self.once_synced(effects)

    def deliver(self, name: str, session: Session, packet: Publish) -> list[Effect]:
        wanted = [
            qos
            for text, qos in session.filters.items()
            if matches(parse_filter(text), packet.topic, packet.properties)
        ]
        if self.forgets == "filters":
            wanted = [2]
        if not wanted or (self.forgets == "one" and packet.payload.endswith(b"3")):
            return []
        qos = min(packet.qos, max(wanted))
        session.packet_id += 1
        out = Publish(
            packet.topic,
            packet.payload,
            qos,
            packet_id=session.packet_id if qos else 0,
            properties=packet.properties,
        )
        if qos:
            session.queue.append(out)
        if self.forgets == "order" and packet.payload.endswith(b"5"):
            return []
        return [SendClient(name, out)] if name in self.connected else []

    def subscribe(self, client: str, packet: Subscribe) -> list[Effect]:
        for one in packet.subscriptions:
            self.sessions[client].filters[one.filter_text] = one.qos
        reasons = tuple(one.qos for one in packet.subscriptions)
        return self.once_synced([SendClient(client, Suback(packet.packet_id, reasons))])

    def unsubscribe(self, client: str, packet: Unsubscribe) -> list[Effect]:
        for text in packet.filter_texts:
            self.sessions[client].filters.pop(text, None)
        reasons = (0,) * len(packet.filter_texts)
        return self.once_synced([SendClient(client, Unsuback(packet.packet_id, reasons))])

    def settled(self, client: str, packet: Puback | Pubcomp) -> list[Effect]:
        session = self.sessions[client]
        session.queue = [one for one in session.queue if one.packet_id != packet.packet_id]
        session.released.discard(packet.packet_id)
        return self.once_synced([])

    def recorded(self, client: str, packet: Pubrec) -> list[Effect]:
        self.sessions[client].released.add(packet.packet_id)
        return self.once_synced([SendClient(client, Pubrel(packet.packet_id))])

    def released(self, client: str, packet: Pubrel) -> list[Effect]:
        self.sessions[client].received.discard(packet.packet_id)
        return self.once_synced([SendClient(client, Pubcomp(packet.packet_id))])

    def once_synced(self, effects: list[Effect]) -> list[Effect]:
        self.batch += 1
        promised = effects if self.forgets == "disk" else []
        self.waiting[self.batch] = [] if self.forgets == "disk" else effects
        kept: dict[DiskKey, Any] = {(name,): copied(one) for name, one in self.sessions.items()}
        return [Write(self.batch, kept), *promised]


def replaced(packet: Publish) -> Publish:
    return Publish(
        packet.topic,
        packet.payload,
        packet.qos,
        packet_id=packet.packet_id,
        is_duplicate=True,
        properties=packet.properties,
    )


def copied(session: Session) -> Session:
    copy = Session()
    copy.filters = dict(session.filters)
    copy.queue = list(session.queue)
    copy.received = set(session.received)
    copy.released = set(session.released)
    copy.packet_id = session.packet_id
    return copy


ANSWERS: dict[type, Callable[[LoneBroker, str, Any], list[Effect]]] = {
    Publish: LoneBroker.publish,
    Puback: LoneBroker.settled,
    Pubcomp: LoneBroker.settled,
    Pubrec: LoneBroker.recorded,
    Pubrel: LoneBroker.released,
    Subscribe: LoneBroker.subscribe,
    Unsubscribe: LoneBroker.unsubscribe,
}
