from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_network import network, reader_and_writer, small_overlay

from meshwright.protocol.mqtt.packets import Puback, Publish


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm", "tree"])
def test_what_is_published_at_one_broker_is_delivered_at_another(
    design: str, tmp_path: Path
) -> None:
    async def story() -> None:
        async with network(small_overlay(design), tmp_path) as hosts:
            reader, writer = await reader_and_writer(hosts["b3"], hosts["b0"])
            for number in range(1, 101):
                writer.say(Publish("t", b"%d" % number, 1, packet_id=number))
            await writer.until(lambda got: sum(isinstance(one, Puback) for one in got) == 100)
            await reader.until(lambda _: len(reader.payloads()) >= 100)
            assert reader.payloads() == [b"%d" % number for number in range(1, 101)]

    asyncio.run(story())
