"""The commands of operators, at brokers with real clients."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from live_network import port_of, running_brokers
from typer.testing import CliRunner, Result

from meshwright.cli.main import app
from meshwright.client import Client
from meshwright.live.processes.local_network import LocalNetwork
from meshwright.live.telemetry.metrics import metrics_text
from meshwright.planning.founding import founding_overlay

WAIT_S = 20.0


async def call(*words: str | Path) -> Result:
    runner = CliRunner()
    asked = [str(word) for word in words]
    return await asyncio.to_thread(runner.invoke, app, asked, catch_exceptions=False)


async def answered(*words: str | Path, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    result = await call(*words, "--json")
    assert result.exit_code in codes, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("design", ["dynatops", "hypercube", "gm", "tree"])
def test_operators_see_brokers_clients_topics_and_paths(design: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers(design, tmp_path, 3) as brokers:
            reader = aiomqtt.Client("127.0.0.1", port_of(brokers[2]), identifier="reader")
            writer = aiomqtt.Client("127.0.0.1", port_of(brokers[0]), identifier="writer")
            async with reader, writer:
                await reader.subscribe("a/+", qos=1)
                status = await answered("status", "--data", tmp_path)
                assert [row["broker"] for row in status["brokers"]] == ["b0", "b1", "b2"]
                assert [row["clients"] for row in status["brokers"]] == [1, 0, 1]
                assert status["design"] == design
                clients = await answered("clients", "--data", tmp_path, "--broker", "b2")
                assert [row["client"] for row in clients["clients"]] == ["reader"]
                found = await answered("subscriptions", "--data", tmp_path)
                row = {"client": "reader", "broker": "b2", "filter": "a/+", "qos": 1}
                assert found["subscriptions"] == [row]
                topics = await answered("topics", "--data", tmp_path)
                assert topics["topics"] == [{"filter": "a/+", "wanted": 1, "brokers": ["b2"]}]
                path = await answered("trace", "path", "a/b", "--from", "b0", "--data", tmp_path)
                assert path["wanted_at"] == ["b2"]
                assert path["design"] == design
                assert path["hops"][0]["from"] == "b0"
                assert "b2" in [hop["to"] for hop in path["hops"]]
                shown = await call("clients", "--data", tmp_path)
                assert "2 clients" in shown.stdout

    asyncio.run(story())


def test_status_names_topics_that_are_not_joined_and_clients_that_cannot_move(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running_brokers("gm", tmp_path, 3) as brokers:
            ends = [one for one in brokers if len(one.host.view().neighbours) == 1]
            one, other = (aiomqtt.Client("127.0.0.1", port_of(end)) for end in ends)
            async with one, other, asyncio.timeout(WAIT_S):
                await one.subscribe("a/b", qos=1)
                await other.subscribe("a/b", qos=1)
                await one.publish("a/b", b"", qos=1)
                while (shown := await call("status", "--data", tmp_path)).exit_code == 0:
                    await asyncio.sleep(0.1)
                status = await answered("status", "--data", tmp_path, codes=(1,))
                metrics = metrics_text(ends[0].control.readings()).decode()
        weak = {"topic": "a/b", "held": 0, "k": 1, "receivers": 2}
        assert status["weak_topics"] == [weak]
        assert status["staying"] == {"its session would end with its connection": 2}
        assert "a/b (0 of 1)" in shown.stdout
        assert "2 clients cannot be sent to another broker" in shown.stdout
        assert 'meshwright_weak_topic_ways{k="1",topic="a/b"} 0.0' in metrics
        assert "meshwright_staying_clients{reason=" in metrics

    asyncio.run(story())


def test_status_says_whose_disk_takes_no_more_and_why(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, disk_bytes_max=400_000) as (broker,):
            port = port_of(broker)
            # The topic's own copies go soon; what four sessions wait for is too much without them.
            names = [f"away{number}" for number in range(4)]
            for name in names:
                away = aiomqtt.Client("127.0.0.1", port, identifier=name, clean_session=False)
                async with away:
                    await away.subscribe("a", qos=1)
            before = await answered("status", "--data", tmp_path)
            assert before["brokers"][0]["state"] == "running"
            assert before["disk_troubles"] == []
            async with asyncio.timeout(WAIT_S), aiomqtt.Client("127.0.0.1", port) as writer:
                while not broker.host.disk_is_full:
                    await writer.publish("a", b"x" * 50_000, qos=1)
            reason = "the disk holds more than disk_bytes_max"
            full = await answered("status", "--data", tmp_path, codes=(1,))
            assert full["disk_troubles"] == [{"broker": "b0", "reason": reason}]
            assert full["brokers"][0]["state"] == f"running, {reason}"
            shown = await call("status", "--data", tmp_path)
            assert f"b0 refuses publications of QoS 1 and 2: {reason}\n" in shown.stdout
            for name in names:
                await answered("forget", name, "--data", tmp_path)
            async with asyncio.timeout(WAIT_S):
                while (await call("status", "--data", tmp_path)).exit_code:
                    await asyncio.sleep(0.05)
            after = await answered("status", "--data", tmp_path)
            assert after["disk_troubles"] == []
            assert after["brokers"][0]["state"] == "running"

    asyncio.run(story())


def test_a_drained_broker_stops_and_its_clients_miss_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 3) as brokers:
            addresses = [f"127.0.0.1:{port_of(broker)}" for broker in brokers]
            reader = Client(addresses[0], "reader")
            async with reader, Client(addresses[1], "writer") as writer:
                await reader.subscribe("news/#")
                draining = asyncio.create_task(answered("drain", "b0", "--data", tmp_path))
                wanted = [b"%d" % number for number in range(20)]
                got: list[bytes] = []
                async with asyncio.timeout(40):
                    for payload in wanted:
                        await writer.publish("news/today", payload)
                    async for message in reader.messages:
                        if message.payload not in got:
                            got.append(message.payload)
                        if len(got) == len(wanted):
                            break
                    await brokers[0].wait()
                    await brokers[0].stop()
                    document = await draining
                assert got == wanted
                assert document["sessions_moved"] == 1
                assert reader.broker != addresses[0]

    asyncio.run(story())


def test_a_broker_that_was_to_be_drained_takes_clients_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2) as brokers:
            away = aiomqtt.Client(
                "127.0.0.1", port_of(brokers[0]), identifier="away", clean_session=False
            )
            async with away:
                await away.subscribe("a", qos=1)
            refused = await call("drain", "b0", "--to", "b7", "--data", tmp_path)
            assert refused.exit_code == 2
            assert "b7 is no other broker that lives" in refused.stderr
            await call("drain", "b0", "--timeout", "0", "--data", tmp_path)
            document = await answered("drain", "b0", "--undo", "--data", tmp_path)
            assert not document["is_emptying"]
            async with aiomqtt.Client("127.0.0.1", port_of(brokers[0]), identifier="new"):
                pass

    asyncio.run(story())


def free_ports(count: int) -> int:
    """The first of some ports in a row on which nothing listens, elsewhere in each process."""
    for place in range(os.getpid(), os.getpid() + 400):
        first = 20_000 + 97 * place % 12_000
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    trial = held.enter_context(socket.socket())
                    trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise AssertionError("no ports are free")


def test_processes_are_seen_and_stop_at_a_signal(tmp_path: Path) -> None:
    overlay = founding_overlay("chord", ("b0", "b1"))
    port = free_ports(4)
    network = LocalNetwork(overlay, tmp_path, port=port, peer_port=port + 2)
    network.start()
    try:
        status = asyncio.run(answered("status", "--data", tmp_path))
        assert [row["broker"] for row in status["brokers"]] == ["b0", "b1"]
        network.brokers[0].process.terminate()
        assert network.brokers[0].process.wait(20) == 0
        assert network.ended() is None
        assert [one.name for one in network.brokers] == ["b1"]
        assert not (tmp_path / "b0" / "control.sock").exists()
        status = asyncio.run(answered("status", "--data", tmp_path))
        assert status["not_running_here"] == ["b0"]
    finally:
        network.stop()


@pytest.mark.parametrize("end", [LocalNetwork.kill, LocalNetwork.freeze])
def test_a_lost_broker_is_named_in_status_which_then_says_no(
    end: Callable[[LocalNetwork, str], None], tmp_path: Path
) -> None:
    overlay = founding_overlay("chord", ("b0", "b1", "b2"))
    port = free_ports(6)
    network = LocalNetwork(overlay, tmp_path, port=port, peer_port=port + 3)
    network.start()
    try:
        end(network, "b1")
        deadline_s = time.monotonic() + WAIT_S
        while (shown := asyncio.run(call("status", "--data", tmp_path))).exit_code == 0:
            assert time.monotonic() < deadline_s, shown.output
        assert shown.exit_code == 1, shown.output
        assert any(line.split() == ["b1", "lost"] for line in shown.stdout.splitlines())
        assert "2 brokers run" in shown.stdout
        assert "Lost: b1; other brokers do not hear it either" in shown.stdout
        status = asyncio.run(answered("status", "--data", tmp_path, codes=(1,)))
        assert status["lost"] == status["not_running_here"] == ["b1"]
    finally:
        network.thaw("b1")
        network.stop()


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["clients"],
        ["subscriptions"],
        ["topics"],
        ["drain", "b0"],
        ["forget", "door"],
        ["trace", "path", "a", "--from", "b0"],
    ],
)
def test_where_nothing_runs_one_sentence_says_so(words: list[str], tmp_path: Path) -> None:
    result = asyncio.run(call(*words, "--data", tmp_path))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "No broker runs in" in result.stderr


def test_a_broker_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1):
            for words in (["drain", "b7"], ["trace", "path", "a", "--from", "b7"]):
                result = await call(*words, "--data", tmp_path)
                assert result.exit_code == 2
                assert "'b7' runs here; those that do: b0" in result.stderr

    asyncio.run(story())
