"""How QoS 1 messages of one client, and its answers to such, pass to the core in runs.

Messages that are alike but for packet identifier and payload go as one piece of bytes. The core
writes, hands out and answers a run at once, if the topic's readers are simple; else they are left
to be taken one by one. Where nothing is to be written first, the core only counts a run and says
with which packet identifiers each reader gets it, and it goes from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from meshwright.errors import MqttError
from meshwright.live.clients.lag import Lag
from meshwright.protocol.foundation.events import ClientPacket
from meshwright.protocol.mqtt.packets import MQTT_5, PubackRun, PublishQos1Runs, Qos1Run
from meshwright.protocol.mqtt.plain_messages import TOPIC_LENGTH_BYTES, long_size, run_stop
from meshwright.protocol.mqtt.qos1_runs import (
    NO_PACKET_ID,
    PUBACK_BYTES,
    PUBACK_HEAD,
    has_zero,
    ids_at,
    numbers,
    packed,
    payload_size,
    payload_sum,
    pubacks,
    spliced,
)
from meshwright.protocol.shortcuts import Qos1Route

if TYPE_CHECKING:
    from meshwright.live.clients.client_line import ClientLine
    from meshwright.live.host.host import ClientPort, Host
    from meshwright.live.telemetry.trace import TraceRecorder
    from meshwright.protocol.mqtt.topic_texts import TopicTexts
    from meshwright.protocol.sessions.session import Session

ROUTES_MAX = 10_000
RUN_COUNT_MAX = 4_096
SHORTEST_BYTES = 6
QOS1_HEAD = b"\x32"


class Route(NamedTuple):
    """A topic, and what the core says of it.

    lines: of its readers, and whether they speak MQTT 5; None if only the core can reach them.
    """

    topic: str
    found: Qos1Route
    lines: tuple[tuple[ClientPort, bool], ...] | None


class Alone(NamedTuple):
    """The topic of a message that came alone, its publisher's session, and its only reader."""

    topic: str
    session: Session
    reader: Session
    line: ClientPort


class Qos1Lane:
    """The QoS 1 side of one open connection.

    until_us: when what is known of topics is to be asked again. plain_lag begins with what plain
    messages must not overtake.
    """

    __slots__ = (
        "_alone", "_bytes_max", "_client", "_head", "_host", "_is_5", "_line", "_meter",
        "_plain_lag", "_reader", "_refused", "_route", "_routes", "_shortcuts", "_step", "_topics",
        "until_us",
    )  # fmt: skip

    def __init__(
        self,
        line: ClientLine,
        host: Host,
        topics: TopicTexts,
        *,
        bytes_max: int,
        plain_lag: Lag,
    ) -> None:
        self.until_us = 0
        self._line = line
        self._client = line.client
        self._host = host
        self._meter = host.meter
        self._shortcuts = host.shortcuts
        self._topics = topics
        self._is_5 = line.version == MQTT_5
        self._bytes_max = bytes_max
        self._plain_lag = plain_lag
        self._routes: dict[bytes, Route] = {}
        self._refused: set[bytes] = set()
        self.forget()

    def forget(self) -> None:
        """What is known of topics is void."""
        self._routes.clear()
        self._refused.clear()
        # How the packets of the last run began, how long they were, and where they went.
        self._head = b""
        self._step = 0
        self._route: Route | None = None
        self._alone: Alone | None = None
        self._reader: Session | None = None

    def take(self, block: bytes, at: int) -> tuple[int, int]:
        """Publish runs from a place on; where the first packet is of no run, and how many went."""
        meter = self._host.meter
        runs: list[Qos1Run] = []
        count = byte_count = 0
        while block.startswith(QOS1_HEAD, at):
            run = self._run_at(block, at)
            if run is None:
                break
            ids = ids_at(run.packets, run.id_at, len(run.packets) // run.count)
            if has_zero(ids) or (self._is_5 and not self._line.expects(ids)):
                break
            run_bytes = payload_sum(run)
            if runs or not self._hand_out(run, ids, run_bytes):
                runs.append(run)
            count += run.count
            byte_count += run_bytes
            at += len(run.packets)
            if meter.trace is not None:
                self._record(meter.trace, run)
        if count:
            meter.received_messages[1] += count
            meter.received_bytes[1] += byte_count
        if runs:
            self._line.owe(sum([run.count for run in runs]))
            self._host.tell(ClientPacket(self._client, PublishQos1Runs(tuple(runs))))
            self._plain_lag.begin(self._shortcuts)
        return at, count

    def take_alone(self, block: bytes, now_us: int) -> bool:
        """Do with one message what was done with the last; False if it is not alone and like it."""
        head, alone = self._head, self._alone
        if alone is None or len(block) != self._step or not block.startswith(head):
            return False
        id_at = len(head)
        rest_at = id_at + 2
        ids = block[id_at:rest_at]
        if ids == NO_PACKET_ID or (self._is_5 and not self._may_5(block)):
            return False
        topic, session, reader, line = alone
        run = Qos1Run(topic, block, 1, id_at, self._is_5)
        packet_id = self._shortcuts.publish_alone(session, reader, run)
        if not packet_id:
            return False
        line.say(head + packet_id.to_bytes(2) + block[rest_at:], now_us)
        self._line.say(PUBACK_HEAD + ids, now_us)
        meter, byte_count = self._meter, len(block) - rest_at - self._is_5
        meter.received_messages[1] += 1
        meter.received_bytes[1] += byte_count
        meter.sent_messages[1] += 1
        meter.sent_bytes[1] += byte_count
        if meter.trace is not None:
            self._record(meter.trace, run)
        return True

    def take_answer(self, block: bytes) -> bool:
        """Take one answer that needs no reason; False if it is not alone, or calls for more."""
        reader = self._reader
        if reader is None or len(block) != PUBACK_BYTES or not block.startswith(PUBACK_HEAD):
            return False
        return reader.settles_alone(block[2] << 8 | block[3])

    def take_answers(self, block: bytes, at: int) -> int:
        """Pass on answers from a place on that need no reason; returns where they end."""
        reader = self._reader
        if reader is None:
            reader = self._reader = self._shortcuts.session(self._client)
        stop = run_stop(block, PUBACK_HEAD, PUBACK_BYTES, at)
        if stop == at or reader is None:
            return at
        ids = numbers(ids_at(block[at:stop], len(PUBACK_HEAD), PUBACK_BYTES))
        if 0 in ids:
            return at
        left = reader.settle_runs(ids)
        if left or reader.queue or reader.unsent:
            self._host.tell(ClientPacket(self._client, PubackRun(packed(left))))
        return stop

    def _record(self, trace: TraceRecorder, run: Qos1Run) -> None:
        now_us, size = self._host.clock.now_us(), payload_size(run)
        trace.publication(now_us, run.topic, self._client, size, count=run.count)

    def _hand_out(self, run: Qos1Run, ids: bytes, byte_count: int) -> bool:
        """Hand a run to its readers and answer it; False if the core has to do that."""
        route = self._route
        if route is None or route.lines is None:
            return False
        firsts = self._shortcuts.publish_now(route.found, run)
        if firsts is None:
            return False
        lines, own = route.lines, self._line
        for (line, is_5), first in zip(lines, firsts, strict=True):
            line.output.append(spliced(run, first, is_5=is_5))
            line.want_flush()
        meter = self._host.meter
        meter.sent_messages[1] += run.count * len(lines)
        meter.sent_bytes[1] += byte_count * len(lines)
        own.output.append(pubacks(ids))
        own.want_flush()
        if self._is_5:
            own.answered(ids)
        if run.count == 1 and len(lines) == 1:
            self._note_alone(route, lines[0])
        return True

    def _note_alone(self, route: Route, only: tuple[ClientPort, bool]) -> None:
        """Keep what is known of a message with one reader, for others like it."""
        session, _, readers = route.found
        line, is_5 = only
        if readers is not None and is_5 == self._is_5:
            self._alone = Alone(route.topic, session, readers[0], line)

    def _may_5(self, block: bytes) -> bool:
        """True if a message of MQTT 5 has no properties, and may be under way."""
        return not block[len(self._head) + 2] and self._line.has_room()

    def _run_at(self, block: bytes, at: int) -> Qos1Run | None:
        """The run that begins at a place, if it may go on as one."""
        if not (self._head and block.startswith(self._head, at)) and not self._begin(block, at):
            return None
        route, head, step = self._route, self._head, self._step
        assert route is not None
        stop = at + step
        count = 1
        if stop != len(block):
            count = min((run_stop(block, head, step, at) - at) // step, RUN_COUNT_MAX)
            if not count:
                return None
            stop = at + count * step
        if self._is_5 and any(block[at + len(head) + 2 : stop : step]):
            return None  # it has properties
        return Qos1Run(route.topic, block[at:stop], count, len(head), self._is_5)

    def _begin(self, block: bytes, at: int) -> bool:
        """Note how the packet at a place begins, and where it goes; False if it is for no run."""
        end = len(block)
        if end - at < SHORTEST_BYTES:
            return False
        stop, content = block[at + 1], at + 2
        if stop >= 0x80:
            stop, content = long_size(block, at, self._bytes_max)
            if not content:
                return False
        stop += content
        id_at = content + TOPIC_LENGTH_BYTES + (block[content] << 8 | block[content + 1])
        if id_at + 2 + self._is_5 > stop or stop > end:
            return False
        key = block[content:id_at]
        if key in self._refused:
            return False
        route = self._routes.get(key) or self._find(key)
        if route is None:
            return False
        self._head, self._step, self._route = block[at:id_at], stop - at, route
        self._alone = None
        return True

    def _find(self, key: bytes) -> Route | None:
        """Ask the core about a topic; None if messages on it must go the whole way."""
        if not self._line.may_promise:
            return None
        try:
            topic = self._topics[key[TOPIC_LENGTH_BYTES:]]
        except MqttError:
            return None
        gate = self._line.gate
        if gate is not None and not gate.may_write(topic):
            return None
        now_us = self._host.clock.now_us()
        found = self._shortcuts.find_qos1(now_us, self._client, topic)
        if found is None:
            if self._shortcuts.refuses_runs(self._client, topic):
                if len(self._refused) >= ROUTES_MAX:
                    self._refused.clear()
                self._refused.add(key)
            return None
        self.until_us = min(self.until_us, found.until_us)
        if len(self._routes) >= ROUTES_MAX:
            self._routes.clear()
        route = self._routes[key] = Route(topic, found, self._lines(found))
        return route

    def _lines(self, found: Qos1Route) -> tuple[tuple[ClientPort, bool], ...] | None:
        """The lines of a topic's readers, if messages can go to all of them as they are."""
        if found.readers is None:
            return None
        lines = [self._host.clients.get(reader.client) for reader in found.readers]
        able = [line for line in lines if line is not None and line.takes_as_is]
        if len(able) < len(lines):
            return None
        return tuple((line, line.version == MQTT_5) for line in able)
