"""A generator of load that is not the bottleneck: packets are made before, and counted by bytes.

Whole blocks are sent and received without a look at single packets; only what must be answered
(QoS 1, where all packets have one length) is cut out of blocks with NumPy.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.live.servers import HOST, Server

BLOCK_BYTES = 1 << 18
PATIENCE_S = 30.0
MQTT_311 = 4
MQTT_5 = 5
PUBACK_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is sent: each publisher on its topics, to subscribers of its own or to all of them.

    payload_bytes: the sizes of successive messages. chunk: messages sent at once; window: those
    that may be under way, so 1 and 1 is the lock-step.
    """

    publisher_count: int = 1
    subscriber_count: int = 1
    topic_count: int = 1
    payload_bytes: tuple[int, ...] = (64,)
    qos: int = 0
    chunk: int = 250
    window: int = 1_000
    message_count: int = 50_000
    version: int = MQTT_311

    @property
    def is_lock_step(self) -> bool:
        return self.window == 1


@dataclass(slots=True)
class Outcome:
    """What came of a case: deliveries, the time they took, and the CPU time of the brokers."""

    deliveries: int
    wall_s: float
    cpu_s: float
    latencies_us: list[float] = field(default_factory=list)

    @property
    def cpu_us(self) -> float:
        return 1e6 * self.cpu_s / self.deliveries


class Line:
    """One client's socket; received counts the bytes of what came to it after its beginning."""

    def __init__(self, server: Server, port: int, name: str, version: int) -> None:
        plain = socket.create_connection((HOST, port), timeout=PATIENCE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = plain if server.authority is None else _secured(plain, server.authority)
        self.received = 0
        self.rest = b""
        properties = b"\x03\x21\xff\xff" if version == MQTT_5 else b""
        body = b"\x00\x04MQTT" + bytes([version, 2]) + b"\x00\x00" + properties + _text(name)
        self.socket.sendall(_packet(0x10, body))
        self._answer(0x20)

    def subscribe(self, topic_filter: str, qos: int, version: int) -> None:
        properties = b"\x00" if version == MQTT_5 else b""
        self.socket.sendall(
            _packet(0x82, b"\x00\x01" + properties + _text(topic_filter) + bytes([qos]))
        )
        self._answer(0x90)

    def _answer(self, first: int) -> None:
        assert self._exactly(1)[0] == first
        self._exactly(self._exactly(1)[0])

    def _exactly(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            more = self.socket.recv(count - len(taken))
            assert more, "the broker closed the connection"
            taken += more
        return taken

    def take(self) -> bytes:
        """All that has come."""
        parts = []
        while True:
            try:
                block = self.socket.recv(BLOCK_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                break
            assert block, "the broker closed the connection"
            parts.append(block)
            if len(block) < BLOCK_BYTES and not isinstance(self.socket, ssl.SSLSocket):
                break
        return b"".join(parts)

    def answer(self, block: bytes, frame_bytes: int, id_at: int) -> None:
        """Acknowledge all packets of QoS 1 that are whole."""
        block = self.rest + block
        count = len(block) // frame_bytes
        self.rest = block[count * frame_bytes :]
        frames = np.frombuffer(block, np.uint8, count * frame_bytes).reshape(count, frame_bytes)
        answers = np.empty((count, PUBACK_BYTES), np.uint8)
        answers[:, :2] = 0x40, 0x02
        answers[:, 2:] = frames[:, id_at : id_at + 2]
        self.socket.setblocking(True)
        self.socket.sendall(answers.tobytes())
        self.socket.setblocking(False)


class Publisher:
    """Sends its blocks over and over; subscribers are those that get what it sends."""

    def __init__(self, line: Line, chunks: list[bytes], subscribers: list[Line]) -> None:
        self.line = line
        self.chunks = chunks
        self.subscribers = subscribers
        self.chunk_count = 0
        self.unsent = memoryview(b"")
        self.sent_us: float = 0.0

    def push(self) -> bool:
        """Send as much as the socket takes of one chunk; False if it is not through."""
        if not self.unsent:
            self.unsent = memoryview(self.chunks[self.chunk_count % len(self.chunks)])
            self.chunk_count += 1
            self.sent_us = time.perf_counter() * 1e6
        try:
            count = self.line.socket.send(self.unsent)
        except (BlockingIOError, ssl.SSLWantWriteError):
            return False
        self.unsent = self.unsent[count:]
        return not self.unsent

    def is_free(self, case: Case) -> bool:
        """True if it may send another chunk."""
        in_flight = self.chunk_count - self.chunks_done(case)
        return in_flight * case.chunk < case.window or bool(self.unsent)

    def chunks_done(self, case: Case) -> int:
        done = min([line.received for line in self.subscribers]) // len(self.chunks[0])
        if case.qos:
            done = min(done, self.line.received // (PUBACK_BYTES * case.chunk))
        return done


def measure(server: Server, case: Case) -> Outcome:
    """Run a case against running brokers."""
    publishers, subscribers = _lines(server, case)
    chunk_count = max(1, case.message_count // case.chunk // case.publisher_count)
    warm = max(1, chunk_count // 10)
    try:
        _run(case, publishers, subscribers, warm)
        for publisher in publishers:
            publisher.chunk_count = 0
        for line in (*subscribers, *(one.line for one in publishers)):
            line.received = 0
        cpu_s, begun_s = server.cpu_s(), time.perf_counter()
        latencies_us = _run(case, publishers, subscribers, chunk_count)
        wall_s, cpu_s = time.perf_counter() - begun_s, server.cpu_s() - cpu_s
    finally:
        for line in (*subscribers, *(one.line for one in publishers)):
            line.socket.close()
    fan_out = sum(len(one.subscribers) for one in publishers)
    return Outcome(chunk_count * case.chunk * fan_out, wall_s, cpu_s, latencies_us)


def _run(
    case: Case, publishers: list[Publisher], subscribers: list[Line], chunk_count: int
) -> list[float]:
    """Send and receive until everything has arrived; returns how long each chunk took."""
    poll = select.epoll()
    lines: dict[int, tuple[Line, Publisher | None]] = {}
    for line in subscribers:
        lines[line.socket.fileno()] = (line, None)
    for one in publishers:
        lines[one.line.socket.fileno()] = (one.line, one)
    for number in lines:
        poll.register(number, select.EPOLLIN)
    frame_bytes = len(publishers[0].chunks[0]) // case.chunk
    id_at = frame_bytes - case.payload_bytes[0] - 2 - (case.version == MQTT_5)
    latencies_us: list[float] = []
    done = [0] * len(publishers)
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        is_stuck = False
        for place, one in enumerate(publishers):
            now_done = one.chunks_done(case)
            if case.is_lock_step and now_done > done[place]:
                latencies_us.append(time.perf_counter() * 1e6 - one.sent_us)
            done[place] = now_done
            while (one.chunk_count < chunk_count or one.unsent) and one.is_free(case):
                if not one.push():
                    is_stuck = True
                    break
        if min(done) >= chunk_count:
            poll.close()
            return latencies_us
        for number, _ in poll.poll(0.001 if is_stuck else 1.0):
            line, owner = lines[number]
            block = line.take()
            line.received += len(block)
            if case.qos and owner is None:
                line.answer(block, frame_bytes, id_at)
        assert time.monotonic() < deadline_s, f"only {done} of {chunk_count} chunks came through"


def _lines(server: Server, case: Case) -> tuple[list[Publisher], list[Line]]:
    subscribers = []
    is_paired = case.publisher_count > 1
    for number in range(case.subscriber_count):
        line = Line(server, server.ports[-1], f"subscriber{number}", case.version)
        topic_filter = f"site/{number:03}/#" if is_paired else "site/#"
        line.subscribe(topic_filter, case.qos, case.version)
        line.socket.setblocking(False)
        subscribers.append(line)
    publishers = []
    for number in range(case.publisher_count):
        line = Line(server, server.ports[0], f"publisher{number}", case.version)
        line.socket.setblocking(False)
        targets = [subscribers[number]] if is_paired else subscribers
        publishers.append(Publisher(line, _chunks(case, number), targets))
    if len(server.ports) > 1:
        time.sleep(0.5)  # a bridge tells of subscriptions when it likes
    return publishers, subscribers


def _chunks(case: Case, publisher: int) -> list[bytes]:
    """Blocks of packets, each as long as the others; no two under way have a packet identifier."""
    count = case.window // case.chunk + 1 if case.qos else 1
    return [_chunk(case, publisher, place * case.chunk) for place in range(count)]


def _chunk(case: Case, publisher: int, first: int) -> bytes:
    frames = []
    for number in range(first, first + case.chunk):
        topic = f"site/{publisher:03}/sensor{number % case.topic_count}"
        packet_id = struct.pack("!H", number + 1) if case.qos else b""
        properties = b"\x00" if case.version == MQTT_5 else b""
        payload = b"x" * case.payload_bytes[number % len(case.payload_bytes)]
        body = _text(topic) + packet_id + properties + payload
        frames.append(_packet(0x30 | case.qos << 1, body))
    return b"".join(frames)


def _secured(plain: socket.socket, authority: Path) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(authority))
    return context.wrap_socket(plain, server_hostname=HOST)


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("!H", len(raw)) + raw


def _packet(first: int, body: bytes) -> bytes:
    """A packet of MQTT: its first byte, the length of the rest, the rest."""
    length, encoded = len(body), bytearray()
    while length >= 128:
        encoded.append(length & 0x7F | 0x80)
        length >>= 7
    encoded.append(length)
    return bytes([first, *encoded]) + body
