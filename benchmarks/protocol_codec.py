"""MQTT to bytes and back: nanoseconds of CPU for each PUBLISH, beside a codec written in Rust."""

from __future__ import annotations

import time
from collections.abc import Callable

import mqtt5

from benchmarks.table import Row
from meshwright.protocol.mqtt.connection import Connection
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.fan_out import FanOut, encode_for_many
from meshwright.protocol.mqtt.packets import MQTT_3_1_1, MQTT_5, Connack, Connect, Publish
from meshwright.protocol.mqtt.terms import Terms

COUNT = 1_000  # packets in a block
REPEATS = 15
TOPIC = "buildings/7/floors/3/temperature"
PAYLOAD = b"x" * 64
PAIRS = (("unit", "celsius"), ("sensor", "17"))
CASES = (
    ("3.1.1, QoS 0", MQTT_3_1_1, Publish(TOPIC, PAYLOAD)),
    ("3.1.1, QoS 1", MQTT_3_1_1, Publish(TOPIC, PAYLOAD, 1, packet_id=1)),
    ("5, QoS 0", MQTT_5, Publish(TOPIC, PAYLOAD)),
    ("5, QoS 1", MQTT_5, Publish(TOPIC, PAYLOAD, 1, packet_id=1)),
    ("5, QoS 1, two user properties", MQTT_5, Publish(TOPIC, PAYLOAD, 1, False, 1, False, PAIRS)),
)
READ_NS_MAX = WRITE_NS_MAX = 2_000


def rows() -> list[Row]:
    return [row for case in CASES for row in _codec_rows(*case)] + _connection_rows()


def _codec_rows(name: str, version: int, packet: Publish) -> list[Row]:
    raw = encode(packet, version)
    block = raw * COUNT
    decoder = Decoder(version)
    has_goal = not packet.properties
    read_ns = _least_ns(lambda: decoder.take(block))
    write_ns = _least_ns(lambda: [encode(packet, version) for _ in range(COUNT)])
    beside = _other(raw) if version == MQTT_5 else ("", "")
    return [
        _row(f"read a PUBLISH of {name}", read_ns, READ_NS_MAX if has_goal else None, beside[0]),
        _row(f"write a PUBLISH of {name}", write_ns, WRITE_NS_MAX if has_goal else None, beside[1]),
    ]


def _other(raw: bytes) -> tuple[str, str]:
    """What the codec in Rust needs for the same packets, one by one."""
    view = memoryview(raw * COUNT)
    size = len(raw)

    def read() -> None:
        for at in range(0, len(view), size):
            mqtt5.read(view[at : at + size])

    packet = mqtt5.read(memoryview(raw))[0]
    read_ns = _least_ns(read)
    write_ns = _least_ns(lambda: [packet.write() for _ in range(COUNT)])
    return f"mqtt5: {read_ns:.0f} ns", f"mqtt5: {write_ns:.0f} ns"


def _connection_rows() -> list[Row]:
    packet = Publish(TOPIC, PAYLOAD, 1, packet_id=1)
    identifiers = range(1, COUNT + 1)
    many_ns = _least_ns(lambda: encode_for_many(packet, MQTT_5, identifiers))
    fan_out = FanOut()
    readers = [_open(fan_out) for _ in range(COUNT)]

    def send() -> None:
        for reader in readers:
            reader.send(packet)
            reader.flush()

    writer = _open(fan_out)
    block = encode(Publish(TOPIC, PAYLOAD), MQTT_5) * COUNT
    received_ns = _least_ns(lambda: writer.receive(0, block))
    return [
        _row("one message to many, bytes made once", many_ns, None),
        _row("one message through 1,000 connections of MQTT 5", _least_ns(send), None),
        _row("a PUBLISH of QoS 0 from bytes to what the broker hears", received_ns, None),
    ]


def _open(fan_out: FanOut) -> Connection:
    connection = Connection(Terms(), 0, assigned_client_id="c", fan_out=fan_out)
    connection.receive(0, encode(Connect(client_id="c"), MQTT_5))
    connection.accept()
    connection.send(Connack(False))
    connection.flush()
    return connection


def _least_ns(work: Callable[[], object]) -> float:
    """CPU time for each packet, least of a few runs: others use this machine too."""
    best_ns = float("inf")
    for _ in range(REPEATS):
        start_ns = time.process_time_ns()
        work()
        best_ns = min(best_ns, time.process_time_ns() - start_ns)
    return best_ns / COUNT


def _row(task: str, took_ns: float, most_ns: int | None, note: str = "") -> Row:
    target = "-" if most_ns is None else f"under {most_ns:,} ns"
    met = None if most_ns is None else took_ns < most_ns
    return Row(task, f"{took_ns:.0f} ns", target, met=met, note=note)
