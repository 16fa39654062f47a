"""How QoS 1 messages of one client, and its answers to such, pass to the core in runs.

Messages that are alike but for packet identifier and payload go as one piece of bytes. The core
writes, hands out and answers a run at once, if the topic's readers are simple; else they are left
to be taken one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.errors import MqttError
from meshwright.live.lag import Lag
from meshwright.protocol.happenings import ClientPacket
from meshwright.protocol.mqtt.plain_messages import TOPIC_LENGTH_BYTES, long_size, run_stop
from meshwright.protocol.packets import MQTT_5, PromisedRun, PubackRun, PublishPromised
from meshwright.protocol.promised_runs import (
    PUBACK,
    PUBACK_BYTES,
    numbers,
    payload_size,
)

if TYPE_CHECKING:
    from meshwright.live.client_line import ClientLine
    from meshwright.live.host import Host
    from meshwright.protocol.mqtt.topic_texts import TopicTexts
    from meshwright.protocol.session import Session

ROUTES_MAX = 10_000
RUN_COUNT_MAX = 4_096
SHORTEST_BYTES = 6
NO_PACKET_ID = b"\x00\x00"


class PromisedLane:
    """The QoS 1 side of one open connection; must_wait: the rest had better be read later.

    until_us: when what is known of topics is to be asked again. lag: of what went the whole way.
    """

    __slots__ = (
        "_bytes_max", "_client", "_host", "_is_5", "_line", "_session", "_topics", "_topics_known",
        "lag", "must_wait", "until_us",
    )  # fmt: skip

    def __init__(self, line: ClientLine, host: Host, topics: TopicTexts, bytes_max: int) -> None:
        self.lag = Lag()
        self.must_wait = False
        self.until_us = 0
        self._line = line
        self._client = line.client
        self._host = host
        self._topics = topics
        self._is_5 = line.version == MQTT_5
        self._bytes_max = bytes_max
        self._session: Session | None = None
        self._topics_known: dict[bytes, str] = {}

    def forget(self) -> None:
        """What is known of topics is void."""
        self._topics_known.clear()

    def take(self, block: bytes, at: int) -> tuple[int, int]:
        """Publish runs from a place on; where the first packet is of no run, and how many went."""
        runs: list[PromisedRun] = []
        while block.startswith(b"\x32", at):
            run = self._run_at(block, at)
            if run is None:
                break
            if self._is_behind():
                self.must_wait = True
                break
            if not self._line.expects(run):
                break
            runs.append(run)
            at += len(run.frames)
        count = sum(run.count for run in runs)
        if runs:
            meter = self._host.meter
            meter.received_messages[1] += count
            meter.received_bytes[1] += sum(run.count * payload_size(run) for run in runs)
            self._host.tell(ClientPacket(self._client, PublishPromised(tuple(runs))))
        return at, count

    def take_answers(self, block: bytes, at: int) -> int:
        """Pass on answers from a place on that need no reason; returns where they end."""
        stop = run_stop(block, PUBACK[:2], PUBACK_BYTES, at)
        ids = bytearray((stop - at) // 2)
        ids[::2] = block[at + 2 : stop : PUBACK_BYTES]
        ids[1::2] = block[at + 3 : stop : PUBACK_BYTES]
        if not ids or (NO_PACKET_ID in ids and 0 in numbers(ids)):
            return at
        self._host.tell(ClientPacket(self._client, PubackRun(bytes(ids))))
        return stop

    def _is_behind(self) -> bool:
        """True while messages of this client are on the whole way, and must not be overtaken."""
        assert self._session is not None
        shortcuts = self._host.shortcuts
        is_behind = self._session.detour_count > 0 or not self.lag.is_over(shortcuts)
        return is_behind and not shortcuts.disk_is_full

    def _run_at(self, block: bytes, at: int) -> PromisedRun | None:
        """The run that begins at a place, if it may go on as one."""
        end = len(block)
        if end - at < SHORTEST_BYTES:
            return None
        stop, content = block[at + 1], at + 2
        if stop >= 0x80:
            stop, content = long_size(block, at, self._bytes_max)
            if not content:
                return None
        stop += content
        id_at = content + TOPIC_LENGTH_BYTES + (block[content] << 8 | block[content + 1])
        if id_at + 2 + self._is_5 > stop or stop > end:
            return None
        key = block[content:id_at]
        topic = self._topics_known.get(key) or self._find(key)
        if topic is None:
            return None
        step = stop - at
        stop = run_stop(block, block[at:id_at], step, at)
        stop = min(stop, at + step * RUN_COUNT_MAX)
        run = PromisedRun(topic, block[at:stop], (stop - at) // step, id_at - at, self._is_5)
        return run if self._is_plain(run, step) else None

    def _is_plain(self, run: PromisedRun, step: int) -> bool:
        """True if no packet of a run has properties, or an identifier that is none."""
        frames, id_at = run.frames, run.id_at
        if self._is_5 and any(frames[id_at + 2 :: step]):
            return False
        high, low = frames[id_at::step], frames[id_at + 1 :: step]
        return 0 not in low or all(high[place] for place, byte in enumerate(low) if not byte)

    def _find(self, key: bytes) -> str | None:
        """Ask the core about a topic; None if messages on it must go the whole way."""
        try:
            topic = self._topics[key[TOPIC_LENGTH_BYTES:]]
        except MqttError:
            return None
        gate = self._line.gate
        if gate is not None and not gate.may_write(topic):
            return None
        now_us = self._host.clock.now_us()
        found = self._host.shortcuts.find_promised(now_us, self._client, topic)
        if found is None:
            return None
        self._session = found.session
        self.until_us = min(self.until_us, found.until_us)
        if len(self._topics_known) >= ROUTES_MAX:
            self._topics_known.clear()
        self._topics_known[key] = topic
        return topic
