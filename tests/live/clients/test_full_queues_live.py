"""Publishers for a client whose queue is full: those of MQTT 5 are told, the others wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from lines_without_sockets import LineClient, settle
from live_network import running_brokers

from meshwright.live.clients.client_line import ClientLine
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import LimitSettings
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)

ROOM = 20
COUNT = 400


async def sleeping(broker: LiveBroker) -> None:
    """Leave a session that waits for its client."""
    sleeper = LineClient(broker.listeners[0], ClientLine, MQTT_5)
    await sleeper.connect("sleeper", session_expiry_s=600)
    sleeper.say(Subscribe(1, (Subscription("t", 1),)))
    await until(lambda: any(isinstance(one, Suback) for one in sleeper.read()))
    sleeper.line.connection_lost(None)


async def woken(broker: LiveBroker, count: int) -> list[bytes]:
    """What a client gets that comes back, answers, and waits for so many."""
    sleeper = LineClient(broker.listeners[0], ClientLine, MQTT_5)
    await sleeper.connect("sleeper", session_expiry_s=600)

    def has_all() -> bool:
        sleeper.answer_all()
        return len(payloads(sleeper)) >= count

    await until(has_all)
    return payloads(sleeper)


def payloads(client: LineClient) -> list[bytes]:
    return [one.payload for one in client.read() if isinstance(one, Publish)]


def pubacks(client: LineClient) -> list[Puback]:
    return [one for one in client.read() if isinstance(one, Puback)]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("broker_count", [1, 2])
@pytest.mark.parametrize("durability", ["memory", "synced"])
def test_mqtt_3_is_read_no_more_and_loses_nothing(
    tmp_path: Path, durability: str, broker_count: int
) -> None:
    async def story() -> None:
        limits = LimitSettings(queue_max=ROOM, inflight_max=50)
        async with running_brokers(
            "chord", tmp_path, broker_count, durability=durability, limits=limits
        ) as brokers:
            await sleeping(brokers[-1])
            writer = LineClient(brokers[0].listeners[0], ClientLine, MQTT_3_1_1)
            await writer.connect("writer", clean_start=True)
            said = 0
            while not brokers[0].host.shortcuts.is_held_back("writer"):
                assert said < COUNT, "it is read for ever"
                said += 1
                writer.say(Publish("t", b"%d" % said, 1, False, said))
                await settle()
                await asyncio.sleep(0.002)
            writer.say(Pingreq())
            await asyncio.sleep(0.2)
            assert writer.transport.is_paused
            assert Pingresp() not in writer.read()
            assert ROOM <= len(pubacks(writer)) < said
            (waits,) = brokers[0].host.view().held_back
            assert (waits.client, waits.waits_for) == ("writer", "sleeper")
            assert await woken(brokers[-1], said) == [b"%d" % n for n in range(1, said + 1)]
            await until(lambda: len(pubacks(writer)) == said and Pingresp() in writer.read())
            await until(lambda: not writer.transport.is_paused)
            assert not brokers[0].host.view().held_back

    asyncio.run(story())


def test_a_few_messages_that_wait_hold_up_no_ping(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(queue_max=ROOM)
        async with running_brokers(
            "chord", tmp_path, 1, durability="memory", limits=limits
        ) as brokers:
            await sleeping(brokers[0])
            writer = LineClient(brokers[0].listeners[0], ClientLine, MQTT_3_1_1)
            await writer.connect("writer", clean_start=True)
            for number in range(1, 3 * ROOM):
                writer.say(Publish("t", b"", 1, False, number))
                await settle()
            writer.say(Pingreq())
            await settle()
            assert Pingresp() in writer.read()
            assert len(pubacks(writer)) < 2 * ROOM

    asyncio.run(story())


def test_mqtt_5_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(queue_max=ROOM)
        async with running_brokers("chord", tmp_path, 2, limits=limits) as brokers:
            await sleeping(brokers[1])
            writer = LineClient(brokers[0].listeners[0], ClientLine, MQTT_5)
            await writer.connect("writer", clean_start=True)
            for number in range(1, 3 * ROOM):
                writer.say(Publish("t", b"%d" % number, 1, False, number))
                await until(lambda number=number: len(pubacks(writer)) == number)
            said = {one.packet_id: one.reason for one in pubacks(writer)}
            assert said[3 * ROOM - 1] == packets.QUOTA_EXCEEDED
            kept = [b"%d" % number for number, reason in said.items() if not reason]
            assert await woken(brokers[1], len(kept)) == kept

    asyncio.run(story())
