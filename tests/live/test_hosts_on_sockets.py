from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_network import DirectClient, network, small_overlay

from meshwright.protocol.packets import (
    Connack,
    Connect,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm", "tree"])
def test_what_is_published_at_one_broker_is_delivered_at_another(
    design: str, tmp_path: Path
) -> None:
    async def story() -> None:
        async with network(small_overlay(design), tmp_path) as hosts:
            reader, writer = (
                DirectClient(hosts["b3"], "reader"),
                DirectClient(hosts["b0"], "writer"),
            )
            reader.connect(Connect(clean_start=True))
            writer.connect(Connect(clean_start=True))
            await reader.until(lambda got: any(isinstance(one, Connack) for one in got))
            await writer.until(lambda got: any(isinstance(one, Connack) for one in got))
            reader.say(Subscribe(1, (Subscription("t", qos=1),)))
            await reader.until(lambda got: any(isinstance(one, Suback) for one in got))
            for number in range(1, 101):
                writer.say(Publish("t", b"%d" % number, 1, packet_id=number))
            await writer.until(lambda got: sum(isinstance(one, Puback) for one in got) == 100)

            def delivered(got: list[object]) -> list[bytes]:
                return [one.payload for one in got if isinstance(one, Publish)]

            await reader.until(lambda got: len(delivered(got)) >= 100)
            assert delivered(reader.got) == [b"%d" % number for number in range(1, 101)]

    asyncio.run(story())
