"""Live brokers on a tree that redraw it under traffic."""

from __future__ import annotations

import asyncio
from pathlib import Path

from live_network import reader_and_writer, running_brokers

from meshwright.live.settings import AdaptationSettings
from meshwright.planning.adaptation.redraw import redraw_by
from meshwright.protocol.mqtt.packets import Puback, Publish

OFTEN = AdaptationSettings(rule="ocbr", every_s=0.5)


def test_brokers_whose_clients_talk_become_neighbours_and_nothing_is_lost(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers(
            "tree", tmp_path, 4, redraw=redraw_by(), adaptation=OFTEN
        ) as brokers:
            hosts = {broker.settings.name: broker.host for broker in brokers}
            near, far, *_ = [name for name in hosts if len(hosts[name].view().neighbours) == 1]
            reader, writer = await reader_and_writer(hosts[far], hosts[near])
            sent = 0
            async with asyncio.timeout(30):
                while far not in hosts[near].view().neighbours:
                    sent += 1
                    writer.say(Publish("t", b"%d" % sent, 1, packet_id=sent))
                    await asyncio.sleep(0.005)
            await writer.until(lambda got: sum(isinstance(one, Puback) for one in got) == sent)
            await reader.until(lambda _: len(reader.payloads()) >= sent)
            assert reader.payloads() == [b"%d" % number for number in range(1, sent + 1)]

    asyncio.run(story())
