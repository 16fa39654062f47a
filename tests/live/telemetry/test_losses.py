"""What is dropped is counted by client and by topic, and said once a second at most."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from lines_without_sockets import LineClient, settle
from live_network import running_brokers

from meshwright.live.clients.client_line import ClientLine
from meshwright.live.settings import LimitSettings
from meshwright.live.telemetry.log import Log
from meshwright.live.telemetry.losses import NAMES_MAX, OTHERS, Losses
from meshwright.live.telemetry.metrics import metrics_text
from meshwright.live.telemetry.system_topics import SystemTopics
from meshwright.protocol.mqtt.packets import MQTT_3_1_1, Publish, Subscribe, Subscription
from meshwright.protocol.sessions.deliveries import Refused

COUNT = 50


def test_metrics_and_system_topics_name_clients_and_topics(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(queue_max=10, inflight_max=1, queue_full="drop")
        async with running_brokers("chord", tmp_path, 1, limits=limits) as (broker,):
            reader = LineClient(broker.listeners[0], ClientLine, MQTT_3_1_1)
            writer = LineClient(broker.listeners[0], ClientLine, MQTT_3_1_1)
            await reader.connect("reader")
            await writer.connect("writer")
            reader.say(Subscribe(1, (Subscription("t", 1), Subscription("plain"))))
            await settle()
            for number in range(1, COUNT + 1):
                writer.say(Publish("t", b"", 1, False, number))
            writer.say(Publish("plain", b"first"))
            await asyncio.sleep(0.1)
            reader.line.pause_writing()
            for _ in range(3):
                writer.say(Publish("plain", b"more"))
                await settle()
            readings = broker.control.readings()
            text = metrics_text(readings).decode()
            lost = COUNT - 11
            assert f'meshwright_dropped_by_client_total{{client="reader"}} {lost + 3}.0' in text
            assert f'meshwright_dropped_by_topic_total{{topic="t"}} {lost}.0' in text
            assert 'meshwright_dropped_by_topic_total{topic="plain"} 3.0' in text
            told = SystemTopics("b0").own(readings, 0)
            assert msgspec.json.decode(told["$SYS/broker/dropped/topics"]) == {
                "t": lost,
                "plain": 3,
            }

    asyncio.run(story())


def test_the_log_has_one_line_a_second(tmp_path: Path) -> None:
    log = Log("b0", tmp_path / "log")
    for number in range(2_500):
        record = Refused(client="c", publisher="p", sequence=number, topic="t", reason="full")
        log.record(1_000_000_000 + number * 1_000, record)
    log.close()
    lines = [msgspec.json.decode(one) for one in (tmp_path / "log").read_text().splitlines()]
    assert [one.get("unsaid", 0) for one in lines] == [0, 999, 999]


def test_names_do_not_grow_without_bound() -> None:
    losses = Losses()
    for number in range(3 * NAMES_MAX):
        losses.count(str(number), "t")
    assert losses.by_client[OTHERS] == 2 * NAMES_MAX
    assert len(losses.by_client) == NAMES_MAX + 1
    assert losses.by_topic["t"] == 3 * NAMES_MAX
