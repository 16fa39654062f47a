"""Live brokers on a tree that redraw it under traffic."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_network import DirectClient, reader_and_writer, running_brokers

from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.settings import AdaptationSettings
from meshwright.planning.adaptation.redraw import redraw_by
from meshwright.protocol.inspection import BrokerView
from meshwright.protocol.mqtt.packets import (
    USE_ANOTHER_SERVER,
    Connack,
    Connect,
    Disconnect,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)

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


def test_clients_that_talk_are_sent_to_one_broker_where_that_is_allowed(tmp_path: Path) -> None:
    settings = AdaptationSettings(rule="ocbr", every_s=0.5, move_clients=True)
    redraw = redraw_by(options=settings)

    async def story() -> None:
        async with running_brokers("tree", tmp_path, 2, redraw=redraw, adaptation=settings) as two:
            hosts = {broker.settings.name: broker.host for broker in two}
            reader = DirectClient(hosts["b0"], "reader")
            writer = DirectClient(hosts["b1"], "writer")
            for client in (reader, writer):
                client.connect(Connect(clean_start=True, session_expiry_s=600))
                await client.until(lambda got: any(isinstance(one, Connack) for one in got))
            reader.say(Subscribe(1, (Subscription("t", qos=1),)))
            await reader.until(lambda got: any(isinstance(one, Suback) for one in got))

            def goes() -> list[Disconnect]:
                return [one for one in (*reader.got, *writer.got) if isinstance(one, Disconnect)]

            number = 0
            async with asyncio.timeout(30):
                while not goes():
                    number += 1
                    writer.say(Publish("t", b"x", 1, packet_id=number))
                    await asyncio.sleep(0.005)
            assert {one.reason for one in goes()} == {USE_ANOTHER_SERVER}

    asyncio.run(story())


def test_an_operator_holds_the_tree_and_lets_it_adapt_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("tree", tmp_path, 2, redraw=redraw_by(), adaptation=OFTEN):
            control = BrokerControl(tmp_path / "b0")
            for order, state in (("hold", "held"), ("hold", "held"), ("release", "on")):
                said = await asyncio.to_thread(control.order, f"/adaptation/{order}")
                assert said["adaptation"] == state
                assert (
                    await asyncio.to_thread(control.get, "/view", BrokerView)
                ).adaptation == state
        async with running_brokers("chord", tmp_path / "ring", 1):
            with pytest.raises(OperatorError, match=r"see adaptation\.rule"):
                await asyncio.to_thread(
                    BrokerControl(tmp_path / "ring" / "b0").order, "/adaptation/hold"
                )

    asyncio.run(story())
