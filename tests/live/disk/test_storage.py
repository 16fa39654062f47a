"""What a broker finds again, what it forgets, and what it does without room."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from queue import Queue
from typing import Any

import aiomqtt
import pytest
from live_network import port_of, running_brokers

from meshwright.errors import OperatorError
from meshwright.live.disk.memory_storage import MemoryStore
from meshwright.live.disk.storage import Store
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import TelemetrySettings
from meshwright.protocol.foundation.effects import Write
from meshwright.protocol.streams.quiet_streams import USED_UP_TO

QUIET = TelemetrySettings(sys_every_s=0)
WAIT_S = 20.0
PAYLOAD_BYTES = 100_000


class Told:
    """A store, and what it tells."""

    def __init__(self, folder: Path, bytes_max: int = 0) -> None:
        self.synced: Queue[int] = Queue()
        self.full: Queue[bool] = Queue()
        self.failed: list[Exception] = []
        self.store = Store(
            folder,
            bytes_max=bytes_max,
            synced=self.synced.put,
            full=self.full.put,
            failed=self.failed.append,
        )


def test_what_was_synced_is_found_again(tmp_path: Path) -> None:
    first = Told(tmp_path)
    assert first.store.open() == (1, {})
    first.store.write(Write(1, {("sequence", "c"): 3, ("sequence", "d"): 4}))
    first.store.write(Write(2, {("sequence", "d"): None}))
    while first.synced.get(timeout=WAIT_S) != 2:
        pass
    first.store.close()
    second = Told(tmp_path)
    assert second.store.open() == (2, {("sequence", "c"): 3})
    second.store.close()


def test_what_is_deleted_takes_no_room_on_disk(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.store.open()
    keys = [("sequence", f"client {number}") for number in range(200)]
    told.store.write(Write(1, dict.fromkeys(keys, "x" * 20_000)))
    assert told.synced.get(timeout=WAIT_S) == 1
    told.store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    told.store.write(Write(2, dict.fromkeys(keys)))
    assert told.synced.get(timeout=WAIT_S) == 2
    log_bytes = tmp_path.joinpath("broker.sqlite-wal").stat().st_size
    told.store.close()
    assert log_bytes < 200_000, "of 4,000,000 that were deleted"


def test_only_one_broker_uses_a_folder(tmp_path: Path) -> None:
    first = Told(tmp_path)
    first.store.open()
    with pytest.raises(OperatorError, match="let no other broker use this folder"):
        Told(tmp_path).store.open()
    first.store.close()


def test_a_disk_over_its_limit_says_so_and_again_when_there_is_room(tmp_path: Path) -> None:
    told = Told(tmp_path, bytes_max=200_000)
    told.store.open()
    number = 0
    while told.full.empty():
        number += 1
        told.store.write(Write(number, {("sequence", f"{number}" + "x" * 1_000): number}))
        told.synced.get(timeout=WAIT_S)
        assert number < 1_000
    assert told.full.get()
    # What was promised still goes through, from the reserve.
    told.store.write(Write(number + 1, {("sequence", "promised"): 1}))
    assert told.synced.get(timeout=WAIT_S) == number + 1
    gone = {("sequence", f"{one}" + "x" * 1_000): None for one in range(1, number)}
    told.store.write(Write(number + 2, gone))
    assert told.synced.get(timeout=WAIT_S) == number + 2
    assert not told.full.get(timeout=WAIT_S)
    told.store.close()
    assert not told.failed


def test_what_came_before_a_limit_was_told_goes_beyond_it(tmp_path: Path) -> None:
    told = Told(tmp_path, bytes_max=100_000)
    told.store.open()
    large = {("sequence", f"{one}" + "x" * 1_000): one for one in range(20_000)}
    told.store.write(Write(1, large))
    assert told.full.get(timeout=WAIT_S)
    assert told.synced.get(timeout=WAIT_S) == 1
    told.store.write(Write(2, dict.fromkeys(large)))
    assert told.synced.get(timeout=WAIT_S) == 2
    assert not told.full.get(timeout=WAIT_S)
    told.store.close()


def test_a_burst_over_the_limit_of_a_disk_is_answered(tmp_path: Path) -> None:
    options: dict[str, Any] = {"telemetry": QUIET, "disk_bytes_max": 400_000}

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, **options) as (broker,):
            await _burst(broker, 150)
            assert broker.host.meter.refused[0x97]

    asyncio.run(story())


async def _burst(broker: LiveBroker, count: int) -> None:
    """Publish for a client that is away, without waiting for answers, until all have come."""
    port = port_of(broker)
    reader = aiomqtt.Client("127.0.0.1", port, identifier="reader", clean_session=False)
    async with reader:
        await reader.subscribe("a", qos=1)
    version = aiomqtt.ProtocolVersion.V5
    async with asyncio.timeout(WAIT_S):
        async with aiomqtt.Client("127.0.0.1", port, protocol=version) as writer:
            writer.pending_calls_threshold = count
            await asyncio.gather(
                *(
                    writer.publish("a", b"x" * PAYLOAD_BYTES, qos=1, timeout=WAIT_S)
                    for _ in range(count)
                )
            )
        async with aiomqtt.Client("127.0.0.1", port) as other:
            await other.subscribe("b", qos=1)


def test_a_full_disk_refuses_publications_until_messages_are_done_with(tmp_path: Path) -> None:
    async def story() -> None:
        options: dict[str, Any] = {"telemetry": QUIET, "disk_bytes_max": 400_000}
        async with running_brokers("chord", tmp_path, 1, **options) as (broker,):
            version = aiomqtt.ProtocolVersion.V5
            port = port_of(broker)
            reader = aiomqtt.Client("127.0.0.1", port, identifier="reader", clean_session=False)
            async with reader:
                await reader.subscribe("a", qos=1)
            taken = 0
            async with aiomqtt.Client("127.0.0.1", port, protocol=version) as writer:
                deadline_s = time.monotonic() + WAIT_S
                while not broker.host.meter.refused[0x97]:
                    await writer.publish("a", b"x" * 20_000, qos=1)
                    taken += 1
                    assert time.monotonic() < deadline_s
                got = 0
                async with asyncio.timeout(WAIT_S), reader:
                    async for _ in reader.messages:
                        got += 1
                        if got == taken - 1:
                            break
                    while broker.host.disk_is_full:
                        await asyncio.sleep(0.05)
                refused = broker.host.meter.refused[0x97]
                await writer.publish("a", b"again", qos=1)
                assert broker.host.meter.refused[0x97] == refused == 1

    asyncio.run(story())


def test_memory_is_kept_when_a_broker_is_stopped_and_lost_in_a_crash(tmp_path: Path) -> None:
    async def life(folder: Path, contents: dict[Any, Any], crash: Path | None = None) -> None:
        synced: list[int] = []
        store = MemoryStore(folder, synced=synced.append)
        assert store.open().contents == contents
        store.write(Write(1, {("sequence", "c"): 3}))
        store.write(Write(2, {("sequence", "d"): 4}))
        await asyncio.sleep(0)
        assert synced == [2]
        store.write(Write(3, {("sequence", "d"): None}))
        if crash is not None:
            # What a crash leaves is what is on disk now.
            shutil.copytree(folder, crash)
        store.close()

    first, second = tmp_path / "first", tmp_path / "second"
    asyncio.run(life(first, {}))
    asyncio.run(life(first, {("sequence", "c"): 3}, crash=second))
    asyncio.run(life(second, {USED_UP_TO: 3 << 32}))
    asyncio.run(life(second, {USED_UP_TO: 3 << 32, ("sequence", "c"): 3}))


def test_a_broker_that_promises_nothing_serves_its_clients(tmp_path: Path) -> None:
    async def story() -> None:
        options: dict[str, Any] = {"telemetry": QUIET, "durability": "memory"}
        for life in range(2):
            async with running_brokers("chord", tmp_path, 2, **options) as brokers:
                reader = aiomqtt.Client(
                    "127.0.0.1", port_of(brokers[0]), identifier="reader", clean_session=False
                )
                writer = aiomqtt.Client("127.0.0.1", port_of(brokers[1]))
                async with asyncio.timeout(WAIT_S), reader, writer:
                    if not life:
                        await reader.subscribe("a", qos=1)
                    await writer.publish("a", b"%d" % life, qos=1)
                    assert (await anext(aiter(reader.messages))).payload == b"%d" % life

    asyncio.run(story())
