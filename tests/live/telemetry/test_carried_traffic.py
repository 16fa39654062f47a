"""What live brokers count of frames that others hand on to them."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import aiomqtt
import numpy as np
import pytest
from live_network import port_of, running_brokers

from meshwright.live.operating.control import TrafficView
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.settings import TelemetrySettings
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.evaluate import publication_messages

BROKER_COUNT = 6
MESSAGE_COUNT = 3


# Of topic-connected designs only those are joined that the overlay was built for.
@pytest.mark.parametrize(
    ("design", "numbers"),
    [("chord", (0, 2, 5)), ("hypercube", (2, 5)), ("tree", (2, 5)), ("gm", (0, 1, 2, 3, 4, 5))],
)
def test_live_brokers_count_what_the_closed_form_says(
    design: str, numbers: tuple[int, ...], tmp_path: Path
) -> None:
    telemetry = TelemetrySettings(trace=tmp_path / "trace", sys_every_s=0)

    async def story() -> None:
        async with running_brokers(design, tmp_path, BROKER_COUNT, telemetry=telemetry) as brokers:
            overlay = brokers[0].host.observe().overlay
            readers = [aiomqtt.Client("127.0.0.1", port_of(brokers[number])) for number in numbers]
            writer = aiomqtt.Client("127.0.0.1", port_of(brokers[0]))
            async with AsyncExitStack() as opened, asyncio.timeout(30):
                for client in (writer, *readers):
                    await opened.enter_async_context(client)
                for reader in readers:
                    await reader.subscribe("t", qos=1)
                for _ in range(MESSAGE_COUNT):
                    await writer.publish("t", b"x", qos=1)
                for reader in readers:
                    for _ in range(MESSAGE_COUNT):
                        await anext(reader.messages)
            carried = [one.host.meter.carried for one in brokers]
            counts = [one.counts for one in carried if one is not None]
            wanted = np.array(numbers, dtype=np.int64)
            interests = interests_from_pairs(wanted, np.zeros_like(wanted), BROKER_COUNT, 1)
            names = tuple(map(BrokerName, overlay.brokers))
            snapshot = Snapshot(names, (TopicName("t"),), interests, np.ones(1))
            due = publication_messages(overlay, snapshot, 0, 0)
            assert sum(one.entering for one in counts) == MESSAGE_COUNT * due.entry
            assert sum(one.wanted for one in counts) == MESSAGE_COUNT * due.internal
            assert sum(one.relayed for one in counts) == MESSAGE_COUNT * due.external
            others = sum(number != 0 for number in numbers)
            assert sum(one.arrivals for one in counts) == MESSAGE_COUNT * others
            hops = sum(one.arrival_hops for one in counts)
            assert hops <= MESSAGE_COUNT * int(due.delays_hops.sum())
            frames = [one.host.meter.carried for one in brokers]
            by_hops = sum((one.by_hops for one in frames if one is not None), Counter[int]())
            assert sum(by_hops.values()) == MESSAGE_COUNT * others
            assert sum(number * count for number, count in by_hops.items()) == hops
            for one in frames:
                assert one is not None
                told = one.counts
                assert sum(one.by_peer.values()) == told.entering + told.wanted + told.relayed

    asyncio.run(story())


def test_what_brokers_tell_of_themselves_is_in_no_cost_and_in_no_trace(tmp_path: Path) -> None:
    """On a hypercube all of it visits every part, and a plan knows nothing of it."""
    telemetry = TelemetrySettings(trace=tmp_path / "trace", sys_every_s=0.05)

    async def story() -> None:
        async with running_brokers("hypercube", tmp_path, 4, telemetry=telemetry) as brokers:
            reader = aiomqtt.Client("127.0.0.1", port_of(brokers[0]))
            async with reader, asyncio.timeout(30):
                await reader.subscribe("$SYS/#")
                names = set()
                while len(names) < len(brokers):
                    topic = str((await anext(reader.messages)).topic)
                    names |= {topic.split("/")[2]} if topic.startswith("$SYS/brokers/") else set()
                meters = [one.host.meter for one in brokers]
                assert sum(one.peer_messages_by_class()["publication"] for one in meters) > 0
                for broker, meter in zip(brokers, meters, strict=True):
                    assert meter.carried is not None
                    assert meter.carried.counts == CarriedCounts()
                    seen = BrokerControl(broker.settings.folder)
                    view = await asyncio.to_thread(seen.get, "/traffic", TrafficView)
                    assert view.delivered == 0
                    assert meter.trace is not None
                    assert meter.trace.gathered()["subscriptions"] == []
                assert meters[0].system_sent > 0

    asyncio.run(story())
