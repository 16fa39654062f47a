"""How clients are let in at the doors of a live broker."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiomqtt
import msgspec
import pytest
from live_network import port_of, running_brokers
from raw_clients import RawClient

from meshwright.live.access.passwords import set_password
from meshwright.live.clients.client_line import NAME_CHARACTERS_MAX, TurnedAway
from meshwright.live.settings import AccessSettings
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.encoding import encode

WORD = "staple"


def test_a_client_whose_password_takes_too_long_to_check_is_told_so(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    set_password(passwords, "alice", WORD.encode())

    async def story() -> None:
        access = AccessSettings(passwords=passwords)
        async with running_brokers("chord", tmp_path, 1, access=access) as (broker,):
            client = aiomqtt.Client(
                "127.0.0.1",
                port_of(broker),
                username="alice",
                password=WORD,
                protocol=aiomqtt.ProtocolVersion.V5,
            )
            async with client:
                pass
            (listener,) = broker.listeners
            listener.terms = msgspec.structs.replace(listener.terms, connect_patience_us=1)
            with pytest.raises(aiomqtt.MqttError, match="Server busy"):
                await client.__aenter__()

    asyncio.run(story())


def test_who_is_turned_away_is_recorded_with_where_it_came_from(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    set_password(passwords, "alice", WORD.encode())
    records: list[Any] = []

    async def story() -> None:
        access = AccessSettings(passwords=passwords)
        async with running_brokers(
            "chord", tmp_path, 1, access=access, recorded=lambda _time_us, one: records.append(one)
        ) as (broker,):
            long_name = "x" * 60_000
            for sent in (
                encode(
                    packets.Connect(client_id="door", user_name="alice", password=b"guess"),
                    packets.MQTT_5,
                ),
                encode(
                    packets.Connect(client_id=long_name, user_name=long_name, password=b""),
                    packets.MQTT_5,
                ),
                encode(packets.Connect(client_id="meter"), packets.MQTT_5) + b"\x00\x00",
                b"GET / HTTP/1.1\r\n\r\n",
            ):
                client = await RawClient.open(port_of(broker))
                client.send(sent)
                await client.read_to_end()
                await client.close()

    asyncio.run(story())
    told = [one for one in records if isinstance(one, TurnedAway)]
    cut = "x" * NAME_CHARACTERS_MAX
    who = [(one.client, one.user, one.reason) for one in told]
    assert who == [
        ("door", "alice", "0x86"),
        (cut, cut, "0x86"),
        ("meter", "", "0x81"),
        ("", "", told[-1].reason),
    ]
    assert {one.address for one in told} == {"127.0.0.1"}
    assert all(one.problem for one in told)
