"""How connections end: for a fault, with a goodbye, after too long, and with the last word read."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from certificates import Papers
from live_network import ANY_PORT, port_of
from raw_clients import RawClient
from test_doors import broker_with

from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import LimitSettings, ListenerSettings
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    Connect,
    Publish,
    Subscribe,
    Subscription,
    Will,
)

HELLO = encode(
    Connect(client_id="c", clean_start=True, keep_alive_s=60, protocol_version=MQTT_3_1_1),
    MQTT_3_1_1,
)
CONNACK = b"\x20\x02\0\0"
GOOD = encode(Publish("t", b"x", 1, packet_id=7), MQTT_3_1_1)
PUBACK = b"\x40\x02\0\x07"
DEADLINE_S = 20
# What each does that MQTT 3.1.1 has a server close the connection for.
FAULTS = {
    "a wildcard in a topic": b"\x30\x05\0\x02/#x",
    "a NUL in a topic": b"\x30\x05\0\x02a\0x",
    "a topic that is not UTF-8": b"\x30\x05\0\x02\xff\xfex",
    "an empty topic": b"\x30\x03\0\0x",
    "QoS 3": b"\x36\x07\0\x01t\0\x01xx",
    "packet identifier 0": b"\x32\x06\0\x01t\0\0x",
    "packet identifier 0 of SUBSCRIBE": b"\x82\x06\0\0\0\x01t\0",
    "SUBSCRIBE of nothing": b"\x82\x02\0\x09",
    "a second CONNECT": HELLO,
    "an unknown type": b"\xf0\0",
    "a packet of the server": b"\x20\x02\0\0",
    "wrong flags of SUBSCRIBE": b"\x80\x06\0\x01\0\x01t\0",
    "too large a packet": b"\x32\x80\x80\x80\x01" + b"x" * 1_000,
    "a length without an end": b"\x32\xff\xff\xff\xff\x7f",
}
DOORS = [("tcp", False), ("tcp", True), ("websocket", False), ("websocket", True)]


class Doorway:
    """One broker with one door, and raw clients through it."""

    def __init__(self, broker: LiveBroker, transport: Any, papers: Papers | None) -> None:
        self.broker = broker
        self._transport = transport
        self._context = None if papers is None else papers.for_client()

    async def client(self) -> RawClient:
        return await RawClient.open(port_of(self.broker), self._transport, self._context)

    async def until_nobody_is_left(self) -> None:
        while any(listener.lines for listener in self.broker.listeners):
            await asyncio.sleep(0.01)


def through(
    folder: Path, story: Any, transport: Any = "tcp", *, is_secret: bool = False, **options: Any
) -> None:
    """Run a story with a doorway."""

    async def run() -> None:
        papers = Papers(folder) if is_secret else None
        listener = ListenerSettings(
            address=ANY_PORT,
            transport=transport,
            anonymous=True,
            tls=None if papers is None else papers.settings(),
        )
        async with (
            asyncio.timeout(DEADLINE_S * 2),
            broker_with(folder, listener, **options) as broker,
        ):
            await story(Doorway(broker, transport, papers))

    asyncio.run(run())


@pytest.mark.parametrize(("transport", "is_secret"), DOORS)
@pytest.mark.parametrize("durability", ["synced", "memory"])
def test_a_fault_ends_a_connection_of_mqtt_3_and_what_came_before_it_is_answered(
    transport: str, is_secret: bool, durability: str, tmp_path: Path
) -> None:
    async def ending(door: Doorway, first: bytes, *rest: bytes) -> bytes:
        client = await door.client()
        client.send(first)
        got = await client.read(len(CONNACK))
        for block in rest:
            client.send(block)
        async with asyncio.timeout(DEADLINE_S):
            got += await client.read_to_end()
        await client.close()
        return got

    async def story(door: Doorway) -> None:
        for said, fault in FAULTS.items():
            assert await ending(door, HELLO, fault) == CONNACK, said
            assert await ending(door, HELLO, GOOD + fault) == CONNACK + PUBACK, said
            assert await ending(door, HELLO + GOOD + fault) == CONNACK + PUBACK, said
            assert await ending(door, HELLO, GOOD + fault + GOOD) == CONNACK + PUBACK, said
        await door.until_nobody_is_left()
        refused = door.broker.host.meter.refused
        assert sum(refused.values()) == len(FAULTS) * 4

    through(tmp_path, story, transport, is_secret=is_secret, durability=durability)


@pytest.mark.parametrize(("transport", "is_secret"), DOORS)
def test_who_does_not_begin_with_connect_is_sent_away(
    transport: str, is_secret: bool, tmp_path: Path
) -> None:
    async def story(door: Doorway) -> None:
        for said in (GOOD, b"\xc0\0", b"GET / HTTP/1.1\r\n", b"\x10\xff\xff\xff\xff\x7f", b"\0"):
            client = await door.client()
            client.send(said + b"\0" * 10)
            got = b""
            with suppress(ConnectionError):  # what was not read makes a reset of it
                async with asyncio.timeout(DEADLINE_S):
                    got = await client.read_to_end()
            assert got == b"", said
            await client.close()
        await door.until_nobody_is_left()

    through(tmp_path, story, transport, is_secret=is_secret)


@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_all_that_came_before_a_fault_is_answered_and_taken(version: int, tmp_path: Path) -> None:
    async def story(door: Doorway) -> None:
        will = Will("t", b"will", 1)
        hello = encode(
            Connect(client_id="w", clean_start=True, will=will, protocol_version=version), version
        )
        reader, writer = await door.client(), await door.client()
        reader.send(HELLO + encode(Subscribe(1, (Subscription("t"),)), MQTT_3_1_1))
        assert len(await reader.read(9)) == 9
        writer.send(hello)
        connack = await writer.read(1)
        said = (
            Publish("t", b"1", 1, packet_id=1),
            Publish("t", b"2", 2, packet_id=2),
            Subscribe(3, (Subscription("elsewhere"),)),
            Publish("t", b"3", 1, packet_id=4),
        )
        writer.send(b"".join(encode(one, version) for one in said) + b"\xf1\0")
        got = connack + await writer.read_to_end()
        for head in (b"\x40\x02\0\x01", b"\x50\x02\0\x02", b"\x90", b"\x40\x02\0\x04"):
            assert head in got
        if version == MQTT_5:
            assert got.index(b"\xe0") > got.index(b"\x40\x02\0\x04")
        got = await reader.read(4 * 6 + 3)
        assert [got.count(one) for one in (b"t1", b"t2", b"t3", b"twill")] == [1] * 4
        assert got.endswith(b"twill")
        for client in (reader, writer):
            await client.close()

    through(tmp_path, story)


@pytest.mark.parametrize(("transport", "is_secret"), DOORS)
def test_the_server_closes_after_a_goodbye(transport: str, is_secret: bool, tmp_path: Path) -> None:
    async def story(door: Doorway) -> None:
        for blocks in ([HELLO, b"\xe0\0"], [HELLO + b"\xe0\0"], [HELLO, b"\xc0\0\xe0\0\xc0\0"]):
            client = await door.client()
            client.send(blocks[0])
            got = await client.read(len(CONNACK))
            for block in blocks[1:]:
                client.send(block)
            async with asyncio.timeout(DEADLINE_S):
                got += await client.read_to_end()
            assert got == CONNACK + b"\xd0\0" * blocks[-1].startswith(b"\xc0")
            if transport == "websocket":
                assert client.closing_code == 1000
            await client.close()
        await door.until_nobody_is_left()
        assert not door.broker.host.clients

    through(tmp_path, story, transport, is_secret=is_secret)


@pytest.mark.parametrize(("transport", "is_secret"), DOORS)
def test_the_reason_is_read_by_who_still_sends(
    transport: str, is_secret: bool, tmp_path: Path
) -> None:
    async def story(door: Doorway) -> None:
        client = await door.client()
        client.send(encode(Connect(client_id="c", clean_start=True), MQTT_5))
        assert (await client.read(3))[0] == 0x20
        # More of QoS 2 than may wait for an answer, and much more behind them.
        for packet_id in range(1, 300):
            client.send(encode(Publish("t", b"x" * 10_000, 2, packet_id=packet_id), MQTT_5))
        await asyncio.sleep(0.3)
        async with asyncio.timeout(DEADLINE_S):
            got = await client.read_to_end()
        assert b"\xe0" in got
        assert got[got.rindex(b"\xe0") + 2] == 0x93
        await client.close()
        await door.until_nobody_is_left()

    limits = LimitSettings(inflight_max=20)
    through(tmp_path, story, transport, is_secret=is_secret, limits=limits)


def test_who_goes_on_sending_after_the_end_is_cut_off(tmp_path: Path) -> None:
    async def story(door: Doorway) -> None:
        client = await door.client()
        client.send(HELLO)
        await client.read(len(CONNACK))
        client.send(b"\xe0\0")
        sent_bytes = 0
        with suppress(ConnectionError):
            while sent_bytes < 200_000_000:
                client.writer.write(b"\xc0\0" * 50_000)
                await client.writer.drain()
                sent_bytes += 100_000
        assert sent_bytes < 40_000_000
        await door.until_nobody_is_left()
        await client.close()

    through(tmp_path, story)


def test_who_reads_nothing_is_cut_off_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meshwright.live.clients.lingering.LINGER_S", 0.2)

    async def story(door: Doorway) -> None:
        client = await door.client()
        client.send(HELLO + encode(Subscribe(1, (Subscription("t"),)), MQTT_3_1_1))
        await client.read(9)
        client.writer.transport.pause_reading()
        large = encode(Publish("t", b"x" * 500_000), MQTT_3_1_1)
        for _ in range(40):
            client.send(large)
        client.send(b"\xe0\0")
        async with asyncio.timeout(DEADLINE_S):
            await door.until_nobody_is_left()
        await client.close()

    through(tmp_path, story)


@pytest.mark.parametrize("transport", ["tcp", "websocket"])
def test_a_connect_that_comes_byte_by_byte_is_cut_off(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(door: Doorway) -> None:
        (listener,) = door.broker.listeners
        monkeypatch.setattr(
            listener, "terms", msgspec.structs.replace(listener.terms, connect_patience_us=500_000)
        )
        client = await door.client()
        clock = asyncio.get_running_loop().time
        begun_s = clock()
        trickle = asyncio.create_task(_trickle(client, HELLO + HELLO * 100))
        got = b""
        with suppress(ConnectionError):  # a byte on its way meets a closed door
            async with asyncio.timeout(DEADLINE_S):
                got = await client.read_to_end()
        assert got == b""
        assert clock() - begun_s < 10
        trickle.cancel()
        await client.close()

    through(tmp_path, story, transport)


async def _trickle(client: RawClient, said: bytes) -> None:
    for one in said:
        client.send(bytes((one,)))
        await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("limits", "good", "bad"),
    [
        (LimitSettings(qos_max=0), Publish("t", b"x"), Publish("t", b"x", 1, packet_id=7)),
        (LimitSettings(retain_available=False), Publish("t"), Publish("t", retain=True)),
        (LimitSettings(payload_bytes_max=200), Publish("t", b"x" * 200), Publish("t", b"x" * 201)),
        (LimitSettings(payload_bytes_max=2), Publish("t", b"x" * 2), Publish("t", b"x" * 3)),
        (LimitSettings(packet_bytes_max=80), Publish("t", b"x" * 75), Publish("t", b"x" * 76)),
    ],
)
@pytest.mark.parametrize("qos", [0, 1])
def test_what_is_not_offered_is_not_taken_however_it_comes(
    limits: LimitSettings, good: Publish, bad: Publish, qos: int, tmp_path: Path
) -> None:
    if qos and limits.qos_max:
        good, bad = (msgspec.structs.replace(one, qos=1, packet_id=7) for one in (good, bad))
        # A packet identifier takes two bytes of what a packet may have.
        spare = 2 * (limits.packet_bytes_max == 80)
        good = msgspec.structs.replace(good, payload=good.payload[spare:])
        bad = msgspec.structs.replace(bad, payload=bad.payload[spare:])

    async def story(door: Doorway) -> None:
        client = await door.client()
        client.send(HELLO)
        await client.read(len(CONNACK))
        block = encode(good, MQTT_3_1_1)
        client.send(block * 3 + b"\xc0\0")
        answers = PUBACK * 3 * good.qos + b"\xd0\0"
        assert sorted(await client.read(len(answers))) == sorted(answers)
        client.send(block * 2 + encode(bad, MQTT_3_1_1) + block)
        async with asyncio.timeout(DEADLINE_S):
            assert await client.read_to_end() == PUBACK * 2 * good.qos
        assert sum(door.broker.host.meter.received_messages) == 5
        await client.close()

    through(tmp_path, story, limits=limits)
