"""The doors of a broker: TCP, TLS and WebSocket, who comes in, and how much each may take."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from certificates import Papers
from live_network import ANY_PORT, port_of, small_overlay

from meshwright.live.access.passwords import set_password
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import (
    AccessSettings,
    LimitSettings,
    ListenerSettings,
    LiveSettings,
    PeerLinkSettings,
)
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_5, Auth, Connect

RULES = """
pattern readwrite users/%u/#
topic read news/#
"""
V5 = aiomqtt.ProtocolVersion.V5


@asynccontextmanager
async def broker_with(
    folder: Path, listener: ListenerSettings, **options: Any
) -> AsyncIterator[LiveBroker]:
    """One broker with one door."""
    settings = LiveSettings(
        name="b0", folder=folder / "b0", listeners=(listener,),
        peers=PeerLinkSettings(listen=ANY_PORT), **options,
    )  # fmt: skip
    broker = LiveBroker(
        settings,
        small_overlay("chord", 1),
        recorded=lambda _time_us, _record: None,
        refused=lambda _reason, _address: None,
    )
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


async def echoed(client: aiomqtt.Client, topic: str) -> object:
    """What comes back of a message that a client sends to itself, or why nothing does."""
    async with asyncio.timeout(20), client:
        (granted,) = await client.subscribe(topic, qos=1)
        if not isinstance(granted, int) and granted.is_failure:
            return str(granted)
        await client.publish(topic, b"hello", qos=1)
        return (await anext(client.messages)).payload


@pytest.mark.parametrize("is_secret", [False, True])
@pytest.mark.parametrize("transport", ["tcp", "websocket"])
def test_a_client_talks_through_every_kind_of_door(
    transport: Any, is_secret: bool, tmp_path: Path
) -> None:
    async def story() -> None:
        papers = Papers(tmp_path)
        listener = ListenerSettings(
            address=ANY_PORT,
            transport=transport,
            anonymous=True,
            tls=papers.settings() if is_secret else None,
        )
        async with broker_with(tmp_path, listener) as broker:
            for version in (aiomqtt.ProtocolVersion.V311, V5):
                client = aiomqtt.Client(
                    "localhost",
                    port_of(broker),
                    transport="websockets" if transport == "websocket" else "tcp",
                    tls_context=papers.for_client() if is_secret else None,
                    protocol=version,
                )
                assert await echoed(client, "t") == b"hello"

    asyncio.run(story())


def test_a_certificate_says_who_a_client_is_and_no_stranger_comes_in(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text(RULES)

    async def story() -> None:
        papers = Papers(tmp_path)
        listener = ListenerSettings(address=ANY_PORT, tls=papers.settings(asks=True))
        access = AccessSettings(rules=rules)
        async with broker_with(tmp_path, listener, access=access) as broker:

            def client(context: ssl.SSLContext, timeout_s: float = 20) -> aiomqtt.Client:
                return aiomqtt.Client(
                    "localhost",
                    port_of(broker),
                    tls_context=context,
                    protocol=V5,
                    timeout=timeout_s,
                )

            alice = client(papers.for_client("alice"))
            assert await echoed(alice, "users/alice/x") == b"hello"
            assert await echoed(alice, "users/bob/x") == "Not authorized"
            with pytest.raises(aiomqtt.MqttError):
                await echoed(client(papers.for_client(), timeout_s=1), "users/alice/x")

    asyncio.run(story())


def test_a_password_opens_the_door_and_rules_go_by_the_user(tmp_path: Path) -> None:
    passwords, rules = tmp_path / "passwords", tmp_path / "rules"
    set_password(passwords, "alice", b"staple")
    rules.write_text(RULES)

    async def story() -> None:
        access = AccessSettings(passwords=passwords, rules=rules)
        listener = ListenerSettings(address=ANY_PORT)
        async with broker_with(tmp_path, listener, access=access) as broker:

            def client(user: str | None, password: str | None) -> aiomqtt.Client:
                return aiomqtt.Client(
                    "127.0.0.1", port_of(broker), username=user, password=password, protocol=V5
                )

            assert await echoed(client("alice", "staple"), "users/alice/x") == b"hello"
            with pytest.raises(aiomqtt.MqttError, match="Bad user name or password"):
                await echoed(client("alice", "horse"), "users/alice/x")
            with pytest.raises(aiomqtt.MqttError, match="Not authorized"):
                await echoed(client(None, None), "users/alice/x")

    asyncio.run(story())


def test_a_connection_too_many_is_not_let_in(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(connections_per_address_max=2)
        listener = ListenerSettings(address=ANY_PORT, anonymous=True)
        async with broker_with(tmp_path, listener, limits=limits) as broker:
            lines = [await asyncio.open_connection("127.0.0.1", port_of(broker)) for _ in range(3)]
            async with asyncio.timeout(20):
                assert await lines[2][0].read() == b""
            elsewhere = await asyncio.open_connection(
                "127.0.0.1", port_of(broker), local_addr=("127.0.0.9", 0)
            )
            elsewhere[1].write(encode(Connect(client_id="c", clean_start=True), MQTT_5))
            async with asyncio.timeout(20):
                assert (await elsewhere[0].read(64))[0] == 0x20
            for _, line in (*lines, elsewhere):
                line.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("limits", "qos"),
    [
        (LimitSettings(messages_per_second_max=20), 1),
        (LimitSettings(messages_per_second_max=20), 0),
        (LimitSettings(bytes_per_second_max=2_000), 0),
    ],
)
def test_a_client_that_is_too_fast_is_read_at_its_pace(
    limits: LimitSettings, qos: int, tmp_path: Path
) -> None:
    async def story() -> None:
        listener = ListenerSettings(address=ANY_PORT, anonymous=True)
        async with broker_with(tmp_path, listener, limits=limits) as broker:
            clock = asyncio.get_running_loop().time
            client = aiomqtt.Client("127.0.0.1", port_of(broker), protocol=V5)
            async with asyncio.timeout(20), client:
                begun_s = clock()
                for _ in range(30):
                    await client.publish("t", b"x" * 100, qos=qos)
                # What came in one block is taken whole; what comes after it waits.
                await client.subscribe("t")
                await client.subscribe("u")
                # A second's worth is free, the rest comes at the pace.
                assert clock() - begun_s > 0.4

    asyncio.run(story())


def test_an_exchange_of_proofs_that_is_not_offered_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        listener = ListenerSettings(address=ANY_PORT, anonymous=True)
        async with broker_with(tmp_path, listener) as broker:
            for said, first, reason in (
                ([Connect(client_id="c", authentication_method="SCRAM-SHA-1")], 0x20, 0x8C),
                ([Connect(client_id="c"), Auth(0x18)], 0xE0, 0x82),
            ):
                answers, line = await asyncio.open_connection("127.0.0.1", port_of(broker))
                line.write(b"".join(encode(packet, MQTT_5) for packet in said))
                async with asyncio.timeout(20):
                    raw = await answers.read()
                assert raw[:1] == bytes((first,)) or bytes((first,)) in raw
                assert bytes((reason,)) in raw
                line.close()

    asyncio.run(story())


def test_text_in_a_websocket_and_a_request_without_mqtt_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        listener = ListenerSettings(address=ANY_PORT, transport="websocket", anonymous=True)
        async with broker_with(tmp_path, listener) as broker:
            for protocol, status in (("chat", b" 400 "), ("mqtt", b" 101 ")):
                answers, line = await asyncio.open_connection("127.0.0.1", port_of(broker))
                line.write(
                    b"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    b"Sec-WebSocket-Protocol: " + protocol.encode() + b"\r\n\r\n"
                )
                async with asyncio.timeout(20):
                    assert status in await answers.readuntil(b"\r\n")
                    if protocol == "mqtt":
                        await answers.readuntil(b"\r\n\r\n")
                        line.write(b"\x81\x82\0\0\0\0hi")
                        closing = await answers.read()
                        assert closing[:1] == b"\x88"
                        assert int.from_bytes(closing[2:4]) == 1003
                line.close()

    asyncio.run(story())


def test_a_websocket_is_for_pages_of_the_sites_that_were_named(tmp_path: Path) -> None:
    async def story() -> None:
        listener = ListenerSettings(
            address=ANY_PORT,
            transport="websocket",
            anonymous=True,
            origins=("https://panel.example", "http://localhost:8080"),
        )
        async with broker_with(tmp_path, listener) as broker:
            for origin, status in (
                (b"Origin: https://panel.example\r\n", b" 101 "),
                (b"Origin: HTTP://LOCALHOST:8080\r\n", b" 101 "),
                (b"Origin: https://evil.example\r\n", b" 403 "),
                (b"Origin: null\r\n", b" 403 "),
                (b"Origin: https://panel.example.evil.example\r\n", b" 403 "),
                (b"", b" 101 "),
            ):
                answers, line = await asyncio.open_connection("127.0.0.1", port_of(broker))
                line.write(
                    b"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    b"Sec-WebSocket-Protocol: mqtt\r\n" + origin + b"\r\n"
                )
                async with asyncio.timeout(20):
                    assert status in await answers.readuntil(b"\r\n"), origin
                line.close()

    asyncio.run(story())
