"""How clients are let in at the doors of a live broker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiomqtt
import msgspec
import pytest
from live_network import port_of, running_brokers

from meshwright.live.access.passwords import set_password
from meshwright.live.settings import AccessSettings

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
