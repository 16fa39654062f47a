"""Connections between brokers: in order while they stand, over wires that faults disturb.

Any two brokers can connect. A broken connection loses what is under way. Envelopes on a blocked
wire (a partition, a stuck link) wait until it is free again or the connection is closed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from heapq import heappush
from typing import Any

import msgspec

from meshwright.model.snapshot import Float64Array
from meshwright.protocol.foundation.effects import SendPeer
from meshwright.protocol.foundation.events import Event, LinkDown, LinkUp, PeerEnvelope
from meshwright.protocol.peers.conversations import Envelope
from meshwright.sim.physics.agenda import Agenda
from meshwright.sim.physics.chance import Draws

# How each broker is told of a event; one that is down hears nothing.
Listeners = dict[str, Callable[[Event], None]]
Watch = Callable[[int, str, str, object], None]


class NetworkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One-way delays of wires between brokers and of lines to clients, and their seeded jitter."""

    delay_us: int = 2_000
    jitter_us: int = 500
    connect_timeout_us: int = 2_000_000
    client_delay_us: int = 500
    client_jitter_us: int = 200
    sync_min_us: int = 50
    sync_max_us: int = 3_000


class Wire:
    """What lies between two brokers, whether or not they are connected.

    blocked_count: faults that block it. late: hang-ups that wait until it is free.
    """

    __slots__ = ("blocked_count", "ends", "extra_us", "is_opening", "late", "openers")

    def __init__(self, ends: tuple[str, str]) -> None:
        self.ends = ends
        self.extra_us = 0
        self.blocked_count = 0
        self.is_opening = False
        self.openers: list[str] = []
        self.late: list[Channel] = []


class Channel:
    """One direction of one connection; delay_us is that of the wire as it is now."""

    __slots__ = (
        "back", "delay_us", "is_open", "last_us", "listener", "source", "target", "waiting", "wire",
    )  # fmt: skip

    back: Channel

    def __init__(
        self,
        ends: tuple[str, str],
        wire: Wire,
        delay_us: int,
        listener: Callable[[Event], None],
    ) -> None:
        self.source, self.target = ends
        self.wire = wire
        self.listener = listener
        self.delay_us = delay_us
        self.last_us = 0
        self.is_open = True
        self.waiting: deque[Any] = deque()


class Network:
    """All wires and connections.

    delays_ms: one-way from broker to broker in the order of the names, (broker, broker), or None
    for the same delay everywhere. message_counts: what brokers sent, by its type. watch: told of
    each message that a broker sends: when, from whom, to whom, and what it says.
    """

    def __init__(
        self,
        agenda: Agenda,
        settings: NetworkSettings,
        *,
        brokers: tuple[str, ...],
        delays_ms: Float64Array | None,
        jitter_us: Draws,
        listeners: Listeners,
        is_up: Callable[[str], bool],
        watch: Watch | None = None,
    ) -> None:
        self._watch = watch
        self._agenda = agenda
        self._settings = settings
        self._brokers = brokers
        self._indexes = {name: index for index, name in enumerate(brokers)}
        self._delays_ms = delays_ms
        self._jitter_us = jitter_us
        self._listeners = listeners
        self._is_up = is_up
        self._wires: dict[tuple[str, str], Wire] = {}
        self._channels: dict[str, dict[str, Channel]] = {name: {} for name in brokers}
        self.message_counts: dict[type, int] = defaultdict(int)

    def open(self, source: str, target: str) -> None:
        """Try to connect; both get LinkUp after a handshake, or the source LinkDown."""
        channel = self._channels[source].get(target)
        if channel is not None and channel.is_open:
            return
        wire = self.wire(source, target)
        if source not in wire.openers:
            wire.openers.append(source)
        if not wire.is_opening:
            wire.is_opening = True
            round_trip_us = self._delay_us(source, target) + self._delay_us(target, source)
            done_us = self._agenda.now_us + round_trip_us + 2 * wire.extra_us
            self._agenda.at(done_us, self._shake_hands, wire)

    def send(self, source: str, target: str, envelope: object) -> None:
        """Send an envelope, never past an earlier one; without a connection it is lost."""
        self.sender(source)(SendPeer(target, envelope))

    def sender(self, source: str) -> Callable[[SendPeer], None]:
        """How one broker sends envelopes to others; its busiest door, so all is at hand in it."""
        agenda, arrive, jitter_us = self._agenda, self._arrive, self._jitter_us.next
        near, next_place = agenda.near, agenda.next_place
        channels, counts, watch = self._channels[source], self.message_counts, self._watch

        def send(effect: SendPeer) -> None:
            envelope, peer = effect.envelope, effect.peer
            body = envelope.body if type(envelope) is Envelope else None
            if body is None:
                counts[type(envelope)] += 1
            else:
                counts[type(body)] += 1
                if watch is not None:
                    watch(agenda.now_us, source, peer, body)
            channel = channels.get(peer)
            if channel is None or not channel.is_open:
                return
            arrival_us = agenda.now_us + channel.delay_us + jitter_us()
            if arrival_us < channel.last_us:
                arrival_us = channel.last_us
            channel.last_us = arrival_us
            if arrival_us < agenda.horizon_us:
                heappush(near, (arrival_us, next_place(), arrive, channel, envelope))
            else:
                agenda.at(arrival_us, arrive, channel, envelope)

        return send

    def close(self, source: str, target: str) -> None:
        """The source ends the connection: the target still gets what was sent, then hears of it."""
        channel = self._channels[source].pop(target, None)
        if channel is not None and channel.is_open:
            channel.back.is_open = False
            soonest_us = self._agenda.now_us + channel.delay_us
            self._agenda.at(max(channel.last_us, soonest_us), self._hang_up, channel.back)

    def disconnect(self, one: str, other: str) -> None:
        """The connection is lost; both ends hear of it at once."""
        channel = self._channels[one].get(other)
        if channel is not None and channel.is_open:
            _cut(channel)
            self._hang_up(channel, None)
            self._hang_up(channel.back, None)

    def crash(self, broker: str) -> None:
        """All connections of a broker end, and its attempts to connect are forgotten.

        What it had sent still arrives: whoever promises before its disk has synced is found out.
        """
        for target in list(self._channels[broker]):
            self.close(broker, target)
        for wire in self._wires.values():
            if broker in wire.openers:
                wire.openers.remove(broker)

    def wire(self, one: str, other: str) -> Wire:
        """What lies between two brokers."""
        ends = (one, other) if one < other else (other, one)
        wire = self._wires.get(ends)
        if wire is None:
            wire = self._wires[ends] = Wire(ends)
        return wire

    def block(self, one: str, other: str) -> None:
        """Let nothing through until as many calls of unblock have come."""
        self.wire(one, other).blocked_count += 1

    def unblock(self, one: str, other: str) -> None:
        """Take back one block; what waited arrives now, in order."""
        wire = self.wire(one, other)
        wire.blocked_count -= 1
        if wire.blocked_count:
            return
        late, wire.late = wire.late, []
        for channel in late:
            self._flush(channel.back)
            self._hang_up(channel, None)
        for source, target in (wire.ends, wire.ends[::-1]):
            channel_now = self._channels[source].get(target)
            if channel_now is not None:
                self._flush(channel_now)

    def slow(self, one: str, other: str, extra_us: int) -> None:
        """Add to the delay of a wire both ways; a negative number takes back."""
        self.wire(one, other).extra_us += extra_us
        for source, target in ((one, other), (other, one)):
            channel = self._channels[source].get(target)
            if channel is not None:
                channel.delay_us += extra_us

    def _delay_us(self, source: str, target: str) -> int:
        if self._delays_ms is None:
            return self._settings.delay_us
        return int(self._delays_ms[self._indexes[source], self._indexes[target]] * 1000)

    def _shake_hands(self, wire: Wire, _: None) -> None:
        if wire.blocked_count:
            deadline_us = self._agenda.now_us + self._settings.connect_timeout_us
            self._agenda.at(deadline_us, self._give_up, wire)
        elif not all(self._is_up(end) for end in wire.ends):
            self._give_up(wire, None)
        else:
            wire.is_opening = False
            openers, wire.openers = wire.openers, []
            if openers:
                self._connect(wire)

    def _give_up(self, wire: Wire, _: None) -> None:
        wire.is_opening = False
        openers, wire.openers = wire.openers, []
        for opener in openers:
            self._listeners[opener](LinkDown(wire.ends[1 - wire.ends.index(opener)]))

    def _connect(self, wire: Wire) -> None:
        one, other = wire.ends
        there = self._channel(one, other, wire)
        back = self._channel(other, one, wire)
        there.back, back.back = back, there
        for former in (self._channels[one].get(other), self._channels[other].get(one)):
            if former is not None:
                _cut(former)
        self._channels[one][other] = there
        self._channels[other][one] = back
        self._listeners[one](LinkUp(other))
        self._listeners[other](LinkUp(one))

    def _channel(self, source: str, target: str, wire: Wire) -> Channel:
        delay_us = self._delay_us(source, target) + wire.extra_us
        return Channel((source, target), wire, delay_us, self._listeners[target])

    def _arrive(self, channel: Channel, envelope: Any) -> None:
        if not channel.is_open:
            return
        if channel.wire.blocked_count or channel.waiting:
            channel.waiting.append(envelope)
        else:
            tell = channel.listener
            tell(PeerEnvelope(channel.source, envelope))

    def _flush(self, channel: Channel) -> None:
        while channel.waiting and channel.is_open:
            channel.listener(PeerEnvelope(channel.source, channel.waiting.popleft()))

    def _hang_up(self, channel: Channel, _: None) -> None:
        """The source of a channel hears of its end, unless it has a newer connection."""
        if channel.wire.blocked_count:
            channel.wire.late.append(channel)
            return
        channel.back.is_open = False
        if self._channels[channel.source].get(channel.target) is channel:
            del self._channels[channel.source][channel.target]
            self._listeners[channel.source](LinkDown(channel.target))


def _cut(channel: Channel) -> None:
    """Nothing passes any more, either way."""
    channel.is_open = channel.back.is_open = False
