"""How plain messages of one client pass through without a look at each.

A block of packets is passed over in one loop. Whatever is QoS 0, not retained and without
properties, on a topic whose recipients the core has named, goes on as the bytes that came: as one
slice for as many messages as have the same recipients. All else is left to the connection's machine
and the core, in order. What the core named holds until its revision changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.errors import MqttError
from meshwright.live.clients.lag import Lag
from meshwright.live.clients.qos1_lane import Qos1Lane
from meshwright.protocol.foundation.events import ClientPacket
from meshwright.protocol.mqtt.packets import MQTT_5, PublishRun
from meshwright.protocol.mqtt.plain_messages import (
    NO_PROPERTIES,
    NOTHING,
    PUBLISH,
    TOPIC_LENGTH_BYTES,
    converted,
    identifying,
    long_size,
    rewritten,
    run_stop,
    topics_and_sizes,
)
from meshwright.protocol.mqtt.qos1_runs import PUBACK_HEAD, QOS1_HEAD_BYTE
from meshwright.protocol.shortcuts import NEVER

if TYPE_CHECKING:
    from meshwright.live.clients.client_line import ClientLine
    from meshwright.live.host.host import ClientPort, Host
    from meshwright.live.telemetry.trace import TraceRecorder
    from meshwright.protocol.mqtt.topic_texts import TopicTexts
    from meshwright.protocol.sessions.session import Session
    from meshwright.protocol.shortcuts import Shortcut

ROUTES_MAX = 10_000
# What long_size can read of one packet.
SIZE_BYTES_MAX = 1 << 21
SHORTEST_BYTES = 4
FOREVER_US = 1 << 62
PUBACK_FIRST = PUBACK_HEAD[0]

Lines = tuple["ClientPort", ...]


# Lines that get messages alike: as they came, or with something else between topic and payload.
Group = tuple[Lines, bytes | None]


class Way:
    """Who gets messages, and how.

    topic: set if other brokers are to get them, too, and so of one topic only.
    """

    __slots__ = ("groups", "topic")

    def __init__(self, groups: tuple[Group, ...], topic: str | None) -> None:
        self.groups = groups
        self.topic = topic


# How the packets of a run begin, how long each is and its payload, and where they go.
Like = tuple[bytes | tuple[bytes, ...], int, int, Way | None]
NOTHING_LIKE_IT: Like = ((), 0, 0, None)


class FastLane:
    """The publishing side of one open connection; message_count: all that it passed on."""

    __slots__ = (
        "_bytes_max", "_client", "_host", "_is_5", "_is_crowded", "_lag", "_last", "_leaves",
        "_leaving", "_line", "_meter", "_qos1_lane", "_revision", "_routes", "_session",
        "_shortcuts", "_step_number", "_topics", "_turn", "_until_us", "_ways", "message_count",
    )  # fmt: skip

    def __init__(self, line: ClientLine, host: Host, topics: TopicTexts, bytes_max: int) -> None:
        self.message_count = 0
        self._line = line
        self._client = line.client
        self._host = host
        self._meter = host.meter
        self._shortcuts = host.shortcuts
        self._turn = host.shortcuts.turn
        self._topics = topics
        self._is_5 = line.version == MQTT_5
        self._bytes_max = min(bytes_max, SIZE_BYTES_MAX)
        self._is_crowded = False
        self._lag = Lag()
        self._leaves = False
        self._qos1_lane = Qos1Lane(
            line, host, topics, bytes_max=self._bytes_max, plain_lag=self._lag
        )
        self._session: Session | None = None
        self._revision = NEVER
        self._step_number = NEVER
        self._until_us = 0
        self._routes: dict[bytes, Way] = {}
        self._ways: dict[tuple[Group, ...], Way] = {}
        self._leaving: dict[Way, tuple[list[bytes], int]] = {}
        self._last = NOTHING_LIKE_IT

    def published_elsewhere(self) -> None:
        """A message of this client went the whole way: what follows must not overtake it."""
        self._lag.begin(self._shortcuts)

    def must_wait(self) -> bool:
        """True if the last take ended because the rest had better be read later."""
        must_wait, self._is_crowded = self._is_crowded, False
        return must_wait

    def take_alone(self, block: bytes, now_us: int) -> bool:
        """Deal with some bytes that are one packet like one before; False if they are for take.

        Who waits for every answer sends so, and then all that counts is how little is done.
        """
        qos1_lane = self._qos1_lane
        if (
            self._turn.number != self._step_number
            or now_us > self._until_us
            or now_us > qos1_lane.until_us
        ):
            return False
        first = block[0]
        if first == PUBACK_FIRST:
            return qos1_lane.take_answer(block)
        if first == QOS1_HEAD_BYTE:
            is_taken = qos1_lane.take_alone(block, now_us)
        else:
            is_taken = self._take_alone(block, now_us)
        self.message_count += is_taken
        return is_taken

    def take(self, block: bytes, at: int, now_us: int) -> int:
        """Pass on packets from a place on; returns where the first one is that needs a look."""
        start, end = -1, len(block)
        while start < at < end and self._is_usable(now_us):
            start, first = at, block[at]
            if first == PUBLISH:
                self._is_crowded = self._leaves and self._host.peers.is_crowded()
                if self._is_crowded:
                    break
                if self._lag.is_over(self._shortcuts):
                    at = self._take(block, at)
                    if self._leaving:
                        self._send_off()
            elif first == QOS1_HEAD_BYTE:
                at, count = self._qos1_lane.take(block, at)
                self.message_count += count
            elif first == PUBACK_FIRST:
                at = self._qos1_lane.take_answers(block, at)
        return at

    def _is_usable(self, now_us: int) -> bool:
        is_late = now_us > self._until_us or now_us > self._qos1_lane.until_us
        if self._turn.number != self._step_number or is_late:
            self._step_number = self._turn.number
            revision = self._shortcuts.revision
            if revision != self._revision or is_late:
                self._revision = revision
                self._forget()
        return self._revision != NEVER

    def _forget(self) -> None:
        """What is known of topics is void."""
        self._until_us = self._qos1_lane.until_us = FOREVER_US
        self._routes.clear()
        self._ways.clear()
        self._last = NOTHING_LIKE_IT
        self._qos1_lane.forget()

    def _take(self, block: bytes, at: int) -> int:
        routes, extra, end = self._routes, TOPIC_LENGTH_BYTES + self._is_5, len(block)
        header, step, size, way = self._last
        start = at
        count = payload_sum = 0
        while end - at > SHORTEST_BYTES:
            if block.startswith(header, at):
                stop = run_stop(block, header, step, at)
                if stop == at:
                    break
                run_count = (stop - at) // step
                count += run_count
                payload_sum += run_count * size
                at = stop
                continue
            if block[at] != PUBLISH:
                break
            stop, content = block[at + 1], at + 2
            if stop >= 0x80:
                stop, content = long_size(block, at, self._bytes_max)
                if not content:
                    break
            stop += content
            topic_stop = content + extra + (block[content] << 8 | block[content + 1])
            if topic_stop > stop or stop > end:
                break
            key = block[content:topic_stop]
            found = routes.get(key) or self._find(key)
            if found is None:
                break
            if found is not way:
                if way is not None and count:
                    self._pass(way, block[start:at], count, payload_sum)
                way, start = found, at
                count = payload_sum = 0
            header = block[at:topic_stop]
            step, size = stop - at, stop - topic_stop
            count += 1
            payload_sum += size
            at = stop
        self._last = header, step, size, way
        if way is not None and count:
            self._pass(way, block[start:at], count, payload_sum)
        return at

    def _take_alone(self, block: bytes, now_us: int) -> bool:
        """Hand on one message of QoS 0 like the last."""
        header, step, size, way = self._last
        if len(block) != step or not block.startswith(header):
            return False
        if way is None or way.topic is not None or self._lag.is_on:
            return False
        self._count(block, 1, size)
        sent_count = 0
        for lines, between in way.groups:
            said = block if between is None else rewritten(block, between, is_5=self._is_5)
            for line in lines:
                if line.is_slow:
                    self._drop(line, block, 1)
                else:
                    line.say(said, now_us)
                    sent_count += 1
        meter = self._meter
        meter.sent_messages[0] += sent_count
        meter.sent_bytes[0] += size * sent_count
        assert self._session is not None
        self._session.publishes(1)
        return True

    def _find(self, key: bytes) -> Way | None:
        """Ask the core where a topic goes; None if messages on it must go the whole way."""
        if self._is_5 and key[-1]:
            return None  # it has properties
        try:
            topic = self._topics[key[TOPIC_LENGTH_BYTES : len(key) - self._is_5]]
        except MqttError:
            return None
        gate = self._line.gate
        if gate is not None and not gate.may_write(topic):
            return None
        shortcut = self._shortcuts.find(self._host.clock.now_us(), self._client, topic)
        if shortcut is None:
            return None
        groups = self._groups(shortcut)
        if groups is None:
            return None
        self._session = shortcut.session
        self._until_us = min(self._until_us, shortcut.until_us)
        self._leaves = shortcut.leaves
        if shortcut.leaves:
            way = Way(groups, topic)
        else:
            way = self._ways.setdefault(groups, Way(groups, None))
        if len(self._routes) >= ROUTES_MAX:
            self._routes.clear()
        self._routes[key] = way
        return way

    def _groups(self, shortcut: Shortcut) -> tuple[Group, ...] | None:
        """The lines that messages go to, by what they get; None if one takes them not so."""
        groups: dict[bytes | None, list[ClientPort]] = {}
        for client, identifiers in shortcut.clients:
            line = self._host.clients.get(client)
            if line is None:
                continue
            if not line.takes_as_is:
                return None
            is_5 = line.version == MQTT_5
            between: bytes | None = None
            if is_5 and identifiers:
                between = identifying(identifiers)
            elif is_5 != self._is_5:
                between = NO_PROPERTIES if is_5 else NOTHING
            groups.setdefault(between, []).append(line)
        return tuple((tuple(lines), between) for between, lines in groups.items())

    def _pass(self, way: Way, packets: bytes, count: int, payload_sum: int) -> None:
        """Hand on messages that follow each other and have the same recipients."""
        self.message_count += count
        self._count(packets, count, payload_sum)
        for lines, between in way.groups:
            said = packets if between is None else rewritten(packets, between, is_5=self._is_5)
            self._hand(lines, said, packets, count=count, payload_sum=payload_sum)
        if way.topic is None:
            assert self._session is not None
            self._session.publishes(count)
        else:
            parts, before = self._leaving.setdefault(way, ([], 0))
            parts.append(packets)
            self._leaving[way] = (parts, before + count)

    def _count(self, packets: bytes, count: int, payload_sum: int) -> None:
        meter = self._meter
        meter.received_messages[0] += count
        meter.received_bytes[0] += payload_sum
        if meter.trace is not None:
            self._record(meter.trace, packets)

    def _record(self, trace: TraceRecorder, packets: bytes) -> None:
        now_us = self._host.clock.now_us()
        for raw_topic, size in topics_and_sizes(packets, is_5=self._is_5):
            trace.publication(now_us, self._topics[raw_topic], self._client, size)

    def _drop(self, line: ClientPort, packets: bytes, count: int) -> None:
        """Count messages that a client reads too slowly to get."""
        line.dropped_count += count
        losses, client = self._meter.losses, line.client
        for raw_topic, _ in topics_and_sizes(packets, is_5=self._is_5):
            losses.count(client, self._topics[raw_topic])

    def _hand(
        self, lines: Lines, said: bytes, packets: bytes, *, count: int, payload_sum: int
    ) -> None:
        outbox = self._host.outbox
        slow_count = 0
        for line in lines:
            if line.is_slow:
                self._drop(line, packets, count)
                slow_count += 1
                continue
            line.output.append(said)
            if not line.is_flushing:
                line.is_flushing = True
                outbox.add(line)
        meter = self._meter
        meter.sent_messages[0] += count * (len(lines) - slow_count)
        meter.sent_bytes[0] += payload_sum * (len(lines) - slow_count)

    def _send_off(self) -> None:
        """Have the core carry to other brokers what clients here have got."""
        leaving, self._leaving = self._leaving, {}
        for way, (parts, count) in leaving.items():
            assert way.topic is not None
            packets = b"".join(parts)
            if self._is_5:
                packets = converted(packets, is_5=True)
            run = PublishRun(way.topic, packets, count)
            self._host.tell(ClientPacket(self._client, run))
